"""The bytes a run was read from → what was said in its trials. Read after the run, and only where it is kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalbench.ledger import EvidenceRef, Run, Trial
from evalbench.readers.evalbench import looks_like_evalbench, read_evalbench
from evalbench.readers.evalbench.dialogue import read_dialogues, redactor_of
from evalbench.readers.evalbench.reader import EVALS
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.record_dialogue import elsewhere, messages_of
from evalbench.readers.record_lines import FILE, read_lines
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.trial_records import looks_like_records
from evalbench.transcript import NOT_RECORDED, Message, Transcript, transcript

TRANSCRIPT_VERSION = "1"
"""Raised whenever the same files would give other transcripts."""

ADDRESS_CHARS = 500
_NAME = b'"transcript"'

Key = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    messages: tuple[Message, ...] = ()
    reason: str | None = None
    elsewhere: str | None = None
    ref: EvidenceRef


def read_transcripts(snapshot: Snapshot, run: Run, options: ReadOptions) -> tuple[Transcript, ...]:
    """What the files say of each trial of `run`, which was read from the same snapshot under the same options.

    Sorted by (task_id, trial); a trial of which nothing is recorded has none. A record's transcript wins over the
    harness's conversation, the later line over the earlier. Raises what the readers raise, TooManyRecordsError too.
    """
    redactor = redactor_of(snapshot)
    told = dict(_by_harness(snapshot, run, options, redactor)) | dict(_by_records(snapshot, run, options, redactor))
    return tuple(
        transcript(task_id, number, said.messages, reason=said.reason, elsewhere=said.elsewhere, ref=said.ref)
        for (task_id, number), said in sorted(told.items(), key=lambda item: item[0])
        if said.reason != NOT_RECORDED
    )


def _by_harness(snapshot: Snapshot, run: Run, options: ReadOptions, redactor: Redactor) -> Iterator[tuple[Key, _Told]]:
    if EVALS not in snapshot.files:
        return
    # A record takes the place of the harness's row in a trial that both know.
    both = looks_like_records(snapshot.files) and looks_like_evalbench(snapshot.files)
    trials = _by_row(read_evalbench(snapshot, options).trials if both else run.trials, EVALS)
    for row, said in read_dialogues(snapshot, redactor):
        if row in trials:
            yield trials[row], _Told(messages=said.messages, reason=said.reason, ref=said.ref)


def _by_records(snapshot: Snapshot, run: Run, options: ReadOptions, redactor: Redactor) -> Iterator[tuple[Key, _Told]]:
    data = snapshot.files.get(FILE, b"")
    if _NAME not in data:
        return
    trials = _by_row(run.trials, FILE)
    for line in read_lines(data, options.timezone).lines:
        record = line.record
        key = trials.get(line.row) if record.trial is None else (record.task_id, record.trial)
        if key is None or record.transcript is None:
            continue
        address = elsewhere(record.transcript)
        yield (
            key,
            _Told(
                messages=messages_of(record.transcript, redactor),
                elsewhere=None if address is None else redactor.text(address, ADDRESS_CHARS),
                ref=EvidenceRef(file=FILE, row=line.row, field="transcript"),
            ),
        )


def _by_row(trials: tuple[Trial, ...], file: str) -> Mapping[int, Key]:
    return {
        trial.ref.row: (trial.task_id, trial.trial)
        for trial in trials
        if trial.ref is not None and trial.ref.file == file and trial.ref.row is not None
    }
