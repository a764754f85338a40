"""Routing: which policy, baseline and window hold for which product and suite, and who must have a run each day. The
operator's file.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, Protocol

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from evalbench.operator_file import Day, Strict, parse_operator_file
from evalbench.policy import Window, matches_any

DEFAULT_POLICY = "consequential"
PATTERN_CHARACTERS = frozenset("*?[")

Name = Annotated[str, Field(min_length=1)]


class Dataset(Protocol):
    """What a suite is told from: a run, or what is known of one."""

    @property
    def dataset(self) -> str | None:
        """Name of the dataset, None where nothing names it."""

    @property
    def dataset_named(self) -> bool:
        """Whether run.yaml names it."""


class SuiteRule(Strict):
    """Datasets whose basename matches belong to this suite; the first rule that matches wins."""

    dataset: Name
    suite: Name


class ExpectedCandidate(Strict):
    """A candidate that must have a run on every UTC date from `since`, by `hour` hours after 00:00 UTC of that date."""

    candidate: Name
    environment: Literal["offline", "production"] = "offline"
    since: Annotated[Day, Field(ge=date(2000, 1, 1), lt=date(2200, 1, 1))]
    hour: Annotated[int, Field(strict=True, ge=0, le=47)] = 24


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Expected:
    """A subject that must have a run on a date; it is missed from `hour` hours after 00:00 UTC of that date on."""

    product: str
    suite: str
    environment: str
    candidate: str
    hour: int

    def due(self, day: date) -> datetime:
        """The moment from which a run of `day` is missed. Aware UTC."""
        return datetime.combine(day, time(), tzinfo=UTC) + timedelta(hours=self.hour)


class Route(Strict):
    """Subjects of a product and suite (glob patterns) → policy, baseline, window; the first route that matches wins.

    policy: the name of a shipped policy, or a path relative to the routing file ending in .yaml. window: instead of the
    policy's. expected: candidates that must have a run each day; only where product and suite are plain names.
    """

    product: Name = "*"
    suite: Name = "*"
    policy: Name = DEFAULT_POLICY
    baseline: Name | None = None
    window: Window | None = None
    expected: tuple[ExpectedCandidate, ...] = ()

    @field_validator("expected")
    @classmethod
    def _plain(cls, expected: tuple[ExpectedCandidate, ...], info: ValidationInfo) -> tuple[ExpectedCandidate, ...]:
        names = [str(info.data.get(key, "")) for key in ("product", "suite")]
        for name in (*names, *(item.candidate for item in expected)):
            if expected and not PATTERN_CHARACTERS.isdisjoint(name):
                raise PydanticCustomError(
                    "pattern_expected",
                    "product, suite and candidate of an expected subject must be plain names; {name} is a pattern",
                    {"name": name},
                )
        return expected


class Routing(Strict):
    """A routing file. What no route matches is judged under `consequential`, without a baseline."""

    schema_version: Literal[1] = Field(alias="schema")
    suites: tuple[SuiteRule, ...] = ()
    routes: tuple[Route, ...] = ()

    @field_validator("routes")
    @classmethod
    def _expected_once(cls, routes: tuple[Route, ...]) -> tuple[Route, ...]:
        subjects = Counter(
            (route.product, route.suite, item.environment, item.candidate)
            for route in routes
            for item in route.expected
        )
        for subject, count in subjects.items():
            if count > 1:
                raise PydanticCustomError(
                    "expected_twice", "{subject} is expected twice; keep one of the two", {"subject": "/".join(subject)}
                )
        return routes

    def suite_of(self, run: Dataset) -> str:
        """run.yaml's dataset, else the suite rule matching the dataset's basename, else the basename."""
        if run.dataset is None:
            return "unknown"
        if run.dataset_named:
            return run.dataset
        rules = (rule.suite for rule in self.suites if matches_any(run.dataset, (rule.dataset,)))
        return next(rules, run.dataset)

    def route(self, product: str, suite: str) -> Route:
        """The first matching route, else the default."""
        return self.matching(product, suite) or Route()

    def matching(self, product: str, suite: str) -> Route | None:
        """The first matching route, None where the default holds."""
        matching = (r for r in self.routes if matches_any(product, (r.product,)) and matches_any(suite, (r.suite,)))
        return next(matching, None)

    def expected_on(self, day: date) -> tuple[Expected, ...]:
        """Subjects that must have a run on `day`, sorted."""
        return tuple(
            sorted(
                Expected(
                    product=route.product,
                    suite=route.suite,
                    environment=item.environment,
                    candidate=item.candidate,
                    hour=item.hour,
                )
                for route in self.routes
                for item in route.expected
                if item.since <= day
            )
        )

    def due_on(self, day: date, now: datetime) -> tuple[Expected, ...]:
        """Those of `expected_on` whose hour has come by `now` (aware): without a run on `day` they are missed."""
        return tuple(expected for expected in self.expected_on(day) if now >= expected.due(day))

    def policy_names(self) -> tuple[str, ...]:
        """Every policy this routing can ask for, the default included."""
        return tuple(sorted({DEFAULT_POLICY, *(route.policy for route in self.routes)}))


def parse_routing(text: str, source: str) -> Routing:
    """Parse a routing file's text. Raises PolicyError naming `source` and the YAML path of each problem."""
    return parse_operator_file(Routing, text, source)
