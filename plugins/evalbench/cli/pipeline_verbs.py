"""`evalbench run` and `evalbench gate`: decisions, and an exit code that says them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from evalbench import pipeline
from evalbench.cli.inputs import settings_from, utc_date
from evalbench.cli.render import accounting_line, decisions_page, where_lines
from evalbench.cli.terminal import emit_json, emit_page, progress_bar
from evalbench.errors import UsageError

ALL_PASS, ANY_FAIL, ANY_INSUFFICIENT = 0, 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which decisions are asked for. Dates are UTC run dates, both inclusive."""

    candidates: tuple[str, ...] = ()
    baseline: str | None = None
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(
        cls, candidates: Sequence[str] | None, baseline: str | None, since: str | None, until: str | None
    ) -> "Scope":
        """From options. Raises UsageError for a date that is none."""
        return cls(
            candidates=tuple(candidates or ()),
            baseline=baseline,
            since=utc_date(since, "--since"),
            until=utc_date(until, "--until"),
        )


def run_verb(overrides: Mapping[str, object], scope: Scope, *, jobs: int, as_json: bool) -> int:
    """The whole pipeline, then its report."""
    settings = settings_from(overrides)
    if settings.runs is None:
        raise UsageError("no RUNS given: name the folder that holds one directory per run, or set EVALBENCH_RUNS")
    with progress_bar() as progress:
        report = pipeline.run(
            settings,
            since=scope.since,
            until=scope.until,
            candidates=scope.candidates,
            baseline=scope.baseline,
            jobs=jobs,
            progress=progress,
        )
    return _answer(report, settings.require_lake(), as_json=as_json)


def gate_verb(overrides: Mapping[str, object], scope: Scope, *, as_json: bool) -> int:
    """Decisions over what a lake knows."""
    settings = settings_from(overrides)
    report = pipeline.decide_standing(
        settings, since=scope.since, until=scope.until, candidates=scope.candidates, baseline=scope.baseline
    )
    return _answer(report, settings.require_lake(), as_json=as_json)


def exit_code(decisions: Sequence[Mapping[str, Any]]) -> int:
    """0 all PASS (or none), 3 any FAIL, 4 otherwise."""
    words = {decision["decision"] for decision in decisions}
    if "FAIL" in words:
        return ANY_FAIL
    return ALL_PASS if words <= {"PASS"} else ANY_INSUFFICIENT


def _answer(report: Mapping[str, Any], lake: str, *, as_json: bool) -> int:
    if as_json:
        emit_json(report)
    else:
        accounting = report["accounting"]
        counted = [accounting_line(accounting)] if accounting is not None else []
        emit_page(*decisions_page(report), "", *counted, *where_lines(lake))
    return exit_code(report["decisions"])
