"""What is special about runs and a lake in a bucket: no folders, no locks, but pages, generations and a server."""

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import pytest
from google.auth.credentials import Credentials
from google.auth.exceptions import RefreshError
from google.cloud.storage import Blob, Bucket
from google.cloud.storage.retry import DEFAULT_RETRY
from tests.cloud.emulators import Gcs
from tests.cloud.middle import Meddle, Middle, Request, between

from evalbench.errors import EvalbenchError, PipelineError, StorageError, UsageError
from evalbench.settings import GoogleAccess, Settings
from evalbench.storage import Files, Storage, hint_of, open_storage
from evalbench.storage import gcs as module
from evalbench.storage.gcs_client import WORKERS, client_of

MEGABYTE = 1024 * 1024
CALLS: dict[str, Callable[[Storage], object]] = {
    "is_there": lambda root: root.is_there(),
    "read": lambda root: root.read("a"),
    "read_many": lambda root: root.read_many(["a", "b"]),
    "exists": lambda root: root.exists("a"),
    "paths": lambda root: root.paths("a"),
    "sizes": lambda root: root.sizes("a"),
    "digests": lambda root: root.digests("a"),
    "create": lambda root: root.create("a", b"x"),
    "write_atomic": lambda root: root.write_atomic("a", b"x"),
    "delete": lambda root: root.delete("a"),
    "alone": lambda root: root.alone("lock", ["a"], lambda files: files.write_atomic("a", b"x")),
    "list_run_directories": lambda root: root.list_run_directories(),
    "read_directory": lambda root: root.read_directory("a", MEGABYTE),
    "stamp": lambda root: root.stamp("a/evals.csv"),
    "read_beside": lambda root: root.read_beside("a", MEGABYTE),
}
LOOKS = ("read_many", "exists", "delete", "stamp", "read_beside")
"""Ask for one object only: the answer is the same without the bucket."""


@pytest.fixture
def middle(gcs: Gcs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Middle]:
    """Cloud Storage with what the emulator leaves out, in the place of Google's."""
    with between(gcs.url) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's client asks again as ever, but within a third of a second instead of two minutes."""
    for name, seconds in (("_initial", 0.01), ("_maximum", 0.05), ("_timeout", 0.3)):
        monkeypatch.setattr(DEFAULT_RETRY, name, seconds)


@pytest.fixture
def storage(middle: Middle, bucket: Bucket) -> Storage:
    """The root `nightly` of an empty bucket, reached through the server between."""
    return root_in(bucket.name)


class Token(Credentials):
    """A token that can be had anew whenever it is refused."""

    def refresh(self, request: object) -> None:
        """Have it."""
        self.token = "ya29.of-this-test"


class Revoked(Credentials):
    """A key that was deleted."""

    def refresh(self, request: object) -> None:
        """What Google's library raises when the token endpoint says invalid_grant."""
        raise RefreshError("invalid_grant: Invalid JWT Signature.", retryable=False)  # type: ignore[no-untyped-call]


def root_in(bucket: str, prefix: str = "/nightly") -> Storage:
    """A root reached by a client of its own: there is one for each way of access."""
    access = GoogleAccess(credentials=lambda: Token())  # noqa: PLW0108 - no two are equal
    return open_storage(f"gs://{bucket}{prefix}", Settings(google=access))


def put(bucket: Bucket, path: str, data: bytes = b"x") -> None:
    """Write an object around the product, also around the server between."""
    bucket.blob(f"nightly/{path}").upload_from_string(data)


def at_first(wanted: Callable[[Request], bool], action: Callable[[], object]) -> Meddle:
    """Do something before the first such request is answered, and nothing else."""
    left = [action]

    def meddle(request: Request) -> None:
        if wanted(request) and left:
            left.pop()()

    return meddle


def of(bucket: Bucket, name: str) -> list[int]:
    """The generation of an object, none when it isn't there."""
    blob = bucket.get_blob(f"nightly/{name}")
    return [] if blob is None else [blob.generation]


# -- listing ---------------------------------------------------------------------------------------------------------


def test_a_listing_costs_pages_not_directories(middle: Middle, storage: Storage, bucket: Bucket) -> None:
    """Three hundred directories of four files, and one lake beside: two requests, and nothing is missing."""
    files = ("configs.csv", "evals.csv", "scores.csv", "summary.csv")
    names = [f"run-{number:03}/{name}" for number in range(300) for name in files]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: put(bucket, name), names))
    bucket.blob("beside/object").upload_from_string(b"x")
    entries = storage.list_run_directories()
    assert names == [f"{entry.path}/{name}" for entry in entries for name in entry.files]
    assert [True, True] == [request.lists for request in middle.requests]
    middle.requests.clear()
    assert (sorted(names), 2) == (storage.paths(), len(middle.requests))


def test_a_directory_costs_two_listings_and_its_files(middle: Middle, storage: Storage, bucket: Bucket) -> None:
    """Listed before and after, whatever lies deeper inside; each file wanted is asked for once."""
    for name in ("run/evals.csv", "run/scores.csv", "run/big.bin", *(f"run/deep/{number}" for number in range(20))):
        put(bucket, name)
    taken = storage.read_directory("run", MEGABYTE, only=("evals.csv", "scores.csv"))
    assert (["evals.csv", "scores.csv"], 3) == (sorted(taken.files), len(taken.stamps))
    assert [2, 2, 4] == [
        sum(request.lists for request in middle.requests),
        sum(request.reads for request in middle.requests),
        len(middle.requests),
    ]


def test_what_some_tools_leave_for_folders_is_no_file(storage: Storage, bucket: Bucket) -> None:
    """Consoles and mounts make empty objects whose names end with a slash: of the root, a directory, one inside."""
    for name in ("", "run/", "run/evals.csv", "run/deep/", "empty/"):
        put(bucket, name, b"" if name[-4:] != ".csv" else b"x")
    entries = storage.list_run_directories()
    assert [("empty", None, []), ("run", None, ["evals.csv"])] == [
        (entry.path, entry.ignored, list(entry.files)) for entry in entries
    ]
    assert ["run/evals.csv"] == storage.paths()
    assert {"evals.csv": b"x"} == storage.read_directory("run", MEGABYTE).files
    empty = storage.read_directory("empty", MEGABYTE)
    assert (None, {}) == (empty.problem, empty.files)


def test_names_no_folder_could_have_harm_nobody(storage: Storage, bucket: Bucket) -> None:
    """Nothing is taken for a run directory by them, and the one beside them is read as ever."""
    for name in ("../evals.csv", "./evals.csv", "/evals.csv", "//", "..", ".", "run/evals.csv", "run/../x", "run//y"):
        put(bucket, name)
    entries = storage.list_run_directories()
    assert [("run", ["evals.csv"])] == [(entry.path, list(entry.files)) for entry in entries if not entry.ignored]
    assert len(entries) == len({entry.path for entry in entries})
    assert {"evals.csv": b"x"} == storage.read_directory("run", MEGABYTE).files


def test_the_longest_name_there_may_be(storage: Storage, bucket: Bucket) -> None:
    """1,024 bytes, in a directory as in the lake."""
    directory, file = "d" * 500, "f" * (1024 - 500 - len("nightly//"))
    put(bucket, f"{directory}/{file}")
    (entry,) = storage.list_run_directories()
    assert (directory, [file]) == (entry.path, list(entry.files))
    assert {file: b"x"} == storage.read_directory(directory, MEGABYTE).files
    assert [True, b"lake"] == [
        storage.write_atomic(f"{directory}/{file}", b"lake"),
        storage.read(f"{directory}/{file}"),
    ]


def test_a_whole_bucket_can_be_a_root(middle: Middle, bucket: Bucket) -> None:
    """Without a prefix every first part of a name is a child; an empty one has none."""
    root = root_in(bucket.name, "")
    assert ([], False) == (root.list_run_directories(), root.is_there())
    put(bucket, "evals.csv")
    assert [("nightly", {"evals.csv": b"x"})] == [
        (entry.path, root.read_directory(entry.path, MEGABYTE).files) for entry in root.list_run_directories()
    ]
    assert f"gs://{bucket.name}" == str(root)
    assert f"gs://{bucket.name}/trends/x" == root.uri("trends/x")


def test_a_prefix_is_a_folder(storage: Storage, bucket: Bucket) -> None:
    """What another one's name begins with is not in it."""
    bucket.blob("nightly2/run/evals.csv").upload_from_string(b"x")
    assert ([], False) == (storage.paths(), storage.is_there())
    with pytest.raises(PipelineError, match="check the path"):
        storage.list_run_directories()


# -- hints -----------------------------------------------------------------------------------------------------------


def test_the_same_bytes_written_again_look_the_same(storage: Storage, bucket: Bucket) -> None:
    """A directory that was only copied again is not read again; the objects themselves are new."""
    put(bucket, "run/evals.csv", b"one")
    (before,), generation = storage.list_run_directories(), of(bucket, "run/evals.csv")
    put(bucket, "run/evals.csv", b"one")
    (after,) = storage.list_run_directories()
    assert generation != of(bucket, "run/evals.csv")
    assert hint_of(before.files) == hint_of(after.files)


def test_after_a_listing_stamps_cost_nothing(middle: Middle, storage: Storage, bucket: Bucket) -> None:
    """The listing told of every object, so files that runs point to need no request each."""
    put(bucket, "sets/a.json")
    storage.list_run_directories()
    middle.requests.clear()
    assert [True, False, 0] == [
        storage.stamp("sets/a.json") is not None,
        storage.stamp("sets/gone.json") is not None,
        len(middle.requests),
    ]


# -- races -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["rewritten", "added", "deleted", "same bytes"])
@pytest.mark.parametrize("moment", ["before the first byte", "after the last"])
def test_a_directory_that_changes_while_it_is_read_is_not_trusted(
    middle: Middle, storage: Storage, bucket: Bucket, change: str, moment: str
) -> None:
    """Half of the old and half of the new is neither, whichever file changed and whenever."""
    for name in ("run/evals.csv", "run/scores.csv"):
        put(bucket, name, b"old")
    changes: dict[str, Callable[[], None]] = {
        "rewritten": lambda: put(bucket, "run/scores.csv", b"new"),
        "added": lambda: put(bucket, "run/summary.csv", b"new"),
        "deleted": lambda: bucket.blob("nightly/run/scores.csv").delete(),
        "same bytes": lambda: put(bucket, "run/scores.csv", b"old"),
    }
    listings = iter((False, True))
    wanted = (lambda request: request.reads) if moment != "after the last" else (
        lambda request: request.lists and next(listings, False)
    )  # fmt: skip
    middle.meddle = at_first(wanted, changes[change])
    taken = storage.read_directory("run", MEGABYTE)
    assert ("changed_while_read", {}) == (taken.problem, taken.files)
    assert storage.read_directory("run", MEGABYTE).problem is None


def test_only_one_creates(storage: Storage, bucket: Bucket) -> None:
    """Of eight at once exactly one is told that it wrote, and its bytes are there."""
    for number in range(10):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda who: storage.create(f"log/{number}", str(who).encode()), range(8)))  # noqa: B023
        assert 1 == sum(won)
        assert str(won.index(True)).encode() == storage.read(f"log/{number}")


def add(root: Storage, path: str, line: str) -> None:
    """Add a line to a file that others add to as well."""

    def action(files: Files) -> None:
        before = root.read(path) if files.exists(path) else b""
        files.write_atomic(path, before + f"{line}\n".encode())

    root.alone("locks/day", [path], action)


def test_a_slower_writer_begins_again(middle: Middle, storage: Storage, bucket: Bucket) -> None:
    """What another one wrote after it had looked is in what it writes in the end."""
    put(bucket, "commits/day", b"one\n")
    middle.meddle = at_first(lambda request: request.uploads, lambda: put(bucket, "commits/day", b"one\ntwo\n"))
    add(storage, "commits/day", "three")
    assert b"one\ntwo\nthree\n" == storage.read("commits/day")


def test_a_slower_first_writer_begins_again(middle: Middle, storage: Storage, bucket: Bucket) -> None:
    """Also when there was nothing there when it looked."""
    middle.meddle = at_first(lambda request: request.uploads, lambda: put(bucket, "commits/day", b"one\n"))
    add(storage, "commits/day", "two")
    assert b"one\ntwo\n" == storage.read("commits/day")


def test_a_slower_deletion_begins_again(middle: Middle, storage: Storage, bucket: Bucket) -> None:
    """An object that another one replaced meanwhile is not deleted unseen."""
    put(bucket, "trends/x", b"old")
    middle.meddle = at_first(lambda request: request.method == "DELETE", lambda: put(bucket, "trends/x", b"new"))

    def action(files: Files) -> bool:
        return files.holds("trends/x", b"old") and files.delete("trends/x")

    assert not storage.alone("locks/day", ["trends/x"], action)
    assert b"new" == storage.read("trends/x")


def test_no_line_is_lost_among_many_writers(storage: Storage) -> None:
    """Four writers with eight lines each: all are there, each writer's in its order."""
    writers, lines = range(4), range(8)

    def work(writer: int) -> None:
        for line in lines:
            add(storage, "commits/day", f"{writer}:{line}")

    with ThreadPoolExecutor(len(writers)) as pool:
        list(pool.map(work, writers))
    found = storage.read("commits/day").decode().split()
    assert [[f"{writer}:{line}" for line in lines] for writer in writers] == [
        [line for line in found if line.startswith(f"{writer}:")] for writer in writers
    ]


def test_whoever_loses_again_and_again_says_so(
    middle: Middle, storage: Storage, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transient failure, so that it is tried again later."""
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.01)

    def meddle(request: Request) -> None:
        if request.uploads:
            put(bucket, "commits/day", b"others\n")

    middle.meddle = meddle
    with pytest.raises(StorageError, match=r"locks/day: others were faster .*run it again"):
        add(storage, "commits/day", "mine")
    assert b"others\n" == storage.read("commits/day")


# -- compressed objects ----------------------------------------------------------------------------------------------


def put_gzip(bucket: Bucket, path: str, stored: bytes) -> None:
    """Write an object as uploads with compression leave it."""
    blob = bucket.blob(f"nightly/{path}")
    blob.content_encoding = "gzip"
    blob.upload_from_string(stored)


def test_a_compressed_object_is_read_as_its_content(storage: Storage, bucket: Bucket) -> None:
    """Uploads with compression (`gcloud storage cp -Z`) store it so; one that is only marked so is taken as it is."""
    content = b"id,score\n" * 1000
    put_gzip(bucket, "run/evals.csv", gzip.compress(content))
    put_gzip(bucket, "run/two.csv", gzip.compress(content) + gzip.compress(b"more\n"))
    put_gzip(bucket, "run/empty.csv", b"")
    put_gzip(bucket, "run/plain.csv", b"id,score\n")
    taken = storage.read_directory("run", MEGABYTE)
    assert {
        "empty.csv": b"",
        "evals.csv": content,
        "plain.csv": b"id,score\n",
        "two.csv": content + b"more\n",
    } == taken.files
    assert content == storage.read_beside("run/evals.csv", MEGABYTE)


def test_a_compressed_object_that_is_cut_is_not_half_of_its_content(storage: Storage, bucket: Bucket) -> None:
    """Rows that are missing from its end would be missing from every count."""
    stored = gzip.compress(b"".join(b"%d,score\n" % number for number in range(10_000)))[:-200]
    put_gzip(bucket, "run/evals.csv", stored)
    taken = storage.read_directory("run", MEGABYTE)
    assert taken.problem is not None or {"evals.csv": stored} == taken.files


def test_a_small_object_that_is_a_large_file_is_too_large(storage: Storage, bucket: Bucket) -> None:
    """The limit is on what would be read."""
    put_gzip(bucket, "run/evals.csv", gzip.compress(bytes(MEGABYTE)))
    taken = storage.read_directory("run", MEGABYTE - 1)
    assert ("too_large", {}) == (taken.problem, taken.files)
    assert storage.read_beside("run/evals.csv", MEGABYTE - 1) is None
    assert storage.read_directory("run", MEGABYTE).problem is None


# -- a server that fails ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("status", [401, 403])
def test_without_rights_the_operator_is_told_which_to_give(
    middle: Middle, storage: Storage, call: str, status: int
) -> None:
    """No retry, and no failure that passes by itself: what was asked for, and where roles are documented."""
    middle.meddle = lambda _: status
    with pytest.raises(PipelineError, match=rf"^gs://.*nightly.*\({status}\b.*docs/deploy\.md") as raised:
        CALLS[call](storage)
    assert not isinstance(raised.value, StorageError)


@pytest.mark.parametrize("call", ["paths", "create", "alone", "list_run_directories", "read_directory"])
def test_credentials_that_are_revoked_are_no_failure_that_passes(middle: Middle, bucket: Bucket, call: str) -> None:
    """Trying again would only hide for a while that somebody has to give new ones."""
    access = GoogleAccess(credentials=lambda: Revoked())  # noqa: PLW0108 - likewise
    with pytest.raises(EvalbenchError, match="redentials") as raised:
        CALLS[call](open_storage(f"gs://{bucket.name}/nightly", Settings(google=access)))
    assert not isinstance(raised.value, StorageError)


@pytest.mark.parametrize("call", [call for call in CALLS if call not in LOOKS])
def test_without_the_bucket_it_is_said(middle: Middle, call: str) -> None:
    """Whatever is done first; no look at one object tells a missing bucket from a missing object."""
    root = root_in("no-such-bucket-anywhere")
    expected = FileNotFoundError if call == "read" else EvalbenchError
    with pytest.raises(expected, match="gs://no-such-bucket-anywhere"):
        CALLS[call](root)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_busy_is_a_failure_that_passes(middle: Middle, storage: Storage, call: str) -> None:
    """Asked again for as long as Google's client does by itself, then a StorageError."""
    middle.meddle = lambda _: 503
    with pytest.raises(StorageError, match=r"^gs://.*nightly.*again"):
        CALLS[call](storage)
    assert 1 < len(middle.requests)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.usefixtures("impatient")
def test_a_short_failure_is_not_noticed(middle: Middle, storage: Storage, bucket: Bucket, status: int) -> None:
    """Reads, listings, creations and deletions are repeated by themselves."""
    put(bucket, "run/evals.csv")
    asked: set[str] = set()

    def meddle(request: Request) -> int | None:
        kind = f"{request.method} {request.lists} {request.reads}"
        first = kind not in asked
        asked.add(kind)
        return status if first else None

    middle.meddle = meddle
    assert {"evals.csv": b"x"} == storage.read_directory("run", MEGABYTE).files
    assert [True, True] == [storage.create("facts/a", b"x"), storage.delete("facts/a")]


@pytest.mark.usefixtures("impatient")
def test_without_a_server_it_is_a_failure_that_passes(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there: a StorageError, no exception of some library."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match=rf"gs://{bucket.name}/nightly.*again"):
        root_in(bucket.name).list_run_directories()


def test_without_credentials_it_is_said_where_to_give_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A connection, a service account, or a login."""
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GCLOUD_", "CLOUDSDK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    client_of.cache_clear()
    try:
        with pytest.raises(UsageError, match="EVALBENCH_GOOGLE_CONNECTION"):
            open_storage("gs://some-bucket/nightly", Settings()).list_run_directories()
    finally:
        client_of.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "gs://no-such-bucket-anywhere/runs", "--lake", "lake"], 1, "gs://no-such-bucket-anywhere/runs"),
        (["run", "runs", "--lake", "gs://no-such-bucket-anywhere/lake"], 1, "gs://no-such-bucket-anywhere"),
        (["gate", "--lake", "gs://no-such-bucket-anywhere/lake"], 1, "gs://no-such-bucket-anywhere"),
        (["query", "--lake", "gs://no-such-bucket-anywhere/lake", "SELECT 1"], 1, "gs://no-such-bucket-anywhere"),
        (["score", "gs://no-such-bucket-anywhere/runs/one"], 1, "gs://no-such-bucket-anywhere/runs"),
        (["doctor", "gs://no-such-bucket-anywhere/runs/one"], 1, "gs://no-such-bucket-anywhere/runs"),
        (["run", "https://bucket.example/runs", "--lake", "lake"], 2, "https"),
        (["run", "s3://bucket/runs", "--lake", "lake"], 2, "s3"),
        (["run", "runs", "--lake", "gs://not allowed/lake"], 2, "gs://not allowed"),
    ],
)
def test_the_command_line_says_it_in_one_line(
    gcs: Gcs, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    """No traceback: the place and what to do."""
    (tmp_path / "runs").mkdir()
    command = [str(Path(sys.executable).with_name("evalbench")), *arguments]
    environment = {**os.environ, **gcs.environment()}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert code == done.returncode, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert said in line
    assert "bug" not in line


def test_the_file_that_vouches_is_looked_at_first(middle: Middle, storage: Storage) -> None:
    """Before any other: else another writer could come in between, and what it wrote be vouched for as the old."""
    asked: list[int] = []

    def meddle(request: Request) -> None:
        if request.name.endswith("commits/day"):
            time.sleep(0.2)
            asked.append(len(middle.requests))

    middle.meddle = meddle
    storage.alone("locks/day", ["commits/day", *(f"trends/{number}" for number in range(12))], lambda _: None)
    assert ([1], 13) == (asked, len(middle.requests))


def test_work_within_work_asks_no_more_at_a_time(middle: Middle, storage: Storage) -> None:
    """However deep the calls are nested, a process has at most so many requests under way."""
    lock, under_way, most = Lock(), 0, 0

    def meddle(request: Request) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        with lock:
            under_way -= 1
        return 404

    middle.meddle = meddle
    storage.at_once(lambda folder: storage.read_many([f"{folder}/{name}" for name in "abcd"]), "efghijklmnop")
    assert 1 < most <= WORKERS


def test_an_object_under_a_key_of_the_customers_changes_with_every_write() -> None:
    """Listings don't tell its checksum, and the same size alone is no sign of the same content."""
    told = {"size": "3", "kmsKeyName": "projects/p/locations/eu/keyRings/r/cryptoKeys/k"}
    stamps = []
    for generation in ("1", "2"):
        blob = Blob("runs/a", None)
        blob._set_properties({**told, "generation": generation})
        stamps.append(module._stamp(blob))
    assert stamps[0] != stamps[1]
