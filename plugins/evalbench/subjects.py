"""Which subjects are decided on a date, over which runs, under which policy and against which baseline."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from evalbench.decided import DecidedSubject, decide_subject
from evalbench.gate.case import Case, Subject, as_of
from evalbench.ledger import Run, ScoredRun
from evalbench.policy import Policy
from evalbench.pool import Pool, one_dataset_version, pool_runs
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

    @property
    def longest_window(self) -> int:
        """Days of the longest window any policy here pools."""
        policies = (self.override,) if self.override is not None else self.policies.values()
        return max(policy.window.days for policy in policies)


def subject_of(run: Run, routing: Routing) -> Subject:
    """The subject a run is evidence for."""
    return Subject(
        product=run.product, suite=routing.suite_of(run), environment=run.environment, candidate=run.candidate
    )


def decide_day(day: date, runs: Iterable[ScoredRun], rules: Rules) -> tuple[DecidedSubject, ...]:
    """Every subject with a run on `day`, sorted. `runs` holds all runs of the longest window that ends on it."""
    by_subject: dict[Subject, list[ScoredRun]] = {}
    for scored in runs:
        by_subject.setdefault(subject_of(scored.run, rules.routing), []).append(scored)
    today = sorted(subject for subject, own in by_subject.items() if any(s.run.run_date == day for s in own))
    return tuple(decide_subject(_case(subject, day, by_subject, rules)) for subject in today)


def _case(subject: Subject, day: date, by_subject: Mapping[Subject, list[ScoredRun]], rules: Rules) -> Case:
    policy = rules.policy(subject.product, subject.suite)
    runs, others = one_dataset_version(_window(by_subject[subject], day, policy))
    baseline = rules.baseline_of(subject)
    return Case(
        subject=subject,
        on=day,
        policy=policy,
        pool=pool_runs(runs, policy, as_of(day)),
        other_versions=tuple(scored.run for scored in others),
        baseline_candidate=baseline,
        baseline=_baseline(subject, baseline, day, policy, by_subject) if baseline is not None else None,
    )


def _baseline(
    subject: Subject, candidate: str, day: date, policy: Policy, by_subject: Mapping[Subject, list[ScoredRun]]
) -> Pool | None:
    """The baseline's runs in the same window, None when there are none."""
    other = Subject(product=subject.product, suite=subject.suite, environment=subject.environment, candidate=candidate)
    runs, _ = one_dataset_version(_window(by_subject.get(other, []), day, policy))
    return pool_runs(runs, policy, as_of(day)) if runs else None


def _window(runs: Iterable[ScoredRun], day: date, policy: Policy) -> list[ScoredRun]:
    """Runs with run_date in (day - window days, day]."""
    first = day - timedelta(days=policy.window.days - 1)
    return [scored for scored in runs if first <= scored.run.run_date <= day]
