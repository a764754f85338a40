"""Publishers beside each other: no row is lost, no date is half, and the lake ends as one publisher alone leaves it."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from tests.lakes import ask, files, index, settings, tables, unsettled, write_run
from tests.processes import FORKS, Cut, Work, calls, each_cut, overtaken, start, together, until
from tests.publishers import add_entries, command, dag_run, half_dates, score

from evalbench import nightly, pipeline
from evalbench.lake.index import claims, compact, read_index
from evalbench.storage import LocalStorage

ROUNDS = 20
FEWER_ROUNDS = 10
"""Where everything is written again in every round."""
BACKFILLS = 4
DAYS = range(24, 28)
PAUSE_S = 0.05
"""Of a reader: what it asks costs as much as publishing."""
LOG = "trends/decision_log/"


@contextmanager
def watched(lake: Path) -> Iterator[None]:
    """A reader that asks over and over beside the block is answered, if not each time, and never sees half a date."""
    stop = FORKS.Event()
    reader = start(partial(until, stop, partial(half_dates, lake), PAUSE_S))
    try:
        yield
    finally:
        stop.set()
        answers = reader.result()
    assert [] in answers
    assert [] == [answer for answer in answers if answer]


def state(lake: Path, below: str = "") -> dict[str, bytes]:
    """What does not depend on who came first: every promised file but those of the log."""
    return {name: data for name, data in tables(lake).items() if not name.startswith(LOG) and below in name}


def check(lake: Path, expected: Path, runs: int) -> None:
    """As if one publisher had made the lake alone; nothing known is lost, nor a decision of record."""
    assert state(expected) == state(lake)
    assert [] == unsettled(lake)
    assert runs == len(claims(index(lake))[0])
    decided = ask(expected, "SELECT run_date, candidate, policy_hash, evidence_hash FROM decisions")
    logged = ask(lake, "SELECT run_date, candidate, policy_hash, evidence_hash FROM decision_log")
    assert [] == [row for row in decided if logged.count(row) != 1]


def alone(runs: Path, lake: Path, **more: object) -> None:
    """What one publisher makes of everything."""
    start(partial(pipeline.run, settings(runs, lake, **more))).result()


# -- two publishers of one date ------------------------------------------------------------------------------------


def test_two_publishers_with_roots_of_their_own(tmp_path: Path) -> None:
    """Each brings new runs of the same date, ten times: the tables hold every run exactly once."""
    lake, union = tmp_path / "lake", tmp_path / "union"
    roots = [tmp_path / "runs-0", tmp_path / "runs-1"]
    for number in range(FEWER_ROUNDS):
        for publisher, root in enumerate(roots):
            for place in (root, union):
                write_run(place, f"run-{number}-{publisher}", 27, f"agent-{publisher}")
        together(*(partial(pipeline.run, settings(root, lake)) for root in roots))
        alone(union, tmp_path / "alone")
        check(lake, tmp_path / "alone", runs=2 * (number + 1))
    alone(union, tmp_path / "at-once")
    check(lake, tmp_path / "at-once", runs=2 * FEWER_ROUNDS)


def test_a_command_beside_a_sweep(tmp_path: Path) -> None:
    """In one root into which directories come meanwhile, twenty times, watched by a reader."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "first", 26)
    used = settings(runs, lake)
    pipeline.run(used)
    with watched(lake):
        for number in range(ROUNDS):
            new = [write_run(tmp_path / "arriving", f"run-{number}-{who}", 27, f"agent-{who}") for who in range(2)]
            together(partial(command, used, new[0]), partial(dag_run, used, f"night-{number}", arriving=new[1]))
            alone(runs, tmp_path / "alone")
            check(lake, tmp_path / "alone", runs=2 * (number + 1) + 1)
    alone(runs, tmp_path / "at-once")
    check(lake, tmp_path / "at-once", runs=2 * ROUNDS + 1)


def scored(tmp_path: Path, days: Sequence[int], run_ids: Sequence[str]) -> tuple[Path, Callable[[Path], list[Work]]]:
    """(runs root of both, lake → two publishers in it), each about to publish a run of its own, scored before."""
    roots, prepared = [tmp_path / "runs-0", tmp_path / "runs-1"], tmp_path / "prepared"
    for number, (root, day, run_id) in enumerate(zip(roots, days, run_ids, strict=True)):
        for place in (root, tmp_path / "union"):
            write_run(place, f"run-{number}", day, run_id=run_id)
        score(settings(root, prepared), f"night-{number}")

    def publishers(lake: Path) -> list[Work]:
        shutil.copytree(prepared, lake)
        return [partial(nightly.publish, settings(root, lake), f"night-{number}") for number, root in enumerate(roots)]

    return tmp_path / "union", publishers


@pytest.mark.parametrize(
    ("days", "run_ids", "runs"),
    [((27, 27), ("x", "y"), 2), ((28, 27), ("x", "x"), 1)],
    ids=["of one date", "of one run id"],
)
def test_a_publisher_overtaken_anywhere(tmp_path: Path, days: Sequence[int], run_ids: Sequence[str], runs: int) -> None:
    """Held before any call that lasts until another one is done: two runs of a date, or a copy and its original."""
    union, publishers = scored(tmp_path, days, run_ids)
    alone(union, tmp_path / "alone")
    made = calls(tmp_path / "lake", publishers(tmp_path / "lake")[0])

    def end(lake: Path, cut: Cut) -> None:
        overtaken(cut, *publishers(lake))
        check(lake, tmp_path / "alone", runs=runs)

    each_cut(tmp_path, made, end, sides=(False,))


# -- other publishers ----------------------------------------------------------------------------------------------


def consequential(root: Path, path: Path, old: str, new: str) -> Path:
    """The shipped policy with something changed."""
    text = (root / "include" / "policies" / "consequential.yaml").read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_four_backfills_at_once(root: Path, tmp_path: Path) -> None:
    """Each of its own date, under a policy that pools three: every date counts what the others brought."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    policy = consequential(root, tmp_path / "pools.yaml", "schema: 1", "schema: 1\nwindow: {days: 3}")
    used = settings(runs, lake, policy=policy)
    for number in range(BACKFILLS):
        for day in DAYS:
            write_run(runs, f"run-{number}-{day}", day)
        together(*(partial(dag_run, used, f"backfill-{number}-{day}", date(2026, 11, day)) for day in DAYS))
        alone(runs, tmp_path / f"at-once-{number}", policy=policy)
        check(lake, tmp_path / f"at-once-{number}", runs=len(DAYS) * (number + 1))


def test_two_policies(root: Path, tmp_path: Path) -> None:
    """The last one holds, date by date: never one table under this policy and another one under that."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for day in DAYS:
        write_run(runs, f"run-{day}", day)
    policies = [consequential(root, tmp_path / f"{n}.yaml", 'version: "1"', f'version: "{n}"') for n in (2, 3)]
    either = [tmp_path / policy.stem for policy in policies]
    for policy, made in zip(policies, either, strict=True):
        alone(runs, made, policy=policy)
    assert state(either[0]) != state(either[1])
    logged = {name for made in either for name in files(made, only=(LOG,))}
    alone(runs, lake, policy=policies[0])
    with watched(lake):
        for _ in range(FEWER_ROUNDS):
            together(*(partial(pipeline.run, settings(runs, lake, policy=policy)) for policy in policies))
            for day in DAYS:
                below = f"run_date=2026-11-{day}/"
                assert state(lake, below) in [state(made, below) for made in either]
            assert ([], logged) == (unsettled(lake), set(files(lake, only=(LOG,))))


# -- the index -----------------------------------------------------------------------------------------------------


def test_writers_of_the_index_beside_one_that_compacts(tmp_path: Path) -> None:
    """Whatever was added is there from then on, for everybody, though segments vanish all the time."""
    lake = LocalStorage(str(tmp_path))
    names = [[f"{writer}-{number}" for number in range(40)] for writer in range(3)]
    stop = FORKS.Event()
    compacting = start(partial(until, stop, partial(compact, lake, most=0)))
    try:
        assert [[], [], []] == together(*(partial(add_entries, lake, own) for own in names))
    finally:
        stop.set()
        removed = sum(compacting.result())
    assert {name for own in names for name in own} == set(read_index(lake))
    assert removed > 0
