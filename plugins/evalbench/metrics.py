"""Metrics of a run: the harness's comparators and our evaluators, pooled by name from their verdicts."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from evalbench.comparators import TELEMETRY_SCORERS
from evalbench.evaluators import EVALUATORS
from evalbench.ledger import Verdict, VerdictState

BEST_SCORE = Decimal(100)
_TOP_VALUES = {name: evaluator.top for evaluator in EVALUATORS for name in evaluator.verdict_names()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric over some trials.

    numerator: exact sum of the available values; denominator: how many; value: their quotient, None over nothing.
    passed: available values at or above the threshold, None where a bigger number is no better (counts, latencies).
    unavailable: verdicts that were not possible, and why.
    """

    value: Decimal | None
    numerator: Decimal
    denominator: int
    passed: int | None
    unavailable: int
    unavailable_reasons: dict[str, int]


def run_metrics(verdicts: Iterable[Verdict], thresholds: Mapping[str, Decimal]) -> dict[str, Metric]:
    """Metric per name, sorted by name; the order of verdicts never matters.

    thresholds: pass threshold by metric name (a policy's). Without one a metric passes at its best possible value, and
    a count or latency not at all.
    """
    by_name: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_name[metric_name(verdict)].append(verdict)
    return {name: _metric(rows, thresholds.get(name, best_value(rows[0]))) for name, rows in sorted(by_name.items())}


def metric_name(verdict: Verdict) -> str:
    """The metric a verdict belongs to: its own name; the criteria of one binary rubric (`…_0` to `…_n`) are pooled."""
    if verdict.source == "harness" and verdict.scorer_type == "binary_rubric_scorer":
        return re.sub(r"_\d+$", "", verdict.name)
    return verdict.name


def best_value(verdict: Verdict) -> Decimal | None:
    """The best possible value of this verdict's metric, None where there is none (counts, latencies)."""
    if verdict.source == "harness":
        return None if verdict.scorer_type in TELEMETRY_SCORERS else BEST_SCORE
    return _TOP_VALUES.get(verdict.name, Decimal(1))


def _metric(rows: list[Verdict], threshold: Decimal | None) -> Metric:
    values = [row.value for row in rows if row.value is not None]
    total = sum(values, Decimal(0))
    reasons = Counter(row.reason or "unknown" for row in rows if row.state is VerdictState.UNAVAILABLE)
    return Metric(
        value=total / len(values) if values else None,
        numerator=total,
        denominator=len(values),
        passed=None if threshold is None else sum(1 for value in values if value >= threshold),
        unavailable=reasons.total(),
        unavailable_reasons=dict(sorted(reasons.items())),
    )
