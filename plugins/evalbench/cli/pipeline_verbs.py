"""`evalbench run` and `evalbench gate`: decisions, and an exit code that says them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from evalbench import pipeline
from evalbench.cli.inputs import login, settings_from, utc_date
from evalbench.cli.render import PENDING, accounting_lines, bigquery_lines, decisions_page, summaries_lines, where_lines
from evalbench.cli.render_decision import voided_lines
from evalbench.cli.terminal import emit_json, emit_page, progress_bar, say
from evalbench.cli.words import clean
from evalbench.lake.plans import in_range

ALL_PASS, ANY_FAIL, ANY_INSUFFICIENT = 0, 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which decisions are asked for. Dates are UTC run dates, both inclusive."""

    candidates: tuple[str, ...] = ()
    baseline: str | None = None
    since: date | None = None
    until: date | None = None

    @property
    def narrow(self) -> bool:
        """Whether not everything that stands is asked for."""
        return bool(self.candidates or self.since or self.until)

    def may_hold(self, day: str | None) -> bool:
        """Whether a run of this date, if it has one, is in range."""
        return day is None or in_range(date.fromisoformat(day), self.since, self.until)

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
    with progress_bar() as progress:
        report = pipeline.run(
            settings,
            since=scope.since,
            until=scope.until,
            candidates=scope.candidates,
            baseline=scope.baseline,
            jobs=jobs,
            login=login(),
            progress=progress,
        )
    if not scope.narrow:
        if settings.routing is not None:
            _warn_of_idle_routes(report)
        _warn_of_idle_exclusions(report)
    return _answer(report, scope, settings.require_lake(), as_json=as_json)


def gate_verb(overrides: Mapping[str, object], scope: Scope, *, as_json: bool) -> int:
    """Decisions over what a lake knows."""
    settings = settings_from(overrides)
    report = pipeline.decide_standing(
        settings, since=scope.since, until=scope.until, candidates=scope.candidates, baseline=scope.baseline
    )
    return _answer(report, scope, settings.require_lake(), as_json=as_json)


def exit_code(decisions: Sequence[Mapping[str, Any]], *, pending: bool) -> int:
    """0 all PASS, or no run in scope; 3 any FAIL; 4 otherwise, and when runs are in scope and none was decided.

    pending: a directory in scope was not scored, or a run in scope is voided.
    """
    words = {decision["decision"] for decision in decisions}
    if not words:
        return ANY_INSUFFICIENT if pending else ALL_PASS
    if "FAIL" in words:
        return ANY_FAIL
    return ALL_PASS if words <= {"PASS"} else ANY_INSUFFICIENT


def _warn_of_idle_routes(report: Mapping[str, Any]) -> None:
    """A route nothing matches is often a misspelt one."""
    for route in report["idle_routes"] if report["decisions"] else ():
        say(f"evalbench: the route {clean(route)} matched no subject of these runs; check its product and suite")


def _warn_of_idle_exclusions(report: Mapping[str, Any]) -> None:
    """A run nobody knows is often a misspelt one, and the run that was meant still counts."""
    for run_id in report["idle_exclusions"]:
        say(f"evalbench: no run has the excluded run id {clean(run_id)}, so nothing is left out; check its spelling")


def _answer(report: Mapping[str, Any], scope: Scope, lake: str, *, as_json: bool) -> int:
    pending = [
        state for state in report["not_scored"] if state["disposition"] in PENDING and scope.may_hold(state["run_date"])
    ]
    if as_json:
        emit_json(report)
    else:
        page = [*decisions_page(report, pending), *voided_lines(report)]
        emit_page(
            *page, "", *accounting_lines(report), *summaries_lines(report), *bigquery_lines(report), *where_lines(lake)
        )
    return exit_code(report["decisions"], pending=bool(pending or report["excluded"]))
