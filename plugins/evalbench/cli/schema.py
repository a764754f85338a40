"""`evalbench schema`: the data dictionary, derived from the declarations."""

from collections.abc import Callable, Sequence

from evalbench.cli.inputs import one_of
from evalbench.cli.terminal import emit, emit_json
from evalbench.errors import UsageError
from evalbench.readers.trial_record_schema import trial_record_json_schema
from evalbench.tables import TABLES, Table, table_named
from evalbench.tables.formats import bigquery_schema, json_schema
from evalbench.tables.markdown import table_markdown, tables_markdown

TRIAL_RECORD = "trial-record"
FORMATS = ("md", "json", "bigquery")


def schema_verb(name: str | None, output: str | None) -> int:
    """Print one table's schema, all of them, or the JSON Schema of a trial record."""
    if name == TRIAL_RECORD:
        one_of(output or "json", f"--format for {TRIAL_RECORD}", ("json",))
        emit_json(trial_record_json_schema())
        return 0
    form = one_of(output or "md", "--format", FORMATS)
    if form == "md":
        emit(tables_markdown(TABLES) if name is None else table_markdown(_table(name)))
    else:
        shape = json_schema if form == "json" else bigquery_schema
        emit_json(_shapes(TABLES, shape) if name is None else shape(_table(name)))
    return 0


def _shapes(tables: Sequence[Table], shape: Callable[[Table], object]) -> dict[str, object]:
    return {table.name: shape(table) for table in tables}


def _table(name: str) -> Table:
    try:
        return table_named(name)
    except KeyError as error:
        known = ", ".join([*(table.name for table in TABLES), TRIAL_RECORD])
        raise UsageError(f"{name}: no such table; known are {known}") from error
