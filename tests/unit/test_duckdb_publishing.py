"""Questions while dates are being published: an answer comes from whole dates, or there is none."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from tests.builders import DAY, policy, run, trial
from tests.published import NO_ROUTES, VERSIONS, publish, publish_partition, rows_of

from evalbench.cli import main
from evalbench.errors import PipelineError, UsageError
from evalbench.lake.commits import Commit, read_commits, write_commit
from evalbench.sinks.duckdb import ATTEMPTS, query
from evalbench.sinks.parquet import partition_path
from evalbench.storage import LocalStorage
from evalbench.tables import table_named
from evalbench.trends import EntryState, Row, operational_rows

ONE = [run(trial("t1"))]
TWO = [run(trial("t1"), trial("t2")), run(trial("t1"), trial("t2"), run_id="run-2", run_key="key-2")]
COUNTS = "SELECT (SELECT COUNT(*) FROM runs) AS runs, (SELECT COUNT(*) FROM trials) AS trials"

Commits = Callable[[], Mapping[date, Commit]]


class Publisher:
    """Publishes DAY in two steps, so that a reader can come in between, under the commit protocol."""

    def __init__(self, lake: Path) -> None:
        self.lake = LocalStorage(str(lake))
        self.seq = count(1)

    def commit(self, *, writing: bool) -> None:
        """Write DAY's commit record."""
        record = Commit(
            run_date=DAY, seq=next(self.seq), writing=writing, evidence=None, rules=None, texts=None, objects={}
        )
        write_commit(self.lake, record)

    def start(self, rows: Mapping[str, list[Row]]) -> None:
        """Say that DAY is being written, and replace its `runs`."""
        self.commit(writing=True)
        publish_partition(self.lake, DAY, {"runs": rows["runs"]})

    def finish(self, rows: Mapping[str, list[Row]]) -> None:
        """Replace its `trials`, and say that it is done."""
        publish_partition(self.lake, DAY, {"trials": rows["trials"]})
        self.commit(writing=False)

    def commits(self) -> Mapping[date, Commit]:
        """Every date's record, as the command line reads them."""
        return read_commits(self.lake)


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    """A lake in which DAY has one run and one trial."""
    made = Publisher(tmp_path)
    publish(tmp_path, ONE, [policy()])
    made.commit(writing=False)
    return made


def one() -> dict[str, list[Row]]:
    """DAY's rows over one run of one trial."""
    return rows_of(DAY, ONE, [policy()])


def two() -> dict[str, list[Row]]:
    """DAY's rows over two runs of two trials."""
    return rows_of(DAY, TWO, [policy()])


def after_first(read: Commits, act: Callable[[], None]) -> Commits:
    """Read commit records; right after the first time, act."""
    calls = count()

    def reading() -> Mapping[date, Commit]:
        found = read()
        if next(calls) == 0:
            act()
        return found

    return reading


def counts(table: pa.Table) -> tuple[int, ...]:
    """The row of COUNTS."""
    (row,) = table.to_pylist()
    return tuple(row.values())


def never(seconds: float) -> None:
    """A pause that must not be needed."""
    raise AssertionError(f"waited {seconds} s")


def test_a_settled_lake_answers_at_once(publisher: Publisher, tmp_path: Path) -> None:
    """No pause, no second reading."""
    assert (1, 1) == counts(query(LocalStorage(str(tmp_path)), COUNTS, publisher.commits, never))


def test_a_lake_without_commit_records_answers(tmp_path: Path) -> None:
    """An earlier version wrote none."""
    publish(tmp_path, ONE, [policy()])
    assert (1, 1) == counts(query(LocalStorage(str(tmp_path)), COUNTS, Publisher(tmp_path).commits, never))


def test_a_date_being_written_is_waited_for(publisher: Publisher, tmp_path: Path) -> None:
    """Asked in the middle of publishing: the answer is the one after it."""
    publisher.start(two())
    assert (2, 4) == counts(
        query(LocalStorage(str(tmp_path)), COUNTS, publisher.commits, lambda _: publisher.finish(two()))
    )


def test_a_date_written_while_it_was_read_is_read_again(publisher: Publisher, tmp_path: Path) -> None:
    """Publishing began after the reader had looked: what it read, two runs of one trial, is no answer."""
    commits = after_first(publisher.commits, lambda: publisher.start(two()))
    assert (2, 4) == counts(query(LocalStorage(str(tmp_path)), COUNTS, commits, lambda _: publisher.finish(two())))


def test_a_date_published_within_one_reading_is_read_again(publisher: Publisher, tmp_path: Path) -> None:
    """Begun and finished between the two looks: the records differ, though none says `writing`."""

    def publish_at_once() -> None:
        publisher.start(two())
        publisher.finish(two())

    waited: list[float] = []
    commits = after_first(publisher.commits, publish_at_once)
    assert (2, 4) == counts(query(LocalStorage(str(tmp_path)), COUNTS, commits, waited.append))
    assert 1 == len(waited)


def test_a_date_published_for_the_first_time_is_read_again(tmp_path: Path) -> None:
    """Its record wasn't there at the first look."""
    (tmp_path / "trends").mkdir()
    publisher = Publisher(tmp_path)
    commits = after_first(publisher.commits, lambda: publisher.start(two()))
    assert (2, 4) == counts(query(LocalStorage(str(tmp_path)), COUNTS, commits, lambda _: publisher.finish(two())))


def test_a_damaged_partition_of_a_settled_lake_is_an_error_at_once(publisher: Publisher, tmp_path: Path) -> None:
    """Nobody is writing: asking again wouldn't help."""
    (tmp_path / partition_path(table_named("runs"), DAY)).write_bytes(b"torn")
    with pytest.raises(PipelineError, match="can't be read"):
        query(LocalStorage(str(tmp_path)), COUNTS, publisher.commits, never)


def test_an_error_while_a_date_was_published_is_no_answer(publisher: Publisher, tmp_path: Path) -> None:
    """What couldn't be read then can be read now."""
    path = tmp_path / partition_path(table_named("runs"), DAY)

    def tear() -> None:
        publisher.commit(writing=True)
        path.write_bytes(b"torn")

    def mend(_: float) -> None:
        publisher.start(two())
        publisher.finish(two())

    assert (2, 4) == counts(query(LocalStorage(str(tmp_path)), COUNTS, after_first(publisher.commits, tear), mend))


def test_a_file_that_is_gone_afterwards_is_no_error(publisher: Publisher, tmp_path: Path) -> None:
    """It was listed, couldn't be read, and isn't there any more; no commit record says anything of it."""
    extra = tmp_path / "trends" / "runs" / "run_date=2026-03-02" / "part-1.parquet"
    looks = count()

    def commits() -> Mapping[date, Commit]:
        if next(looks) == 0:
            extra.write_bytes(b"torn")
        else:
            extra.unlink(missing_ok=True)
        return publisher.commits()

    waited: list[float] = []
    assert (1, 1) == counts(query(LocalStorage(str(tmp_path)), COUNTS, commits, waited.append))
    assert 1 == len(waited)


def test_an_interrupted_publishing_is_named(publisher: Publisher, tmp_path: Path) -> None:
    """Its publisher died: after a bounded number of pauses the error names the date and what to do."""
    publisher.start(two())
    waited: list[float] = []
    said = "2026-03-02 is being published, or its publishing was interrupted; let the pipeline finish, or run it again"
    with pytest.raises(PipelineError, match=said):
        query(LocalStorage(str(tmp_path)), COUNTS, publisher.commits, waited.append)
    assert [0.1] * (ATTEMPTS - 1) == waited


def test_a_date_that_never_settles_is_named(publisher: Publisher, tmp_path: Path) -> None:
    """Published anew at every look: no answer, and the error says why."""

    def restless() -> Mapping[date, Commit]:
        publisher.commit(writing=False)
        return publisher.commits()

    with pytest.raises(PipelineError, match="2026-03-02 was published while it was read, again and again"):
        query(LocalStorage(str(tmp_path)), "SELECT run_id FROM runs", restless, lambda _: None)


def test_what_only_grows_can_be_read_meanwhile(publisher: Publisher, tmp_path: Path) -> None:
    """The pipeline's own book-keeping answers in the middle of publishing: nothing of it is replaced."""
    entries = [EntryState(path="a", state="ignored", reason="no_run_files")]
    rows = operational_rows(DAY, "p", entries, {("listed", None): 1}, NO_ROUTES, VERSIONS)
    publish_partition(LocalStorage(str(tmp_path)), DAY, rows)
    publisher.start(two())
    found = query(LocalStorage(str(tmp_path)), "SELECT path FROM run_states", publisher.commits, never)
    assert [{"path": "a"}] == found.to_pylist()


def test_a_wrong_question_is_answered_at_once(publisher: Publisher, tmp_path: Path) -> None:
    """An error over a settled lake is not asked again."""
    with pytest.raises(UsageError, match="nonsense"):
        query(LocalStorage(str(tmp_path)), "SELECT nonsense FROM runs", publisher.commits, never)


def test_a_reader_beside_a_publisher_never_sees_a_mixed_date(publisher: Publisher, tmp_path: Path) -> None:
    """Twenty publishings, each begun while somebody reads: every answer is one of the two whole dates."""
    states, due, settled, done = (one(), two()), threading.Event(), threading.Event(), threading.Event()
    looks = count()

    def publish_in_turn() -> None:
        for number in range(1, 21):
            due.wait()
            due.clear()
            settled.clear()
            publisher.start(states[number % 2])
            publisher.finish(states[number % 2])
            settled.set()
        done.set()

    def commits() -> Mapping[date, Commit]:
        found = publisher.commits()
        if next(looks) % 5 == 0:
            due.set()
        return found

    def answers() -> Iterator[tuple[int, ...]]:
        while not done.is_set():
            yield counts(query(LocalStorage(str(tmp_path)), COUNTS, commits, settled.wait))

    threading.Thread(target=publish_in_turn, daemon=True).start()
    assert {(1, 1), (2, 4)} == set(answers())


def test_the_command_line_waits_for_a_date(
    publisher: Publisher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evalbench query` in the middle of publishing answers with the date as it is afterwards."""
    publisher.start(two())
    finisher = threading.Timer(0.3, publisher.finish, [two()])
    finisher.start()
    code = main(["query", "--lake", str(tmp_path), "--format", "json", COUNTS])
    finisher.join()
    assert (0, [{"runs": 2, "trials": 4}]) == (code, json.loads(capsys.readouterr().out))
