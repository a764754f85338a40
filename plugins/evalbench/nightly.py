"""The verbs as processes that share only the lake call them: a plan by its name, runs by the number of their batch.

The DAG's Airflow tasks are one call each into this module. `plan_id` is the DAG run's id.
"""

from collections.abc import Iterable, Iterator
from datetime import date

from evalbench import pipeline
from evalbench.accounting import DirectoryState
from evalbench.lake.plans import Plan, batches, plan_id_of, read_plan
from evalbench.lake.reports import read_report
from evalbench.report import Document
from evalbench.settings import Settings
from evalbench.sinks.parquet import Published
from evalbench.storage import Storage

LABEL_CHARS = 120


def discover(settings: Settings, plan_id: str, *, since: date | None, until: date | None) -> list[str]:
    """Plan, and name each batch: the run's directory, or how many runs there are."""
    plan = pipeline.discover(settings, since=since, until=until, plan_id=plan_id)
    paths = {entry.run_key: entry.path for entry in plan.to_score}
    return [
        (paths[keys[0]] if len(keys) == 1 else f"batch {number}: {len(keys)} runs")[:LABEL_CHARS]
        for number, keys in enumerate(batches(plan, settings.max_mapped_tasks))
    ]


def score_batch(settings: Settings, plan_id: str, number: int) -> Iterator[DirectoryState]:
    """Score every run of a batch; what became of each."""
    plan = _plan(settings, plan_id)
    for run_key in batches(plan, settings.max_mapped_tasks)[number]:
        yield pipeline.score(settings, plan, run_key)


def summarize_batch(settings: Settings, plan_id: str, number: int) -> Iterator[tuple[str, str | None]]:
    """Summarize every scored run of a batch: (path, state of its summary)."""
    plan = _plan(settings, plan_id)
    for run_key in batches(plan, settings.max_mapped_tasks)[number]:
        yield plan.entry(run_key).path, pipeline.summarize(settings, plan, run_key)


def gate(settings: Settings, plan_id: str, *, candidates: Iterable[str] = (), baseline: str | None = None) -> Document:
    """Account for everything planned and decide; the report. Nothing is published."""
    return pipeline.decide(settings, _plan(settings, plan_id), candidates=candidates, baseline=baseline).report


def publish(
    settings: Settings, plan_id: str, *, candidates: Iterable[str] = (), baseline: str | None = None
) -> Published:
    """Decide again, which gives the same, and publish it."""
    plan = _plan(settings, plan_id)
    return pipeline.publish(settings, pipeline.decide(settings, plan, candidates=candidates, baseline=baseline))


def enforce(settings: Settings, plan_id: str, *, backfill: bool, since: date | None) -> str:
    """Hold what the published report says must be held. Returns and raises as `pipeline.enforce`."""
    report = read_report(_lake(settings), plan_id_of(plan_id))
    return pipeline.enforce(settings, report, backfill=backfill, since=since)


def _plan(settings: Settings, plan_id: str) -> Plan:
    return read_plan(_lake(settings), plan_id_of(plan_id))


def _lake(settings: Settings) -> Storage:
    return Storage(settings.require_lake())
