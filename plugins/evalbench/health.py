"""Health of evaluators and judges: does a metric ever say anything, and does it agree with verified outcomes?

A metric that never varies carries no information, however good it looks: EvalBench's `parameter_analysis` is always
100. That is reported, and left to people.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evalbench.ledger import Verdict
from evalbench.metrics import best_value, metric_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What one metric's values look like over `n` available rows.

    at_maximum: rows at the best possible value, None where the metric has none; share_at_maximum: their share.
    variance: of the population, None over nothing. never_varied: two rows or more, and all the same.
    agreeing of judged: rows whose best-or-not agrees with a verified-or-failed outcome; agreement is their share.
    """

    n: int
    unavailable: int
    at_maximum: int | None
    share_at_maximum: float | None
    variance: float | None
    never_varied: bool
    judged: int
    agreeing: int
    agreement: float | None


def evaluator_health(verdicts: Iterable[Verdict], outcomes: Mapping[tuple[str, int], bool | None]) -> dict[str, Health]:
    """Health per metric of one run. outcomes: (task id, trial) to verified (True) or failed (False)."""
    return pooled_health((verdict, _outcome(verdict, outcomes)) for verdict in verdicts)


def pooled_health(rows: Iterable[tuple[Verdict, bool | None]]) -> dict[str, Health]:
    """Health per metric over any runs: each verdict with its trial's outcome, None where that is unavailable."""
    by_name: dict[str, list[tuple[Verdict, bool | None]]] = defaultdict(list)
    for verdict, verified in rows:
        by_name[metric_name(verdict)].append((verdict, verified))
    return {name: _health(found) for name, found in sorted(by_name.items())}


def _outcome(verdict: Verdict, outcomes: Mapping[tuple[str, int], bool | None]) -> bool | None:
    if verdict.task_id is None or verdict.trial is None:
        return None
    return outcomes.get((verdict.task_id, verdict.trial))


def _health(rows: list[tuple[Verdict, bool | None]]) -> Health:
    best = best_value(rows[0][0])
    values = [(verdict.value, verified) for verdict, verified in rows if verdict.value is not None]
    n = len(values)
    at_maximum = None if best is None else sum(1 for value, _ in values if value >= best)
    compared = [] if best is None else [(value >= best) == known for value, known in values if known is not None]
    return Health(
        n=n,
        unavailable=len(rows) - n,
        at_maximum=at_maximum,
        share_at_maximum=at_maximum / n if n and at_maximum is not None else None,
        variance=_variance([value for value, _ in values]),
        never_varied=n > 1 and len({value for value, _ in values}) == 1,
        judged=len(compared),
        agreeing=sum(compared),
        agreement=sum(compared) / len(compared) if compared else None,
    )


def _variance(values: list[Decimal]) -> float | None:
    """Population variance, exact until the last step."""
    if not values:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return float(sum(((value - mean) ** 2 for value in exact), Fraction(0)) / len(exact))
