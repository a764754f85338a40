"""The facts that stand, and what they decide on each date."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial

from evalbench.accounting import Accounting, DirectoryState
from evalbench.decided import DecidedSubject
from evalbench.errors import UsageError
from evalbench.gate.case import Subject
from evalbench.lake.index import Index, IndexEntry
from evalbench.lake.verdicts import read_scored
from evalbench.ledger import ScoredRun
from evalbench.report import Document, decision_document, document, run_document
from evalbench.storage import Storage
from evalbench.subjects import Rules, decide_day

RUNS_HELD = 64
"""Runs kept in memory: as many as a window or two usually hold."""
DAYS_HELD = 8
"""Decided days kept in memory: a night's report and its publishing decide a date once, a year's don't pile up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedDay:
    """One date: its runs by (run_time, path), and every subject with a run on it, decided over its window."""

    day: date
    runs: tuple[ScoredRun, ...]
    decided: tuple[DecidedSubject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An index (also by run date), the operator's rules, and how they decide a date.

    on: decides a date; raises PipelineError when facts are missing or damaged.
    """

    index: Index
    by_day: Mapping[date, Sequence[IndexEntry]]
    rules: Rules
    on: Callable[[date], DecidedDay]

    @classmethod
    def of(cls, lake: Storage, index: Index, rules: Rules, *, store: bool) -> "Standing":
        """What stands in a lake. store: keep verdicts that had to be computed."""
        by_day: dict[date, list[IndexEntry]] = defaultdict(list)
        for entry in index.values():
            by_day[entry.run_date].append(entry)
        load = lru_cache(RUNS_HELD)(partial(read_scored, lake, store=store))
        on = lru_cache(DAYS_HELD)(partial(_decided_day, by_day, rules, load))
        return cls(index=index, by_day=by_day, rules=rules, on=on)

    @property
    def days(self) -> tuple[date, ...]:
        """Dates with a run, sorted."""
        return tuple(sorted(self.by_day))

    def followers(self, changed: Iterable[date]) -> frozenset[date]:
        """Dates with a run whose window may hold one of the `changed` dates, themselves left out."""
        sources = frozenset(changed)
        return frozenset(day for day in self.by_day if not sources.isdisjoint(_window(day, self.rules)[1:]))

    def report(
        self,
        days: Iterable[date],
        candidates: Iterable[str],
        today: date,
        accounting: Accounting | None = None,
        states: Iterable[DirectoryState] = (),
    ) -> Document:
        """The report over these dates; of these candidates only, when any are named.

        accounting, states: of the directories listed, if any were. Raises UsageError for a candidate, or a baseline
        given instead of routing's, that has no run here.
        """
        wanted = frozenset(candidates)
        decisions: list[Document] = []
        runs: list[Document] = []
        subjects: list[Subject] = []
        compared = False
        for day in days:
            found = self.on(day)
            for item in found.decided:
                subject = item.decision.subject
                if not wanted or subject.candidate in wanted:
                    subjects.append(subject)
                    decisions.append(decision_document(item, today, self.rules.route_of(subject)))
                    compared |= item.decision.baseline_runs > 0
            runs += [self._run_document(s) for s in found.runs if not wanted or s.run.candidate in wanted]
        self._check_names(wanted, {subject.candidate for subject in subjects}, compared=compared)
        return document(decisions, runs, accounting, states, self.rules.idle_routes(subjects))

    def _check_names(self, wanted: frozenset[str], ran: set[str], *, compared: bool) -> None:
        if missing := sorted(wanted - ran):
            raise UsageError(f"candidate {missing[0]} has no run in scope; check its name and the dates")
        baseline = self.rules.baseline
        if baseline is None or not ran or baseline in ran or compared:
            return
        raise UsageError(f"baseline {baseline} has no run in scope; check its name and the dates")

    def _run_document(self, scored: ScoredRun) -> Document:
        suite = self.rules.routing.suite_of(scored.run)
        return run_document(scored, suite, self.rules.policy(scored.run.product, suite).pass_thresholds)


def _window(day: date, rules: Rules) -> list[date]:
    """The days of the longest window that ends on `day`, itself first."""
    return [day - timedelta(days=back) for back in range(rules.longest_window)]


def _decided_day(
    by_day: Mapping[date, Sequence[IndexEntry]], rules: Rules, load: Callable[[str], ScoredRun], day: date
) -> DecidedDay:
    entries = [entry for before in _window(day, rules) for entry in by_day.get(before, ())]
    runs = [load(entry.facts) for entry in sorted(entries, key=lambda entry: (entry.run_time, entry.path))]
    return DecidedDay(
        day=day,
        runs=tuple(scored for scored in runs if scored.run.run_date == day),
        decided=decide_day(day, runs, rules),
    )
