"""What BigQuery says went wrong, in our words: what may pass, what was a race, and what only an operator can mend."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from google.api_core import exceptions as api
from google.auth import exceptions as auth

from evalbench.errors import PipelineError, StorageError
from evalbench.settings import no_google_credentials

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
CONFLICTS = ("aborted due to concurrent update", "could not serialize access", "failed to commit")
"""What a transaction is told that was in another one's way."""
TAKEN = "duplicate"
DENIED = frozenset({"accessDenied", "forbidden", "unauthorized"})
ROLES = (
    "give the identity that runs this roles/bigquery.dataEditor on the dataset and roles/bigquery.jobUser on its"
    " project, and for a lake in a bucket its role there (docs/deploy.md)"
)


class NotThereError(PipelineError):
    """A dataset, table or job that isn't there."""


class RefusedError(PipelineError):
    """What this identity may not do, or see."""


class LostRaceError(StorageError):
    """Somebody else made or changed the same thing at the same moment."""


def failure_of(what: str, reason: str, message: str) -> PipelineError:
    """The error for what BigQuery refused or failed at. what: a table, a job."""
    if reason == TAKEN or any(words in message.lower() for words in CONFLICTS):
        return _lost_race(what, message)
    if reason in PASSING:
        return StorageError(f"{what}: BigQuery failed ({reason}: {message}); try again")
    if reason in DENIED:
        return RefusedError(f"{what}: BigQuery refused it ({reason}: {message}); {ROLES}")
    return PipelineError(f"{what}: BigQuery refused it ({reason}: {message})")


@contextmanager
def told(what: str) -> Iterator[None]:
    """Google's errors as ours. what: was asked for."""
    try:
        yield
    except (api.Conflict, api.PreconditionFailed) as error:
        raise _lost_race(what, _message(error)) from error
    except api.NotFound as error:
        raise NotThereError(f"{what}: not found ({_message(error)}); check EVALBENCH_BIGQUERY_DATASET") from error
    except api.ClientError as error:
        raise failure_of(what, _reason(error), _message(error)) from error
    except (auth.DefaultCredentialsError, auth.RefreshError) as error:
        if error.retryable:
            raise _unreachable(what, error) from error
        raise no_google_credentials("BigQuery", error) from error
    except (api.GoogleAPIError, auth.GoogleAuthError, OSError) as error:
        raise _unreachable(what, error) from error


def _unreachable(what: str, error: Exception) -> StorageError:
    return StorageError(f"{what}: BigQuery can't be reached ({type(error).__name__}); try again")


def _lost_race(what: str, message: str) -> LostRaceError:
    return LostRaceError(f"{what}: somebody else was there at the same moment ({message}); run it again")


def _reason(error: api.GoogleAPICallError) -> str:
    """BigQuery's own word for it."""
    by_status = {401: "unauthorized", 403: "accessDenied", 429: "rateLimitExceeded"}
    return _said(error, "reason") or by_status.get(error.code or 0, type(error).__name__)


def _message(error: api.GoogleAPICallError) -> str:
    """What it says, in one line, without the request it answers."""
    return (_said(error, "message") or str(error.message)).partition("\n")[0]


def _said(error: api.GoogleAPICallError, what: str) -> str:
    return next((str(each[what]) for each in error.errors if isinstance(each, Mapping) and each.get(what)), "")
