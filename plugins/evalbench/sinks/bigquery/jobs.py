"""A job that is done once, however often and by whoever it is asked for.

Its id says what it does, so that asking again finds it: running, done or failed. A failed one, and one of which nothing
is left, is followed by another attempt under the next id. BigQuery takes an id once, which makes it a lock, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from google.cloud import bigquery

from evalbench.errors import EvalbenchError, StorageError
from evalbench.sinks.bigquery.failures import LostRaceError, NotThereError, RefusedError, failure_of, told
from evalbench.sinks.bigquery.service import HTTP, Service

Job: TypeAlias = bigquery.LoadJob | bigquery.QueryJob


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenJob:
    """A job of another identity, of which this one may see no more than that it is there."""

    job_id: str


FAILURES = 5
"""How often a job is begun again after it failed for a reason that may pass."""
FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S = 0.1, 5.0, 3600.0
"""How long to wait before looking at a running job again, growing by half each time, and in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A job. name: its id, without the attempt. begin: makes it, for an attempt and under an id."""

    name: str
    begin: Callable[[int, str], Job]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One of a job's attempts. own: begun here, just now."""

    number: int
    job: Job | HiddenJob
    own: bool


def numbered(name: str, attempt: int) -> str:
    """The name of an attempt, or of what it makes: the first one's is the plain name."""
    return f"{name}_{attempt}" if attempt else name


def start(service: Service, once: Once, number: int = 0) -> Attempt:
    """An attempt, begun here unless it was begun before."""
    job_id = numbered(once.name, number)
    failures = 0
    while (before := _find(service, job_id)) is None:
        try:
            with told(f"BigQuery job {job_id}"):
                return Attempt(number=number, job=once.begin(number, job_id), own=True)
        except EvalbenchError as error:
            # It is there after all where somebody else was faster, or the answer to our own request was lost.
            failures += 1
            if failures == FAILURES or (not isinstance(error, LostRaceError) and _find(service, job_id) is None):
                raise
            service.timing.pause(failures)
    return Attempt(number=number, job=before, own=False)


def finish(service: Service, once: Once, attempt: Attempt, stands: Callable[[Attempt], bool]) -> Attempt:
    """The attempt that was done and still stands: this one, or one after it.

    stands: whether what an attempt begun elsewhere left is still there. Raises PipelineError when one that was begun
    here failed: StorageError where it failed again and again, for reasons that may pass.
    """
    failures = 0
    while True:
        failure = ended(service, attempt.job)
        if failure is None and (attempt.own or stands(attempt)):
            return attempt
        if failure is not None and attempt.own:
            failures += 1
            if not isinstance(failure, StorageError) or failures == FAILURES:
                raise failure
            service.timing.pause(failures)
        attempt = start(service, once, attempt.number + 1)


def ended(service: Service, job: Job | HiddenJob) -> EvalbenchError | None:
    """Wait for a job; why it failed, None when it didn't. Raises StorageError when it takes too long.

    What became of a hidden one nobody here can know.
    """
    if isinstance(job, HiddenJob):
        return StorageError(
            f"BigQuery job {job.job_id} is another identity's; let all who deliver to this dataset be one identity, or"
            " have the right bigquery.jobs.get, and run it again"
        )
    what, pause, waited = f"BigQuery job {job.job_id}", FIRST_PAUSE_S, 0.0
    while job.state != "DONE":
        if waited > PATIENCE_S:
            raise StorageError(f"{what}: still {job.state} after an hour; the next publish looks after it again")
        service.timing.sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, LONGEST_PAUSE_S)
        with told(what):
            job.reload(**HTTP)
    error = job.error_result
    return failure_of(what, str(error.get("reason")), _line(error.get("message"))) if error else None


def _find(service: Service, job_id: str) -> Job | HiddenJob | None:
    """A job by its id, whatever became of it; None when there is none."""
    try:
        with told(f"BigQuery job {job_id}"):
            found = service.client.get_job(job_id, location=service.location, **HTTP)
    except NotThereError:
        return None
    except RefusedError:
        return HiddenJob(job_id=job_id)
    if not isinstance(found, bigquery.LoadJob | bigquery.QueryJob):
        raise StorageError(f"BigQuery job {job_id} is none of ours; nobody else may use this name")
    return found


def _line(message: object) -> str:
    return str(message).partition("\n")[0]
