"""The published tables: columns declared once, every other shape derived."""

from evalbench.tables.decision_log import DECISION_LOG
from evalbench.tables.decisions import DECISION_TABLES
from evalbench.tables.facts import FACT_TABLES
from evalbench.tables.model import Column, ColumnType, Table
from evalbench.tables.operational import OPERATIONAL_TABLES, SUMMARY_TABLES
from evalbench.tables.views import VIEWS, View

PUBLISHED_TABLES: tuple[Table, ...] = (*FACT_TABLES, *DECISION_TABLES, *SUMMARY_TABLES)
"""Tables of which a date's partition is replaced as a whole."""
TABLES: tuple[Table, ...] = (*PUBLISHED_TABLES, DECISION_LOG, *OPERATIONAL_TABLES)

_BY_NAME = {table.name: table for table in TABLES}

__all__ = [
    "OPERATIONAL_TABLES",
    "PUBLISHED_TABLES",
    "TABLES",
    "VIEWS",
    "Column",
    "ColumnType",
    "Table",
    "View",
    "table_named",
]


def table_named(name: str) -> Table:
    """The declaration of a table. Raises KeyError for a name that isn't one."""
    return _BY_NAME[name]
