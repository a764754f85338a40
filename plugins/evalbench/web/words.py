"""How the page writes foreign text, fractions and times, beside what it shares with the terminal."""

import re
from datetime import UTC, datetime

from evalbench.words import (
    NOTHING,
    counted,
    in_unit,
    listed,
    money,
    number,
    plural,
    rate,
    spaced,
    suite_name,
)

__all__ = (
    "NOTHING",
    "age",
    "brief",
    "clean",
    "counted",
    "fraction",
    "in_unit",
    "instant",
    "listed",
    "money",
    "number",
    "plural",
    "rate",
    "seconds",
    "short_hash",
    "spaced",
    "suite_name",
)

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that hide or reorder what stands beside them, and halves of characters that no page can hold."""


def clean(text: str) -> str:
    """Text from a run, as it is, with a replacement character for each that can't be seen."""
    return _UNSEEN.sub("\ufffd", text.replace("\r\n", "\n"))


def brief(value: float | None, unit: str) -> str:
    """As `in_unit`, dollars to the cent."""
    return money(value) if unit == "USD" else in_unit(value, unit)


def fraction(numerator: float | None, denominator: float | None, unit: str = "") -> str:
    """`3.272 / 4`, `$2.068 / 4`; an unknown numerator is said to be one."""
    shown = money(numerator, most=3) if unit == "USD" else number(numerator)
    return f"{'unknown' if numerator is None else shown} / {number(denominator)}"


def age(days: int) -> str:
    """`in 2 days`, `today`, `yesterday`, `12 days old`."""
    if days < 0:
        return f"in {plural(-days, 'day')}"
    return {0: "today", 1: "yesterday"}.get(days, f"{days:,} days old")


def instant(moment: datetime | None) -> str:
    """`2026-11-30 10:36 UTC`, whatever zone the moment is told in; it must be told in one."""
    return NOTHING if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


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
