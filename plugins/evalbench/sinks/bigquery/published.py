"""What BigQuery says it holds: the table `_published`, one row per date that was ever delivered.

A row is replaced in the transaction that replaces its date, so it is never ahead of the rows it speaks of.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import msgspec

from evalbench.sinks.bigquery.records import Contents
from evalbench.tables.model import ColumnType, Table, required

LOG = "decision_log"
INT64, STRING = ColumnType.INT64, ColumnType.STRING

PUBLISHED = Table(
    name="_published",
    grain="date",
    description="What each date's rows were made from, as evalbench delivered them; a date that differs is replaced.",
    sort_key=("run_date",),
    columns=(
        required("run_date", ColumnType.DATE, "The date"),
        required("content_hash", STRING, "sha256 over what the date's rows were made from"),
        required("operations_hash", STRING, "sha256 over what its rows in run_states and accounting were made from"),
        required("seq", INT64, "Number of the publish that replaced the date; the highest is the last one"),
        required("row_count", INT64, "Rows of the date in all tables but decision_log", "rows"),
        required("log_rows", INT64, "Rows of the date in decision_log", "rows"),
        required("tables", STRING, "Tables that its rows are in, separated by commas; no other one has any"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDate:
    """One row of `_published`."""

    run_date: date
    content_hash: str
    operations_hash: str
    seq: int
    row_count: int
    log_rows: int
    tables: str

    @property
    def contents(self) -> Contents:
        """What the date's rows were made from."""
        return Contents(content=self.content_hash, operations=self.operations_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """All of `_published`, by date."""

    dates: Mapping[date, PublishedDate]

    @property
    def seq(self) -> int:
        """Number of the last publish, 0 before the first."""
        return max((each.seq for each in self.dates.values()), default=0)

    def tables(self, days: Iterable[date]) -> frozenset[str]:
        """Tables that have rows of these dates."""
        named = (self.dates[day].tables.split(",") for day in days if day in self.dates)
        return frozenset(name for names in named for name in names if name)

    def agrees(self, counted: Mapping[str, int]) -> bool:
        """Whether tables hold as many rows as were delivered. The log may hold more: none is ever deleted there."""
        rows = sum(each.row_count for each in self.dates.values())
        log_rows = sum(each.log_rows for each in self.dates.values())
        return sum(counted.values()) - counted[LOG] == rows and counted[LOG] >= log_rows


def published_of(rows: Iterable[Mapping[str, object]]) -> Published:
    """The table's rows as read."""
    found = (msgspec.convert(dict(row), PublishedDate) for row in rows)
    return Published(dates={each.run_date: each for each in found})
