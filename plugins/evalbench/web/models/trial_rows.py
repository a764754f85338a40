"""The trials of a run as lines of a table."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from evalbench.judged import JudgedTrial
from evalbench.web.models.checks import link_of
from evalbench.web.models.figures import Row, number
from evalbench.web.models.own_day import OwnDay
from evalbench.web.models.parts import TrialLink
from evalbench.web.store import View

PRAISED = 0.8
"""Quality from which on an outcome that isn't verified is a contradiction, as in the view contradictions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A trial of the run, as the decision of the run's own date judged it.

    recorded: False for a planned trial that left no record; then all else is None. judged: False where it is on record
    and the facts that it would be judged from are gone, and no decision of the date counts it either: then what was
    made of it (declared, outcome, waiting, quality) isn't known. outcome: verified, failed or unavailable,
    outcome_reason why, where facts are here. waiting: validly. quality: 0..1, None when not graded. effects: state →
    how many, `silent` for calls that nothing accounts for; None when nothing speaks of effects. cost_usd: US dollars,
    None when not known; cost_state: billed, estimated or unavailable. calls, expected: how many, None when not recorded
    or not stated. Without facts effects, calls and expected aren't known. contradiction: praised (0.8 or more), not
    verified.
    """

    link: TrialLink
    recorded: bool
    judged: bool
    status: str | None
    declared: bool | None
    outcome: str | None
    outcome_reason: str | None
    waiting: bool
    quality: float | None
    effects: Mapping[str, int] | None
    calls: int | None
    expected: int | None
    cost_usd: float | None
    cost_state: str | None
    duration_s: float | None
    contradiction: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What a policy made of a trial; fields as in TrialRow."""

    declared: bool | None
    outcome: str | None
    outcome_reason: str | None
    waiting: bool
    quality: float | None


def trial_rows(view: View, found: OwnDay, most: int | None) -> tuple[tuple[TrialRow, ...], int]:
    """The trials of a run by task and number, or the first `most`; and how many it has."""
    rows = view.rows(
        "SELECT trials.*, judged.declared, judged.outcome, judged.waiting, judged.quality,"
        " judged.run_id IS NOT NULL AS counted, count(*) OVER () AS total"
        " FROM trials LEFT JOIN judged ON judged.run_date = trials.run_date AND judged.run_id = trials.run_id"
        " AND judged.task_id = trials.task_id AND judged.trial = trials.trial AND judged.policy_hash = ?"
        " WHERE trials.run_id = ? AND trials.run_date = ?"
        " ORDER BY trials.task_id, trials.trial NULLS LAST, trials.missing_number LIMIT ?",
        [found.decision["policy_hash"], found.run["run_id"], found.run["run_date"], most],
    )
    shown = tuple(_trial(row, found.judged.get((row["task_id"], row["trial"]))) for row in rows)
    return shown, rows[0]["total"] if rows else 0


def _trial(row: Row, judged: JudgedTrial | None) -> TrialRow:
    trial = judged.trial if judged is not None else None
    made = _made_of(judged) if judged is not None else _counted(row)
    return TrialRow(
        link=link_of(row),
        recorded=row["recorded"],
        status=row["status"],
        judged=judged is not None or row["counted"] or not row["recorded"],
        declared=made.declared,
        outcome=made.outcome,
        outcome_reason=made.outcome_reason,
        waiting=made.waiting,
        quality=made.quality,
        effects=effect_states(judged) if judged is not None else None,
        calls=len(trial.calls) if trial is not None and trial.calls is not None else None,
        expected=len(trial.expected) if trial is not None and trial.expected is not None else None,
        cost_usd=number(row["cost_usd"]),
        cost_state=row["cost_state"],
        duration_s=row["duration_s"],
        contradiction=contradicts(made.quality, made.outcome, waiting=made.waiting),
    )


def _made_of(judged: JudgedTrial) -> _Made:
    """By the facts, which tell it of every trial on record, whether or not a decision counts its run."""
    return _Made(
        declared=judged.declared,
        outcome=judged.outcome.state.value,
        outcome_reason=judged.outcome.reason,
        waiting=judged.waiting,
        quality=number(judged.quality),
    )


def _counted(row: Row) -> _Made:
    """By the tables, which tell it of trials that the decision of their date counts."""
    return _Made(
        declared=row["declared"],
        outcome=row["outcome"],
        outcome_reason=row["outcome_reason"] if row["counted"] else None,
        waiting=bool(row["waiting"]),
        quality=number(row["quality"]),
    )


def contradicts(quality: float | None, outcome: str | None, *, waiting: bool) -> bool:
    """Whether a trial was praised, and no destination confirms it."""
    return quality is not None and quality >= PRAISED and outcome != "verified" and not waiting


def effect_states(judged: JudgedTrial) -> Mapping[str, int] | None:
    """State → effects, `silent` for calls that nothing accounts for; None when nothing speaks of effects."""
    if judged.trial.effects is None and not judged.effects:
        return None
    states = Counter("silent" if effect.silent else effect.state.value for effect in judged.effects)
    return dict(sorted(states.items()))
