"""The two ends of a rate whose evidence is partly missing."""

from dataclasses import dataclass
from fractions import Fraction

from evalbench.counts import EffectCounts, OutcomeCounts, ProgressCounts
from evalbench.gate.result import ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """observed, best and worst of a rate; None where there is nothing to divide. observed = numerator / denominator."""

    observed: Fraction | None
    best: Fraction | None
    worst: Fraction | None
    numerator: int
    denominator: int


def effect_integrity(counts: EffectCounts) -> Ends:
    """Unknown → verified / failed. A trial that may hide any number of effects takes the ends to 1 and 0."""
    best = ratio(counts.verified + counts.unknown, counts.total)
    worst = ratio(counts.verified, counts.total)
    hidden = counts.hidden > 0
    return Ends(
        observed=worst,
        best=Fraction(1) if hidden else best,
        worst=Fraction(0) if hidden else worst,
        numerator=counts.verified,
        denominator=counts.total,
    )


def useful_progress(counts: ProgressCounts) -> Ends:
    """Stale window → active with / without new evidence. Trials without windows take the ends to 1 and 0."""
    observed = ratio(counts.with_delta, counts.active)
    windows = counts.active + counts.stale
    hidden = counts.trials_without > 0
    return Ends(
        observed=observed,
        best=Fraction(1) if hidden else ratio(counts.with_delta + counts.stale, windows),
        worst=Fraction(0) if hidden else ratio(counts.with_delta, windows),
        numerator=counts.with_delta,
        denominator=counts.active,
    )


def verified_yield(counts: OutcomeCounts) -> Ends:
    """Unavailable and missing → verified / not. Valid waits are not owed."""
    observed = ratio(counts.verified, counts.owed)
    best = ratio(counts.could_verify, counts.owed)
    return Ends(
        observed=observed,
        best=Fraction(1) if counts.open_ended else best,
        worst=observed,
        numerator=counts.verified,
        denominator=counts.owed,
    )
