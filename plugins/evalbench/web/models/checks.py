"""Rows of `gate_checks` and `gate_evidence` as checks, and the one that decided."""

from collections.abc import Iterable, Sequence

from evalbench.gate.wording import trial_name
from evalbench.sinks.parquet import partition_path
from evalbench.tables import table_named
from evalbench.web.models.figures import Row, number
from evalbench.web.models.parts import STAGE_LABELS, Check, Deciding, EvidenceRow, TrialLink

NAMED = 5
ALL_HOLD = "Every check holds at both ends: permitted within its scope."


def link_of(row: Row) -> TrialLink:
    """The trial a row names."""
    return trial_link(row["run_id"], row["task_id"], row["trial"])


def trial_link(run_id: str, task_id: str, trial: int | None) -> TrialLink:
    """A trial by its key; None: planned, and without a record."""
    return TrialLink(run_id=run_id, task_id=task_id, trial=trial, label=trial_name(task_id, trial))


def check_of(row: Row, evidence: Iterable[Row]) -> Check:
    """A row of `gate_checks` with its rows of `gate_evidence`."""
    behind = tuple(EvidenceRow(link=link_of(found), why=found["why"], missing=found["missing"]) for found in evidence)
    return Check(
        number=row["check_number"],
        name=row["check_name"],
        stage=row["stage"],
        stage_label=STAGE_LABELS[row["stage"]],
        status=row["status"],
        fired=row["fired"],
        proven=row["proven"],
        unit=row["unit"],
        observed=number(row["observed"]),
        best=number(row["best"]),
        worst=number(row["worst"]),
        worst_unbounded=row["worst_unbounded"],
        limit=number(row["limit_value"]),
        numerator=number(row["numerator"]),
        denominator=number(row["denominator"]),
        reason=row["reason"],
        next_step=row["next_step"],
        evidence=behind,
        evidence_total=row["evidence_rows"],
    )


def deciding(decision: Row, row: Row | None, evidence: Sequence[Row]) -> Deciding:
    """What decided, from its row of `gate_checks`; None on PASS, or where the lake lacks it, which is said.

    evidence: the first rows behind it.
    """
    if row is None:
        return Deciding(
            sentence=ALL_HOLD if decision["decided_by"] is None else _unexplained(decision),
            check=None,
            number=None,
            proven=False,
            next_step=None,
            trials=(),
            trials_total=0,
        )
    return Deciding(
        sentence=row["reason"],
        check=row["check_name"],
        number=row["check_number"],
        proven=row["proven"],
        next_step=row["next_step"],
        trials=tuple(link_of(found) for found in evidence),
        trials_total=row["evidence_rows"],
    )


def _unexplained(decision: Row) -> str:
    path = partition_path(table_named("gate_checks"), decision["run_date"])
    return (
        f"Decided by {decision['decided_by']}; why isn't known, as the lake has no row of that check."
        f" Delete {path} there and run the pipeline again."
    )
