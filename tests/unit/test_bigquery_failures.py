"""What Google says went wrong, as one sentence that says what, why, and what to do next."""

import pytest
import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from evalbench.errors import EvalbenchError, PipelineError, StorageError, UsageError
from evalbench.sinks.bigquery.failures import LostRaceError, NotThereError, RefusedError, failure_of, told


def said(kind: type[api.GoogleAPICallError], reason: str, message: str) -> api.GoogleAPICallError:
    """An answer of BigQuery's, as its client raises it."""
    return kind(f"POST http://there/jobs: {message}", errors=[{"reason": reason, "message": message}])


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        (RefusedError, "it: BigQuery refused it (accessDenied: No job); give the identity that runs this roles/",
         said(api.Forbidden, "accessDenied", "No job")),
        (PipelineError, "it: BigQuery refused it (invalidQuery: Syntax error)",
         said(api.BadRequest, "invalidQuery", "Syntax error")),
        (StorageError, "it: BigQuery failed (rateLimitExceeded: Too many); try again",
         said(api.Forbidden, "rateLimitExceeded", "Too many")),
        (LostRaceError, "it: somebody else was there at the same moment (Already Exists: Job x); run it again",
         said(api.Conflict, "duplicate", "Already Exists: Job x")),
        (LostRaceError, "it: somebody else was there", said(api.PreconditionFailed, "conditionNotMet", "etag")),
        (NotThereError, "it: not found (Not found: Dataset d); check EVALBENCH_BIGQUERY_DATASET",
         said(api.NotFound, "notFound", "Not found: Dataset d")),
        (StorageError, "it: BigQuery can't be reached (ServiceUnavailable); try again", api.ServiceUnavailable("down")),
        (StorageError, "it: BigQuery can't be reached (RetryError); try again", api.RetryError("long", ValueError())),
        (StorageError, "it: BigQuery can't be reached (ConnectionError); try again", requests.ConnectionError("no")),
        (StorageError, "it: BigQuery can't be reached (RefreshError); try again",
         auth.RefreshError("busy", retryable=True)),
        (UsageError, "no Google credentials for BigQuery (RefreshError); log in with",
         auth.RefreshError("revoked")),
        (UsageError, "no Google credentials for BigQuery (DefaultCredentialsError); log in with",
         auth.DefaultCredentialsError("none")),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)  # fmt: skip
def test_errors_of_the_client(kind: type[EvalbenchError], words: str, error: Exception) -> None:
    """What may pass is a StorageError, which Airflow tries again; what an operator must mend says how."""
    with pytest.raises(EvalbenchError) as raised, told("it"):
        raise error
    assert kind is type(raised.value)
    assert str(raised.value).startswith(words)


@pytest.mark.parametrize(
    ("kind", "reason", "message"),
    [
        (LostRaceError, "invalidQuery", "Transaction is aborted due to concurrent update against table p:d.trials."),
        (LostRaceError, "invalidQuery", "Could not serialize access to table p:d.trials due to concurrent update"),
        (LostRaceError, "duplicate", "Already Exists: Table p:d._staging_trials"),
        (StorageError, "backendError", "Error encountered during execution. Retrying may solve the problem."),
        (PipelineError, "invalid", "Error while reading data"),
        (RefusedError, "accessDenied", "Permission storage.objects.get denied"),
    ],
)
def test_errors_of_jobs(kind: type[PipelineError], reason: str, message: str) -> None:
    """A job's failure is told by reason and message alone."""
    assert kind is type(failure := failure_of("BigQuery job x", reason, message))
    assert message in str(failure)
