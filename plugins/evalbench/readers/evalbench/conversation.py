"""conversation_history: JSON of turns `{user, agent}`, where `agent` is JSON again. The only true call sequence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from evalbench.canonical import canonical_json
from evalbench.ledger import EvidenceRef, ToolCall
from evalbench.names import canonical_tool
from evalbench.readers.call_status import call_status
from evalbench.readers.cells import parse_cell, parse_json
from evalbench.readers.evalbench.redaction import Redactor

NAME_KEYS = ("tool_name", "name")
ARGS_KEYS = ("parameters", "args", "arguments", "input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """turns: what the agent printed in each turn, None for output that isn't a JSON object.

    reason says why the whole history can't be read; then there are no turns. stated: the cell held something.
    """

    turns: tuple[Mapping[str, object] | None, ...] = ()
    reason: str | None = None
    stated: bool = True

    @property
    def parses(self) -> bool:
        """Whether the history itself is readable; single outputs may still not be."""
        return self.reason is None

    @property
    def unreadable_turns(self) -> tuple[int, ...]:
        """1-based numbers of turns whose output can't be read."""
        return tuple(number for number, turn in enumerate(self.turns, start=1) if turn is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Fields of a Trial: the calls, where they were read, and why they can't be."""

    calls: tuple[ToolCall, ...] | None = None
    source: str | None = None
    reason: str | None = None


def read_conversation(text: str) -> Conversation:
    """The turns of one cell."""
    cell = parse_json(text)
    if cell.reason:
        return Conversation(reason=f"conversation_history_{cell.reason}", stated=cell.reason != "empty")
    if not isinstance(cell.value, list) or not all(isinstance(turn, dict) for turn in cell.value):
        return Conversation(reason="conversation_history_not_turns")
    return Conversation(turns=tuple(agent_output(turn.get("agent")) for turn in cell.value))


def read_calls(conversation: Conversation, accumulated: str, redactor: Redactor, ref: EvidenceRef) -> Calls:
    """The calls of a trial in order. `accumulated` is the cell of distinct names, used when no turn lists calls."""
    if not conversation.parses:
        return Calls(reason=conversation.reason)
    listed = [(number, turn) for number, turn in enumerate(conversation.turns) if turn and "tool_calls" in turn]
    if not listed:
        return _from_names(conversation, accumulated, ref)
    if conversation.unreadable_turns:
        # A part of the sequence would pass for the whole of it.
        return Calls(reason=f"output_of_turn_{conversation.unreadable_turns[0]}_unreadable")
    calls: list[ToolCall] = []
    for number, turn in listed:
        items = turn["tool_calls"]
        for position, item in enumerate(items if isinstance(items, list) else [items]):
            name = first_of(item, NAME_KEYS) if isinstance(item, dict) else None
            if not isinstance(name, str) or not name:
                return Calls(reason="tool_call_without_name")
            field = f"conversation_history[{number}].tool_calls[{position}]"
            place = EvidenceRef(file=ref.file, row=ref.row, field=field)
            calls.append(_call(len(calls), redactor.text(name), item, redactor, place))
    return Calls(calls=tuple(calls), source="tool_calls")


def args_json(item: Mapping[str, object], redactor: Redactor) -> str | None:
    """Canonical JSON of a call's arguments under any of their keys, redacted; None when none are recorded."""
    value = first_of(item, ARGS_KEYS)
    if isinstance(value, str):
        parsed = parse_json(value)
        value = value if parsed.reason else parsed.value
    return None if value is None else canonical_json(redactor.json(value))


def agent_output(agent: object) -> Mapping[str, object] | None:
    """What the agent printed in a turn, None where that isn't a JSON object."""
    if isinstance(agent, str):
        cell = parse_json(agent)
        agent = None if cell.reason else cell.value
    return agent if isinstance(agent, dict) else None


def first_of(item: Mapping[str, object], keys: Sequence[str]) -> object:
    """The value under the first of these keys that is there and isn't null."""
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _call(index: int, name: str, item: Mapping[str, object], redactor: Redactor, ref: EvidenceRef) -> ToolCall:
    return ToolCall(
        index=index,
        raw_name=name,
        name=canonical_tool(name),
        args_json=args_json(item, redactor),
        status=call_status(str(item.get("status"))),
        duration_ms=_duration_ms(item),
        ref=ref,
    )


def _duration_ms(item: Mapping[str, object]) -> float | None:
    """Between the call's and its result's time stamps; None unless both are there and in order."""
    try:
        began = datetime.fromisoformat(str(item.get("timestamp")))
        ended = datetime.fromisoformat(str(item.get("result_timestamp")))
        elapsed = (ended - began).total_seconds() * 1000
    except (ValueError, TypeError):
        return None
    return elapsed if elapsed >= 0 else None


def _from_names(conversation: Conversation, accumulated: str, ref: EvidenceRef) -> Calls:
    cell = parse_cell(accumulated)
    if cell.reason or not isinstance(cell.value, list) or not all(isinstance(name, str) for name in cell.value):
        return Calls(reason="no_tool_evidence")
    # An empty list is also what the harness writes for output it could not read.
    told = conversation.turns and all(turn is not None and _counts_tools(turn) for turn in conversation.turns)
    if not cell.value and not told:
        return Calls(reason="no_tool_evidence")
    place = EvidenceRef(file=ref.file, row=ref.row, field="accumulated_tools")
    calls = (
        ToolCall(index=index, raw_name=name, name=canonical_tool(name), ref=place)
        for index, name in enumerate(cell.value)
    )
    return Calls(calls=tuple(calls), source="accumulated_tools")


def _counts_tools(turn: Mapping[str, object]) -> bool:
    stats = turn.get("stats")
    return isinstance(stats, dict) and isinstance(stats.get("tools"), dict)
