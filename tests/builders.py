"""Small complete ledgers for tests: every record passes a strict policy, and a test spoils one thing."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from evalbench.gate.case import Case, Subject, as_of
from evalbench.gate.decision import Decision, decide
from evalbench.ledger import (
    Cost,
    CostState,
    Effect,
    EffectState,
    Outcome,
    OutcomeState,
    Plan,
    PlannedTask,
    PlanSource,
    Progress,
    Quality,
    Run,
    RunState,
    ScoredRun,
    ToolCall,
    Trial,
    TrialStatus,
    Wait,
)
from evalbench.policy import Policy, parse_policy
from evalbench.pool import one_dataset_version, pool_runs

DAY = date(2026, 3, 2)

STRICT = """
schema: 1
name: strict
version: "1"
tools: {read_only: ["*__get_*"], unmatched: effectful}
coverage: {grades: null}
floors:
  verified_yield: {min: 0.75}
  progress: {min: 0.90}
  effect_integrity: {min: 1.00}
  budget: {max_usd_per_verified_outcome: 0.60}
"""


def policy(text: str = STRICT) -> Policy:
    """A policy from YAML text."""
    return parse_policy(text, "test.yaml")


def outcome(state: str = "verified", reason: str | None = None) -> Outcome:
    """An outcome with everything that names it."""
    return Outcome(
        state=OutcomeState(state),
        predicate="invoice exists once",
        verifier_kind="deterministic",
        verifier_name="invoice_probe",
        reason=reason,
    )


def effect(state: str = "verified", tool: str = "billing__pay", key: str | None = "k1", **fields: Any) -> Effect:
    """An effect with receipt and key; an unknown one carries no receipt."""
    evidence = None if state == "unknown" else "row 7"
    defaults: dict[str, Any] = {"effect_id": f"{tool}-{key}", "destination": "ledger", "evidence": evidence}
    return Effect(state=EffectState(state), tool=tool, idempotency_key=key, **(defaults | fields))


def call(index: int = 0, name: str = "billing__pay", status: str | None = "success") -> ToolCall:
    """A call of one tool."""
    return ToolCall(index=index, raw_name=name, name=name, args_json="{}", status=status)


def trial(task_id: str = "t1", number: int = 0, **fields: Any) -> Trial:
    """A completed, declared, verified trial with one verified effect, full progress and a bill."""
    defaults: dict[str, Any] = {
        "status": TrialStatus.COMPLETED,
        "declared_complete": True,
        "outcome": outcome(),
        "qualities": (Quality(score=Decimal("0.8"), grader_kind="deterministic", grader_name="rubric"),),
        "progress": Progress(active=3, active_with_delta=3),
        "effects": (effect(),),
        "calls": (call(),),
        "cost": Cost(state=CostState.BILLED, usd=Decimal("0.40")),
    }
    return Trial(task_id=task_id, trial=number, **(defaults | fields))


def waiting(task_id: str = "t9", **fields: Any) -> Trial:
    """A trial that validly waits for an approval until the day after DAY."""
    wait = Wait(owner="ops", decision="approve refund", due=datetime(2026, 3, 4, tzinfo=UTC), resume_state='"step-3"')
    defaults: dict[str, Any] = {
        "status": TrialStatus.WAITING,
        "declared_complete": False,
        "outcome": outcome("unavailable", "waiting"),
        "qualities": (),
        "progress": Progress(active=2, active_with_delta=2, waiting=4),
        "wait": wait,
    }
    return trial(task_id, **(defaults | fields))


def run(*trials: Trial, planned: dict[str, int] | None = None, **fields: Any) -> ScoredRun:
    """A complete run of these trials, planned exactly as recorded unless told otherwise."""
    counts: dict[str, int] = {}
    for item in trials:
        counts[item.task_id] = counts.get(item.task_id, 0) + 1
    tasks = tuple(PlannedTask(task_id=task, trials=n) for task, n in (planned or counts).items())
    run_id = fields.get("run_id", "run-1")
    defaults: dict[str, Any] = {
        "run_id": run_id,
        "run_key": f"key-{run_id}",
        "path": run_id,
        "format": "trial_records",
        "state": RunState.COMPLETE,
        "content": "0" * 64,
        "reader_version": "1",
        "run_time": datetime(2026, 3, 2, 9, tzinfo=UTC),
        "candidate": "agent/1",
        "product": "billing",
        "dataset": "suite",
        "dataset_named": True,
        "plan": Plan(source=PlanSource.MANIFEST, tasks=tasks),
        "trials": tuple(trials),
    }
    return ScoredRun(run=Run(**(defaults | fields)), verdicts=())


def case(*runs: ScoredRun, by: Policy | None = None, baseline: tuple[ScoredRun, ...] | None = None) -> Case:
    """A case over these runs on DAY."""
    chosen = by or policy()
    pooled, others = one_dataset_version(runs)
    return Case(
        subject=Subject(product="billing", suite="suite", environment="offline", candidate="agent/1"),
        on=DAY,
        policy=chosen,
        pool=pool_runs(pooled, chosen, as_of(DAY)),
        other_versions=tuple(scored.run for scored in others),
        baseline_candidate=None if baseline is None else "agent/0",
        baseline=None if not baseline else pool_runs(baseline, chosen, as_of(DAY)),
    )


def decision(*runs: ScoredRun, **options: Any) -> Decision:
    """The gate's decision over these runs."""
    return decide(case(*runs, **options))


def fired(result: Decision) -> dict[str, bool]:
    """Fired check → proven."""
    return {check.name: check.proven for check in result.checks if check.fired}


def spoil(scored: ScoredRun, index: int, **changes: Any) -> ScoredRun:
    """The run with one trial changed."""
    trials = list(scored.run.trials)
    trials[index] = replace(trials[index], **changes)
    return replace(scored, run=replace(scored.run, trials=tuple(trials)))
