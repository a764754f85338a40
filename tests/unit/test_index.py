"""The index: one standing set of facts per run directory, one run directory per run id."""

from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import permutations
from pathlib import Path

import pytest

from evalbench.accounting import DirectoryState, Disposition
from evalbench.errors import PipelineError
from evalbench.lake.index import PATH, changed_dates, read_index, updated, write_index
from evalbench.ledger import RunState
from evalbench.storage import Storage


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
    )
    return replace(scored, **fields)  # type: ignore[arg-type]


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    """A new lake has an empty index; a written one reads back, and equal content is not written again."""
    lake = Storage(str(tmp_path))
    assert {} == read_index(lake)
    index, _ = updated({}, [state("b"), state("a")])
    assert write_index(lake, index) is True
    assert index == read_index(lake)
    assert write_index(lake, index) is False
    lake.write_atomic(PATH, b"[{}]")
    with pytest.raises(PipelineError, match=r"index/current.json.*damaged"):
        read_index(lake)


def test_new_content_supersedes_old() -> None:
    """A directory that changed is known by its latest facts only, and both dates are touched."""
    before, _ = updated({}, [state("a", day=1)])
    after, _ = updated(before, [state("a", day=2, content="c2")])
    assert ["facts/a/c2"] == [entry.facts for entry in after.values()]
    assert {date(2026, 3, 1), date(2026, 3, 2)} == changed_dates(before, after)


@pytest.mark.parametrize(
    ("seen", "kept"),
    [
        (state("a", content="c2", disposition=Disposition.OUT_OF_RANGE), []),
        (state("a", content="c1", disposition=Disposition.OUT_OF_RANGE), ["facts/a/c1"]),
        (state("a", content="c2", disposition=Disposition.IN_PROGRESS), ["facts/a/c1"]),
        (state("a", content="c2", disposition=Disposition.QUARANTINED), ["facts/a/c1"]),
    ],
)
def test_what_is_known_stays_until_something_else_is_known(seen: DirectoryState, kept: list[str]) -> None:
    """Only a directory that is elsewhere now loses its entry; one that can't be read keeps what it said."""
    before, _ = updated({}, [state("a")])
    after, _ = updated(before, [seen])
    assert kept == [entry.facts for entry in after.values()]


def test_the_first_directory_of_a_run_id_stands_in_any_order() -> None:
    """By (run_time, path), whatever was listed or arrived first."""
    twins = [state("z", day=1, run_id="x"), state("b", day=2, run_id="x"), state("a", day=2, run_id="x")]
    for order in permutations(twins):
        index, duplicates = updated({}, order)
        assert ["z"] == [entry.path for entry in index.values()]
        assert {"key-a": "z", "key-b": "z"} == duplicates


def test_an_earlier_directory_that_arrives_later_takes_over() -> None:
    """The one that stood until then leaves, and its date is touched."""
    before, _ = updated({}, [state("late", day=2, run_id="x")])
    after, duplicates = updated(before, [state("early", day=1, run_id="x")])
    assert ["early"] == [entry.path for entry in after.values()]
    assert {"key-late": "early"} == duplicates
    assert {date(2026, 3, 1), date(2026, 3, 2)} == changed_dates(before, after)


def test_a_directory_out_of_range_still_owns_its_run_id() -> None:
    """A range doesn't let a copy through that a sweep would hold back."""
    first = state("a", day=1, run_id="x", disposition=Disposition.OUT_OF_RANGE)
    index, duplicates = updated({}, [first, state("b", day=2, run_id="x")])
    assert {} == index
    assert {"key-b": "a"} == duplicates
