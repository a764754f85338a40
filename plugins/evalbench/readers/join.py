"""Trials of a harness and trial evidence records of the same run → one trial per (task_id, trial).

The record wins where both speak; where it is silent the harness's word stays. A contradiction is a defect.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evalbench.ledger import Defect, Trial

CONTRADICTION = "record_contradicts_harness"


def join_trials(harness: Iterable[Trial], records: Iterable[Trial]) -> tuple[tuple[Trial, ...], tuple[Defect, ...]]:
    """Trials sorted by (task_id, trial). A trial that only one side knows stays as it is."""
    joined = {(trial.task_id, trial.trial): trial for trial in harness}
    defects: list[Defect] = []
    for record in records:
        key = (record.task_id, record.trial)
        if key in joined:
            defects.extend(_contradictions(joined[key], record))
            joined[key] = _join(joined[key], record)
        else:
            joined[key] = record
    return tuple(trial for _, trial in sorted(joined.items(), key=lambda item: item[0])), tuple(defects)


def _join(harness: Trial, record: Trial) -> Trial:
    calls = harness if record.calls is None else record
    expected = harness if record.expected is None and record.expected_reason is None else record
    status = harness if record.status is None else record
    return replace(
        record,
        task_key=harness.task_key,
        status=status.status,
        status_reason=status.status_reason,
        declared_complete=_first(record.declared_complete, harness.declared_complete),
        finished_conversation=harness.finished_conversation,
        started_at=record.started_at or harness.started_at,
        ended_at=record.ended_at or harness.ended_at,
        outcome=record.outcome or harness.outcome,
        qualities=record.qualities or harness.qualities,
        progress=record.progress or harness.progress,
        effects=harness.effects if record.effects is None else record.effects,
        calls=calls.calls,
        calls_source=calls.calls_source,
        calls_reason=calls.calls_reason,
        expected=expected.expected,
        expected_reason=expected.expected_reason,
        forbidden=harness.forbidden if record.forbidden is None else record.forbidden,
        cost=record.cost or harness.cost,
        wait=record.wait or harness.wait,
        usage=record.usage or harness.usage,
        timing=record.timing or harness.timing,
        comparators=harness.comparators,
    )


def _first(record: bool | None, harness: bool | None) -> bool | None:
    return harness if record is None else record


def _contradictions(harness: Trial, record: Trial) -> Iterator[Defect]:
    for field, said, instead in _differences(harness, record):
        yield Defect(
            code=CONTRADICTION,
            message=f"{field}: the record says {said}, the harness {instead}; the record is used.",
            ref=record.ref and replace(record.ref, field=field),
            task_id=record.task_id,
            trial=record.trial,
        )


def _differences(harness: Trial, record: Trial) -> Iterator[tuple[str, str, str]]:
    if None not in (harness.status, record.status) and harness.status != record.status:
        yield "status", str(record.status), str(harness.status)
    if harness.calls is not None and record.calls is not None and harness.calls_source == "tool_calls":
        ours, theirs = [call.name for call in record.calls], [call.name for call in harness.calls]
        if ours != theirs:
            yield "tools.called", _shown(ours), _shown(theirs)
    if harness.expected is not None and record.expected is not None:
        ours, theirs = [call.name for call in record.expected], [call.name for call in harness.expected]
        if ours != theirs:
            yield "tools.expected", _shown(ours), _shown(theirs)


def _shown(names: list[str]) -> str:
    return f"{len(names)} calls ({', '.join(names[:5])})" if names else "no calls"
