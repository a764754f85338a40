"""Google's client of BigQuery, and the dataset it works for."""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

from google.auth import exceptions as auth
from google.auth.credentials import Credentials
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from evalbench.settings import GoogleAccess, no_google_credentials
from evalbench.sinks.bigquery.failures import NotThereError, told

HTTP: Final[Mapping[str, Any]] = {"timeout": 60.0, "retry": DEFAULT_RETRY.with_timeout(180.0)}
"""How long one request may take, and all attempts at it."""
WORKERS = 8
"""Requests at a time, where they only read."""
LONGEST_PAUSE_S = 16.0

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The wall clock, a pause, and uniform numbers between two bounds.

    The clock is the one that BigQuery lets tables expire by, whatever clock the pipeline was given.
    """

    now: Callable[[], datetime] = lambda: datetime.now(UTC)  # noqa: TID251 - see above
    sleep: Callable[[float], object] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def pause(self, failures: int) -> None:
        """Wait the longer the more often it failed, and never as long as others do."""
        self.sleep(self.uniform(0, min(0.25 * 2**failures, LONGEST_PAUSE_S)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A client, and the dataset it works for: `project.dataset`, and where that is. Jobs run in its project."""

    client: bigquery.Client
    dataset: str
    location: str
    timing: Timing

    def name(self, table: str) -> str:
        """Full name of a table."""
        return f"{self.dataset}.{table}"

    def each(self, read: Callable[[str], _Result], tables: Iterable[str]) -> dict[str, _Result]:
        """What a read says of each of these tables, a few at a time."""
        names = list(tables)
        with ThreadPoolExecutor(WORKERS) as pool:
            return dict(zip(names, pool.map(read, names), strict=True))

    def find_table(self, table: str) -> bigquery.Table | None:
        """A table or view, None when there is none."""
        try:
            with told(self.name(table)):
                return self.client.get_table(self.name(table), **HTTP)
        except NotThereError:
            return None

    def row_count(self, table: str) -> int:
        """Rows of a table, 0 when there is none; makes no job."""
        first = [bigquery.SchemaField("run_date", "DATE")]
        try:
            with told(self.name(table)):
                rows = self.client.list_rows(self.name(table), selected_fields=first, max_results=1, **HTTP)
                next(rows.pages, None)
        except NotThereError:
            return 0
        return int(rows.total_rows or 0)


def client_of(project: str, access: GoogleAccess | None) -> bigquery.Client:
    """A client for jobs in a project. Raises UsageError without credentials."""
    try:
        credentials = cast("Credentials", access.credentials()) if access is not None else None
        return bigquery.Client(project=project, credentials=credentials)
    except auth.GoogleAuthError as error:
        raise no_google_credentials("BigQuery", error) from error
