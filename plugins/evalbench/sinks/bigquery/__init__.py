"""The published tables in BigQuery: staged by load jobs, swapped in one transaction, whoever else is at it."""
