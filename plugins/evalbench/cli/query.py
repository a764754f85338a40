"""`evalbench query`: rows for people, spreadsheets and programs. NULL is always told from an empty text."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial

import msgspec
import pandas as pd
import pyarrow as pa
from rich.text import Text

from evalbench.cli.inputs import one_of, settings_from
from evalbench.cli.layout import columns, record
from evalbench.cli.terminal import ascii_json, emit, emit_data, emit_page, fits
from evalbench.cli.words import clean
from evalbench.decimals import digits
from evalbench.errors import UsageError
from evalbench.lake.commits import read_commits
from evalbench.sinks.duckdb import query
from evalbench.storage import lake_of

NULL = "NULL"
FORMATS = ("table", "csv", "json")


def query_verb(sql: str, overrides: Mapping[str, object], output: str) -> int:
    """Run one statement over a lake's tables and views and print its rows. Raises UsageError."""
    form = one_of(output, "--format", FORMATS)
    lake = lake_of(settings_from(overrides))
    rows = query(lake, sql, partial(read_commits, lake))
    repeated = [name for name, count in Counter(rows.column_names).items() if count > 1]
    if repeated:
        raise UsageError(f"column {repeated[0]!r} appears twice; give each an alias of its own")
    try:
        _emit(rows, form)
    except OverflowError as error:
        raise UsageError("a date or time outside the years 1 to 9999 can't be shown; cast it to VARCHAR") from error
    return 0


def _emit(rows: pa.Table, form: str) -> None:
    if form == "json":
        emit(as_json(rows))
    elif form == "csv":
        emit_data(as_csv(rows))
    else:
        _emit_table(rows)


def as_json(rows: pa.Table) -> str:
    """One array of objects in ASCII: exact decimals as numbers, dates and times in ISO 8601, NULL as null."""
    encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)
    return ascii_json(msgspec.json.format(encoder.encode(rows.to_pylist()), indent=2).decode()) + "\n"


def as_csv(rows: pa.Table) -> str:
    """RFC 4180: a header, CRLF, quotes where needed. NULL is the bare word; decimals keep every digit."""
    cells = {
        name: [None if cell is None else _cell(cell) for cell in column.to_pylist()]
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    }
    text: str = pd.DataFrame(cells, dtype=object).to_csv(index=False, lineterminator="\r\n", na_rep=NULL)
    return text


def _emit_table(rows: pa.Table) -> None:
    """A table; one block per row where a terminal is too narrow for it."""
    names = [clean(name) for name in rows.column_names]
    right = [name for name, field in zip(names, rows.schema, strict=True) if _is_number(field.type)]
    table = columns(*names, right=right)
    shown = [[_shown(cell) for cell in row] for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)]
    for row in shown:
        table.add_row(*row)
    count = Text(f"({rows.num_rows} row{'' if rows.num_rows == 1 else 's'})", style="dim")
    if fits(table):
        emit_page(table, count)
    else:
        emit_page(*(part for row in shown for part in (record(names, row), Text(""))), count)


def _shown(cell: object) -> Text:
    return Text(NULL, style="dim") if cell is None else Text(clean(_cell(cell)))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _cell(value: object) -> str:
    """A value as text that reads back exactly."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return digits(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)
