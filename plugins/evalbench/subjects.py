"""Which subjects are decided on a date, over which runs, under which policy and against which baseline."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from evalbench.canonical import sha256_json
from evalbench.decided import DecidedSubject, decide_subject
from evalbench.exclusions import NOTHING_EXCLUDED, Exclusion, Exclusions
from evalbench.gate.case import Case, LostRun, Subject, as_of
from evalbench.ledger import Run, ScoredRun
from evalbench.policy import Policy, Window
from evalbench.pool import one_dataset_version, pool_runs
from evalbench.routing import Route, Routing

GIVEN = "given"
"""Instead of a route: the policy was given for every subject."""


def route_name(route: Route) -> str:
    """A route by its patterns."""
    return f"{route.product} / {route.suite}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The operator's files, read. policies: by routing's names. override, baseline: given instead of routing's."""

    routing: Routing
    policies: Mapping[str, Policy]
    override: Policy | None = None
    baseline: str | None = None
    exclusions: Exclusions = NOTHING_EXCLUDED

    @property
    def given(self) -> bool:
        """Whether a policy or a baseline was given instead of routing's."""
        return self.override is not None or self.baseline is not None

    def policy(self, product: str, suite: str) -> Policy:
        """The policy that holds for a product and suite."""
        return self.override or self.policies[self.routing.route(product, suite).policy]

    def route_of(self, subject: Subject) -> str | None:
        """The route that names the policy of a subject: `product / suite` as written. None without one.

        `given` where a policy was given instead of routing's.
        """
        if self.override is not None:
            return GIVEN
        route = self.routing.matching(subject.product, subject.suite)
        return route_name(route) if route is not None else None

    def idle_routes(self, subjects: Iterable[Subject]) -> tuple[str, ...]:
        """Routes, in their order, that no subject was the first to match."""
        used = [self.routing.matching(subject.product, subject.suite) for subject in subjects]
        return tuple(route_name(route) for route in self.routing.routes if route not in used)

    def baseline_of(self, subject: Subject) -> str | None:
        """The candidate a subject is compared with; a baseline isn't compared with itself."""
        named = self.baseline or self.routing.route(subject.product, subject.suite).baseline
        return named if named != subject.candidate else None

    def window_of(self, subject: Subject) -> Window | None:
        """Routing's window for a subject, None where the policy's holds."""
        return self.routing.route(subject.product, subject.suite).window

    @property
    def longest_window(self) -> int:
        """Days of the longest window any decision here pools."""
        return max(self._window(route).days for route in (*self.routing.routes, Route()))

    def _window(self, route: Route) -> Window:
        return route.window or (self.override or self.policies[route.policy]).window

    @property
    def digest(self) -> str:
        """sha256 over routing, policies and what was given instead of them.

        Exclusions and expected subjects apart: those void or miss single runs, and are evidence of their dates.
        """
        return sha256_json(
            {
                "routing": self.routing.model_dump(mode="json", exclude={"routes": {"__all__": {"expected"}}}),
                "policies": {name: policy.policy_hash for name, policy in self.policies.items()},
                "override": self.override.policy_hash if self.override is not None else None,
                "baseline": self.baseline,
            }
        )


def subject_of(run: Run, routing: Routing) -> Subject:
    """The subject a run is evidence for."""
    return Subject(
        product=run.product, suite=routing.suite_of(run), environment=run.environment, candidate=run.candidate
    )


def voided(run: Run, rules: Rules) -> Exclusion | None:
    """The operator's exclusion of a run, None where it counts."""
    return rules.exclusions.of(run.run_id)


def due_subjects(day: date, now: datetime, rules: Rules) -> tuple[Subject, ...]:
    """Subjects that routing expects on `day` and whose hour has come by `now` (aware), sorted."""
    return tuple(
        Subject(product=due.product, suite=due.suite, environment=due.environment, candidate=due.candidate)
        for due in rules.routing.due_on(day, now)
    )


def decide_day(
    day: date,
    runs: Iterable[ScoredRun],
    rules: Rules,
    *,
    expected: Iterable[Subject] = (),
    lost: Iterable[LostRun] = (),
) -> tuple[DecidedSubject, ...]:
    """Every subject with a run on `day`, expected or lost there, sorted.

    runs: all of the longest window that ends on `day`; voided ones are left out here, and shown. expected: subjects of
    which a run on `day` is due. lost: directories of that window that came back without a result.
    """
    window = _Window.of(day, runs, rules, frozenset(expected), lost)
    return tuple(decide_subject(window.case(subject)) for subject in sorted(window.subjects))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What the longest window holds of one subject."""

    runs: list[ScoredRun] = field(default_factory=list)
    voided: list[tuple[date, Exclusion]] = field(default_factory=list)
    lost: list[LostRun] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The longest window that ends on a day, by subject."""

    day: date
    rules: Rules
    expected: frozenset[Subject]
    found: Mapping[Subject, _Evidence]

    @classmethod
    def of(
        cls, day: date, runs: Iterable[ScoredRun], rules: Rules, expected: frozenset[Subject], lost: Iterable[LostRun]
    ) -> "_Window":
        """Sort runs, voided runs and lost ones by subject."""
        found: dict[Subject, _Evidence] = defaultdict(_Evidence)
        for scored in runs:
            subject = subject_of(scored.run, rules.routing)
            exclusion = voided(scored.run, rules)
            if exclusion is None:
                found[subject].runs.append(scored)
            else:
                found[subject].voided.append((scored.run.run_date, exclusion))
        for item in lost:
            found[item.subject].lost.append(item)
        return cls(day=day, rules=rules, expected=expected, found=dict(found))

    @property
    def subjects(self) -> frozenset[Subject]:
        """Those to decide; a run that was voided makes no decision."""
        ran = (
            subject
            for subject, own in self.found.items()
            if any(scored.run.run_date == self.day for scored in own.runs)
            or any(item.run_date == self.day for item in own.lost)
        )
        return self.expected.union(ran)

    def case(self, subject: Subject) -> Case:
        """The case of a subject on the day."""
        rules, policy = self.rules, self.rules.policy(subject.product, subject.suite)
        window = rules.window_of(subject)
        days = (window or policy.window).days
        own = self._within(subject, days)
        candidate = rules.baseline_of(subject)
        theirs = self._within(replace(subject, candidate=candidate), days) if candidate is not None else _Evidence()
        pooled, others = one_dataset_version(own.runs)
        compared, _ = one_dataset_version(theirs.runs)
        return Case(
            subject=subject,
            on=self.day,
            policy=policy,
            pool=pool_runs(pooled, policy, as_of(self.day)),
            other_versions=tuple(scored.run for scored in others),
            baseline_candidate=candidate,
            baseline=pool_runs(compared, policy, as_of(self.day)) if compared else None,
            window=window,
            expected=subject in self.expected,
            lost=tuple(own.lost),
            excluded=tuple(exclusion for _, exclusion in own.voided),
            baseline_lost=tuple(theirs.lost),
            baseline_excluded=tuple(exclusion for _, exclusion in theirs.voided),
        )

    def _within(self, subject: Subject, days: int) -> _Evidence:
        """What (day - days, day] holds of a subject, in one order."""
        first = self.day - timedelta(days=days - 1)
        found = self.found.get(subject, _Evidence())
        return _Evidence(
            runs=[scored for scored in found.runs if first <= scored.run.run_date <= self.day],
            voided=sorted(
                (item for item in found.voided if first <= item[0] <= self.day), key=lambda item: item[1].run_id
            ),
            lost=sorted(item for item in found.lost if first <= item.run_date <= self.day),
        )
