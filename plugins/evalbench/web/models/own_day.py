"""A run as the lake holds it, and the decision of its own day, under whose policy it is judged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from evalbench.errors import PipelineError
from evalbench.gate.case import Subject
from evalbench.judged import JudgedTrial, judge_run
from evalbench.ledger import ScoredRun
from evalbench.policy import Policy
from evalbench.sinks.parquet import partition_path
from evalbench.tables import table_named
from evalbench.web.models.executions import executions_of
from evalbench.web.models.figures import Row
from evalbench.web.models.parts import MissingError
from evalbench.web.models.standing import subject_of_row
from evalbench.web.store import View

_OF_DAY = "product = ? AND suite = ? AND environment = ? AND candidate = ? AND run_date = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDay:
    """run: its row of `runs`. decision, policy: of its subject on its date. scored: None without facts, and then
    facts_reason says why. facts: their key. judged: its trials under that policy, by task and number; none without
    facts.
    """

    run: Row
    subject: Subject
    decision: Row
    policy: Policy
    facts: str | None
    scored: ScoredRun | None
    facts_reason: str | None
    judged: Mapping[tuple[str, int], JudgedTrial]


def own_day(view: View, run_id: str) -> OwnDay:
    """A run and its own day.

    Raises MissingError when the tables have no run of that id, PipelineError when they have it and no decision.
    """
    found = view.rows("SELECT * FROM runs WHERE run_id = ? ORDER BY run_date DESC LIMIT 1", [run_id])
    if not found:
        raise MissingError(_why_not(view, run_id))
    run, subject = found[0], subject_of_row(found[0])
    key = [subject.product, subject.suite, subject.environment, subject.candidate, run["run_date"]]
    decision = _only(view, "decisions", run["run_date"], view.rows(f"SELECT * FROM daily WHERE {_OF_DAY}", key))
    policy = policy_of(view, decision)
    facts, scored, reason = _facts(view, run)
    judged = judge_run(scored, policy, decision["as_of"]) if scored is not None else ()
    return OwnDay(
        run=run,
        subject=subject,
        decision=decision,
        policy=policy,
        facts=facts,
        scored=scored,
        facts_reason=reason,
        judged={(trial.trial.task_id, trial.trial.trial): trial for trial in judged},
    )


def policy_of(view: View, decision: Row) -> Policy:
    """The policy of a decision, as it was published with it. Raises PipelineError when it wasn't."""
    day = decision["run_date"]
    found = view.rows(
        "SELECT policy_json FROM policies WHERE run_date = ? AND policy_hash = ?", [day, decision["policy_hash"]]
    )
    row = _only(view, "policies", day, found)
    meaning = json.loads(row["policy_json"])
    schema = meaning.pop("schema_version")
    return Policy.model_validate({**meaning, "schema": schema})


def _only(view: View, table: str, day: date, rows: Sequence[Row]) -> Row:
    """The one row that every published run has there."""
    if len(rows) != 1:
        path = partition_path(table_named(table), day)
        said = f"{view.lake}/{path}: {len(rows)} rows about a run of that date, where there must be one"
        raise PipelineError(f"{said}; delete the file and run the pipeline again")
    return rows[0]


def _facts(view: View, run: Row) -> tuple[str | None, ScoredRun | None, str | None]:
    try:
        facts = view.facts_key(run["run_key"], run["content"], run["reader_version"])
        return facts, view.scored(facts), None
    except PipelineError as error:
        return None, None, str(error)


def _why_not(view: View, run_id: str) -> str:
    """Why a run is in no table, as far as the pipeline has said something of it."""
    told = view.rows("SELECT * FROM run_states WHERE run_id = ? ORDER BY run_date DESC, plan_id DESC, path", [run_id])
    if not told:
        return f"{run_id}: this lake has no such run; look for it by a part of its name"
    last = _last_told(view, told)
    said = ": ".join(str(part) for part in (last["state"], last["reason"], last["detail"]) if part)
    return f"{run_id}: this run is in no table; the last pipeline run that speaks of it says {said}"


def _last_told(view: View, told: Sequence[Row]) -> Row:
    """Of rows of `run_states`, newest date first, one of the newest pipeline run; one whose accounting is lost is taken
    to be its date's oldest.
    """
    newest_first = {(found.day, found.plan_id): place for place, found in enumerate(executions_of(view))}
    of_date = [row for row in told if row["run_date"] == told[0]["run_date"]]
    return min(of_date, key=lambda row: newest_first.get((row["run_date"], row["plan_id"]), len(newest_first)))
