"""The trials one decision pools: what was planned, what was recorded, what is missing."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from evalbench.judged import JudgedTrial, judge_run
from evalbench.ledger import PlanSource, Run, RunState, ScoredRun
from evalbench.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTrial:
    """Planned trials of a task that left no record."""

    run_id: str
    task_id: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Runs of one subject in one window, judged under one policy at one `as_of`.

    planned counts planned trials and, so that a plan can't hide harm, recorded ones beyond it.
    open_ended: a run was abandoned without a reachable plan, so nobody knows how many trials are missing.
    """

    policy: Policy
    as_of: datetime
    runs: tuple[Run, ...]
    trials: tuple[JudgedTrial, ...]
    missing: tuple[MissingTrial, ...]
    planned: int
    open_ended: bool

    @property
    def missing_count(self) -> int:
        """Number of planned trials without a record."""
        return sum(item.count for item in self.missing)

    @property
    def unseen(self) -> bool:
        """Whether trials may exist that left no record at all."""
        return self.open_ended or bool(self.missing)

    @property
    def waiting_count(self) -> int:
        """Number of validly waiting trials."""
        return sum(1 for trial in self.trials if trial.waiting)


def one_dataset_version(runs: Iterable[ScoredRun]) -> tuple[list[ScoredRun], list[ScoredRun]]:
    """(runs on the newest run's dataset version, the others): rates are pooled within one version only."""
    ordered = sorted(runs, key=_order)
    if not ordered:
        return [], []
    version = ordered[-1].run.dataset_version
    return (
        [scored for scored in ordered if scored.run.dataset_version == version],
        [scored for scored in ordered if scored.run.dataset_version != version],
    )


def _order(scored: ScoredRun) -> tuple[datetime, str, str]:
    return (scored.run.run_time, scored.run.run_id, scored.run.run_key)


def pool_runs(runs: Iterable[ScoredRun], policy: Policy, as_of: datetime) -> Pool:
    """Judge and pool `runs`; their order, and the order of trials in them, never matters."""
    ordered = sorted(runs, key=_order)
    trials = [trial for scored in ordered for trial in judge_run(scored, policy, as_of)]
    missing = [item for scored in ordered for item in missing_trials(scored.run)]
    unplanned = sum(unplanned_trials(scored.run) for scored in ordered)
    return Pool(
        policy=policy,
        as_of=as_of,
        runs=tuple(scored.run for scored in ordered),
        trials=tuple(sorted(trials, key=lambda trial: trial.key)),
        missing=tuple(missing),
        planned=sum(scored.run.plan.trials for scored in ordered) + unplanned,
        open_ended=any(is_open_ended(scored.run) for scored in ordered),
    )


def same_tasks(pool: Pool, tasks: frozenset[str]) -> Pool:
    """The part of a pool that concerns `tasks`, valid waits left out (their trials are still owed)."""
    trials = tuple(t for t in pool.trials if t.trial.task_id in tasks and not t.waiting)
    missing = tuple(item for item in pool.missing if item.task_id in tasks)
    return Pool(
        policy=pool.policy,
        as_of=pool.as_of,
        runs=pool.runs,
        trials=trials,
        missing=missing,
        planned=len(trials) + sum(item.count for item in missing),
        open_ended=pool.open_ended,
    )


def is_open_ended(run: Run) -> bool:
    """Abandoned without a reachable plan: nobody knows how many trials are missing."""
    return run.state is RunState.ABANDONED and run.plan.source is PlanSource.OBSERVED


def _planned(run: Run) -> Counter[str]:
    planned: Counter[str] = Counter()
    for task in run.plan.tasks:
        planned[task.task_id] += task.trials
    return planned


def missing_trials(run: Run) -> list[MissingTrial]:
    """Planned trials of a run that left no record, by task."""
    recorded = Counter(trial.task_id for trial in run.trials)
    return [
        MissingTrial(run_id=run.run_id, task_id=task, count=count - recorded[task])
        for task, count in sorted(_planned(run).items())
        if count > recorded[task]
    ]


def unplanned_trials(run: Run) -> int:
    """Number of recorded trials beyond the plan."""
    planned = _planned(run)
    recorded = Counter(trial.task_id for trial in run.trials)
    return sum(max(0, count - planned[task]) for task, count in recorded.items())
