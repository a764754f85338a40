"""Which published tables the page holds in memory, and of which columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from evalbench.settings import include_dir
from evalbench.sinks.duckdb import DUCKDB_TYPES
from evalbench.tables import Table, table_named
from evalbench.tables.formats import arrow_schema

WHOLE = (
    "runs", "signals", "gate_checks", "decisions", "policies", "policy_tools", "policy_graders",
    "policy_attestations", "summaries",
)  # fmt: skip
"""Replaced with their date, and held as they are."""
GROWING = ("decision_log", "run_states", "accounting")
"""One file per entry or pipeline run, which commit records don't vouch for: each file is whole when it is there."""
FILE = "source_path"
"""Column of the growing tables that names the file a row is from."""
TRIALS = (
    "run_date", "product", "suite", "environment", "candidate", "model", "run_id", "task_id", "trial", "missing_number",
    "recorded", "status", "outcome_state", "outcome_reason", "cost_state", "cost_usd", "duration_s",
)  # fmt: skip
"""What is held of `trials`; the rest of a trial is in its facts."""
GATE_EVIDENCE = (
    "run_date", "product", "suite", "environment", "candidate", "policy_hash", "check_number", "check_name",
    "evidence_number", "run_id", "task_id", "trial", "why", "missing",
)  # fmt: skip
"""What is held of `gate_evidence`, which has the most rows of all."""
_JUDGED_FROM = (
    "dataset_version", "declared_complete", "finished_conversation", "wait_owner", "wait_decision", "wait_due",
    "wait_resume_state", "progress_active", "progress_active_with_delta", "progress_waiting", "progress_stale",
    "effects_recorded", "calls_recorded",
)  # fmt: skip
READ = {name: table_named(name).column_names for name in (*WHOLE, *GROWING)} | {
    "trials": (*TRIALS, *_JUDGED_FROM),
    "gate_evidence": GATE_EVIDENCE,
    "verdicts": (
        "run_date", "product", "suite", "environment", "candidate", "run_id", "task_id", "trial", "source", "name",
        "verdict_number", "scorer_type", "version", "value", "state", "reason",
    ),
}  # fmt: skip
"""What is read of each table. Of `verdicts` nothing is held: derived tables are made from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A table made from some dates' partitions when they are read. select: over tables and VIEWS_BEHIND."""

    name: str
    select: str
    columns: Mapping[str, str]


_SUBJECT = {"run_date": "DATE"} | dict.fromkeys(("product", "suite", "environment", "candidate"), "VARCHAR")
JUDGED = Derived(
    name="judged",
    select=(
        "SELECT run_date, product, suite, environment, candidate, policy_hash, policy_name, run_id, task_id, trial,"
        " status, declared, outcome, waiting, quality, covered_usd FROM judged_trials"
    ),
    columns=_SUBJECT
    | dict.fromkeys(("policy_hash", "policy_name", "run_id", "task_id"), "VARCHAR")
    | {"trial": "BIGINT", "status": "VARCHAR", "declared": "BOOLEAN", "outcome": "VARCHAR", "waiting": "BOOLEAN"}
    | dict.fromkeys(("quality", "covered_usd"), "DECIMAL(38, 9)"),
)
"""Recorded trials as the decision of their own day judged them."""
SILENT_JUDGES = Derived(
    name="silent_judges",
    select="SELECT * FROM judge_failures",
    columns=_SUBJECT
    | dict.fromkeys(("source", "name", "scorer_type", "reason"), "VARCHAR")
    | dict.fromkeys(("without_verdict", "judged", "asked"), "BIGINT"),
)
"""The view judge_failures."""
MEASURED_WITH = Derived(
    name="measured_with",
    select=(
        "SELECT DISTINCT run_date, product, suite, environment, candidate, source,"
        " CASE source WHEN 'evaluator' THEN split_part(name, '.', 1) ELSE name END AS name, version FROM verdicts"
    ),
    columns=_SUBJECT | dict.fromkeys(("source", "name", "version"), "VARCHAR"),
)
"""Evaluators, comparators and graders of a subject's runs of a date, each with its version."""
DERIVED = (JUDGED, SILENT_JUDGES, MEASURED_WITH)
DERIVED_FROM = ("decisions", "policies", "policy_graders", "policy_attestations", "trials", "verdicts")
VIEWS_BEHIND = ("pooled_trials", "judged_trials", "judge_failures")


SUBJECT = "product, suite, environment, candidate"
MADE_WITH = ("policy_hash", "evidence_hash", "code_version")
"""What, on one date of one subject, makes a decision another one."""


def with_record(decisions: str) -> str:
    """A SELECT of rows of `decisions`, made one that also tells `on_record`: whether the log has an entry of each.

    A decision that came back to what was on record keeps that entry, though another one was logged after it.
    """
    names = (*SUBJECT.split(", "), "run_date", *MADE_WITH)
    entry = " AND ".join(f"entry.{name} = decided.{name}" for name in names)
    on_record = f"EXISTS (SELECT 1 FROM decision_log AS entry WHERE {entry})"
    return f"SELECT decided.*, {on_record} AS on_record FROM ({decisions}) AS decided"


_FIRST_OF_DAY = f"""
    SELECT * FROM decisions
    QUALIFY row_number() OVER (PARTITION BY {SUBJECT}, run_date ORDER BY policy_name, policy_hash) = 1
"""
DAILY = f"CREATE TABLE daily AS {with_record(_FIRST_OF_DAY)}"
"""One decision per subject and date: only if somebody published so by hand did several policies decide one."""


def declared_rows(table: Table, names: Iterable[str], found: pa.Table) -> pa.Table:
    """Rows of a file under these declared columns; a nullable one that an older file lacks is null.

    Raises pyarrow's errors for a column that can't be had in its declared type.
    """
    wanted = frozenset(names)
    fields = [pa.field(field.name, field.type) for field in arrow_schema(table) if field.name in wanted]
    columns = [
        found[field.name] if field.name in found.column_names else pa.nulls(found.num_rows, field.type)
        for field in fields
    ]
    return pa.Table.from_arrays(columns, names=[field.name for field in fields]).cast(pa.schema(fields))


def view_sql(name: str) -> str:
    """The SELECT of a view of include/sql."""
    return (include_dir() / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _types(name: str, columns: Iterable[str] | None = None) -> Mapping[str, str]:
    declared = {column.name: DUCKDB_TYPES[column.type] for column in table_named(name).columns}
    return declared if columns is None else {column: declared[column] for column in columns}


HELD: Mapping[str, Mapping[str, str]] = {
    **{name: _types(name) for name in WHOLE},
    **{name: {**_types(name), FILE: "VARCHAR"} for name in GROWING},
    "trials": _types("trials", TRIALS),
    "gate_evidence": _types("gate_evidence", GATE_EVIDENCE),
    **{derived.name: derived.columns for derived in DERIVED},
}
"""Column name → DuckDB type of every table that is held, by table name."""
