"""Rows of the published tables: whole, in order, and absent where nothing is known."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from tests.builders import DAY, STRICT, call, case, effect, outcome, policy, run, trial, waiting
from tests.published import NO_ROUTES, VERSIONS, rows_of

from evalbench.decided import repeated_outcomes
from evalbench.ledger import (
    ComparatorRow,
    Cost,
    CostState,
    Defect,
    PlanSource,
    Quality,
    RunState,
    ScoredRun,
    Verdict,
    VerdictState,
)
from evalbench.ledger import Plan as RunPlan
from evalbench.routing import parse_routing
from evalbench.tables import OPERATIONAL_TABLES, PUBLISHED_TABLES, TABLES
from evalbench.trends import EntryState, Row, operational_rows
from evalbench.trends.cells import json_text, money, numeric, real, whole
from evalbench.trends.policies import whole_weights

SUITES = parse_routing('schema: 1\nsuites: [{dataset: "air_*", suite: airline}]', "routing.yaml")
GRADED = STRICT + "quality: {graders: [{name: style, weight: 0.5}, {name: facts, weight: 1.25}]}\n"
ATTESTING = STRICT + (
    "outcome: {attestations: [{comparator: goal, match: {product: billing, generator_class: 'x*'}, predicate: p,"
    " reason: r, attested_by: a, pass_threshold: 99.5}]}\n"
)


def one(rows: list[Row], **where: object) -> Row:
    """The one row with these values."""
    found = [row for row in rows if where.items() <= row.items()]
    assert 1 == len(found)
    return found[0]


def test_every_row_has_exactly_the_declared_columns() -> None:
    """Whatever is present or absent, a row of each table has its columns, and every table is there."""
    verdict = Verdict(name="goal", source="harness", version="1", value=None, state=VerdictState.UNAVAILABLE)
    scored = replace(run(trial(), waiting(), planned={"t1": 3}, generator_class="xy"), verdicts=(verdict,))
    rows = rows_of(DAY, [scored], [policy(ATTESTING), policy(GRADED)])
    rows |= operational_rows(
        DAY, "plan", [EntryState(path="x", state="ignored")], {("ignored", "a")[:2]: 1}, NO_ROUTES, VERSIONS
    )
    expected = {table.name: {frozenset(table.column_names)} for table in (*PUBLISHED_TABLES, *OPERATIONAL_TABLES)}
    assert expected == {name: {frozenset(row) for row in found} for name, found in rows.items()}


def test_a_date_without_runs_has_no_rows() -> None:
    """Every published table is there, and empty."""
    assert {table.name: [] for table in PUBLISHED_TABLES} == rows_of(DAY, [], [policy()])


def test_required_columns_are_never_null() -> None:
    """Where a column is declared required, every row has a value, in the barest of runs too."""
    bare = run(trial(status=None, outcome=None, qualities=(), progress=None, effects=None, calls=None, cost=None))
    rows = rows_of(DAY, [bare], [policy()])
    rows |= operational_rows(
        DAY, "plan", [EntryState(path="x", state="ignored")], {("listed", None): 1}, NO_ROUTES, VERSIONS
    )
    required = {table.name: [c.name for c in table.columns if not c.nullable] for table in TABLES}
    assert [] == [
        (name, key) for name, found in rows.items() for row in found for key in required[name] if row[key] is None
    ]


def test_trials_that_left_no_record_are_rows() -> None:
    """Two of three planned trials are missing: numbered, without a trial number, and nothing is known of them."""
    rows = rows_of(DAY, [run(trial("t1"), planned={"t1": 3})], [policy()])
    assert [(None, 1, False, None), (None, 2, False, None), (0, None, True, "completed")] == [
        (row["trial"], row["missing_number"], row["recorded"], row["status"]) for row in rows["trials"]
    ]
    assert (3, 1, 2, 0) == tuple(
        rows["runs"][0][name] for name in ("planned_trials", "recorded_trials", "missing_trials", "unplanned_trials")
    )


def test_absence_is_null() -> None:
    """A trial of which nothing is recorded has nulls, never 0: cost, windows, tokens, outcome."""
    bare = run(trial(outcome=None, progress=None, effects=None, calls=None, cost=None, qualities=()))
    row = one(rows_of(DAY, [bare], [policy()])["trials"])
    names = ("outcome_state", "progress_active", "cost_usd", "cost_state", "input_tokens", "duration_s", "wait_owner")
    assert (dict.fromkeys(names), False, False) == (
        {name: row[name] for name in names},
        row["effects_recorded"],
        row["calls_recorded"],
    )


def test_recorded_emptiness_is_not_absence() -> None:
    """No effects and no calls, recorded as such."""
    row = one(rows_of(DAY, [run(trial(effects=(), calls=()))], [policy()])["trials"])
    assert (True, True) == (row["effects_recorded"], row["calls_recorded"])


def test_graders_are_verdicts() -> None:
    """A grader's score, or why it gave none, stands among the verdicts with its rubric and calibration."""
    graded = Quality(score=Decimal("0.7"), grader_kind="model", grader_name="style", rubric_version="3")
    failed = Quality(score=None, grader_kind="human", grader_name="facts")
    rows = rows_of(DAY, [run(trial(qualities=(graded, failed)))], [policy()])["verdicts"]
    assert [
        ("facts", None, "unavailable", "grader_did_not_run", None, True),
        ("style", Decimal("0.700000000"), "available", None, "3", False),
    ] == [
        tuple(row[name] for name in ("name", "value", "state", "reason", "rubric_version", "calibrated"))
        for row in rows
    ]


def test_a_value_no_column_can_hold_is_unavailable_with_a_reason() -> None:
    """A comparator's score of 1e40 doesn't fail the date: its verdict is unavailable, `value_out_of_range`."""
    huge = Verdict(
        name="goal",
        source="harness",
        version="1",
        value=Decimal("1e40"),
        state=VerdictState.AVAILABLE,
        task_id="t1",
        trial=0,
    )
    row = one(rows_of(DAY, [replace(run(trial()), verdicts=(huge,))], [policy()])["verdicts"], source="harness")
    assert (None, "unavailable", "value_out_of_range") == (row["value"], row["state"], row["reason"])


def test_repeated_verdicts_are_numbered() -> None:
    """Two rows of one comparator on one trial stay apart."""
    verdict = Verdict(name="goal", source="harness", version="1", value=Decimal(1), state=VerdictState.AVAILABLE)
    scored = replace(run(trial(qualities=())), verdicts=(verdict, replace(verdict, value=Decimal(2))))
    rows = rows_of(DAY, [scored], [policy()])["verdicts"]
    assert [(0, Decimal(1)), (1, Decimal(2))] == [(row["verdict_number"], row["value"]) for row in rows]


def test_a_suite_comes_from_routing() -> None:
    """The operator's name for a dataset, on facts and decisions alike."""
    scored = run(trial(), dataset="air_7", dataset_named=False)
    rows = rows_of(DAY, [scored], [policy()], SUITES)
    assert ({"airline"}, "airline") == ({row["suite"] for row in rows["trials"]}, rows["decisions"][0]["suite"])


def test_a_subject_names_every_model_behind_it() -> None:
    """Distinct models of the pooled runs, joined; null when none is known."""
    runs = [
        run(trial(), run_id=f"r{n}", run_key=f"k{n}", model=model) for n, model in enumerate(["m2", "m1", "m1", None])
    ]
    assert ["m1, m2"] == [row["model"] for row in rows_of(DAY, runs, [policy()])["decisions"]]
    assert [None] == [row["model"] for row in rows_of(DAY, [run(trial())], [policy()])["decisions"]]


def test_every_signal_is_published_as_counts() -> None:
    """One completed and one waiting trial: numerator over denominator, and what was left out."""
    rows = rows_of(DAY, [run(trial("t1"), waiting("t9"))], [policy()])["signals"]
    assert {
        "task_quality": (Decimal("0.8"), 1, '{"waiting":1}', 1),
        "useful_progress": (Decimal(5), 5, '{"waiting_windows":4}', 4),
        "effect_integrity": (Decimal(2), 2, "{}", 0),
        "cost_per_verified_outcome": (Decimal("0.8"), 1, "{}", 0),
        "false_success": (Decimal(0), 1, "{}", 0),
    } == {
        row["signal"]: tuple(row[n] for n in ("numerator", "denominator", "left_out", "left_out_total")) for row in rows
    }


def test_a_sum_of_nothing_known_is_null() -> None:
    """No trial has a bill: the cost numerator is null, not $0."""
    rows = rows_of(DAY, [run(trial(cost=None))], [policy()])["signals"]
    assert None is one(rows, signal="cost_per_verified_outcome")["numerator"]


def test_a_decision_has_its_checks_and_their_trials() -> None:
    """The failed completion stands in the decision, its check, and the check's evidence."""
    rows = rows_of(DAY, [run(trial("t1"), trial("t2", outcome=outcome("failed")))], [policy()])
    decision = one(rows["decisions"])
    check = one(rows["gate_checks"], check_name="false_success")
    refs = [row for row in rows["gate_evidence"] if row["check_name"] == "false_success"]
    assert ("FAIL", "false_success", DAY, 2, 1) == tuple(
        decision[name] for name in ("decision", "decided_by", "window_from", "declared", "verified")
    )
    assert (True, True, 0.5, 0.0, 1) == tuple(
        check[name] for name in ("fired", "proven", "observed", "limit_value", "evidence_rows")
    )
    assert [("t2", 0, False)] == [(ref["task_id"], ref["trial"], ref["missing"]) for ref in refs]


def test_no_table_knows_whether_a_decision_is_provisional() -> None:
    """Provisional depends on the clock at output, and is stored nowhere."""
    assert [] == [(t.name, name) for t in TABLES for name in t.column_names if "provisional" in name]


def test_a_window_reaches_back() -> None:
    """Three days: the window's first date is two before the decided one."""
    rows = rows_of(DAY, [run(trial())], [policy(STRICT + "window: {days: 3}\n")])["decisions"]
    assert [(date(2026, 2, 28), DAY, 3)] == [(r["window_from"], r["run_date"], r["window_days"]) for r in rows]


def test_policies_become_relations() -> None:
    """Patterns per tool seen, weights as whole numbers, attestations per run they match."""
    runs = [
        run(trial(calls=(call(name="crm__get_card"),)), run_id="a", run_key="a", generator_class="x1"),
        run(trial(calls=(call(),)), run_id="b", run_key="b", generator_class="other"),
    ]
    attesting, graded = policy(ATTESTING), policy(GRADED)
    rows = rows_of(DAY, runs, [attesting, graded])
    assert [("billing__pay", True), ("crm__get_card", False)] == [
        (row["tool"], row["effectful"]) for row in rows["policy_tools"] if row["policy_hash"] == graded.policy_hash
    ]
    assert [("style", 2), ("facts", 5)] == [(row["grader"], row["weight_units"]) for row in rows["policy_graders"]]
    assert [(attesting.policy_hash, "a", "goal", Decimal("99.5"))] == [
        tuple(row[name] for name in ("policy_hash", "run_id", "comparator", "pass_threshold"))
        for row in rows["policy_attestations"]
    ]


def test_defects_and_rows_without_a_task_are_counted() -> None:
    """What the reader could not take at its word shows on the run."""
    defects = (Defect(code="torn_row", message="m"), Defect(code="torn_row", message="n"))
    scored = run(trial(), defects=defects, unattached=(ComparatorRow(comparator="goal"),))
    row = one(rows_of(DAY, [scored], [policy()])["runs"])
    assert (2, '{"torn_row":2}', 1) == (row["defects"], row["defect_codes"], row["unattached_rows"])


def test_an_abandoned_run_without_a_plan_is_open_ended() -> None:
    """Nobody knows how many of its trials are missing."""
    scored = run(trial(), state=RunState.ABANDONED, plan=RunPlan(source=PlanSource.OBSERVED))
    assert True is one(rows_of(DAY, [scored], [policy()])["runs"])["open_ended"]


def test_the_order_of_inputs_is_no_matter() -> None:
    """Runs, trials and policies in any order give the same rows in the same order."""
    runs = [run(trial("t2"), trial("t10"), run_id=name, run_key=name) for name in "bca"]
    policies = [policy(), policy(GRADED)]
    shuffled: list[ScoredRun] = [
        replace(item, run=replace(item.run, trials=item.run.trials[::-1])) for item in reversed(runs)
    ]
    assert rows_of(DAY, runs, policies) == rows_of(DAY, shuffled, policies[::-1])


def test_operational_rows_say_what_became_of_every_entry() -> None:
    """A quarantined directory without a subject, and a scored one with its run's."""
    scored = run(trial()).run
    entries = [
        EntryState(path="b", state="quarantined", reason="no_run_time"),
        EntryState(path="a", state="scored", run_id=scored.run_id, run=scored),
    ]
    counts = {("listed", None): 2, ("scored", None): 1, ("quarantined", "no_run_time"): 1}
    rows = operational_rows(DAY, "p1", entries, counts, NO_ROUTES, VERSIONS)
    assert {table.name for table in OPERATIONAL_TABLES} == set(rows)
    assert [("a", "scored", "billing"), ("b", "quarantined", None)] == [
        (row["path"], row["state"], row["product"]) for row in rows["run_states"]
    ]
    assert [("listed", None, 2), ("quarantined", "no_run_time", 1), ("scored", None, 1)] == [
        (row["state"], row["reason"], row["entries"]) for row in rows["accounting"]
    ]


@pytest.mark.parametrize(
    ("changed", "tables"),
    [
        ("evaluators", {"verdicts", "summaries"}),
        ("signals", {"signals", "decisions", "decision_log", "gate_checks", "gate_evidence"}),
        (
            "gate",
            {
                "decisions",
                "decision_log",
                "gate_checks",
                "gate_evidence",
                "policies",
                "policy_tools",
                "policy_graders",
                "policy_attestations",
            },
        ),
        ("summaries", {"summaries"}),
    ],
)
def test_a_version_moves_only_the_tables_it_can_change(changed: str, tables: set[str]) -> None:
    """`code_version` is a digest of what can change a table's rows, not of the package."""
    other = replace(VERSIONS, **{changed: "2"})
    assert tables == {table.name for table in TABLES if VERSIONS.behind(table) != other.behind(table)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (Decimal("0.1"), Decimal("0.100000000")),
        (Decimal("0.0000000005"), Decimal("0E-9")),
        (Decimal("0.0000000015"), Decimal("0.000000002")),
        (Decimal("-0.0"), Decimal("0E-9")),
        (Decimal("999999999.999999999"), Decimal("999999999.999999999")),
        (Decimal("999999999.9999999999"), None),
        (Decimal("1e9"), None),
        (Decimal("NaN"), None),
        (Decimal("Infinity"), None),
    ],
)
def test_money_has_nine_places_or_is_absent(value: Decimal | None, expected: Decimal | None) -> None:
    """Half to even; what decimal(18, 9) can't hold is null."""
    assert str(expected) == str(money(value))


def test_a_large_score_keeps_its_digits() -> None:
    """decimal(38, 9) holds token counts exactly."""
    assert (Decimal("123456789012345678.123456789"), None) == (
        numeric(Decimal("123456789012345678.123456789")),
        numeric(Decimal("1e29")),
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (0.1, 0.1), (1 / 3, 0.333333333), (-0.0, 0.0), (float("nan"), None), (float("inf"), None)],
)
def test_floats_are_finite_or_absent(value: float | None, expected: float | None) -> None:
    """Rounded to nine decimals; never NaN, never -0."""
    assert repr(expected) == repr(real(value))


@pytest.mark.parametrize(("value", "expected"), [(None, None), (0, 0), (2**63 - 1, 2**63 - 1), (2**63, None)])
def test_integers_have_64_bits_or_are_absent(value: int | None, expected: int | None) -> None:
    """An integer no column can hold is null."""
    assert expected == whole(value)


def test_json_text_is_canonical() -> None:
    """Sorted keys, decimals as text, no NaN."""
    assert '{"a":[1,null,"0.5"],"b":true}' == json_text({"b": True, "a": (1, float("nan"), Decimal("0.5"))})


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([], []),
        (["1"], [1]),
        (["0.5", "1.25"], [2, 5]),
        (["2", "4"], [1, 2]),
        (["0.333333333333", "0.666666666666"], [1, 2]),
    ],
)
def test_weights_become_whole_numbers_in_proportion(weights: list[str], expected: list[int]) -> None:
    """SQL adds up whole weights exactly."""
    assert expected == whole_weights(Decimal(weight) for weight in weights)


def test_pass_hat_k_leaves_valid_waits_out_and_counts_missing_trials_unavailable() -> None:
    """verified, failed, unavailable and missing of t1; t9 waits."""
    scored = run(
        trial("t1", 0),
        trial("t1", 1, outcome=outcome("failed")),
        trial("t1", 2, outcome=outcome("unavailable", "x")),
        waiting("t9"),
        planned={"t1": 4, "t9": 1},
    )
    assert {"t1": {True: 1, False: 1, None: 2}} == repeated_outcomes(case(scored).pool)


def test_an_estimated_cost_keeps_its_state() -> None:
    """The figure and its state travel together; SQL decides by policy whether it counts."""
    scored = run(
        trial(cost=Cost(state=CostState.ESTIMATED, usd=Decimal("0.25"))), trial("t2", effects=(effect("failed"),))
    )
    rows = rows_of(DAY, [scored], [policy()])
    assert ("estimated", Decimal("0.25")) == tuple(rows["trials"][0][name] for name in ("cost_state", "cost_usd"))
