"""Publishers beside each other on one lake in Cloud Storage, and publishers that die there."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from google.cloud.storage import Bucket
from tests.cloud import at_work
from tests.cloud.emulators import Gcs
from tests.lakes import AFTER, settings, write_run
from tests.processes import FORKS, SECONDS, Cut, Work, calls, dies, overtaken, start, together, until

from evalbench import nightly, pipeline
from evalbench.lake.commits import read_commits
from evalbench.lake.index import claims, read_index
from evalbench.settings import Settings, load_settings
from evalbench.storage import LocalStorage, Storage, lake_of

ROUNDS = 20
KINDS = frozenset({at_work.CHANGE})
OWN = ("trends/run_states/", "trends/accounting/", "trends/decision_log/")
"""What tells when and how often something was done."""


@pytest.fixture
def environment(gcs: Gcs) -> Mapping[str, str]:
    """What a process needs to find Cloud Storage."""
    return gcs.environment()


def over(bucket: Bucket, lake: str = "lake") -> Settings:
    """Settings over runs and a lake in a bucket, with a clock past every date."""
    root = f"gs://{bucket.name}"
    given = {"runs": f"{root}/runs", "lake": f"{root}/{lake}", "grace_hours": 0, "clock": AFTER}
    return load_settings({}, given)


def bring(bucket: Bucket, directory: Path) -> None:
    """Copy a run directory into the bucket."""
    for file in sorted(directory.iterdir()):
        bucket.blob(f"runs/{directory.name}/{file.name}").upload_from_filename(str(file))


def digests(lake: Storage) -> dict[str, str]:
    """The tables, by what their files hold."""
    return {path: digest for path, digest in lake.digests("trends").items() if not path.startswith(OWN)}


def alone(runs: Path, local: Path) -> LocalStorage:
    """What one publisher makes of the same directories on a disk."""
    start(partial(pipeline.run, settings(runs, local))).result()
    return LocalStorage(str(local))


def check(used: Settings, expected: LocalStorage, runs: int) -> None:
    """The tables hold what one publisher makes on a disk, every date is settled, no directory is lost."""
    lake = lake_of(used)
    assert digests(expected) == digests(lake)
    commits = read_commits(lake)
    assert {} == {day: commit for day, commit in commits.items() if commit.writing}
    assert {day: commit.objects for day, commit in read_commits(expected).items()} == {
        day: commit.objects for day, commit in commits.items()
    }
    assert runs == len(claims(read_index(lake))[0])


def test_two_publishers_at_once(tmp_path: Path, bucket: Bucket, environment: Mapping[str, str]) -> None:
    """Twenty rounds: in each a directory for either date comes in and two DAG runs sweep the root at the same moment; a
    reader beside them never sees half a date, and no row is lost.
    """
    runs, used = tmp_path / "runs", over(bucket)
    bring(bucket, write_run(runs, "first", 27))
    start(partial(at_work.under, environment, partial(at_work.night, used, "first"))).result()
    stop = FORKS.Event()
    reader = start(partial(at_work.under, environment, partial(until, stop, partial(at_work.half_dates, used), 0.05)))
    try:
        for number in range(ROUNDS):
            for day in (26, 27):
                bring(bucket, write_run(runs, f"run-{number}-{day}", day, f"agent-{number % 3}"))
            nights = (partial(at_work.night, used, f"{number}-{publisher}") for publisher in range(2))
            together(*(partial(at_work.under, environment, night) for night in nights))
    finally:
        stop.set()
        answers = reader.result()
    assert [] in answers
    assert [] == [answer for answer in answers if answer]
    check(used, alone(runs, tmp_path / "alone"), runs=1 + 2 * ROUNDS)


def test_a_night_killed_anywhere_is_made_good(tmp_path: Path, bucket: Bucket, environment: Mapping[str, str]) -> None:
    """Killed before any request that changes something: the next night leaves the same tables."""
    runs = tmp_path / "runs"
    bring(bucket, write_run(runs, "a", 27))
    expected = alone(runs, tmp_path / "alone")

    def night(lake: str) -> Work:
        return partial(at_work.under, environment, partial(at_work.night, over(bucket, lake), "night"))

    made = calls(Path("/", bucket.name, "whole"), night("whole"), KINDS)
    kinds = {call.removeprefix(f"{at_work.CHANGE} ").split("/")[0] for call in made}
    assert {"_ops", "facts", "verdicts", "summaries", "index", "commits", "trends"} == kinds
    for number in range(1, len(made) + 1):
        lake = f"lake-{number}"
        assert dies(Cut(below=Path("/", bucket.name, lake), number=number, kinds=KINDS), night(lake)), made[number - 1]
        start(night(lake)).result()
        check(over(bucket, lake), expected, runs=1)


@pytest.mark.parametrize("dies_then", [False, True])
def test_a_publisher_that_was_overtaken_changes_nothing(
    tmp_path: Path, bucket: Bucket, environment: Mapping[str, str], dies_then: bool
) -> None:
    """Held before each of its requests while another one, who knows of one run more, publishes the date: whatever the
    first one still asks for is refused. It begins again; and where it dies then, nothing needs to be mended.
    """
    runs = tmp_path / "runs"
    bring(bucket, write_run(runs, "a", 27))

    def scored(lake: str, plan_id: str) -> Work:
        used = over(bucket, lake)
        start(partial(at_work.under, environment, partial(at_work.score, used, plan_id))).result()
        return partial(nightly.publish, used, plan_id)

    whole = partial(at_work.under, environment, scored("whole", "p"))
    made = calls(Path("/", bucket.name, "whole"), whole, KINDS)
    of_the_date = [number for number, call in enumerate(made, 1) if "run_date=2026-11-27" in call or "commits" in call]
    assert len(of_the_date) > 10
    late = write_run(runs, "b", 27)
    bring(bucket, late)
    expected = alone(runs, tmp_path / "alone")
    for number in of_the_date if dies_then else of_the_date[::4]:
        lake = f"lake-{number}"
        for file in late.iterdir():
            bucket.blob(f"runs/b/{file.name}").delete()
        slow = scored(lake, "slow")
        bring(bucket, late)
        fast = partial(at_work.under, environment, scored(lake, "fast"))
        cut = Cut(below=Path("/", bucket.name, lake), number=number, kinds=KINDS)
        if dies_then:
            reached, go_on = FORKS.Event(), FORKS.Event()
            held = partial(at_work.one_more_request, cut, reached, go_on, slow)
            first = start(partial(at_work.under, environment, held))
            assert reached.wait(SECONDS)
            start(fast).result()
            go_on.set()
            assert first.was_killed()
        else:
            overtaken(cut, partial(at_work.under, environment, slow), fast)
        check(over(bucket, lake), expected, runs=2)
