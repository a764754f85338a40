"""The bytes of trials.jsonl → validated records, line by line; what can't be used is a located defect."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from evalbench.ledger import Defect, EvidenceRef
from evalbench.readers.json_text import JsonError, JsonNumber, parse_json, without_surrogates, written
from evalbench.readers.redact import redact_text
from evalbench.readers.snapshot import MOST_RECORDS, TooManyRecordsError
from evalbench.readers.trial_record_schema import TrialRecord, unknown_fields

FILE = "trials.jsonl"

_REPLACED_ELEMENTS = frozenset({"effects", "quality", "windows"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLine:
    """One usable line. row is 1-based; written orders lines that nothing else tells apart."""

    row: int
    record: TrialRecord
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """The lines of a file. complete: there is at least one, and every one is a record."""

    lines: tuple[RecordLine, ...]
    complete: bool
    defects: tuple[Defect, ...]


def read_lines(data: bytes, timezone: str) -> RecordFile:
    """Read the file's lines. Lines end at LF; BOM, CRLF, NUL bytes and blank lines are no reason to lose one.

    Raises TooManyRecordsError.
    """
    text, defects = _decode(data)
    lines: list[RecordLine] = []
    lost = 0
    unknown: dict[str, int] = {}
    last = text.count("\n") + 1
    if last > MOST_RECORDS + 1:
        raise TooManyRecordsError(FILE)
    for row, source in enumerate(text.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            line, problems = _read_line(source, row, timezone)
        except JsonError as error:
            lost += 1
            defects.append(_lost(row, str(error), torn=row == last))
            continue
        lines.append(line)
        defects.extend(problems)
        for name in unknown_fields(line.record):
            unknown.setdefault(name, row)
    defects.extend(_unknown(name, row) for name, row in sorted(unknown.items()))
    return RecordFile(lines=tuple(lines), complete=bool(lines) and not lost, defects=tuple(defects))


def _decode(data: bytes) -> tuple[str, list[Defect]]:
    defects = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        defects.append(
            _defect("invalid_utf8", f"{FILE} is not UTF-8; what could not be decoded is replaced by U+FFFD.")
        )
    if "\0" in text:
        text = text.replace("\0", "")
        defects.append(_defect("nul_bytes", f"{FILE} holds NUL bytes; they are left out."))
    return text, defects


def _read_line(source: str, row: int, timezone: str) -> tuple[RecordLine, list[Defect]]:
    """Raises JsonError when the line is no record."""
    value = parse_json(source.strip())
    if not isinstance(value, dict):
        raise JsonError("expected a JSON object")
    order = written(value)
    record, problems = _validate(value, timezone)
    if record is None:
        raise JsonError("there is no task_id, so the record names no task")
    defects = [
        Defect(
            code="invalid_field",
            message=redact_text(f"{FILE} line {row}: {field}: {message}; it is recorded as unavailable."),
            ref=EvidenceRef(file=FILE, row=row, field=field),
            task_id=record.task_id,
            trial=record.trial,
        )
        for field, message in sorted(problems.items())
    ]
    if isinstance(value.get("task_id"), JsonNumber):
        message = f"{FILE} line {row}: task_id is a number; ids are text, {record.task_id!r} is used as written."
        defects.append(_defect("numeric_task_id", message, row, "task_id"))
    return RecordLine(row=row, record=record, written=order), defects


def _validate(value: dict[str, object], timezone: str) -> tuple[TrialRecord | None, dict[str, str]]:
    """The record without what is invalid in it, and what was taken out; None when the task_id is."""
    problems: dict[str, str] = {}
    if isinstance(value.get("quality"), dict):
        value["quality"] = [value["quality"]]
    while True:
        try:
            return TrialRecord.model_validate(value, context={"timezone": timezone}), problems
        except ValidationError as error:
            for item in error.errors(include_url=False, include_input=False, include_context=False):
                if item["loc"] == ("task_id",):
                    return None, problems
                field = _remove(value, item["loc"])
                if field is not None:
                    problems[field] = item["msg"].removeprefix("Value error, ")


def _remove(value: dict[str, object], location: tuple[int | str, ...]) -> str | None:
    """Take the invalid thing out of `value`; its dotted name, or None if it is already gone.

    A member is deleted. A broken element of effects, quality or windows stays as an empty one, so that it still
    counts; a broken element of another list makes the list unavailable.
    """
    parents: list[tuple[object, int | str]] = []
    here: object = value
    for step in location:
        parents.append((here, step))
        here = _child(here, step)
    while parents:
        parent, step = parents.pop()
        if isinstance(parent, dict) and step in parent:
            del parent[step]
            return ".".join(str(part) for part in location[: len(parents) + 1])
        if isinstance(parent, list) and parents and parents[-1][1] in _REPLACED_ELEMENTS and parent[int(step)] != {}:
            parent[int(step)] = {}
            return ".".join(str(part) for part in location[: len(parents) + 1])
    return None


def _child(parent: object, step: int | str) -> object:
    if isinstance(parent, list) and isinstance(step, int) and step < len(parent):
        return parent[step]
    return parent.get(step) if isinstance(parent, Mapping) else None


def _lost(row: int, why: str, *, torn: bool) -> Defect:
    code = "torn_line" if torn else "unreadable_line"
    cause = "the last line was cut" if torn else "the line is not a record"
    return _defect(code, redact_text(f"{FILE} line {row}: {why}; {cause} and its trial is missing."), row)


def _unknown(name: str, row: int) -> Defect:
    shown = redact_text(without_surrogates(name))[:200]
    return _defect("unknown_field", f"{FILE} line {row}: the field {shown!r} is not in the format and is ignored.", row)


def _defect(code: str, message: str, row: int | None = None, field: str | None = None) -> Defect:
    return Defect(code=code, message=message, ref=EvidenceRef(file=FILE, row=row, field=field))
