"""One run: what it was, what was measured, and where its own files mislead."""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import date, datetime

from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.web.as_of import AsOf
from evalbench.web.models.decision_log import not_of_record
from evalbench.web.models.figures import Row, number
from evalbench.web.models.misleading import ClaimRow, DefectRow, FindingRow, claims_of, defects_of, findings_of
from evalbench.web.models.own_day import OwnDay, own_day
from evalbench.web.models.run_parts import (
    GeneralScoreRow,
    HealthRow,
    MetricRow,
    general_score_of,
    health_of,
    measured_health,
    metrics_of,
)
from evalbench.web.models.trial_rows import TrialRow, trial_rows
from evalbench.web.store import View
from evalbench.web.tables import with_record

_TAKEN = (
    "run_id", "path", "run_date", "run_time", "state", "format", "reader_version", "content", "model",
    "dataset_version", "plan_source", "planned_trials", "recorded_trials", "missing_trials", "unplanned_trials",
    "open_ended",
)  # fmt: skip
_IDENTITY = {
    "dataset": "Dataset",
    "generator": "Generator",
    "generator_class": "Generator class",
    "agent_version": "Agent version",
    "eval_group": "Evaluation group",
    "workflow": "Workflow",
    "requester": "Requested by",
    "baseline": "Baseline it names",
}
_NO_SUMMARY: Row = {
    **dict.fromkeys(("text", "summary_model", "calls", "tokens_in", "tokens_out", "tokens_thinking", "cost_usd")),
    "state": "none",
    "reason": "none was published with this run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummaryText:
    """Text about the run; advisory. text None: reason says why. state: generated, offline, rejected, … or none.

    calls, tokens and cost_usd (US dollars): None where nothing was counted or priced. model: None when none was asked.
    """

    state: str
    text: str | None
    reason: str | None
    model: str | None
    calls: int | None
    tokens_in: int | None
    tokens_out: int | None
    tokens_thinking: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledBy:
    """A decision that pooled the run. not_of_record: why it isn't of record, in words; None where it is."""

    subject: Subject
    day: date
    verdict: Verdict
    not_of_record: str | None
    policy_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """One run.

    identity: label → value as the run's own files name it, None where they don't. labels: of run.yaml. plan_source:
    manifest, evalset, or observed (no plan was reachable, so nothing missing can be seen). open_ended: nobody knows how
    many trials are missing. content: sha256 of the directory.
    metrics, claims, findings: each the first of its total in facts_totals, by name; health: by the metric's name.
    trials: by task and number, the first of trials_total. defect_codes: code → how many; defects: the first of them.
    unattached: score rows that name no trial. policy_name: whose thresholds metrics are counted with.
    facts_reason: why general score, metrics, health, claims, findings and defects are missing (the facts are gone or
    damaged), None when they are here.
    """

    as_of: AsOf
    run_id: str
    path: str
    subject: Subject
    run_date: date
    run_time: datetime
    state: str
    format: str
    reader_version: str
    content: str
    model: str | None
    dataset_version: str | None
    identity: Mapping[str, str | None]
    labels: Mapping[str, str]
    plan_source: str
    planned_trials: int
    recorded_trials: int
    missing_trials: int
    unplanned_trials: int
    open_ended: bool
    unattached: int
    decisions: tuple[PooledBy, ...]
    policy_name: str
    summary: RunSummaryText
    general_score: GeneralScoreRow | None
    metrics: tuple[MetricRow, ...]
    health: Mapping[str, HealthRow]
    claims: tuple[ClaimRow, ...]
    findings: tuple[FindingRow, ...]
    facts_totals: Mapping[str, int]
    defect_codes: Mapping[str, int]
    defects: tuple[DefectRow, ...]
    trials: tuple[TrialRow, ...]
    trials_total: int
    facts_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """The parts of a run's page that are made from all of its verdicts; fields as in RunPage."""

    general_score: GeneralScoreRow | None
    metrics: tuple[MetricRow, ...]
    health: Mapping[str, HealthRow]
    claims: tuple[ClaimRow, ...]
    findings: tuple[FindingRow, ...]


def run_page(
    view: View, run_id: str, *, trials: int | None = None, defects: int | None = None, facts: int | None = None
) -> RunPage:
    """One run. Raises MissingError when the tables have none of that id.

    trials, defects, facts (of metrics, claims and findings each): how many at most; None: all.
    """
    found = own_day(view, run_id)
    row = found.run
    taken = {name: row[name] for name in _TAKEN}
    rows, total = trial_rows(view, found, trials)
    whole = _measured(view, found)
    return RunPage(
        **taken,
        as_of=view.as_of,
        subject=found.subject,
        identity={label: row[name] for name, label in _IDENTITY.items()},
        labels=json.loads(row["labels"]),
        unattached=row["unattached_rows"],
        decisions=_pooled_by(view, found),
        policy_name=found.decision["policy_name"],
        summary=_summary(view, row),
        general_score=whole.general_score,
        metrics=whole.metrics[:facts],
        health=whole.health,
        claims=whole.claims[:facts],
        findings=whole.findings[:facts],
        facts_totals={name: len(getattr(whole, name)) for name in ("metrics", "claims", "findings")},
        defect_codes=json.loads(row["defect_codes"]),
        defects=defects_of(found.scored, defects),
        trials=rows,
        trials_total=total,
        facts_reason=found.facts_reason,
    )


def _measured(view: View, found: OwnDay) -> _Measured:
    """What takes long over many trials, and is some rows: kept, since neither facts nor a decision's policy change."""
    key = ("measured", found.facts, found.decision["policy_hash"], found.decision["as_of"])
    return view.once(key, lambda: _measure(found))


def _measure(found: OwnDay) -> _Measured:
    health = measured_health(found)
    return _Measured(
        general_score=general_score_of(found.scored),
        metrics=metrics_of(found),
        health=health_of(health),
        claims=claims_of(found.scored),
        findings=findings_of(found.scored, health),
    )


def _pooled_by(view: View, found: OwnDay) -> tuple[PooledBy, ...]:
    subject = found.subject
    rows = view.rows(
        with_record(
            "SELECT * FROM decisions WHERE product = ? AND suite = ? AND environment = ? AND candidate = ?"
            " AND run_date >= ? AND window_from <= ?"
        )
        + " ORDER BY run_date, policy_name",
        [*astuple(subject), found.run["run_date"], found.run["run_date"]],
    )
    return tuple(
        PooledBy(
            subject=subject,
            day=row["run_date"],
            verdict=Verdict(row["decision"]),
            not_of_record=not_of_record(row, view.as_of.now.date()),
            policy_name=row["policy_name"],
        )
        for row in rows
        if found.run["run_id"] in json.loads(row["runs"])
    )


def _summary(view: View, run: Row) -> RunSummaryText:
    rows = view.rows("SELECT * FROM summaries WHERE run_id = ? AND run_date = ?", [run["run_id"], run["run_date"]])
    row = rows[0] if rows else _NO_SUMMARY
    return RunSummaryText(
        state=row["state"],
        text=row["text"],
        reason=row["reason"],
        model=row["summary_model"],
        calls=row["calls"],
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        tokens_thinking=row["tokens_thinking"],
        cost_usd=number(row["cost_usd"]),
    )
