"""One declaration, many shapes: Arrow, BigQuery and JSON Schema."""

import pyarrow as pa

from evalbench.tables.model import Column, ColumnType, Table

ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INT64: pa.int64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.BOOL: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    ColumnType.MONEY: pa.decimal128(18, 9),
    ColumnType.NUMERIC: pa.decimal128(38, 9),
}

_JSON_TYPES: dict[ColumnType, dict[str, str]] = {
    ColumnType.STRING: {"type": "string"},
    ColumnType.INT64: {"type": "integer"},
    ColumnType.FLOAT64: {"type": "number"},
    ColumnType.BOOL: {"type": "boolean"},
    ColumnType.DATE: {"type": "string", "format": "date"},
    ColumnType.TIMESTAMP: {"type": "string", "format": "date-time"},
    ColumnType.MONEY: {"type": "number"},
    ColumnType.NUMERIC: {"type": "number"},
}


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table's files; descriptions and units travel as field metadata."""
    fields = [
        pa.field(column.name, ARROW_TYPES[column.type], nullable=column.nullable, metadata=_metadata(column))
        for column in table.columns
    ]
    return pa.schema(fields, metadata={"table": table.name, "table_version": str(table.version)})


def _metadata(column: Column) -> dict[str | bytes, str | bytes]:
    unit: dict[str | bytes, str | bytes] = {"unit": column.unit} if column.unit is not None else {}
    return {"description": column.description, **unit}


def bigquery_schema(table: Table) -> list[dict[str, str]]:
    """The BigQuery schema of a table, in the form its API takes."""
    return [_bigquery_field(column) for column in table.columns]


def _bigquery_field(column: Column) -> dict[str, str]:
    money = column.type is ColumnType.MONEY
    return {
        "name": column.name,
        "type": "NUMERIC" if money else column.type.value,
        **({"precision": "18", "scale": "9"} if money else {}),
        "mode": "NULLABLE" if column.nullable else "REQUIRED",
        "description": describe(column),
    }


def json_schema(table: Table) -> dict[str, object]:
    """JSON Schema (2020-12) of one row of a table as JSON."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": table.name,
        "description": f"{table.description} One row per {table.grain}.",
        "type": "object",
        "properties": {column.name: _json_property(column) for column in table.columns},
        "required": list(table.column_names),
        "additionalProperties": False,
    }


def _json_property(column: Column) -> dict[str, object]:
    shape: dict[str, object] = {**_JSON_TYPES[column.type]}
    if column.nullable:
        shape["type"] = [shape["type"], "null"]
    return {**shape, "description": describe(column)}


def describe(column: Column) -> str:
    """Description with its unit."""
    return column.description if column.unit is None else f"{column.description} [{column.unit}]"
