"""The gate: facts and a policy in, a decision with its reasons out. It imports nothing of summaries."""
