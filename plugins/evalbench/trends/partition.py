"""All rows of one date, in the order in which they are published."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime

from evalbench.decided import DecidedSubject
from evalbench.ledger import ScoredRun
from evalbench.routing import Routing
from evalbench.tables import Table, table_named
from evalbench.trends import decisions, facts, operational, policies
from evalbench.trends.cells import Row
from evalbench.trends.context import CodeVersions, RowContext
from evalbench.trends.operational import EntryState, RunSummary


def partition_rows(
    day: date,
    scored: Iterable[ScoredRun],
    decided: Iterable[DecidedSubject],
    summaries: Iterable[RunSummary],
    routing: Routing,
    versions: CodeVersions,
) -> dict[str, list[Row]]:
    """Every published table's rows for `day`, an empty list where there are none; the order of the inputs is no matter.

    scored: the runs with this run_date. decided: the decisions of this date. summaries: of runs with this run_date.
    """
    context = RowContext(day=day, routing=routing, versions=versions)
    runs, subjects, texts = list(scored), list(decided), list(summaries)
    applied = policies.policies_of(subjects)
    rows: dict[str, Iterable[Row]] = {
        "runs": (facts.run_row(context, item.run) for item in runs),
        "trials": (row for item in runs for row in facts.trial_rows(context, item.run)),
        "calls": (row for item in runs for row in facts.call_rows(context, item.run)),
        "effects": (row for item in runs for row in facts.effect_rows(context, item.run)),
        "verdicts": (row for item in runs for row in facts.verdict_rows(context, item)),
        "signals": (row for item in subjects for row in decisions.signal_rows(context, item)),
        "gate_checks": (row for item in subjects for row in decisions.check_rows(context, item)),
        "gate_evidence": (row for item in subjects for row in decisions.evidence_rows(context, item)),
        "decisions": (decisions.decision_row(context, item) for item in subjects),
        "policies": policies.policy_rows(context, applied),
        "policy_tools": policies.policy_tool_rows(context, subjects),
        "policy_graders": policies.policy_grader_rows(context, applied),
        "policy_attestations": policies.policy_attestation_rows(context, subjects),
        "summaries": (operational.summary_row(context, text) for text in texts),
    }
    return {name: in_order(table_named(name), found) for name, found in rows.items()}


def operational_rows(
    day: date,
    plan_id: str,
    entries: Iterable[EntryState],
    counts: Mapping[tuple[str, str | None], int],
    routing: Routing,
    versions: CodeVersions,
    executed_at: datetime | None = None,
) -> dict[str, list[Row]]:
    """Rows of `run_states` and `accounting` for the pipeline run `plan_id`; `day` is the UTC date on which it ran."""
    context = RowContext(day=day, routing=routing, versions=versions)
    rows: dict[str, Iterable[Row]] = {
        "run_states": operational.run_state_rows(context, plan_id, executed_at, entries),
        "accounting": operational.accounting_rows(context, plan_id, executed_at, counts),
    }
    return {name: in_order(table_named(name), found) for name, found in rows.items()}


def in_order(table: Table, rows: Iterable[Row]) -> list[Row]:
    """Rows sorted by the table's sort key, nulls first."""
    return sorted(rows, key=lambda row: tuple(_sortable(row[name]) for name in table.sort_key))


def _sortable(value: object) -> tuple[bool, int, str]:
    if isinstance(value, int):
        return True, value, ""
    return value is not None, 0, "" if value is None else str(value)
