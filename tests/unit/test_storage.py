"""Storage: create-only and atomic in the lake, wary in the runs root."""

import os
import re
import resource
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalbench.errors import PipelineError, UsageError
from evalbench.settings import Settings
from evalbench.storage import LocalStorage, open_storage

MEGABYTE = 1024 * 1024


def storage(folder: Path) -> LocalStorage:
    """A storage over a folder."""
    return LocalStorage(str(folder))


def test_create_never_rewrites(tmp_path: Path) -> None:
    """The first write stays; a second one says so and changes nothing."""
    lake = storage(tmp_path)
    assert lake.create("facts/a/b.parquet", b"first") is True
    assert lake.create("facts/a/b.parquet", b"second") is False
    assert lake.read("facts/a/b.parquet") == b"first"


def test_write_atomic_replaces_whole_and_skips_equal_bytes(tmp_path: Path) -> None:
    """Equal bytes are not written again, so a file's time tells when it last changed."""
    lake = storage(tmp_path)
    assert lake.write_atomic("trends/x", b"one") is True
    os.utime(tmp_path / "trends" / "x", ns=(0, 0))
    assert lake.write_atomic("trends/x", b"one") is False
    assert (tmp_path / "trends" / "x").stat().st_mtime_ns == 0
    assert lake.write_atomic("trends/x", b"two") is True
    assert lake.read("trends/x") == b"two"


def test_no_write_leaves_anything_but_its_file(tmp_path: Path) -> None:
    """Temporary files are gone after a write, refused or not, and files are readable as others are."""
    lake = storage(tmp_path)
    lake.create("a/1", b"x")
    lake.create("a/1", b"y")
    lake.write_atomic("a/2", b"z")
    assert ["a/1", "a/2"] == lake.paths() == sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("?"))[1:]
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert plain.stat().st_mode == (tmp_path / "a" / "2").stat().st_mode


def test_paths_lists_below_a_folder(tmp_path: Path) -> None:
    """Sorted paths relative to the root; a folder that isn't there has none."""
    lake = storage(tmp_path)
    for path in ("b/2", "b/1/x", "a"):
        lake.create(path, b"")
    assert ["b/1/x", "b/2"] == lake.paths("b")
    assert [] == lake.paths("c")


def test_delete_and_exists(tmp_path: Path) -> None:
    """Deleting twice is fine, and says so."""
    lake = storage(tmp_path)
    lake.create("a", b"")
    assert [True, True, False, False] == [lake.exists("a"), lake.delete("a"), lake.delete("a"), lake.exists("a")]


@pytest.mark.parametrize("path", ["../outside", "a/../../outside", "/etc/passwd"])
def test_a_key_never_leaves_the_root(tmp_path: Path, path: str) -> None:
    """A computed key that points outside is refused, whatever computed it."""
    with pytest.raises(PipelineError, match="not a path inside"):
        storage(tmp_path).write_atomic(path, b"x")


@pytest.mark.parametrize(
    "root",
    ["s3://bucket", "https://bucket.example/runs", "file:///srv/runs", "gs:/bucket/runs", "gs:bucket/runs",
     "https:bucket", "gs://", "gs://Bucket/x",
     "gs://connection@bucket/x", "gs://bucket/a//b", "gs://bucket/a/../b"],
)  # fmt: skip
def test_other_stores_are_refused_clearly(root: str) -> None:
    """A URL that isn't a bucket's is not taken for a strange local folder."""
    with pytest.raises(UsageError, match=f"{re.escape(root)}.*give"):
        open_storage(root, Settings())


def test_a_place_is_opened_by_its_name() -> None:
    """A path is a folder, gs:// a prefix; nothing is asked of Google for that."""
    assert ["runs", "gs://my-bucket/nightly/runs", "gs://my-bucket"] == [
        str(open_storage(root, Settings())) for root in ("runs", "gs://my-bucket/nightly/runs/", "gs://my-bucket")
    ]


@pytest.mark.parametrize(
    ("allowed", "root", "may"),
    [
        (None, "runs", True),
        (None, "gs://any-bucket", True),
        (("file",), "runs", True),
        (("file",), "gs://any-bucket", False),
        (("gs",), "gs://any-bucket/x", True),
        (("gs",), "runs", False),
        (("file", "gs://mine/nightly"), "gs://mine/nightly/runs", True),
        (("gs://mine/nightly",), "gs://mine/nightly", True),
        (("gs://mine/nightly",), "gs://mine/nightly2", False),
        (("gs://mine/nightly",), "gs://mine", False),
        (("gs://mine",), "gs://mine-too/x", False),
        (("gs://mine",), "gs://mine/x", True),
    ],
)
def test_only_places_the_operator_allows_are_opened(allowed: tuple[str, ...] | None, root: str, may: bool) -> None:
    """By scheme, bucket and prefix; the refusal names the list."""
    settings = Settings(allowed_roots=allowed)
    if may:
        assert root == str(open_storage(root, settings))
        return
    with pytest.raises(UsageError, match="not allowed; EVALBENCH_ALLOWED_ROOTS has"):
        open_storage(root, settings)


def test_a_lake_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    """A file in the way of a folder is named."""
    (tmp_path / "facts").write_text("in the way")
    with pytest.raises(PipelineError, match=r"facts/a.*can't be written"):
        storage(tmp_path).create("facts/a", b"x")


def test_listing_tells_directories_from_everything_else(tmp_path: Path) -> None:
    """One listing, sorted; files and links are listed with the reason why they are no run directories."""
    root, outside = tmp_path / "runs", tmp_path / "outside"
    for folder in (root / "b", root / "a", outside):
        folder.mkdir(parents=True)
    (root / "trends_cache.csv").write_text("")
    (root / "latest").symlink_to("a")
    (root / "stray").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    found = {entry.path: entry.ignored for entry in storage(root).list_run_directories()}
    assert {
        "a": None,
        "b": None,
        "latest": "link_inside_root",
        "loop": "link_inside_root",
        "stray": "link_outside_root",
        "trends_cache.csv": "not_a_directory",
    } == found
    assert sorted(found) == list(found)


def test_a_missing_root_says_what_to_check(tmp_path: Path) -> None:
    """No listing is a failure of the pipeline, not an empty night."""
    with pytest.raises(PipelineError, match="no such runs folder"):
        storage(tmp_path / "gone").list_run_directories()


def test_read_directory_takes_regular_files_directly_inside(tmp_path: Path) -> None:
    """Sub-folders and special files are not read; the newest file's time is kept."""
    run = tmp_path / "run"
    (run / "artefacts").mkdir(parents=True)
    (run / "artefacts" / "deep.csv").write_text("x")
    (run / "evals.csv").write_bytes(b"a\r\n")
    (run / "scores.csv").write_bytes(b"")
    os.mkfifo(run / "pipe")
    os.utime(run / "evals.csv", (0, 1_000))
    os.utime(run / "scores.csv", (0, 2_000))
    taken = storage(tmp_path).read_directory("run", MEGABYTE)
    assert taken.problem is None
    assert {"evals.csv": b"a\r\n", "scores.csv": b""} == dict(taken.files)
    assert datetime.fromtimestamp(2_000, tz=UTC) == taken.newest_mtime
    assert {"evals.csv": 3, "scores.csv": 0} == {name: file.size for name, file in taken.stamps.items()}


def test_an_empty_directory_is_no_problem(tmp_path: Path) -> None:
    """Nothing inside is nothing inside; its own time stands for its files'."""
    (tmp_path / "run").mkdir()
    taken = storage(tmp_path).read_directory("run", MEGABYTE)
    assert (None, {}) == (taken.problem, dict(taken.files))
    assert taken.newest_mtime is not None


def test_a_link_within_the_root_is_read_and_one_out_of_it_never(tmp_path: Path) -> None:
    """A file that is not the run's own is not taken for its evidence."""
    root, secret = tmp_path / "runs", tmp_path / "secret"
    (root / "run").mkdir(parents=True)
    (root / "shared.csv").write_text("shared")
    secret.write_text("secret")
    (root / "run" / "evals.csv").symlink_to("../shared.csv")
    assert {"evals.csv": b"shared"} == dict(storage(root).read_directory("run", MEGABYTE).files)
    (root / "run" / "scores.csv").symlink_to(secret)
    taken = storage(root).read_directory("run", MEGABYTE)
    assert ("link_outside_root", {}) == (taken.problem, dict(taken.files))
    assert "run/scores.csv" in taken.message


def test_a_directory_over_the_limit_is_not_read(tmp_path: Path) -> None:
    """The limit is on all files together."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "a").write_bytes(b"12345")
    (run / "b").write_bytes(b"12345")
    assert storage(tmp_path).read_directory("run", 10).problem is None
    taken = storage(tmp_path).read_directory("run", 9)
    assert ("too_large", {}) == (taken.problem, dict(taken.files))
    assert "holds 10 bytes" in taken.message


def test_what_cannot_be_read_is_a_state(tmp_path: Path) -> None:
    """A link that leads nowhere but to itself can't be read by anybody."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "evals.csv").symlink_to("evals.csv")
    assert storage(tmp_path).read_directory("run", MEGABYTE).problem == "unreadable"


class Busy(LocalStorage):
    """A storage whose run directory is written to while it is read."""

    def _read_at_most(self, path: Path, size: int) -> bytes:
        data = super()._read_at_most(path, size)
        with path.open("ab") as file:
            file.write(b"more")
        return data


def test_a_directory_that_changes_while_it_is_read_is_not_trusted(tmp_path: Path) -> None:
    """Half of the old and half of the new is neither."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "evals.csv").write_bytes(b"a")
    taken = Busy(str(tmp_path)).read_directory("run", MEGABYTE)
    assert ("changed_while_read", {}) == (taken.problem, dict(taken.files))


def test_a_file_beside_runs_is_read_only_inside_the_root(tmp_path: Path) -> None:
    """A plan may point to an evalset in the root, never out of it."""
    root = tmp_path / "runs"
    (root / "sets").mkdir(parents=True)
    (root / "sets" / "a.json").write_text("{}")
    (tmp_path / "outside.json").write_text("secret")
    (root / "sets" / "link.json").symlink_to(tmp_path / "outside.json")
    runs = storage(root)
    assert [b"{}", None, None, None] == [
        runs.read_beside("sets/a.json", MEGABYTE),
        runs.read_beside("sets/link.json", MEGABYTE),
        runs.read_beside("sets/gone.json", MEGABYTE),
        runs.read_beside("sets/a.json", 1),
    ]


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    """A full disk is told in one line, and what was written of the file until then doesn't stay to fill it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(PipelineError, match=r"x: can't be written .*; check its rights and space"):
            storage(tmp_path).write_atomic("trends/x", b"y" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [] == list((tmp_path / "trends").iterdir())
