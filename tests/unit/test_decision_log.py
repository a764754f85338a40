"""Decisions of record: what was decided once stays, and what differs now can be asked for."""

import io
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.builders import DAY, STRICT, case, outcome, policy, run, trial
from tests.published import NO_ROUTES, VERSIONS, ask, bytes_below, decided_on, publish, publish_partition

from evalbench.decided import DecidedSubject, decide_subject
from evalbench.errors import PipelineError
from evalbench.exclusions import Exclusion
from evalbench.gate.case import LostRun
from evalbench.ledger import ScoredRun
from evalbench.policy import Policy
from evalbench.sinks.decision_log import append_decisions, entry_path
from evalbench.sinks.parquet import Published, partition_bytes
from evalbench.storage import LocalStorage
from evalbench.tables import PUBLISHED_TABLES, table_named
from evalbench.trends import CodeVersions, Row, decision_log_rows, partition_rows
from evalbench.trends.decision_log import evidence_hash, log_id

LOG = table_named("decision_log")
NIGHT = datetime(2026, 3, 3, 2, tzinfo=UTC)
GOOD, BAD = run(trial("t1"), trial("t2")), run(trial("t1"), trial("t2", outcome=outcome("failed")), content="1" * 64)
STRICTER = policy(STRICT.replace("max_usd_per_verified_outcome: 0.60", "max_usd_per_verified_outcome: 0.10"))


def decided(*runs: ScoredRun, **changes: Any) -> DecidedSubject:
    """The decision over these runs, of a case with these fields changed."""
    return decide_subject(replace(case(*runs), **changes))


def rows(
    runs: Sequence[ScoredRun],
    by: Iterable[Policy] = (),
    at: datetime = NIGHT,
    versions: CodeVersions = VERSIONS,
    day: date = DAY,
) -> list[Row]:
    """Log entries of a date's decisions over these runs."""
    return decision_log_rows(day, at, decided_on(day, runs, [*by] or [policy()]), NO_ROUTES, versions)


def logged(lake: Path, runs: Sequence[ScoredRun], by: Iterable[Policy] = (), hours: int = 0, **more: Any) -> Published:
    """Append the decisions over these runs, decided some hours into the night."""
    entries = rows(runs, by, NIGHT + timedelta(hours=hours), **more)
    return append_decisions(LocalStorage(str(lake)), DAY, entries)


def night(lake: Path, runs: Sequence[ScoredRun], by: Policy | None = None, hours: int = 0) -> None:
    """Publish DAY over these runs and log its decisions, as a night does."""
    publish(lake, runs, [by or policy()])
    logged(lake, runs, [by or policy()], hours)


def entries(lake: Path) -> list[dict[str, Any]]:
    """The log, oldest entry first."""
    return ask(lake, "SELECT * FROM decision_log ORDER BY decided_at, log_id")


# -- rows and names ------------------------------------------------------------------------------------------------


def test_a_row_has_exactly_the_declared_columns() -> None:
    """And a value in every one that is required."""
    (row,) = rows([GOOD])
    assert set(LOG.column_names) == set(row)
    assert [] == [column.name for column in LOG.columns if not column.nullable and row[column.name] is None]


def test_a_row_says_what_was_decided_and_when() -> None:
    """Decision, deciding check, runs, moment; what it supersedes only the log knows."""
    (row,) = rows([BAD])
    expected = ("FAIL", "false_success", "false_success", None, '["run-1"]', 1, NIGHT, None)
    names = ("decision", "first_reason", "decided_by", "baseline", "runs", "run_count", "decided_at")
    assert expected == tuple(row[name] for name in (*names, "supersedes"))


def test_rows_of_the_log_and_of_decisions_speak_of_the_same_evidence_and_code() -> None:
    """Both tables can be compared column by column."""
    items = decided_on(DAY, [GOOD], [policy()])
    current = partition_rows(DAY, [GOOD], items, [], NO_ROUTES, VERSIONS)["decisions"][0]
    (entry,) = rows([GOOD])
    shared = ("product", "suite", "environment", "candidate", "run_date", "policy_hash", "evidence_hash")
    assert {name: current[name] for name in (*shared, "code_version")} == {
        name: entry[name] for name in (*shared, "code_version")
    }


OTHER = run(trial("t1"), run_id="run-2", run_key="key-2")
LOST = LostRun(
    product="billing", suite="suite", environment="offline", candidate="agent/1", run_date=DAY, path="runs/a"
)
VOID = Exclusion(run="run-9", reason="wrong build", owner="ada", date="2026-03-03")

EVIDENCE = {
    "other content": decided(replace(GOOD, run=replace(GOOD.run, content="2" * 64))),
    "another directory": decided(replace(GOOD, run=replace(GOOD.run, run_key="elsewhere"))),
    "read in another zone": decided(replace(GOOD, run=replace(GOOD.run, run_time=NIGHT))),
    "one run more": decided(GOOD, OTHER),
    "a run on another dataset version": decided(GOOD, other_versions=(OTHER.run,)),
    "a baseline without runs": decided(GOOD, baseline_candidate="agent/0"),
    "a baseline": decided(GOOD, baseline_candidate="agent/0", baseline=case(OTHER).pool),
    "a lost run": decided(GOOD, lost=(LOST,)),
    "a lost run of the baseline": decided(GOOD, baseline_lost=(LOST,)),
    "a voided run": decided(GOOD, excluded=(VOID,)),
    "a voided run of the baseline": decided(GOOD, baseline_excluded=(VOID,)),
    "no run": decided(),
    "no run where one was due": decided(expected=True),
}


def test_other_evidence_has_another_hash() -> None:
    """Whatever a decision rests on beside its policy tells it apart from every other."""
    hashes = {name: evidence_hash(item) for name, item in EVIDENCE.items()}
    assert len(EVIDENCE) + 1 == len({evidence_hash(decided(GOOD)), *hashes.values()})


@pytest.mark.parametrize(
    "same",
    [
        decided(OTHER, GOOD),
        decided(GOOD, OTHER, expected=True),
        decide_subject(case(GOOD, OTHER, by=STRICTER)),
    ],
    ids=["another order", "its hour has come", "another policy"],
)
def test_the_same_evidence_has_the_same_hash(same: DecidedSubject) -> None:
    """Order, policy and the clock are no evidence."""
    assert evidence_hash(decided(GOOD, OTHER)) == evidence_hash(same)


def test_an_entry_is_named_by_subject_date_policy_evidence_and_code() -> None:
    """Each of them changes the name; asking twice doesn't."""
    subject = case(GOOD).subject
    named = [
        log_id(decided(GOOD), "code-1"),
        log_id(decided(GOOD), "code-2"),
        log_id(decided(BAD), "code-1"),
        log_id(decide_subject(case(GOOD, by=STRICTER)), "code-1"),
        log_id(decided(GOOD, on=date(2026, 3, 1)), "code-1"),
        *(
            log_id(decided(GOOD, subject=replace(subject, **{part: "x"})), "code-1")
            for part in ("product", "suite", "environment", "candidate")
        ),
    ]
    assert len(named) == len({*named, log_id(decided(GOOD), "code-1")})


def test_moment_and_execution_are_not_in_the_name() -> None:
    """Decided again by another execution, it is the same entry."""
    first, again = rows([GOOD])[0], rows([GOOD], at=NIGHT + timedelta(days=9))[0]
    assert first["log_id"] == again["log_id"]


def test_only_code_that_can_change_a_decision_names_another_entry() -> None:
    """Evaluators and summaries decide nothing; the gate does."""
    ids = {
        what: rows([GOOD], versions=replace(VERSIONS, **{what: "9"}))[0]["log_id"]
        for what in ("readers", "comparators", "signals", "gate", "evaluators", "summaries")
    }
    usual = rows([GOOD])[0]["log_id"]
    assert ["evaluators", "summaries"] == [what for what, name in ids.items() if name == usual]


# -- the log in the lake -------------------------------------------------------------------------------------------


def test_an_entry_is_a_file_of_its_own(tmp_path: Path) -> None:
    """One row, in the folder of its date, under the first half of its name."""
    done = logged(tmp_path, [GOOD])
    (row,) = rows([GOOD])
    path = f"trends/decision_log/run_date=2026-03-02/{str(row['log_id'])[:32]}.parquet"
    assert Published(written=(path,)) == done
    assert [row] == pq.read_table(io.BytesIO((tmp_path / path).read_bytes())).to_pylist()


def test_appending_twice_writes_once(tmp_path: Path) -> None:
    """The second time nothing is written, and the entry keeps the moment of its first decision."""
    first = logged(tmp_path, [GOOD])
    before = bytes_below(tmp_path)
    again = logged(tmp_path, [GOOD], hours=24)
    assert (first.written, ()) == (again.unchanged, again.written)
    assert before == bytes_below(tmp_path)


def test_a_changed_policy_is_a_second_entry(tmp_path: Path) -> None:
    """Both stay; the later one says which it supersedes."""
    logged(tmp_path, [GOOD])
    logged(tmp_path, [GOOD], [STRICTER], hours=1)
    first, second = entries(tmp_path)
    assert [("PASS", None), ("FAIL", first["log_id"])] == [(e["decision"], e["supersedes"]) for e in (first, second)]
    assert (first["evidence_hash"], first["code_version"]) == (second["evidence_hash"], second["code_version"])


def test_back_and_forth_adds_nothing(tmp_path: Path) -> None:
    """A, B, A again: two entries. What comes after supersedes the newest of them."""
    logged(tmp_path, [GOOD])
    logged(tmp_path, [BAD], hours=1)
    back = logged(tmp_path, [GOOD], hours=2)
    assert () == back.written
    logged(tmp_path, [GOOD, OTHER], hours=3)
    first, second, third = entries(tmp_path)
    assert [None, first["log_id"], second["log_id"]] == [entry["supersedes"] for entry in (first, second, third)]


def test_only_the_same_subject_and_date_is_superseded(tmp_path: Path) -> None:
    """Other candidates, and the same one on another date, have logs of their own."""
    other = replace(GOOD, run=replace(GOOD.run, run_id="r2", run_key="k2", candidate="agent/2"))
    later = run(trial("t1"), run_id="r3", run_key="k3", run_time=datetime(2026, 3, 3, 9, tzinfo=UTC))
    logged(tmp_path, [GOOD])
    logged(tmp_path, [GOOD, other], hours=1)
    append_decisions(LocalStorage(str(tmp_path)), date(2026, 3, 3), rows([later], day=date(2026, 3, 3)))
    assert [None, None, None] == [entry["supersedes"] for entry in entries(tmp_path)]


def test_the_order_of_rows_changes_no_byte(tmp_path: Path) -> None:
    """Two policies at once, in either order: the same files, the later name after the earlier."""
    both = rows([GOOD], [policy(), STRICTER])
    append_decisions(LocalStorage(str(tmp_path / "a")), DAY, both)
    append_decisions(LocalStorage(str(tmp_path / "b")), DAY, both[::-1])
    assert bytes_below(tmp_path / "a") == bytes_below(tmp_path / "b")
    assert [None, both[0]["log_id"]] == [entry["supersedes"] for entry in entries(tmp_path / "a")]


def test_publishers_at_once_leave_one_entry(tmp_path: Path) -> None:
    """Eight publishers of one decision: one of them writes it, whole."""
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda hour: logged(tmp_path, [GOOD], hours=hour), range(8)))
    (written,) = [path for published in done for path in published.written]
    assert [written] == list(bytes_below(tmp_path))
    assert ["PASS"] == [entry["decision"] for entry in entries(tmp_path)]


def test_a_damaged_entry_stops_the_next_one(tmp_path: Path) -> None:
    """A record can't be made again: the error names the file and leaves the choice to a person."""
    (path,) = logged(tmp_path, [GOOD]).written
    (tmp_path / path).write_bytes(b"torn")
    with pytest.raises(PipelineError, match=rf"{path}: this entry of the decision log can't be read .*restore"):
        logged(tmp_path, [BAD], hours=1)


def test_republishing_a_date_leaves_its_log_alone(tmp_path: Path) -> None:
    """The log is no partition that is replaced."""
    night(tmp_path, [GOOD])
    before = (tmp_path / entry_path(DAY, str(rows([GOOD])[0]["log_id"]))).read_bytes()
    publish(tmp_path, [BAD], [policy()])
    assert before == (tmp_path / entry_path(DAY, str(rows([GOOD])[0]["log_id"]))).read_bytes()
    assert "decision_log" not in {table.name for table in PUBLISHED_TABLES}


# -- what changed --------------------------------------------------------------------------------------------------

FLAGS = ("decision_changed", "policy_changed", "evidence_changed", "code_changed")


def changed(lake: Path) -> tuple[Any, ...]:
    """(first decision, current decision, the four flags, entries) of the only subject."""
    (row,) = ask(lake, f"SELECT first_decision, current_decision, {', '.join(FLAGS)}, entries FROM what_changed")
    return tuple(row.values())


def test_nothing_changed(tmp_path: Path) -> None:
    """Published twice, the decision is still its first."""
    night(tmp_path, [GOOD])
    night(tmp_path, [GOOD], hours=24)
    assert ("PASS", "PASS", False, False, False, False, 1) == changed(tmp_path)


def test_a_changed_policy_shows(tmp_path: Path) -> None:
    """The same evidence under another policy."""
    night(tmp_path, [GOOD])
    night(tmp_path, [GOOD], STRICTER, hours=24)
    assert ("PASS", "FAIL", True, True, False, False, 2) == changed(tmp_path)


def test_changed_evidence_shows(tmp_path: Path) -> None:
    """The run was written again with a failed outcome; then a run was added and the decision stayed."""
    night(tmp_path, [GOOD])
    night(tmp_path, [BAD], hours=1)
    assert ("PASS", "FAIL", True, False, True, False, 2) == changed(tmp_path)
    night(tmp_path, [GOOD, OTHER], hours=2)
    assert ("PASS", "PASS", False, False, True, False, 3) == changed(tmp_path)


def test_changed_code_shows(tmp_path: Path) -> None:
    """The same runs and policy, decided by another version of the gate."""
    night(tmp_path, [GOOD])
    newer = replace(VERSIONS, gate="2")
    items = decided_on(DAY, [GOOD], [policy()])
    publish_partition(LocalStorage(str(tmp_path)), DAY, partition_rows(DAY, [GOOD], items, [], NO_ROUTES, newer))
    logged(tmp_path, [GOOD], hours=1, versions=newer)
    assert ("PASS", "PASS", False, False, False, True, 2) == changed(tmp_path)


def test_back_to_the_first_decision_shows_in_the_entries_alone(tmp_path: Path) -> None:
    """A, B, A: nothing differs from the first, and two decisions were published."""
    for hours, runs in enumerate(([GOOD], [BAD], [GOOD])):
        night(tmp_path, runs, hours=hours)
    assert ("PASS", "PASS", False, False, False, False, 2) == changed(tmp_path)


def test_a_decision_that_is_gone_is_a_change(tmp_path: Path) -> None:
    """Its runs were taken away: nothing is decided now, and no flag claims to know why."""
    night(tmp_path, [GOOD])
    empty = partition_rows(DAY, [], [], [], NO_ROUTES, VERSIONS)
    publish_partition(LocalStorage(str(tmp_path)), DAY, empty)
    assert ("PASS", None, True, None, None, None, 1) == changed(tmp_path)


def test_decisions_of_an_older_version_name_no_evidence(tmp_path: Path) -> None:
    """Without an evidence hash nobody can say whether the evidence changed."""
    night(tmp_path, [GOOD])
    path = tmp_path / "trends/decisions/run_date=2026-03-02/part-0.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["evidence_hash"]), path)
    assert ("PASS", "PASS", False, False, None, False, 1) == changed(tmp_path)


def test_first_and_current_stand_side_by_side(tmp_path: Path) -> None:
    """Names, hashes and the moment, so that both can be looked up."""
    night(tmp_path, [BAD])
    night(tmp_path, [GOOD], STRICTER, hours=1)
    (row,) = ask(
        tmp_path,
        "SELECT first_decided_by, current_decided_by, first_decided_at, first_policy_hash, current_policy_hash,"
        " first_evidence_hash, current_evidence_hash, first_policy_name, current_policy_name FROM what_changed",
    )
    hashes = (policy().policy_hash, STRICTER.policy_hash, evidence_hash(decided(BAD)), evidence_hash(decided(GOOD)))
    assert ("false_success", "floor.budget", NIGHT, *hashes, "strict", "strict") == tuple(row.values())


def test_entries_keep_every_value(tmp_path: Path) -> None:
    """What is written is what is read."""
    found = pq.read_table(io.BytesIO(partition_bytes(LOG, rows([BAD])))).to_pylist()
    assert rows([BAD]) == found
