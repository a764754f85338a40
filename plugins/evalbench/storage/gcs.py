"""A prefix of a bucket in Cloud Storage as a place of runs and lake.

There are no locks here: every object has a generation, and a write or delete may be made to depend on it. Listings are
one paged request each; reads of several objects are made a few at a time.
"""

import base64
import gzip
import hashlib
import io
import random
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TypeVar

from google.api_core.exceptions import PreconditionFailed
from google.cloud.storage import Blob, Bucket

from evalbench.errors import PipelineError, StorageError
from evalbench.settings import GoogleAccess
from evalbench.storage.base import (
    DirectoryFiles,
    Files,
    FileStamp,
    ListedEntry,
    changed_while_read,
    digest,
    inside,
    problem,
    too_large,
)
from evalbench.storage.gcs_client import WORKERS, client_of, told

LISTED = "items(name,size,crc32c,generation,timeCreated,contentEncoding,kmsKeyName),nextPageToken"
ATTEMPTS = 20
LONGEST_PAUSE_S = 8.0
"""How often an action is repeated because others were faster, and the longest pause before it is."""
THREADS = "evalbench-gcs"
NO_FOLDERS = ("", ".", "..")

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class GcsStorage:
    """Objects below one prefix of a bucket."""

    def __init__(self, bucket: str, prefix: str, access: GoogleAccess | None) -> None:
        """Take a bucket, a prefix without slashes at its ends, and how to show oneself; nothing is asked yet."""
        self._name, self._prefix, self._access = bucket, f"{prefix}/" if prefix else "", access
        self._listed: Mapping[str, FileStamp] | None = None

    def __str__(self) -> str:
        """The address of the root."""
        return f"gs://{self._name}/{self._prefix}".rstrip("/")

    # -- the lake ------------------------------------------------------------------------------------------------

    def is_there(self) -> bool:
        """Whether there is an object below the prefix."""
        return next(self._list(self._prefix, most=1), None) is not None

    def uri(self, path: str) -> str:
        """The address of an object."""
        return f"gs://{self._name}/{self._key(path)}"

    def read(self, path: str) -> bytes:
        """The bytes of an object, decoded when it was stored compressed."""
        with told(self.uri(path)):
            return bytes(self._blob(path).download_as_bytes())

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The bytes of those that are there; a few requests at a time."""
        found = list(paths)
        return {
            path: data
            for path, data in zip(found, self.at_once(self._read_or_none, found), strict=True)
            if data is not None
        }

    def exists(self, path: str) -> bool:
        """Whether an object is there."""
        return self._look(path) is not None

    def paths(self, prefix: str = "") -> list[str]:
        """Every object below a folder, sorted."""
        return sorted(self._below(prefix))

    def sizes(self, prefix: str) -> dict[str, int]:
        """Bytes of every object below a folder, by path."""
        return {path: blob.size or 0 for path, blob in sorted(self._below(prefix).items())}

    def digests(self, prefix: str) -> dict[str, str]:
        """A digest of every object below a folder, by path, from the listing."""
        return {path: digest(blob.size or 0, _content(blob)) for path, blob in sorted(self._below(prefix).items())}

    def create(self, path: str, data: bytes) -> bool:
        """Write an object that is never rewritten: False, and nothing changes, when it is there already."""
        try:
            self._upload(path, data, 0)
        except PreconditionFailed:
            return False
        return True

    def write_atomic(self, path: str, data: bytes) -> bool:
        """Replace an object whole. False when the bytes are the same."""
        if _same(self._look(path), data):
            return False
        self._upload(path, data, None)
        return True

    def delete(self, path: str) -> bool:
        """Remove an object. False when it wasn't there."""
        return self._remove(path, None)

    def alone(self, lock: str, paths: Collection[str], action: Callable[[Files], _Result]) -> _Result:
        """Do something that depends on what these objects are when it begins; again when others were faster.

        No lock is taken: `lock` only names it for the error.
        """
        for attempt in range(ATTEMPTS):
            try:
                return action(_Generations(self, paths))
            except PreconditionFailed:
                time.sleep(random.uniform(0, min(0.1 * 2**attempt, LONGEST_PAUSE_S)))  # noqa: S311 - a pause, no secret
        raise StorageError(f"{self.uri(lock)}: others were faster {ATTEMPTS} times in a row; run it again")

    def remove_unfinished(self, age: timedelta) -> int:
        """None: an upload that isn't finished is no object."""
        return 0

    def at_once(self, work: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """The results in order, `WORKERS` at a time; one after the other for work that is itself one of several."""
        if threading.current_thread().name.startswith(THREADS):
            return [work(item) for item in items]
        with ThreadPoolExecutor(WORKERS, thread_name_prefix=THREADS) as pool:
            return list(pool.map(work, items))

    def known(self, paths: Iterable[str]) -> dict[str, Blob | None]:
        """What Cloud Storage tells of each of these objects now, None for one that isn't there."""
        found = list(paths)
        return dict(zip(found, self.at_once(self._look, found), strict=True))

    def write_if(self, path: str, data: bytes, before: Blob | None) -> Blob:
        """Replace an object if it still is what it was; what it is now. Raises PreconditionFailed when it isn't."""
        return self._upload(path, data, before.generation if before is not None else 0)

    def delete_if(self, path: str, before: Blob) -> None:
        """Remove an object if it still is what it was. Raises PreconditionFailed when it isn't."""
        self._remove(path, before.generation)

    # -- the runs root -------------------------------------------------------------------------------------------

    def list_run_directories(self) -> list[ListedEntry]:
        """Every child of the prefix, sorted by name: one paged listing of everything below it.

        What it tells of each object is kept, and is what `stamp` says from then on.
        """
        found = {blob.name.removeprefix(self._prefix): blob for blob in self._list(self._prefix)}
        if not found and self._prefix:
            raise PipelineError(f"{self}: nothing is stored below this prefix; check the path given")
        self._listed = {path: _stamp(blob) for path, blob in found.items() if not path.endswith("/")}
        directories: dict[str, dict[str, FileStamp]] = {}
        for path in found:
            child, slash, name = path.partition("/")
            if slash:
                files = directories.setdefault(child, {})
                if name and "/" not in name:
                    files[name] = self._listed[path]
        loose = [path for path in found if path and "/" not in path and path not in directories]
        entries = [_entry(child, files) for child, files in directories.items()]
        entries += [ListedEntry(path=path, ignored="not_a_directory") for path in loose]
        return sorted(entries, key=lambda entry: entry.path)

    def read_directory(self, path: str, max_bytes: int, only: Collection[str] | None = None) -> DirectoryFiles:
        """The objects directly inside `path`, or only those named, as far as they are there: as they were listed."""
        before = self._directly_inside(path)
        newest = _newest(before.values() or self._list(f"{self._prefix}{path}/", most=1))
        if newest is None:
            return problem("unreadable", f"{path} can't be read (nothing is there any more)")
        stamps = {name: _stamp(blob) for name, blob in before.items() if name}
        size = sum(file.size for file in stamps.values())
        if size > max_bytes:
            return problem("too_large", too_large(path, size, max_bytes))
        wanted = [blob for name, blob in before.items() if name and (only is None or name in only)]
        read = self.at_once(lambda blob: self._read_listed(blob, max_bytes), wanted)
        after = self._directly_inside(path)
        if None in read or _written(before) != _written(after):
            return changed_while_read(path)
        names = (blob.name.rpartition("/")[2] for blob in wanted)
        files = {name: data for name, data in zip(names, read, strict=True) if data is not None}
        if (size := sum(map(len, files.values()))) > max_bytes:
            return problem("too_large", too_large(path, size, max_bytes))
        return DirectoryFiles(files=files, stamps=stamps, newest_mtime=newest)

    def stamp(self, path: str) -> FileStamp | None:
        """What the last listing told of an object, where there was one, else what is told of it now."""
        if self._listed is not None:
            return self._listed.get(path)
        blob = self._look(path)
        return _stamp(blob) if blob is not None else None

    def read_beside(self, path: str, max_bytes: int) -> bytes | None:
        """An object that a run points to, None when it isn't there or is too large."""
        blob = self._look(path)
        if blob is None or (blob.size or 0) > max_bytes:
            return None
        data = self._read_listed(blob, max_bytes)
        return data if data is not None and len(data) <= max_bytes else None

    # -- requests ------------------------------------------------------------------------------------------------

    def _bucket(self) -> Bucket:
        return client_of(self._access).bucket(self._name)

    def _key(self, path: str) -> str:
        return f"{self._prefix}{inside(self, path)}"

    def _blob(self, path: str) -> Blob:
        return self._bucket().blob(self._key(path))

    def _look(self, path: str) -> Blob | None:
        with told(self.uri(path)):
            return self._bucket().get_blob(self._key(path))

    def _list(self, prefix: str, *, directly: bool = False, most: int | None = None) -> Iterator[Blob]:
        """Objects by the beginning of their names. Raises PipelineError without the bucket."""
        try:
            with told(str(self)):
                yield from client_of(self._access).list_blobs(
                    self._name, prefix=prefix, delimiter="/" if directly else None, max_results=most, fields=LISTED
                )
        except FileNotFoundError as error:
            raise self._no_bucket() from error

    def _below(self, prefix: str) -> dict[str, Blob]:
        """Objects of the lake below a folder, by path."""
        start = f"{self._key(prefix)}/" if prefix else self._prefix
        return {blob.name.removeprefix(self._prefix): blob for blob in self._list(start) if blob.name[-1:] != "/"}

    def _directly_inside(self, path: str) -> dict[str, Blob]:
        """Objects of a run directory by name; "" for the placeholder some tools make of a folder."""
        folder = f"{self._prefix}{path}/"
        return {blob.name.removeprefix(folder): blob for blob in self._list(folder, directly=True)}

    def _no_bucket(self) -> PipelineError:
        return PipelineError(f"{self}: no such bucket; check its name")

    def _read_or_none(self, path: str) -> bytes | None:
        try:
            return self.read(path)
        except FileNotFoundError:
            return None

    def _read_listed(self, blob: Blob, max_bytes: int) -> bytes | None:
        """The very bytes that were listed, decoded; None when they aren't there any more.

        At most one byte more than allowed: a small object may be a large file, compressed.
        """
        try:
            with told(f"gs://{self._name}/{blob.name}"):
                pinned = self._bucket().blob(blob.name, generation=blob.generation)
                data = bytes(pinned.download_as_bytes(raw_download=True)) if blob.size else b""
        except FileNotFoundError:
            return None
        return _decoded(data, max_bytes) if blob.content_encoding == "gzip" else data

    def _upload(self, path: str, data: bytes, generation: int | None) -> Blob:
        blob = self._blob(path)
        try:
            with told(self.uri(path)):
                blob.upload_from_string(
                    data, content_type="application/octet-stream", if_generation_match=generation, checksum="crc32c"
                )
        except FileNotFoundError as error:
            raise self._no_bucket() from error
        return blob

    def _remove(self, path: str, generation: int | None) -> bool:
        try:
            with told(self.uri(path)):
                self._blob(path).delete(if_generation_match=generation)
        except FileNotFoundError:
            return False
        return True


class _Generations:
    """Some objects as they were: each can be changed only as long as nobody else has."""

    def __init__(self, storage: GcsStorage, paths: Collection[str]) -> None:
        first, *others = paths
        self._storage, self._known = storage, storage.known([first]) | storage.known(others)

    def exists(self, path: str) -> bool:
        return self._known[path] is not None

    def holds(self, path: str, data: bytes) -> bool:
        return _same(self._known[path], data)

    def write_atomic(self, path: str, data: bytes) -> bool:
        """Also where the bytes are the same: whoever else holds the generation before this one has lost by it."""
        self._known[path] = self._storage.write_if(path, data, self._known[path])
        return True

    def delete(self, path: str) -> bool:
        before = self._known[path]
        if before is not None:
            self._storage.delete_if(path, before)
            self._known[path] = None
        return before is not None


def _same(blob: Blob | None, data: bytes) -> bool:
    """Whether an object holds these bytes, by what Cloud Storage tells of it."""
    if blob is None or blob.size != len(data):
        return False
    md5 = hashlib.md5(data, usedforsecurity=False).digest()
    return bool(blob.md5_hash == base64.b64encode(md5).decode())


def _stamp(blob: Blob) -> FileStamp:
    return FileStamp(size=blob.size or 0, stamp=_content(blob))


def _content(blob: Blob) -> str:
    """The content's checksum: an object that is copied or written again with the same bytes has not changed.

    No listing tells it of objects under a key of the customer's: there every write counts as a change.
    """
    return str(blob.generation if blob.kms_key_name else blob.crc32c)


def _written(blobs: Mapping[str, Blob]) -> dict[str, int]:
    return {name: blob.generation for name, blob in blobs.items()}


def _newest(blobs: Iterable[Blob]) -> datetime | None:
    """When one of these was last written, to the second, as files tell it; None for none."""
    newest: datetime | None = max((blob.time_created for blob in blobs), default=None)
    return newest.replace(microsecond=0) if newest is not None else None


def _entry(child: str, files: Mapping[str, FileStamp]) -> ListedEntry:
    if child in NO_FOLDERS:
        return ListedEntry(path=f"{child}/", ignored="no_name")
    return ListedEntry(path=child, files=dict(sorted(files.items())))


def _decoded(data: bytes, max_bytes: int) -> bytes:
    """A compressed object as its reader sees it; as it is when it isn't compressed after all, or not to its end."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return file.read(max_bytes + 1)
    except (EOFError, OSError, zlib.error):
        return data
