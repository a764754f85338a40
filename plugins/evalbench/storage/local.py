"""Local folders as a place of runs and lake."""

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from evalbench.errors import PipelineError, StorageError
from evalbench.storage.base import (
    DirectoryFiles,
    Files,
    FileStamp,
    ListedEntry,
    changed_while_read,
    digest_of,
    inside,
    problem,
    too_large,
)

TEMPORARY = ".tmp-"

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class LocalStorage:
    """Files under one local root."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)

    def __str__(self) -> str:
        """The root as given."""
        return str(self.root)

    # -- the lake ------------------------------------------------------------------------------------------------

    def is_there(self) -> bool:
        """Whether the folder is there."""
        return self.root.is_dir()

    def uri(self, path: str) -> None:
        """None: only this machine sees its files."""

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises FileNotFoundError, and StorageError when it is there and can't be read."""
        try:
            return self._at(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError(str(self._at(path))) from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StorageError(f"{self._at(path)}: can't be read ({reason}); check its rights") from error

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The bytes of those files that are there, in the order asked for."""
        found = {}
        for path in paths:
            with suppress(FileNotFoundError):
                found[path] = self.read(path)
        return found

    def exists(self, path: str) -> bool:
        """Whether a file is there."""
        return self._at(path).is_file()

    def paths(self, prefix: str = "") -> list[str]:
        """Every file below a folder, sorted; empty when the folder isn't there. Unfinished writes are left out."""
        base = self._at(prefix) if prefix else self.root
        found = (path for path in base.rglob("*") if path.is_file() and not path.name.startswith(TEMPORARY))
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that is never rewritten: False, and nothing changes, when it is there already."""
        target = self._at(path)
        if target.exists():
            return False
        temporary = self._write_temporary(target, data)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        _sync_folder(target.parent)
        return True

    def write_atomic(self, path: str, data: bytes) -> bool:
        """Replace a file whole: readers see the old bytes or the new ones. False when the bytes are the same."""
        target = self._at(path)
        if self.holds(path, data):
            return False
        temporary = self._write_temporary(target, data)
        try:
            temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
        return True

    def holds(self, path: str, data: bytes) -> bool:
        """Whether a file is there with these bytes."""
        target = self._at(path)
        try:
            return target.stat().st_size == len(data) and target.read_bytes() == data
        except (FileNotFoundError, NotADirectoryError):
            return False

    def sizes(self, prefix: str) -> dict[str, int]:
        """Bytes of every file below a folder, by path; one listing, no file is opened."""
        found = {}
        for path in self.paths(prefix):
            with suppress(FileNotFoundError):
                found[path] = self._at(path).stat().st_size
        return found

    def digests(self, prefix: str) -> dict[str, str]:
        """A digest of every file below a folder, by path; each is read."""
        return {path: digest_of(data) for path, data in self.read_many(self.paths(prefix)).items()}

    def delete(self, path: str) -> bool:
        """Remove a file. False when it wasn't there."""
        try:
            self._at(path).unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def remove_unfinished(self, age: timedelta) -> int:
        """Remove what killed writers left: temporary files older than this by the clock of their file system; how many.

        A living writer's are as young as its last write, so any age that no write takes is safe.
        """
        left = [
            Path(folder, name)
            for folder, _, names in os.walk(self.root)
            for name in names
            if name.startswith(TEMPORARY)
        ]
        if not left:
            return 0
        written_now = self._write_temporary(self.root / TEMPORARY, b"")
        oldest = written_now.stat().st_mtime_ns - age // timedelta(microseconds=1) * 1000
        written_now.unlink()
        return sum(_remove_older(path, oldest) for path in left)

    def alone(self, lock: str, paths: Collection[str], action: Callable[[Files], _Result]) -> _Result:
        """Do something while others wait for the lock of this name."""
        with self.exclusive(lock):
            return action(self)

    @contextmanager
    def exclusive(self, path: str) -> Iterator[None]:
        """Hold the lock of this name: nobody else does meanwhile. It is freed when its holder ends, however it ends."""
        target = self._at(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StorageError(f"{target}: can't be locked ({reason}); check its rights and space") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _at(self, path: str) -> Path:
        return self.root / inside(self.root, path)

    def _write_temporary(self, target: Path, data: bytes) -> Path:
        """The data, synced to disk, in a temporary file beside the target."""
        temporary = target.parent / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            reason = error.strerror or type(error).__name__
            raise StorageError(f"{target}: can't be written ({reason}); check its rights and space") from error
        return temporary

    def at_once(self, work: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """The results in order, one after the other: a disk is not waited for."""
        return [work(item) for item in items]

    # -- the runs root -------------------------------------------------------------------------------------------

    def list_run_directories(self) -> list[ListedEntry]:
        """Every child of the root, sorted by name, links never followed.

        Raises PipelineError when the root isn't there or can't be listed.
        """
        try:
            with os.scandir(self.root) as entries:
                return sorted((self._listed(entry) for entry in entries), key=lambda entry: entry.path)
        except FileNotFoundError as error:
            raise PipelineError(f"{self.root}: no such runs folder; check the path given") from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StorageError(f"{self.root}: can't list the runs folder ({reason}); check its rights") from error

    def _listed(self, entry: os.DirEntry[str]) -> ListedEntry:
        if entry.is_symlink():
            return ListedEntry(path=_text(entry.name), ignored=self._link(entry.path))
        if not entry.is_dir(follow_symlinks=False):
            return ListedEntry(path=_text(entry.name), ignored="not_a_directory")
        text = _text(entry.name)
        if text != entry.name:
            return ListedEntry(path=text, ignored="name_not_utf8")
        try:
            found = self._stats(Path(entry.path))
        except OSError as error:
            return ListedEntry(path=text, problem="unreadable", message=_unreadable(text, error))
        if outside := _outside(found):
            return ListedEntry(path=text, problem="link_outside_root", message=_links_out(text, outside))
        return ListedEntry(path=text, files=_stamps(found))

    def _link(self, path: str) -> str:
        """A link inside the root points to something that is listed itself; outside it is none of ours."""
        return "link_inside_root" if self._holds(Path(os.path.realpath(path))) else "link_outside_root"

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(os.path.realpath(self.root))

    def read_directory(self, path: str, max_bytes: int, only: Collection[str] | None = None) -> DirectoryFiles:
        """The regular files directly inside `path`, or only those named, as far as they are there.

        Never raises for what is wrong with the directory itself; StorageError where the root is gone.
        """
        folder = self.root / path
        if not self.root.is_dir():
            raise StorageError(f"{self.root}: the runs folder is gone; check its mount")
        if folder.is_symlink():
            return problem("link_outside_root", f"{path} became a link; links are not followed")
        try:
            before = self._stats(folder)
            if outside := _outside(before):
                return problem("link_outside_root", _links_out(path, outside))
            stamps = _stamps(before)
            size = sum(file.size for file in stamps.values())
            if size > max_bytes:
                return problem("too_large", too_large(path, size, max_bytes))
            names = [name for name in stamps if only is None or name in only]
            files = {name: self._read_at_most(folder / name, stamps[name].size) for name in names}
            after = self._stats(folder)
        except OSError as error:
            return problem("unreadable", _unreadable(path, error))
        if stamps != _stamps(after) or any(len(files[name]) != stamps[name].size for name in names):
            return changed_while_read(path)
        newest = max((info.st_mtime_ns for info in before.values() if info is not None), default=None)
        newest = folder.stat().st_mtime_ns if newest is None else newest
        mtime = datetime.fromtimestamp(newest // 1_000_000_000, tz=UTC)
        return DirectoryFiles(files=files, stamps=stamps, newest_mtime=mtime)

    def stamp(self, path: str) -> FileStamp | None:
        """What a listing would tell of one regular file of the runs root, None when there is none."""
        target = self._at(path)
        try:
            info = target.stat()
        except OSError:
            return None
        inside = self._holds(Path(os.path.realpath(target)))
        return _stamp(info) if inside and stat.S_ISREG(info.st_mode) else None

    def read_beside(self, path: str, max_bytes: int) -> bytes | None:
        """A file of the runs root that a run points to, None when it isn't there, is no file or is too large."""
        target = self._at(path)
        if not self._holds(Path(os.path.realpath(target))):
            return None
        try:
            info = target.stat()
            if not stat.S_ISREG(info.st_mode) or info.st_size > max_bytes:
                return None
            return self._read_at_most(target, info.st_size)
        except OSError:
            return None

    def _stats(self, folder: Path) -> dict[str, os.stat_result | None]:
        """Regular files of a folder by name; None for a link that leads out of the root."""
        found: dict[str, os.stat_result | None] = {}
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() and not self._holds(Path(os.path.realpath(entry.path))):
                    found[_text(entry.name)] = None
                elif entry.is_file():
                    found[entry.name] = entry.stat()
        return dict(sorted(found.items()))

    def _read_at_most(self, path: Path, size: int) -> bytes:
        """At most one byte more than expected: enough to see that a file grew, never more than was allowed."""
        # A file may have become a pipe since it was listed: opening one must not wait for its writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            return file.read(size + 1)


def _unreadable(path: str, error: OSError) -> str:
    return f"{path} can't be read ({error.strerror or type(error).__name__}); check its rights"


def _links_out(path: str, name: str) -> str:
    return f"{path}/{name} links out of the runs root"


def _outside(stats: Mapping[str, os.stat_result | None]) -> str | None:
    """The first file that is a link out of the root."""
    return next((name for name, info in stats.items() if info is None), None)


def _stamps(stats: Mapping[str, os.stat_result | None]) -> dict[str, FileStamp]:
    return {name: _stamp(info) for name, info in stats.items() if info is not None}


def _stamp(info: os.stat_result) -> FileStamp:
    """Copying tools set the time of modification back; the time of change can't be set, and gives them away."""
    return FileStamp(size=info.st_size, stamp=f"{info.st_mtime_ns}:{info.st_ctime_ns}")


def _text(name: str) -> str:
    """A file name as text; bytes that are not UTF-8 become the replacement character."""
    return os.fsencode(name).decode("utf-8", "replace")


def _remove_older(path: Path, mtime_ns: int) -> bool:
    """Remove a file that was last written before a moment; False when it wasn't, or is gone."""
    with suppress(FileNotFoundError):
        if path.stat().st_mtime_ns < mtime_ns:
            path.unlink()
            return True
    return False


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
