"""Stage 1, first: did the run that is judged come in at all?"""

from evalbench.gate.case import Case
from evalbench.gate.coverage import Coverage
from evalbench.gate.result import CheckResult
from evalbench.gate.wording import listed, plural


class NoRun(Coverage):
    """At least one run of the decided date counts. Earlier runs of the window are no answer for it."""

    name = "coverage.no_run"
    next_step = (
        "look at the harness's schedule and at runs in progress or quarantined; take a retired candidate out of"
        " routing's expected"
    )

    def evaluate(self, case: Case) -> CheckResult:
        found = case.runs_on_date
        return self.at_least(
            1,
            observed=found,
            best=max(found, 1),
            worst=found,
            reason=self._said(case, found),
            numerator=found,
            denominator=1,
            unit="runs",
            provable=False,
        )

    @staticmethod
    def _said(case: Case, found: int) -> str:
        """What came in; where nothing did, what was due, lost or voided. Once a run is there, nothing was missed."""
        said = f"{plural(found, 'run')} on {case.on}"
        if found:
            return said
        lost = sum(1 for run in case.lost if run.run_date == case.on)
        voided = listed(item.run_id for item in case.excluded)
        said += ", 1 expected" if case.expected else ""
        said += f"; {plural(lost, 'run')} of that date lost" if lost else ""
        return said + (f"; voided in the window: {voided}" if voided else "")


class LostRuns(Coverage):
    """Every run directory of the window left a result: none was lost on the way, none became unreadable since."""

    name = "coverage.lost_runs"
    next_step = (
        "read what `run_states` says of these directories and the logs of their tasks, then run the pipeline again"
    )

    def evaluate(self, case: Case) -> CheckResult:
        lost = len(case.lost)
        known = len(case.pool.runs) + len(case.other_versions) + lost
        paths = f": {listed(run.path for run in case.lost)}" if lost else ""
        return self.at_most(
            0,
            observed=lost,
            best=0,
            worst=lost,
            reason=f"{lost}/{plural(known, 'run')} of the window left no result{paths}",
            numerator=lost,
            denominator=known,
            unit="runs",
        )
