"""Facts: one run's ledger as one immutable object, `facts/<run_key>/<content>.<reading>.parquet`.

`reading` names how the files were read: the reader's version and a digest of the options that can change what is read
(time zone, empty trajectories). The clock and the grace period are left out: they decide whether a directory yields a
ledger now, never what the ledger says, so a run once stored as abandoned stays known whatever the clock says later.
"""

from dataclasses import replace

import msgspec
import pyarrow as pa

from evalbench.canonical import sha256_parts
from evalbench.errors import PipelineError
from evalbench.lake.objects import damaged, to_json
from evalbench.lake.records import Record, decode_records, encode_records
from evalbench.ledger import Run, Trial
from evalbench.storage import Storage

RUN, TRIAL = "run", "trial"
DAMAGED = (pa.ArrowException, msgspec.DecodeError, OSError, ValueError)


def reading(reader_version: str, timezone: str, empty_trajectory_expects_no_call: bool) -> str:
    """How files become facts, as a part of their names."""
    options = sha256_parts([timezone, str(empty_trajectory_expects_no_call)])
    return f"{reader_version}-{options[:8]}"


def facts_key(run_key: str, content: str, how: str) -> str:
    """Where the facts of a run with this content, read this way, are in the lake."""
    return f"facts/{run_key}/{content}.{how}.parquet"


def encode_run(run: Run) -> bytes:
    """A run as bytes: one record for the run, then one per trial in the run's order. The same run, the same bytes."""
    head = Record(kind=RUN, payload=to_json(replace(run, trials=())))
    trials = (Record(kind=TRIAL, task_id=t.task_id, trial=t.trial, payload=to_json(t)) for t in run.trials)
    return encode_records((head, *trials))


def decode_run(data: bytes) -> Run:
    """The run that `encode_run` was given. Raises one of DAMAGED on bytes it didn't write."""
    records = decode_records(data)
    heads = [record for record in records if record.kind == RUN]
    if len(heads) != 1:
        raise ValueError(f"expected one run record, found {len(heads)}")
    run = msgspec.json.decode(heads[0].payload, type=Run)
    trials = (msgspec.json.decode(record.payload, type=Trial) for record in records if record.kind == TRIAL)
    return replace(run, trials=tuple(trials))


def write_facts(lake: Storage, run: Run, how: str) -> str:
    """Store a run's facts unless they are there already; their key."""
    key = facts_key(run.run_key, run.content, how)
    lake.create(key, encode_run(run))
    return key


def read_facts(lake: Storage, key: str) -> Run:
    """A run from the lake. Raises PipelineError when the object is missing or damaged."""
    return facts_from(lake, key, lake.read_many([key]).get(key))


def facts_from(lake: Storage, key: str, data: bytes | None) -> Run:
    """A run from what the lake holds under a key, None for nothing. Raises PipelineError as `read_facts` does."""
    if data is None:
        raise PipelineError(
            f"{lake}/{key}: these facts are gone; run the pipeline over the runs again,"
            " or, where their directory is gone too, restore the file or `evalbench forget` the run"
        )
    try:
        return decode_run(data)
    except DAMAGED as error:
        raise damaged(lake, key, error) from error


def read_head(lake: Storage, key: str) -> Run:
    """A run without its trials, from the lake. Raises PipelineError as `read_facts` does."""
    try:
        records = decode_records(lake.read(key), kinds=(RUN,))
        return msgspec.json.decode(records[0].payload, type=Run)
    except (IndexError, *DAMAGED) as error:
        raise damaged(lake, key, error) from error
