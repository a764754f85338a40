"""Columns that every table has, and the digest of the code behind a table."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from evalbench.canonical import sha256_json
from evalbench.decided import DecidedSubject
from evalbench.ledger import Run
from evalbench.routing import Routing
from evalbench.tables import Table
from evalbench.trends.cells import Row

TRENDS_VERSION = "1"

_FACTS = ("readers",)
_DECISIONS = ("readers", "comparators", "signals", "gate")
_SOURCES: dict[str, tuple[str, ...]] = {
    "runs": _FACTS,
    "trials": _FACTS,
    "calls": _FACTS,
    "effects": _FACTS,
    "verdicts": ("readers", "evaluators", "comparators"),
    "signals": ("readers", "comparators", "signals"),
    "gate_checks": _DECISIONS,
    "gate_evidence": _DECISIONS,
    "decisions": _DECISIONS,
    "decision_log": _DECISIONS,
    "policies": ("gate",),
    "policy_tools": ("readers", "gate"),
    "policy_graders": ("gate",),
    "policy_attestations": ("readers", "gate"),
    "summaries": ("readers", "evaluators", "comparators", "summaries"),
    "run_states": _FACTS,
    "accounting": _FACTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeVersions:
    """Versions of the code that makes rows; for evaluators their digest."""

    readers: str
    evaluators: str
    comparators: str
    signals: str
    gate: str
    summaries: str

    def behind(self, table: Table) -> str:
        """Short digest of the versions that can change a table's rows; no other version moves it."""
        sources = {source: getattr(self, source) for source in _SOURCES[table.name]}
        return sha256_json({**sources, "trends": TRENDS_VERSION, "table": table.version})[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowContext:
    """What the common columns of one date's rows are made from."""

    day: date
    routing: Routing
    versions: CodeVersions

    def of_run(self, table: Table, run: Run) -> Row:
        """Common columns of a row about a run."""
        return self._common(
            table,
            product=run.product,
            suite=self.routing.suite_of(run),
            candidate=run.candidate,
            model=run.model,
            environment=run.environment,
            dataset_version=run.dataset_version,
        )

    def of_decision(self, table: Table, decided: DecidedSubject) -> Row:
        """Common columns of a row about a subject, with those of its policy."""
        subject, decision = decided.decision.subject, decided.decision
        common = self._common(
            table,
            product=subject.product,
            suite=subject.suite,
            candidate=subject.candidate,
            model=joined(run.model for run in decided.case.pool.runs),
            environment=subject.environment,
            dataset_version=decision.scope.dataset_version,
        )
        return {**common, "policy_hash": decision.policy_hash, "policy_name": decision.policy_name}

    def of_nobody(self, table: Table) -> Row:
        """Common columns of a row that belongs to no subject."""
        return self._common(table)

    def _common(self, table: Table, **about: str | None) -> Row:
        subject = dict.fromkeys(("product", "suite", "candidate", "model", "environment", "dataset_version"))
        return {
            "run_date": self.day,
            **subject,
            **about,
            "schema_version": table.version,
            "code_version": self.versions.behind(table),
        }


def joined(values: Iterable[str | None]) -> str | None:
    """The distinct values in order, joined by commas; None when there are none."""
    return ", ".join(sorted({value for value in values if value})) or None
