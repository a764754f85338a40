"""Views over real partitions: SQL finds every signal again, and answers what each view promises."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.builders import DAY, STRICT, call, effect, outcome, policy, run, trial, waiting
from tests.published import ask, bytes_below, mismatches, publish, publish_partition, rows_of

from evalbench.errors import PipelineError, UsageError
from evalbench.ledger import (
    Cost,
    CostState,
    OutcomeState,
    Plan,
    PlanSource,
    Progress,
    Quality,
    RunState,
    ScoredRun,
    Trial,
    TrialStatus,
    Verdict,
    VerdictState,
    Wait,
)
from evalbench.sinks.duckdb import query
from evalbench.sinks.parquet import partition_path
from evalbench.storage import LocalStorage
from evalbench.tables import PUBLISHED_TABLES, TABLES, VIEWS, table_named

ATTESTED = STRICT + (
    "outcome: {attestations: ["
    "{comparator: goal, match: {product: bill*, generator_class: 'replay*'}, predicate: p, reason: r, attested_by: a},"
    "{comparator: other, match: {product: '*', generator_class: '*'}, predicate: p, reason: r, attested_by: a,"
    " pass_threshold: 0.5}]}\n"
    "declared: {finished_conversation: true}\n"
)
GRADED = STRICT + "quality: {graders: [{name: style, weight: 0.5}, {name: facts, weight: 0.5}]}\n"
THIRDS = STRICT + "quality: {graders: [{name: style}, {name: facts, weight: 2}]}\n"


def tolerating(absence: str, count: int) -> str:
    """A policy that accepts this absence up to a count."""
    return STRICT + f"tolerate: {{{absence}: {{up_to: {count}, reason: test}}}}\n"


def goal(score: str | None, name: str = "goal", task: str = "t1") -> Verdict:
    """A harness comparator's verdict on a task's first trial."""
    return Verdict(
        name=name,
        source="harness",
        version="1",
        value=None if score is None else Decimal(score),
        state=VerdictState.UNAVAILABLE if score is None else VerdictState.AVAILABLE,
        reason="judge_no_log" if score is None else None,
        task_id=task,
        trial=0,
    )


def grade(score: str | None, name: str | None = "style") -> Quality:
    """A person's grade."""
    return Quality(score=None if score is None else Decimal(score), grader_kind="human", grader_name=name)


def judged_by(verdicts: Iterable[Verdict], *trials: Trial, **fields: Any) -> ScoredRun:
    """A run with harness verdicts."""
    return replace(run(*trials, **fields), verdicts=tuple(verdicts))


def day_run(day: int, *trials: Trial, **fields: Any) -> ScoredRun:
    """A run on a day of March 2026."""
    moment = datetime(2026, 3, day, 9, tzinfo=UTC)
    return run(*trials, run_id=f"run-{day}", run_key=f"key-{day}", run_time=moment, **fields)


def wait(**fields: Any) -> Wait:
    """A complete wait, due well after the decided day."""
    whole = {"owner": "ops", "decision": "d", "due": datetime(2026, 3, 9, tzinfo=UTC), "resume_state": "s"}
    return Wait(**(whole | fields))


SILENT = trial("t1", effects=None, calls=(call(0), call(1, status="rejected"), call(2, "crm__get_card")))
OPAQUE = trial("t2", effects=None, calls=None)
UNSAID = trial("t1", outcome=None, declared_complete=None, finished_conversation=True)

RECOMPUTED = {
    "everything in order": (STRICT, [run(trial("t1"), trial("t2"))]),
    "nothing recorded": (
        STRICT,
        [run(trial(status=None, outcome=None, qualities=(), progress=None, effects=None, calls=None, cost=None))],
    ),
    "no trial at all": (STRICT, [run(planned={"t1": 3})]),
    "planned trials missing": (STRICT, [run(trial("t1"), planned={"t1": 3, "t2": 1})]),
    "recorded beyond the plan": (STRICT, [run(trial("t1"), trial("t1", 1), planned={"t1": 1})]),
    "abandoned without a plan": (
        STRICT,
        [run(trial("t1"), state=RunState.ABANDONED, plan=Plan(source=PlanSource.OBSERVED))],
    ),
    "outcomes of every state": (
        STRICT,
        [
            run(
                *(trial(f"t{n}", outcome=outcome(state)) for n, state in enumerate(OutcomeState)),
                trial("t9", outcome=None),
            )
        ],
    ),
    "effects of every state": (
        STRICT,
        [
            run(
                trial(
                    "t1",
                    effects=tuple(effect(state, key=state) for state in ("verified", "failed", "unknown", "rejected")),
                ),
                trial("t2", effects=(effect("unknown", tool="crm__get_card"), effect("unknown", key=None, tool=None))),
            )
        ],
    ),
    "silent and rejected calls": (STRICT, [run(SILENT)]),
    "calls beyond the recorded attempts": (
        STRICT,
        [
            run(
                trial(
                    calls=tuple(call(n) for n in range(4)), effects=(effect(attempts=2), effect(tool="a__b", key="k2"))
                )
            )
        ],
    ),
    "the first calls are the recorded ones": (
        STRICT,
        [run(trial(calls=(call(0, status="rejected"), call(1), call(2, status="rejected")), effects=(effect(),)))],
    ),
    "effects recorded, calls not": (STRICT, [run(trial(calls=None))]),
    "opaque trials": (STRICT, [run(trial("t1"), OPAQUE)]),
    "silence accepted": (tolerating("effects", 2), [run(SILENT, OPAQUE)]),
    "more silence than accepted": (tolerating("effects", 1), [run(SILENT, OPAQUE)]),
    "silence accepted none": (tolerating("effects", 0), [run(trial("t1"))]),
    "missing records accepted": (tolerating("records", 5), [run(trial("t1"), planned={"t1": 3})]),
    "unknown effects of read-only tools accepted": (
        STRICT + "unknown_effects: {tolerate_read_only_tools: true}\n",
        [
            run(
                trial(
                    effects=(
                        effect("unknown", tool="crm__get_card"),
                        effect("unknown"),
                        effect("unknown", key=None, tool=None),
                    )
                )
            )
        ],
    ),
    "tools not matched are read-only": (
        STRICT.replace("unmatched: effectful", "unmatched: read_only, effectful: ['*__pay']"),
        [run(trial(effects=None, calls=(call(0), call(1, "billing__other"), call(2, "crm__get_card"))))],
    ),
    "declared or not, or silent": (
        STRICT,
        [
            run(
                *(
                    trial(f"t{n}", declared_complete=said, outcome=outcome("failed"))
                    for n, said in enumerate([True, False, None])
                )
            )
        ],
    ),
    "a finished conversation does not count": (STRICT, [run(UNSAID)]),
    "a finished conversation counts, the record's word before it": (
        ATTESTED,
        [run(UNSAID, trial("t2", declared_complete=False, finished_conversation=True, outcome=outcome("failed")))],
    ),
    "attested pass, failure and silence": (
        ATTESTED,
        [
            judged_by(
                [goal("100", task="t1"), goal("99.999999999", task="t2"), goal(None, task="t3")],
                *(replace(UNSAID, task_id=f"t{n}") for n in (1, 2, 3, 4)),
                generator_class="replay.Agent",
            )
        ],
    ),
    "an attestation that doesn't match the run": (ATTESTED, [judged_by([goal("100")], UNSAID, generator_class="live")]),
    "attested against the record, and against each other": (
        ATTESTED,
        [
            judged_by(
                [goal("0", task="t1"), goal("100", task="t2"), goal("0.4", "other", "t2"), goal("100", task="t3")],
                trial("t1"),
                replace(UNSAID, task_id="t2"),
                trial("t3", outcome=outcome("failed")),
                generator_class="replay",
            )
        ],
    ),
    "two rows of an attested comparator": (
        ATTESTED,
        [judged_by([goal("100"), goal("0")], UNSAID, generator_class="replay")],
    ),
    "a comparator that names no trial": (
        ATTESTED,
        [judged_by([replace(goal("0"), task_id=None, trial=None)], trial("t1"), generator_class="replay")],
    ),
    "one grader, none, two unnamed": (
        STRICT,
        [
            run(
                trial("t1", qualities=(grade("0.9"),)),
                trial("t2", qualities=()),
                trial("t3", qualities=(grade("0.5"), grade("0.7", "facts"))),
                trial("t4", qualities=(grade(None),)),
                trial("t5", qualities=(grade("0.4", None),)),
                trial("t6", qualities=(grade("0.3"),), status=TrialStatus.FAILED),
            )
        ],
    ),
    "graders weighted": (
        THIRDS,
        [
            run(
                trial("t1", qualities=(grade("0.1"), grade("0.2", "facts"))),
                trial("t2", qualities=(grade("0.1"), grade(None, "facts"))),
                trial("t3", qualities=(grade("0.1"),)),
                trial("t4", qualities=(grade("0.9", "facts"), grade("0.5"), grade("0.3", "extra"))),
            )
        ],
    ),
    "a mean between two decimals rounds to even": (
        GRADED,
        [
            run(
                trial("t1", qualities=(grade("0.000000001"), grade("0.000000002", "facts"))),
                trial("t2", qualities=(grade("0.000000002"), grade("0.000000003", "facts"))),
                trial("t3", qualities=(grade("0"), grade("0.000000001", "facts"))),
            )
        ],
    ),
    "a grader that graded twice": (GRADED, [run(trial(qualities=(grade("0.1"), grade("0.4", "facts"), grade("0.8"))))]),
    "bills and estimates": (
        STRICT,
        [
            run(
                trial("t1"),
                trial("t2", cost=Cost(state=CostState.ESTIMATED, usd=Decimal("0.123456789"))),
                trial("t3", cost=Cost(state=CostState.UNAVAILABLE)),
                trial("t4", cost=Cost(state=CostState.BILLED, usd=None)),
                trial("t5", cost=None),
                trial("t6", cost=Cost(state=CostState.BILLED, usd=Decimal(0))),
            )
        ],
    ),
    "estimates where there is no bill": (
        STRICT + "cost_basis: estimated\n",
        [
            run(
                trial("t1"),
                trial("t2", cost=Cost(state=CostState.ESTIMATED, usd=Decimal("0.1"))),
                trial("t3", cost=None),
            )
        ],
    ),
    "no bill at all": (STRICT, [run(trial(cost=None))]),
    "waits of every kind": (
        STRICT,
        [
            run(
                waiting("valid"),
                waiting("due as the day ends", wait=wait(due=datetime(2026, 3, 3, tzinfo=UTC))),
                waiting("overdue", wait=wait(due=datetime(2026, 3, 2, 23, 59, tzinfo=UTC))),
                waiting("nobody's", wait=wait(owner=None)),
                waiting("nameless", wait=wait(owner="")),
                waiting("undecided", wait=wait(decision=None)),
                waiting("undated", wait=wait(due=None)),
                waiting("no way back", wait=wait(resume_state="")),
                waiting("unexplained", wait=None),
                waiting("declared", declared_complete=True, outcome=outcome("failed")),
                waiting("silent", declared_complete=None),
                waiting("graded", qualities=(grade("0.7"),)),
            )
        ],
    ),
    "windows waiting and stale": (
        STRICT,
        [
            run(
                trial("t1", progress=Progress(active=5, active_with_delta=2, waiting=3, stale=4)),
                trial("t2", progress=None),
                trial("t3", progress=Progress(active=0, active_with_delta=0)),
            )
        ],
    ),
    "a window of three days": (
        STRICT + "window: {days: 3}\n",
        [day_run(n, trial(f"d{n}"), SILENT, planned={f"d{n}": 2, "t1": 1}) for n in (1, 2, 3, 4, 8)],
    ),
    "a wait that is valid on one day and overdue on the next": (
        STRICT + "window: {days: 7}\n",
        [day_run(n, waiting("t9", wait=wait(due=datetime(2026, 3, 4, tzinfo=UTC)))) for n in (2, 3, 4)],
    ),
    "several subjects": (
        STRICT,
        [
            run(trial(), run_id=f"r{n}", run_key=f"k{n}", **fields)
            for n, fields in enumerate(
                [{}, {"candidate": "agent/2"}, {"environment": "production"}, {"product": "crm"}, {"dataset": "other"}]
            )
        ],
    ),
}


@pytest.mark.parametrize(("text", "runs"), RECOMPUTED.values(), ids=RECOMPUTED.keys())
def test_sql_finds_every_signal_again(tmp_path: Path, text: str, runs: list[ScoredRun]) -> None:
    """The policy-free tables and the policy relations reproduce numerator, denominator and what was left out."""
    publish(tmp_path, runs, [policy(text)])
    assert [] == mismatches(tmp_path)
    decisions = ask(tmp_path, "SELECT COUNT(*) AS n FROM decisions")[0]["n"]
    assert [{"n": 5 * decisions}] == ask(tmp_path, "SELECT COUNT(*) AS n FROM recompute_signals")


def test_policies_stay_apart(tmp_path: Path) -> None:
    """Several policies over the same runs on the same date: each finds its own signals again."""
    runs = [run(SILENT, OPAQUE, waiting("t9"), trial("t3", qualities=(grade("0.1"), grade("0.3", "facts"))))]
    publish(tmp_path, runs, [policy(text) for text in (STRICT, ATTESTED, GRADED, THIRDS, tolerating("effects", 9))])
    assert [] == mismatches(tmp_path)
    assert [{"n": 25}] == ask(tmp_path, "SELECT COUNT(*) AS n FROM recompute_signals")


SPOILED = [
    ("signals", "numerator", Decimal(7)),
    ("signals", "denominator", 7),
    ("signals", "left_out_total", 7),
    ("signals", "signal", "task_qualities"),
    ("trials", "declared_complete", False),
    ("trials", "outcome_state", "failed"),
    ("trials", "cost_usd", Decimal(9)),
    ("trials", "progress_active", 99),
    ("effects", "state", "failed"),
    ("verdicts", "value", Decimal("0.1")),
    ("calls", "tool", "crm__get_card"),
    ("policy_tools", "effectful", False),
    ("policies", "cost_basis", "estimated"),
]


@pytest.mark.parametrize(("table", "column", "value"), SPOILED, ids=[f"{t}.{c}" for t, c, _ in SPOILED])
def test_a_spoiled_value_is_found(tmp_path: Path, table: str, column: str, value: object) -> None:
    """Recomputation reads what is published: one wrong value, and some signal no longer matches."""
    estimated = Cost(state=CostState.ESTIMATED, usd=Decimal("0.3"))
    scored = [run(trial("t1", calls=(call(), call(1))), trial("t2", cost=estimated))]
    rows = rows_of(DAY, scored, [policy()])
    rows[table][0] |= {column: value}
    publish_partition(LocalStorage(str(tmp_path)), DAY, rows)
    assert mismatches(tmp_path)


def published_nothing(lake: Path) -> None:
    """A lake whose tables have no files."""
    (lake / "trends").mkdir()
    (lake / "trends" / "notes.txt").touch()


@pytest.mark.parametrize("name", [*(table.name for table in TABLES), *(view.name for view in VIEWS)])
def test_an_empty_lake_answers_with_no_rows(tmp_path: Path, name: str) -> None:
    """Tables without files have their columns and no rows, and every view stands on them."""
    published_nothing(tmp_path)
    found = query(LocalStorage(str(tmp_path)), f"SELECT * FROM {name}", dict)
    assert 0 == found.num_rows
    assert found.num_columns > 0


def test_every_table_can_be_read(tmp_path: Path) -> None:
    """Declared columns in declared order; run_date is a date, not a text made from a folder's name."""
    publish(tmp_path, [run(trial())], [policy()])
    for table in PUBLISHED_TABLES:
        assert (
            list(table.column_names)
            == query(LocalStorage(str(tmp_path)), f"SELECT * FROM {table.name}", dict).column_names
        )
    assert [{"run_date": DAY}] == ask(tmp_path, "SELECT DISTINCT run_date FROM trials")


def test_older_files_without_a_new_column_are_read(tmp_path: Path) -> None:
    """A nullable column added later is null in their rows."""
    publish(tmp_path, [day_run(1, trial("t1", task_key="k")), day_run(2, trial("t2", task_key="k"))], [policy()])
    path = tmp_path / partition_path(table_named("trials"), date(2026, 3, 1))
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["task_key"]), path)
    assert [{"task_id": "t1", "task_key": None}, {"task_id": "t2", "task_key": "k"}] == ask(
        tmp_path, "SELECT task_id, task_key FROM trials ORDER BY 1"
    )


def test_times_are_utc(tmp_path: Path) -> None:
    """Whatever the machine's timezone, as_of reads as midnight UTC."""
    publish(tmp_path, [run(trial())], [policy()])
    assert [{"t": "2026-03-03 00:00:00+00"}] == ask(tmp_path, "SELECT CAST(as_of AS VARCHAR) AS t FROM decisions")


def test_a_lake_with_an_awkward_name_is_read(tmp_path: Path) -> None:
    """Quotes, spaces and glob characters in the path are nothing special."""
    lake = tmp_path / "l'a [k]e*"
    publish(lake, [run(trial())], [policy()])
    assert [{"run_id": "run-1"}] == ask(lake, "SELECT run_id FROM runs")


REFUSED = [
    ("SELEC 1", "syntax error"),
    ("SELECT * FROM trails", "trails"),
    ("SELECT nothing FROM runs", "nothing"),
    ("", "one SELECT"),
    ("SELECT 1; SELECT 2", "one SELECT"),
    ("DROP VIEW runs", "one SELECT"),
    ("CREATE TABLE t AS SELECT 1", "one SELECT"),
    ("SET enable_external_access = true", "one SELECT"),
    ("SET threads = 1", "one SELECT"),
    ("PRAGMA database_list", "one SELECT"),
    ("INSTALL httpfs", "one SELECT"),
    ("ATTACH '{lake}/trends/x.db' AS x", "one SELECT"),
    ("COPY (SELECT 1) TO '{lake}/trends/x.csv'", "one SELECT"),
    ("EXPLAIN ANALYZE COPY (SELECT 1) TO '{lake}/trends/x.csv'", "one SELECT"),
    ("SELECT * FROM read_text('{lake}/secret.txt')", "disabled by configuration"),
    ("SELECT * FROM read_csv('/etc/hosts')", "disabled by configuration"),
    ("SELECT * FROM glob('/etc/*')", "disabled by configuration"),
]


@pytest.mark.parametrize(("sql", "message"), REFUSED, ids=[sql or "(nothing)" for sql, _ in REFUSED])
def test_only_one_select_over_the_tables_is_answered(tmp_path: Path, sql: str, message: str) -> None:
    """Anything else is a usage error of one line, and changes no file."""
    (tmp_path / "secret.txt").write_text("x")
    publish(tmp_path, [run(trial())], [policy()])
    before = bytes_below(tmp_path)
    with pytest.raises(UsageError, match=message) as caught:
        query(LocalStorage(str(tmp_path)), sql.format(lake=tmp_path), dict)
    assert 1 == len(str(caught.value).splitlines())
    assert before == bytes_below(tmp_path)


def test_an_error_names_what_there_is(tmp_path: Path) -> None:
    """A misspelt table: the answer lists tables and views."""
    published_nothing(tmp_path)
    with pytest.raises(UsageError) as caught:
        query(LocalStorage(str(tmp_path)), "SELECT * FROM trails", dict)
    names = [*(table.name for table in TABLES), *(view.name for view in VIEWS)]
    assert [] == [name for name in names if name not in str(caught.value)]


def test_a_damaged_partition_is_a_pipeline_error(tmp_path: Path) -> None:
    """It names the file's place and what to do; tables that aren't asked for don't matter."""
    publish(tmp_path, [run(trial())], [policy()])
    (tmp_path / partition_path(table_named("calls"), DAY)).write_bytes(b"PAR1")
    with pytest.raises(PipelineError, match=r"calls: a partition can't be read: .*; delete the file"):
        query(LocalStorage(str(tmp_path)), "SELECT * FROM calls", dict)
    assert [{"n": 1}] == ask(tmp_path, "SELECT COUNT(*) AS n FROM trials")


def test_a_place_without_tables_is_a_usage_error(tmp_path: Path) -> None:
    """The message says what to do."""
    with pytest.raises(UsageError, match="run the pipeline first"):
        query(LocalStorage(str(tmp_path / "nowhere")), "SELECT 1", dict)


def test_all_tables_and_views_are_listed(tmp_path: Path) -> None:
    """SHOW TABLES is a question too."""
    published_nothing(tmp_path)
    names = [*(table.name for table in TABLES), *(view.name for view in VIEWS)]
    assert sorted(names) == [row["name"] for row in ask(tmp_path, "SHOW TABLES")]


def test_contradictions_are_praised_and_not_verified(tmp_path: Path) -> None:
    """Quality 0.8 or more without a verified outcome; valid waits and lower grades are no contradiction."""
    praised = (grade("0.8"),)
    scored = run(
        trial("verified", qualities=praised),
        trial("failed", qualities=praised, outcome=outcome("failed")),
        trial("unavailable", qualities=praised, outcome=outcome("unavailable", "x")),
        trial("poor", qualities=(grade("0.799999999"),), outcome=outcome("failed")),
        waiting("waits", qualities=praised),
    )
    publish(tmp_path, [scored], [policy()])
    assert [{"task_id": "failed", "outcome": "failed"}, {"task_id": "unavailable", "outcome": "unavailable"}] == ask(
        tmp_path, "SELECT task_id, outcome FROM contradictions ORDER BY task_id"
    )


def test_a_longer_window_names_a_contradiction_once(tmp_path: Path) -> None:
    """A trial pooled on three days is listed under the decision of its own."""
    bad = {"qualities": (grade("1"),), "outcome": outcome("failed")}
    publish(tmp_path, [day_run(n, trial(f"t{n}", **bad)) for n in (1, 2, 3)], [policy(STRICT + "window: {days: 3}\n")])
    assert [("t1", 1), ("t2", 2), ("t3", 3)] == [
        (row["task_id"], row["d"])
        for row in ask(tmp_path, "SELECT task_id, DAY(run_date) AS d FROM contradictions ORDER BY 1")
    ]


def test_worst_tasks_are_ranked(tmp_path: Path) -> None:
    """By share of trials not verified, then false successes; each trial once over all dates."""
    scored = [
        day_run(1, trial("good"), trial("half"), trial("lied", outcome=outcome("failed"))),
        day_run(2, trial("half", outcome=None), trial("gone", declared_complete=False, outcome=outcome("failed"))),
    ]
    publish(tmp_path, scored, [policy(STRICT + "window: {days: 2}\n")])
    assert [("lied", 1, 1, 0, 1), ("gone", 2, 1, 0, 0), ("half", 3, 2, 1, 0), ("good", 4, 1, 1, 0)] == [
        tuple(row.values())
        for row in ask(
            tmp_path, "SELECT task_id, task_rank, trials, verified, false_successes FROM worst_tasks ORDER BY task_rank"
        )
    ]


def test_judge_failures_say_how_often_and_why(tmp_path: Path) -> None:
    """Two of three comparator rows gave no verdict, for different reasons."""
    verdicts = [goal("100"), goal(None, task="t2"), replace(goal(None, task="t3"), reason="judge_contradiction")]
    publish(tmp_path, [judged_by(verdicts, trial("t1"), trial("t2"), trial("t3"))], [policy()])
    assert [("goal", "judge_contradiction", 1, 1, 3), ("goal", "judge_no_log", 1, 1, 3)] == [
        tuple(row.values())
        for row in ask(
            tmp_path, "SELECT name, reason, without_verdict, judged, asked FROM judge_failures ORDER BY name, reason"
        )
    ]


def test_an_evaluator_without_an_expectation_is_no_judge_failure(tmp_path: Path) -> None:
    """judge_failures speaks of the harness's comparators and of graders; our own evaluators fail at nothing there."""
    own = replace(goal(None, name="tool_order.graded"), source="evaluator", reason="no_expectation")
    ungraded = trial("t1", qualities=(replace(grade(None), reason="grader_timeout"),))
    publish(tmp_path, [judged_by([own, goal(None)], ungraded)], [policy()])
    rows = ask(tmp_path, "SELECT source, name, reason FROM judge_failures ORDER BY source")
    assert [("grader", "style", "grader_timeout"), ("harness", "goal", "judge_no_log")] == [
        tuple(row.values()) for row in rows
    ]


def test_the_board_shows_the_newest_decision(tmp_path: Path) -> None:
    """One row per subject and policy: yesterday's FAIL gives way to today's PASS."""
    publish(tmp_path, [day_run(1, trial(outcome=outcome("failed"))), day_run(2, trial())], [policy()])
    assert [(DAY, "PASS", False, 0.8, 0, 1)] == [
        tuple(row.values())
        for row in ask(
            tmp_path,
            "SELECT run_date, decision, held, task_quality, false_successes, declared_completions FROM release_board",
        )
    ]


def test_trends_divide_and_never_by_nothing(tmp_path: Path) -> None:
    """Rate per date; null over nothing."""
    publish(
        tmp_path,
        [day_run(1, trial(effects=(), calls=())), day_run(2, trial(), trial("t2", effects=(effect("failed"),)))],
        [policy()],
    )
    assert [(1, None), (2, 0.5)] == [
        tuple(row.values())
        for row in ask(
            tmp_path,
            "SELECT DAY(run_date) AS d, value FROM trend_daily WHERE signal = 'effect_integrity' ORDER BY run_date",
        )
    ]


def test_cost_says_what_is_missing_of_the_bill(tmp_path: Path) -> None:
    """$0.80 for two verified outcomes, one trial of three without a bill."""
    publish(tmp_path, [run(trial("t1"), trial("t2"), trial("t3", cost=None, outcome=outcome("failed")))], [policy()])
    assert [(Decimal("0.8"), 2, 0.4, 1, 3)] == [
        tuple(row.values())
        for row in ask(
            tmp_path,
            "SELECT covered_usd, verified_outcomes, usd_per_verified_outcome, trials_not_covered, trials_planned"
            " FROM cost_per_verified_outcome",
        )
    ]
