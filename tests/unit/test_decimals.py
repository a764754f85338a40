"""Decimals: one rounding and one spelling, whatever a number was made from."""

from decimal import Decimal
from fractions import Fraction

import pytest

from evalbench.decimals import digits, nine_places


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.333333333", Fraction(1, 3)),
        ("0.666666667", Fraction(2, 3)),
        ("0E-9", Fraction(5, 10**10)),
        ("2E-9", Fraction(15, 10**10)),
        ("2E-9", Fraction(25, 10**10)),
        ("100.000000000", Fraction(100)),
        ("0E-9", Decimal("5e-10")),
        ("2E-9", Decimal("1.5e-9")),
        ("2E-9", Decimal("2.5e-9")),
        ("0E-9", Decimal("-1e-12")),
        ("-0.100000000", Decimal("-0.1")),
        ("9" * 29 + ".123456789", Decimal("9" * 29 + ".1234567891")),
        ("9" * 29 + ".000000000", Fraction(10**29 - 1)),
    ],
)
def test_nine_places_are_rounded_half_to_even(text: str, value: Decimal | Fraction) -> None:
    """Half to even, never minus zero, and no digit before the ninth is lost."""
    assert text == str(nine_places(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", "0.000"), ("100", "1E+2"), ("100", "100.00"), ("0.1", "0.10"), ("1200", "1200"), ("0.000000001", "1E-9")],
)
def test_a_number_has_one_spelling(text: str, value: str) -> None:
    """No exponent and no trailing zeros behind the point; those before it stay."""
    assert text == digits(Decimal(value))
