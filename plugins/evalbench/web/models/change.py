"""How a decision differs from the one before it, and from what was first decided of the same date."""

from collections.abc import Sequence

from evalbench.gate.decision import Verdict
from evalbench.web.models.figures import Row
from evalbench.web.models.parts import Change

DEFINITIONS = (
    ("policy_hash", "policy"),
    ("code_version", "gate code"),
    ("dataset_version", "dataset version"),
    ("window_days", "window"),
    ("baseline", "baseline"),
)
"""Columns of `decisions` that say what a decision was made with."""
NAMED_BY = (("policy_hash", "policy"), ("evidence_hash", "evidence"), ("code_version", "code"))
"""Columns of `decisions` and `decision_log` that, on one date of one subject, make a decision another one."""


def differences(row: Row, other: Row) -> tuple[str, ...]:
    """What makes them different decisions; empty where one is the other's entry on record."""
    return tuple(what for name, what in NAMED_BY if row[name] != other[name])


def change_of(row: Row, before: Row | None, log: Sequence[Row]) -> Change:
    """row, before: of `decisions`. log: the date's entries of the decision log, first one first."""
    first = Verdict(log[0]["decision"]) if log else None
    verdict = Verdict(row["decision"])
    definitions = _definitions(row, before)
    return Change(
        before_day=None if before is None else before["run_date"],
        before=None if before is None else Verdict(before["decision"]),
        changed=before is not None and _said(row) != _said(before),
        sentence=_sentence(row, before, definitions),
        definitions=definitions,
        revised=first if first is not verdict else None,
        revisions=len(log),
    )


def _definitions(row: Row, before: Row | None) -> tuple[str, ...]:
    if before is None:
        return ()
    return tuple(what for name, what in DEFINITIONS if row[name] != before[name])


def _said(row: Row) -> tuple[str, str | None]:
    return row["decision"], row["decided_by"]


def _sentence(row: Row, before: Row | None, definitions: Sequence[str]) -> str:
    if before is None:
        return "The first decision of this subject."
    day = before["run_date"].isoformat()
    said = (
        f"As on {day}: {_words(before)}"
        if _said(row) == _said(before)
        else f"On {day} it was {_words(before)}; now it is {_words(row)}"
    )
    made = f"; another {', another '.join(definitions)}" if definitions else ""
    return f"{said}{made}."


def _words(row: Row) -> str:
    return row["decision"] if row["decided_by"] is None else f"{row['decision']} by {row['decided_by']}"
