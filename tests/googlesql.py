"""GoogleSQL's own analyser and evaluator over our tables: they refuse what the BigQuery emulator lets pass."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from wasmtime import Config
from zetasql.api import Analyzer, CatalogBuilder, PreparedQuery, TableBuilder
from zetasql.core import wasm_client
from zetasql.types import (
    AnalyzerOptions,
    LanguageFeature,
    LanguageOptions,
    ProductMode,
    SimpleCatalog,
    TableContent,
    TableData,
    TypeKind,
    Value,
    ZetaSQLBuiltinFunctionOptions,
)

from evalbench.tables import ColumnType, Table

KINDS = {
    ColumnType.STRING: TypeKind.TYPE_STRING,
    ColumnType.INT64: TypeKind.TYPE_INT64,
    ColumnType.FLOAT64: TypeKind.TYPE_DOUBLE,
    ColumnType.BOOL: TypeKind.TYPE_BOOL,
    ColumnType.DATE: TypeKind.TYPE_DATE,
    ColumnType.TIMESTAMP: TypeKind.TYPE_TIMESTAMP,
    ColumnType.MONEY: TypeKind.TYPE_NUMERIC,
    ColumnType.NUMERIC: TypeKind.TYPE_NUMERIC,
}
PARAMETERS = LanguageFeature.FEATURE_PARAMETERIZED_TYPES
EPOCH = date(1970, 1, 1)
CACHE = Path(__file__).resolve().parent.parent / ".cache" / "googlesql"

Columns = Mapping[str, TypeKind]


class _Cached(Config):
    """Keeps the compiled analyser: compiling it takes half a minute of one core, in every process that uses it."""

    def __init__(self) -> None:
        super().__init__()
        CACHE.mkdir(parents=True, exist_ok=True)
        settings = CACHE / "wasmtime.toml"
        settings.write_text(f'[cache]\ndirectory = "{CACHE}"\n', encoding="utf-8")
        self.cache = str(settings)


wasm_client.Config = _Cached


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table or view that queries may name. rows: only where queries are evaluated."""

    columns: Columns
    rows: Sequence[Mapping[str, Any]] = ()


def columns_of(table: Table) -> Columns:
    """A table's columns by name."""
    return {column.name: KINDS[column.type] for column in table.columns}


def _language() -> LanguageOptions:
    """What BigQuery takes. It knows parameters of types, such as NUMERIC(38, 9), only where columns are declared."""
    language = LanguageOptions.maximum_features()
    language.enabled_language_features = [
        feature for feature in language.enabled_language_features if feature != PARAMETERS
    ]
    language.product_mode = ProductMode.PRODUCT_EXTERNAL
    return language


def _options(parameters: Iterable[str]) -> AnalyzerOptions:
    options = AnalyzerOptions(language_options=_language())
    text = TableBuilder("").add_column("", TypeKind.TYPE_STRING).build().column[0].type
    options.query_parameters = [AnalyzerOptions.QueryParameter(name=name, type=text) for name in parameters]
    return options


def _catalog(relations: Mapping[str, Relation]) -> SimpleCatalog:
    builder = CatalogBuilder("lake").with_builtin_functions(ZetaSQLBuiltinFunctionOptions(language_options=_language()))
    for name, relation in relations.items():
        table = TableBuilder(name)
        for column, kind in relation.columns.items():
            table.add_column(column, kind)
        builder.add_table(table.build())
    return builder.build()


def analysed(sql: str, relations: Mapping[str, Relation], parameters: Iterable[str] = ()) -> Columns:
    """The columns of a query's result. Raises zetasql's ServerError when it is no GoogleSQL.

    parameters: names of query parameters, all of them texts.
    """
    statement = Analyzer(_options(parameters), _catalog(relations)).analyze_statement(sql)
    return {column.name: TypeKind(column.column.type.type_kind) for column in statement.output_column_list}


def evaluated(sql: str, relations: Mapping[str, Relation]) -> tuple[Columns, list[dict[str, Any]]]:
    """A query's columns and rows. Timestamps get lost in this package: the rows leave them out."""
    columns = analysed(sql, relations)
    contents = {name: _content(relation) for name, relation in relations.items()}
    builder = PreparedQuery.builder().set_sql(sql).set_analyzer_options(_options(()))
    with builder.set_catalog(_catalog(relations)).set_table_content(contents).prepare() as query:
        data = query.execute().content.table_data
    rows = (data.row if data else None) or []
    return columns, [_row(row, columns) for row in rows]


def _row(row: TableData.Row, columns: Columns) -> dict[str, Any]:
    return {
        name: _decoded(cell, kind)
        for cell, (name, kind) in zip(row.cell, columns.items(), strict=True)
        if kind != TypeKind.TYPE_TIMESTAMP
    }


def _content(relation: Relation) -> TableContent:
    rows = [
        TableData.Row(cell=[_encoded(row[name], kind) for name, kind in relation.columns.items()])
        for row in relation.rows
    ]
    return TableContent(table_data=TableData(row=rows))


def _encoded(value: Any, kind: TypeKind) -> Value:
    if value is None:
        return Value()
    match kind:
        case TypeKind.TYPE_NUMERIC:
            units = int(Decimal(value).scaleb(9))
            return Value(numeric_value=units.to_bytes(units.bit_length() // 8 + 1, "little", signed=True))
        case TypeKind.TYPE_DATE:
            return Value(date_value=(value - EPOCH).days)
        case TypeKind.TYPE_TIMESTAMP:
            return Value(timestamp_value=_timestamp(value))
        case TypeKind.TYPE_BOOL:
            return Value(bool_value=value)
        case TypeKind.TYPE_INT64:
            return Value(int64_value=value)
        case TypeKind.TYPE_DOUBLE:
            return Value(double_value=value)
    return Value(string_value=value)


def _timestamp(moment: datetime) -> Timestamp:
    made = Timestamp()
    made.FromDatetime(moment)
    return made


def _decoded(cell: Value, kind: TypeKind) -> Any:
    match kind:
        case TypeKind.TYPE_NUMERIC:
            units = cell.numeric_value
            return None if units is None else Decimal(int.from_bytes(units, "little", signed=True)).scaleb(-9)
        case TypeKind.TYPE_DATE:
            return None if cell.date_value is None else date.fromordinal(EPOCH.toordinal() + cell.date_value)
        case TypeKind.TYPE_BOOL:
            return cell.bool_value
        case TypeKind.TYPE_INT64:
            return cell.int64_value
        case TypeKind.TYPE_DOUBLE:
            return cell.double_value
    return cell.string_value
