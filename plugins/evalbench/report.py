"""The JSON document of a pipeline run: decisions, runs and accounting, numbers unrounded."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from evalbench.accounting import Accounting, Change, DirectoryState, Disposition, Written
from evalbench.decided import DecidedSubject
from evalbench.exclusions import Exclusion
from evalbench.gate.decision import Decision
from evalbench.gate.result import CheckResult
from evalbench.general_score import general_score
from evalbench.ledger import ScoredRun
from evalbench.metrics import Metric, run_metrics
from evalbench.signals import Signal

Document: TypeAlias = dict[str, object]
"""JSON types only."""

NOT_SCORED = frozenset({Disposition.IN_PROGRESS, Disposition.QUARANTINED, Disposition.IGNORED})
"""Where an entry ends that is listed, in range for all one knows, and no part of any decision."""


def document(
    decisions: Iterable[Document],
    runs: Iterable[Document],
    accounting: Accounting | None,
    states: Iterable[DirectoryState] = (),
    idle_routes: Iterable[str] = (),
    excluded: Iterable[Exclusion] = (),
    idle_exclusions: Iterable[str] = (),
) -> Document:
    """One document. accounting is None where no run directories were listed (`gate`).

    states: what became of each listed entry. idle_routes: routes that matched no decided subject. excluded: of runs of
    the decided dates, whether or not a decision is left there. idle_exclusions: excluded run ids nobody knows.
    """
    return {
        "decisions": list(decisions),
        "runs": list(runs),
        "accounting": plain(asdict(accounting)) if accounting is not None else None,
        "not_scored": [_not_scored(state) for state in states if state.disposition in NOT_SCORED],
        "idle_routes": list(idle_routes),
        "excluded": [exclusion.document for exclusion in excluded],
        "idle_exclusions": list(idle_exclusions),
        "changes": [],
        "summaries": None,
        "bigquery": None,
    }


def changes_document(states: Iterable[DirectoryState]) -> list[dict[str, str]]:
    """What is news of known directories: late, changed, moved to another date, or deleted. New ones are the usual."""
    news = [
        {"path": state.path, "change": state.change.value if state.change is not None else state.disposition.value}
        for state in states
        if state.change not in (None, Change.NEW) or state.disposition is Disposition.DELETED
    ]
    return sorted(news, key=lambda item: (item["change"], item["path"]))


def summaries_document(written: Iterable[Written], mode: str) -> Document:
    """What became of the summaries of one execution: how many by state, and what the calls made for them took.

    A total is null as soon as a part of it is unknown: a sum without it would be too small.
    """
    found = list(written)
    asked = [item for item in found if item.calls]
    return {
        "mode": mode,
        "why": sorted({item.why for item in found}),
        "states": dict(sorted(Counter(item.state for item in found).items())),
        "reasons": dict(sorted(Counter(item.reason for item in found if item.reason).items())),
        "messages": sorted({item.message for item in found if item.message}),
        "cached": sum(item.cached for item in found),
        "models": sorted({item.model for item in asked if item.model is not None}),
        "calls": sum(item.calls for item in found),
        "tokens_in": _total(item.tokens_in for item in asked),
        "tokens_out": _total(item.tokens_out for item in asked),
        "tokens_thinking": _total(item.tokens_thinking for item in asked),
        "cost_usd": _total(item.cost_usd for item in asked),
    }


def _total(parts: Iterable[Decimal | int | None]) -> object:
    found = list(parts)
    known = [part for part in found if part is not None]
    return plain(sum(known, Decimal(0))) if len(known) == len(found) else None


def decision_document(decided: DecidedSubject, today: date, route: str | None = None) -> Document:
    """One decision. It is provisional while its UTC day is not over on `today`. route: see `Rules.route_of`."""
    decision = decided.decision
    defects = Counter(defect.code for run in decided.case.pool.runs for defect in run.defects)
    return {
        "candidate": decision.subject.candidate,
        "product": decision.subject.product,
        "suite": decision.subject.suite,
        "environment": decision.subject.environment,
        "date": decision.on.isoformat(),
        "decision": decision.verdict.value,
        "provisional": is_provisional(decision.on, today),
        "first_reason": decision.first_reason,
        "decided_by": decision.decided_by,
        "scope": _scope(decision),
        "policy": {
            "name": decision.policy_name,
            "version": decision.policy_version,
            "hash": decision.policy_hash,
            "route": route,
        },
        "baseline": decision.baseline,
        "baseline_runs": decision.baseline_runs,
        "attested": list(decision.attested),
        "attested_nothing": list(decision.attested_nothing),
        "excluded": [exclusion.document for exclusion in decided.case.left_out],
        "defects": dict(sorted(defects.items())),
        "checks": [_check(check) for check in decision.checks],
        "signals": {signal.name: _signal(signal) for signal in decided.signals},
        "funnel": asdict(decided.funnel),
        "pass_at_k": {str(k): asdict(bracket) for k, bracket in decided.pass_at_k.items()},
        "pass_hat_k": {str(k): asdict(bracket) for k, bracket in decided.pass_hat_k.items()},
        "flip": decision.flip,
        "runs": list(decision.runs),
    }


def run_document(
    scored: ScoredRun, suite: str | None = None, thresholds: Mapping[str, Decimal] = MappingProxyType({})
) -> Document:
    """One run. suite is routing's name for it, thresholds those of the policy that holds for it."""
    run, score = scored.run, general_score(scored.verdicts)
    return {
        "run_id": run.run_id,
        "path": run.path,
        "candidate": run.candidate,
        "product": run.product,
        "suite": suite,
        "environment": run.environment,
        "run_date": run.run_date.isoformat(),
        "run_time": run.run_time.isoformat(),
        "state": run.state.value,
        "format": run.format,
        "trials": len(run.trials),
        "planned": run.plan.trials,
        "plan": run.plan.source.value,
        "general_score": {
            "value": plain(score.value),
            "missing": list(score.missing),
            "components": {name: plain(asdict(component)) for name, component in score.components.items()},
        },
        "metrics": {name: metric_document(metric) for name, metric in run_metrics(scored.verdicts, thresholds).items()},
        "defects": len(run.defects),
    }


def is_provisional(day: date, today: date) -> bool:
    """Whether a UTC day is not over."""
    return day >= today


def plain(value: object) -> object:
    """A value in JSON types: decimals as numbers, times and dates in ISO form, mappings with text keys."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def _not_scored(state: DirectoryState) -> Document:
    return {
        "path": state.path,
        "disposition": state.disposition.value,
        "reason": state.reason,
        "message": state.message,
        "run_date": state.run_date.isoformat() if state.run_date is not None else None,
    }


def _scope(decision: Decision) -> Document:
    scope = decision.scope
    return {
        "product": scope.product,
        "dataset": scope.dataset,
        "dataset_version": scope.dataset_version,
        "environment": scope.environment,
        "workflow": scope.workflow,
        "tasks": scope.tasks,
        "window": {"days": scope.window_days},
        "as_of": scope.as_of.isoformat(),
    }


def _check(check: CheckResult) -> Document:
    return {
        "name": check.name,
        "stage": check.stage,
        "status": check.status.value,
        "fired": check.fired,
        "proven": check.proven,
        "observed": check.observed,
        "best": check.best,
        "worst": check.worst,
        "worst_unbounded": check.worst_unbounded,
        "limit": check.limit,
        "numerator": check.numerator,
        "denominator": check.denominator,
        "unit": check.unit,
        "reason": check.reason,
        "next_step": check.next_step,
        "trials": [asdict(ref) for ref in check.trials],
    }


def _signal(signal: Signal) -> Document:
    """A signal with the figures kept beside it, under their own names."""
    beside = {str(name): plain(value) for name, value in signal.beside.items()}
    return beside | {
        "value": signal.value,
        "numerator": plain(signal.numerator),
        "denominator": signal.denominator,
        "left_out": dict(signal.left_out),
        "ci95": list(signal.ci95) if signal.ci95 is not None else None,
        "unit": signal.unit,
    }


def metric_document(metric: Metric) -> Document:
    """A metric, with its denominator and what was left out."""
    return {
        "value": plain(metric.value),
        "numerator": plain(metric.numerator),
        "denominator": metric.denominator,
        "passed": metric.passed,
        "unavailable": metric.unavailable,
        "unavailable_reasons": dict(metric.unavailable_reasons),
    }
