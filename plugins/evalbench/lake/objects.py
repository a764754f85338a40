"""Objects of the lake as canonical JSON, and what is said of one that can't be read back."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from evalbench.errors import PipelineError
from evalbench.storage import Storage

_Kind = TypeVar("_Kind")


def to_json(value: object) -> bytes:
    """Canonical JSON of a record: keys sorted, decimals as text, times with offset."""
    return msgspec.json.encode(value, order="deterministic")


def read_json(lake: Storage, path: str, kind: type[_Kind]) -> _Kind | None:
    """A record stored as JSON, None when there is none. Raises PipelineError when it is damaged."""
    return read_jsons(lake, [path], kind).get(path)


def read_jsons(lake: Storage, paths: Iterable[str], kind: type[_Kind]) -> dict[str, _Kind]:
    """Those records that are there, by path. Raises PipelineError when one is damaged."""
    return {path: _decoded(lake, path, data, kind) for path, data in lake.read_many(paths).items()}


def _decoded(lake: Storage, path: str, data: bytes, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise damaged(lake, path, error) from error


AGAIN = "delete it, the next run writes it again"


def damaged(lake: Storage, path: str, error: Exception, then: str = AGAIN) -> PipelineError:
    """The error for an object that can't be read back. then: what to do about it."""
    return PipelineError(f"{lake}/{path}: damaged ({type(error).__name__}); {then}")
