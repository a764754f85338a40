"""Entries of the decision log: one per subject, date, policy, evidence and code, named by a hash of these."""

from collections.abc import Iterable
from datetime import date, datetime

from evalbench.canonical import sha256_json, sha256_parts
from evalbench.decided import DecidedSubject
from evalbench.exclusions import Exclusion
from evalbench.gate.case import LostRun
from evalbench.ledger import Run
from evalbench.routing import Routing
from evalbench.tables import table_named
from evalbench.trends.cells import Row, json_text
from evalbench.trends.context import CodeVersions, RowContext

DECISION_LOG = table_named("decision_log")


def evidence_hash(decided: DecidedSubject) -> str:
    """Hex sha256 over what a decision rests on beside its policy; the order of runs is no matter.

    Runs count with their content and the moment they started, which depends on the zone they are read in. That a run
    was due counts where none came: with a run on the date, the clock changes nothing. So does the window: routing may
    name one, which is in no policy's hash.
    """
    case = decided.case
    return sha256_json(
        {
            "window_days": case.window_days,
            "runs": _contents(case.pool.runs),
            "other_versions": _contents(case.other_versions),
            "excluded": _run_ids(case.excluded),
            "lost": _paths(case.lost),
            "missed": case.expected and case.runs_on_date == 0,
            "baseline_candidate": case.baseline_candidate,
            "baseline": _contents(case.baseline.runs if case.baseline is not None else ()),
            "baseline_excluded": _run_ids(case.baseline_excluded),
            "baseline_lost": _paths(case.baseline_lost),
        }
    )


def _contents(runs: Iterable[Run]) -> list[list[str]]:
    return sorted([run.run_key, run.content, run.run_time.isoformat()] for run in runs)


def _run_ids(excluded: Iterable[Exclusion]) -> list[str]:
    return sorted(item.run_id for item in excluded)


def _paths(lost: Iterable[LostRun]) -> list[list[str]]:
    return sorted([item.run_date.isoformat(), item.path] for item in lost)


def log_id(decided: DecidedSubject, code_version: str) -> str:
    """Hex sha256 that names an entry. The same policy, evidence and code give the same decision, so it isn't in it."""
    subject, decision = decided.decision.subject, decided.decision
    return sha256_parts(
        [
            subject.product,
            subject.suite,
            subject.environment,
            subject.candidate,
            decision.on.isoformat(),
            decision.policy_hash,
            evidence_hash(decided),
            code_version,
        ]
    )


def log_row(context: RowContext, decided: DecidedSubject, *, decided_at: datetime) -> Row:
    """The row of `decision_log`, as the first entry of its subject and date: the log itself knows what came before."""
    decision = decided.decision
    common = context.of_decision(DECISION_LOG, decided)
    return {
        **common,
        "log_id": log_id(decided, context.versions.behind(DECISION_LOG)),
        "policy_version": decision.policy_version,
        "evidence_hash": evidence_hash(decided),
        "decision": decision.verdict.value,
        "first_reason": decision.first_reason,
        "decided_by": decision.decided_by,
        "baseline": decision.baseline,
        "runs": json_text(decision.runs),
        "run_count": len(decision.runs),
        "decided_at": decided_at,
        "supersedes": None,
    }


def decision_log_rows(
    day: date,
    decided_at: datetime,
    decided: Iterable[DecidedSubject],
    routing: Routing,
    versions: CodeVersions,
) -> list[Row]:
    """Rows of `decision_log` for a date's decisions, by log_id; they were made at `decided_at`."""
    context = RowContext(day=day, routing=routing, versions=versions)
    rows = [log_row(context, item, decided_at=decided_at) for item in decided]
    return sorted(rows, key=lambda row: str(row["log_id"]))
