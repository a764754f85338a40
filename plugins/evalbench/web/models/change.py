"""How a decision differs from the one before it, and from what was first decided of the same date."""

from collections.abc import Sequence
from datetime import date

from evalbench.gate.decision import Verdict
from evalbench.web.models.figures import Row
from evalbench.web.models.parts import Change
from evalbench.web.tables import MADE_WITH
from evalbench.words import listed

DEFINITIONS = (
    ("policy_hash", "policy"),
    ("code_version", "code"),
    ("dataset_version", "dataset version"),
    ("model", "model"),
    ("window_days", "window"),
    ("baseline", "baseline"),
)
"""Columns of `decisions` that say what a decision was made with."""
NAMED_BY = tuple(zip(MADE_WITH, ("policy", "evidence", "code"), strict=True))
"""Columns of `decisions` and `decision_log` that make a decision another one, in words."""


def differences(row: Row, other: Row) -> tuple[str, ...]:
    """What makes them different decisions; empty where one is the other's entry on record."""
    return tuple(what for name, what in NAMED_BY if row[name] != other[name])


def change_of(row: Row, before: Row | None, log: Sequence[Row], left_out: Sequence[date]) -> Change:
    """row, before: of `decisions`. log: the date's entries of the decision log, first one first.

    left_out: dates of which nothing is shown, whatever was decided on them.
    """
    first = Verdict(log[0]["decision"]) if log else None
    verdict = Verdict(row["decision"])
    return Change(
        before_day=None if before is None else before["run_date"],
        before=None if before is None else Verdict(before["decision"]),
        changed=before is not None and _said(row) != _said(before),
        sentence=_sentence(row, before, _unseen(row, before, left_out)),
        revised=first if first is not verdict else None,
        revisions=len(log),
    )


def _definitions(row: Row, before: Row) -> tuple[str, ...]:
    return tuple(what for name, what in DEFINITIONS if row[name] != before[name])


def _said(row: Row) -> tuple[str, str | None]:
    return row["decision"], row["decided_by"]


def _unseen(row: Row, before: Row | None, left_out: Sequence[date]) -> str:
    """The dates between the two, or before the first, of which nothing is shown; empty without one."""
    since = date.min if before is None else before["run_date"]
    return listed([day.isoformat() for day in left_out if since < day < row["run_date"]])


def _sentence(row: Row, before: Row | None, unseen: str) -> str:
    if before is None and unseen:
        return f"Whether it is the first decision of this subject isn't known now: nothing of {unseen} is shown."
    if before is None:
        return "The first decision of this subject."
    day = before["run_date"].isoformat()
    said = (
        f"Unchanged from {day}: {_words(before)}"
        if _said(row) == _said(before)
        else f"On {day} it was {_words(before)}; now it is {_words(row)}"
    )
    definitions = _definitions(row, before)
    made = f"; another {', another '.join(definitions)}" if definitions else ""
    gap = f" Nothing is shown of what was decided between: {unseen}." if unseen else ""
    return f"{said}{made}.{gap}"


def _words(row: Row) -> str:
    return row["decision"] if row["decided_by"] is None else f"{row['decision']} by {row['decided_by']}"
