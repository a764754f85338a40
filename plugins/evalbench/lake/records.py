"""Records of one run as Parquet bytes: kind, task_id, trial, and the record itself as canonical JSON."""

import io
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    ("kind", pa.string()),
    ("task_id", pa.string()),
    ("trial", pa.int64()),
    ("payload", pa.large_binary()),
)
SCHEMA = pa.schema(COLUMNS)
ROWS_PER_GROUP = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row."""

    kind: str
    payload: bytes
    task_id: str | None = None
    trial: int | None = None


def encode_records(records: Iterable[Record]) -> bytes:
    """Parquet bytes. The same records in the same order give the same bytes."""
    rows = list(records)
    columns = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    sink = io.BytesIO()
    pq.write_table(
        pa.table(columns, schema=SCHEMA),
        sink,
        compression="zstd",
        row_group_size=ROWS_PER_GROUP,
        write_statistics=False,
    )
    return sink.getvalue()


def decode_records(data: bytes, kinds: Iterable[str] | None = None) -> list[Record]:
    """The records, in order; only those of `kinds` when given. Raises pyarrow's errors on damaged bytes."""
    table = pq.read_table(io.BytesIO(data), schema=SCHEMA, use_threads=False)
    if kinds is not None:
        table = table.filter(pc.field("kind").isin(list(kinds)))
    return [Record(**row) for row in table.to_pylist()]
