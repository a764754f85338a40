"""Lakes that are delivered to BigQuery, what is there of them afterwards, and processes that deliver, race and die.

A process finds these functions by their module's name, which it can't for those of a test module.
"""

import hashlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import requests.adapters
import urllib3.connection
from google.api_core.exceptions import NotFound
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from tests.lakes import ask
from tests.processes import FORKS, SECONDS, Work, start

from evalbench.delivery import Delivery, _followed, deliver, warehouse_of
from evalbench.lake.commits import Commit, StoredObject, read_commit, write_commit
from evalbench.lake.identity import lake_id
from evalbench.settings import GoogleAccess, Settings
from evalbench.sinks.bigquery.warehouse import Warehouse
from evalbench.sinks.decision_log import entry_path
from evalbench.sinks.parquet import partition_bytes, partition_path
from evalbench.storage import LocalStorage, lake_of
from evalbench.tables import Column, ColumnType, Table, table_named

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
DAY = date(2026, 11, 27)
KINDS = ("trials", "calls", "signals", "decisions", "accounting", "decision_log")
"""Tables that tests put rows into."""
Rows = dict[str, Counter[tuple[object, ...]]]
"""Of each table its rows, as often as they are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A lake, the dataset that follows it, and the address of BigQuery."""

    lake: str
    dataset: str
    url: str
    partition_filter: bool = False
    location: str | None = "US"

    @property
    def settings(self) -> Settings:
        """As an operator would set it."""
        return Settings(
            lake=self.lake,
            bigquery_dataset=self.dataset,
            bigquery_partition_filter=self.partition_filter,
            bigquery_location=self.location,
            google=GoogleAccess(credentials=AnonymousCredentials),
        )

    @property
    def storage(self) -> LocalStorage:
        """The lake, where it is a local folder."""
        return LocalStorage(self.lake)

    @property
    def client(self) -> bigquery.Client:
        """A client of this BigQuery, whatever the environment says."""
        return bigquery.Client(
            project=self.dataset.partition(".")[0],
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": self.url},
        )

    @property
    def warehouse(self) -> Warehouse:
        """The dataset."""
        found = warehouse_of(self.settings)
        assert found is not None
        return found

    def deliver(self, *, news: bool = False) -> Delivery:
        """One delivery."""
        os.environ["BIGQUERY_EMULATOR_HOST"] = self.url
        return deliver(lake_of(self.settings), self.warehouse, news=news)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a query, with the dataset's name for `{d}`."""
        rows = self.client.query(sql.format(d=self.dataset), job_retry=None).result()
        return [tuple(row.values()) for row in rows]

    def there(self, names: Iterable[str] = KINDS) -> Rows:
        """What BigQuery holds in these tables, and nothing in one that isn't there; read without a job."""
        return {name: Counter(self._rows(table_named(name))) for name in names}

    def _rows(self, table: Table) -> Iterator[tuple[object, ...]]:
        client = self.client
        with suppress(NotFound):
            for row in client.list_rows(client.get_table(f"{self.dataset}.{table.name}")):
                yield tuple(row[name] for name in table.column_names)

    def here(self, names: Iterable[str] = KINDS) -> Rows:
        """What DuckDB reads from the lake."""
        found = {name: ask(Path(self.lake), f"SELECT * FROM {name}") for name in names}
        return {name: Counter(tuple(row.values()) for row in rows) for name, rows in found.items()}

    def jobs(self) -> list[str]:
        """The ids of all jobs that deliveries to the dataset ever made, children of scripts apart."""
        name = self.dataset.rpartition(".")[2]
        found = self.client.list_jobs()
        return sorted(
            job.job_id
            for job in found
            if job.job_id.startswith("evalbench_") and name in (getattr(job, "query", None) or str(job.destination))
        )

    def clear(self) -> None:
        """Leave no rows of ours behind, no record of any, and no staging."""
        tables = ("_published", *KINDS)
        self.ask(";".join(f"DELETE FROM `{{d}}.{name}` WHERE run_date > '0001-01-01'" for name in tables))
        for name in self.staging():
            self.client.delete_table(f"{self.dataset}.{name}")

    def staging(self) -> list[str]:
        """Staging tables that are there."""
        tables = self.client.list_tables(self.dataset)
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


def dies(place: Place, number: int, *, answered: bool) -> bool:
    """Whether a process that delivered was killed at its n-th change, from 1; it was not when it made fewer.

    answered: killed as soon as that was done. Else it has only asked for it, which may change nothing.
    """
    return start(partial(_cut, place, number, answered)).was_killed()


def overtaken(place: Place, number: int, other: Work) -> tuple[Delivery, Any]:
    """Hold a process that delivers right before its n-th change until other work is done; what both returned."""
    reached, go_on = FORKS.Event(), FORKS.Event()
    first = start(partial(_held, place, number, reached, go_on))
    assert reached.wait(SECONDS), "it made fewer changes"
    answer = start(other).result()
    go_on.set()
    return first.result(), answer


def rounds(place: Place, day: date, count: int) -> list[str]:
    """Change a date and deliver, again and again; what of it wasn't there as soon as that was done."""
    lost = []
    os.environ["BIGQUERY_EMULATOR_HOST"] = place.url
    with place.warehouse.opened(lake_id(place.storage)) as dataset:
        for number in range(1, count + 1):
            put(place.storage, number, day=day, mark=f"{day.day}-{number}-")
            _followed(place.storage, dataset, news=False)
            found = [row for row in place.there(["trials"])["trials"].elements() if day in row]
            if [number, number] != [len(found), sum(f"{day.day}-{number}-" in str(row) for row in found)]:
                lost.append(f"{day}, round {number}: {found}")
    return lost


def _cut(place: Place, number: int, answered: bool) -> None:
    left = number

    def die(when: bool) -> None:
        nonlocal left
        left -= when
        if left == 0 and when:
            os.kill(os.getpid(), signal.SIGKILL)

    _listen(_nothing, partial(die, not answered), partial(die, answered))
    place.deliver()


def _held(place: Place, number: int, reached: Event, go_on: Event) -> Delivery:
    left = number

    def sending() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            reached.set()
            assert go_on.wait(SECONDS), "never told to go on"

    _listen(sending)
    return place.deliver()


def _nothing() -> None:
    """What most are told."""


def _listen(
    sending: Callable[[], None],
    sent: Callable[[], None] = _nothing,
    answered: Callable[[], None] = _nothing,
) -> None:
    """Be told of each request of this process that changes something: before it is sent, once it is, once done."""
    send, wait = requests.adapters.HTTPAdapter.send, urllib3.connection.HTTPConnection.getresponse
    changing = False

    def tell(adapter: requests.adapters.HTTPAdapter, request: requests.PreparedRequest, *args: Any, **more: Any) -> Any:
        nonlocal changing
        changing = request.method in CHANGING
        if changing:
            sending()
        answer = send(adapter, request, *args, **more)
        if changing and answer.ok:
            answered()
        return answer

    def waiting(connection: urllib3.connection.HTTPConnection) -> Any:
        if changing:
            sent()
        return wait(connection)

    requests.adapters.HTTPAdapter.send = tell  # type: ignore[method-assign]
    urllib3.connection.HTTPConnection.getresponse = waiting  # type: ignore[method-assign,assignment]
