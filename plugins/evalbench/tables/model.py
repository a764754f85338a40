"""What a published table is made of. Arrow, BigQuery, JSON Schema and docs derive from it."""

from dataclasses import dataclass
from enum import StrEnum


class ColumnType(StrEnum):
    """Types that Parquet, DuckDB and BigQuery agree on.

    TIMESTAMP is microseconds in UTC. MONEY is decimal(18, 9). NUMERIC is decimal(38, 9): scores, verdict values and
    sums, which may be token counts.
    """

    STRING = "STRING"
    INT64 = "INT64"
    FLOAT64 = "FLOAT64"
    BOOL = "BOOL"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    MONEY = "MONEY"
    NUMERIC = "NUMERIC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. A nullable one is null where the value is absent; the reason stands in a column beside it."""

    name: str
    type: ColumnType
    description: str
    unit: str | None = None
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One published table.

    columns holds the common columns too, in file order. sort_key names columns that identify a row within a partition.
    policy_free: no policy had a say in its rows. operational: about the pipeline, outside the promise of byte identity.
    version: raised by any change but a new nullable column.
    """

    name: str
    grain: str
    description: str
    columns: tuple[Column, ...]
    sort_key: tuple[str, ...]
    policy_free: bool = False
    operational: bool = False
    version: int = 1

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names in file order."""
        return tuple(column.name for column in self.columns)


def column(name: str, kind: ColumnType, description: str, unit: str | None = None) -> Column:
    """A nullable column."""
    return Column(name=name, type=kind, description=description, unit=unit)


def required(name: str, kind: ColumnType, description: str, unit: str | None = None) -> Column:
    """A column that is never null."""
    return Column(name=name, type=kind, description=description, unit=unit, nullable=False)


def with_common(*own: Column, subject: bool = True) -> tuple[Column, ...]:
    """A table's own columns between the common ones. subject=False: rows may belong to no subject."""
    make = required if subject else column
    return (
        required("run_date", ColumnType.DATE, "UTC date of the partition: of the run, or the date decided"),
        make("product", ColumnType.STRING, "Product under evaluation"),
        make("suite", ColumnType.STRING, "Suite of tasks: the run manifest's dataset, or the operator's name for it"),
        make("candidate", ColumnType.STRING, "What is judged: a version of an agent"),
        column("model", ColumnType.STRING, "Model behind the candidate; several are joined by commas"),
        make("environment", ColumnType.STRING, "offline or production; never pooled together"),
        column("dataset_version", ColumnType.STRING, "Version of the dataset; null when the runs name none"),
        *own,
        required("schema_version", ColumnType.INT64, "Version of this table's declaration"),
        required("code_version", ColumnType.STRING, "Digest of the code versions that can change this table's rows"),
    )
