"""Digest and offline writer: numbers, names and a few words of why in; a fixed text out."""

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import effect, outcome, run, trial, waiting
from tests.published import sample

from evalbench.ledger import (
    ComparatorRow,
    Cost,
    CostState,
    Defect,
    EvidenceRef,
    PlannedTask,
    Progress,
    Quality,
    ScoredRun,
    Trial,
    TrialStatus,
)
from evalbench.scoring import score_run
from evalbench.summaries.digest import LEAST_BUDGET, MOST, digest_hash, digest_of, digest_text
from evalbench.summaries.offline import rounded, write_offline
from evalbench.summaries.personal import MAX_EXCERPT
from evalbench.summaries.worst import HARM, MAX_TASKS


def judged(score: int, log: str = "", name: str = "goal_completion") -> ComparatorRow:
    """A row of a judge; without a log it says nothing."""
    return ComparatorRow(comparator=name, scorer_type=name, score=Decimal(score), log=log, ref=EvidenceRef(file=name))


def scored() -> ScoredRun:
    """Four trials: good, falsely successful, unknown, waiting."""
    return score_run(
        run(
            trial("t1"),
            trial("t2", outcome=outcome("failed"), comparators=(judged(0),)),
            trial("t3", outcome=outcome("unavailable"), effects=(effect("unknown"),)),
            waiting("t4", cost=Cost(state=CostState.ESTIMATED, usd=Decimal("0.1"))),
        ).run
    )


def parts(found: ScoredRun, budget: int | None = None) -> Mapping[str, Any]:
    """A digest to look into."""
    return digest_of(found) if budget is None else digest_of(found, budget)


def test_signals_hold_numerator_denominator_and_value() -> None:
    """Exact decimals as text; what is missing is counted apart; estimates stand beside and are never added."""
    signals = parts(scored())["signals"]
    assert {"numerator": "2.4", "denominator": 3, "value": "0.8", "unavailable": 0} == signals["task_quality"]
    assert {
        "numerator": "11",
        "denominator": 11,
        "value": "1",
        "unavailable": 0,
        "waiting": 4,
        "stale": 0,
    } == signals["useful_progress"]
    assert {
        "numerator": "3",
        "denominator": 4,
        "value": "0.75",
        "unavailable": 0,
        "failed": 0,
        "unknown": 1,
        "rejected": 0,
    } == signals["effect_integrity"]
    assert {
        "numerator": "1.2",
        "denominator": 1,
        "value": "1.2",
        "unavailable": 1,
        "billed_trials": 3,
        "estimated_usd": "0.1",
        "estimated_trials": 1,
    } == signals["cost_per_verified_outcome"]
    assert {
        "numerator": "1",
        "denominator": 3,
        "value": "0.333333333",
        "unavailable": 1,
        "declaration_unknown": 0,
    } == signals["false_success"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("inversion-stable-v1", {"task_quality": "0.818", "cost_per_verified_outcome": "0.517", "false_success": "0"}),
        ("inversion-fast-v2", {"task_quality": "0.902", "cost_per_verified_outcome": "0.63", "false_success": "0.2"}),
    ],
)
def test_signals_of_the_release_inversion(sample_runs: Path, name: str, expected: dict[str, str]) -> None:
    """The published numbers, without a policy."""
    signals = parts(sample(sample_runs / name))["signals"]
    assert expected == {signal: signals[signal]["value"] for signal in expected}


def test_a_value_over_nothing_is_null() -> None:
    """No trial: no rate, and no dollars either, rather than 0."""
    signals = parts(score_run(run(planned={"t1": 2}).run))["signals"]
    assert [None] * 5 == [signal["value"] for signal in signals.values()]
    assert (None, 2) == (
        signals["cost_per_verified_outcome"]["numerator"],
        signals["cost_per_verified_outcome"]["unavailable"],
    )


def test_several_graders_make_no_quality_and_stand_apart() -> None:
    """Only a policy says how they are weighed."""
    graders = tuple(Quality(score=Decimal(score), grader_name=name) for name, score in (("a", "0.5"), ("b", "0.7")))
    found = parts(score_run(run(trial("t1", qualities=graders)).run))
    assert (None, 1) == (found["signals"]["task_quality"]["value"], found["signals"]["task_quality"]["unavailable"])
    assert [("a", "0.5"), ("b", "0.7")] == [(grader["name"], grader["value"]) for grader in found["graders"]]


def test_harm_is_counted_and_the_worst_tasks_come_first() -> None:
    """The gravest kind decides, then the next, then the id; a task without harm isn't listed."""
    found = parts(scored())
    assert set(HARM) == set(found["harm"])
    assert {
        "declared_complete_but_failed": 1,
        "declared_complete_not_verified": 1,
        "effect_unknown": 1,
        "not_judged": 1,
    } == {kind: count for kind, count in found["harm"].items() if count}
    assert [
        ("t2", {"declared_complete_but_failed": 1, "not_judged": 1}),
        ("t3", {"declared_complete_not_verified": 1, "effect_unknown": 1}),
    ] == [(task["task_id"], task["harm"]) for task in found["tasks"]]


def test_why_is_what_each_source_says() -> None:
    """The outcome's predicate and reason, the effect's, the crash's, and the judge's first words."""
    told = score_run(
        run(
            trial("t1", outcome=outcome("failed", "not_found"), effects=(effect("failed", reason="rolled back"),)),
            trial(
                "t2",
                status=TrialStatus.CRASHED,
                status_reason="out of memory",
                comparators=(judged(0, "FAIL\nno refund"),),
            ),
        ).run
    )
    assert [
        {
            "outcome": "failed; invoice exists once; not_found",
            "effect": "failed; billing__pay; ledger; rolled back; row 7",
        },
        {"error": "crashed; out of memory", "judge": "goal_completion 0: FAIL no refund"},
    ] == [task["why"] for task in parts(told)["tasks"]]


def test_a_judges_zero_is_explained_before_a_rules() -> None:
    """The words of a model say more than a rule's score."""
    rows = (judged(0, "Expected Set: {}", "trajectory_matcher"), judged(0, "FAIL: never looked", "goal_completion"))
    (task,) = parts(score_run(run(trial("t1", comparators=rows)).run))["tasks"]
    assert ({"scored_zero": 2}, "goal_completion 0: FAIL: never looked") == (task["harm"], task["why"]["judge"])


def test_missing_trials_are_a_tasks_harm() -> None:
    """A planned trial without a record counts against its task."""
    found = parts(score_run(run(trial("t1"), planned={"t1": 1, "t2": 3}).run))
    assert ({"planned": 4, "recorded": 1, "not_recorded": 3}, {"not_recorded": 3}) == (
        {name: found["trials"][name] for name in ("planned", "recorded", "not_recorded")},
        found["tasks"][0]["harm"],
    )


def test_judge_failures_by_comparator_and_reason() -> None:
    """The most frequent first, with one task and what stood there; counts and latencies are no judges."""
    rows = (judged(0), judged(0, "no telemetry", "token_consumption"))
    trials = [trial(f"t{number}", comparators=rows) for number in (1, 2)]
    trials.append(trial("t3", comparators=(judged(100, "Verdict: FAIL"), judged(0, "", "behavioral_metrics"))))
    failures = parts(score_run(run(*trials).run))["judge_failures"]
    assert [
        ("goal_completion", "judge_no_log", 2, "t1", None),
        ("behavioral_metrics", "judge_no_log", 1, "t3", None),
        ("goal_completion", "judge_contradiction", 1, "t3", "Verdict: FAIL"),
    ] == [tuple(failure.values()) for failure in failures]


def test_a_comparator_that_never_varies_or_disagrees_is_named() -> None:
    """`parameter_analysis` is always 100; `goal_completion` praises a failed outcome."""
    good = tuple(judged(100, "PASS", name) for name in ("goal_completion", "parameter_analysis"))
    bad = (judged(0, "FAIL"), judged(100, "PASS", "parameter_analysis"))
    trials = (trial("t1", comparators=good, outcome=outcome("failed")), trial("t2", comparators=bad))
    assert [
        {"comparator": "goal_completion", "rows": 2, "never_varied": False, "judged_outcomes": 2, "agreeing": 0},
        {"comparator": "parameter_analysis", "rows": 2, "never_varied": True, "judged_outcomes": 2, "agreeing": 1},
    ] == parts(score_run(run(*trials).run))["judge_health"]


def test_metrics_hold_value_rows_and_reasons() -> None:
    """The harness's comparators stand before our evaluators; a metric without a row has no value."""
    metrics = parts(scored())["metrics"]
    assert {
        "name": "goal_completion",
        "value": None,
        "rows": 0,
        "passed": 0,
        "best": "100",
        "unavailable": {"judge_no_log": 1},
    } == metrics[0]
    assert sorted(metric["name"] for metric in metrics[1:]) == [metric["name"] for metric in metrics[1:]]


def test_defects_by_code_with_the_first_place() -> None:
    """The most frequent code first, one located example each."""

    def defect(code: str, row: int) -> Defect:
        return Defect(code=code, message=f"row {row} is torn", ref=EvidenceRef(file="evals.csv", row=row))

    torn = replace(run(trial()).run, defects=(defect("odd", 9), defect("torn_row", 7), defect("torn_row", 3)))
    assert [
        {"code": "torn_row", "count": 2, "where": "evals.csv row 3", "why": "row 3 is torn"},
        {"code": "odd", "count": 1, "where": "evals.csv row 9", "why": "row 9 is torn"},
    ] == parts(score_run(torn))["defects"]


def test_excerpts_are_short_and_without_secrets_or_addresses() -> None:
    """A judge that repeats a key or an address doesn't send it anywhere."""
    log = "FAIL: wrote to ann@example.com with AIzaSyA1234567890abcdefghijklmnopqrstuv " + "because " * 50
    (task,) = parts(score_run(run(trial("t1", comparators=(judged(0, log),))).run))["tasks"]
    said = task["why"]["judge"]
    assert said.startswith("goal_completion 0: FAIL: wrote to [e-mail] with [redacted] because")
    assert MAX_EXCERPT == len(said)


def test_transcripts_never_enter() -> None:
    """Arguments and results of calls, expected calls and labels stand in no digest."""
    talked = trial("t1", outcome=outcome("failed"))
    calls = tuple(replace(call, args_json='{"note":"SPOKEN"}') for call in talked.calls or ())
    found = score_run(run(replace(talked, calls=calls), labels={"note": "SPOKEN"}).run)
    assert "SPOKEN" not in digest_text(digest_of(found))


def test_the_same_run_in_another_order_gives_the_same_digest() -> None:
    """Order of trials changes neither digest nor hash."""
    backwards = score_run(replace(scored().run, trials=scored().run.trials[::-1]))
    assert digest_of(scored()) == digest_of(backwards)
    assert digest_hash(digest_of(scored())) == digest_hash(digest_of(backwards))


def test_another_number_gives_another_hash() -> None:
    """A stored text is never taken for that of other numbers."""
    changed = score_run(replace(scored().run, trials=scored().run.trials[:3]))
    assert digest_hash(digest_of(scored())) != digest_hash(digest_of(changed))


def test_a_big_run_names_the_worst_tasks_and_counts_the_rest() -> None:
    """Ten of five hundred, in a fixed order."""
    harm = [trial(f"t{number:04}", outcome=outcome("failed")) for number in range(500)]
    found = parts(score_run(run(*harm).run))
    assert (500, MAX_TASKS, 490) == (
        found["harm"]["declared_complete_but_failed"],
        len(found["tasks"]),
        found["left_out"]["tasks"],
    )
    assert "t0000" == found["tasks"][0]["task_id"]


def test_a_budget_cuts_from_the_ends_and_says_how_much() -> None:
    """What stays is the beginning of each list; rows and rows left out add up at every budget."""
    harm = [trial(f"t{number:04}", outcome=outcome("failed"), comparators=(judged(0),)) for number in range(40)]
    whole = score_run(run(*harm).run)
    full = parts(whole, 50_000)
    last = len(digest_text(full))
    for budget in range(last, 1_000, -97):
        cut = parts(whole, budget)
        assert len(digest_text(cut)) <= max(budget, len(digest_text(parts(whole, 0))))
        for name in MOST:
            assert full[name][: len(cut[name])] == cut[name]
            assert len(full[name]) + full["left_out"][name] == len(cut[name]) + cut["left_out"][name]
    assert [[]] * len(MOST) == [parts(whole, 0)[name] for name in MOST]


HOSTILE = st.sampled_from(
    ["<" * 3000, "{{" * 999, "\u202e\x00" * 500, "\U0001f600" * 900, '"\\' * 900, "a" * 5000, "t1"]
)
MAYBE = st.one_of(st.none(), HOSTILE)


@st.composite
def any_run(draw: st.DrawFn) -> ScoredRun:
    """A run with long and odd texts in every place that a run can write to."""

    def text() -> str:
        return draw(HOSTILE)

    trials: list[Trial] = []
    for number in range(draw(st.integers(0, 30))):
        rows = tuple(judged(draw(st.sampled_from([0, 100])), text(), text()) for _ in range(draw(st.integers(0, 5))))
        trials.append(
            trial(
                f"{text()}{number}",
                number,
                status=draw(st.sampled_from([None, *TrialStatus])),
                status_reason=text(),
                declared_complete=draw(st.sampled_from([None, True, False])),
                outcome=replace(
                    outcome(draw(st.sampled_from(["failed", "unavailable", "verified"]))),
                    predicate=text(),
                    evidence=text(),
                ),
                qualities=tuple(
                    Quality(score=Decimal("0.5"), grader_name=text() + str(n)) for n in range(draw(st.integers(0, 30)))
                ),
                effects=(effect("unknown", tool=text(), reason=text()),),
                progress=Progress(active=10**9, active_with_delta=10**9 - 1),
                comparators=rows,
            )
        )
    defects = tuple(Defect(code=f"{text()}{n}", message=text()) for n in range(draw(st.integers(0, 60))))
    whole = run(*trials, candidate=text(), product=text(), dataset=draw(MAYBE), model=draw(MAYBE), run_id=text())
    plan = replace(whole.run.plan, tasks=(*whole.run.plan.tasks, PlannedTask(task_id=text(), trials=10**6)))
    return score_run(replace(whole.run, defects=defects, plan=plan, generator=text(), format=text()))


@settings(max_examples=40)
@given(any_run(), st.integers(0, 30_000))
def test_the_digest_of_any_run_is_bounded(found: ScoredRun, budget: int) -> None:
    """Whatever a run wrote, its text keeps to the budget, stays JSON on one line, and holds no way out of a block."""
    digest = parts(found, budget)
    text = digest_text(digest)
    assert len(text) <= max(budget, LEAST_BUDGET)
    assert digest == json.loads(text)
    assert not set("<>&`\n\x00\u202e") & set(text)
    assert not any(opening in text for opening in ("{{", "{%", "{#"))
    assert all(len(words) <= MAX_EXCERPT for task in digest["tasks"] for words in task["why"].values())


def test_the_offline_text_is_labelled_and_leads_with_counts() -> None:
    """Nobody takes it for a model's words; harm is named by task."""
    text = write_offline(digest_of(scored()))
    assert text.startswith("Offline summary, written from the numbers alone. agent/1 on suite (billing, offline),")
    for part in (
        "4 trials on record, 4 were planned",
        "1 verified, 1 failed, 2 unavailable",
        "Effects: 3 verified, 0 failed, 1 unknown, 0 rejected.",
        "Progress: new evidence in 11/11 active windows, 4 waiting, 0 stale.",
        "1 trials declared complete although the outcome failed (t2).",
        "Grader rubric: mean 0.800 over 3 trials.",
        "Cost: billed $1.200 for 3/4 trials; $1.200 per verified outcome; estimated besides $0.100 for 1.",
        "General Score is unavailable",
        "Verdicts that were not possible: goal_completion judge_no_log 1.",
    ):
        assert part in text


def test_the_offline_text_of_an_empty_run() -> None:
    """Nothing recorded is said, not divided by."""
    empty = replace(run(planned={"t1": 2}).run, dataset=None, defects=(Defect(code="torn_row", message="x"),))
    text = write_offline(digest_of(score_run(empty)))
    for part in (
        "an unnamed dataset",
        "0 trials on record, 2 were planned",
        "No effect",
        "No cost",
        "2 planned trials left no record (t1).",
        "1 torn_row",
    ):
        assert part in text


def test_tasks_that_are_not_listed_are_an_ellipsis() -> None:
    """The first few by name, and a sign that there are more."""
    harm = [trial(f"t{number:02}", outcome=outcome("failed")) for number in range(12)]
    assert "(t00, t01, t02, t03, t04, t05, t06, t07, t08, t09, …)" in write_offline(
        digest_of(score_run(run(*harm).run))
    )


@pytest.mark.parametrize(
    ("expected", "number"),
    [
        ("0.800", "0.8"),
        ("5.000", "5"),
        ("0.9996", "0.9996"),
        ("0.99996", "0.999961"),
        ("0.0004", "0.0004"),
        ("0.000000001", "0.000000001"),
    ],
)
def test_rounding_never_reaches_a_whole_number(expected: str, number: str) -> None:
    """0.9996 of all isn't all of it."""
    assert expected == rounded(number)
