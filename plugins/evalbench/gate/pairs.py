"""One figure on both sides: per-task means of candidate and baseline, over the tasks that have one on both."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from evalbench.gate.result import Exact, ratio
from evalbench.judged import JudgedTrial

Reading = Callable[[JudgedTrial], Exact | None]
"""The figure of a trial, None when unavailable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Means over the same tasks, None over no task."""

    candidate: Fraction | None
    baseline: Fraction | None
    tasks: frozenset[str]

    @property
    def difference(self) -> Fraction | None:
        """Candidate - baseline, which is the mean of the differences task by task."""
        return None if self.candidate is None or self.baseline is None else self.candidate - self.baseline


def paired(
    candidate: Iterable[JudgedTrial],
    baseline: Iterable[JudgedTrial],
    reading: Reading,
    *,
    absent: Exact | None = None,
    absent_baseline: Exact | None = None,
) -> Pair:
    """Both sides of a figure; unread trials left out, or counted as `absent` / `absent_baseline` where given. Valid
    waits are left out.
    """
    mine = _task_means(candidate, reading, absent)
    theirs = _task_means(baseline, reading, absent_baseline)
    tasks = frozenset(mine.keys() & theirs.keys())
    return Pair(candidate=_mean(mine, tasks), baseline=_mean(theirs, tasks), tasks=tasks)


def _mean(means: dict[str, Fraction], tasks: frozenset[str]) -> Fraction | None:
    return ratio(sum((means[task] for task in tasks), Fraction(0)), len(tasks))


def _task_means(trials: Iterable[JudgedTrial], reading: Reading, absent: Exact | None) -> dict[str, Fraction]:
    values: dict[str, list[Fraction]] = defaultdict(list)
    for trial in trials:
        if trial.waiting:
            continue
        found = reading(trial)
        value = absent if found is None else found
        if value is not None:
            values[trial.trial.task_id].append(Fraction(value))
    return {task: sum(read, Fraction(0)) / len(read) for task, read in values.items()}
