"""The tables that the page holds, in an in-memory database that any thread may ask."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa

from evalbench.sinks.duckdb import IN_UTC
from evalbench.web.tables import DAILY, HELD

# One thread: a query takes none from the requests beside it.
_SETTINGS = ("SET threads = 1", IN_UTC)


class Database:
    """Every table of HELD, and `daily`, which is made from them. Filled by one thread, finished, then only asked."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"enable_external_access": "false"})
        self._lock = Lock()
        for setting in _SETTINGS:
            self._connection.execute(setting)
        for name, columns in HELD.items():
            declared = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
            self._connection.execute(f"CREATE TABLE {name} ({declared})")

    def add(self, name: str, rows: pa.Table) -> None:
        """Put rows into a table; columns they lack are null."""
        columns = ", ".join(f'"{column}"' for column in HELD[name] if column in rows.column_names)
        self._connection.register("incoming", rows)
        self._connection.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM incoming")
        self._connection.unregister("incoming")

    def finish(self) -> None:
        """Make what is made from all rows."""
        self._connection.execute(DAILY)

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of a SELECT, with `?` for each parameter."""
        found: list[dict[str, Any]] = self.arrow(sql, params).to_pylist()
        return found

    def arrow(self, sql: str, params: Sequence[object] = ()) -> pa.Table:
        """As `rows`, in Arrow."""
        with self._lock:
            cursor = self._connection.cursor()
        try:
            found: pa.Table = cursor.sql(sql, params=list(params)).to_arrow_table()
            return found
        finally:
            cursor.close()
