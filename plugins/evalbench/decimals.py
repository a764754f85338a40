"""Decimals as they are kept and shown: nine places, one spelling per number."""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

SCORE_LIMIT = Decimal(10) ** 9
"""Scores and dollars stay below it: decimal(18, 9) holds no more."""

_NINE_PLACES = Decimal("1e-9")
_DIGITS = 60  # more than any column holds, so that rounding to nine places is the only rounding


def nine_places(value: Decimal | Fraction) -> Decimal:
    """A number below 10^50 to nine places, half to even; never minus zero."""
    with localcontext(prec=_DIGITS):
        if isinstance(value, Fraction):
            return Decimal(round(value * 10**9)).scaleb(-9)
        return value.quantize(_NINE_PLACES, rounding=ROUND_HALF_EVEN) + 0


def digits(value: Decimal) -> str:
    """Every digit, no exponent, no trailing zeros: equal numbers are equal texts."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
