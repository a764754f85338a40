"""How numbers and foreign text look to people: nothing is rounded away, nothing can move a cursor or fake a style."""

import unicodedata
from collections.abc import Mapping, Sequence

NOTHING = "-"
EVALSET = ".evalset.json"
# Control characters, and the format characters that reorder or hide text.
UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(text: object) -> str:
    """Text from a run as one safe line: white space becomes a space, every other control character `?`."""
    return "".join(_safe(letter) for letter in str(text))


def _safe(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    return "?" if unicodedata.category(letter) in UNSAFE_CATEGORIES else letter


def number(value: float | None, places: int = 3) -> str:
    """At most `places` decimals, no trailing zeros, thousands apart; `-` for None."""
    if value is None:
        return NOTHING
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate(value: float | None) -> str:
    """A quotient with three decimals; `-` over nothing."""
    return NOTHING if value is None else f"{value:.3f}"


def money(value: float | None, most: int = 4) -> str:
    """US dollars with two to `most` decimals. An amount that two decimals would show as nothing keeps four."""
    if value is None:
        return NOTHING
    places = 4 if 0 < abs(value) < 0.01 else most
    whole, _, decimals = f"{value:,.{places}f}".partition(".")
    return f"${whole}.{decimals.rstrip('0').ljust(2, '0')}"


def fraction(numerator: float | None, denominator: float | None, *, dollars: bool = False) -> str:
    """`3.272/4`, `$2.068/4`; `not billed/4` for money nobody was billed."""
    if dollars and numerator is None:
        return f"not billed/{number(denominator)}"
    return f"{money(numerator) if dollars else number(numerator)}/{number(denominator)}"


def counted(counts: Mapping[str, int]) -> str:
    """`waiting 1, rejected 2`; empty when nothing was counted."""
    return ", ".join(f"{clean(reason).replace('_', ' ')} {count}" for reason, count in counts.items())


def plural(count: int, one: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def few(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def suite_name(suite: object) -> str:
    """A suite as people know it; in tables and documents it keeps its file ending."""
    return clean(suite).removesuffix(EVALSET)


def in_unit(value: float | None, unit: str) -> str:
    """A number of a check in its own unit."""
    if unit == "USD":
        return money(value)
    return rate(value) if unit.startswith("share") else number(value)
