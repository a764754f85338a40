"""Repeats: how often a task succeeds in one of k trials (pass@k), and in all of k (pass^k).

An unavailable trial is neither a success nor a failure: it opens a bracket. lower counts all of them failed, upper all
of them passed. complete_case leaves them out; it is no bound and means little without its task count.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

MOST_K = 100
"""The largest k: a task may have any number of trials, a plan promise any number, and the cost grows with k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """One k. tasks: those with k trials or more; complete_tasks: those with k judged ones. None over no task."""

    lower: float | None
    upper: float | None
    complete_case: float | None
    tasks: int
    complete_tasks: int


def pass_at_k(n: int, c: int, k: int) -> Fraction | None:
    """1 - C(n-c,k)/C(n,k): the chance that k of n trials hold one of the c successes. None for n < k."""
    return None if n < k else 1 - Fraction(comb(n - c, k), comb(n, k))


def pass_hat_k(n: int, c: int, k: int) -> Fraction | None:
    """C(c,k)/C(n,k): the chance that k of n trials are all among the c successes. None for n < k."""
    return None if n < k else Fraction(comb(c, k), comb(n, k))


def pass_at_k_brackets(trials: Mapping[str, Mapping[bool | None, int]]) -> dict[int, Bracket]:
    """pass@k for k = 1 to the most trials of any task, MOST_K at most. See `pass_hat_k_brackets`."""
    return _brackets(trials, pass_at_k)


def pass_hat_k_brackets(trials: Mapping[str, Mapping[bool | None, int]]) -> dict[int, Bracket]:
    """pass^k for k = 1 to the most trials of any task, MOST_K at most.

    trials: of each task, how many passed (True), failed (False) and are unavailable (None), valid waits left out; the
    order of tasks doesn't matter. A task with fewer than k trials is left out of that k. The mean is over tasks.
    """
    return _brackets(trials, pass_hat_k)


def _brackets(
    trials: Mapping[str, Mapping[bool | None, int]], share: Callable[[int, int, int], Fraction | None]
) -> dict[int, Bracket]:
    counts = Counter((sum(seen.values()), seen.get(True, 0), seen.get(None, 0)) for seen in trials.values())
    most = min(MOST_K, max((n for n, _, _ in counts), default=0))
    return {k: _bracket(counts, share, k) for k in range(1, most + 1)}


def _bracket(
    counts: Mapping[tuple[int, int, int], int], share: Callable[[int, int, int], Fraction | None], k: int
) -> Bracket:
    """counts: how many tasks have n trials, c of them passed, some unavailable."""
    lower = [(value, tasks) for (n, c, _), tasks in counts.items() if (value := share(n, c, k)) is not None]
    upper = [(value, tasks) for (n, c, u), tasks in counts.items() if (value := share(n, c + u, k)) is not None]
    complete = [(value, tasks) for (n, c, u), tasks in counts.items() if (value := share(n - u, c, k)) is not None]
    return Bracket(
        lower=_mean(lower),
        upper=_mean(upper),
        complete_case=_mean(complete),
        tasks=sum(tasks for _, tasks in lower),
        complete_tasks=sum(tasks for _, tasks in complete),
    )


def _mean(values: Sequence[tuple[Fraction, int]]) -> float | None:
    """Mean of values, each counted as often as it says."""
    if not values:
        return None
    total = sum((value * tasks for value, tasks in values), Fraction(0))
    return float(total / sum(tasks for _, tasks in values))
