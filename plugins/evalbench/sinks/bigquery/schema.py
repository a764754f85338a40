"""How a declared table has to look in BigQuery, and how one that is there differs."""

from collections.abc import Iterable

from google.cloud import bigquery

from evalbench.errors import UsageError
from evalbench.tables import Table
from evalbench.tables.formats import bigquery_schema

PARTITION = "run_date"
CLUSTERING = ("product", "candidate")
APPLICATION = {"application": "evalbench"}
_SYNONYMS = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL", "DECIMAL": "NUMERIC"}


def fields_of(table: Table) -> list[bigquery.SchemaField]:
    """The declared columns."""
    return [bigquery.SchemaField.from_api_repr(field) for field in bigquery_schema(table)]


def labels_of(table: Table) -> dict[str, str]:
    """Labels by which our tables are found, and their declaration is known."""
    return {**APPLICATION, "table_version": str(table.version)}


def declared(name: str, table: Table, partition_filter: bool | None) -> bigquery.Table:
    """A table as it is to be created, under its full name.

    partition_filter: whether queries must name dates; None for a table that isn't partitioned by them.
    """
    made = bigquery.Table(name, schema=fields_of(table))
    made.description = _description(table)
    made.labels = labels_of(table)
    if partition_filter is not None:
        made.time_partitioning = bigquery.TimePartitioning(type_="DAY", field=PARTITION)
        made.clustering_fields = list(CLUSTERING)
        made.require_partition_filter = partition_filter
    return made


def changed(there: bigquery.Table, table: Table, partition_filter: bool | None) -> list[str]:
    """Make a table that is there what it has to be, as far as that only adds to it; the properties that were changed.

    Columns of somebody else that may be null stay, and so does another clustering. Raises UsageError, naming table and
    column, for a difference that nothing added can mend.
    """
    what = f"BigQuery table {there.full_table_id or there.table_id}"
    _check_kind(there, what, partitioned=partition_filter is not None)
    wanted: dict[str, object] = {
        "schema": _merged(there.schema, fields_of(table), what),
        "description": _description(table),
        "labels": {**there.labels, **labels_of(table)},
    }
    found: dict[str, object] = {**{name: getattr(there, name) for name in wanted}, "schema": list(there.schema)}
    if partition_filter is not None:
        wanted["require_partition_filter"] = partition_filter
        found["require_partition_filter"] = bool(there.require_partition_filter)
    differing = [name for name, value in wanted.items() if found[name] != value]
    for name in differing:
        setattr(there, name, wanted[name])
    return differing


def described(field: bigquery.SchemaField, description: str | None) -> bigquery.SchemaField:
    """The same column with this description; whatever else was said of it stays."""
    if field.description == description:
        return field
    return bigquery.SchemaField.from_api_repr({**field.to_api_repr(), "description": description})


def _description(table: Table) -> str:
    return f"{table.description} One row per {table.grain}."


def _check_kind(there: bigquery.Table, what: str, *, partitioned: bool) -> None:
    if there.table_type != "TABLE":
        raise _refused(what, f"is a {there.table_type}, not a table")
    if there.expires is not None:
        raise UsageError(
            f"{what}: expires {there.expires.isoformat()}, and with it what the lake still has; remove the expiration"
            " from the table, and the default one of tables from its dataset"
        )
    partitioning = there.time_partitioning
    if not partitioned:
        return
    if partitioning is None or (partitioning.type_, partitioning.field) != ("DAY", PARTITION):
        raise _refused(what, f"is not partitioned by {PARTITION}, day by day")
    if partitioning.expiration_ms is not None:
        raise UsageError(
            f"{what}: its partitions expire, and with them dates that the lake still has; remove that expiration from"
            " the table, and the default one of partitions from its dataset"
        )


def _merged(
    there: Iterable[bigquery.SchemaField], wanted: Iterable[bigquery.SchemaField], what: str
) -> list[bigquery.SchemaField]:
    """The columns that are there, described as declared, and those that can be added behind them."""
    declared_fields = {field.name.lower(): field for field in wanted}
    merged = []
    for field in there:
        own = declared_fields.pop(field.name.lower(), None)
        if own is None and field.mode == "REQUIRED":
            raise _refused(what, f"column {field.name} is REQUIRED there and not declared")
        if own is not None and _type(own) != _type(field):
            raise _refused(what, f"column {field.name} is {_type(field)} there and declared {_type(own)}")
        merged.append(field if own is None else described(field, own.description))
    for own in declared_fields.values():
        if own.mode == "REQUIRED":
            raise _refused(what, f"column {own.name} is not there and declared {_type(own)}")
    return [*merged, *declared_fields.values()]


def _type(field: bigquery.SchemaField) -> str:
    """`NUMERIC(18, 9) REQUIRED`: all of a column that can't change."""
    kind = _SYNONYMS.get(field.field_type, field.field_type)
    parameters = [str(value) for value in (field.precision, field.scale) if value is not None]
    return f"{kind}({', '.join(parameters)}) {field.mode}" if parameters else f"{kind} {field.mode}"


def _refused(what: str, difference: str) -> UsageError:
    return UsageError(
        f"{what}: {difference}; only new columns that may be null are added by themselves. Delete the table, and the"
        " next publish fills it again from the lake, or name another dataset"
    )
