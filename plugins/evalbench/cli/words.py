"""How a terminal writes foreign text and fractions, beside what it shares with the page."""

import unicodedata
from functools import partial

from evalbench import words

NOTHING = "-"
"""In ASCII: not every terminal has another dash."""
# Control characters, and the format characters that reorder or hide text.
UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

number = partial(words.number, nothing=NOTHING)
rate = partial(words.rate, nothing=NOTHING)
money = partial(words.money, nothing=NOTHING)
in_unit = partial(words.in_unit, nothing=NOTHING)


def clean(text: object) -> str:
    """Text from a run as one safe line: white space becomes a space, every other control character `?`."""
    return "".join(_safe(letter) for letter in str(text))


def _safe(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    return "?" if unicodedata.category(letter) in UNSAFE_CATEGORIES else letter


def fraction(numerator: float | None, denominator: float | None, *, dollars: bool = False) -> str:
    """`3.272/4`, `$2.068/4`; `not billed/4` for money nobody was billed."""
    if dollars and numerator is None:
        return f"not billed/{number(denominator)}"
    return f"{money(numerator, most=4) if dollars else number(numerator)}/{number(denominator)}"
