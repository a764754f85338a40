"""What the rows of evals.csv say word by word: for people who look at one trial, and for nothing else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalbench.canonical import canonical_json
from evalbench.ledger import EvidenceRef
from evalbench.readers.cells import parse_json
from evalbench.readers.csv_table import Row, Table, read_table
from evalbench.readers.evalbench import evals_agent
from evalbench.readers.evalbench.configs import read_configs
from evalbench.readers.evalbench.conversation import NAME_KEYS, agent_output, args_json, first_of
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.reader import CONFIGS, EVALS
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.evalbench.row_text import stated
from evalbench.readers.snapshot import Snapshot
from evalbench.transcript import NOT_RECORDED, Message, Role

RESULT_KEYS = ("response", "output", "result")
HISTORY = "conversation_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """The messages of one row, redacted; reason: why there are none."""

    messages: tuple[Message, ...] = ()
    reason: str | None = None
    ref: EvidenceRef


def redactor_of(snapshot: Snapshot) -> Redactor:
    """A redactor that knows the secrets this run's configuration names; without one, the shapes of secrets only."""
    return read_configs(read_table(CONFIGS, snapshot.files.get(CONFIGS, b"")), DefectLog()).redactor


def read_dialogues(snapshot: Snapshot, redactor: Redactor) -> Iterator[tuple[int, Dialogue]]:
    """(number of the row, what it says) of every intact row. Raises TooManyRecordsError."""
    table = read_table(EVALS, snapshot.files.get(EVALS, b""))
    read = _agent_row if table.has(evals_agent.ID) else _sql_row
    for row in table.rows:
        yield row.number, read(row, table, redactor)


def _agent_row(row: Row, table: Table, redactor: Redactor) -> Dialogue:
    ref, cell = table.ref(row, HISTORY), parse_json(row.text(HISTORY))
    if cell.reason:
        return Dialogue(reason=NOT_RECORDED if cell.reason == "empty" else f"{HISTORY}_{cell.reason}", ref=ref)
    if not isinstance(cell.value, list) or not all(isinstance(turn, dict) for turn in cell.value):
        return Dialogue(reason=f"{HISTORY}_not_turns", ref=ref)
    return Dialogue(messages=tuple(message for turn in cell.value for message in _turn(turn, redactor)), ref=ref)


def _turn(turn: Mapping[str, object], redactor: Redactor) -> Iterator[Message]:
    """What the user said, the calls the agent made on it, what it answered in the end."""
    if (said := _text(turn.get("user"), redactor)) is not None:
        yield Message(role=Role.USER, text=said)
    output = agent_output(turn.get("agent"))
    if output is None:
        if (raw := _text(turn.get("agent"), redactor)) is not None:
            yield Message(role=Role.AGENT, text=raw)
        return
    calls = output.get("tool_calls") or ()
    for call in calls if isinstance(calls, list | tuple) else [calls]:
        yield _call(call, redactor)
    if (answer := _text(output.get("response"), redactor)) is not None:
        yield Message(role=Role.AGENT, text=answer)


def _call(call: object, redactor: Redactor) -> Message:
    if not isinstance(call, dict):
        return Message(role=Role.TOOL, text=_text(call, redactor))
    return Message(
        role=Role.TOOL,
        tool=_text(first_of(call, NAME_KEYS), redactor),
        args=args_json(call, redactor),
        text=_text(first_of(call, RESULT_KEYS), redactor),
        status=_text(call.get("status"), redactor),
    )


def _sql_row(row: Row, table: Table, redactor: Redactor) -> Dialogue:
    """The prompt, the query that was made of it, and what the database answered."""
    prompt, query = row.text("nl_prompt"), stated(row.text("generated_sql"))
    result, error = stated(row.text("generated_result")), stated(row.text("generated_error"))
    messages = [Message(role=Role.USER, text=_text(prompt, redactor))] if prompt else []
    if query:
        messages.append(Message(role=Role.AGENT, text=_text(query, redactor)))
    if error or result:
        status = "error" if error else None
        messages.append(Message(role=Role.TOOL, text=_text(error or result, redactor), status=status))
    return Dialogue(messages=tuple(messages), reason=None if messages else NOT_RECORDED, ref=table.ref(row))


def _text(value: object, redactor: Redactor) -> str | None:
    """A value as text without secrets. JSON inside a text becomes canonical JSON: keys tell its secrets."""
    if isinstance(value, str):
        cell = parse_json(value) if value.lstrip().startswith(("{", "[")) else None
        if cell is None or cell.reason:
            return redactor.text(value)
        value = cell.value
    return None if value is None else canonical_json(redactor.json(value))
