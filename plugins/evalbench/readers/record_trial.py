"""One validated record → one ledger Trial. Effects stay as recorded; `record_merge` reconciles them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

from evalbench import evidence
from evalbench.ledger import (
    Cost,
    CostState,
    Defect,
    Effect,
    EvidenceRef,
    ExpectedCall,
    Outcome,
    Progress,
    Quality,
    Timing,
    ToolCall,
    Trial,
    TrialStatus,
    Usage,
    Wait,
)
from evalbench.names import canonical_tool
from evalbench.readers.call_status import call_status
from evalbench.readers.record_lines import FILE, RecordLine
from evalbench.readers.record_types import UNKNOWN_ENVIRONMENT, environment_named
from evalbench.readers.trial_record_schema import (
    CalledToolRecord,
    CostRecord,
    EffectRecord,
    ExpectedToolRecord,
    GraderRecord,
    OutcomeRecord,
    ProgressRecord,
    QualityRecord,
    TimingRecord,
    ToolsRecord,
    TrialRecord,
    UsageRecord,
    VerifierRecord,
    WaitRecord,
    WindowRecord,
)

_Word = TypeVar("_Word", bound=StrEnum)
_In = TypeVar("_In")
_Out = TypeVar("_Out")


def trial_of(line: RecordLine, number: int) -> Trial:
    """The trial one line describes, numbered `number`."""
    record, ref = line.record, EvidenceRef(file=FILE, row=line.row)
    tools = record.tools or ToolsRecord()
    return Trial(
        task_id=record.task_id,
        trial=number,
        status=word(TrialStatus, record.status),
        declared_complete=record.declared_complete,
        started_at=record.started_at,
        ended_at=record.ended_at,
        outcome=_given(_outcome, record.outcome, ref),
        qualities=tuple(_quality(item, ref) for item in record.quality or ()),
        progress=_given(_progress, record.progress, ref),
        effects=_given(_effects, record.effects, ref),
        calls=_given(_calls, tools.called, ref),
        calls_source=None if tools.called is None else "record",
        expected=None if tools.expected is None else tuple(_expected(item) for item in tools.expected),
        forbidden=None
        if tools.forbidden is None
        else tuple(sorted({canonical_tool(name) for name in tools.forbidden})),
        cost=_given(_cost, record.cost, ref),
        wait=_given(_wait, record.wait, ref),
        usage=_given(_usage, record.usage, ref),
        timing=_given(_timing, record.timing, ref),
        ref=ref,
    )


def doubts(line: RecordLine) -> Iterator[Defect]:
    """What the record says that has no meaning in the format: unknown words, impossible counts, costs of no kind."""
    for field, message in _doubts(line.record):
        yield Defect(
            code="meaningless_value",
            message=f"{FILE} line {line.row}: {field}: {message}",
            ref=EvidenceRef(file=FILE, row=line.row, field=field),
            task_id=line.record.task_id,
            trial=line.record.trial,
        )


def _doubts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    if record.status is not None and word(TrialStatus, record.status) is None:
        yield "status", f"{record.status!r} is no status; it is recorded as unavailable."
    if environment_of(record) == UNKNOWN_ENVIRONMENT:
        yield "environment", f"{record.environment!r} is neither offline nor production; it is recorded as unknown."
    if record.cost is not None and record.cost.usd is not None and word(CostState, record.cost.state) is None:
        said = "cost has no state" if record.cost.state is None else f"{record.cost.state!r} is no state of a cost"
        yield "cost.state", f"{said}, so nothing says it was billed; it is taken as an estimate."
    progress = record.progress
    if progress is not None and progress.windows is None and _counted(progress) is None:
        yield "progress", "windows are missing, and the counts don't add up; progress is recorded as unavailable."
    statuses = {call.status for call in (record.tools or ToolsRecord()).called or () if call.status is not None}
    for status in sorted(statuses):
        if call_status(status) is None:
            yield "tools.called", f"{status!r} is no status of a call; it is recorded as unavailable."


def environment_of(record: TrialRecord) -> str | None:
    """The environment a record names, None when it names none."""
    return None if record.environment is None else environment_named(record.environment)


def word(words: type[_Word], text: str | None) -> _Word | None:
    """The member of a closed list that `text` names, in any case; None when absent or unknown."""
    try:
        return words((text or "").strip().lower())
    except ValueError:
        return None


def _given(build: Callable[[_In, EvidenceRef], _Out], record: _In | None, ref: EvidenceRef) -> _Out | None:
    return None if record is None else build(record, ref)


def _outcome(record: OutcomeRecord, ref: EvidenceRef) -> Outcome:
    verifier = record.verifier or VerifierRecord()
    return evidence.outcome(
        state=record.state,
        predicate=record.predicate,
        verifier_kind=_lower(verifier.kind),
        verifier_name=verifier.name,
        verifier_version=verifier.version,
        reason=record.reason,
        evidence=record.evidence,
        ref=ref,
    )


def _quality(record: QualityRecord, ref: EvidenceRef) -> Quality:
    grader = record.grader or GraderRecord()
    return Quality(
        score=record.score,
        grader_kind=_lower(grader.kind),
        grader_name=grader.name,
        grader_version=grader.version,
        rubric_version=grader.rubric_version,
        model=grader.model,
        prompt_sha256=grader.prompt_sha256,
        calibration=grader.calibration,
        disagreement=record.disagreement,
        reason=record.reason or ("no_score" if record.score is None else None),
        ref=ref,
    )


def _progress(record: ProgressRecord, ref: EvidenceRef) -> Progress | None:
    if record.windows is None:
        counts = _counted(record)
        return None if counts is None else Progress(**counts, ref=ref)
    seen = Counter(_window(window) for window in record.windows)
    return Progress(
        active=seen["delta"] + seen["active"],
        active_with_delta=seen["delta"],
        waiting=seen["waiting"],
        stale=seen["stale"],
        ref=ref,
    )


def _window(record: WindowRecord) -> str:
    state = (record.state or "").strip().lower()
    if state == "active" and record.delta is not None:
        return "delta" if record.delta else "active"
    return "waiting" if state == "waiting" else "stale"


def _counted(record: ProgressRecord) -> dict[str, int] | None:
    if record.active is None or record.active_with_delta is None or record.active_with_delta > record.active:
        return None
    return {
        "active": record.active,
        "active_with_delta": record.active_with_delta,
        "waiting": record.waiting or 0,
        "stale": record.stale or 0,
    }


def _effects(records: Sequence[EffectRecord], ref: EvidenceRef) -> tuple[Effect, ...]:
    """Each item of a list is an attempt of its own: one that repeats an id in its line gets a number behind it.

    An attempt without an id is named by its key, so that an appended line can speak of it; without either, by its
    line, so that nothing can.
    """
    seen: Counter[str] = Counter()
    effects = []
    for record in records:
        name = record.id or record.idempotency_key or f"line {ref.row}"
        seen[name] += 1
        effects.append(
            evidence.effect(
                effect_id=name if seen[name] == 1 and record.id else f"{name}#{seen[name]}",
                state=record.state,
                tool=None if record.tool is None else canonical_tool(record.tool),
                destination=record.destination,
                idempotency_key=record.idempotency_key or None,
                reason=record.reason,
                evidence=record.evidence,
                found=record.found,
                ref=ref,
            )
        )
    return tuple(effects)


def _calls(records: Sequence[CalledToolRecord], ref: EvidenceRef) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            index=index,
            raw_name=record.name,
            name=canonical_tool(record.name),
            args_json=record.args,
            status=call_status(record.status),
            duration_ms=record.duration_ms,
            ref=ref,
        )
        for index, record in enumerate(records)
    )


def _expected(record: ExpectedToolRecord) -> ExpectedCall:
    return ExpectedCall(raw_name=record.name, name=canonical_tool(record.name), args_json=record.args)


def _wait(record: WaitRecord, ref: EvidenceRef) -> Wait:
    return Wait(owner=record.owner, decision=record.decision, due=record.due, resume_state=record.resume_state, ref=ref)


def _lower(text: str | None) -> str | None:
    return None if text is None else text.strip().lower()


def _cost(record: CostRecord, ref: EvidenceRef) -> Cost:
    """A figure that doesn't say where it comes from is an estimate; a state without a figure is none."""
    if record.usd is None:
        return Cost(state=CostState.UNAVAILABLE, ref=ref)
    return Cost(state=word(CostState, record.state) or CostState.ESTIMATED, usd=record.usd, ref=ref)


def _usage(record: UsageRecord, ref: EvidenceRef) -> Usage:
    return Usage(
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        cached_tokens=record.cached_tokens,
        cached_in_input=True,
        reasoning_tokens=record.reasoning_tokens,
        inference_calls=record.inference_calls,
        tool_calls=record.tool_calls,
        ref=ref,
    )


def _timing(record: TimingRecord, ref: EvidenceRef) -> Timing:
    return Timing(duration_s=record.duration_s, tool_duration_s=record.tool_duration_s, ref=ref)
