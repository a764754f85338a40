"""Tables are declared once; every other shape follows from the declaration."""

import re
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest
from tests.builders import DAY, policy, run, trial
from tests.published import rows_of

from evalbench.tables import PUBLISHED_TABLES, TABLES, VIEWS, Table, table_named
from evalbench.tables.formats import arrow_schema, bigquery_schema, json_schema
from evalbench.tables.markdown import tables_markdown

COMMON_FIRST = ("run_date", "product", "suite", "candidate", "model", "environment", "dataset_version")
COMMON_LAST = ("schema_version", "code_version")

# Words that BigQuery or DuckDB reserve: a column of that name would need quotes in every query.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        all and any array as asc between by case cast check collate column create cross current default desc
        distinct else end exists extract false fetch filter for from full group grouping groups having if in inner
        intersect interval into is join left like limit natural new no not null nulls of on or order outer over
        partition preceding primary range recursive references right rows select set some struct table tablesample
        then to true unbounded union unique unnest using when where window with within
        """,
    )
)

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


@every_table
def test_the_common_columns_stand_on_every_table(table: Table) -> None:
    """Date, subject, model and dataset version first; the declaration's and the code's version last."""
    assert (COMMON_FIRST, COMMON_LAST) == (table.column_names[:7], table.column_names[-2:])


@every_table
def test_names_need_no_quotes_and_are_unique(table: Table) -> None:
    """Every column can be written bare in SQL, and sorts by columns it has."""
    names = table.column_names
    assert (len(names), set(), set()) == (
        len(set(names)),
        RESERVED & {*names, table.name},
        set(table.sort_key) - set(names),
    )


@every_table
def test_every_column_is_described(table: Table) -> None:
    """A description of one line that a Markdown table can hold."""
    assert [] == [c.name for c in table.columns if not c.description or "|" in c.description or "\n" in c.description]


def test_operational_tables_are_told_apart() -> None:
    """Only the pipeline's own book-keeping stands outside the promise of byte identity."""
    assert (["run_states", "accounting"], []) == (
        [table.name for table in TABLES if table.operational],
        [table.name for table in PUBLISHED_TABLES if table.operational],
    )


def test_the_log_is_no_partition_that_is_replaced() -> None:
    """decision_log is inside the promise of byte identity, and outside what publish replaces."""
    log = table_named("decision_log")
    assert (True, False, False) == (log in TABLES, log in PUBLISHED_TABLES, log.operational)


def test_the_log_and_decisions_have_one_version() -> None:
    """Their code versions are compared, and each holds its table's version."""
    assert table_named("decisions").version == table_named("decision_log").version


def test_policy_free_tables_are_told_apart() -> None:
    """Facts and verdicts owe nothing to a policy."""
    assert ["runs", "trials", "calls", "effects", "verdicts"] == [table.name for table in TABLES if table.policy_free]


@pytest.mark.parametrize(
    ("name", "column", "kind", "nullable"),
    [
        ("trials", "cost_usd", pa.decimal128(18, 9), True),
        ("verdicts", "value", pa.decimal128(38, 9), True),
        ("signals", "denominator", pa.int64(), False),
        ("decisions", "as_of", pa.timestamp("us", tz="UTC"), False),
        ("runs", "run_date", pa.date32(), False),
        ("trials", "declared_complete", pa.bool_(), True),
        ("trials", "duration_s", pa.float64(), True),
    ],
)
def test_arrow_types_are_explicit(name: str, column: str, kind: pa.DataType, *, nullable: bool) -> None:
    """Types come from the declaration, not from what a column happens to hold."""
    field = arrow_schema(table_named(name)).field(column)
    assert (kind, nullable) == (field.type, field.nullable)


def test_description_and_unit_travel_with_the_file() -> None:
    """Arrow metadata names table, version, description and unit."""
    schema = arrow_schema(table_named("trials"))
    metadata = schema.field("cost_usd").metadata
    assert ({b"table": b"trials", b"table_version": b"1"}, b"USD") == (schema.metadata, metadata[b"unit"])
    assert metadata[b"description"].startswith(b"Cost of the trial")


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        (
            "trials",
            "cost_usd",
            {
                "name": "cost_usd",
                "type": "NUMERIC",
                "precision": "18",
                "scale": "9",
                "mode": "NULLABLE",
                "description": "Cost of the trial; only a billed one is covered [USD]",
            },
        ),
        (
            "signals",
            "denominator",
            {
                "name": "denominator",
                "type": "INT64",
                "mode": "REQUIRED",
                "description": "How many count; the rate over 0 is null",
            },
        ),
    ],
)
def test_bigquery_fields(name: str, column: str, expected: dict[str, str]) -> None:
    """BigQuery's schema carries type, mode and description."""
    assert [expected] == [field for field in bigquery_schema(table_named(name)) if field["name"] == column]


def test_json_schema_accepts_a_row_and_nothing_else() -> None:
    """A published row as JSON is valid; one with a missing column or a text for a count is not."""
    row = {key: str(value) if key == "run_date" else value for key, value in _run_row().items()}
    row["run_time"] = str(row["run_time"])
    validator = jsonschema.Draft202012Validator(json_schema(table_named("runs")))
    without = {key: value for key, value in row.items() if key != "run_id"}
    assert [True, False, False] == [validator.is_valid(item) for item in (row, without, row | {"planned_trials": "1"})]


def _run_row() -> dict[str, object]:
    return rows_of(DAY, [run(trial())], [policy()])["runs"][0]


def test_an_unknown_table_is_an_error() -> None:
    """No guessing."""
    with pytest.raises(KeyError):
        table_named("trial")


def test_the_data_dictionary_is_current(root: Path) -> None:
    """docs/tables.md is what the declarations say."""
    assert tables_markdown(TABLES) == (root / "docs" / "tables.md").read_text(encoding="utf-8")


def test_the_data_dictionary_names_everything() -> None:
    """Every table, column and view."""
    text = tables_markdown(TABLES)
    names = [f"## {table.name}\n" for table in TABLES] + [f"| `{c.name}` |" for table in TABLES for c in table.columns]
    names += [f"| `{view.name}` |" for view in VIEWS]
    assert [] == [name for name in names if name not in text]


def test_every_view_has_its_file_and_says_what_it_answers(root: Path) -> None:
    """One file per declared view and none besides; each opens with a comment that asks its question."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in (root / "include" / "sql").glob("*.sql")}
    assert sorted(view.name for view in VIEWS) == sorted(files)
    assert [] == [name for name, sql in files.items() if not sql.startswith("-- ") or "?" not in sql.splitlines()[0]]
