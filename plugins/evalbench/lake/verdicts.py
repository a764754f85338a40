"""Verdicts: computed from facts, stored beside them under the versions that computed them.

`verdicts/<run_key>/<content>.<reading>.<scoring>.parquet`: a changed evaluator makes new objects and reads no run file.
"""

from collections.abc import Iterator, Sequence

import msgspec

from evalbench.lake.facts import DAMAGED, facts_from
from evalbench.lake.objects import damaged, to_json
from evalbench.lake.records import Record, decode_records, encode_records
from evalbench.ledger import Run, ScoredRun, Verdict
from evalbench.scoring import score_run, scoring_digest
from evalbench.storage import Storage

VERDICT = "verdict"


def verdicts_key(facts: str) -> str:
    """Where this code's verdicts on these facts are in the lake."""
    name = facts.removeprefix("facts/").removesuffix(".parquet")
    return f"verdicts/{name}.{scoring_digest()[:16]}.parquet"


def encode_verdicts(verdicts: tuple[Verdict, ...]) -> bytes:
    """Verdicts as bytes, in their order."""
    return encode_records(
        Record(kind=VERDICT, task_id=verdict.task_id, trial=verdict.trial, payload=to_json(verdict))
        for verdict in verdicts
    )


def decode_verdicts(data: bytes) -> tuple[Verdict, ...]:
    """What `encode_verdicts` was given. Raises one of DAMAGED on bytes it didn't write."""
    return tuple(msgspec.json.decode(record.payload, type=Verdict) for record in decode_records(data))


def write_verdicts(lake: Storage, facts: str, scored: ScoredRun) -> str:
    """Store a run's verdicts unless they are there already; their key."""
    key = verdicts_key(facts)
    lake.create(key, encode_verdicts(scored.verdicts))
    return key


def read_scored(lake: Storage, facts: str, *, store: bool = False) -> ScoredRun:
    """A run with this code's verdicts on it; where they aren't there yet, computed from the facts and, with `store`,
    kept.

    Raises PipelineError when facts are missing, or facts or verdicts are damaged.
    """
    return next(read_scored_runs(lake, [facts], store=store))


def read_scored_runs(lake: Storage, facts: Sequence[str], *, store: bool) -> Iterator[ScoredRun]:
    """Several runs as `read_scored` gives one, in the order asked for; their objects are read at once."""
    found = lake.read_many([*facts, *map(verdicts_key, facts)])
    for key in facts:
        run = facts_from(lake, key, found.get(key))
        verdicts = found.get(verdicts_key(key))
        yield _judged(lake, key, run, store=store) if verdicts is None else _scored(lake, key, run, verdicts)


def _judged(lake: Storage, facts: str, run: Run, *, store: bool) -> ScoredRun:
    scored = score_run(run)
    if store:
        write_verdicts(lake, facts, scored)
    return scored


def _scored(lake: Storage, facts: str, run: Run, verdicts: bytes) -> ScoredRun:
    try:
        return ScoredRun(run=run, verdicts=decode_verdicts(verdicts))
    except DAMAGED as error:
        raise damaged(lake, verdicts_key(facts), error) from error
