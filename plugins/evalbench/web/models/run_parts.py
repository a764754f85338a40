"""The parts of a run's page that its verdicts tell: metrics, and whether they say anything."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalbench.general_score import general_score
from evalbench.health import Health, evaluator_health
from evalbench.ledger import OutcomeState, ScoredRun, Verdict
from evalbench.metrics import Metric, metric_name, run_metrics
from evalbench.web.models.figures import number
from evalbench.web.models.own_day import OwnDay


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """A metric of the run: the harness's comparator (source `harness`) or our evaluator (`evaluator`).

    value = numerator / denominator over the available rows, None over nothing. passed: rows at or above the policy's
    threshold, None where more is no better. unavailable: rows without a verdict, and why (reason → rows).
    versions: of the evaluator, or of how comparators are read.
    """

    name: str
    source: str
    scorer_type: str | None
    versions: tuple[str, ...]
    value: float | None
    numerator: float
    denominator: int
    passed: int | None
    unavailable: int
    unavailable_reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRow:
    """Does a metric say anything, and does it agree with the outcomes that the policy takes for judged?

    at_maximum of n rows are at the best value, None where there is no best. agreeing of judged rows agree with the
    outcome; an attested comparator agrees with itself. never_varied: two rows or more, all the same. variance: None
    over nothing.
    """

    n: int
    unavailable: int
    at_maximum: int | None
    variance: float | None
    never_varied: bool
    judged: int
    agreeing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralScoreRow:
    """EvalBench's weighted mean, 0..100; a diagnostic that decides nothing. None: `missing` components have no row."""

    value: float | None
    missing: tuple[str, ...]


def general_score_of(scored: ScoredRun | None) -> GeneralScoreRow | None:
    """EvalBench's own score; None without facts."""
    if scored is None:
        return None
    score = general_score(scored.verdicts)
    return GeneralScoreRow(value=number(score.value), missing=score.missing)


def metrics_of(found: OwnDay) -> tuple[MetricRow, ...]:
    """The harness's own first, then our evaluators, each by name."""
    if found.scored is None:
        return ()
    by_name: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in found.scored.verdicts:
        by_name[metric_name(verdict)].append(verdict)
    rows = [
        _metric(name, metric, by_name[name])
        for name, metric in run_metrics(found.scored.verdicts, found.policy.pass_thresholds).items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.source != "harness", row.name)))


def _metric(name: str, metric: Metric, verdicts: Sequence[Verdict]) -> MetricRow:
    return MetricRow(
        name=name,
        source=verdicts[0].source,
        scorer_type=verdicts[0].scorer_type,
        versions=tuple(sorted({verdict.version for verdict in verdicts})),
        value=number(metric.value),
        numerator=float(metric.numerator),
        denominator=metric.denominator,
        passed=metric.passed,
        unavailable=metric.unavailable,
        unavailable_reasons=metric.unavailable_reasons,
    )


def measured_health(found: OwnDay) -> Mapping[str, Health]:
    """Health per metric, against the outcomes as judged under the policy of the run's own day; none without facts."""
    outcomes = {
        key: trial.verified
        for key, trial in found.judged.items()
        if trial.outcome.state is not OutcomeState.UNAVAILABLE
    }
    return evaluator_health(found.scored.verdicts, outcomes) if found.scored is not None else {}


def health_of(health: Mapping[str, Health]) -> dict[str, HealthRow]:
    """Health as rows, by the metric's name."""
    return {
        name: HealthRow(
            n=of_metric.n,
            unavailable=of_metric.unavailable,
            at_maximum=of_metric.at_maximum,
            variance=of_metric.variance,
            never_varied=of_metric.never_varied,
            judged=of_metric.judged,
            agreeing=of_metric.agreeing,
        )
        for name, of_metric in health.items()
    }
