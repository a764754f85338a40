"""Repeats: how often a task succeeds in one of k trials (pass@k), and in all of k (pass^k).

An unavailable trial is neither a success nor a failure: it opens a bracket. lower counts all of them failed, upper all
of them passed. complete_case leaves them out; it is no bound and means little without its task count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb


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


def pass_at_k_brackets(trials: Mapping[str, Sequence[bool | None]]) -> dict[int, Bracket]:
    """pass@k for k = 1 to the most trials of any task. See `pass_hat_k_brackets`."""
    return _brackets(trials, pass_at_k)


def pass_hat_k_brackets(trials: Mapping[str, Sequence[bool | None]]) -> dict[int, Bracket]:
    """pass^k for k = 1 to the most trials of any task.

    trials: each task's trials as passed, failed or unavailable (None), valid waits left out; the order of tasks and
    trials doesn't matter. A task with fewer than k trials is left out of that k. The mean is over tasks.
    """
    return _brackets(trials, pass_hat_k)


def _brackets(
    trials: Mapping[str, Sequence[bool | None]], share: Callable[[int, int, int], Fraction | None]
) -> dict[int, Bracket]:
    counts = [(len(seen), list(seen).count(True), list(seen).count(None)) for seen in trials.values()]
    return {k: _bracket(counts, share, k) for k in range(1, max((n for n, _, _ in counts), default=0) + 1)}


def _bracket(
    counts: Sequence[tuple[int, int, int]], share: Callable[[int, int, int], Fraction | None], k: int
) -> Bracket:
    lower = [value for n, c, _ in counts if (value := share(n, c, k)) is not None]
    upper = [value for n, c, unknown in counts if (value := share(n, c + unknown, k)) is not None]
    complete = [value for n, c, unknown in counts if (value := share(n - unknown, c, k)) is not None]
    return Bracket(
        lower=_mean(lower),
        upper=_mean(upper),
        complete_case=_mean(complete),
        tasks=len(lower),
        complete_tasks=len(complete),
    )


def _mean(values: Sequence[Fraction]) -> float | None:
    return float(sum(values, Fraction(0)) / len(values)) if values else None
