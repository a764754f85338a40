"""What one row of the harness's scores is worth: a number, or unavailable with a reason.

EvalBench swallows most failures of its scorers: the error column stays empty and the score is 0 or 100. The rules
below read the score, the error and the log as its 1.20.0 scorers write them, and earlier and later generations where
they are known. They stand in order and the first that speaks decides; a row none speaks of counts as written.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from evalbench.decimals import SCORE_LIMIT, nine_places
from evalbench.judge_logs import (
    NO_JUDGE_NEEDED,
    Stated,
    behavior_counts,
    chosen_answer,
    lead_verdict,
    stated_verdict,
    sub_goal_share,
)
from evalbench.ledger import ComparatorRow, Run, Trial, TrialStatus, Usage, Verdict, VerdictState

COMPARATORS_VERSION = "1"

# Scorers that ask a language model. None of them can score without writing a log.
LLM_JUDGES = frozenset({
    "goal_completion", "behavioral_metrics", "parameter_analysis", "binary_rubric_scorer", "llmrater",
    "analytics_scorer", "llm_consistency", "skills_best_practices", "dataset_quality",
})  # fmt: skip
# Judges whose log states PASS or FAIL, which the score has to agree with.
PASS_FAIL_JUDGES = frozenset({"goal_completion", "binary_rubric_scorer"})
# Judges whose log chooses one of a few named answers.
CHOICE_JUDGES = frozenset({"llmrater", "llm_consistency"})
# Scorers that hold a result against the golden one and score a failed golden query without saying so.
RESULT_MATCHERS = frozenset({"exact_match", "set_match", "recall_match"})
SQL_SCORERS = RESULT_MATCHERS | {"llmrater", "analytics_scorer", "executable_sql", "regexp_matcher"}
# Counts and durations: numbers without a best value, worth nothing without telemetry behind them.
TELEMETRY_SCORERS = frozenset({
    "turn_count", "agent_steps", "end_to_end_latency", "tool_call_latency", "token_consumption", "tokens_processed",
    "effective_billed_tokens",
})  # fmt: skip
KNOWN_SCORERS = LLM_JUDGES | SQL_SCORERS | TELEMETRY_SCORERS | {
    "trajectory_matcher", "skills_trajectory", "returned_sql", "python_scorer", "exact_match_consistency",
    "dataform_compile", "dataform_run", "dataform_cloud_compile", "dataform_cloud_run", "dbt_compile", "dbt_run",
}  # fmt: skip

# How a log begins when its scorer did not judge. Whole beginnings, so that a judge may speak of such things.
LOG_BEGINNINGS: tuple[tuple[str, str], ...] = (
    ("Error calling model:", "judge_call_failed"),
    ("Invalid JSON in response:", "judge_invalid_json"),
    ("score field is not an integer:", "judge_invalid_json"),
    ("No sub-goals returned:", "judge_no_sub_goals"),
    ("Failed to parse LLM evaluation response.", "judge_unparsable"),
    ("LLM response was not a string.", "judge_unparsable"),
    ("Could not parse valid VERDICT", "judge_unparsable"),
    ("No rubric defined", "no_rubric"),
    ("No eval result context passed.", "no_eval_context"),
    ("Invalid JSON in eval result context.", "no_eval_context"),
    ("Invalid or missing eval result context.", "no_eval_context"),
    ("Generation error:", "generation_failed"),
    ("No conversation history provided.", "no_conversation"),
    ("Failed to parse conversation history as JSON.", "conversation_unparsable"),
    ("Conversation history is not a list.", "conversation_unparsable"),
    ("Trajectory data must be lists.", "expectation_unreadable"),
    ("Skills data must be lists.", "expectation_unreadable"),
    ("No expected skills specified", "no_expectation"),
    ("No skills were activated;", "check_skipped"),
    ("Golden query failed to execute", "golden_query_failed"),
    ("Error: Timed out waiting for remote scorer", "scorer_failed"),
    ("Error: session_id '", "scorer_failed"),
    ("Error: Unexpected payload on stream:", "scorer_failed"),
    ("Error: Empty score response from remote scorer", "scorer_failed"),
    ("FAIL: Script failed with exit code", "scorer_failed"),
    ("FAIL: Failed to serialize input to JSON:", "scorer_failed"),
    ("FAIL: Failed to parse JSON from script output.", "scorer_failed"),
    ("FAIL: Error processing script output:", "scorer_failed"),
    ("FAIL: 'uv' command not found", "scorer_failed"),
    ("FAIL: Exception running script:", "scorer_failed"),
    ("dbt CLI not setup", "scorer_failed"),
)  # fmt: skip

_BLANK = frozenset({"", "none", "nan", "null", "<na>"})
_SKILL_FAILED = re.compile(
    r"^\[[^\]\n]*\] Score=0: (?:Error calling model:|Invalid JSON in response:|LLM response was not a string"
    r"|score field is not an integer|SKILL\.md not found|Failed to read SKILL\.md)",
    re.MULTILINE,
)
_SKIPPED_TURNS = re.compile(r"Skipped \d+ (?:malformed|turn)")
_NO_GOLDEN_ROWS = re.compile(r"'orig_golden_size': 0\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A row with its scorer type resolved and its log trimmed; `score` is a finite number."""

    row: ComparatorRow
    kind: str | None
    log: str
    score: Decimal
    trial: Trial | None


def scorer_type(row: ComparatorRow) -> str | None:
    """The scorer behind a row: as the reader resolved it, else its own name where that is a known scorer's."""
    if row.scorer_type is not None:
        return row.scorer_type
    name = row.comparator
    stem = re.sub(r"_\d+$", "", name)
    return next((known for known in (name, stem) if known in KNOWN_SCORERS), None)


def harness_verdict(row: ComparatorRow, trial: Trial | None = None) -> Verdict:
    """The verdict of one comparator row. `trial` is what the row is about, None for a row that names no task."""
    reason = _unavailable(row, trial)
    available = reason is None and row.score is not None
    said = row.error if not _blank(row.error) else row.log or row.score_text
    return Verdict(
        name=row.comparator,
        source="harness",
        version=COMPARATORS_VERSION,
        value=nine_places(row.score) if available and row.score is not None else None,
        state=VerdictState.AVAILABLE if available else VerdictState.UNAVAILABLE,
        reason=reason,
        scorer_type=scorer_type(row),
        task_id=trial.task_id if trial is not None else None,
        trial=trial.trial if trial is not None else None,
        detail=None if available else " ".join(said.split())[:200] or None,
        ref=row.ref,
    )


def harness_verdicts(run: Run) -> tuple[Verdict, ...]:
    """Every comparator row of a run as a verdict: the trials' in their order, then those that name no task."""
    attached = tuple(harness_verdict(row, trial) for trial in run.trials for row in trial.comparators)
    return attached + tuple(harness_verdict(row) for row in run.unattached)


def _unavailable(row: ComparatorRow, trial: Trial | None) -> str | None:
    if not _blank(row.error):
        return "comparison_error"
    if row.score is None or not row.score.is_finite():
        return "no_score" if _blank(row.score_text) else "score_not_a_number"
    if abs(row.score) >= SCORE_LIMIT:
        return "score_out_of_range"
    log = "" if _blank(row.log) else row.log.strip()
    case = _Case(row=row, kind=scorer_type(row), log=log, score=row.score, trial=trial)
    return next((reason for rule in RULES if (reason := rule(case)) is not None), None)


def _blank(text: str) -> bool:
    return text.strip().lower() in _BLANK


def _no_log(case: _Case) -> str | None:
    """A quota outage leaves log and error empty. An unknown scorer without a log can't be told from such a judge."""
    if case.log:
        return None
    if case.kind is None:
        return "unknown_scorer_no_log"
    return "judge_no_log" if case.kind in LLM_JUDGES else None


def _scorer_did_not_judge(case: _Case) -> str | None:
    for beginning, reason in LOG_BEGINNINGS:
        if case.log.startswith(beginning):
            return reason
    if "Scorer cannot proceed." in case.log and (case.kind or "").startswith("dataform"):
        return "scorer_failed"
    if case.kind == "skills_best_practices" and _SKILL_FAILED.search(case.log):
        return "judge_call_failed"
    return None


def _golden_query_failed(case: _Case) -> str | None:
    """A golden query that fails is the evalset's fault: no 0 for the candidate."""
    if case.kind in RESULT_MATCHERS and case.row.golden_error is not None and not _blank(case.row.golden_error):
        return "golden_query_failed"
    either = case.kind == "exact_match" and case.log.startswith("Golden or generated query had an error.")
    return "golden_query_failed" if either and not _crashed(case) else None


def _nothing_executed(case: _Case) -> str | None:
    """Credit for SQL that never ran: an empty query, or a generator that failed."""
    never_ran = case.row.generated_empty is True or _crashed(case)
    return "not_executed" if case.kind in SQL_SCORERS and case.score > 0 and never_ran else None


def _nothing_compared(case: _Case) -> str | None:
    """recall_match compares nothing with anything when the golden result is empty, which two failures also are."""
    if case.kind != "recall_match" or not _NO_GOLDEN_ROWS.search(case.log):
        return None
    golden_ran = case.row.golden_error is not None
    completed = case.trial is not None and case.trial.status is TrialStatus.COMPLETED
    return None if golden_ran and completed else "nothing_compared"


def _crashed(case: _Case) -> bool:
    return case.trial is not None and case.trial.status is TrialStatus.CRASHED


def _pass_fail(case: _Case) -> str | None:
    """A score that its judge's own words contradict, or that no word of the judge supports."""
    if case.kind is None:
        words = lead_verdict(case.log)
        return _contradiction(case.score, words) if words is not Stated.NOTHING else None
    if case.kind not in PASS_FAIL_JUDGES:
        return None
    share = sub_goal_share(case.log)
    if share is not None:
        return None if abs(case.score - share) < Decimal("0.1") else "judge_contradiction"
    if 0 < case.score < 100:
        return None
    words = stated_verdict(case.log)
    return "judge_no_verdict" if words is Stated.NOTHING else _contradiction(case.score, words)


def _contradiction(score: Decimal, words: Stated) -> str | None:
    """PASS goes with a score above 0, FAIL with one below 100: a share of sub-goals is neither's contradiction."""
    agrees = (words is Stated.PASS and score > 0) or (words is Stated.FAIL and score < 100)
    return None if agrees else "judge_contradiction"


def _behavior(case: _Case) -> str | None:
    """behavioral_metrics takes a count it can't find for 0, and so says 100 for an answer it can't parse."""
    if case.kind != "behavioral_metrics":
        return None
    counts = behavior_counts(case.log)
    if counts is None:
        return "judge_no_verdict"
    agrees = counts.stated == counts.as_harness and (not any(counts.stated)) == (case.score == 100)
    return None if agrees else "judge_contradiction"


def _choice(case: _Case) -> str | None:
    """A rater's final answer against its score, which upstream takes from any mention of a favourable answer."""
    if case.kind not in CHOICE_JUDGES or case.log.startswith(NO_JUDGE_NEEDED):
        return None
    favourable = chosen_answer(case.log)
    if favourable is None:
        return "judge_no_verdict"
    return None if favourable == (case.score > 0) else "judge_contradiction"


def _tokens(usage: Usage | None) -> list[float | None]:
    if usage is None:
        return []
    return [usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_creation_tokens]


def _telemetry(case: _Case) -> str | None:
    """A zero is believed only where the trial's own evidence says zero; a sum over some of the turns is no total."""
    if case.kind not in TELEMETRY_SCORERS:
        return None
    if _SKIPPED_TURNS.search(case.log):
        return "partial_telemetry"
    if case.score != 0:
        return None
    recorded = [number for number in _evidence(case) if number is not None]
    return None if recorded and not any(recorded) else "no_telemetry"


def _evidence(case: _Case) -> list[float | None]:
    if case.trial is None or case.kind == "turn_count":
        return []
    if case.kind == "agent_steps":
        return [len(case.trial.calls)] if case.trial.calls is not None else []
    if case.kind in ("token_consumption", "tokens_processed", "effective_billed_tokens"):
        return _tokens(case.trial.usage)
    timing = case.trial.timing
    if timing is None:
        return []
    return [timing.tool_duration_s] if case.kind == "tool_call_latency" else [timing.duration_s]


RULES: tuple[Callable[[_Case], str | None], ...] = (
    _scorer_did_not_judge,
    _no_log,
    _golden_query_failed,
    _nothing_executed,
    _nothing_compared,
    _pass_fail,
    _behavior,
    _choice,
    _telemetry,
)
