"""Plans: stored for the next verb, named safely, and cut into batches."""

from datetime import date
from pathlib import Path

import pytest

from evalbench.accounting import DirectoryState, Disposition
from evalbench.errors import PipelineError
from evalbench.lake.plans import (
    Plan,
    batches,
    new_plan_id,
    plan_id_of,
    read_plan,
    read_results,
    write_plan,
    write_result,
)
from evalbench.storage import LocalStorage


def entry(name: str, size: int = 1, disposition: Disposition = Disposition.PLANNED) -> DirectoryState:
    """A listed directory."""
    return DirectoryState(path=name, run_key=f"key-{name}", disposition=disposition, size=size)


def plan(*entries: DirectoryState) -> Plan:
    """A plan of these entries."""
    return Plan(plan_id="p", since=date(2026, 3, 1), until=None, entries=entries)


def test_a_plan_and_its_results_come_back(tmp_path: Path) -> None:
    """What discover wrote is what decide reads; a result that never came is absent."""
    lake, made = (
        LocalStorage(str(tmp_path)),
        plan(entry("a"), entry("b"), entry("c", disposition=Disposition.UNCHANGED)),
    )
    write_plan(lake, made)
    assert made == read_plan(lake, "p")
    result = entry("a", disposition=Disposition.SCORED)
    write_result(lake, "p", result)
    assert {"key-a": result} == read_results(lake, made)


def test_a_new_plan_forgets_the_results_of_an_earlier_attempt(tmp_path: Path) -> None:
    """An attempt's results never pass for the next one's."""
    lake = LocalStorage(str(tmp_path))
    write_plan(lake, plan(entry("a")))
    write_result(lake, "p", entry("a", disposition=Disposition.SCORED))
    write_plan(lake, plan(entry("a")))
    assert {} == read_results(lake, plan(entry("a")))


def test_a_missing_or_damaged_plan_fails_closed(tmp_path: Path) -> None:
    """Without a plan nobody knows what should have arrived."""
    lake = LocalStorage(str(tmp_path))
    with pytest.raises(PipelineError, match="start again from discover"):
        read_plan(lake, "p")
    lake.write_atomic("_ops/plans/p.json", b"{")
    with pytest.raises(PipelineError, match="damaged"):
        read_plan(lake, "p")


def test_an_unknown_run_is_not_scored() -> None:
    """A key the plan doesn't hold is an error of the caller."""
    with pytest.raises(PipelineError, match="names no run directory"):
        plan(entry("a")).entry("key-b")


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("manual__2026-11-30T02:00:00+00:00", False),
        ("scheduled-1", True),
        ("../../etc/passwd", False),
        ("..", False),
        ("", False),
        ("a" * 300, False),
    ],
)
def test_any_name_becomes_one_safe_file_name(name: str, safe: bool) -> None:
    """Safe names stay; others are cut and told apart by a digest."""
    made = plan_id_of(name)
    assert safe is (made == name)
    assert "/" not in made
    assert not made.startswith(".")
    assert 0 < len(made) <= 128
    assert made != plan_id_of(name + "x")


def test_a_plan_nobody_named_has_a_name_of_its_own() -> None:
    """Two executions over the same directories share no results: one would forget the other's."""
    name, other = new_plan_id(), new_plan_id()
    assert name != other
    assert name == plan_id_of(name)


@pytest.mark.parametrize(
    ("sizes", "limit", "expected"),
    [
        ({}, 4, []),
        ({"a": 5, "b": 1}, 2, [["key-a"], ["key-b"]]),
        ({"a": 9, "b": 5, "c": 4, "d": 1}, 2, [["key-a", "key-d"], ["key-b", "key-c"]]),
        ({"a": 0, "b": 0, "c": 0}, 2, [["key-a", "key-c"], ["key-b"]]),
    ],
)
def test_batches_are_even_by_bytes(sizes: dict[str, int], limit: int, expected: list[list[str]]) -> None:
    """One run each up to the limit, then the biggest first into the emptiest batch."""
    assert expected == batches(plan(*(entry(name, size) for name, size in sizes.items())), limit)


def test_a_range_covers_both_its_ends() -> None:
    """since and until are inclusive; an open end covers everything beyond it."""
    scope = Plan(plan_id="p", since=date(2026, 3, 1), until=date(2026, 3, 2), entries=())
    days = [date(2026, 2, 28), date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3)]
    assert [False, True, True, False] == [scope.covers(day) for day in days]
    assert all(Plan(plan_id="p", since=None, until=None, entries=()).covers(day) for day in days)
