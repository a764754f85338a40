"""evals.csv of an agent run: one row per executed scenario."""

from collections.abc import Mapping

from evalbench.ledger import Trial, TrialStatus
from evalbench.readers.cells import parse_cell
from evalbench.readers.csv_table import Row, Table
from evalbench.readers.evalbench.configs import RunConfig
from evalbench.readers.evalbench.conversation import Conversation, read_calls, read_conversation
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.expectation import Expectation, read_expectation, task_key
from evalbench.readers.evalbench.model import EvalRow
from evalbench.readers.evalbench.row_text import REASON_CHARS, content_hash, join_cells, stated, truth, whole_number
from evalbench.readers.evalbench.stats import read_figures
from evalbench.readers.snapshot import ReadOptions

ID = "eval_id"
_ERRORS = ("generated_error", "prompt_generator_error", "sql_generator_error")
_TIMEOUT_CODE = 124


def read_agent_rows(table: Table, config: RunConfig, options: ReadOptions, log: DefectLog) -> list[EvalRow]:
    """Every row of the file as an unnumbered trial, in file order."""
    return [_read(row, table, config, options, log) for row in table.rows]


def configured_scorers(table: Table) -> dict[str, object]:
    """The scorers that rows' `metadata` lists: also those whose empty settings leave no row in configs.csv."""
    found: dict[str, object] = {}
    for text in sorted({row.text("metadata") for row in table.rows}):
        cell = parse_cell(text)
        scorers = cell.value.get("scorers") if isinstance(cell.value, dict) else None
        if isinstance(scorers, dict):
            found |= scorers
    return found


def _read(row: Row, table: Table, config: RunConfig, options: ReadOptions, log: DefectLog) -> EvalRow:
    raw_id = row.text(ID)
    scenario = _scenario(row, table, log)
    task_id = raw_id or _scenario_id(scenario)
    if not raw_id:
        log.add("empty_id", f"eval_id is empty; the scenario's id {task_id!r} is used", table.ref(row, ID))
    conversation = read_conversation(row.text("conversation_history"))
    place = table.ref(row, "conversation_history")
    if conversation.stated and conversation.reason:
        log.add("conversation_unreadable", f"{conversation.reason}; calls are unavailable", place, task_id=task_id)
    for turn in conversation.unreadable_turns:
        log.add("turn_unreadable", f"the output of turn {turn} is not a JSON object", place, task_id=task_id)
    calls = read_calls(conversation, row.text("accumulated_tools"), config.redactor, place)
    made = len(calls.calls) if calls.calls is not None and calls.source == "tool_calls" else None
    figures = read_figures(conversation.turns, config.generator, made, place)
    expectation = _expectation(scenario, row, table, config, options, log, task_id)
    finished = _finished(row, conversation)
    failure = _failure(row, config)
    status = TrialStatus.CRASHED if failure else TrialStatus.COMPLETED if finished else None
    trial = Trial(
        task_id=task_id,
        trial=0,
        task_key=None if scenario is None else task_key(scenario),
        status=status,
        status_reason=failure,
        finished_conversation=finished,
        calls=calls.calls,
        calls_source=calls.source,
        calls_reason=calls.reason,
        expected=expectation.expected,
        expected_reason=expectation.reason,
        cost=figures.cost,
        usage=figures.usage,
        timing=figures.timing,
        ref=table.ref(row),
    )
    return EvalRow(
        raw_id=raw_id, trial=trial, content=content_hash(row), joins=join_cells(row.fields), models=figures.models
    )


def _scenario(row: Row, table: Table, log: DefectLog) -> Mapping[str, object] | None:
    cell = parse_cell(row.text("scenario"))
    if isinstance(cell.value, dict) and cell.reason is None:
        return cell.value
    if cell.reason != "empty":
        said = f"{cell.reason or 'not_a_mapping'}; expectation and task identity are unavailable"
        log.add("scenario_unreadable", said, table.ref(row, "scenario"))
    return None


def _scenario_id(scenario: Mapping[str, object] | None) -> str:
    stated_id = (scenario or {}).get("id")
    return "" if stated_id is None else str(stated_id)


def _expectation(
    scenario: Mapping[str, object] | None,
    row: Row,
    table: Table,
    config: RunConfig,
    options: ReadOptions,
    log: DefectLog,
    task_id: str,
) -> Expectation:
    if scenario is None:
        return Expectation(reason="scenario_unavailable")
    found = read_expectation(scenario, config.redactor, empty_is_none=options.empty_trajectory_expects_no_call)
    if found.defect:
        log.add("expected_trajectory", found.defect, table.ref(row, "scenario"), task_id=task_id)
    return found


def _timed_out(row: Row) -> bool:
    """As the harness itself decides it; older releases have no column for it."""
    said = truth(row.text("timed_out"))
    if said is not None:
        return said
    return whole_number(row.text("returncode")) == _TIMEOUT_CODE or "TimeoutError" in row.text("stderr")


def _failure(row: Row, config: RunConfig) -> str | None:
    """Why the trial crashed, or None."""
    reasons = ["timed out"] if _timed_out(row) else []
    code = whole_number(row.text("returncode"))
    if code:
        reasons.append(f"return code {code}")
    # Each cell is redacted alone: behind a prefix, JSON isn't known as such any more.
    clean = config.redactor.text
    reasons += [f"{column}: {clean(text)}" for column in _ERRORS if (text := stated(row.text(column)))]
    if not reasons:
        return None
    if stderr := row.text("stderr").strip():
        reasons.append(f"stderr: {clean(stderr)}")
    return "; ".join(reasons)[:REASON_CHARS]


def _finished(row: Row, conversation: Conversation) -> bool | None:
    """Whether the conversation ended in order; None when return code or history are not recorded."""
    code = whole_number(row.text("returncode"))
    if code is None or not conversation.stated:
        return None
    failed = code != 0 or _timed_out(row) or bool(stated(row.text("generated_error")))
    return conversation.parses and not failed
