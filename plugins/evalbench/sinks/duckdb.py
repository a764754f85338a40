"""The published tables in DuckDB: one view per table over its partitions, and every view of include/sql. Read-only.

Partitions are replaced while people ask. An answer counts only if the commit records of all dates were the same before
and after it was read, and none of them said that its date was being written; otherwise the question is asked again.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import duckdb
import pyarrow as pa

from evalbench.errors import EvalbenchError, PipelineError, UsageError
from evalbench.settings import include_dir
from evalbench.tables import PUBLISHED_TABLES, TABLES, VIEWS, Column, ColumnType, Table

DUCKDB_TYPES: dict[ColumnType, str] = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.INT64: "BIGINT",
    ColumnType.FLOAT64: "DOUBLE",
    ColumnType.BOOL: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    ColumnType.MONEY: "DECIMAL(18, 9)",
    ColumnType.NUMERIC: "DECIMAL(38, 9)",
}

IN_UTC = "SET GLOBAL TimeZone = 'UTC'"
"""Times are in UTC, as they are stored, in every session of a database: without GLOBAL a cursor, which is a session of
its own, has the process's zone. Other databases of the process keep theirs.
"""

# Reading leaves nothing behind, not even a spill file in the working folder; footers are read once, not once per view.
# One thread: the same question over the same bytes gives its rows in the same order.
_SETTINGS = (IN_UTC, "SET temp_directory = ''", "SET parquet_metadata_cache = true", "SET threads = 1")
# Nothing but the partitions can be read, nothing is fetched, and the settings can't be changed back.
_LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")

PARTITION = re.compile(r"trends/\w+/run_date=[^/]+/[^/]+\.parquet")
BROUGHT_AT_ONCE = 64
"""Files of a remote lake held in memory at a time."""
ATTEMPTS = 50
PAUSE_S = 0.1
"""How often a question is asked while dates are being published, and how long to wait in between."""
_REPLACED = frozenset(table.name for table in PUBLISHED_TABLES)


class CommitRecord(Protocol):
    """What a date's commit record says. Two readings are equal exactly when nothing was written in between."""

    @property
    def writing(self) -> bool:
        """Partitions of the date are being replaced, or were when their publisher died."""


Commits = Callable[[], Mapping[date, CommitRecord]]
"""Reads every date's commit record; a lake of an earlier version has none."""


class TableStore(Protocol):
    """The part of a storage that asking needs."""

    def uri(self, path: str, /) -> str | None:
        """The address of a file that isn't on this machine."""

    def sizes(self, prefix: str, /) -> dict[str, int]:
        """Bytes of every file below a folder, by path."""

    def read_many(self, paths: Iterable[str], /) -> dict[str, bytes]:
        """The bytes of those files that are there."""


def connect(folder: str, about: str = "") -> duckdb.DuckDBPyConnection:
    """An in-memory database over the lake in a folder: a view per table and per file of include/sql.

    A table without files has no rows. about: a statement; when it names any, only the tables and views that it needs
    are made, since each costs a look into every partition. Only partition files can be read. Neither writing them is
    prevented here, nor that they are replaced while they are read: see `query`. Raises PipelineError when a partition
    can't be read.
    """
    trends = Path(folder).absolute() / "trends"
    views = _views()
    needed = _needed(about, views)
    connection = duckdb.connect(
        ":memory:", config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
        for table in TABLES:
            if table.name in needed:
                _add_table(connection, table, trends)
        for name, sql in views.items():
            if name in needed:
                connection.execute(f"CREATE VIEW {name} AS {sql}")
        connection.execute(f"SET allowed_directories = [{_quoted(f'{trends}/')}]")
        for lock in _LOCKS:
            connection.execute(lock)
    except BaseException:
        connection.close()
        raise
    return connection


def _add_table(connection: duckdb.DuckDBPyConnection, table: Table, trends: Path) -> None:
    try:
        connection.execute(f"CREATE VIEW {table.name} AS {_select(table, trends)}")
    except duckdb.Error as error:
        what = f"{trends / table.name}: a partition can't be read: {str(error).splitlines()[0]}"
        raise PipelineError(f"{what}; delete the file and publish its date again") from error


def _views() -> dict[str, str]:
    """The SQL of every view, in the order in which they build on each other."""
    return {view.name: (include_dir() / "sql" / f"{view.name}.sql").read_text(encoding="utf-8") for view in VIEWS}


def _needed(about: str, views: Mapping[str, str]) -> frozenset[str]:
    """Tables and views a statement may read: every word of it that is one's name, and what those views read in turn."""
    known = frozenset((*views, *(table.name for table in TABLES)))
    found, unread = frozenset[str](), _words(about) & known
    while unread:
        found |= unread
        unread = (frozenset().union(*(_words(views.get(name, "")) for name in unread)) & known) - found
    return found or known


def _words(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql.lower()))


def query(lake: TableStore, sql: str, commits: Commits, sleep: Callable[[float], object] = time.sleep) -> pa.Table:
    """The rows of one SELECT over a lake's tables and views, never from a date that is half published.

    commits: reads this lake's commit records; they are asked only about tables whose partitions are replaced. A lake in
    a bucket is brought here first, as far as the statement may read it. Raises UsageError in one line when there is no
    lake, or the statement isn't a single SELECT or can't be answered; PipelineError when a partition can't be read, or
    a date stays half published.
    """
    needed = _needed(sql, _views())
    read_commits = commits if needed & _REPLACED else dict[date, CommitRecord]
    unsettled = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(PAUSE_S)
        before, files = read_commits(), _files(lake, needed)
        if not files and not lake.sizes("trends"):
            raise UsageError(f"{lake}: no published tables here; run the pipeline first, or name its lake")
        if writing := [day for day, record in before.items() if record.writing]:
            unsettled = f"{_dates(writing)} is being published, or its publishing was interrupted"
            continue
        answer = _answer(lake, files, sql)
        after = read_commits()
        if changed := [day for day in {**before, **after} if before.get(day) != after.get(day)]:
            unsettled = f"{_dates(changed)} was published while it was read, again and again"
        elif isinstance(answer, pa.Table):
            return answer
        elif files == _files(lake, needed):
            raise answer
        else:
            unsettled = str(answer)
    raise PipelineError(f"{lake}: {unsettled}; let the pipeline finish, or run it again, and ask again")


def _dates(days: Iterable[date]) -> str:
    """`2026-03-02` and how many more."""
    first, *more = sorted(days)
    return f"{first}, and {len(more)} more," if more else str(first)


def _answer(lake: TableStore, files: Sequence[str], sql: str) -> pa.Table | EvalbenchError:
    """The rows, or why there are none: which of both counts shows only afterwards."""
    try:
        with _folder(lake, files) as folder, connect(folder, sql) as connection:
            return _rows(connection, sql)
    except EvalbenchError as error:
        return error
    except duckdb.Error as error:
        names = ", ".join([*(table.name for table in TABLES), *(view.name for view in VIEWS)])
        answer = UsageError(f"{str(error).splitlines()[0]} (tables and views: {names})")
        answer.__cause__ = error
        return answer


@contextmanager
def _folder(lake: TableStore, files: Sequence[str]) -> Iterator[str]:
    """The folder of a local lake; for one elsewhere a temporary copy of these files."""
    if lake.uri("") is None:
        yield str(lake)
        return
    with TemporaryDirectory(prefix="evalbench-query-") as folder:
        for batch in range(0, len(files), BROUGHT_AT_ONCE):
            for path, data in lake.read_many(files[batch : batch + BROUGHT_AT_ONCE]).items():
                target = Path(folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        yield folder


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    statements = connection.extract_statements(sql)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise UsageError("only one SELECT statement can be asked; the tables are read-only")
    rows: pa.Table = connection.sql(statements[0]).to_arrow_table()
    return rows


def _select(table: Table, trends: Path) -> str:
    """The declared columns of every partition; a column that older files don't have yet is null in their rows."""
    typed = ", ".join(f"NULL::{DUCKDB_TYPES[column.type]} AS {_name(column)}" for column in table.columns)
    nothing = f"SELECT {typed} WHERE false"
    files = sorted((trends / table.name).glob("run_date=*/*.parquet"))
    if not files:
        return nothing
    paths = ", ".join(_quoted(str(path)) for path in files)
    options = "union_by_name = true, hive_partitioning = false"
    return f"{nothing} UNION ALL BY NAME FROM read_parquet([{paths}], {options})"


def _files(lake: TableStore, names: Iterable[str]) -> list[str]:
    """The partition files of these tables."""
    found = (path for name in names for path in lake.sizes(f"trends/{name}"))
    return sorted(path for path in found if PARTITION.fullmatch(path))


def _name(column: Column) -> str:
    return f'"{column.name}"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
