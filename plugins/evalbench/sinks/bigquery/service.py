"""Google's client of BigQuery, the dataset it works for, and its errors in our words."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth
from google.auth.credentials import Credentials
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from evalbench.errors import PipelineError, StorageError, UsageError
from evalbench.settings import GoogleAccess

HTTP: Final[Mapping[str, Any]] = {"timeout": 60.0, "retry": DEFAULT_RETRY.with_timeout(180.0)}
"""How long one request may take, and all attempts at it."""
WORKERS = 8
"""Requests at a time, where they only read."""
LONGEST_PAUSE_S = 16.0
PASSING = frozenset(
    {
        "backendError",
        "badGateway",
        "internalError",
        "jobBackendError",
        "jobInternalError",
        "jobRateLimitExceeded",
        "quotaExceeded",
        "rateLimitExceeded",
        "resourceInUse",
        "tableUnavailable",
        "timeout",
    }
)
"""Reasons of BigQuery's that time may heal."""
ROLES = (
    "give the identity that runs this roles/bigquery.dataEditor on the dataset and roles/bigquery.jobUser on its"
    " project, and for a lake in a bucket roles/storage.objectViewer there (docs/deploy.md)"
)

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
        except FileNotFoundError:
            return None

    def row_count(self, table: str) -> int:
        """Rows of a table, 0 when there is none; makes no job."""
        first = [bigquery.SchemaField("run_date", "DATE")]
        try:
            with told(self.name(table)):
                rows = self.client.list_rows(self.name(table), selected_fields=first, max_results=1, **HTTP)
                next(rows.pages, None)
        except FileNotFoundError:
            return 0
        return int(rows.total_rows or 0)


def client_of(project: str, access: GoogleAccess | None) -> bigquery.Client:
    """A client for jobs in a project. Raises UsageError without credentials."""
    try:
        credentials = cast("Credentials", access.credentials()) if access is not None else None
        return bigquery.Client(project=project, credentials=credentials)
    except auth.GoogleAuthError as error:
        raise _no_credentials(error) from error


def failure_of(what: str, reason: str, message: str) -> PipelineError:
    """The error for what BigQuery refused or failed at. what: a table, a job."""
    if reason in PASSING:
        return StorageError(f"{what}: BigQuery failed ({reason}: {message}); try again")
    return PipelineError(f"{what}: BigQuery refused it ({reason}: {message}){_advice(reason)}")


@contextmanager
def told(what: str) -> Iterator[None]:
    """Google's errors as ours: FileNotFoundError for what isn't there, Conflict for what is there already."""
    try:
        yield
    except (api.Conflict, api.PreconditionFailed):
        raise
    except api.NotFound as error:
        raise FileNotFoundError(f"{what}: not found ({_message(error)})") from error
    except api.ClientError as error:
        raise failure_of(what, _reason(error), _message(error)) from error
    except auth.DefaultCredentialsError as error:
        raise _no_credentials(error) from error
    except (api.GoogleAPIError, auth.GoogleAuthError, requests.RequestException) as error:
        raise StorageError(f"{what}: BigQuery can't be reached ({type(error).__name__}); try again") from error


def _no_credentials(error: Exception) -> UsageError:
    return UsageError(
        f"no Google credentials for BigQuery ({type(error).__name__}); name an Airflow connection in"
        " EVALBENCH_GOOGLE_CONNECTION, give the machine a service account, or log in with"
        " `gcloud auth application-default login`"
    )


def _advice(reason: str) -> str:
    return f"; {ROLES}" if reason in ("accessDenied", "forbidden", "unauthorized") else ""


def _reason(error: api.GoogleAPICallError) -> str:
    """BigQuery's own word for it."""
    by_status = {401: "unauthorized", 403: "accessDenied", 429: "rateLimitExceeded"}
    return _said(error, "reason") or by_status.get(error.code or 0, type(error).__name__)


def _message(error: api.GoogleAPICallError) -> str:
    """What it says, in one line, without the request it answers."""
    return (_said(error, "message") or str(error.message)).partition("\n")[0]


def _said(error: api.GoogleAPICallError, what: str) -> str:
    return next((str(each[what]) for each in error.errors if isinstance(each, Mapping) and each.get(what)), "")
