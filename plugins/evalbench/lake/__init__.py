"""The lake: facts and verdicts as immutable objects, the index over them, plans, results and reports of DAG runs."""
