"""Stored summaries: `summaries/<digest hash>.<writer>.json`, named by the numbers a text was written from.

Create-only: the original result stays, however often it is asked for.
"""

from dataclasses import dataclass

from evalbench.lake.objects import read_json, to_json
from evalbench.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """A summary as its writer gave it. state: the writer's label. prompt_version, model: None without a model."""

    state: str
    text: str
    digest_hash: str
    prompt_version: str | None = None
    model: str | None = None


def write_text(lake: Storage, text: StoredText) -> StoredText:
    """Store a summary unless there is one by this writer on these numbers already; the one that stands."""
    lake.create(_path(text.digest_hash, text.state), to_json(text))
    return read_text(lake, text.digest_hash, text.state) or text


def read_text(lake: Storage, digest_hash: str, state: str) -> StoredText | None:
    """The summary of these numbers by this writer, None without one. Raises PipelineError when it is damaged."""
    return read_json(lake, _path(digest_hash, state), StoredText)


def _path(digest_hash: str, state: str) -> str:
    return f"summaries/{digest_hash}.{state}.json"
