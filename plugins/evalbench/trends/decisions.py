"""Rows of what was decided."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta

from evalbench.decided import DecidedSubject
from evalbench.gate.result import CheckResult
from evalbench.signals import Signal
from evalbench.tables import table_named
from evalbench.trends.cells import Row, figure, json_text, numeric, real
from evalbench.trends.context import RowContext
from evalbench.trends.decision_log import evidence_hash

SIGNALS, DECISIONS = table_named("signals"), table_named("decisions")
GATE_CHECKS, GATE_EVIDENCE = table_named("gate_checks"), table_named("gate_evidence")


def signal_rows(context: RowContext, decided: DecidedSubject) -> Iterator[Row]:
    """Rows of `signals`."""
    common = context.of_decision(SIGNALS, decided)
    for signal in decided.signals:
        yield {**common, **_signal(signal)}


def _signal(signal: Signal) -> Row:
    low, high = signal.ci95 if signal.ci95 is not None else (None, None)
    return {
        "signal": signal.name,
        "numerator": numeric(signal.numerator),
        "denominator": signal.denominator,
        "left_out": json_text(signal.left_out),
        "left_out_total": sum(signal.left_out.values()),
        "beside": json_text(signal.beside),
        "ci95_low": real(low),
        "ci95_high": real(high),
        "unit": signal.unit,
    }


def check_rows(context: RowContext, decided: DecidedSubject) -> Iterator[Row]:
    """Rows of `gate_checks`."""
    common = context.of_decision(GATE_CHECKS, decided)
    for number, check in enumerate(decided.decision.checks):
        yield {**common, "check_number": number, **_check(check)}


def _check(check: CheckResult) -> Row:
    return {
        "check_name": check.name,
        "stage": check.stage,
        "status": check.status.value,
        "fired": check.fired,
        "proven": check.proven,
        "numerator": figure(check.numerator),
        "denominator": figure(check.denominator),
        "observed": figure(check.observed),
        "best": figure(check.best),
        "worst": figure(check.worst),
        "worst_unbounded": check.worst_unbounded,
        "limit_value": figure(check.limit),
        "unit": check.unit,
        "reason": check.reason,
        "next_step": check.next_step,
        "evidence_rows": len(check.trials),
    }


def evidence_rows(context: RowContext, decided: DecidedSubject) -> Iterator[Row]:
    """Rows of `gate_evidence`."""
    common = context.of_decision(GATE_EVIDENCE, decided)
    for check_number, check in enumerate(decided.decision.checks):
        for number, ref in enumerate(check.trials):
            yield {
                **common,
                "check_number": check_number,
                "check_name": check.name,
                "evidence_number": number,
                **asdict(ref),
            }


def decision_row(context: RowContext, decided: DecidedSubject) -> Row:
    """The row of `decisions`."""
    decision, scope = decided.decision, decided.decision.scope
    return {
        **context.of_decision(DECISIONS, decided),
        "policy_version": decision.policy_version,
        "decision": decision.verdict.value,
        "first_reason": decision.first_reason,
        "decided_by": decision.decided_by,
        "baseline": decision.baseline,
        "workflow": scope.workflow,
        "window_from": decision.on - timedelta(days=scope.window_days - 1),
        "window_days": scope.window_days,
        "as_of": scope.as_of,
        "tasks": scope.tasks,
        "runs": json_text(decision.runs),
        "run_count": len(decision.runs),
        "flip": decision.flip,
        "attested": json_text(decision.attested),
        "excluded": _excluded(decided),
        **asdict(decided.funnel),
        "pass_at_k": json_text({k: asdict(bracket) for k, bracket in decided.pass_at_k.items()}),
        "pass_hat_k": json_text({k: asdict(bracket) for k, bracket in decided.pass_hat_k.items()}),
        "evidence_hash": evidence_hash(decided),
    }


def _excluded(decided: DecidedSubject) -> str | None:
    """Voided runs of the window as JSON; None where there is none."""
    left_out = [exclusion.document for exclusion in decided.case.left_out]
    return json_text(left_out) if left_out else None
