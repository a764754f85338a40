"""Writers that are killed, right before and right after every call that lasts: who comes next leaves the same bytes."""

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from tests.lakes import ask, files, index, settings, tables, unsettled, untold, write_run
from tests.processes import EVERY, Cut, Work, calls, dies, each_cut, start
from tests.publishers import dag_run, entry, score

from evalbench import nightly, pipeline
from evalbench.lake.index import compact, read_index, segments, write_segment
from evalbench.storage import LocalStorage

NIGHT, NEXT_NIGHT = "scheduled__2026-12-02", "scheduled__2026-12-03"
OF_THE_NIGHT = ("_ops/reports/", "trends/run_states/", "trends/accounting/")
OLD, NEW = b"old", b"new" * 5000
DECIDED = (
    "SELECT run_date, candidate, run_id, decision FROM runs JOIN decisions USING (run_date, candidate) ORDER BY ALL"
)
DAY_S = 24 * 60 * 60


def kinds_of(made: Sequence[str]) -> set[str]:
    """`os.rename trends` and the like: what is called on which part of a lake."""
    return {call.split("/")[0] for call in made}


# -- a single write ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["create", "write_atomic", "delete"])
@pytest.mark.parametrize("there", [True, False])
def test_a_write_is_whole_or_was_never_begun(tmp_path: Path, verb: str, there: bool) -> None:
    """Killed at any call whatever, syncing included: other processes find the old bytes, the new ones, or no file."""
    before = OLD if there else None
    after = {"create": before or NEW, "write_atomic": NEW, "delete": None}[verb]

    def write(lake: Path) -> Work:
        lake.mkdir()
        if there:
            LocalStorage(str(lake)).create("facts/a", OLD)
        return partial(getattr(LocalStorage(str(lake)), verb), "facts/a", *(() if verb == "delete" else (NEW,)))

    def end(lake: Path, cut: Cut) -> None:
        work = write(lake)
        assert dies(cut, work)
        assert files(lake).get("facts/a") in (before, after)
        work()
        assert ({"facts/a": after} if after else {}) == files(lake)

    made = calls(tmp_path / "lake", write(tmp_path / "lake"), EVERY)
    each_cut(tmp_path, made, end, kinds=EVERY)


# -- a night -------------------------------------------------------------------------------------------------------


def test_a_first_night_killed_anywhere_is_made_good(tmp_path: Path) -> None:
    """From plan to report: facts, verdicts, summaries, tables and log are as if nothing had happened."""
    runs, undisturbed = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a", 27)
    made = calls(undisturbed, partial(pipeline.run, settings(runs, undisturbed)))
    assert {
        "os.link facts", "os.link verdicts", "os.link summaries", "os.link index", "os.link trends", "os.remove facts",
        "os.rename commits", "os.rename trends", "os.rename _ops",
    } <= kinds_of(made)  # fmt: skip
    expected = (tables(undisturbed), index(undisturbed), unsettled(undisturbed))
    assert [] == expected[-1]

    def end(lake: Path, cut: Cut) -> None:
        night = partial(pipeline.run, settings(runs, lake))
        assert dies(cut, night)
        start(night).result()
        assert expected == (tables(lake), index(lake), unsettled(lake))

    each_cut(tmp_path, made, end)


def prepared(tmp_path: Path) -> tuple[Path, Path]:
    """(runs root, a lake of two dates in which another night is scored and not published).

    That night fills up the first date, empties the second one and begins a third.
    """
    runs, lake = tmp_path / "runs", tmp_path / "prepared"
    used = settings(runs, lake)
    write_run(runs, "a", 26)
    write_run(runs, "moving", 27)
    pipeline.run(used)
    write_run(runs, "moving", 26)
    write_run(runs, "new", 28)
    score(used, NIGHT)
    return runs, lake


def test_publishing_killed_anywhere_is_made_good(tmp_path: Path) -> None:
    """Three dates of every table: whoever comes next leaves what an undisturbed one does, and questions are answered.

    Until then the commit records tell which date is half. Who comes next is the night's own retry, which also tells of
    its night what the first attempt would have told, or the next sweep; what lasts is the same right after one call
    and right before the next one, so each state sees both.
    """
    runs, before = prepared(tmp_path)
    undisturbed = Path(shutil.copytree(before, tmp_path / "lake"))
    made = calls(undisturbed, partial(nightly.publish, settings(runs, undisturbed), NIGHT))
    assert {
        "os.link index", "os.link trends", "os.remove trends", "os.rename commits", "os.rename trends",
        "os.rename _ops",
    } <= kinds_of(made)  # fmt: skip
    expected = (tables(undisturbed), index(undisturbed), unsettled(undisturbed), ask(undisturbed, DECIDED))
    assert ([], 3) == (expected[2], len(expected[3]))
    told = files(undisturbed, only=OF_THE_NIGHT)

    def end(lake: Path, cut: Cut) -> None:
        used = settings(runs, Path(shutil.copytree(before, lake)))
        publish = partial(nightly.publish, used, NIGHT)
        assert dies(cut, publish)
        assert [] == untold(lake)
        start(partial(dag_run, used, NEXT_NIGHT) if cut.after else publish).result()
        assert expected == (tables(lake), index(lake), unsettled(lake), ask(lake, DECIDED))
        assert cut.after or told == files(lake, only=OF_THE_NIGHT)

    each_cut(tmp_path, made, end)


# -- the index, and what is left lying about -----------------------------------------------------------------------


def test_compacting_killed_anywhere_loses_no_entry(tmp_path: Path) -> None:
    """At no moment, and compacting again ends with one segment."""

    def filled(path: Path) -> LocalStorage:
        lake = LocalStorage(str(path))
        for name in "abcdef":
            write_segment(lake, [entry(name)])
        return lake

    lake = filled(tmp_path / "lake")
    expected = read_index(lake)
    made = calls(lake.root, partial(compact, lake, most=0))
    assert ["os.link index", *["os.remove index"] * 7] == [call.split("/")[0] for call in made]

    def end(path: Path, cut: Cut) -> None:
        lake = filled(path)
        assert dies(cut, partial(compact, lake, most=0))
        assert expected == read_index(lake)
        compact(lake, most=1)
        assert (1, expected) == (len(segments(lake)), read_index(lake))

    each_cut(tmp_path, made, end)


def test_what_killed_writers_left_is_removed_after_a_day(tmp_path: Path) -> None:
    """By any later execution; never what may still be being written, and nothing else."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a", 27)
    pipeline.run(settings(runs, lake))
    before = tables(lake)
    for path in ("commits/2026-11-30.json", "facts/key/content.parquet", "index/hash.parquet"):
        assert dies(Cut(below=lake, number=1, after=False), partial(LocalStorage(str(lake)).create, path, NEW))
    left = sorted(lake.rglob(".tmp-*"))
    assert ["commits", "facts", "index"] == [path.relative_to(lake).parts[0] for path in left]
    for temporary, age in zip(left, (DAY_S - 600, DAY_S + 600, 30 * DAY_S), strict=True):
        written = temporary.stat().st_mtime - age
        os.utime(temporary, (written, written))
    pipeline.run(settings(runs, lake))
    assert left[:1] == sorted(lake.rglob(".tmp-*"))
    assert before == tables(lake)
