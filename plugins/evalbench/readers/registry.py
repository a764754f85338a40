"""Which reader reads a directory: decided by what is in it, never by its name. A new format is one line in FORMATS."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from evalbench.ledger import Run
from evalbench.readers.assemble import read_run
from evalbench.readers.evalbench import looks_like_evalbench
from evalbench.readers.manifest import looks_like_manifest
from evalbench.readers.snapshot import NotARun, ReadOptions, Snapshot, TooManyRecordsError
from evalbench.readers.trial_records import looks_like_records


class Read(Protocol):
    """A reader: a directory's bytes → its Run, or why there is none."""

    def __call__(self, snapshot: Snapshot, options: ReadOptions, format_name: str) -> Run | NotARun: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of run directory: recognised by the names of its files, read by `read`."""

    name: str
    recognises: Callable[[Collection[str]], bool]
    read: Read


FORMATS = (
    Format(name="evalbench", recognises=looks_like_evalbench, read=read_run),
    Format(name="trial_records", recognises=looks_like_records, read=read_run),
    Format(name="manifest", recognises=looks_like_manifest, read=read_run),
)
"""The first that recognises a directory reads it."""


HEAD_FILES = frozenset({"run.yaml", "configs.csv", "summary.csv"})
"""Small files that say whose run a directory holds, and of when."""


def recognise(names: Collection[str]) -> str | None:
    """Name of the format of a directory with these files (relative names), None when no reader knows it."""
    found = _format(names)
    return None if found is None else found.name


def read_directory(snapshot: Snapshot, options: ReadOptions) -> Run | NotARun:
    """Read a directory with the reader that recognises it; `ignored` when none does.

    A file with too many records quarantines its directory: no part of it is read.
    """
    found = _format(snapshot.files)
    if found is None:
        return _unrelated(snapshot.files)
    try:
        return found.read(snapshot, options, found.name)
    except TooManyRecordsError as error:
        return NotARun(disposition="quarantined", reason="too_large", message=f"{error}.", format=found.name)


def head_tells(names: Collection[str]) -> bool:
    """Whether HEAD_FILES alone name and date the run; trial evidence records may do so too, and must be read then."""
    return not HEAD_FILES.isdisjoint(names) and not looks_like_records(names)


def unrelated(names: Collection[str]) -> NotARun | None:
    """Why a directory with these files is no run, None when a reader knows them."""
    return None if _format(names) is not None else _unrelated(names)


def _unrelated(names: Collection[str]) -> NotARun:
    if not names:
        return NotARun(disposition="ignored", reason="empty_directory", message="The directory has no files.")
    message = "No reader knows the files of this directory; it is taken as unrelated."
    return NotARun(disposition="ignored", reason="not_a_run_directory", message=message)


def _format(names: Collection[str]) -> Format | None:
    return next((known for known in FORMATS if known.recognises(names)), None)
