"""trials.jsonl: one trial evidence record per line, alone in a directory or beside a harness's own files."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from evalbench.ledger import Defect, EvidenceRef, Trial
from evalbench.readers.record_lines import FILE, RecordLine, read_lines
from evalbench.readers.record_merge import merge_lines
from evalbench.readers.record_trial import doubts, environment_of, trial_of
from evalbench.readers.record_types import UNKNOWN_ENVIRONMENT
from evalbench.readers.snapshot import ReadOptions, Snapshot

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLedger:
    """The records of one file. run_id, candidate and environment are None when absent or when the lines disagree.

    trials: sorted by (task_id, trial), pairs unique. ended: the latest ended_at.
    complete: there is at least one line, and every line is a record.
    """

    trials: tuple[Trial, ...] = ()
    run_id: str | None = None
    candidate: str | None = None
    environment: str | None = None
    ended: datetime | None = None
    complete: bool = False
    defects: tuple[Defect, ...] = ()


def looks_like_records(names: Collection[str]) -> bool:
    """Whether a directory with these files holds trial evidence records."""
    return FILE in names


def read_trial_records(snapshot: Snapshot, options: ReadOptions) -> RecordLedger:
    """Read the snapshot's trials.jsonl. Never raises: a bad line, and a bad field in a good line, is a located defect.

    Lines with one (task_id, trial) are one trial and later verifications of it, merged in the order of the file.
    Lines without `trial` are a trial each, numbered within their task by (started_at, ended_at, content).
    """
    file = read_lines(snapshot.files[FILE], options.timezone)
    defects = [*file.defects, *(defect for line in file.lines for defect in doubts(line))]
    trials = []
    for (_, number), lines in sorted(_by_trial(file.lines).items()):
        trial, disagreements = merge_lines([trial_of(line, number) for line in lines])
        trials.append(trial)
        defects.extend(disagreements)
    records = [line.record for line in file.lines]
    run_id = _agreed("run_id", (record.run_id for record in records), defects)
    candidate = _agreed("candidate", (record.candidate for record in records), defects)
    environments = [said for record in records if (said := environment_of(record)) is not None]
    environment = _agreed("environment", environments, defects)
    return RecordLedger(
        trials=tuple(trials),
        run_id=run_id,
        candidate=candidate,
        environment=environment or (UNKNOWN_ENVIRONMENT if environments else None),
        ended=max((trial.ended_at for trial in trials if trial.ended_at), default=None),
        complete=file.complete,
        defects=tuple(defects),
    )


def _by_trial(lines: Sequence[RecordLine]) -> dict[tuple[str, int], list[RecordLine]]:
    trials: dict[tuple[str, int], list[RecordLine]] = defaultdict(list)
    unnumbered: dict[str, list[RecordLine]] = defaultdict(list)
    for line in lines:
        if line.record.trial is None:
            unnumbered[line.record.task_id].append(line)
        else:
            trials[line.record.task_id, line.record.trial].append(line)
    taken: dict[str, set[int]] = defaultdict(set)
    for task, number in trials:
        taken[task].add(number)
    for task, rest in unnumbered.items():
        free = _free_numbers(taken[task])
        for line in sorted(rest, key=_rank):
            trials[task, next(free)].append(line)
    return trials


def _free_numbers(taken: set[int]) -> Iterator[int]:
    return (number for number in count() if number not in taken)


def _rank(line: RecordLine) -> tuple[datetime, datetime, str]:
    return (line.record.started_at or _NEVER, line.record.ended_at or _NEVER, line.written)


def _agreed(field: str, values: Iterable[str | None], defects: list[Defect]) -> str | None:
    said = sorted({value for value in values if value})
    if len(said) > 1:
        shown = ", ".join(repr(value) for value in said[:3])
        message = f"{FILE}: the lines name {len(said)} values of {field} ({shown} …); it is recorded as unavailable."
        defects.append(Defect(code="conflicting_field", message=message, ref=EvidenceRef(file=FILE, field=field)))
    return said[0] if len(said) == 1 else None
