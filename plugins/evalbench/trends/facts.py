"""Rows of the policy-free tables."""

from collections import Counter
from collections.abc import Iterator

from evalbench.ledger import EvidenceRef, Quality, Run, ScoredRun, Trial, Verdict, VerdictState
from evalbench.pool import is_open_ended, missing_trials, unplanned_trials
from evalbench.tables import table_named
from evalbench.trends.cells import Row, json_text, money, numeric, real, whole
from evalbench.trends.context import RowContext
from evalbench.usage import processed_tokens

RUNS, TRIALS, CALLS = table_named("runs"), table_named("trials"), table_named("calls")
EFFECTS, VERDICTS = table_named("effects"), table_named("verdicts")

VALUE_OUT_OF_RANGE = "value_out_of_range"


def run_row(context: RowContext, run: Run) -> Row:
    """The row of a run in `runs`."""
    return {
        **context.of_run(RUNS, run),
        "run_id": run.run_id,
        "run_key": run.run_key,
        "path": run.path,
        "format": run.format,
        "state": run.state.value,
        "content": run.content,
        "reader_version": run.reader_version,
        "run_time": run.run_time,
        "dataset": run.dataset,
        "baseline": run.baseline,
        "requester": run.requester,
        "generator": run.generator,
        "generator_class": run.generator_class,
        "agent_version": run.agent_version,
        "eval_group": run.eval_group,
        "workflow": run.workflow,
        "labels": json_text(run.labels),
        "plan_source": run.plan.source.value,
        "planned_tasks": len({task.task_id for task in run.plan.tasks}),
        "planned_trials": run.plan.trials,
        "recorded_trials": len(run.trials),
        "missing_trials": sum(item.count for item in missing_trials(run)),
        "unplanned_trials": unplanned_trials(run),
        "open_ended": is_open_ended(run),
        "unattached_rows": len(run.unattached),
        "defects": len(run.defects),
        "defect_codes": json_text(dict(Counter(defect.code for defect in run.defects))),
    }


def trial_rows(context: RowContext, run: Run) -> Iterator[Row]:
    """Rows of `trials`: recorded trials, then planned ones without a record."""
    common = {**context.of_run(TRIALS, run), "run_id": run.run_id}
    for trial in run.trials:
        yield {
            **common,
            "task_id": trial.task_id,
            "trial": trial.trial,
            "missing_number": None,
            "recorded": True,
            **_recorded(trial),
        }
    nothing = dict.fromkeys(TRIALS.column_names)
    silent: Row = {"recorded": False, "effects_recorded": False, "calls_recorded": False}
    for item in missing_trials(run):
        for number in range(1, item.count + 1):
            yield {**nothing, **common, **silent, "task_id": item.task_id, "missing_number": number}


def _recorded(trial: Trial) -> Row:
    return {
        "task_key": trial.task_key,
        "status": trial.status.value if trial.status is not None else None,
        "status_reason": trial.status_reason,
        "declared_complete": trial.declared_complete,
        "finished_conversation": trial.finished_conversation,
        "started_at": trial.started_at,
        "ended_at": trial.ended_at,
        **_outcome(trial),
        **_wait(trial),
        **_progress(trial),
        "effects_recorded": trial.effects is not None,
        **_calls(trial),
        **_load(trial),
        **_source(trial.ref),
    }


def _outcome(trial: Trial) -> Row:
    outcome = trial.outcome
    return {
        "outcome_state": outcome.state.value if outcome else None,
        "outcome_predicate": outcome.predicate if outcome else None,
        "outcome_verifier_kind": outcome.verifier_kind if outcome else None,
        "outcome_verifier_name": outcome.verifier_name if outcome else None,
        "outcome_verifier_version": outcome.verifier_version if outcome else None,
        "outcome_reason": outcome.reason if outcome else None,
        "outcome_evidence": outcome.evidence if outcome else None,
    }


def _wait(trial: Trial) -> Row:
    wait = trial.wait
    return {
        "wait_owner": wait.owner if wait else None,
        "wait_decision": wait.decision if wait else None,
        "wait_due": wait.due if wait else None,
        "wait_resume_state": wait.resume_state if wait else None,
    }


def _progress(trial: Trial) -> Row:
    progress = trial.progress
    return {
        "progress_active": whole(progress.active) if progress else None,
        "progress_active_with_delta": whole(progress.active_with_delta) if progress else None,
        "progress_waiting": whole(progress.waiting) if progress else None,
        "progress_stale": whole(progress.stale) if progress else None,
    }


def _calls(trial: Trial) -> Row:
    expected = trial.expected
    return {
        "calls_recorded": trial.calls is not None,
        "calls_source": trial.calls_source,
        "calls_reason": trial.calls_reason,
        "expected_calls": None
        if expected is None
        else json_text([{"name": call.name, "args": call.args_json} for call in expected]),
        "expected_reason": trial.expected_reason,
        "forbidden_tools": None if trial.forbidden is None else json_text(trial.forbidden),
    }


def _load(trial: Trial) -> Row:
    cost, usage, timing = trial.cost, trial.usage, trial.timing
    return {
        "cost_state": cost.state.value if cost else None,
        "cost_usd": money(cost.usd) if cost else None,
        "input_tokens": whole(usage.input_tokens) if usage else None,
        "output_tokens": whole(usage.output_tokens) if usage else None,
        "cached_tokens": whole(usage.cached_tokens) if usage else None,
        "cache_creation_tokens": whole(usage.cache_creation_tokens) if usage else None,
        "reasoning_tokens": whole(usage.reasoning_tokens) if usage else None,
        "cached_in_input": usage.cached_in_input if usage else None,
        "processed_tokens": whole(processed_tokens(usage)),
        "inference_calls": whole(usage.inference_calls) if usage else None,
        "tool_calls": whole(usage.tool_calls) if usage else None,
        "duration_s": real(timing.duration_s) if timing else None,
        "tool_duration_s": real(timing.tool_duration_s) if timing else None,
    }


def call_rows(context: RowContext, run: Run) -> Iterator[Row]:
    """Rows of `calls`."""
    common = context.of_run(CALLS, run)
    for trial in run.trials:
        for call in trial.calls or ():
            yield {
                **common,
                **_trial_key(run, trial),
                "call_index": call.index,
                "tool": call.name,
                "raw_name": call.raw_name,
                "args": call.args_json,
                "status": call.status,
                "duration_ms": real(call.duration_ms),
                **_source(call.ref),
            }


def effect_rows(context: RowContext, run: Run) -> Iterator[Row]:
    """Rows of `effects`."""
    common = context.of_run(EFFECTS, run)
    for trial in run.trials:
        for number, effect in enumerate(trial.effects or ()):
            yield {
                **common,
                **_trial_key(run, trial),
                "effect_number": number,
                "effect_id": effect.effect_id,
                "state": effect.state.value,
                "tool": effect.tool,
                "destination": effect.destination,
                "idempotency_key": effect.idempotency_key,
                "reason": effect.reason,
                "evidence": effect.evidence,
                "attempts": effect.attempts,
                **_source(effect.ref),
            }


def verdict_rows(context: RowContext, scored: ScoredRun) -> Iterator[Row]:
    """Rows of `verdicts`: evaluators and comparators as computed, then the graders of task quality."""
    run = scored.run
    common = {**context.of_run(VERDICTS, run), "run_id": run.run_id}
    seen: Counter[tuple[str | None, int | None, str, str]] = Counter()
    for verdict in scored.verdicts:
        key = (verdict.task_id, verdict.trial, verdict.source, verdict.name)
        yield {**common, **_verdict(verdict), "verdict_number": seen[key]}
        seen[key] += 1
    for trial in run.trials:
        for number, quality in enumerate(trial.qualities):
            key_columns = {"task_id": trial.task_id, "trial": trial.trial, "verdict_number": number}
            yield {**common, **key_columns, **_grade(quality)}


def _verdict(verdict: Verdict) -> Row:
    value = numeric(verdict.value)
    lost = verdict.value is not None and value is None
    return {
        "task_id": verdict.task_id,
        "trial": verdict.trial,
        "source": verdict.source,
        "name": verdict.name,
        "scorer_type": verdict.scorer_type,
        "version": verdict.version,
        "value": value,
        "state": (VerdictState.UNAVAILABLE if lost else verdict.state).value,
        "reason": VALUE_OUT_OF_RANGE if lost else verdict.reason,
        "detail": verdict.detail,
        **dict.fromkeys(("grader_kind", "rubric_version", "grader_model", "calibrated", "disagreement")),
        **_source(verdict.ref),
    }


def _grade(quality: Quality) -> Row:
    given = quality.score is not None
    return {
        "source": "grader",
        "name": quality.grader_name,
        "scorer_type": None,
        "version": quality.grader_version,
        "value": numeric(quality.score),
        "state": (VerdictState.AVAILABLE if given else VerdictState.UNAVAILABLE).value,
        "reason": None if given else quality.reason or "grader_did_not_run",
        "detail": None,
        "grader_kind": quality.grader_kind,
        "rubric_version": quality.rubric_version,
        "grader_model": quality.model,
        "calibrated": quality.calibrated,
        "disagreement": real(quality.disagreement),
        **_source(quality.ref),
    }


def _trial_key(run: Run, trial: Trial) -> Row:
    return {"run_id": run.run_id, "task_id": trial.task_id, "trial": trial.trial}


def _source(ref: EvidenceRef | None) -> Row:
    return {"source_file": ref.file if ref else None, "source_row": ref.row if ref else None}
