"""The decisions of record of one subject: what was decided of its dates once these were over, and what of it stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from evalbench.gate.decision import Verdict
from evalbench.web.models.change import differences
from evalbench.web.models.figures import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """A decision of record. because: what differs from the entry it supersedes (`policy`, `evidence`, `code`).

    current: it is what stands for its date. again: it stands though another one went on record after it: the date's
    decision came back to it, which adds no entry.
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
    current: bool
    again: bool


def log_entries(log: Sequence[Row], decisions: Sequence[Row]) -> tuple[LogEntry, ...]:
    """Rows of `decision_log` of one subject, newest first. decisions: rows of `decisions`, one per date."""
    by_id = {row["log_id"]: row for row in log}
    by_day = {row["run_date"]: row for row in decisions}
    superseded = {row["supersedes"] for row in log}
    newest_first = sorted(log, key=lambda row: (row["decided_at"], row["run_date"], row["log_id"]), reverse=True)
    return tuple(
        _entry(row, by_id.get(row["supersedes"]), by_day.get(row["run_date"]), superseded=row["log_id"] in superseded)
        for row in newest_first
    )


def _entry(row: Row, before: Row | None, decision: Row | None, *, superseded: bool) -> LogEntry:
    current = decision is not None and not differences(row, decision)
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
        again=current and superseded,
    )
