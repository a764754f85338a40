"""Objects of the lake as canonical JSON, and what is said of one that can't be read back."""

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
    try:
        return msgspec.json.decode(lake.read(path), type=kind)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise damaged(lake, path, error) from error


AGAIN = "delete it, the next run writes it again"


def damaged(lake: Storage, path: str, error: Exception, then: str = AGAIN) -> PipelineError:
    """The error for an object that can't be read back. then: what to do about it."""
    return PipelineError(f"{lake}/{path}: damaged ({type(error).__name__}); {then}")
