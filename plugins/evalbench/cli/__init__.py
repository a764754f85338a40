"""The command line `evalbench`, for people, scripts and CI: the same verbs as the DAG, without Airflow."""

from evalbench.cli.main import main

__all__ = ["main"]
