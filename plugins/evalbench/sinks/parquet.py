"""Published partitions as Parquet: the same rows give the same bytes, and a partition is replaced as a whole.

The bytes depend on the rows, the declaration and the version of pyarrow, which Parquet names in each file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from evalbench.tables import Table, table_named
from evalbench.tables.formats import arrow_schema

ROW_GROUP_ROWS = 65_536
ZSTD_LEVEL = 3


class PartitionStore(Protocol):
    """The part of a storage this sink needs: replace an object atomically, True when its bytes changed."""

    def write_atomic(self, rel: str, data: bytes, /) -> bool:
        """Replace `rel`; an object that holds `data` already is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Partition files by what became of them."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __add__(self, other: "Published") -> "Published":
        """Both together."""
        return Published(
            written=self.written + other.written,
            unchanged=self.unchanged + other.unchanged,
            removed=self.removed + other.removed,
        )


def partition_path(table: Table, day: date) -> str:
    """Path of a partition's file, relative to the lake."""
    return f"trends/{table.name}/run_date={day.isoformat()}/part-0.parquet"


def partition_bytes(table: Table, rows: Sequence[Mapping[str, object]]) -> bytes:
    """A partition's file. Raises ValueError for a row whose columns aren't the declared ones."""
    schema = arrow_schema(table)
    declared = set(table.column_names)
    for row in rows:
        if row.keys() != declared:
            raise ValueError(f"a row of {table.name} differs from its declaration in {sorted(row.keys() ^ declared)}")
    arrays = [_array([row[field.name] for row in rows], field.type) for field in schema]
    buffer = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=schema),
        buffer,
        row_group_size=ROW_GROUP_ROWS,
        version="2.6",
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        coerce_timestamps="us",
    )
    return bytes(buffer.getvalue())


def _array(values: list[object], kind: pa.DataType) -> "pa.Array[Any]":
    if pa.types.is_string(kind):
        return pa.array([_encodable(value) if isinstance(value, str) else value for value in values], kind)
    return pa.array(values, kind)


def _encodable(text: str) -> str:
    """Parquet holds UTF-8 only: a lone surrogate of a damaged input becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class ParquetSink:
    """Collects one date's tables and replaces their partitions when all of them are there.

    As a context manager: leaving it normally finalizes, leaving it by an exception aborts and touches nothing.
    """

    def __init__(self, store: PartitionStore, day: date) -> None:
        self._store = store
        self._day = day
        self._objects: dict[str, bytes] = {}
        self.published: Published | None = None

    def write(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Prepare a table's partition. No rows are a partition without rows, which still carries the schema."""
        self._objects[partition_path(table, self._day)] = partition_bytes(table, rows)

    def finalize(self) -> Published:
        """Replace the partitions whose bytes differ, in the order of their paths."""
        changed = {path: self._store.write_atomic(path, data) for path, data in sorted(self._objects.items())}
        self.published = Published(
            written=tuple(path for path, wrote in changed.items() if wrote),
            unchanged=tuple(path for path, wrote in changed.items() if not wrote),
        )
        return self.published

    def abort(self) -> None:
        """Forget what was prepared."""
        self._objects.clear()

    def __enter__(self) -> "ParquetSink":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finalize()
        else:
            self.abort()


def publish_partition(
    store: PartitionStore, day: date, rows: Mapping[str, Sequence[Mapping[str, object]]]
) -> Published:
    """Replace a date's partitions of every table in `rows` (as `trends.partition_rows` gives them)."""
    sink = ParquetSink(store, day)
    for name, table_rows in rows.items():
        sink.write(table_named(name), table_rows)
    return sink.finalize()
