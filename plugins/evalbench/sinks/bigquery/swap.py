"""The swap as a job: of all who want to be the publish of one number, one is.

BigQuery runs one job under an id, so the id is the lock. It holds the number and nothing of the content: two publishers
with different rows must not both get theirs. That matters where transactions are in nobody's way, which is whenever
they only add rows, as the first publish does.
"""

from collections.abc import Callable
from itertools import count

from google.cloud import bigquery

from evalbench.errors import EvalbenchError, StorageError
from evalbench.sinks.bigquery.jobs import FAILURES, HiddenJob, Job, Once, ended, start
from evalbench.sinks.bigquery.records import Swap
from evalbench.sinks.bigquery.schema import APPLICATION
from evalbench.sinks.bigquery.script import swap_script
from evalbench.sinks.bigquery.service import HTTP, Service


def swapped(service: Service, jobs: str, swap: Swap, last: Callable[[], int]) -> bool:
    """Run the script: True when that was done here, False when another publish was faster.

    jobs: what the ids of this dataset's jobs begin with. last: reads the number of the last publish. Raises
    StorageError where others changed the tables again and again, PipelineError for what BigQuery refused.
    """
    once, failures = _job(service, jobs, swap), 0
    for number in count():
        attempt = start(service, once, number)
        failure = ended(service, attempt.job)
        if attempt.own and failure is None:
            return True
        if last() != swap.seq:
            break
        if isinstance(attempt.job, HiddenJob) and failure is not None:
            # It may still be at work. Then one of both is refused by the other's number, but for the very first one.
            if swap.seq == 0:
                raise failure
            service.timing.pause(number + 1)
        # Now the job has failed, or was a publish of this number before somebody emptied the tables.
        if attempt.own and failure is not None:
            failures += 1
            _check_passing(failure, failures)
            service.timing.pause(failures)
    return False


def _job(service: Service, jobs: str, swap: Swap) -> Once:
    script = swap_script(service.dataset, swap)

    def begin(_attempt: int, job_id: str) -> Job:
        config = bigquery.QueryJobConfig(use_legacy_sql=False, labels=APPLICATION)
        return service.client.query(
            script, job_config=config, job_id=job_id, location=service.location, job_retry=None, **HTTP
        )

    return Once(name=f"{jobs}_swap_{swap.seq + 1}", begin=begin)


def _check_passing(failure: EvalbenchError, failures: int) -> None:
    """Raise a failure that trying again won't mend, or didn't."""
    if failures == FAILURES or not isinstance(failure, StorageError):
        raise failure
