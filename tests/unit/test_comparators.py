"""What a comparator row is worth: each way a scorer fails silently, and the ordinary rows that only look like it."""

from decimal import Decimal

import pytest

from evalbench.comparators import COMPARATORS_VERSION, LOG_BEGINNINGS, harness_verdict, scorer_type
from evalbench.judge_logs import Stated, stated_verdict
from evalbench.ledger import (
    ComparatorRow,
    EvidenceRef,
    Timing,
    ToolCall,
    Trial,
    TrialStatus,
    Usage,
    VerdictState,
)

PASSED, FAILED = "100.0", "0.0"
BARE = Trial(task_id="t1", trial=0)


def row(comparator: str, score: str | None, log: str = "", **fields: object) -> ComparatorRow:
    """A row as a reader makes it."""
    number = None if score is None else Decimal(score)
    return ComparatorRow(comparator=comparator, score=number, score_text=score or "", log=log, **fields)


def reason(made: ComparatorRow, trial: Trial | None = BARE) -> str | None:
    """Why the row is unavailable, None when it counts; state and value always agree with it."""
    verdict = harness_verdict(made, trial)
    assert (verdict.value is None) == (verdict.reason is not None) == (verdict.state is VerdictState.UNAVAILABLE)
    return verdict.reason


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (row("goal_completion", "66.7", "2/3 sub-goals met.\n[MET] a — b", error="ValueError: no"), "comparison_error"),
        (row("set_match", FAILED, error="unhashable type: 'dict'"), "comparison_error"),
        (row("set_match", PASSED, error="None"), None),
        (row("set_match", None), "no_score"),
        (ComparatorRow(comparator="set_match", score_text="nan"), "no_score"),
        (ComparatorRow(comparator="set_match", score_text="n/a"), "score_not_a_number"),
        (row("token_consumption", "1e12", "Agent consumed 1e12 tokens."), "score_out_of_range"),
    ],
)
def test_a_row_without_a_usable_score_is_unavailable(made: ComparatorRow, expected: str | None) -> None:
    """An error, no number, or a number no table holds; the word None in the error column is no error."""
    assert expected == reason(made)


@pytest.mark.parametrize("score", [FAILED, PASSED])
@pytest.mark.parametrize(("beginning", "expected"), LOG_BEGINNINGS)
def test_a_log_that_says_the_scorer_did_not_judge_is_believed(beginning: str, expected: str, score: str) -> None:
    """Whether the harness wrote 0 or 100 beside it, and under whatever name the scorer runs."""
    assert expected == reason(row("goal_completion", score, f"{beginning} and more"))
    assert expected == reason(row("safety_final", score, f"  {beginning} and more"))


@pytest.mark.parametrize("beginning", [beginning for beginning, _ in LOG_BEGINNINGS])
def test_a_judge_may_speak_of_failures_without_having_failed(beginning: str) -> None:
    """The same words behind a verdict are the judge's reasoning about the agent."""
    assert (
        reason(row("goal_completion", PASSED, f"PASS\nReasoning: the tool said '{beginning}' and it retried.")) is None
    )


@pytest.mark.parametrize(
    ("log", "stated"),
    [
        ("PASS", Stated.PASS),
        ("PASS\nReasoning: the tool call failed once and was retried", Stated.PASS),
        ("PASS\nReasoning: an earlier attempt would FAIL, this one did not", Stated.PASS),
        ("<PASS>\nReasoning: fine", Stated.PASS),
        ("**PASS**: all there", Stated.PASS),
        ("Passed. Every step was done.", Stated.PASS),
        ("1/1\nReasoning: it names the address", Stated.PASS),
        ("FAIL\nReasoning: never passed the id; the password is unset", Stated.FAIL),
        ("**FAIL** The caller's identity check was bypassed.", Stated.FAIL),
        ("Verdict: FAIL. The new password was never set.", Stated.FAIL),
        ("FAIL: identity check bypassed", Stated.FAIL),
        ("FAIL (3/12 checks passed)", Stated.FAIL),
        ("Final verdict: **FAIL**", Stated.FAIL),
        ("PASS/FAIL: FAIL", Stated.FAIL),
        ("Result - failed", Stated.FAIL),
        ("0/1\nReasoning: it never does", Stated.FAIL),
        ("Reasoning: the new password works.\n\nVerdict: FAIL", Stated.FAIL),
        ("Reasoning: payment failed at first, then went through.\nFinal verdict: PASS", Stated.PASS),
        ("Reasoning: all steps done\n**PASS**", Stated.PASS),
        ("The result of this conversation is a clear FAIL because the refund is missing", Stated.FAIL),
        ("PASS\nReasoning: …\nFinal verdict: FAIL", Stated.BOTH),
        ("Verdict: PASS\nVerdict: FAIL", Stated.BOTH),
        ("PASS\nStep one: retried.\nVerdict: FAIL\nVerdict: PASS", Stated.PASS),
        ("Thinking.\nVerdict: PASS\nVerdict: FAIL", Stated.BOTH),
        ("Failed tool calls aside, the agent did well", Stated.NOTHING),
        ("Fail-safe defaults were kept", Stated.NOTHING),
        ("Passing the id was right", Stated.NOTHING),
        ("The agent reset the password", Stated.NOTHING),
        ("I would not call this a PASS", Stated.NOTHING),
        ("PASS or FAIL", Stated.NOTHING),
        ("The agent completed the task.", Stated.NOTHING),
        ("", Stated.NOTHING),
    ],
)
def test_what_a_judge_states_is_read_apart_from_what_it_mentions(log: str, stated: Stated) -> None:
    """A verdict is the first word, a conclusion or the only capital word; "password" and "failed once" are neither."""
    assert stated is stated_verdict(log)


@pytest.mark.parametrize("judge", ["goal_completion", "binary_rubric_scorer_2"])
@pytest.mark.parametrize(
    ("log", "score", "expected"),
    [
        ("PASS\nReasoning: done", PASSED, None),
        ("FAIL\nReasoning: not done", FAILED, None),
        ("PASS\nReasoning: one call failed, then succeeded", PASSED, None),
        ("FAIL\nReasoning: not done", PASSED, "judge_contradiction"),
        ("**FAIL** The identity check was bypassed.", PASSED, "judge_contradiction"),
        ("Verdict: FAIL. The new password was set unasked.", PASSED, "judge_contradiction"),
        ("FAIL: identity check bypassed", PASSED, "judge_contradiction"),
        ("FAIL (3/12 checks passed)", PASSED, "judge_contradiction"),
        ("PASS\nReasoning: done", FAILED, "judge_contradiction"),
        ("Passed. Everything is there.", FAILED, "judge_contradiction"),
        ("PASS\nReasoning: …\nVerdict: FAIL", PASSED, "judge_contradiction"),
        ("The agent finished what was asked.", FAILED, "judge_no_verdict"),
        ("The agent reset the password.", PASSED, "judge_no_verdict"),
        ("429 RESOURCE_EXHAUSTED", FAILED, "judge_no_verdict"),
        ("", FAILED, "judge_no_log"),
        ("nan", PASSED, "judge_no_log"),
    ],
)
def test_a_pass_fail_judge_must_state_what_its_score_says(
    judge: str, log: str, score: str, expected: str | None
) -> None:
    """Both ways: FAIL with 100, and PASS with 0."""
    assert expected == reason(row(judge, score, log))


@pytest.mark.parametrize(
    ("log", "score", "expected"),
    [
        ("2/3 sub-goals met.\n[MET] pay — done\n[UNMET] mail — FAIL, nothing sent", "66.7", None),
        ("3/3 sub-goals met.\n[MET] a — one retry failed", PASSED, None),
        ("0/2 sub-goals met.", FAILED, None),
        ("1/3 sub-goals met.", PASSED, "judge_contradiction"),
        ("3/3 sub-goals met.", FAILED, "judge_contradiction"),
        ("0/0 sub-goals met.", FAILED, "judge_no_verdict"),
        ("FAIL\nReasoning: two of three", "66.7", None),
    ],
)
def test_the_share_of_sub_goals_is_its_own_verdict(log: str, score: str, expected: str | None) -> None:
    """The second generation of goal_completion states counts instead of PASS and FAIL."""
    assert expected == reason(row("goal_completion", score, log))


@pytest.mark.parametrize(
    ("log", "score", "expected"),
    [
        ("Hallucination Count: 0\nClarification Count: 0\nReasoning: none failed", PASSED, None),
        ("Hallucination Count: 1\nClarification Count: 0", "50.0", None),
        ("Hallucination Count: 3\nClarification Count: 1", FAILED, None),
        ("**Hallucination Count:** 0\n**Clarification Count:** 0", PASSED, None),
        ("**Hallucination Count:** 2\n**Clarification Count:** 0", PASSED, "judge_contradiction"),
        ("**Hallucination Count:** 1\nClarification Count: 1", "80.0", "judge_contradiction"),
        ('{"hallucination_count": 1, "clarification_count": 0}', PASSED, "judge_contradiction"),
        ("The agent behaved well.", PASSED, "judge_no_verdict"),
        ("Hallucination Count: none\nClarification Count: none", PASSED, "judge_no_verdict"),
        ("Hallucination Count: 0", PASSED, "judge_no_verdict"),
        ("", PASSED, "judge_no_log"),
    ],
)
def test_behavior_is_100_only_where_both_counts_say_so(log: str, score: str, expected: str | None) -> None:
    """A count the harness can't find is 0 to it, so an unparsable judge scores 100."""
    assert expected == reason(row("behavioral_metrics", score, log))


def test_parameter_analysis_is_believed_although_it_never_varies() -> None:
    """Always 100 where the judge answered: health reports it. Without an answer it is unavailable."""
    assert reason(row("parameter_analysis", PASSED, "Analysis: two calls failed.\nSuggestions: none")) is None
    assert reason(row("parameter_analysis", PASSED, "")) == "judge_no_log"
    skipped = "No eval result context passed. Parameter analysis skipped."
    assert reason(row("parameter_analysis", PASSED, skipped)) == "no_eval_context"


@pytest.mark.parametrize(
    ("log", "score", "expected"),
    [
        ("Skipped. Exact Match was found.", PASSED, None),
        ("Generated query failed to execute.", FAILED, None),
        ("Golden query failed to execute.", FAILED, "golden_query_failed"),
        ("Step 1 …\nFINAL ANSWER: INFORMATION_MATCHES -- no MISSING_INFORMATION was found", PASSED, None),
        ("FINAL ANSWER:\n- INCORRECT_INFORMATION -- not INFORMATION_MATCHES", PASSED, "judge_contradiction"),
        ("It is not quite INFORMATION_MATCHES.\nMISSING_INFORMATION", PASSED, "judge_contradiction"),
        ("MISSING_INFORMATION\nError analysis:\n\n[LogicError]: EQUIVALENT otherwise", FAILED, None),
        ("NOT_EQUIVALENT", FAILED, None),
        ("EQUIVALENT", PASSED, None),
        ("INFORMATION_MATCHES or MISSING_INFORMATION, hard to say", PASSED, "judge_no_verdict"),
        ("I can't compare these.", FAILED, "judge_no_verdict"),
        ("", FAILED, "judge_no_log"),
    ],
)
def test_a_rater_must_choose_the_answer_its_score_stands_for(log: str, score: str, expected: str | None) -> None:
    """The harness takes any mention of a favourable answer for the choice."""
    assert expected == reason(row("llmrater", score, log))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (row("exact_match", FAILED, "Golden or generated query had an error."), "golden_query_failed"),
        (row("exact_match", FAILED, golden_error=""), None),
        (row("set_match", FAILED, golden_error="no such table"), "golden_query_failed"),
        (row("set_match", FAILED, golden_error=""), None),
        (row("recall_match", FAILED, golden_error="no such table"), "golden_query_failed"),
        (row("llmrater", PASSED, "EQUIVALENT", golden_error="hybrid ground truth was used"), None),
        (row("recall_match", PASSED, "{'precision': 1, 'orig_golden_size': 0, 'x': 0}"), "nothing_compared"),
        (row("recall_match", PASSED, "{'orig_golden_size': 0}", golden_error=""), "nothing_compared"),
        (row("recall_match", PASSED, "{'orig_golden_size': 10}"), None),
        (row("executable_sql", PASSED, "Generated query was executable."), None),
        (row("executable_sql", PASSED, "Generated query was executable.", generated_empty=True), "not_executed"),
        (row("executable_sql", FAILED, "Generated query was not executable: x"), None),
        (row("returned_sql", FAILED, generated_empty=True), None),
        (row("set_match", PASSED), None),
    ],
)
def test_sql_rows_need_a_golden_result_and_a_query_that_ran(made: ComparatorRow, expected: str | None) -> None:
    """A failed golden query is no 0 for the candidate, and nothing executed is no 100."""
    assert expected == reason(made)


def test_the_candidates_own_failure_stays_a_zero() -> None:
    """Where the trial crashed, its query failed: the 0 is deserved, a 100 is not."""
    crashed = Trial(task_id="t1", trial=0, status=TrialStatus.CRASHED)
    assert reason(row("exact_match", FAILED, "Golden or generated query had an error."), crashed) is None
    assert reason(row("executable_sql", FAILED, "Generated query was not executable: x"), crashed) is None
    assert reason(row("recall_match", PASSED, "{'orig_golden_size': 3}"), crashed) == "not_executed"
    completed = Trial(task_id="t1", trial=0, status=TrialStatus.COMPLETED)
    assert reason(row("recall_match", PASSED, "{'orig_golden_size': 0}", golden_error=""), completed) is None


CALL = ToolCall(index=0, raw_name="a", name="a")


@pytest.mark.parametrize(
    ("made", "trial", "expected"),
    [
        (row("token_consumption", "0.0", "Agent consumed 0.0 tokens."), BARE, "no_telemetry"),
        (row("token_consumption", "0.0", "Agent consumed 0.0 tokens."), None, "no_telemetry"),
        (row("end_to_end_latency", "0.0", "End-to-End latency was 0.0 ms."), BARE, "no_telemetry"),
        (row("tool_call_latency", "0.0", "Tool calls took 0.0 ms."), BARE, "no_telemetry"),
        (
            row("token_consumption", "0.0", "Agent consumed 0.0 tokens."),
            Trial(task_id="t", trial=0, usage=Usage(input_tokens=5)),
            "no_telemetry",
        ),
        (
            row("token_consumption", "0.0", "Agent consumed 0.0 tokens."),
            Trial(task_id="t", trial=0, usage=Usage(input_tokens=0, output_tokens=0)),
            None,
        ),
        (
            row("tool_call_latency", "0.0", "Tool calls took 0.0 ms."),
            Trial(task_id="t", trial=0, timing=Timing(duration_s=2.0, tool_duration_s=0.0)),
            None,
        ),
        (
            row("end_to_end_latency", "0.0", "End-to-End latency was 0.0 ms."),
            Trial(task_id="t", trial=0, timing=Timing(tool_duration_s=0.0)),
            "no_telemetry",
        ),
        (row("agent_steps", "0.0", "Agent made 0 tool-call step(s)."), BARE, "no_telemetry"),
        (row("agent_steps", "0.0", "…"), Trial(task_id="t", trial=0, calls=()), None),
        (row("agent_steps", "0.0", "…"), Trial(task_id="t", trial=0, calls=(CALL,)), "no_telemetry"),
        (row("turn_count", "0.0", "Agent took 0 turns."), BARE, "no_telemetry"),
        (row("turn_count", "8.0", "Agent took 8 turns."), BARE, None),
        (row("token_consumption", "1200.0", "Agent consumed 1200.0 tokens."), BARE, None),
        (
            row("tokens_processed", "90.0", "Agent processed 90.0 tokens. Skipped 1 malformed agent response(s)."),
            BARE,
            "partial_telemetry",
        ),
    ],
)
def test_a_zero_count_needs_evidence_that_it_is_zero(
    made: ComparatorRow, trial: Trial | None, expected: str | None
) -> None:
    """Output the harness could not parse gives 0.0 with an ordinary log."""
    assert expected == reason(made, trial)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (row("trajectory_matcher", PASSED, "Both expected and actual trajectories are empty."), None),
        (row("trajectory_matcher", FAILED, "Jaccard Similarity Score: 0.00"), None),
        (row("trajectory_matcher", FAILED, "Trajectory data must be lists."), "expectation_unreadable"),
        (row("skills_best_practices", "40.0", "Mean …\n[pay] Score=80: ok\n[buy] Score=0: clarity: 0/20"), None),
        (
            row("skills_best_practices", "40.0", "Mean …\n[pay] Score=80: ok\n[buy] Score=0: Error calling model: 429"),
            "judge_call_failed",
        ),
        (row("dataform_run", FAILED, "cloning\nError: Both … missing. Scorer cannot proceed."), "scorer_failed"),
        (row("analytics_scorer", PASSED, "Check 1: NO, the query failed\nVERDICT: PASS"), None),
        (row("my_check", PASSED, ""), "unknown_scorer_no_log"),
        (row("my_check", PASSED, "looks fine"), None),
        (row("my_check", PASSED, "FAIL: identity check bypassed"), "judge_contradiction"),
        (row("my_check", "12.5", "PASS"), None),
    ],
)
def test_other_scorers(made: ComparatorRow, expected: str | None) -> None:
    """Partial judge failures inside a mean, harness trouble, and scorers nobody knows."""
    assert expected == reason(made)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (row("goal_final", PASSED, "x", scorer_type="goal_completion"), "goal_completion"),
        (row("binary_rubric_scorer_3", PASSED), "binary_rubric_scorer"),
        (row("turn_count", "1"), "turn_count"),
        (row("my_check", PASSED), None),
    ],
)
def test_the_scorer_behind_a_name(made: ComparatorRow, expected: str | None) -> None:
    """The reader's word first, else the name itself, criteria numbers aside."""
    assert expected == scorer_type(made)


def test_a_renamed_judge_is_judged_by_its_type() -> None:
    """`goal_final` behind goal_completion needs a verdict in its log like any other."""
    renamed = row("goal_final", PASSED, "**FAIL** … bypassed", scorer_type="goal_completion")
    assert reason(renamed) == "judge_contradiction"


def test_a_verdict_keeps_name_type_place_and_what_was_said() -> None:
    """Values are rounded to nine decimals; what was said stands beside an unavailable verdict only."""
    ref = EvidenceRef(file="scores.csv", row=41)
    good = harness_verdict(row("trajectory_matcher", "33.33333333333333", "Jaccard …", ref=ref), BARE)
    assert (Decimal("33.333333333"), "harness", COMPARATORS_VERSION) == (good.value, good.source, good.version)
    assert ("t1", 0, ref, "trajectory_matcher", None) == (
        good.task_id,
        good.trial,
        good.ref,
        good.scorer_type,
        good.detail,
    )
    bad = harness_verdict(row("goal_completion", FAILED, "Error calling model:\n  429 " + "x" * 500))
    assert (None, None, None) == (bad.task_id, bad.trial, bad.value)
    assert bad.detail is not None
    assert bad.detail.startswith("Error calling model: 429 xxx")
    assert len(bad.detail) == 200
