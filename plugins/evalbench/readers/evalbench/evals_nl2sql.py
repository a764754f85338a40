"""evals.csv of an NL2SQL run: one row per prompt and trial, ids like `7_trial_0`."""

import re

from evalbench.ledger import Trial, TrialStatus
from evalbench.readers.csv_table import Row, Table
from evalbench.readers.evalbench.configs import RunConfig
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.model import EvalRow
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.evalbench.row_text import REASON_CHARS, content_hash, join_cells, stated, whole_number

ID = "id"
_TRIAL_ID = re.compile(r"(?P<prompt>.+)_trial_(?P<trial>\d{1,6})", re.DOTALL)


def read_sql_rows(table: Table, config: RunConfig, log: DefectLog) -> list[EvalRow]:
    """Every row of the file as a trial, in file order. There are no tool calls and no conversation in such a run."""
    return [_read(row, table, config, log) for row in table.rows]


def split_trial_id(raw_id: str) -> tuple[str, int]:
    """(prompt id, trial number); an id without `_trial_N` is a prompt's only trial."""
    found = _TRIAL_ID.fullmatch(raw_id)
    return (found["prompt"], int(found["trial"])) if found else (raw_id, 0)


def _read(row: Row, table: Table, config: RunConfig, log: DefectLog) -> EvalRow:
    raw_id = row.text(ID)
    task_id, trial_number = split_trial_id(raw_id)
    task_id = row.text("prompt_id") or task_id
    stated_number = whole_number(row.text("trial_index"))
    if stated_number is not None and stated_number >= 0:
        trial_number = stated_number
    if not raw_id:
        log.add("empty_id", f"id is empty; the prompt id {task_id!r} is used", table.ref(row, ID))
    golden_error = config.redactor.text(stated(row.text("golden_error")), REASON_CHARS)
    if golden_error:
        said = f"the reference query failed, nothing could be compared: {golden_error}"
        log.add("golden_query_failed", said, table.ref(row, "golden_error"), task_id=task_id, trial=trial_number)
    status, reason = _status(row, config.redactor)
    trial = Trial(
        task_id=task_id,
        trial=trial_number,
        status=status,
        status_reason=reason,
        calls_reason="not_an_agent_run",
        ref=table.ref(row),
    )
    return EvalRow(
        raw_id=raw_id,
        trial=trial,
        content=content_hash(row),
        joins=join_cells(row.fields),
        golden_error=golden_error if table.has("golden_error") else None,
        generated_empty=not stated(row.text("generated_sql")).strip() if table.has("generated_sql") else None,
    )


def _status(row: Row, redactor: Redactor) -> tuple[TrialStatus | None, str | None]:
    """A generator that failed crashed; SQL that the database refused is a failed attempt; else it was completed."""
    for column in ("prompt_generator_error", "sql_generator_error"):
        if text := stated(row.text(column)):
            return TrialStatus.CRASHED, f"{column}: {redactor.text(text)}"[:REASON_CHARS]
    if text := stated(row.text("generated_error")):
        return TrialStatus.FAILED, f"generated_error: {redactor.text(text)}"[:REASON_CHARS]
    return (TrialStatus.COMPLETED, None) if stated(row.text("generated_sql")) else (None, None)
