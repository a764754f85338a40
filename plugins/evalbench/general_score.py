"""General Score: EvalBench's weighted mean of four comparators. A diagnostic for parity; it never gates."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evalbench.decimals import nine_places
from evalbench.ledger import Verdict

WEIGHTS = {
    "goal_completion": Fraction(4, 10),
    "trajectory_matcher": Fraction(2, 10),
    "behavioral_metrics": Fraction(2, 10),
    "parameter_analysis": Fraction(2, 10),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component: available of total score rows, and their mean (nine decimals), None without an available row."""

    available: int
    total: int
    mean: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralScore:
    """0..100 to nine decimals, None exactly when a component has no available row; `missing` names those."""

    value: Decimal | None
    components: dict[str, Component]
    missing: tuple[str, ...]


def general_score(verdicts: Iterable[Verdict]) -> GeneralScore:
    """Sum of weight times mean of the available rows, over the four components; nothing is imputed.

    A component's rows are those named after it. Only where none is, the rows of a renamed scorer of its type count.
    """
    rows = [verdict for verdict in verdicts if verdict.source == "harness"]
    means: dict[str, Fraction] = {}
    components: dict[str, Component] = {}
    for name in WEIGHTS:
        found = [row for row in rows if row.name == name] or [row for row in rows if row.scorer_type == name]
        values = [Fraction(row.value) for row in found if row.value is not None]
        if values:
            means[name] = sum(values, Fraction(0)) / len(values)
        mean = nine_places(means[name]) if values else None
        components[name] = Component(available=len(values), total=len(found), mean=mean)
    missing = tuple(name for name in WEIGHTS if name not in means)
    total = None if missing else nine_places(sum((WEIGHTS[name] * means[name] for name in WEIGHTS), Fraction(0)))
    return GeneralScore(value=total, components=components, missing=missing)
