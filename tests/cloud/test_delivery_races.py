"""Several at one dataset: publishers that overtake each other, and readers in between."""

from datetime import date
from functools import partial

import pytest
from tests.cloud.delivering import DAY, Place, overtaken, put, rounds
from tests.processes import FORKS, start, together, until

from evalbench.delivery import Delivery

NEXT_DAY = date(2026, 11, 28)
ROUNDS = 20
VERSIONS = 4
READ = ("trials", "signals", "decisions")
SEEN = """
SELECT
  (SELECT COUNT(*) FROM `{d}.trials` WHERE run_date > '2026-01-01'),
  (SELECT COUNT(*) FROM `{d}.signals` WHERE run_date > '2026-01-01'),
  (SELECT COUNT(*) FROM `{d}.trend_daily`),
  (SELECT COUNT(DISTINCT LEFT(task_id, 10)) FROM `{d}.trials` WHERE run_date > '2026-01-01')
"""


def test_readers_never_see_half_a_swap(place: Place) -> None:
    """In a loop over base tables and a view: each query finds one version of a date, in all tables it reads."""
    stop = FORKS.Event()
    put(place.storage, 1, mark="v0-", tables=READ)
    place.deliver()
    reader = start(partial(until, stop, partial(place.ask, SEEN)))
    for version in range(1, VERSIONS + 1):
        put(place.storage, version + 1, mark=f"v{version}-", tables=READ)
        place.deliver()
    stop.set()
    seen = [answer for (answer,) in reader.result()]
    assert {(rows, rows, rows, 1) for rows, *_ in seen} == set(seen)
    assert {rows for rows, *_ in seen} <= set(range(1, VERSIONS + 2))
    assert len({rows for rows, *_ in seen}) > 1


def test_two_publishers_at_once_lose_no_row(place: Place) -> None:
    """Twenty rounds each: a date's rows are there when its publisher is done, and all of both at the end, once."""
    for _ in range(ROUNDS // 5):
        assert [[], []] == together(*(partial(rounds, place, day, 5) for day in (DAY, NEXT_DAY)))
    assert place.here() == place.there()
    ((swaps, *last),) = place.ask("SELECT MAX(seq), COUNT(*), SUM(row_count) FROM `{d}._published`")
    assert (True, [2, 10]) == (ROUNDS <= swaps <= 2 * ROUNDS, last)


@pytest.mark.parametrize("number", [1, 3], ids=["loading", "swapping"])
def test_who_is_overtaken_begins_again(place: Place, number: int) -> None:
    """Another publish came in between, of other content and under the same number: both are there in the end."""
    put(place.storage, 3, mark="slow")
    slow, fast = overtaken(place, number, partial(_fast, place))
    assert [(DAY, NEXT_DAY), ()] == [fast.dates, slow.dates]
    assert place.here() == place.there()


def _fast(place: Place) -> Delivery:
    put(place.storage, 1, day=NEXT_DAY, mark="fast")
    return place.deliver()
