"""Transcripts: beside a run's facts, `transcripts/<run_key>/<content>.<reading>.<run date>.<how>.parquet`, for a time.

The name tells the facts they belong to, from which date they age, and what they were cut to: a listing is enough to
find those of some facts, and those whose time is over. No table holds them, and nothing that decides reads them.
"""

import re
from collections.abc import Iterable
from datetime import date, timedelta

import msgspec

from evalbench.lake.facts import DAMAGED
from evalbench.lake.objects import damaged, to_json
from evalbench.lake.records import Record, decode_records, encode_records
from evalbench.storage import Storage
from evalbench.transcript import NOT_RECORDED, Transcript

FOLDER = "transcripts"
RUN, TRIAL = "run", "trial"
_NAME = re.compile(r".+\.(\d{4}-\d\d-\d\d)\.[^.]+\.parquet")
LOST = "the run's transcripts can't be shown until it is read again; delete it"


def write_transcripts(
    lake: Storage, facts: str, run_date: date, how: str, transcripts: Iterable[Transcript], problem: str | None = None
) -> str:
    """Store what was said in a run, unless it is there already; where. how: what else its bytes depend on.

    problem: why nothing could be read, in snake_case.
    """
    path = f"{_stem(facts)}{run_date.isoformat()}.{how}.parquet"
    head = Record(kind=RUN, payload=to_json(problem))
    trials = (Record(kind=TRIAL, task_id=t.task_id, trial=t.trial, payload=to_json(t)) for t in transcripts)
    lake.create(path, encode_records((head, *trials)))
    return path


def read_transcript(lake: Storage, facts: str, task_id: str, trial: int) -> Transcript | None:
    """What was said in a trial of the run with these facts; None when none of that run are kept.

    One that is kept and says nothing has a reason. Raises PipelineError when it is damaged.
    """
    path = next(iter(transcripts_of(lake, [facts])), None)
    data = lake.read_many([path]).get(path) if path is not None else None
    if path is None or data is None:
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


def remove_expired(lake: Storage, today: date, days: int) -> int:
    """Remove the transcripts of runs that ended more than `days` before today; how many. 0 days: all."""
    return sum(lake.delete(path) for path in lake.paths(FOLDER) if not _kept(path, today, days))


def is_kept(run_date: date, today: date, days: int) -> bool:
    """Whether the transcripts of a run of this date are kept."""
    return days > 0 and today - run_date <= timedelta(days=days)


def _kept(path: str, today: date, days: int) -> bool:
    named = _NAME.fullmatch(path)
    return named is None or is_kept(date.fromisoformat(named[1]), today, days)


def _stem(facts: str) -> str:
    return f"{FOLDER}/{facts.removeprefix('facts/').removesuffix('parquet')}"
