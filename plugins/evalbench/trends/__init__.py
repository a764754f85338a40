"""Rows of the published tables. Pure: runs, decisions, routing and versions come in, rows go out."""

from evalbench.trends.cells import Row
from evalbench.trends.context import TRENDS_VERSION, CodeVersions
from evalbench.trends.decision_log import decision_log_rows
from evalbench.trends.operational import EntryState, RunSummary
from evalbench.trends.partition import operational_rows, partition_rows

__all__ = [
    "TRENDS_VERSION",
    "CodeVersions",
    "EntryState",
    "Row",
    "RunSummary",
    "decision_log_rows",
    "operational_rows",
    "partition_rows",
]
