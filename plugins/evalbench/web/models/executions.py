"""Pipeline runs and whether their accounting closes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from evalbench.web.models.figures import Row
from evalbench.web.store import View

_COUNTS = """
    SELECT * FROM accounting
    ORDER BY run_date DESC, max(executed_at) OVER (PARTITION BY run_date, plan_id) DESC NULLS LAST,
        regexp_extract(plan_id, '\\d{4}-.*') DESC, plan_id DESC, state, reason
"""
"""A plan that Airflow names has a moment in its name, which tells executions apart whose clock stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The accounting of one pipeline run: listed = all other counts. closes: whether that holds.

    day: UTC date on which it ran; executed_at: when, None where its rows don't tell. quarantined, ignored: reason →
    entries. ranged: it looked at some dates only.
    """

    plan_id: str
    day: date
    executed_at: datetime | None
    listed: int
    scored: int
    unchanged: int
    out_of_range: int
    in_progress: int
    quarantined: Mapping[str, int]
    ignored: Mapping[str, int]
    closes: bool
    ranged: bool


def executions_of(view: View) -> tuple[Execution, ...]:
    """Every pipeline run, newest first."""
    return view.once("executions", lambda: _executions(view))


def _executions(view: View) -> tuple[Execution, ...]:
    rows = view.rows(_COUNTS)
    return tuple(_execution(list(of_one)) for _, of_one in groupby(rows, lambda row: (row["run_date"], row["plan_id"])))


def _execution(rows: Sequence[Row]) -> Execution:
    counts = Counter[str]()
    reasons: dict[str, dict[str, int]] = {"quarantined": {}, "ignored": {}}
    for row in rows:
        counts[row["state"]] += row["entries"]
        if row["state"] in reasons:
            reasons[row["state"]][row["reason"] or "unknown"] = row["entries"]
    listed = counts.pop("listed", 0)
    return Execution(
        plan_id=rows[0]["plan_id"],
        day=rows[0]["run_date"],
        executed_at=rows[0]["executed_at"],
        listed=listed,
        scored=counts["scored"],
        unchanged=counts["unchanged"],
        out_of_range=counts["out_of_range"],
        in_progress=counts["in_progress"],
        quarantined=reasons["quarantined"],
        ignored=reasons["ignored"],
        closes=listed == counts.total(),
        ranged=counts["out_of_range"] > 0,
    )
