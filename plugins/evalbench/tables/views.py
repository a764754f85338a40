"""Views over the tables, in the order in which they build on each other. Their SQL is in include/sql, one file each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view: its file is `<name>.sql`, a single SELECT that runs on DuckDB and BigQuery."""

    name: str
    description: str


VIEWS: tuple[View, ...] = (
    View(name="pooled_trials", description="decision and trial: all a decision pooled, with the policy's terms"),
    View(
        name="judged_effects",
        description="decision and effect: what counts under the policy, silent calls included",
    ),
    View(name="judged_trials", description="decision and trial: declared, outcome, wait, quality and cost as judged"),
    View(name="recompute_signals", description="every signal from the policy-free tables, beside the published one"),
    View(name="trend_daily", description="per date, subject and signal: numerator, denominator and rate"),
    View(
        name="decision_daily",
        description="per decision: the funnel, and numerators and denominators of the signals, one column each",
    ),
    View(name="check_daily", description="per decision and check: what fired, the sentence, both ends, the next step"),
    View(name="pass_hat_daily", description="per decision and k: pass^k with its bracket, found again from the trials"),
    View(name="release_board", description="the newest decision of every subject, with its five signals"),
    View(
        name="what_changed",
        description="subject and date: the first decision of record against the current one, and what differs",
    ),
    View(name="contradictions", description="trials of high quality whose outcome is not verified"),
    View(name="worst_tasks", description="tasks by share of trials whose outcome is not verified"),
    View(
        name="verdict_daily",
        description="per date, subject and evaluator, comparator or grader: asked, judged, and the sum of what it said",
    ),
    View(name="judge_failures", description="the harness's comparators and the graders that gave no verdict, and why"),
    View(
        name="cost_per_verified_outcome",
        description="what a verified outcome cost, and what is missing of the bill",
    ),
    View(name="executions", description="execution of the pipeline: what became of every listed entry, and of none"),
    View(name="not_scored", description="execution and entry: what is in no number, and why"),
)
