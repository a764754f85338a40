"""The digest of a run: its numbers and task ids, nothing a run wrote in prose. What a summary is written from.

Policy-free and bounded: the same facts and verdicts give the same digest, whatever the run's size.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from evalbench.canonical import sha256_json
from evalbench.decimals import digits
from evalbench.general_score import general_score
from evalbench.ledger import CostState, EffectState, OutcomeState, Run, ScoredRun, Trial, TrialStatus
from evalbench.metrics import Metric, run_metrics

MAX_TASKS = 10
MAX_METRICS = 60
MAX_TEXT = 120

Digest = Mapping[str, object]
"""JSON types only; money and scores are decimal texts, so that no digit is lost."""

HARM: Mapping[str, Callable[[Trial], bool]] = {
    "declared_complete_but_failed": lambda t: t.declared_complete is True and _outcome(t) is OutcomeState.FAILED,
    "declared_complete_not_verified": lambda t: t.declared_complete is True and _outcome(t) is OutcomeState.UNAVAILABLE,
    "effect_unknown": lambda t: any(effect.state is EffectState.UNKNOWN for effect in t.effects or ()),
    "effect_failed": lambda t: any(effect.state is EffectState.FAILED for effect in t.effects or ()),
    "crashed": lambda t: t.status is TrialStatus.CRASHED,
}


def digest_of(scored: ScoredRun) -> Digest:
    """The digest of a scored run."""
    run, trials = scored.run, scored.run.trials
    score = general_score(scored.verdicts)
    return {
        "run": _identity(run),
        "trials": {
            "planned": run.plan.trials,
            "plan": run.plan.source.value,
            "recorded": len(trials),
            "status": _counts(t.status.value if t.status is not None else "unrecorded" for t in trials),
            "declared_complete": sum(1 for t in trials if t.declared_complete is True),
            "outcomes": _counts(_outcome(t).value for t in trials),
        },
        "effects": _counts(effect.state.value for t in trials for effect in t.effects or ()),
        "windows": _windows(trials),
        "quality": _quality(trials),
        "cost": {state.value: _cost(trials, state) for state in (CostState.BILLED, CostState.ESTIMATED)},
        "general_score": {"value": _number(score.value), "missing": list(score.missing)},
        "metrics": _metrics(run_metrics(scored.verdicts, {})),
        "tasks": {name: _tasks(trials, is_harm) for name, is_harm in HARM.items()},
        "defects": _counts(defect.code for defect in run.defects),
    }


def digest_hash(digest: Digest) -> str:
    """sha256 of a digest; names the summary written from it."""
    return sha256_json(digest)


def _identity(run: Run) -> dict[str, str | None]:
    texts = {
        "run_id": run.run_id,
        "candidate": run.candidate,
        "product": run.product,
        "dataset": run.dataset,
        "environment": run.environment,
        "run_date": run.run_date.isoformat(),
        "state": run.state.value,
        "format": run.format,
    }
    return {name: text[:MAX_TEXT] if text is not None else None for name, text in texts.items()}


def _outcome(trial: Trial) -> OutcomeState:
    return trial.outcome.state if trial.outcome is not None else OutcomeState.UNAVAILABLE


def _counts(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _windows(trials: Iterable[Trial]) -> dict[str, int]:
    recorded = [trial.progress for trial in trials if trial.progress is not None]
    return {
        "active": sum(progress.active for progress in recorded),
        "active_with_new_evidence": sum(progress.active_with_delta for progress in recorded),
        "waiting": sum(progress.waiting for progress in recorded),
        "stale": sum(progress.stale for progress in recorded),
    }


def _quality(trials: Iterable[Trial]) -> dict[str, object]:
    """Per grader: sum of its scores and how many trials it scored."""
    scores: dict[str, list[Decimal]] = {}
    for trial in trials:
        for quality in trial.qualities:
            if quality.score is not None:
                scores.setdefault((quality.grader_name or "unnamed")[:MAX_TEXT], []).append(quality.score)
    named = sorted(scores.items())[:MAX_TASKS]
    return {name: {"sum": _number(sum(found, Decimal(0))), "graded": len(found)} for name, found in named}


def _cost(trials: Iterable[Trial], state: CostState) -> dict[str, object]:
    paid = [t.cost.usd for t in trials if t.cost is not None and t.cost.state is state and t.cost.usd is not None]
    return {"usd": _number(sum(paid, Decimal(0))) if paid else None, "trials": len(paid)}


def _metrics(metrics: Mapping[str, Metric]) -> dict[str, dict[str, object]]:
    return {
        name[:MAX_TEXT]: {
            "sum": _number(metric.numerator),
            "rows": metric.denominator,
            "passed": metric.passed,
            "unavailable": metric.unavailable_reasons,
        }
        for name, metric in sorted(metrics.items())[:MAX_METRICS]
    }


def _tasks(trials: Iterable[Trial], is_harm: Callable[[Trial], bool]) -> dict[str, object]:
    """How many trials, and the first few of their task ids."""
    found = [trial.task_id for trial in trials if is_harm(trial)]
    return {"trials": len(found), "first": [task[:MAX_TEXT] for task in sorted(set(found))[:MAX_TASKS]]}


def _number(value: Decimal | None) -> str | None:
    return None if value is None else digits(value)
