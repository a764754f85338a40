"""The bytes a run was read from → what was said in its trials. Read after the run, and only where it is kept."""

from collections.abc import Iterator, Mapping

from evalbench.ledger import EvidenceRef, Run, Trial
from evalbench.readers.evalbench import looks_like_evalbench, read_evalbench
from evalbench.readers.evalbench.dialogue import read_dialogues, redactor_of
from evalbench.readers.evalbench.reader import EVALS
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.record_dialogue import elsewhere, messages_of
from evalbench.readers.record_lines import FILE, read_lines
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.trial_records import looks_like_records
from evalbench.transcript import NOT_RECORDED, Transcript, transcript

TRANSCRIPT_VERSION = "2"
"""Raised whenever the same files would give other transcripts."""

_NAME = b'"transcript"'

Key = tuple[str, int]
Told = tuple[Key, Transcript]


def read_transcripts(snapshot: Snapshot, run: Run, options: ReadOptions) -> tuple[Transcript, ...]:
    """What the files say of each trial of `run`, which was read from the same snapshot under the same options.

    Sorted by (task_id, trial); a trial of which nothing is recorded has none. A record's transcript wins over the
    harness's conversation, the later line over the earlier. Raises what the readers raise, TooManyRecordsError too.
    """
    redactor = redactor_of(snapshot)
    told = dict(_by_harness(snapshot, run, options, redactor)) | dict(_by_records(snapshot, run, options, redactor))
    return tuple(told[key] for key in sorted(told) if told[key].reason != NOT_RECORDED)


def _by_harness(snapshot: Snapshot, run: Run, options: ReadOptions, redactor: Redactor) -> Iterator[Told]:
    if EVALS not in snapshot.files:
        return
    # A record takes the place of the harness's row in a trial that both know.
    both = looks_like_records(snapshot.files) and looks_like_evalbench(snapshot.files)
    trials = _by_row(read_evalbench(snapshot, options).trials if both else run.trials, EVALS)
    for row, said in read_dialogues(snapshot, redactor):
        if row in trials:
            yield trials[row], transcript(*trials[row], said.messages, reason=said.reason, ref=said.ref)


def _by_records(snapshot: Snapshot, run: Run, options: ReadOptions, redactor: Redactor) -> Iterator[Told]:
    data = snapshot.files.get(FILE, b"")
    if _NAME not in data:
        return
    trials = _by_row(run.trials, FILE)
    for line in read_lines(data, options.timezone).lines:
        record = line.record
        key = trials.get(line.row) if record.trial is None else (record.task_id, record.trial)
        if key is None or record.transcript is None:
            continue
        messages, address = messages_of(record.transcript, redactor), elsewhere(record.transcript, redactor)
        ref = EvidenceRef(file=FILE, row=line.row, field="transcript")
        yield key, transcript(*key, messages, elsewhere=address, ref=ref)


def _by_row(trials: tuple[Trial, ...], file: str) -> Mapping[int, Key]:
    return {
        trial.ref.row: (trial.task_id, trial.trial)
        for trial in trials
        if trial.ref is not None and trial.ref.file == file and trial.ref.row is not None
    }
