"""The facts that stand, and what they decide on each date."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache, partial

from evalbench.accounting import Accounting, DirectoryState
from evalbench.canonical import sha256_json
from evalbench.decided import DecidedSubject
from evalbench.errors import UsageError
from evalbench.exclusions import Exclusion
from evalbench.gate.case import LostRun, Subject
from evalbench.lake.index import Index, IndexEntry, claims, missing_entries, read_segments, segments
from evalbench.lake.verdicts import read_scored_runs
from evalbench.ledger import ScoredRun
from evalbench.report import Document, decision_document, document, is_provisional, run_document
from evalbench.storage import Storage
from evalbench.subjects import Rules, decide_day, due_subjects, voided

RUNS_HELD = 64
"""Runs kept in memory: as many as a window or two usually hold."""
DAYS_HELD = 8
"""Decided days kept in memory: a night's report and its publishing decide a date once, a year's don't pile up."""

Load = Callable[[Sequence[str]], list[ScoredRun]]
"""Facts keys → runs with their verdicts. Raises PipelineError when facts are missing or damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedDay:
    """One date: its runs by (run_time, path), voided ones left out, and every subject decided over its window."""

    day: date
    runs: tuple[ScoredRun, ...]
    decided: tuple[DecidedSubject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known, the operator's rules, and how they decide a date.

    by_day: entries whose facts count, by run date. lost: directories whose last look never came back. duplicates: run
    key → path of the directory that has the run id first. now: aware UTC; decides which days are over and which
    expected runs are missed. on: decides a date; raises PipelineError when facts are missing or damaged.
    """

    index: Index
    by_day: Mapping[date, Sequence[IndexEntry]]
    lost: Sequence[LostRun]
    duplicates: Mapping[str, str]
    rules: Rules
    now: datetime
    on: Callable[[date], DecidedDay]

    @classmethod
    def of(cls, index: Index, rules: Rules, now: datetime, load: Load) -> "Standing":
        """What stands by an index."""
        counting, duplicates = claims(index)
        by_day: dict[date, list[IndexEntry]] = defaultdict(list)
        for entry in counting.values():
            if entry.standing is not None:
                by_day[entry.standing.run_date].append(entry)
        lost = sorted(found for entry in missing_entries(index) if (found := _lost_run(entry, rules)) is not None)
        on = lru_cache(DAYS_HELD)(partial(_decided_day, by_day, lost, rules, now, load))
        return cls(index=index, by_day=by_day, lost=lost, duplicates=duplicates, rules=rules, now=now, on=on)

    @property
    def days(self) -> tuple[date, ...]:
        """Dates with a run, a lost one, or one that is missed, sorted."""
        return tuple(sorted({*self.by_day, *(run.run_date for run in self.lost), *_missed_days(self.rules, self.now)}))

    def evidence(self, day: date) -> str:
        """Hash of what a date's rows are made from beside rules and code: runs, voided, lost and missed ones.

        Also whether the day is over: only then are its decisions put on record.
        """
        window = frozenset(window_days(day, self.rules))
        entries = [entry for before in window for entry in self.by_day.get(before, ())]
        stood = [entry.standing for entry in entries if entry.standing is not None]
        exclusions = [self.rules.exclusions.of(standing.run_id) for standing in stood]
        return sha256_json(
            {
                "facts": sorted([standing.facts, standing.run_time.isoformat()] for standing in stood),
                "voided": sorted((found.document for found in exclusions if found is not None), key=str),
                "lost": [list(map(str, astuple(run))) for run in self.lost if run.run_date in window],
                "missed": [[s.product, s.suite, s.environment, s.candidate] for s in self._due(day)],
                "over": not is_provisional(day, self.now.date()),
            }
        )

    def report(
        self,
        days: Iterable[date],
        candidates: Iterable[str],
        accounting: Accounting | None = None,
        states: Iterable[DirectoryState] = (),
        *,
        strict: bool = True,
    ) -> Document:
        """The report over these dates; of these candidates only, when any are named.

        accounting, states: of the directories listed, if any were. Raises UsageError for a candidate, or a baseline
        given instead of routing's, that has no run here, unless not `strict`.
        """
        wanted, days = frozenset(candidates), tuple(days)
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
                    decisions.append(decision_document(item, self.now.date(), self.rules.route_of(subject)))
                    compared |= item.decision.baseline_runs > 0
            runs += [self._run_document(s) for s in found.runs if not wanted or s.run.candidate in wanted]
        if strict:
            self._check_names(wanted, {subject.candidate for subject in subjects}, days, compared=compared)
        return document(
            decisions,
            runs,
            accounting,
            states,
            idle_routes=self.rules.idle_routes(subjects),
            excluded=self._excluded(days),
            idle_exclusions=self.rules.exclusions.idle(self._run_ids(self.by_day)),
        )

    def _run_ids(self, days: Iterable[date]) -> list[str]:
        entries = (entry.standing for day in days for entry in self.by_day.get(day, ()))
        return [standing.run_id for standing in entries if standing is not None]

    def _excluded(self, days: Iterable[date]) -> list[Exclusion]:
        """Voided runs of these days."""
        return [found for run_id in self._run_ids(days) if (found := self.rules.exclusions.of(run_id)) is not None]

    def _due(self, day: date) -> tuple[Subject, ...]:
        return due_subjects(day, self.now, self.rules)

    def _check_names(self, wanted: frozenset[str], ran: set[str], days: Iterable[date], *, compared: bool) -> None:
        if missing := sorted(wanted - ran):
            voided_too = " (voided runs don't count)" if self._excluded(days) else ""
            raise UsageError(f"candidate {missing[0]} has no run in scope{voided_too}; check its name and the dates")
        baseline = self.rules.baseline
        if baseline is None or not ran or baseline in ran or compared:
            return
        raise UsageError(f"baseline {baseline} has no run in scope; check its name and the dates")

    def _run_document(self, scored: ScoredRun) -> Document:
        suite = self.rules.routing.suite_of(scored.run)
        return run_document(scored, suite, self.rules.policy(scored.run.product, suite).pass_thresholds)


class Latest:
    """What stands in a lake now, whoever added to it last; the same object as long as nobody did."""

    def __init__(self, lake: Storage, rules: Rules, now: datetime, load: Load) -> None:
        self._lake, self._rules, self._now, self._load = lake, rules, now, load
        self._names: tuple[str, ...] | None = None
        self._standing: Standing | None = None

    def __call__(self) -> Standing:
        """The standing facts. Raises PipelineError when a segment of the index is damaged."""
        if self._standing is None or segments(self._lake) != self._names:
            self._names, index = read_segments(self._lake)
            self._standing = Standing.of(index, self._rules, self._now, self._load)
        return self._standing


def loader(lake: Storage, *, store: bool) -> Load:
    """Runs from a lake, the last ones kept in memory. store: keep verdicts that had to be computed."""
    held: dict[str, ScoredRun] = {}

    def load(facts: Sequence[str]) -> list[ScoredRun]:
        missing = [key for key in facts if key not in held]
        found = dict(zip(missing, read_scored_runs(lake, missing, store=store), strict=True))
        for key in facts:
            held[key] = held.pop(key) if key in held else found[key]
        runs = [held[key] for key in facts]
        for key in list(held)[:-RUNS_HELD]:
            del held[key]
        return runs

    return load


def changed_days(before: Standing, after: Standing) -> frozenset[date]:
    """Dates that rest on other evidence than before."""
    return frozenset(day for day in {*before.days, *after.days} if before.evidence(day) != after.evidence(day))


def window_days(day: date, rules: Rules) -> list[date]:
    """The days of the longest window that ends on `day`, itself first."""
    return [day - timedelta(days=back) for back in range(rules.longest_window)]


def _missed_days(rules: Rules, now: datetime) -> list[date]:
    """Dates on which a run is due by now."""
    sinces = [item.since for route in rules.routing.routes for item in route.expected]
    first = min(sinces, default=now.date())
    days = (first + timedelta(days=number) for number in range((now.date() - first).days + 1))
    return [day for day in days if due_subjects(day, now, rules)]


def _lost_run(entry: IndexEntry, rules: Rules) -> LostRun | None:
    """A directory without a result as missing evidence; None where nothing tells whose it was, or it is voided."""
    identity = entry.identity
    if identity is None or entry.run_time is None:
        return None
    if entry.run_id is not None and rules.exclusions.of(entry.run_id) is not None:
        return None
    return LostRun(
        product=identity.product,
        suite=rules.routing.suite_of(identity),
        environment=identity.environment,
        candidate=identity.candidate,
        run_date=entry.run_time.date(),
        path=entry.path or "",
    )


def _decided_day(
    by_day: Mapping[date, Sequence[IndexEntry]],
    lost: Sequence[LostRun],
    rules: Rules,
    now: datetime,
    load: Load,
    day: date,
) -> DecidedDay:
    window = window_days(day, rules)
    found = [(entry.standing, entry) for before in window for entry in by_day.get(before, ())]
    stood = sorted((standing.run_time, entry.path or "", standing.facts) for standing, entry in found if standing)
    runs = load([facts for _, _, facts in stood])
    return DecidedDay(
        day=day,
        runs=tuple(s for s in runs if s.run.run_date == day and voided(s.run, rules) is None),
        decided=decide_day(
            day,
            runs,
            rules,
            expected=due_subjects(day, now, rules),
            lost=[run for run in lost if run.run_date in window],
        ),
    )
