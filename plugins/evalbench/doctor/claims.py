"""summary.csv against what its own directory shows: claimed, recomputed, and why the two differ.

EvalBench writes three kinds of rows under one header. A scored metric: `metric_score` is the target (100), the result
is correct/total. A count or grade: `metric_score` is the mean and `correct_results_count` the sum. `executable`: rows
without a generation error. None of them leaves out a judge that never answered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from evalbench.comparators import SQL_SCORERS, TELEMETRY_SCORERS
from evalbench.decimals import digits
from evalbench.ledger import EvidenceRef, ScoredRun, SummaryClaim, TrialStatus
from evalbench.metrics import Metric, run_metrics
from evalbench.readers.evalbench.reader import SUMMARY
from evalbench.readers.evalbench.scorer_types import DATASET_QUALITY_ROWS

EXECUTABLE = "executable"
# Metrics whose row holds mean and sum instead of target and count.
GRADES = frozenset({"dataset_quality", *DATASET_QUALITY_ROWS, "skills_best_practices"})
COLUMNS = ("metric_score", "correct_results_count", "total_results_count")
SAME = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReview:
    """One metric as claimed and as recomputed.

    claim None: the scores hold the metric and summary.csv does not. recomputed None: nothing to recompute it from.
    reads_as: what a reader in a hurry would take the row for. misleading: the columns that mislead, none when the row
    can be taken at its word. why: the reason, in whole sentences.
    """

    metric: str
    claim: SummaryClaim | None
    recomputed: Metric | None
    reads_as: str
    misleading: tuple[str, ...]
    why: str
    ref: EvidenceRef | None = None


def review_claims(scored: ScoredRun) -> tuple[ClaimReview, ...]:
    """Every row of summary.csv in its order, then the metrics it leaves out, by name."""
    run = scored.run
    metrics = run_metrics((verdict for verdict in scored.verdicts if verdict.source == "harness"), {})
    sql = any(verdict.scorer_type in SQL_SCORERS for verdict in scored.verdicts)
    claimed = [_review(claim, metrics, scored, sql=sql) for claim in run.summary]
    names = {claim.metric for claim in run.summary}
    omitted = [_omitted(name, metric) for name, metric in metrics.items() if name not in names] if run.summary else []
    return (*claimed, *omitted)


def plain(number: Decimal | None) -> str:
    """A number as a person writes it: no exponent, no trailing zeros, three decimals at most."""
    return "nothing" if number is None else digits(round(number, 3))


def _review(claim: SummaryClaim, metrics: Mapping[str, Metric], scored: ScoredRun, *, sql: bool) -> ClaimReview:
    if claim.metric == EXECUTABLE:
        return _executable(claim, scored, sql=sql)
    metric = metrics.get(claim.metric)
    if metric is None:
        return _made(claim, None, _share(claim), COLUMNS, ["No score row of this directory stands behind it."])
    if claim.metric in TELEMETRY_SCORERS | GRADES:
        return _mean(claim, metric)
    return _target(claim, metric)


def _target(claim: SummaryClaim, metric: Metric) -> ClaimReview:
    misleading, why = [], []
    rows = metric.denominator + metric.unavailable
    if claim.score != metric.value:
        misleading.append("metric_score")
        why.append(f"metric_score {plain(claim.score)} is the target, no result: the mean is {plain(metric.value)}.")
    if metric.unavailable:
        misleading.append("total_results_count")
        why.append(f"{metric.unavailable} of {rows} rows hold no verdict ({reasons(metric)}) and are counted.")
    if metric.passed is not None and claim.correct is not None and claim.correct != metric.passed:
        misleading.append("correct_results_count")
        why.append(f"correct says {plain(claim.correct)}: {metric.passed} of {metric.denominator} verdicts pass.")
    if claim.total is not None and claim.total != rows:
        misleading.append("total_results_count")
        why.append(f"total says {plain(claim.total)}, and the scores hold {rows} rows: it counts something else.")
    return _made(claim, metric, f"{_share(claim)}, or {plain(claim.score)} of 100", misleading, why)


def _mean(claim: SummaryClaim, metric: Metric) -> ClaimReview:
    misleading, why = ["correct_results_count"], []
    why.append("metric_score is the mean and correct_results_count the sum of the scores: together they are no share.")
    if metric.unavailable:
        misleading.append("metric_score")
        rows = metric.denominator + metric.unavailable
        why.append(f"{metric.unavailable} of {rows} rows rest on no evidence ({reasons(metric)}): no zero, no number.")
    elif not _close(claim.score, metric.value):
        misleading.append("metric_score")
        why.append(f"The scores' mean is {plain(metric.value)}, not {plain(claim.score)}.")
    return _made(claim, metric, f"{plain(claim.score)} on average, or {_share(claim)}", misleading, why)


def _executable(claim: SummaryClaim, scored: ScoredRun, *, sql: bool) -> ClaimReview:
    trials = scored.run.trials
    crashed = sum(1 for trial in trials if trial.status is TrialStatus.CRASHED)
    said = f"{crashed} of {len(trials)} trials crashed or timed out."
    if sql:
        why = ["metric_score 1 is the target; correct and total need not count the same things.", said]
    else:
        why = ["An agent run executes no SQL: every row counts as executed, a crashed or timed out one too.", said]
    return _made(claim, None, f"{_share(claim)} ran", COLUMNS, why)


def _omitted(name: str, metric: Metric) -> ClaimReview:
    verdicts = f"{metric.denominator} verdicts and {metric.unavailable} rows without one"
    return ClaimReview(
        metric=name,
        claim=None,
        recomputed=metric,
        reads_as="not measured",
        misleading=("absent",),
        why=f"{SUMMARY} leaves this metric out; the scores hold {verdicts}.",
    )


def reasons(metric: Metric) -> str:
    """`judge_no_log 1, no_rubric 2`."""
    return ", ".join(f"{reason} {count}" for reason, count in metric.unavailable_reasons.items())


def _made(
    claim: SummaryClaim, metric: Metric | None, reads_as: str, misleading: Iterable[str], why: list[str]
) -> ClaimReview:
    return ClaimReview(
        metric=claim.metric,
        claim=claim,
        recomputed=metric,
        reads_as=reads_as,
        misleading=tuple(dict.fromkeys(misleading)),
        why=" ".join(why) or "The row says what the scores say.",
        ref=claim.ref,
    )


def _share(claim: SummaryClaim) -> str:
    if claim.correct is None or not claim.total:
        return f"{plain(claim.correct)} of {plain(claim.total)}"
    return f"{plain(claim.correct)} of {plain(claim.total)} = {plain(claim.correct / claim.total * 100)} %"


def _close(one: Decimal | None, other: Decimal | None) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < SAME)
