"""What the pipeline needs of a place: one interface over local folders and Cloud Storage."""

import base64
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Protocol, TypeVar

import google_crc32c

from evalbench.canonical import sha256_json
from evalbench.errors import PipelineError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """What a listing tells of a file. stamp: another one whenever its content may be another."""

    size: int
    stamp: str


def hint_of(files: Mapping[str, FileStamp]) -> str:
    """One hash over what a listing tells of some files: while it is the same, nobody wrote to them."""
    return sha256_json(sorted((name, file.size, file.stamp) for name, file in files.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntry:
    """One child of the runs root, and the regular files directly inside it.

    ignored: why it can't be a run directory, None when it may be one. problem: `unreadable` or `link_outside_root`, why
    its files can't be trusted as a whole, with a message.
    """

    path: str
    ignored: str | None = None
    files: Mapping[str, FileStamp] = field(default_factory=dict)
    problem: str | None = None
    message: str = ""

    @property
    def size(self) -> int:
        """Bytes in all files."""
        return sum(file.size for file in self.files.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryFiles:
    """The regular files directly inside a directory, taken once, and what was listed of each.

    problem: why they can't be trusted as a whole: `unreadable`, `too_large`, `changed_while_read`, `link_outside_root`
    (files is then empty), None when they can.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    stamps: Mapping[str, FileStamp] = field(default_factory=dict)
    newest_mtime: datetime | None = None
    problem: str | None = None
    message: str = ""


class Files(Protocol):
    """Some files of a lake while nobody else changes them, see `Storage.alone`."""

    def exists(self, path: str, /) -> bool:
        """Whether a file is there."""

    def holds(self, path: str, data: bytes, /) -> bool:
        """Whether a file is there with these bytes."""

    def write_atomic(self, path: str, data: bytes, /) -> bool:
        """Replace a file whole; False when that was not needed."""

    def delete(self, path: str, /) -> bool:
        """Remove a file. False when it wasn't there."""


class Storage(Protocol):
    """Files under one root, by POSIX path relative to it; `str()` of it is the root as given.

    Whatever can't be reached, or fails in a way that may pass, is a StorageError; what only an operator can mend (no
    right, no such bucket) a PipelineError or UsageError. Both say what to do.
    """

    # -- the lake ------------------------------------------------------------------------------------------------

    def is_there(self) -> bool:
        """Whether there is such a place: a folder, or a prefix with an object below it."""

    def uri(self, path: str, /) -> str | None:
        """The address under which other services read a file, None for one that only this machine sees."""

    def read(self, path: str, /) -> bytes:
        """The bytes of a file. Raises FileNotFoundError, and StorageError when it is there and can't be read."""

    def read_many(self, paths: Iterable[str], /) -> dict[str, bytes]:
        """The bytes of those files that are there, in the order asked for."""

    def exists(self, path: str, /) -> bool:
        """Whether a file is there."""

    def paths(self, prefix: str = "", /) -> list[str]:
        """Every file below a folder, sorted; empty when the folder isn't there. Unfinished writes are left out."""

    def sizes(self, prefix: str, /) -> dict[str, int]:
        """Bytes of every file below a folder, by path; one listing, no file is opened."""

    def digests(self, prefix: str, /) -> dict[str, str]:
        """A digest of every file below a folder, by path: the same for the same bytes, wherever they are stored."""

    def create(self, path: str, data: bytes, /) -> bool:
        """Write a file that is never rewritten: False, and nothing changes, when it is there already."""

    def write_atomic(self, path: str, data: bytes, /) -> bool:
        """Replace a file whole: readers see the old bytes or the new ones. False when the bytes are the same."""

    def delete(self, path: str, /) -> bool:
        """Remove a file. False when it wasn't there."""

    def alone(self, lock: str, paths: Collection[str], action: Callable[[Files], _Result], /) -> _Result:
        """Do something to these files that holds only if nobody else changes them meanwhile.

        Either nobody can: others wait for this lock, which is freed when its holder ends, however it ends. Or whoever
        was slower begins again: then the action is repeated, so it must read what it rests on itself. The first path
        is the file that vouches for the others: it is looked at before them, and must be written before and after them.
        Raises StorageError when others are faster again and again.
        """

    def remove_unfinished(self, age: timedelta, /) -> int:
        """Remove what killed writers left, as far as it is older than this; how many files."""

    def at_once(self, work: Callable[[_Item], _Result], items: Iterable[_Item], /) -> list[_Result]:
        """The results of work that mostly waits for this place, in order; a few at a time where waiting is long."""

    # -- the runs root -------------------------------------------------------------------------------------------

    def list_run_directories(self) -> list[ListedEntry]:
        """Every child of the root, sorted by name. Raises PipelineError when the root isn't there."""

    def read_directory(self, path: str, max_bytes: int, /, only: Collection[str] | None = None) -> DirectoryFiles:
        """The regular files directly inside `path`, or only those named, as far as they are there.

        Never raises for what is wrong with the directory itself; PipelineError where the root is gone.
        """

    def stamp(self, path: str, /) -> FileStamp | None:
        """What a listing would tell of one regular file of the runs root, None when there is none."""

    def read_beside(self, path: str, max_bytes: int, /) -> bytes | None:
        """A file of the runs root that a run points to, None when it isn't there, is no file or is too large."""


def inside(root: object, path: str) -> PurePosixPath:
    """A path as relative to a root. Raises PipelineError for one that leads out of it."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        raise PipelineError(f"{path}: not a path inside {root}")
    return parts


def problem(reason: str, message: str) -> DirectoryFiles:
    """A directory whose files can't be trusted as a whole."""
    return DirectoryFiles(problem=reason, message=message)


def too_large(path: str, size: int, max_bytes: int) -> str:
    """What is said of a directory that isn't read because of its size."""
    return f"{path} holds {size} bytes, more than max_run_bytes ({max_bytes})"


def changed_while_read(path: str) -> DirectoryFiles:
    """A directory somebody wrote to while it was read."""
    return problem("changed_while_read", f"{path} changed while it was read; it is read again next time")


def digest_of(data: bytes) -> str:
    """The digest of a file that Cloud Storage knows without being sent it: its size and its CRC32C."""
    return digest(len(data), base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode())


def digest(size: int, crc32c: str) -> str:
    """Size and CRC32C (base64) as one text."""
    return f"{size}-{crc32c}"
