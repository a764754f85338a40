"""Rows of evals.csv of agent runs: calls, expectation, status, tokens, cost, time."""

import csv
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from evalbench.ledger import Cost, CostState, Defect, Trial, TrialStatus, Usage
from evalbench.readers.evalbench import read_evalbench
from evalbench.readers.snapshot import ReadOptions, Snapshot

NOW = datetime(2026, 12, 2, tzinfo=UTC)
FINE = {"eval_id": "a", "returncode": "0", "timed_out": "False", "generated_error": "", "stderr": ""}


def read(
    row: Mapping[str, str], generator: str = "", *, empty_is_none: bool = True
) -> tuple[Trial, tuple[Defect, ...]]:
    """The only trial of a run with this row, and the run's defects."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(row), lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)
    configs = f"job_id,run_time,config,value\nj,2026-11-30,model_config.generator,{generator}\n"
    files = {"configs.csv": configs.encode(), "evals.csv": out.getvalue().encode()}
    options = ReadOptions(now=NOW, empty_trajectory_expects_no_call=empty_is_none)
    run = read_evalbench(Snapshot(path="r", files=files, newest_mtime=NOW), options)
    (trial,) = run.trials
    return trial, run.defects


def history(*agents: object) -> str:
    """conversation_history with these outputs: JSON values are encoded as the harness does, text stays text."""
    turns = [{"user": "u", "agent": agent if isinstance(agent, str) else json.dumps(agent)} for agent in agents]
    return json.dumps(turns, indent=2)


def calls_of(row: Mapping[str, str]) -> tuple[list[tuple[str, str | None, str | None]] | None, str | None, str | None]:
    """((name, arguments, status) of each call, source, reason)."""
    trial, _ = read({**FINE, **row})
    calls = None if trial.calls is None else [(call.name, call.args_json, call.status) for call in trial.calls]
    return calls, trial.calls_source, trial.calls_reason


CALLS = {
    "canonical keys": (
        [("crm__find", '{"a":1}', "success")],
        history({"tool_calls": [{"tool_name": "crm__find", "parameters": {"a": 1}, "status": "success"}]}),
    ),
    "other CLIs' keys": (
        [("crm__find", '{"a":1}', None)],
        history({"tool_calls": [{"name": "mcp__crm__find", "args": {"a": 1}, "output": "x"}]}),
    ),
    "several turns, repeats kept in order": (
        [("b", None, None), ("a", None, None), ("b", None, None)],
        history({"tool_calls": [{"name": "b"}, {"name": "a"}]}, {"response": "x"}, {"tool_calls": [{"name": "b"}]}),
    ),
    "agent as an object": ([("a", "{}", None)], '[{"agent": {"tool_calls": [{"name": "a", "args": {}}]}}]'),
    "arguments as JSON text": ([("a", '{"x":2}', None)], history({"tool_calls": [{"name": "a", "args": '{"x": 2}'}]})),
    "error and rejection": (
        [("a", None, "error"), ("b", None, "rejected")],
        history({"tool_calls": [{"name": "a", "status": "error"}, {"name": "b", "status": "rejected"}]}),
    ),
    "unsaid and unknown status": (
        [("a", None, None), ("b", None, None)],
        history({"tool_calls": [{"name": "a", "status": None}, {"name": "b", "status": "odd"}]}),
    ),
    "NaN argument": ([("a", '{"x":"NaN"}', None)], '[{"agent": {"tool_calls": [{"name": "a", "args": {"x": NaN}}]}}]'),
    "no calls made": ([], history({"response": "hello", "tool_calls": []})),
}


@pytest.mark.parametrize(("expected", "text"), CALLS.values(), ids=CALLS)
def test_calls_come_from_the_conversation_in_order(
    expected: list[tuple[str, str | None, str | None]], text: str
) -> None:
    """Both key styles, every turn, repeats kept; accumulated names that disagree are not used."""
    row = {"conversation_history": text, "accumulated_tools": "['other']"}
    assert (expected, "tool_calls", None) == calls_of(row)


FALLBACK = {
    "names when no turn lists calls": (
        ([("crm__find", None, None), ("x", None, None)], "accumulated_tools", None),
        {"conversation_history": history({"response": "x"}), "accumulated_tools": "['mcp_crm_find', 'x']"},
    ),
    "an empty list proves nothing": (
        (None, None, "no_tool_evidence"),
        {"conversation_history": history({"response": "x"}), "accumulated_tools": "[]"},
    ),
    "an empty list beside counted tools": (
        ([], "accumulated_tools", None),
        {"conversation_history": history({"stats": {"tools": {"totalCalls": 0}}}), "accumulated_tools": "[]"},
    ),
    "no evidence at all": ((None, None, "no_tool_evidence"), {"conversation_history": history({"response": "x"})}),
    "history is not JSON": (
        (None, None, "conversation_history_not_json"),
        {"conversation_history": "[{'user': 'x'", "accumulated_tools": "['a']"},
    ),
    "history is no list": ((None, None, "conversation_history_not_turns"), {"conversation_history": '{"a": 1}'}),
    "history of texts": ((None, None, "conversation_history_not_turns"), {"conversation_history": '["a"]'}),
    "no history": ((None, None, "conversation_history_empty"), {"conversation_history": ""}),
    "one output cut": (
        (None, None, "output_of_turn_2_unreadable"),
        {"conversation_history": history({"tool_calls": [{"name": "a"}]}, '{"tool_calls": [{"na')},
    ),
    "call without a name": (
        (None, None, "tool_call_without_name"),
        {"conversation_history": history({"tool_calls": [{"args": {}}]})},
    ),
    "calls are no list": (
        (None, None, "tool_call_without_name"),
        {"conversation_history": history({"tool_calls": "x"})},
    ),
}


@pytest.mark.parametrize(("expected", "row"), FALLBACK.values(), ids=FALLBACK)
def test_calls_that_are_not_known_whole_are_unavailable(expected: object, row: Mapping[str, str]) -> None:
    """A part of a sequence never passes for the whole; the reason says what is missing."""
    assert expected == calls_of(row)


def test_unreadable_history_and_turns_are_reported() -> None:
    """The defect names file, record and turn."""
    _, defects = read({**FINE, "conversation_history": history({"tool_calls": []}, "Traceback …")})
    assert ["turn_unreadable"] == [defect.code for defect in defects]
    assert "evals.csv record 1: the output of turn 2 is not a JSON object" == defects[0].message
    _, defects = read({**FINE, "conversation_history": "{"})
    assert ["conversation_unreadable"] == [defect.code for defect in defects]


def test_a_call_has_the_time_between_its_stamps() -> None:
    """Only with both stamps, in order."""
    stamps = {"timestamp": "2026-11-30T10:00:00Z", "result_timestamp": "2026-11-30T10:00:01.5Z"}
    turned = {"timestamp": stamps["result_timestamp"], "result_timestamp": stamps["timestamp"]}
    items = [{"name": "a", **stamps}, {"name": "b", **turned}, {"name": "c", "timestamp": stamps["timestamp"]}]
    trial, _ = read({**FINE, "conversation_history": history({"tool_calls": items})})
    assert [1500.0, None, None] == [call.duration_ms for call in trial.calls or ()]


STATUS = {
    "finished": (TrialStatus.COMPLETED, True, {}),
    "code as a float": (TrialStatus.COMPLETED, True, {"returncode": "0.0"}),
    "missing values spelled out": (TrialStatus.COMPLETED, True, {"generated_error": "None"}),
    "timed out": (TrialStatus.CRASHED, False, {"timed_out": "True"}),
    "timed out, older release": (TrialStatus.CRASHED, False, {"timed_out": "", "stderr": "TimeoutError: after 5s"}),
    "time-out code": (TrialStatus.CRASHED, False, {"returncode": "124", "timed_out": ""}),
    "return code": (TrialStatus.CRASHED, False, {"returncode": "1"}),
    "generated error": (TrialStatus.CRASHED, False, {"generated_error": "boom"}),
    "no return code": (None, None, {"returncode": ""}),
    "no history": (None, None, {"conversation_history": ""}),
    "unreadable history": (None, False, {"conversation_history": "{"}),
}


@pytest.mark.parametrize(("status", "finished", "change"), STATUS.values(), ids=STATUS)
def test_status_follows_the_recorded_end(
    status: TrialStatus | None, finished: bool | None, change: Mapping[str, str]
) -> None:
    """Finished means code 0, in time, no error, readable history; a crash needs evidence; else nothing is said."""
    trial, _ = read({**FINE, "conversation_history": history({"tool_calls": []}), **change})
    assert (status, finished) == (trial.status, trial.finished_conversation)
    assert (status is TrialStatus.CRASHED) == (trial.status_reason is not None)


def test_a_crash_says_why_without_secrets() -> None:
    """The reason holds code and standard error, redacted and short."""
    trial, _ = read({**FINE, "returncode": "3", "stderr": "api_key=AIza" + "x" * 35 + " refused " + "y" * 1000})
    assert trial.status_reason is not None
    assert trial.status_reason.startswith("return code 3; stderr: api_key=[redacted] refused")
    assert 500 == len(trial.status_reason)


def expectation(scenario: object, *, empty_is_none: bool = True) -> tuple[object, str | None, list[str]]:
    """((name, arguments) expected, reason, defect codes)."""
    row = {**FINE, "conversation_history": "[]", "scenario": scenario if isinstance(scenario, str) else repr(scenario)}
    trial, defects = read(row, empty_is_none=empty_is_none)
    calls = None if trial.expected is None else [(call.name, call.args_json) for call in trial.expected]
    return calls, trial.expected_reason, [defect.code for defect in defects]


EXPECTED = {
    "names": (([("crm__find", None), ("b", None)], None, []), {"expected_trajectory": ["mcp__crm__find", "b"]}),
    "objects": (
        ([("a", '{"x":1}'), ("b", None)], None, ["expected_trajectory"]),
        {"expected_trajectory": [{"name": "a", "args": {"x": 1}}, {"tool": "b"}]},
    ),
    "a text": ((None, "expected_trajectory_not_a_list", ["expected_trajectory"]), {"expected_trajectory": "a, b"}),
    "an object without a name": (
        (None, "expected_call_without_name", ["expected_trajectory"]),
        {"expected_trajectory": ["a", {"args": {}}]},
    ),
    "a number": ((None, "expected_call_without_name", ["expected_trajectory"]), {"expected_trajectory": [1]}),
    "empty": (([], None, []), {"expected_trajectory": []}),
    "absent": ((None, None, []), {"id": "a"}),
    "None": ((None, None, []), {"expected_trajectory": None}),
    "unreadable": ((None, "scenario_unavailable", ["scenario_unreadable"]), "{'id': 'a', 'expected_traj"),
    "no mapping": ((None, "scenario_unavailable", ["scenario_unreadable"]), "['a']"),
}


@pytest.mark.parametrize(("expected", "scenario"), EXPECTED.values(), ids=EXPECTED)
def test_expectations_are_read_or_explained(expected: object, scenario: object) -> None:
    """An unusable expectation is the evalset's defect, never an expectation of nothing."""
    assert expected == expectation(scenario)


def test_an_empty_expectation_can_be_read_as_none() -> None:
    """By setting, `[]` declares nothing."""
    assert (None, "empty_not_declared", []) == expectation({"expected_trajectory": []}, empty_is_none=False)


def test_task_identity_ignores_prompt_and_order_of_keys() -> None:
    """Plan, expectation and environment make the task, as JSON or as repr; nothing else does."""
    task = {"conversation_plan": "p", "expected_trajectory": ["a"], "env": {"K": "1"}}
    texts = [
        repr({**task, "starting_prompt": "one", "id": "x"}),
        json.dumps({"starting_prompt": "two", **dict(reversed(task.items()))}),
        repr({**task, "env": {"K": "2"}}),
    ]
    keys = [read({**FINE, "scenario": text})[0].task_key for text in texts]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]
    assert read({**FINE, "scenario": ""})[0].task_key is None


def model(tokens: Mapping[str, int], **more: object) -> dict[str, object]:
    """One model's statistics."""
    return {"tokens": dict(tokens), **more}


def turn(*models: Mapping[str, object], tools: Mapping[str, object] | None = None) -> dict[str, object]:
    """A turn's output with statistics and no calls."""
    stats: dict[str, object] = {"models": {f"m{index}": stated for index, stated in enumerate(models)}}
    return {"response": "x", "tool_calls": [], "stats": stats | ({} if tools is None else {"tools": dict(tools)})}


CLAUDE = {"input": 10, "prompt": 10, "candidates": 5, "total": 15, "cached": 100, "cache_creation": 7, "thoughts": 0}
GEMINI = {"input": 50, "prompt": 50, "candidates": 5, "total": 75, "cached": 40, "thoughts": 0, "tool": 0}
CODEX = {"input": 50, "prompt": 50, "candidates": 5, "total": 55, "cached": 40, "thoughts": 0}
AGY = {"input": 50, "prompt": 50, "candidates": 5, "total": 60, "cached": 0, "thoughts": 5}


USAGE = {
    "claude": ((20, 10, 200, 14, None, False), "claude_code", [turn(model(CLAUDE)), turn(model(CLAUDE))]),
    "claude, two models": ((20, 10, 200, 14, None, False), "claude_code", [turn(model(CLAUDE), model(CLAUDE))]),
    "gemini thinks between the lines": ((50, 5, 40, None, 20, True), "gemini_cli", [turn(model(GEMINI))]),
    "gemini says its thoughts": ((50, 5, 40, None, 9, True), "gemini_cli", [turn(model({**GEMINI, "thoughts": 9}))]),
    "codex": ((50, 5, 40, None, None, True), "codex_cli", [turn(model(CODEX))]),
    "agy knows no cache": ((50, 5, None, None, 5, None), "agy_cli", [turn(model(AGY))]),
    "unknown convention": ((10, 5, 100, 7, None, None), "custom", [turn(model(CLAUDE))]),
}


@pytest.mark.parametrize(("expected", "generator", "turns"), USAGE.values(), ids=USAGE)
def test_tokens_add_up_over_turns_and_models(expected: object, generator: str, turns: list[object]) -> None:
    """Never the duplicate `prompt`; whether input holds cached tokens is said per generator."""
    trial, _ = read({**FINE, "conversation_history": history(*turns)}, generator)
    usage = trial.usage or Usage()
    assert expected == (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_creation_tokens,
        usage.reasoning_tokens,
        usage.cached_in_input,
    )


NO_TOKENS = {
    "no statistics": [{"tool_calls": []}],
    "empty statistics": [{"tool_calls": [], "stats": {}}],
    "all zero": [turn(model(dict.fromkeys(CLAUDE, 0)))],
    "one turn silent": [turn(model(CLAUDE)), {"tool_calls": [], "stats": {}}],
    "one output cut": [turn(model(CLAUDE)), '{"stats": {"mo'],
    "not numbers": [turn(model({"input": "many", "candidates": None, "total": 5}))],  # type: ignore[dict-item]
    "no turns": [],
}


@pytest.mark.parametrize("turns", NO_TOKENS.values(), ids=NO_TOKENS)
def test_tokens_without_evidence_are_absent(turns: list[object]) -> None:
    """Unparsable, missing or zeroed statistics are no evidence: never 0, never a part of the sum."""
    trial, _ = read({**FINE, "conversation_history": history(*turns)}, "claude_code")
    usage = trial.usage or Usage()
    assert (None, None) == (usage.input_tokens, usage.output_tokens)
    assert None is trial.timing


COSTS = {
    "summed, estimated": (
        (CostState.ESTIMATED, Decimal("0.3")),
        [turn(model(CLAUDE, cost_usd=0.1)), turn(model(CLAUDE, cost_usd=0.2))],
    ),
    "one turn unpriced": (
        (CostState.UNAVAILABLE, None),
        [turn(model(CLAUDE, cost_usd=0.1)), turn(model(CLAUDE, cost_usd=0))],
    ),
    "one turn silent": ((CostState.UNAVAILABLE, None), [turn(model(CLAUDE, cost_usd=0.1)), {"tool_calls": []}]),
}


@pytest.mark.parametrize(("expected", "turns"), COSTS.values(), ids=COSTS)
def test_a_cost_is_an_estimate_of_all_turns(expected: object, turns: list[object]) -> None:
    """The CLI's own figure is never billed cost, and a sum over some turns is none."""
    trial, _ = read({**FINE, "conversation_history": history(*turns)}, "claude_code")
    cost = trial.cost or Cost(state=CostState.BILLED)
    assert expected == (cost.state, cost.usd)


@pytest.mark.parametrize("more", [{}, {"cost_usd": 0}, {"cost_usd": None}], ids=["unsaid", "zero", "null"])
def test_no_price_is_no_cost(more: Mapping[str, object]) -> None:
    """A writer's 0 beside spent tokens is no price."""
    trial, _ = read({**FINE, "conversation_history": history(turn(model(CLAUDE, **more)))}, "claude_code")
    assert None is trial.cost


TIMINGS = {
    "models repeat the turn's duration": (
        (4.0, 0.5),
        [
            turn(
                model(CLAUDE, api={"totalLatencyMs": 1500}),
                model(CLAUDE, api={"totalLatencyMs": 1500}),
                tools={"totalDurationMs": 500},
            ),
            turn(model(CLAUDE, api={"totalLatencyMs": 2500}), tools={"totalDurationMs": 0}),
        ],
    ),
    "a turn without duration": (
        (None, 0.5),
        [
            turn(model(CLAUDE, api={"totalLatencyMs": 1500}), tools={"totalDurationMs": 500}),
            turn(model(CLAUDE, api={"totalLatencyMs": 0}), tools={"totalDurationMs": 0}),
        ],
    ),
    "no calls took no time": (
        (1.5, 0.0),
        [turn(model(CLAUDE, api={"totalLatencyMs": 1500}), tools={"totalDurationMs": 0})],
    ),
    "calls in no time": (
        (1.5, None),
        [
            {
                **turn(model(CLAUDE, api={"totalLatencyMs": 1500}), tools={"totalDurationMs": 0}),
                "tool_calls": [{"name": "a"}],
            }
        ],
    ),
}


@pytest.mark.parametrize(("expected", "turns"), TIMINGS.values(), ids=TIMINGS)
def test_durations_are_seconds_of_whole_trials(expected: object, turns: list[object]) -> None:
    """A turn counts once however many models repeat it; a duration of 0 beside work is nobody's measurement."""
    trial, _ = read({**FINE, "conversation_history": history(*turns)}, "claude_code")
    assert trial.timing is not None
    assert expected == (trial.timing.duration_s, trial.timing.tool_duration_s)


IDS = {
    "leading zeros": "007",
    "exponent": "1e3",
    "NA": "NA",
    "nan": "nan",
    "spaces": " a ",
    "like a trial": "x_trial_0",
}


@pytest.mark.parametrize("task_id", IDS.values(), ids=IDS)
def test_an_id_is_its_text(task_id: str) -> None:
    """No id is read as a number, a missing value or a trial number."""
    trial, _ = read({**FINE, "eval_id": task_id})
    assert (task_id, 0) == (trial.task_id, trial.trial)


def test_an_empty_id_is_reported_and_the_scenario_names_the_task() -> None:
    """The trial stays; where the scenario has no id either, its name is empty."""
    trial, defects = read({**FINE, "eval_id": "", "scenario": "{'id': 'from-scenario'}"})
    assert ("from-scenario", ["empty_id"]) == (trial.task_id, [defect.code for defect in defects])
    assert "" == read({**FINE, "eval_id": ""})[0].task_id


def test_the_harness_never_declares_completion() -> None:
    """EvalBench has no word for it."""
    trial, _ = read({**FINE, "conversation_history": history({"tool_calls": []})})
    assert (None, None, None) == (trial.declared_complete, trial.outcome, trial.effects)
