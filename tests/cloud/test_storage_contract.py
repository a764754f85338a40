"""What holds of runs and lake wherever they are: in a local folder and in a bucket, by the same tests."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalbench.errors import PipelineError
from evalbench.settings import Settings
from evalbench.storage import Files, Storage, hint_of, open_storage

MEGABYTE = 1024 * 1024
ODD = (
    " leading", "with space", "ünïcode-☃", "new\nline", "tab\t", "100%25", "q?x=1&y", "#hash", "plus+", "semi;colon",
    "*star", "[bracket]", "{brace}", "back\\slash", "'quote\"", "-dash", "~tilde", "…", "a:b", "k" * 200,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A root as the product has it, and ways around it. put, remove: one file, by its path below the root."""

    storage: Storage
    put: Callable[[str, bytes], None]
    remove: Callable[[str], None]


@pytest.fixture(params=["disk", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty root, each kind in turn."""
    if request.param == "disk":
        root = tmp_path / "nightly"

        def put(path: str, data: bytes) -> None:
            time.sleep(0.01)  # a disk's clock ticks every few milliseconds only
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)

        return Place(storage=open_storage(str(root), Settings()), put=put, remove=lambda path: (root / path).unlink())
    bucket = request.getfixturevalue("bucket")
    return Place(
        storage=open_storage(f"gs://{bucket.name}/nightly", Settings()),
        put=lambda path, data: bucket.blob(f"nightly/{path}").upload_from_string(data),
        remove=lambda path: bucket.blob(f"nightly/{path}").delete(),
    )


def test_create_never_rewrites(place: Place) -> None:
    """The first write stays; a second one says so and changes nothing."""
    lake = place.storage
    assert [True, False] == [lake.create("facts/a/b.parquet", data) for data in (b"first", b"second")]
    assert b"first" == lake.read("facts/a/b.parquet")


def test_a_file_is_replaced_whole_and_only_when_its_bytes_differ(place: Place) -> None:
    """The answer says whether anything was written."""
    lake = place.storage
    assert [True, False, True, True, False] == [
        lake.write_atomic("trends/x", data) for data in (b"one", b"one", b"two", b"", b"")
    ]
    assert b"" == lake.read("trends/x")


def test_what_is_below_a_folder(place: Place) -> None:
    """Sorted, by path from the root, at any depth; a folder whose name only begins alike is another."""
    for path in ("runs/b", "runs/a/x/y", "runs2/c", "run", "d"):
        place.put(path, path.encode())
    lake = place.storage
    assert ["runs/a/x/y", "runs/b"] == lake.paths("runs")
    assert ["d", "run", "runs/a/x/y", "runs/b", "runs2/c"] == lake.paths()
    assert {"runs/a/x/y": 10, "runs/b": 6} == lake.sizes("runs")
    assert [[], {}, {}] == [lake.paths("runs/c"), lake.sizes("runs/c"), lake.digests("runs/c")]
    assert [[], {}, {}] == [lake.paths("d"), lake.sizes("d"), lake.digests("d")]


def test_a_digest_is_of_the_bytes_alone(place: Place) -> None:
    """Size and CRC32C, the same text wherever the bytes are; so lakes can be compared without reading one."""
    place.put("trends/one", b"one")
    place.storage.create("trends/empty", b"")
    assert {"trends/empty": "0-AAAAAA==", "trends/one": "3-KpSy6Q=="} == place.storage.digests("trends")


def test_reading_what_is_not_there(place: Place) -> None:
    """One file raises; of many those that are there come back, in the order asked for."""
    place.put("a/1", b"one")
    place.put("a/2", b"two")
    lake = place.storage
    for path in ("a/3", "a/1/x", "gone/x"):
        with pytest.raises(FileNotFoundError):
            lake.read(path)
    assert [("a/2", b"two"), ("a/1", b"one")] == list(lake.read_many(["a/2", "a/3", "a/1", "gone/x"]).items())
    assert {} == lake.read_many([])


def test_many_files_are_read(place: Place) -> None:
    """More than are read at a time, each with its own bytes, in order."""
    paths = [f"facts/{number:02}" for number in range(40)]
    for path in paths:
        place.put(path, path.encode())
    assert [(path, path.encode()) for path in reversed(paths)] == list(place.storage.read_many(reversed(paths)).items())


def test_delete_and_exists(place: Place) -> None:
    """Deleting twice is fine, and says so; a folder is no file."""
    lake = place.storage
    lake.create("a/b", b"")
    assert [True, False, False] == [lake.exists(path) for path in ("a/b", "a", "b")]
    assert [True, False, False] == [lake.delete(path) for path in ("a/b", "a/b", "gone/c")]
    assert not lake.exists("a/b")


@pytest.mark.parametrize("path", ["../outside", "a/../../outside", "/etc/passwd"])
def test_a_path_never_leaves_the_root(place: Place, path: str) -> None:
    """One that points outside is refused, whatever computed it, for reading as for writing."""
    lake = place.storage
    for touch in (lake.read, lake.exists, lake.delete, lake.stamp, lambda path: lake.write_atomic(path, b"x")):
        with pytest.raises(PipelineError, match="not a path inside"):
            touch(path)


def test_a_root_is_there_once_something_is_in_it(place: Place) -> None:
    """Asking makes nothing."""
    assert not place.storage.is_there()
    assert not place.storage.is_there()
    place.storage.create("commits/2026-01-01.json", b"{}")
    assert place.storage.is_there()


def test_files_that_nobody_else_changes(place: Place) -> None:
    """Within the action each is as it was when it began, and as the action left it; what it returns comes back."""
    place.put("a", b"one")
    place.put("b", b"two")

    def action(files: Files) -> list[bool]:
        before = [files.exists("a"), files.holds("a", b"one"), files.holds("b", b"one"), files.exists("c")]
        files.write_atomic("a", b"three")
        files.write_atomic("c", b"new")
        deleted = [files.delete("b"), files.delete("d")]
        return [*before, *deleted, files.holds("a", b"three"), files.exists("b"), files.exists("c")]

    answers = place.storage.alone("locks/day", ["a", "b", "c", "d"], action)
    assert [True, True, False, False, True, False, True, False, True] == answers
    assert {"a": b"three", "c": b"new"} == place.storage.read_many(["a", "b", "c", "d"])


def test_nothing_unfinished_is_left_by_writes(place: Place) -> None:
    """What was written is all there is, and there is nothing to remove."""
    lake = place.storage
    lake.create("a/1", b"x")
    lake.create("a/1", b"y")
    lake.write_atomic("a/2", b"z")
    assert 0 == lake.remove_unfinished(timedelta(0))
    assert ["a/1", "a/2"] == lake.paths()


def test_listing_tells_directories_from_everything_else(place: Place) -> None:
    """Sorted, each with the files directly inside it and nothing from deeper."""
    for path in ("b/evals.csv", "b/deep/er/x.csv", "a/evals.csv", "a/scores.csv", "trends.csv", "c/deep/x"):
        place.put(path, path.encode())
    found = place.storage.list_run_directories()
    assert [
        ("a", None, {"evals.csv": 11, "scores.csv": 12}),
        ("b", None, {"evals.csv": 11}),
        ("c", None, {}),
        ("trends.csv", "not_a_directory", {}),
    ] == [(entry.path, entry.ignored, {name: file.size for name, file in entry.files.items()}) for entry in found]
    assert [23, 11, 0, 0] == [entry.size for entry in found]


def test_a_root_that_is_missing_is_no_empty_night(place: Place) -> None:
    """It is said what to check."""
    with pytest.raises(PipelineError, match="check"):
        place.storage.list_run_directories()


def test_a_directory_is_what_is_directly_inside(place: Place) -> None:
    """Bytes, sizes and the newest time; with names only those of them that are there."""
    for path in ("run/evals.csv", "run/deep/x.csv", "run2/other.csv"):
        place.put(path, b"a\r\n")
    place.put("run/scores.csv", b"")
    runs = place.storage
    taken = runs.read_directory("run", MEGABYTE)
    assert taken.problem is None
    assert {"evals.csv": b"a\r\n", "scores.csv": b""} == taken.files
    assert {"evals.csv": 3, "scores.csv": 0} == {name: file.size for name, file in taken.stamps.items()}
    assert taken.newest_mtime is not None
    assert timedelta(minutes=5) > abs(datetime.now(UTC) - taken.newest_mtime)
    assert 0 == taken.newest_mtime.microsecond
    some = runs.read_directory("run", MEGABYTE, only=("scores.csv", "gone.csv"))
    assert ({"scores.csv": b""}, taken.stamps) == (some.files, some.stamps)


def test_a_directory_without_files_is_no_problem(place: Place) -> None:
    """Sub-folders are not read, so one that holds nothing else holds nothing."""
    place.put("run/deep/x.csv", b"x")
    taken = place.storage.read_directory("run", MEGABYTE)
    assert (None, {}, {}) == (taken.problem, taken.files, taken.stamps)


def test_what_is_listed_is_what_is_taken(place: Place) -> None:
    """A listing, a directory that is read and one file's stamp tell the same, so that what was read counts as known."""
    place.put("run/evals.csv", b"a")
    place.put("run/scores.csv", b"b")
    runs = place.storage
    (entry,) = runs.list_run_directories()
    taken = runs.read_directory("run", MEGABYTE)
    assert hint_of(entry.files) == hint_of(taken.stamps)
    assert taken.stamps == {name: runs.stamp(f"run/{name}") for name in taken.stamps}
    assert [None, None, None] == [runs.stamp(path) for path in ("run", "run/gone.csv", "gone/evals.csv")]


@pytest.mark.parametrize("data", [b"B", b"longer"])
def test_other_bytes_change_the_hint(place: Place, data: bytes) -> None:
    """Also when there are as many; so does a file more or less."""
    place.put("run/evals.csv", b"A")
    hints = [hint(place)]
    place.put("run/evals.csv", data)
    hints.append(hint(place))
    place.put("run/scores.csv", b"")
    hints.append(hint(place))
    place.remove("run/evals.csv")
    hints.append(hint(place))
    assert 4 == len(set(hints))


def hint(place: Place) -> str:
    """What a new look at the run directory `run` tells."""
    (entry,) = place.storage.list_run_directories()
    return hint_of(entry.files)


def test_a_directory_over_the_limit_is_not_read(place: Place) -> None:
    """The limit is on all files directly inside together, whatever is asked for."""
    for path in ("run/a", "run/b", "run/deep/c"):
        place.put(path, b"12345")
    assert place.storage.read_directory("run", 10).problem is None
    taken = place.storage.read_directory("run", 9, only=("a",))
    assert ("too_large", {}) == (taken.problem, taken.files)
    assert "holds 10 bytes, more than max_run_bytes (9)" in taken.message


def test_a_directory_that_is_gone_is_a_state(place: Place) -> None:
    """It was listed and is not there any more: a row, no exception."""
    place.put("other/evals.csv", b"x")
    taken = place.storage.read_directory("run", MEGABYTE)
    assert ("unreadable", {}) == (taken.problem, taken.files)
    assert "run" in taken.message


def test_a_file_beside_runs(place: Place) -> None:
    """A plan may point to an evalset in the root: read when it is there, is a file and isn't too large."""
    place.put("sets/a.json", b"{}")
    runs = place.storage
    assert [b"{}", None, None, None] == [
        runs.read_beside("sets/a.json", 2),
        runs.read_beside("sets/a.json", 1),
        runs.read_beside("sets/gone.json", 2),
        runs.read_beside("sets", 2),
    ]


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_any_name_is_a_name(place: Place, name: str) -> None:
    """Of directories and files alike: listed, read and written as it is."""
    place.put(f"runs/{name}", b"beside")
    place.put(f"{name}/{name}", b"inside")
    storage = place.storage
    assert {name: [name], "runs": [name]} == {entry.path: list(entry.files) for entry in storage.list_run_directories()}
    assert {name: b"inside"} == storage.read_directory(name, MEGABYTE, only=[name]).files
    assert b"inside" == storage.read_beside(f"{name}/{name}", MEGABYTE)
    assert storage.stamp(f"{name}/{name}") is not None
    assert storage.create(f"lake/{name}", b"made")
    assert b"made" == storage.read(f"lake/{name}")
    assert [f"lake/{name}"] == storage.paths("lake")
    assert storage.delete(f"lake/{name}")
