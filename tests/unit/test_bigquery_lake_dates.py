"""Dates of a lake as they are delivered: what each is made from, which are settled, and that any change shows."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.cloud.delivering import DAY, log, put, tell

from evalbench.delivery import NOTHING, look
from evalbench.lake.commits import commit_path, read_commit, write_commit
from evalbench.storage import LocalStorage

TRIALS = f"trends/trials/run_date={DAY}/part-0.parquet"


@pytest.fixture
def lake(tmp_path: Path) -> LocalStorage:
    """A lake of one date."""
    lake = LocalStorage(str(tmp_path / "lake"))
    put(lake, 2, tables=("trials", "calls"))
    log(lake, "entry")
    tell(lake, "night")
    return lake


def test_a_date_is_made_from_its_partitions_its_log_and_what_is_told(lake: LocalStorage) -> None:
    """Files by table; other files of the lake are none of it."""
    lake.write_atomic(f"trends/notes/run_date={DAY}/a.parquet", b"somebody else's")
    lake.write_atomic(f"trends/trials/run_date={DAY}/README.md", b"somebody else's")
    here = look(lake)
    assert [DAY] == list(here)
    assert (True, ["accounting", "calls", "decision_log", "trials"]) == (here[DAY].settled, sorted(here[DAY].files))
    assert [TRIALS] == here[DAY].files["trials"]


@pytest.mark.parametrize(
    ("change", "content", "operations"),
    [
        (lambda lake: put(lake, 3), True, False),
        (lambda lake: log(lake, "entry", runs="[]"), True, False),
        (lambda lake: log(lake, "another"), True, False),
        (lambda lake: tell(lake, "another night"), False, True),
        (lambda lake: put(lake, 2, tables=("trials", "calls")), False, False),
        (lambda lake: lake.write_atomic("summaries/a.json", b"{}"), False, False),
    ],
    ids=["rows", "entry changed", "entry added", "told", "the same again", "elsewhere"],
)
def test_what_changes_which_hash(
    lake: LocalStorage, change: Callable[[LocalStorage], object], content: bool, operations: bool
) -> None:
    """Partitions and log make the content; what executions tell of themselves is apart."""
    before = look(lake)[DAY].contents
    change(lake)
    after = look(lake)[DAY].contents
    assert (content, operations) == (before.content != after.content, before.operations != after.operations)


def test_the_same_rows_written_anew_are_another_look(lake: LocalStorage) -> None:
    """A to B and back to A: the content is the same, yet who read in between knows."""
    before = look(lake)[DAY]
    put(lake, 3)
    put(lake, 2, tables=("trials", "calls"))
    after = look(lake)[DAY]
    assert (True, False) == (before.contents == after.contents, before == after)


def test_a_date_that_is_being_written_is_not_settled(lake: LocalStorage) -> None:
    """Its record says so, one of its files isn't what was committed, is gone, or nobody committed any."""
    whole, trials = read_commit(lake, DAY), lake.read(TRIALS)
    assert whole
    write_commit(lake, replace(whole, writing=True))
    assert not look(lake)[DAY].settled
    write_commit(lake, whole)
    assert look(lake)[DAY].settled
    lake.write_atomic(TRIALS, b"half")
    assert not look(lake)[DAY].settled
    lake.delete(TRIALS)
    assert not look(lake)[DAY].settled
    lake.write_atomic(TRIALS, trials)
    lake.delete(commit_path(DAY))
    assert not look(lake)[DAY].settled


def test_a_date_without_rows_is_made_from_nothing(lake: LocalStorage) -> None:
    """Emptied ones, and those of which only executions were told: nothing is delivered for their sake."""
    quiet = date(2026, 11, 29)
    tell(lake, "quiet night", day=quiet)
    put(lake, 0, day=date(2026, 11, 28), tables=())
    here = look(lake)
    assert NOTHING == here[date(2026, 11, 28)].contents
    assert (NOTHING.content, False) == (here[quiet].contents.content, NOTHING == here[quiet].contents)
    assert all(each.settled for each in here.values())
