"""A run's numbers as recorded, before any policy: five signals, graders, metrics, and what is odd about its judges."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal

from evalbench.comparators import TELEMETRY_SCORERS
from evalbench.decimals import digits, nine_places
from evalbench.health import evaluator_health
from evalbench.ledger import CostState, EffectState, OutcomeState, Run, ScoredRun, Trial, TrialStatus, Verdict
from evalbench.metrics import best_value, metric_name, run_metrics
from evalbench.pool import missing_trials
from evalbench.summaries.personal import excerpt, label

Figures = dict[str, object]
"""JSON types only; money, scores and rates are decimal texts of at most nine places."""


def number(value: Decimal | None) -> str | None:
    """A decimal as the digest writes it."""
    return None if value is None else digits(nine_places(value))


def outcome_state(trial: Trial) -> OutcomeState:
    """The recorded outcome, unavailable without one."""
    return trial.outcome.state if trial.outcome is not None else OutcomeState.UNAVAILABLE


def is_comparison(verdict: Verdict) -> bool:
    """Whether a verdict is the harness's opinion of a trial: counts and latencies are none."""
    return verdict.source == "harness" and verdict.scorer_type not in TELEMETRY_SCORERS


def recorded_signals(run: Run) -> Figures:
    """Numerator, denominator and value of each signal, as the gate defines them, from what the records say themselves.

    No policy names graders, tools or tolerated absences here, so a decision's numbers may differ. `unavailable` counts
    the trials whose evidence for this signal is missing.
    """
    return {
        "task_quality": _task_quality(run.trials),
        "useful_progress": _useful_progress(run.trials),
        "effect_integrity": _effect_integrity(run.trials),
        "cost_per_verified_outcome": _cost(run),
        "false_success": _false_success(run.trials),
    }


def _rate(numerator: Decimal | int | None, denominator: int, unavailable: int) -> Figures:
    total = None if numerator is None else Decimal(numerator)
    value = total / denominator if total is not None and denominator else None
    return {
        "numerator": number(total),
        "denominator": denominator,
        "value": number(value),
        "unavailable": unavailable,
    }


def _task_quality(trials: Sequence[Trial]) -> Figures:
    """Over completed trials with one grader that ran; several graders make a quality only where a policy says how."""
    completed = [trial for trial in trials if trial.status is TrialStatus.COMPLETED]
    only = [trial.qualities[0].score for trial in completed if len(trial.qualities) == 1]
    scores = [score for score in only if score is not None]
    return _rate(sum(scores, Decimal(0)), len(scores), len(completed) - len(scores))


def _useful_progress(trials: Sequence[Trial]) -> Figures:
    windows = [trial.progress for trial in trials if trial.progress is not None]
    active, new = sum(each.active for each in windows), sum(each.active_with_delta for each in windows)
    waiting, stale = sum(each.waiting for each in windows), sum(each.stale for each in windows)
    return {**_rate(new, active, len(trials) - len(windows)), "waiting": waiting, "stale": stale}


def _effect_integrity(trials: Sequence[Trial]) -> Figures:
    states = Counter(effect.state for trial in trials for effect in trial.effects or ())
    verified, failed, unknown = (states[state] for state in _COUNTED_EFFECTS)
    silent = sum(1 for trial in trials if trial.effects is None)
    beside = {"failed": failed, "unknown": unknown, "rejected": states[EffectState.REJECTED]}
    return {**_rate(verified, verified + failed + unknown, silent), **beside}


_COUNTED_EFFECTS = (EffectState.VERIFIED, EffectState.FAILED, EffectState.UNKNOWN)


def _cost(run: Run) -> Figures:
    """Billed dollars of all trials over verified outcomes; estimates stand beside and are never added."""
    billed, estimated = _dollars(run.trials, CostState.BILLED), _dollars(run.trials, CostState.ESTIMATED)
    verified = sum(1 for trial in run.trials if outcome_state(trial) is OutcomeState.VERIFIED)
    unpaid = len(run.trials) - len(billed) + missing_count(run)
    return {
        **_rate(sum(billed, Decimal(0)) if billed else None, verified, unpaid),
        "billed_trials": len(billed),
        "estimated_usd": number(sum(estimated, Decimal(0))) if estimated else None,
        "estimated_trials": len(estimated),
    }


def _dollars(trials: Iterable[Trial], state: CostState) -> list[Decimal]:
    return [t.cost.usd for t in trials if t.cost is not None and t.cost.state is state and t.cost.usd is not None]


def _false_success(trials: Sequence[Trial]) -> Figures:
    declared = [outcome_state(trial) for trial in trials if trial.declared_complete is True]
    silent = sum(1 for trial in trials if trial.declared_complete is None)
    rate = _rate(declared.count(OutcomeState.FAILED), len(declared), declared.count(OutcomeState.UNAVAILABLE))
    return {**rate, "declaration_unknown": silent}


def missing_count(run: Run) -> int:
    """Planned trials without a record."""
    return sum(item.count for item in missing_trials(run))


def grader_rows(trials: Iterable[Trial]) -> list[Figures]:
    """Each grader's scores, by name."""
    scores: dict[str, list[Decimal | None]] = defaultdict(list)
    for trial in trials:
        for quality in trial.qualities:
            scores[quality.grader_name or "unnamed"].append(quality.score)
    return [{"name": label(name), **_grades(found)} for name, found in sorted(scores.items())]


def _grades(scores: list[Decimal | None]) -> Figures:
    given = [score for score in scores if score is not None]
    return _rate(sum(given, Decimal(0)), len(given), len(scores) - len(given))


def metric_rows(scored: ScoredRun) -> list[Figures]:
    """Each metric: its value over `rows` available rows, how many passed, why the others have none.

    best: the best possible value, null where there is none. The harness's comparators first, since people know them.
    """
    best = {metric_name(verdict): best_value(verdict) for verdict in scored.verdicts}
    ours = {metric_name(verdict): verdict.source != "harness" for verdict in scored.verdicts}
    found = run_metrics(scored.verdicts, {})
    return [
        {
            "name": label(name),
            "value": number(found[name].value),
            "rows": found[name].denominator,
            "passed": found[name].passed,
            "best": number(best[name]),
            "unavailable": dict(list(found[name].unavailable_reasons.items())[:MAX_REASONS]),
        }
        for name in sorted(found, key=lambda name: (ours[name], name))
    ]


MAX_REASONS = 8


def judge_failures(verdicts: Iterable[Verdict]) -> list[Figures]:
    """Comparators that could not judge: how often, why, and what one of them said. The most frequent first."""
    failed: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if is_comparison(verdict) and verdict.value is None:
            failed[metric_name(verdict), verdict.reason or "unknown"].append(verdict)
    rows = sorted(failed.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "comparator": label(name),
            "reason": label(reason),
            "count": len(found),
            "task_id": label(found[0].task_id) if found[0].task_id is not None else None,
            "why": excerpt(found[0].detail or "", MAX_SAID) or None,
        }
        for (name, reason), found in rows
    ]


MAX_SAID = 100


def judge_health(scored: ScoredRun) -> list[Figures]:
    """Comparators that never varied, or that call a trial best whose outcome failed (or the other way round)."""
    outcomes = {
        (trial.task_id, trial.trial): {OutcomeState.VERIFIED: True, OutcomeState.FAILED: False}.get(
            outcome_state(trial)
        )
        for trial in scored.run.trials
    }
    found = evaluator_health((verdict for verdict in scored.verdicts if is_comparison(verdict)), outcomes)
    return [
        {
            "comparator": label(name),
            "rows": each.n,
            "never_varied": each.never_varied,
            "judged_outcomes": each.judged,
            "agreeing": each.agreeing,
        }
        for name, each in found.items()
        if each.never_varied or each.agreeing < each.judged
    ]
