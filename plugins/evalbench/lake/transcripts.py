"""Transcripts, kept beside a run's facts for a time.

`transcripts/<run_key>/<content>.<reading>.<run date>.<last day>.<how>.parquet`: the name tells the facts they belong
to, how long they are kept, and `<version>-<bytes>`: which reading made them, and what they were cut to. A listing is
enough to find those of some facts, and those whose time is over. No table holds them, and nothing that decides
reads them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

import msgspec

from evalbench.lake.facts import DAMAGED
from evalbench.lake.objects import damaged, to_json
from evalbench.lake.records import Record, decode_records, encode_records
from evalbench.storage import Storage
from evalbench.transcript import NOT_RECORDED, OTHER_READING, Transcript

FOLDER = "transcripts"
RUN, TRIAL = "run", "trial"
_NAME = re.compile(r".+\.(\d{4}-\d\d-\d\d)\.(\d{4}-\d\d-\d\d)\.([^.-]+)-(\d+)\.parquet")
LOST = "the run's transcripts can't be shown until it is read again; delete it"


def encode_transcripts(transcripts: Iterable[Transcript], problem: str | None = None) -> bytes:
    """What was said in a run, as it is stored. problem: why nothing could be read, in snake_case."""
    head = Record(kind=RUN, payload=to_json(problem))
    trials = (Record(kind=TRIAL, task_id=t.task_id, trial=t.trial, payload=to_json(t)) for t in transcripts)
    return encode_records((head, *trials))


def write_transcripts(lake: Storage, facts: str, run_date: date, days: int, how: str, data: bytes) -> str:
    """Store what was said in a run for `days` after its date, unless it is there already; where.

    how: what else the bytes depend on, `<version>-<bytes>`.
    """
    path = f"{_stem(facts)}{run_date.isoformat()}.{last_day(run_date, days).isoformat()}.{how}.parquet"
    lake.create(path, data)
    return path


def read_transcript(
    lake: Storage, facts: str, task_id: str, trial: int, today: date, version: str
) -> Transcript | None:
    """What was said in a trial of the run with these facts; None when none of that run are kept, or no longer.

    What has outlived its days isn't shown, whether or not somebody removed it, nor is what another version than this
    one read: it may hold a secret that this one takes out. Of several, the one that was cut least is. One that is kept
    and says nothing has a reason. Raises PipelineError when it is damaged.
    """
    kept = {path: name for path in transcripts_of(lake, [facts]) if (name := _named(path)) and today <= name.last}
    path = max((path for path in kept if kept[path].version == version), key=lambda path: kept[path].most, default=None)
    if path is None:
        return Transcript(task_id=task_id, trial=trial, reason=OTHER_READING) if kept else None
    data = lake.read_many([path]).get(path)
    if data is None:
        return None
    try:
        records = decode_records(data)
        problem = msgspec.json.decode(records[0].payload, type=str | None)
        found = next((r for r in records[1:] if (r.task_id, r.trial) == (task_id, trial)), None)
        if found is not None:
            return msgspec.json.decode(found.payload, type=Transcript)
    except (IndexError, *DAMAGED) as error:
        raise damaged(lake, path, error, LOST) from error
    return Transcript(task_id=task_id, trial=trial, reason=problem or NOT_RECORDED)


def transcripts_of(lake: Storage, facts: Iterable[str]) -> list[str]:
    """Where the transcripts of runs with these facts are, however they were cut."""
    stems = [_stem(path) for path in facts]
    folders = sorted({stem.rpartition("/")[0] for stem in stems})
    return [path for folder in folders for path in lake.paths(folder) if path.startswith(tuple(stems))]


def remove_expired(lake: Storage, today: date, days: int | None) -> int:
    """Remove the transcripts whose time is over; how many.

    Each has the time it was stored for, and no more than `days` after its run's date: 0 removes all, None shortens no
    time that somebody else set.
    """
    return sum(lake.delete(path) for path in lake.paths(FOLDER) if _is_over(path, today, days))


def last_day(run_date: date, days: int) -> date:
    """The last day on which what was said in a run of this date is kept."""
    return run_date + timedelta(days=days)


def _is_over(path: str, today: date, days: int | None) -> bool:
    if days == 0:
        return True
    name = _named(path)
    if name is None:
        return False
    return today > name.last or (days is not None and today - name.run_date > timedelta(days=days))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """What a name says. version: of the reading. most: bytes that the run's transcripts were cut to."""

    run_date: date
    last: date
    version: str
    most: int


def _named(path: str) -> _Name | None:
    """What the name says; None for one that isn't of ours."""
    found = _NAME.fullmatch(path)
    if found is None:
        return None
    run_date, last, version, most = found.groups()
    try:
        return _Name(
            run_date=date.fromisoformat(run_date), last=date.fromisoformat(last), version=version, most=int(most)
        )
    except ValueError:
        return None


def _stem(facts: str) -> str:
    return f"{FOLDER}/{facts.removeprefix('facts/').removesuffix('parquet')}"
