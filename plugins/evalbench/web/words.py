"""How the page writes numbers, counts and foreign text: nothing is rounded to nothing, nothing can reorder a line."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

NOTHING = "\u2013"
EVALSET = ".evalset.json"
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Characters that hide or reorder what stands beside them, and halves of characters that no page can hold."""


def clean(text: str) -> str:
    """Text from a run, as it is, with a replacement character for each that can't be seen."""
    return _UNSEEN.sub("\ufffd", text.replace("\r\n", "\n"))


def spaced(name: str) -> str:
    """`wait_overdue` as words."""
    return name.replace("_", " ")


def number(value: float | None, places: int = 3) -> str:
    """At most `places` decimals, no trailing zeros, thousands apart; more where they would show something as 0."""
    if value is None:
        return NOTHING
    if value and not round(value, places):
        return f"{value:.2g}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate(value: float | None) -> str:
    """A quotient with three decimals; 0 and 1 only where it is exactly that."""
    if value is None:
        return NOTHING
    shown = f"{value:.3f}"
    if (value != 0 and float(shown) == 0) or (value != 1 and float(shown) == 1):
        return f"{value:.6f}"
    return shown


def money(value: float | None, most: int = 2) -> str:
    """US dollars with two to `most` decimals; four where two would show nothing."""
    if value is None:
        return NOTHING
    places = 4 if 0 < abs(value) < 0.01 else most
    whole, _, decimals = f"{value:,.{places}f}".partition(".")
    return f"${whole}.{decimals.rstrip('0').ljust(2, '0')}"


def in_unit(value: float | None, unit: str) -> str:
    """A figure in the unit it is stored in."""
    if unit == "USD":
        return money(value, most=4)
    return rate(value) if unit.startswith(("share", "quality")) else number(value)


def brief(value: float | None, unit: str) -> str:
    """As `in_unit`, dollars to the cent."""
    return money(value) if unit == "USD" else in_unit(value, unit)


def fraction(numerator: float | None, denominator: float | None, unit: str = "") -> str:
    """`3.272 / 4`, `$2.068 / 4`; an unknown numerator is said to be one."""
    shown = money(numerator, most=3) if unit == "USD" else number(numerator)
    return f"{'unknown' if numerator is None else shown} / {number(denominator)}"


def counted(counts: Mapping[str, int]) -> str:
    """`waiting 1, rejected 2`; empty when nothing was counted."""
    return ", ".join(f"{spaced(reason)} {count:,}" for reason, count in counts.items())


def plural(count: int, one: str, many: str = "") -> str:
    """`1 trial`, `2 trials`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def suite_name(suite: str) -> str:
    """A suite as people know it; in addresses and downloads it keeps its file ending."""
    return suite.removesuffix(EVALSET)


def age(days: int) -> str:
    """`today`, `yesterday`, `12 days old`."""
    if days <= 0:
        return "today"
    return "yesterday" if days == 1 else f"{days:,} days old"


def instant(moment: datetime | None) -> str:
    """`2026-11-30 10:36 UTC`."""
    return NOTHING if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def seconds(value: float | None) -> str:
    """`0.2 s`, `61 s`, `4 min 10 s`."""
    if value is None:
        return NOTHING
    if value < 120:
        return f"{number(value, 1)} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,} min {rest} s"


def short_hash(value: str | None, letters: int = 10) -> str:
    """The beginning of a hash."""
    return NOTHING if value is None else value[:letters]
