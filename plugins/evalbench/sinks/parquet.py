"""Published partitions as Parquet: the same rows give the same bytes, and a partition is replaced as a whole.

The bytes depend on the rows, the declaration and the version of pyarrow, which Parquet names in each file.
"""

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evalbench.tables import Table, table_named
from evalbench.tables.formats import arrow_schema

ROW_GROUP_ROWS = 65_536
ZSTD_LEVEL = 3


class RowStore(Protocol):
    """The part of a storage that rewriting a file needs."""

    def read(self, path: str, /) -> bytes:
        """The bytes of a file."""

    def write_atomic(self, path: str, data: bytes, /) -> bool:
        """Replace a file whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Files below `trends/` by what became of them."""

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


def partition_path(table: Table, day: date, part: str = "part-0") -> str:
    """Path of a partition's file, relative to the lake. part: another file of the same partition, never replaced."""
    return f"trends/{table.name}/run_date={day.isoformat()}/{part}.parquet"


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


def partition_objects(day: date, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, bytes]:
    """A date's partition files by path; rows: by table, as `trends.partition_rows` gives them.

    No rows are a partition without rows, which still carries the schema.
    """
    tables = sorted((table_named(name) for name in rows), key=lambda table: table.name)
    return {partition_path(table, day): partition_bytes(table, rows[table.name]) for table in tables}


def without_rows(store: RowStore, path: str, column: str, values: Collection[str]) -> bool:
    """Rewrite a file of `trends/` without the rows that have one of these values in a column; whether it had any.

    Columns that an older file doesn't have yet are null.
    """
    table = pq.read_table(io.BytesIO(store.read(path)), use_threads=False)
    gone = pc.is_in(table[column], pa.array(sorted(values), pa.string()))
    if not pc.any(gone).as_py():
        return False
    declared = table_named(path.split("/")[1])
    absent = dict.fromkeys(declared.column_names)
    kept = [absent | row for row in table.filter(pc.invert(gone)).to_pylist()]
    store.write_atomic(path, partition_bytes(declared, kept))
    return True
