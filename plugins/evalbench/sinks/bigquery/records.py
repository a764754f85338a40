"""What a delivery is made of: dates as hashes, files of the lake, rows in staging. Knows no client."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from evalbench.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a date's rows are made from, as hashes. operations: of the tables that speak of the pipeline itself."""

    content: str
    operations: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A date as it is to be. tables: that have files of it."""

    contents: Contents
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files of the lake that hold rows of one table, by path."""

    table: Table
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """Rows of a table in a staging table. own: loaded here, not by somebody else or before."""

    table: Table
    name: str
    rows: int
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Dates to replace by what is staged of them.

    seq: number of the last publish, which must still be that. held: tables that have rows to delete. kept: the only
    dates whose rows stay; None where no other date is touched.
    """

    seq: int
    dates: Mapping[date, Fresh]
    held: frozenset[str]
    kept: frozenset[date] | None = None
    staged: tuple[Staged, ...] = ()
