"""The index: segments that only grow, one standing set of facts per run directory, one run directory per run id."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import permutations
from pathlib import Path

import pytest

from evalbench.accounting import TASK_LOST, DirectoryState, Disposition
from evalbench.errors import PipelineError
from evalbench.lake.index import (
    FORGOTTEN,
    Index,
    claims,
    compact,
    forgotten,
    merged,
    read_index,
    segments,
    updated,
    write_segment,
)
from evalbench.lake.plans import Plan
from evalbench.ledger import RunState
from evalbench.storage import LocalStorage

READING = "1-abc"
OUT = Disposition.OUT_OF_RANGE


def state(
    path: str, *, day: int = 1, run_id: str | None = None, content: str = "c1", **fields: object
) -> DirectoryState:
    """A scored directory."""
    scored = DirectoryState(
        path=path,
        run_key=f"key-{path}",
        disposition=Disposition.SCORED,
        run_id=run_id or f"id-{path}",
        run_time=datetime(2026, 3, day, 9, tzinfo=UTC),
        state=RunState.COMPLETE,
        content=content,
        facts=f"facts/{path}/{content}",
        hint=f"hint-{content}",
    )
    return replace(scored, **fields)  # type: ignore[arg-type]


def plan(name: str = "p", *, since: date | None = None, until: date | None = None) -> Plan:
    """The plan of an execution."""
    return Plan(plan_id=name, since=since, until=until, entries=())


def after(index: Index, *states: DirectoryState, by: Plan | None = None) -> Index:
    """An index with what these looks add, made of directories as they stood in it when they were listed."""
    seen = {key: entry.seen for key, entry in index.items()}
    listed = [replace(state, seen=seen.get(state.run_key, 0)) for state in states]
    return merged((*index.values(), *updated(index, listed, READING, by or plan())))


def standing(index: Index) -> list[str]:
    """Facts that count, by run key."""
    return [entry.standing.facts for entry in claims(index)[0].values() if entry.standing is not None]


def paths(index: Index) -> Iterable[str | None]:
    """Directories whose facts count."""
    return [entry.path for entry in claims(index)[0].values()]


def test_segments_only_grow_and_their_union_is_the_index(tmp_path: Path) -> None:
    """A new lake has an empty index; what two writers add without knowing of each other is there; twice is once."""
    lake = LocalStorage(str(tmp_path))
    assert {} == read_index(lake)
    write_segment(lake, updated({}, [state("a")], READING, plan()))
    write_segment(lake, updated({}, [state("b")], READING, plan()))
    write_segment(lake, updated({}, [state("b")], READING, plan()))
    assert 2 == len(segments(lake))
    assert ["key-a", "key-b"] == list(read_index(lake))
    assert None is write_segment(lake, updated(read_index(lake), [state("a"), state("b")], READING, plan()))


def test_a_damaged_segment_is_named(tmp_path: Path) -> None:
    """The operator learns which file to look at."""
    lake = LocalStorage(str(tmp_path))
    lake.create(f"index/{'0' * 64}.parquet", b"no parquet")
    lake.create("index/.DS_Store", b"somebody else's")
    with pytest.raises(PipelineError, match=r"index/0+.parquet.*damaged.*restore it from a backup"):
        read_index(lake)


def test_compacting_keeps_the_union_and_removes_the_rest(tmp_path: Path) -> None:
    """One segment says what many said; below the limit nothing is touched."""
    lake = LocalStorage(str(tmp_path))
    index: Index = {}
    for number in range(6):
        entries = updated(index, [state("a", content=f"c{number}"), state(f"b{number}")], READING, plan())
        write_segment(lake, entries)
        index = merged((*index.values(), *entries))
    assert 0 == compact(lake, most=6)
    assert 6 == compact(lake, most=5)
    assert 1 == len(segments(lake))
    assert index == read_index(lake)
    assert 0 == compact(lake, most=0)


def test_the_latest_look_counts_in_any_order() -> None:
    """Also when a directory goes back to what it was before."""
    index: Index = {}
    entries = []
    for content in ("c1", "c2", "c1"):
        added = updated(index, [state("a", content=content)], READING, plan())
        index = merged((*index.values(), *added))
        entries += added
    for order in permutations(entries):
        assert ["facts/a/c1"] == standing(merged(order))
        assert 3 == merged(order)["key-a"].seen


def test_of_two_equal_looks_the_one_with_facts_counts() -> None:
    """Of two executions at once one had the date in range: what it scored isn't lost to the other's count."""
    scored, passed = (
        updated({}, [found], READING, plan()) for found in (state("a"), state("a", disposition=OUT, facts=None))
    )
    for order in permutations((*scored, *passed)):
        assert ["facts/a/c1"] == standing(merged(order))


@pytest.mark.parametrize(
    ("seen", "day", "kept"),
    [
        (state("a", content="c2", day=5, disposition=OUT), 1, []),
        (state("a", content="c2", day=5, disposition=OUT), 3, ["facts/a/c1"]),
        (state("a", content="c2", disposition=OUT), 3, ["facts/a/c1"]),
        (state("a", content="c1", disposition=OUT), 3, ["facts/a/c1"]),
        (state("a", content="c2", disposition=Disposition.IN_PROGRESS), 1, ["facts/a/c1"]),
        (state("a", content="c2", disposition=Disposition.QUARANTINED), 1, ["facts/a/c1"]),
        (state("a", content="c2", disposition=Disposition.QUARANTINED, reason=TASK_LOST), 1, ["facts/a/c1"]),
        (state("a", disposition=Disposition.DELETED, hint=None), 1, ["facts/a/c1"]),
    ],
)
def test_what_is_known_stays_until_something_else_is_known(seen: DirectoryState, day: int, kept: list[str]) -> None:
    """Only a directory that left the dates in range loses its facts; one that can't be read keeps what it said."""
    before = after({}, state("a"))
    only = date(2026, 3, day)
    assert kept == standing(after(before, seen, by=plan(since=only, until=only)))


def test_a_look_that_found_nothing_new_adds_nothing() -> None:
    """Nor does one that has nothing to say about the next look."""
    before = after({}, state("a"))
    unchanged = state("a", disposition=Disposition.UNCHANGED)
    passing = state("b", disposition=Disposition.QUARANTINED, reason="unreadable", hint=None)
    assert [] == updated(before, [unchanged, passing, state("a", disposition=OUT)], READING, plan())
    assert 1 == len(updated(before, [replace(unchanged, hint="touched")], READING, plan()))


def test_the_first_directory_of_a_run_id_stands_in_any_order() -> None:
    """By (run_time, path), whatever was listed or arrived first."""
    twins = [state("z", day=1, run_id="x"), state("b", day=2, run_id="x"), state("a", day=2, run_id="x")]
    for order in permutations(twins):
        index = after({}, *order)
        assert ["z"] == paths(index)
        assert {"key-a": "z", "key-b": "z"} == claims(index)[1]


def test_an_earlier_directory_that_arrives_later_takes_over() -> None:
    """The one that stood until then leaves."""
    before = after({}, state("late", day=2, run_id="x"))
    index = after(before, state("early", day=1, run_id="x"))
    assert ["early"] == paths(index)
    assert {"key-late": "early"} == claims(index)[1]


def test_a_directory_out_of_range_still_owns_its_run_id() -> None:
    """A range doesn't let a copy through that a sweep would hold back."""
    first = state("a", day=1, run_id="x", disposition=OUT, facts=None)
    index = after({}, first, state("b", day=2, run_id="x"))
    assert [] == paths(index)
    assert {"key-b": "a"} == claims(index)[1]


@pytest.mark.parametrize(("content", "stands"), [("c1", "b"), ("c2", "a")])
def test_a_deleted_directory_leaves_its_run_id_to_where_it_was_moved(content: str, stands: str) -> None:
    """Only to the same content: a deletion must not let other evidence take a run's place."""
    before = after({}, state("a", run_id="x"))
    gone = state("a", run_id="x", disposition=Disposition.DELETED, hint=None, facts=None)
    assert [stands] == paths(after(before, gone, state("b", run_id="x", content=content)))


def test_a_forgotten_run_leaves_hashes_only() -> None:
    """Nothing stands, nothing names it, and its directory is known again."""
    index = after({}, state("a"))
    index = merged((*index.values(), forgotten(index["key-a"])))
    entry = index["key-a"]
    assert ([], None, None, None, None, True) == (
        standing(index),
        entry.path,
        entry.run_id,
        entry.content,
        entry.hint,
        entry.forgotten,
    )
    again = state("a", disposition=Disposition.IGNORED, reason=FORGOTTEN, hint="hint-c1")
    assert [] == updated(index, [again, state("a", content="c2")], READING, plan())


OLD = state("a", content="old")


@pytest.mark.parametrize(
    ("late", "stands"),
    [
        (OLD, "facts/a/new"),
        (replace(OLD, disposition=Disposition.QUARANTINED, reason=TASK_LOST, facts=None), "facts/a/new"),
        (state("a", content="new", disposition=Disposition.IN_PROGRESS, facts=None), "facts/a/new"),
    ],
)
def test_a_look_that_another_execution_has_overtaken_adds_nothing(late: DirectoryState, stands: str) -> None:
    """Whoever decides last may have looked first: a night that is cleared, or was held up, takes nothing back."""
    index = after({}, state("a", content="new"), by=plan("fast"))
    assert [] == updated(index, [late], READING, plan("slow"))
    assert [stands] == standing(index)


def test_a_retry_may_replace_its_own_look() -> None:
    """What the first try lost, the second one scores."""
    lost = state("a", disposition=Disposition.QUARANTINED, reason=TASK_LOST, facts=None)
    index = after({}, lost, by=plan("night"))
    assert ["facts/a/c1"] == standing(merged((*index.values(), *updated(index, [state("a")], READING, plan("night")))))


def test_of_two_at_once_the_one_with_facts_is_kept_whichever_publishes_first() -> None:
    """One range dates a directory, another scores it."""
    passed = state("a", disposition=OUT, facts=None)
    for first, second in ((passed, state("a")), (state("a"), passed)):
        index = after({}, first, by=plan("one"))
        index = merged((*index.values(), *updated(index, [second], READING, plan("two"))))
        assert ["facts/a/c1"] == standing(index)


def test_a_run_that_moved_out_of_range_goes_whatever_was_looked_at_before() -> None:
    """Ranges in any order: its old date loses it as soon as that date is in range."""
    moved = state("a", day=2, content="c2", disposition=OUT, facts=None)
    elsewhere, there = date(2026, 3, 7), date(2026, 3, 1)
    index = after({}, state("a", day=1))
    index = after(index, moved, by=plan("x", since=elsewhere, until=elsewhere))
    assert ["facts/a/c1"] == standing(index)
    assert [] == standing(after(index, moved, by=plan("y", since=there, until=there)))
