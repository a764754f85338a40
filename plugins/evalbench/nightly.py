"""The verbs as processes that share only the lake call them: a plan by its name, runs by the number of their batch.

The DAG's Airflow tasks are one call each into this module. `plan_id` is the DAG run's id.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from evalbench import pipeline
from evalbench.accounting import WITH_FACTS, DirectoryState, Written
from evalbench.delivery import Delivery
from evalbench.errors import PipelineError, StorageError
from evalbench.lake.plans import Plan, batches, plan_id_of, read_plan, read_result
from evalbench.lake.reports import read_report
from evalbench.report import Document
from evalbench.settings import Settings
from evalbench.storage import lake_of
from evalbench.summaries.access import NOBODY, Login

LABEL_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What a DAG run published, in numbers.

    dates: those of which partitions were written or removed. written, unchanged, removed: partition files. logged: new
    decisions of record. decisions: verdict → decisions of this DAG run. runs: run directories behind them. delivery:
    what BigQuery was told, None where no dataset follows the lake.
    """

    dates: tuple[date, ...]
    written: int
    unchanged: int
    removed: int
    logged: int
    decisions: dict[str, int]
    runs: int
    delivery: Delivery | None


def discover(
    settings: Settings, plan_id: str, *, since: date | None, until: date | None, own: date | None = None
) -> list[str]:
    """Plan, and name each batch: the run's directory, or how many runs there are. own: see `Plan`."""
    plan = pipeline.discover(settings, since=since, until=until, own=own, plan_id=plan_id)
    paths = {entry.run_key: entry.path for entry in (*plan.to_score, *plan.owed_entries)}
    return [
        (paths[keys[0]] if len(keys) == 1 else f"batch {number}: {len(keys)} runs")[:LABEL_CHARS]
        for number, keys in enumerate(batches(plan, settings.max_mapped_tasks))
    ]


def score_batch(settings: Settings, plan_id: str, number: int) -> Iterator[DirectoryState]:
    """Score every run of a batch; what became of each. A second attempt begins where the first one ended.

    A run whose storage fails costs none of its siblings: they come first. Then StorageError, or PipelineError where
    trying again would not help.
    """
    plan = _plan(settings, plan_id)
    scorer = pipeline.Scorer.of(settings, plan)
    failed: list[PipelineError] = []
    planned = {entry.run_key for entry in plan.to_score}
    for run_key in batches(plan, settings.max_mapped_tasks)[number]:
        if run_key not in planned:
            continue
        done = read_result(lake_of(settings), plan.plan_id, run_key)
        try:
            yield done if done is not None and done.disposition in WITH_FACTS else scorer.score(run_key)
        except PipelineError as error:
            failed.append(error)
    if failed:
        passing = any(isinstance(error, StorageError) for error in failed)
        kind = StorageError if passing else PipelineError
        raise kind(f"{len(failed)} run directories could not be scored; the first: {failed[0]}") from failed[0]


def summarize_batch(
    settings: Settings, plan_id: str, number: int, login: Login = NOBODY
) -> Iterator[tuple[str, Written | None]]:
    """Summarize every scored run of a batch: (path, what became of its summary; None for a run without facts)."""
    plan = _plan(settings, plan_id)
    keys = batches(plan, settings.max_mapped_tasks)[number]
    for run_key, written in pipeline.summarize(settings, plan, keys, login):
        yield plan.entry(run_key).path, written


def gate(settings: Settings, plan_id: str, *, candidates: Iterable[str] = (), baseline: str | None = None) -> Document:
    """Account for everything planned and decide; the report. Nothing is published."""
    return pipeline.decide(settings, _plan(settings, plan_id), candidates=candidates, baseline=baseline).report


def publish(
    settings: Settings, plan_id: str, *, candidates: Iterable[str] = (), baseline: str | None = None
) -> Publication:
    """Decide again, which gives the same, and publish it."""
    gate = pipeline.decide(settings, _plan(settings, plan_id), candidates=candidates, baseline=baseline)
    published = pipeline.publish(settings, gate)
    decisions, runs = published.report["decisions"], published.report["runs"]
    words = [str(entry["decision"]) for entry in decisions] if isinstance(decisions, list) else []
    return Publication(
        dates=published.dates,
        written=len(published.partitions.written),
        unchanged=len(published.partitions.unchanged),
        removed=len(published.partitions.removed),
        logged=len(published.logged.written),
        decisions=dict(sorted(Counter(words).items())),
        runs=len(runs) if isinstance(runs, list) else 0,
        delivery=published.delivery,
    )


def enforce(settings: Settings, plan_id: str, *, backfill: bool) -> str:
    """Hold what the published report says must be held. Returns and raises as `pipeline.enforce`."""
    return pipeline.enforce(settings, read_report(lake_of(settings), plan_id_of(plan_id)), backfill=backfill)


def _plan(settings: Settings, plan_id: str) -> Plan:
    return read_plan(lake_of(settings), plan_id_of(plan_id))
