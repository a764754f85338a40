"""One trial: what was expected, what was done, what it left at its destination, and what was made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from evalbench.errors import PipelineError
from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.lake.transcripts import read_transcript
from evalbench.readers.transcripts import TRANSCRIPT_VERSION
from evalbench.transcript import Transcript
from evalbench.web.as_of import AsOf
from evalbench.web.models.checks import link_of, trial_link
from evalbench.web.models.decision_log import not_of_record
from evalbench.web.models.figures import number
from evalbench.web.models.own_day import OwnDay, own_day
from evalbench.web.models.parts import MissingError, TrialLink
from evalbench.web.models.places import Place, place_of
from evalbench.web.models.standing import subject_of_row
from evalbench.web.models.trial_parts import (
    EffectRow,
    OutcomeInfo,
    Tools,
    UsageInfo,
    VerdictRow,
    WaitInfo,
    effects_of,
    forbidden_tools,
    outcome_of,
    progress_of,
    tools_of,
    usage_of,
    verdict_rows,
    wait_of,
)
from evalbench.web.models.trial_rows import contradicts
from evalbench.web.store import View
from evalbench.web.tables import with_record
from evalbench.words import spaced

NOT_KEPT = (
    "none is kept: EVALBENCH_TRANSCRIPT_DAYS wasn't set, or was 0, when this run was read, or those days are over"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBy:
    """A check of a decision that names this trial. not_of_record: why that isn't of record, in words, else None."""

    subject: Subject
    day: date
    verdict: Verdict
    not_of_record: str | None
    check: str
    check_number: int
    why: str
    missing: bool
    fired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPage:
    """One trial.

    declared: whether it counts as declared complete under the policy, None when unknown; declared_recorded: the
    record's own word. quality: 0..1 under the policy, None when not graded, quality_reason why. contradiction: praised
    (0.8 or more) and not verified. progress: None when windows were not recorded, else active, with_delta, waiting,
    stale. effects: recorded and silent ones, None with effects_reason when nothing speaks of them. siblings: the task's
    other trials in the run. effects, verdicts and siblings are each the first of their total in totals, by name.
    forbidden_calls: calls of tools that policy or task forbid. transcript: None, or without
    messages: then transcript_reason says why, in words.
    """

    as_of: AsOf
    link: TrialLink
    path: str
    subject: Subject
    run_date: date
    status: str | None
    status_reason: str | None
    declared: bool | None
    declared_recorded: bool | None
    started_at: datetime | None
    ended_at: datetime | None
    outcome: OutcomeInfo
    waiting: bool
    wait: WaitInfo | None
    quality: float | None
    quality_reason: str | None
    contradiction: bool
    progress: Mapping[str, int] | None
    tools: Tools
    effects: tuple[EffectRow, ...] | None
    effects_reason: str | None
    usage: UsageInfo
    verdicts: tuple[VerdictRow, ...]
    named_by: tuple[NamedBy, ...]
    policy_name: str
    forbidden_calls: int
    place: Place | None
    siblings: tuple[TrialLink, ...]
    totals: Mapping[str, int]
    transcript: Transcript | None
    transcript_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLimits:
    """How much there is of a trial at most; None: all. calls: rows of tools. facts: of effects and verdicts each."""

    calls: int | None = None
    facts: int | None = None
    siblings: int | None = None


ALL = TrialLimits()


def trial_page(view: View, run_id: str, task_id: str, trial: int, limits: TrialLimits = ALL) -> TrialPage:
    """One trial.

    Raises MissingError when there is no such trial on record, or the run's facts are gone.
    """
    found = own_day(view, run_id)
    if found.scored is None:
        raise MissingError(f"{run_id}: what was recorded of its trials can't be read: {found.facts_reason}")
    judged = found.judged.get((task_id, trial))
    if judged is None:
        raise MissingError(f"{run_id}: no trial {trial} of task {task_id} is on record; look at the run's list")
    record, forbidden, effects = judged.trial, forbidden_tools(judged, found.policy), effects_of(judged)
    transcript, transcript_reason = _transcript(view, found, task_id, trial)
    quality = number(judged.quality)
    verdicts, siblings = verdict_rows(found.scored, record), _siblings(view, found, task_id, trial)
    return TrialPage(
        as_of=view.as_of,
        link=trial_link(run_id, task_id, trial),
        path=found.run["path"],
        subject=found.subject,
        run_date=found.run["run_date"],
        status=record.status.value if record.status is not None else None,
        status_reason=record.status_reason,
        declared=judged.declared,
        declared_recorded=record.declared_complete,
        started_at=record.started_at,
        ended_at=record.ended_at,
        outcome=outcome_of(judged, found.policy),
        waiting=judged.waiting,
        wait=wait_of(judged),
        quality=quality,
        quality_reason=judged.quality_reason,
        contradiction=contradicts(quality, judged.outcome.state.value, waiting=judged.waiting),
        progress=progress_of(record),
        tools=tools_of(record, forbidden, limits.calls),
        effects=None if effects is None else effects[: limits.facts],
        effects_reason=None if effects is not None else "the record says nothing of effects",
        usage=usage_of(record),
        verdicts=verdicts[: limits.facts],
        named_by=_named_by(view, run_id, task_id, trial),
        policy_name=found.policy.name,
        forbidden_calls=sum(call.name in forbidden for call in record.calls or ()),
        place=place_of(record.ref),
        siblings=siblings[: limits.siblings],
        totals={"effects": len(effects or ()), "verdicts": len(verdicts), "siblings": len(siblings)},
        transcript=transcript,
        transcript_reason=transcript_reason,
    )


def _transcript(view: View, found: OwnDay, task_id: str, trial: int) -> tuple[Transcript | None, str | None]:
    if found.facts is None:
        return None, found.facts_reason
    try:
        today = view.as_of.now.date()
        kept = read_transcript(view.lake, found.facts, task_id, trial, today, TRANSCRIPT_VERSION)
    except PipelineError as error:
        return None, str(error)
    if kept is None:
        return None, NOT_KEPT
    return kept, None if kept.reason is None else spaced(kept.reason)


def _named_by(view: View, run_id: str, task_id: str, trial: int) -> tuple[NamedBy, ...]:
    key = "product, suite, environment, candidate, run_date, policy_hash"
    naming = (
        "SELECT gate_evidence.*, fired, decision, decisions.evidence_hash, decisions.code_version FROM gate_evidence"
        f" JOIN gate_checks USING ({key}, check_number) JOIN decisions USING ({key})"
        " WHERE run_id = ? AND task_id = ? AND trial = ?"
    )
    rows = view.rows(f"{with_record(naming)} ORDER BY {key}, check_number", [run_id, task_id, trial])
    return tuple(
        NamedBy(
            subject=subject_of_row(row),
            day=row["run_date"],
            verdict=Verdict(row["decision"]),
            not_of_record=not_of_record(row, view.as_of.now.date()),
            check=row["check_name"],
            check_number=row["check_number"],
            why=row["why"],
            missing=row["missing"],
            fired=row["fired"],
        )
        for row in rows
    )


def _siblings(view: View, found: OwnDay, task_id: str, trial: int) -> tuple[TrialLink, ...]:
    rows = view.rows(
        "SELECT run_id, task_id, trial FROM trials WHERE run_id = ? AND run_date = ? AND task_id = ? AND trial <> ?"
        " ORDER BY trial",
        [found.run["run_id"], found.run["run_date"], task_id, trial],
    )
    return tuple(link_of(row) for row in rows)
