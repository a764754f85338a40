"""Lakes that are delivered to BigQuery, what is there of them afterwards, and processes that deliver, race and die.

A process finds these functions by their module's name, which it can't for those of a test module.
"""

import hashlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import requests.adapters
import urllib3.connection
from google.auth.credentials import AnonymousCredentials
from tests.cloud.emulators import BigQuery
from tests.lakes import ask
from tests.processes import start

from evalbench.delivery import Delivery, deliver, warehouse_of
from evalbench.lake.commits import Commit, StoredObject, read_commit, write_commit
from evalbench.settings import GoogleAccess, Settings
from evalbench.sinks.bigquery.warehouse import Warehouse
from evalbench.sinks.decision_log import entry_path
from evalbench.sinks.parquet import partition_bytes, partition_path
from evalbench.storage import LocalStorage, lake_of
from evalbench.tables import TABLES, Column, ColumnType, Table, table_named

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
DAY = date(2026, 11, 27)
Rows = dict[str, Counter[tuple[object, ...]]]
"""Of each table its rows, as often as they are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A lake, the dataset that follows it, and where BigQuery is."""

    lake: str
    dataset: str
    bigquery: BigQuery
    partition_filter: bool = False
    location: str | None = None

    @property
    def settings(self) -> Settings:
        """As an operator would set it."""
        return Settings(
            lake=self.lake,
            bigquery_dataset=self.dataset,
            bigquery_partition_filter=self.partition_filter,
            bigquery_location=self.location,
            google=GoogleAccess(credentials=AnonymousCredentials, project=lambda: None),
        )

    @property
    def storage(self) -> LocalStorage:
        """The lake, where it is a local folder."""
        return LocalStorage(self.lake)

    @property
    def warehouse(self) -> Warehouse:
        """The dataset."""
        found = warehouse_of(self.settings)
        assert found is not None
        return found

    def deliver(self, *, news: bool = False) -> Delivery:
        """One delivery."""
        os.environ.update(self.bigquery.environment())
        return deliver(lake_of(self.settings), self.warehouse, news=news)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a query, with the dataset's name for `{d}`."""
        rows = self.bigquery.client().query(sql.format(d=self.dataset), job_retry=None).result()
        return [tuple(row.values()) for row in rows]

    def there(self, *tables: Table) -> Rows:
        """What BigQuery holds, of a table that isn't there nothing; read without a job."""
        client = self.bigquery.client()
        known = {table.table_id for table in client.list_tables(self.dataset)}
        return {
            table.name: Counter(
                tuple(row[name] for name in table.column_names)
                for row in client.list_rows(client.get_table(f"{self.dataset}.{table.name}"))
            )
            if table.name in known
            else Counter()
            for table in tables or TABLES
        }

    def here(self) -> Rows:
        """What DuckDB reads from the lake."""
        return {
            table.name: Counter(
                tuple(row[name] for name in table.column_names)
                for row in ask(Path(self.lake), f"SELECT * FROM {table.name}")
            )
            for table in TABLES
        }

    def jobs(self) -> list[str]:
        """The ids of all jobs that deliveries to the dataset ever made, children of scripts apart."""
        name = self.dataset.rpartition(".")[2]
        found = self.bigquery.client().list_jobs()
        return sorted(
            job.job_id
            for job in found
            if job.job_id.startswith("evalbench_") and name in (getattr(job, "query", None) or str(job.destination))
        )

    def clear(self) -> None:
        """Leave no rows of ours behind, and no record of any."""
        tables = ("_published", "trials", "calls", "accounting", "decision_log")
        self.ask(";".join(f"DELETE FROM `{{d}}.{name}` WHERE run_date > '0001-01-01'" for name in tables))

    def staging(self) -> list[str]:
        """Staging tables that are there."""
        tables = self.bigquery.client().list_tables(self.dataset)
        return [table.table_id for table in tables if table.table_id.startswith("_staging_")]


def put(
    lake: LocalStorage, rows: int, *, day: date = DAY, mark: str = "a", tables: tuple[str, ...] = ("trials",)
) -> None:
    """Publish a date as the pipeline does, but with rows of our own: this many in each of these tables."""
    objects = {
        partition_path(table_named(name), day): partition_bytes(
            table_named(name), [row(table_named(name), day, f"{mark}{number}") for number in range(rows)]
        )
        for name in tables
    }
    before = read_commit(lake, day)
    commit = Commit(
        run_date=day,
        seq=before.seq + 1 if before is not None else 1,
        writing=True,
        evidence=None,
        rules=None,
        texts=None,
        objects={path: stored(data) for path, data in objects.items()},
    )
    write_commit(lake, commit)
    for path, data in objects.items():
        lake.write_atomic(path, data)
    for path in set(before.objects if before is not None else ()) - objects.keys():
        lake.delete(path)
    write_commit(lake, replace(commit, writing=False))


def stored(data: bytes) -> StoredObject:
    """A file as a commit record names it."""
    return StoredObject(size=len(data), sha256=hashlib.sha256(data).hexdigest())


def log(lake: LocalStorage, name: str, *, day: date = DAY, **cells: object) -> None:
    """Put an entry into the decision log, or another one in its place."""
    entry = row(table_named("decision_log"), day, name) | {"log_id": hashlib.sha256(name.encode()).hexdigest()} | cells
    lake.write_atomic(entry_path(day, str(entry["log_id"])), partition_bytes(table_named("decision_log"), [entry]))


def tell(lake: LocalStorage, plan_id: str, *, day: date = DAY) -> None:
    """What an execution tells of itself."""
    table = table_named("accounting")
    data = partition_bytes(table, [row(table, day, plan_id)])
    lake.write_atomic(partition_path(table, day, plan_id), data)


def row(table: Table, day: date, mark: str) -> dict[str, object]:
    """A row of a table with something in every column that can't be null."""
    return {column.name: None if column.nullable else _cell(column, day, mark) for column in table.columns}


def _cell(column: Column, day: date, mark: str) -> object:
    cells: Mapping[ColumnType, object] = {
        ColumnType.DATE: day,
        ColumnType.STRING: f"{column.name} {mark}",
        ColumnType.TIMESTAMP: datetime(2026, 11, 27, 9, tzinfo=UTC),
        ColumnType.BOOL: True,
    }
    return cells.get(column.type, 1)


# -- processes -----------------------------------------------------------------------------------------------------


def changes(place: Place) -> list[str]:
    """The requests a process makes to deliver that change something, in order: `POST jobs` and the like."""
    found: list[str] = start(partial(_heard, place)).result()
    return found


def dies(place: Place, number: int, *, answered: bool) -> bool:
    """Whether a process that delivered was killed at its n-th change, from 1: sent and not answered yet, or answered.

    It was not when it made fewer.
    """
    return start(partial(_cut, place, number, answered)).was_killed()


def _heard(place: Place) -> list[str]:
    found: list[str] = []
    _listen(lambda request: found.append(_name(request)), lambda: None, lambda: None)
    place.deliver()
    return found


def _cut(place: Place, number: int, answered: bool) -> None:
    left = number

    def sending(_request: requests.PreparedRequest) -> None:
        nonlocal left
        left -= 1

    def die(when: bool) -> None:
        if left == 0 and when:
            os.kill(os.getpid(), signal.SIGKILL)

    _listen(sending, partial(die, not answered), partial(die, answered))
    place.deliver()


def _listen(
    sending: Callable[[requests.PreparedRequest], None], sent: Callable[[], None], answered: Callable[[], None]
) -> None:
    """Be told of each request of this process that changes something: before it is sent, when it is, and afterwards."""
    send, wait = requests.adapters.HTTPAdapter.send, urllib3.connection.HTTPConnection.getresponse
    changing = False

    def tell(adapter: requests.adapters.HTTPAdapter, request: requests.PreparedRequest, *args: Any, **more: Any) -> Any:
        nonlocal changing
        changing = request.method in CHANGING
        if changing:
            sending(request)
        answer = send(adapter, request, *args, **more)
        if changing:
            answered()
        return answer

    def waiting(connection: urllib3.connection.HTTPConnection) -> Any:
        if changing:
            sent()
        return wait(connection)

    requests.adapters.HTTPAdapter.send = tell  # type: ignore[method-assign]
    urllib3.connection.HTTPConnection.getresponse = waiting  # type: ignore[method-assign,assignment]


def _name(request: requests.PreparedRequest) -> str:
    """`POST jobs`, `DELETE tables`."""
    parts = str(request.url).partition("?")[0].split("/")
    kind = next((name for name in ("jobs", "tables", "datasets") if name in parts), parts[-1])
    return f"{request.method} {kind}"
