"""Stored summaries: `summaries/<digest hash>/<writer>.json`, named by the numbers they were written from and by whom.

A writer is `offline`, or a hash of everything beside the numbers that an answer depends on. Create-only: the original
result stays, however often it is asked for. What couldn't be had may be asked for again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import PurePosixPath

from evalbench.lake.objects import read_json, read_jsons, to_json
from evalbench.storage import Storage

FOLDER = "summaries"
OWED = "_ops/owed_summaries"


class TextState(StrEnum):
    """How a text came to be. All but `generated` are the offline writer's, labelled with what became of the model's."""

    GENERATED = "generated"
    OFFLINE = "offline"
    TRUNCATED = "truncated"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """A summary as it was first written. run_id: of the run it is about.

    reason: why it isn't a model's, in snake_case. prompt_version, model: None where no model was asked, or none
    answered. Tokens are of all calls together, None where the provider counted none. cost_usd: by the price table at
    that time, None without a price.
    """

    state: TextState
    text: str
    digest_hash: str
    run_id: str
    reason: str | None = None
    prompt_version: str | None = None
    model: str | None = None
    calls: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_thinking: int | None = None
    cost_usd: Decimal | None = None


def read_text(lake: Storage, digest_hash: str, writer: str) -> StoredText | None:
    """The summary of these numbers by this writer, None without one. Raises PipelineError when it is damaged."""
    return read_json(lake, _path(digest_hash, writer), StoredText)


def read_texts(lake: Storage, digest_hash: str) -> Mapping[str, StoredText]:
    """Every summary of these numbers by writer, sorted. Raises PipelineError when one is damaged."""
    found = read_jsons(lake, lake.paths(f"{FOLDER}/{digest_hash}"), StoredText)
    return {PurePosixPath(path).stem: text for path, text in found.items()}


def write_text(lake: Storage, writer: str, text: StoredText) -> StoredText:
    """Store a summary; the one that stands: the first one that isn't `unavailable`."""
    stood = read_text(lake, text.digest_hash, writer)
    if stood is None:
        lake.create(_path(text.digest_hash, writer), to_json(text))
    elif stood.state is TextState.UNAVAILABLE:
        lake.write_atomic(_path(text.digest_hash, writer), to_json(text))
    return read_text(lake, text.digest_hash, writer) or text


def texts_of(lake: Storage, run_id: str) -> list[str]:
    """Where the summaries of a run are, of whichever numbers. Raises PipelineError for a damaged one."""
    found = read_jsons(lake, [path for path in lake.paths(FOLDER) if path.endswith(".json")], StoredText)
    return [path for path, text in found.items() if text.run_id == run_id]


def owe(lake: Storage, run_key: str) -> None:
    """Remember that a run's summary couldn't be had: the next sweep asks again."""
    lake.create(_owed(run_key), b"")


def paid(lake: Storage, run_key: str) -> None:
    """Forget that a run's summary was owed."""
    lake.delete(_owed(run_key))


def owed(lake: Storage) -> frozenset[str]:
    """Keys of runs whose summaries are owed."""
    return frozenset(PurePosixPath(path).stem for path in lake.paths(OWED))


def _owed(run_key: str) -> str:
    return f"{OWED}/{run_key}.json"


def _path(digest_hash: str, writer: str) -> str:
    return f"{FOLDER}/{digest_hash}/{writer}.json"
