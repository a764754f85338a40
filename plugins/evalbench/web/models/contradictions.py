"""Trials that a grader praised and no destination confirms."""

from dataclasses import dataclass
from datetime import date

from evalbench.gate.case import Subject
from evalbench.web.as_of import AsOf
from evalbench.web.models.checks import link_of
from evalbench.web.models.figures import Row
from evalbench.web.models.filters import condition, filter_options
from evalbench.web.models.parts import FilterOptions, Filters, TrialLink
from evalbench.web.models.standing import subject_of_row
from evalbench.web.models.trial_rows import PRAISED
from evalbench.web.store import View

_PRAISED = f"quality >= {PRAISED}"
_PRAISED_UNVERIFIED = f"{_PRAISED} AND outcome <> 'verified' AND NOT waiting"
"""As in the view contradictions."""
_COUNTS = f"""
    count(quality) AS graded,
    count(*) FILTER (WHERE {_PRAISED}) AS praised,
    count(*) FILTER (WHERE {_PRAISED_UNVERIFIED} AND outcome = 'failed') AS failed,
    count(*) FILTER (WHERE {_PRAISED_UNVERIFIED} AND outcome <> 'failed') AS unavailable
"""
_ORDER = """
    outcome <> 'failed', run_date DESC, product, suite, environment, candidate, quality DESC, run_id, task_id, trial
"""
_UNCOUNTED = """
    SELECT CAST(coalesce(sum(recorded_trials), 0) AS BIGINT) AS trials FROM runs
    WHERE NOT EXISTS (SELECT 1 FROM judged WHERE judged.run_date = runs.run_date AND judged.run_id = runs.run_id)
"""
_RUNS_OF_MODEL = "SELECT run_id FROM runs WHERE model = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """quality 0.8 or more (0..1) under the policy, outcome failed or unavailable. declared: None when unknown."""

    subject: Subject
    day: date
    link: TrialLink
    quality: float
    outcome: str
    declared: bool | None
    status: str | None
    policy_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradictions:
    """Worst first: failed before unavailable, newest date first, then by subject and trial; the first of total.

    graded: trials with a quality among those asked about; praised: of those, 0.8 or more; failed, unavailable: total by
    outcome. uncounted: trials on record of runs that no decision of their date counts, such as those of another dataset
    version: none of these is asked about. nothing: why there is no row, in a sentence; None when there are some.
    """

    as_of: AsOf
    filters: Filters
    options: FilterOptions
    rows: tuple[Contradiction, ...]
    total: int
    failed: int
    unavailable: int
    graded: int
    praised: int
    uncounted: int
    nothing: str | None


def contradictions(view: View, filters: Filters, most: int | None = None) -> Contradictions:
    """The contradictions of a view of the lake, all of them or the first `most`."""
    asked, params = condition(filters, model=False)
    if filters.model is not None:
        asked, params = f"{asked} AND run_id IN ({_RUNS_OF_MODEL})", [*params, filters.model]
    counts = view.rows(f"SELECT {_COUNTS} FROM judged WHERE {asked}", params)[0]
    rows = view.rows(
        f"SELECT * FROM judged WHERE {asked} AND {_PRAISED_UNVERIFIED} ORDER BY {_ORDER} LIMIT ?", [*params, most]
    )
    total = counts["failed"] + counts["unavailable"]
    return Contradictions(
        as_of=view.as_of,
        filters=filters,
        options=filter_options(view, filters),
        rows=tuple(_contradiction(row) for row in rows),
        total=total,
        **counts,
        uncounted=_uncounted(view, filters),
        nothing=None if total else _nothing(counts["graded"], counts["praised"]),
    )


def _uncounted(view: View, filters: Filters) -> int:
    asked, params = condition(filters)
    found: int = view.rows(f"{_UNCOUNTED} AND {asked}", params)[0]["trials"]
    return found


def _contradiction(row: Row) -> Contradiction:
    return Contradiction(
        subject=subject_of_row(row),
        day=row["run_date"],
        link=link_of(row),
        quality=float(row["quality"]),
        outcome=row["outcome"],
        declared=row["declared"],
        status=row["status"],
        policy_name=row["policy_name"],
    )


def _nothing(graded: int, praised: int) -> str:
    if not graded:
        return "No trial here has a quality that a decision counts, so none was praised."
    if not praised:
        return f"None of {graded} graded trials that a decision counts was praised."
    return f"All of {praised} praised trials are verified at their destination, or validly wait."
