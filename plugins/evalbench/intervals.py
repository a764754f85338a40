"""Sampling error: how far a measured rate can be from the truth. Proven and unproven are not its business.

Wilson and the zero-event bound hold for one trial per task. With repeats, windows or effects the observations of one
task hang together, and the interval clusters by task. Every function gives None rather than an interval over nothing.
Intervals are two-sided, all at 95 %.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from scipy.special import stdtrit

CONFIDENCE = 0.95
RESAMPLES = 2000
BOOTSTRAP_SEED = 20_240_229


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One observation of a rate and the task it belongs to."""

    task: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """Candidate minus baseline, paired by task on per-task means. low and high are None where nothing varies."""

    tasks: int
    mean: float
    se: float
    low: float | None
    high: float | None


def wilson(successes: int, n: int) -> tuple[float, float] | None:
    """Wilson interval of a share of independent trials, None for n = 0."""
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = successes / n
    center = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (center - spread) / scale
    high = 1.0 if successes == n else (center + spread) / scale
    return low, high


def zero_event_upper(n: int) -> float | None:
    """One-sided upper bound of a rate after no event in n independent trials, None for n = 0."""
    return None if n == 0 else 1 - math.pow(1 - CONFIDENCE, 1 / n)


def events_needed(limit: float) -> int:
    """How many distinct tasks without an event prove a rate of at most `limit` (0 < limit < 1)."""
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - limit))


def clustered_se(clusters: Sequence[Sequence[float]]) -> float | None:
    """Standard error of the mean over all observations, clustered by task, with the small-sample factor C/(C - 1).

    Clusters without observations don't count. None with fewer than two clusters.
    """
    filled = [cluster for cluster in clusters if cluster]
    if len(filled) < 2:
        return None
    observations = [value for cluster in filled for value in cluster]
    mean = fmean(observations)
    squares = math.fsum(math.fsum(value - mean for value in cluster) ** 2 for cluster in filled)
    return math.sqrt(len(filled) / (len(filled) - 1) * squares) / len(observations)


def clustered_interval(
    clusters: Sequence[Sequence[float]],
    bounds: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float] | None:
    """t interval (C - 1 degrees of freedom) of the mean over all observations, cut to what the value can be.

    None with fewer than two clusters, and where nothing varies: an SE of 0 is no certainty (see `zero_event_upper`).
    """
    se = clustered_se(clusters)
    if not se:
        return None
    filled = [cluster for cluster in clusters if cluster]
    mean = fmean([value for cluster in filled for value in cluster])
    reach = _t_quantile(len(filled) - 1) * se
    return max(bounds[0], mean - reach), min(bounds[1], mean + reach)


def rate_interval(items: Iterable[Item], binary: bool = False) -> tuple[float, float] | None:
    """Interval of a mean of values in 0..1, by the method that fits: Wilson for one yes or no per task, else clustered.

    None over nothing, and wherever the fitting method gives none.
    """
    by_task: dict[str, list[float]] = defaultdict(list)
    for item in items:
        by_task[item.task].append(item.value)
    clusters = [sorted(values) for _, values in sorted(by_task.items())]
    if binary and all(len(values) == 1 for values in clusters):
        return wilson(sum(1 for values in clusters if values[0]), len(clusters))
    return clustered_interval(clusters)


def paired_difference(
    baseline: Mapping[str, Sequence[float]],
    candidate: Mapping[str, Sequence[float]],
) -> PairedDifference | None:
    """Difference of per-task means over the same tasks, SE = sd(d)/√n. None with fewer than two tasks.

    Both mappings give each task's observations. ValueError when the task sets differ or a task has no observation:
    what can't be paired must not be compared.
    """
    if baseline.keys() != candidate.keys():
        differing = sorted(baseline.keys() ^ candidate.keys())
        raise ValueError(f"task sets differ: {', '.join(differing[:5])}; compare over the tasks both have")
    if len(baseline) < 2:
        return None
    differences = [fmean(candidate[task]) - fmean(baseline[task]) for task in sorted(baseline)]
    mean, se = fmean(differences), stdev(differences) / math.sqrt(len(differences))
    reach = _t_quantile(len(differences) - 1) * se if se else None
    return PairedDifference(
        tasks=len(differences),
        mean=mean,
        se=se,
        low=None if reach is None else mean - reach,
        high=None if reach is None else mean + reach,
    )


def mcnemar_exact(only_baseline: int, only_candidate: int) -> float | None:
    """Two-sided exact p on the tasks that only one of the two passed, None when there is no such task."""
    n = only_baseline + only_candidate
    if n == 0:
        return None
    tail = sum(math.comb(n, k) for k in range(min(only_baseline, only_candidate) + 1))
    return min(1.0, 2 * tail / (1 << n))


def bootstrap_ratio(tasks: Sequence[tuple[float, float]], seed: int) -> tuple[float, float] | None:
    """Percentile interval of Σ numerator / Σ denominator, resampling whole tasks; for cost per verified outcome.

    tasks: (numerator, denominator) per task, in any order. A resample without a denominator counts as unbounded.
    None with fewer than two tasks, or where the upper end is unbounded.
    """
    if len(tasks) < 2:
        return None
    ordered, source = sorted(tasks), random.Random(seed)  # noqa: S311 - resampling, not secrets
    ratios = sorted(_resampled_ratio(ordered, source) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    low, high = ratios[math.floor(tail * (RESAMPLES - 1))], ratios[math.ceil((1 - tail) * (RESAMPLES - 1))]
    return None if math.isinf(high) else (low, high)


def ratio_interval_by_task(rows: Iterable[tuple[str, float, float]]) -> tuple[float, float] | None:
    """`bootstrap_ratio` over (task, numerator, denominator) rows, those of one task summed first."""
    by_task: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for task, numerator, denominator in rows:
        by_task[task].append((numerator, denominator))
    sums = [(math.fsum(n for n, _ in pairs), math.fsum(d for _, d in pairs)) for pairs in by_task.values()]
    return bootstrap_ratio(sums, BOOTSTRAP_SEED)


def _resampled_ratio(tasks: Sequence[tuple[float, float]], source: random.Random) -> float:
    drawn = [tasks[int(source.random() * len(tasks))] for _ in tasks]
    denominator = math.fsum(pair[1] for pair in drawn)
    return math.fsum(pair[0] for pair in drawn) / denominator if denominator else math.inf


def _t_quantile(degrees: int) -> float:
    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))
