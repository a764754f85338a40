"""What a scenario expects, and the identity of its task."""

from collections.abc import Mapping
from dataclasses import dataclass

from evalbench.canonical import sha256_json
from evalbench.ledger import EMPTY_NOT_DECLARED, ExpectedCall
from evalbench.names import canonical_tool
from evalbench.readers.evalbench.conversation import ARGS_KEYS, args_json
from evalbench.readers.evalbench.redaction import Redactor

_NAME_KEYS = ("name", "tool_name", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Fields of a Trial. Neither calls nor a reason: the scenario states no expectation.

    defect: what is wrong with the evalset here, None when nothing is.
    """

    expected: tuple[ExpectedCall, ...] | None = None
    reason: str | None = None
    defect: str | None = None


def task_key(scenario: Mapping[str, object]) -> str:
    """Identity of a task: plan, expectation and environment; never the prompt or a file's name."""
    return sha256_json({key: scenario.get(key) for key in ("conversation_plan", "expected_trajectory", "env")})


def read_expectation(scenario: Mapping[str, object], redactor: Redactor, *, empty_is_none: bool) -> Expectation:
    """The expected calls. empty_is_none: an explicit `[]` expects that no tool is called."""
    stated = scenario.get("expected_trajectory")
    if stated is None:
        return Expectation()
    if not isinstance(stated, list):
        return Expectation(reason="expected_trajectory_not_a_list", defect="expected_trajectory is not a list")
    if not stated and not empty_is_none:
        return Expectation(reason=EMPTY_NOT_DECLARED)
    calls: list[ExpectedCall] = []
    for item in stated:
        call = _call(item, redactor)
        if call is None:
            return Expectation(reason="expected_call_without_name", defect="an expected call has no name")
        calls.append(call)
    objects = any(isinstance(item, dict) for item in stated)
    defect = "expected_trajectory holds objects, which the harness's own matcher can't score" if objects else None
    return Expectation(expected=tuple(calls), defect=defect)


def _call(item: object, redactor: Redactor) -> ExpectedCall | None:
    if isinstance(item, str):
        name, arguments = item, None
    elif isinstance(item, dict):
        stated = next((item[key] for key in _NAME_KEYS if item.get(key)), None)
        name = stated if isinstance(stated, str) else ""
        arguments = args_json(item, redactor) if any(key in item for key in ARGS_KEYS) else None
    else:
        return None
    return ExpectedCall(raw_name=name, name=canonical_tool(name), args_json=arguments) if name else None
