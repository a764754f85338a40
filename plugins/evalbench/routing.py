"""Routing: which policy and baseline hold for which product and suite. The operator's file."""

from typing import Annotated, Literal

from pydantic import Field

from evalbench.ledger import Run
from evalbench.operator_file import Strict, parse_operator_file
from evalbench.policy import matches_any

DEFAULT_POLICY = "consequential"

Name = Annotated[str, Field(min_length=1)]


class SuiteRule(Strict):
    """Datasets whose basename matches belong to this suite; the first rule that matches wins."""

    dataset: Name
    suite: Name


class Route(Strict):
    """Subjects of a product and suite (glob patterns) → policy and baseline; the first route that matches wins.

    policy: the name of a shipped policy, or a path relative to the routing file ending in .yaml.
    """

    product: Name = "*"
    suite: Name = "*"
    policy: Name = DEFAULT_POLICY
    baseline: Name | None = None


class Routing(Strict):
    """A routing file. What no route matches is judged under `consequential`, without a baseline."""

    schema_version: Literal[1] = Field(alias="schema")
    suites: tuple[SuiteRule, ...] = ()
    routes: tuple[Route, ...] = ()

    def suite_of(self, run: Run) -> str:
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

    def policy_names(self) -> tuple[str, ...]:
        """Every policy this routing can ask for, the default included."""
        return tuple(sorted({DEFAULT_POLICY, *(route.policy for route in self.routes)}))


def parse_routing(text: str, source: str) -> Routing:
    """Parse a routing file's text. Raises PolicyError naming `source` and the YAML path of each problem."""
    return parse_operator_file(Routing, text, source)
