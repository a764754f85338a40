"""The decisions of record: whether a decision is one, and those of one subject with what of them stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from evalbench.gate.decision import Verdict
from evalbench.report import is_provisional
from evalbench.web.models.change import differences
from evalbench.web.models.figures import Row
from evalbench.words import plural

LOG_ORDER = "supersedes IS NOT NULL, decided_at, log_id"
"""Of entries of the decision log: of each date the first one first."""
DAY_NOT_OVER = "provisional: the day isn't over"
DECIDED_EARLY = "not of record: decided before its day was over"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """A decision of record. because: what differs from the entry it supersedes (`policy`, `evidence`, `code`).

    current: it is what stands for its date; None where that isn't known now, since nothing of the date is shown. again:
    it stands though another one went on record after it: the date's decision came back to it, which adds no entry.
    """

    log_id: str
    day: date
    decided_at: datetime
    verdict: Verdict
    decided_by: str | None
    policy_name: str
    policy_version: str
    run_count: int
    supersedes: str | None
    because: tuple[str, ...]
    current: bool | None
    again: bool


def not_of_record(decision: Row, today: date) -> str | None:
    """Why a decision isn't of record, in words; None where it is. decision: of `daily` or `with_record`.

    Every decision of a day that was over when it was published has an entry: without one, it was published before.
    """
    day: date = decision["run_date"]
    if day > today:
        return f"dated in the future: in {plural((day - today).days, 'day')}"
    if is_provisional(day, today):
        return DAY_NOT_OVER
    return None if decision["on_record"] else DECIDED_EARLY


def log_entries(log: Sequence[Row], decisions: Sequence[Row], left_out: Sequence[date]) -> tuple[LogEntry, ...]:
    """Rows of `decision_log` of one subject, newest first.

    decisions: rows of `decisions`, one per date. left_out: dates of which nothing is shown.
    """
    by_id = {row["log_id"]: row for row in log}
    by_day = {row["run_date"]: row for row in decisions}
    superseded = {row["supersedes"] for row in log}
    newest_first = sorted(log, key=lambda row: (row["decided_at"], row["run_date"], row["log_id"]), reverse=True)
    return tuple(
        _entry(
            row,
            by_id.get(row["supersedes"]),
            current=None if row["run_date"] in left_out else _is_current(row, by_day.get(row["run_date"])),
            superseded=row["log_id"] in superseded,
        )
        for row in newest_first
    )


def _is_current(entry: Row, decision: Row | None) -> bool:
    return decision is not None and not differences(entry, decision)


def _entry(row: Row, before: Row | None, *, current: bool | None, superseded: bool) -> LogEntry:
    return LogEntry(
        log_id=row["log_id"],
        day=row["run_date"],
        decided_at=row["decided_at"],
        verdict=Verdict(row["decision"]),
        decided_by=row["decided_by"],
        policy_name=row["policy_name"],
        policy_version=row["policy_version"],
        run_count=row["run_count"],
        supersedes=row["supersedes"],
        because=() if before is None else differences(row, before),
        current=current,
        again=bool(current) and superseded,
    )
