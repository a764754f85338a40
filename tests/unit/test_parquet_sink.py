"""Partitions: the same rows give the same bytes, and a date is replaced as a whole or not at all."""

import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.builders import DAY, policy, run, trial, waiting
from tests.published import bytes_below, publish, rows_of

from evalbench.sinks.parquet import partition_bytes, partition_path
from evalbench.tables import PUBLISHED_TABLES, Table, table_named
from evalbench.tables.formats import arrow_schema
from evalbench.trends import Row

RUNS = [run(trial("t1"), waiting("t9"), planned={"t1": 2, "t9": 1}), run(trial("t2"), run_id="run-2", run_key="k2")]
POLICIES = [policy()]


def read(data: bytes) -> pa.Table:
    """A partition file, as a raw reader sees it."""
    return pq.read_table(io.BytesIO(data))


def row_of(table: str) -> Row:
    """The first published row of a table."""
    return rows_of(DAY, RUNS, POLICIES)[table][0]


@pytest.mark.parametrize("table", PUBLISHED_TABLES, ids=lambda table: table.name)
def test_what_is_written_is_what_is_read(table: Table) -> None:
    """Every row comes back with its values, in the declared types."""
    rows = rows_of(DAY, RUNS, POLICIES)[table.name]
    found = read(partition_bytes(table, rows))
    assert arrow_schema(table) == found.schema
    assert rows == found.to_pylist()


def test_no_rows_still_carry_the_schema() -> None:
    """Readers see columns and types of a table that has nothing for a date."""
    table = table_named("effects")
    found = read(partition_bytes(table, []))
    assert (0, arrow_schema(table)) == (found.num_rows, found.schema)


def test_an_all_null_column_keeps_its_type() -> None:
    """Types are declared, never guessed from the values."""
    row = row_of("trials") | {"cost_usd": None, "started_at": None}
    schema = read(partition_bytes(table_named("trials"), [row])).schema
    assert [pa.decimal128(18, 9), pa.timestamp("us", tz="UTC")] == [
        schema.field(n).type for n in ("cost_usd", "started_at")
    ]


def test_values_keep_every_digit() -> None:
    """Microseconds and nine decimals survive."""
    moment = datetime(2026, 3, 2, 9, 0, 0, 123457, tzinfo=UTC)
    row = row_of("trials") | {"started_at": moment, "cost_usd": Decimal("0.123456789")}
    found = read(partition_bytes(table_named("trials"), [row])).to_pylist()[0]
    assert (moment, Decimal("0.123456789")) == (found["started_at"], found["cost_usd"])


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    """Text that is no Unicode doesn't fail the date."""
    row = row_of("runs") | {"requester": "a\udc80b", "workflow": "größe\0"}
    found = read(partition_bytes(table_named("runs"), [row])).to_pylist()[0]
    assert ("a?b", "größe\0") == (found["requester"], found["workflow"])


@pytest.mark.parametrize("change", [{"extra": 1}, {"run_id": ...}], ids=["a column too many", "a column too few"])
def test_a_row_that_differs_from_the_declaration_is_refused(change: dict[str, object]) -> None:
    """The error names the table and the columns."""
    row = {name: value for name, value in (row_of("runs") | change).items() if value is not ...}
    with pytest.raises(ValueError, match=rf"runs .*{next(iter(change))}"):
        partition_bytes(table_named("runs"), [row])


def test_a_required_column_takes_no_null() -> None:
    """A hole where a value was promised is a bug, not data."""
    with pytest.raises(pa.ArrowInvalid):
        partition_bytes(table_named("runs"), [row_of("runs") | {"run_id": None}])


def test_files_are_zstd_without_anything_of_pandas() -> None:
    """Compression and metadata are fixed."""
    file = pq.ParquetFile(io.BytesIO(partition_bytes(table_named("runs"), [row_of("runs")])))
    group = file.metadata.row_group(0)
    assert {"ZSTD"} == {group.column(i).compression for i in range(group.num_columns)}
    assert b"pandas" not in (file.schema_arrow.metadata or {})


def test_one_file_per_table_and_date(tmp_path: Path) -> None:
    """Paths are what raw readers are told: trends, table, date."""
    publish(tmp_path, RUNS, POLICIES)
    assert {f"trends/{table.name}/run_date=2026-03-02/part-0.parquet" for table in PUBLISHED_TABLES} == set(
        bytes_below(tmp_path)
    )
    assert "trends/runs/run_date=2026-03-02/part-0.parquet" == partition_path(table_named("runs"), date(2026, 3, 2))


def test_publishing_twice_changes_nothing(tmp_path: Path) -> None:
    """The second time every partition is reported unchanged, and no file is written."""
    first = publish(tmp_path, RUNS, POLICIES)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    again = publish(tmp_path, RUNS, POLICIES)
    assert [(len(PUBLISHED_TABLES), 0)] == [(len(done.written), len(done.unchanged)) for done in first]
    assert [(0, len(PUBLISHED_TABLES))] == [(len(done.written), len(done.unchanged)) for done in again]
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}


def test_order_changes_no_byte(tmp_path: Path) -> None:
    """Runs and trials shuffled give the same files."""
    publish(tmp_path / "a", RUNS, POLICIES)
    shuffled = [replace(item, run=replace(item.run, trials=item.run.trials[::-1])) for item in RUNS[::-1]]
    publish(tmp_path / "b", shuffled, POLICIES)
    assert bytes_below(tmp_path / "a") == bytes_below(tmp_path / "b")


def test_a_deleted_partition_comes_back_byte_for_byte(tmp_path: Path) -> None:
    """Only the missing file is written again."""
    publish(tmp_path, RUNS, POLICIES)
    before = bytes_below(tmp_path)
    lost = "trends/signals/run_date=2026-03-02/part-0.parquet"
    (tmp_path / lost).unlink()
    assert [(lost,)] == [done.written for done in publish(tmp_path, RUNS, POLICIES)]
    assert before == bytes_below(tmp_path)


def test_a_partition_is_replaced_whole(tmp_path: Path) -> None:
    """A run that is gone from the date is gone from its tables."""
    publish(tmp_path, RUNS, POLICIES)
    publish(tmp_path, RUNS[:1], POLICIES)
    path = tmp_path / partition_path(table_named("runs"), DAY)
    assert ["run-1"] == read(path.read_bytes())["run_id"].to_pylist()
