"""What a reader is given: the bytes of one run directory, taken once."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from evalbench.canonical import sha256_json

MOST_RECORDS = 500_000
"""Rows or lines of one file that are read: a small file of tiny records would fill any memory."""


def run_key_of(path: str) -> str:
    """Hash of a directory's path relative to the runs root; names its facts and its results."""
    return sha256_json(path)[:32]


class TooManyRecordsError(ValueError):
    """A file has more than MOST_RECORDS records. Reading a part of them could hide what the others say."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} has more than {MOST_RECORDS} records; split the run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The files of one run directory as bytes.

    path: POSIX path of the directory relative to the runs root. files: name relative to the directory → bytes; a file
    outside it that the run's plan points to stands under its relative name (`../sets/a.evalset.json`).
    newest_mtime: aware UTC, of the newest file in the directory.
    """

    path: str
    files: Mapping[str, bytes]
    newest_mtime: datetime

    @property
    def run_key(self) -> str:
        """See `run_key_of`."""
        return run_key_of(self.path)

    @property
    def content(self) -> str:
        """sha256 over names and contents, independent of listing order."""
        return sha256_json(sorted((name, hashlib.sha256(data).hexdigest()) for name, data in self.files.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Everything that may change what is read, as arguments.

    now: aware UTC clock reading, used only for the grace period. timezone: IANA name that naive run times are in.
    empty_trajectory_expects_no_call: EvalBench's `expected_trajectory: []` counts as a declared expectation.
    """

    now: datetime
    timezone: str = "UTC"
    grace: timedelta = timedelta(hours=24)
    empty_trajectory_expects_no_call: bool = True


NoRunState: TypeAlias = Literal["ignored", "in_progress", "quarantined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotARun:
    """A directory that yields no ledger now, and where it ends instead. began: from when an unfinished run ages."""

    disposition: NoRunState
    reason: str
    message: str
    format: str | None = None
    run_id: str | None = None
    run_time: datetime | None = None
    began: datetime | None = None
