"""How a declared table looks in BigQuery, and which differences of one that is there are mended, kept or refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from google.cloud import bigquery

from evalbench.errors import UsageError
from evalbench.sinks.bigquery.schema import changed, declared, fields_of
from evalbench.tables import TABLES, Table, table_named
from evalbench.tables.model import ColumnType, column, required

NAME = "project.dataset.trials"
TRIALS = table_named("trials")


def there(**changes: object) -> bigquery.Table:
    """The table as BigQuery tells of it, when these properties differ from the declared ones."""
    resource = declared(NAME, TRIALS, partition_filter=False).to_api_repr()
    return bigquery.Table.from_api_repr({**resource, "type": "TABLE", "id": "project:dataset.trials", **changes})


def field(name: str, **changes: object) -> dict[str, object]:
    """A declared column, as BigQuery tells of it."""
    (found,) = (each.to_api_repr() for each in fields_of(TRIALS) if each.name == name)
    return {**found, **changes}


def of(name: str, each: dict[str, object], **changes: object) -> dict[str, object]:
    """The changes, where it is that column."""
    return changes if each["name"] == name else {}


def with_fields(change: Callable[[list[dict[str, object]]], list[dict[str, object]]]) -> bigquery.Table:
    """The table with other columns."""
    return there(schema={"fields": change([each.to_api_repr() for each in fields_of(TRIALS)])})


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_has_what_it_is_partitioned_and_clustered_by(table: Table) -> None:
    """Columns of the dates, of product and of candidate, a description for each column and for the table."""
    made = declared("project.dataset.any", table, partition_filter=True)
    assert made.time_partitioning is not None
    assert ("DAY", "run_date", True) == (
        made.time_partitioning.type_, made.time_partitioning.field, made.require_partition_filter,
    )  # fmt: skip
    assert {"run_date", "product", "candidate"} <= {each.name for each in made.schema}
    assert all(each.description for each in made.schema)
    assert f"One row per {table.grain}." in str(made.description)
    assert {"application": "evalbench", "table_version": str(table.version)} == made.labels


def test_the_table_as_declared_is_left_alone() -> None:
    """Also under BigQuery's older names of types, and beside labels, clustering and columns of somebody else."""
    older = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}

    def renamed(fields: list[dict[str, object]]) -> list[dict[str, object]]:
        theirs = {"name": "reviewed_by", "type": "STRING", "mode": "NULLABLE"}
        return [theirs, *({**each, "type": older.get(str(each["type"]), each["type"])} for each in reversed(fields))]

    assert [] == changed(there(), TRIALS, partition_filter=False)
    assert [] == changed(with_fields(renamed), TRIALS, partition_filter=False)
    labels = {"application": "evalbench", "table_version": "1", "team": "quality"}
    assert [] == changed(there(labels=labels, clustering={"fields": ["suite"]}), TRIALS, partition_filter=False)


def test_what_only_adds_is_changed() -> None:
    """New columns that may be null come behind the others; descriptions, labels and the filter are set."""
    table = replace(
        TRIALS, version=2, columns=(column("mood", ColumnType.MONEY, "How it felt", "USD"), *TRIALS.columns)
    )
    found = there()
    assert ["schema", "labels", "require_partition_filter"] == changed(found, table, partition_filter=True)
    mood = found.schema[-1]
    assert ("mood", "NUMERIC", 18, 9, "How it felt [USD]") == (
        mood.name, mood.field_type, mood.precision, mood.scale, mood.description,
    )  # fmt: skip
    assert [each.name for each in fields_of(TRIALS)] == [each.name for each in found.schema[:-1]]
    assert ("2", True) == (found.labels["table_version"], found.require_partition_filter)

    found = there(description="Whatever", schema={"fields": [field("run_date", description="A day")]})
    assert found.schema[0].description == "A day"
    only_date = replace(TRIALS, columns=(TRIALS.columns[0],))
    assert ["schema", "description"] == changed(found, only_date, partition_filter=False)
    assert (TRIALS.columns[0].description, True) == (
        found.schema[0].description, str(found.description).startswith(TRIALS.description),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "found"),
    [
        ("column run_id is not there and declared STRING REQUIRED",
         with_fields(lambda fields: [each for each in fields if each["name"] != "run_id"])),
        ("column trial is STRING NULLABLE there and declared INT64 NULLABLE",
         with_fields(lambda fields: [*fields[:9], field("trial", type="STRING"), *fields[10:]])),
        (r"column cost_usd is NUMERIC NULLABLE there and declared NUMERIC\(18, 9\) NULLABLE",
         with_fields(lambda fields: [{**each, "precision": None, "scale": None} for each in fields])),
        ("column run_id is STRING NULLABLE there and declared STRING REQUIRED",
         with_fields(lambda fields: [each | of("run_id", each, mode="NULLABLE") for each in fields])),
        ("column status is STRING REQUIRED there and declared STRING NULLABLE",
         with_fields(lambda fields: [each | of("status", each, mode="REQUIRED") for each in fields])),
        ("column theirs is REQUIRED there and not declared",
         with_fields(lambda fields: [*fields, {"name": "theirs", "type": "STRING", "mode": "REQUIRED"}])),
        ("is not partitioned by run_date, day by day", there(timePartitioning=None)),
        ("is not partitioned by run_date, day by day", there(timePartitioning={"type": "MONTH", "field": "run_date"})),
        ("is not partitioned by run_date, day by day", there(timePartitioning={"type": "DAY"})),
        ("is a VIEW, not a table", there(type="VIEW")),
    ],
)  # fmt: skip
def test_any_other_difference_is_refused_by_table_and_column(difference: str, found: bigquery.Table) -> None:
    """With both types, and what to do: the table is derived, and can be deleted."""
    with pytest.raises(UsageError, match=rf"^BigQuery table project:dataset.trials: {difference}; .*Delete the table"):
        changed(found, TRIALS, partition_filter=False)


def test_partitions_that_expire_are_refused() -> None:
    """They would go from BigQuery while the lake has them, night after night."""
    found = there(timePartitioning={"type": "DAY", "field": "run_date", "expirationMs": "5184000000"})
    with pytest.raises(UsageError, match="its partitions expire, and with them dates that the lake still has; remove"):
        changed(found, TRIALS, partition_filter=False)


def test_tables_that_expire_are_refused() -> None:
    """A default of the dataset gives them a date on which they vanish, with all that the lake still has."""
    with pytest.raises(UsageError, match=r"trials: expires 2026-12-01T.*remove the expiration from the table"):
        changed(there(expirationTime="1796083200000"), TRIALS, partition_filter=False)


def test_a_new_required_column_is_refused() -> None:
    """Rows that are there have nothing for it: another version of the table, which is made anew."""
    table = replace(TRIALS, columns=(*TRIALS.columns, required("mood", ColumnType.STRING, "How it felt")))
    with pytest.raises(UsageError, match="column mood is not there and declared STRING REQUIRED"):
        changed(there(), table, partition_filter=False)
