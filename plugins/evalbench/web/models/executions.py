"""Pipeline runs and whether their accounting closes."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from evalbench.accounting import Disposition
from evalbench.sinks.parquet import partition_path
from evalbench.tables import table_named
from evalbench.web.models.figures import Row
from evalbench.web.snapshot import OPERATIONAL
from evalbench.web.store import View

_COUNTS = """
    SELECT * FROM accounting
    ORDER BY run_date DESC, max(executed_at) OVER (PARTITION BY run_date, plan_id) DESC NULLS LAST,
        regexp_extract(plan_id, '\\d{4}-.*') DESC, plan_id DESC, state, reason
"""
"""A plan that Airflow names has a moment in its name, which tells executions apart whose clock stands still."""
_TOLD_IN = tuple(f"trends/{name}/" for name in OPERATIONAL)


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


def untold(view: View, one: Execution) -> Collection[str]:
    """States of which `run_states` has fewer entries of a pipeline run than its accounting counts."""
    counted = {
        Disposition.SCORED: one.scored,
        Disposition.IN_PROGRESS: one.in_progress,
        Disposition.QUARANTINED: sum(one.quarantined.values()),
        Disposition.IGNORED: sum(one.ignored.values()),
    }
    told = view.once("told", lambda: _told(view))
    return [state for state, entries in counted.items() if told[one.day, one.plan_id, state] < entries]


def _told(view: View) -> Counter[tuple[date, str, str]]:
    rows = view.rows("SELECT run_date, plan_id, state, count(*) AS entries FROM run_states GROUP BY ALL")
    return Counter({(row["run_date"], row["plan_id"], row["state"]): row["entries"] for row in rows})


def has_states(view: View, one: Execution) -> bool:
    """Whether the file in which a pipeline run told of entries is held; it may tell of none."""
    return partition_path(table_named("run_states"), one.day, one.plan_id) in _readable(view)


def unaccounted(view: View, since: date) -> bool:
    """Whether there is a file of a pipeline run of that date or a later one without its accounting, as far as known."""
    found, readable = view.snapshot.seen.growing, _readable(view)
    names = {path.partition("/run_date=")[2] for path in found if path.startswith(_TOLD_IN)}
    return any(
        name[:10] >= since.isoformat() and f"trends/accounting/run_date={name}" not in readable for name in names
    )


def _readable(view: View) -> Collection[str]:
    return view.snapshot.seen.growing.keys() - view.snapshot.unsettled.unreadable.keys()
