"""From a case to a decision: every check evaluated, the first that fired is the reason, only proven ones fail."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from evalbench.gate.case import Case, Subject
from evalbench.gate.check import Check
from evalbench.gate.checks import CHECKS
from evalbench.gate.flip import what_would_flip
from evalbench.gate.result import CheckResult, CheckStatus
from evalbench.judged import JudgedTrial, speaks_for
from evalbench.policy import Attestation

COMPARISON_STAGE = 5
GATE_VERSION = "2"
"""Raised whenever the same pool under the same policy would be decided otherwise."""


class Verdict(StrEnum):
    """FAIL and INSUFFICIENT_EVIDENCE both hold the release."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a PASS permits, and nothing beyond."""

    product: str
    dataset: str
    dataset_version: str | None
    environment: str
    workflow: str
    tasks: int
    window_days: int
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The gate's answer for one subject on one date under one policy.

    first_reason: the first check that fired. decided_by: the first proven one on FAIL, else the first that fired.
    attested: comparators taken as outcome verifiers of a pooled run on somebody's word, with reason and name.
    attested_nothing: attested comparators without a single row in the pooled runs, and what those runs are.
    baseline_runs: how many runs of the baseline the same window holds.
    """

    subject: Subject
    on: date
    verdict: Verdict
    first_reason: str | None
    decided_by: str | None
    policy_name: str
    policy_version: str
    policy_hash: str
    scope: Scope
    checks: tuple[CheckResult, ...]
    flip: str
    baseline: str | None
    runs: tuple[str, ...]
    attested: tuple[str, ...] = ()
    attested_nothing: tuple[str, ...] = ()
    baseline_runs: int = 0


def decide(case: Case, checks: tuple[Check, ...] = CHECKS) -> Decision:
    """Evaluate every check on a case. Pure: the same case gives the same decision."""
    results = _without_comparison_if_held(tuple(check.evaluate(case) for check in checks))
    fired = [result for result in results if result.fired]
    proven = [result for result in fired if result.proven]
    if proven:
        verdict = Verdict.FAIL
    elif fired:
        verdict = Verdict.INSUFFICIENT_EVIDENCE
    else:
        verdict = Verdict.PASS
    return Decision(
        subject=case.subject,
        on=case.on,
        verdict=verdict,
        first_reason=fired[0].name if fired else None,
        decided_by=(proven or fired)[0].name if fired else None,
        policy_name=case.policy.name,
        policy_version=case.policy.version,
        policy_hash=case.policy.policy_hash,
        scope=_scope(case),
        checks=results,
        flip=what_would_flip(results),
        baseline=case.baseline_candidate,
        runs=tuple(run.run_id for run in case.pool.runs),
        attested=_attested(case),
        attested_nothing=_attested_nothing(case),
        baseline_runs=len(case.baseline.runs) if case.baseline is not None else 0,
    )


def _without_comparison_if_held(results: tuple[CheckResult, ...]) -> tuple[CheckResult, ...]:
    """Once an earlier stage fired, stage 5 is shown and not used."""
    if not any(result.fired for result in results if result.stage < COMPARISON_STAGE):
        return results
    return tuple(
        replace(result, status=CheckStatus.NOT_USED, fired=False, proven=False)
        if result.stage == COMPARISON_STAGE and result.status is not CheckStatus.NOT_EVALUATED
        else result
        for result in results
    )


def _scope(case: Case) -> Scope:
    versions = sorted({run.dataset_version for run in case.pool.runs if run.dataset_version is not None})
    return Scope(
        product=case.subject.product,
        dataset=case.subject.suite,
        dataset_version=", ".join(versions) or None,
        environment=case.subject.environment,
        workflow=case.policy.workflow,
        tasks=len({t.trial.task_id for t in case.pool.trials} | {item.task_id for item in case.pool.missing}),
        window_days=case.window_days,
        as_of=case.pool.as_of,
    )


def _attested(case: Case) -> tuple[str, ...]:
    return tuple(
        f"{a.comparator}: {a.reason} (attested by {a.attested_by})"
        for a in case.policy.outcome.attestations
        if any(speaks_for(a, run) for run in case.pool.runs)
    )


def _attested_nothing(case: Case) -> tuple[str, ...]:
    """`goal_completion (product billing, generator class agent.Live)`."""
    if not case.pool.runs:
        return ()
    products = ", ".join(sorted({run.product for run in case.pool.runs}))
    classes = ", ".join(sorted({run.generator_class or "not recorded" for run in case.pool.runs}))
    return tuple(
        f"{attestation.comparator} (product {products}, generator class {classes})"
        for attestation in case.policy.outcome.attestations
        if not any(_has_row(attestation, trial) for trial in case.pool.trials)
    )


def _has_row(attestation: Attestation, trial: JudgedTrial) -> bool:
    rows = trial.trial.comparators
    return speaks_for(attestation, trial.run) and any(row.comparator == attestation.comparator for row in rows)
