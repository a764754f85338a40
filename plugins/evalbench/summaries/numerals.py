"""The numbers a text states, however they are written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from evalbench.summaries.personal import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeral:
    """A number as it stands in a text.

    value: what it says, None where digits are part of a word (`f1`, `1e3`) or of something that can't be held against
    a figure ("3 million", "2 percentage points"). places: decimals written. percent: it is followed by a per cent sign.
    """

    text: str
    value: Decimal | None
    places: int = 0
    percent: bool = False


_GROUPS = re.compile(r"(?<![\w.,])\d{1,3}(?:[,_'\u2019\u00a0\u2007\u2009\u202f]\d{3})+(?!,?\d)")
_WITH_DIGITS = re.compile(r"(?<![\w.])\.\d+(?!\w)|\w*\d\w*(?:\.\d\w*)*")
_PLAIN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(?:st|nd|rd|th|ms|min|[smhd])?", re.IGNORECASE)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per cent\b|pct\b)", re.IGNORECASE)
_NOT_COUNTED = re.compile(
    r"\s?-?(?:(?:%|percentage|percent|pp)[ -]?points?\b|pp\b|k\b|[mb]n\b|times\b"
    r"|(?:dozen|hundred|thousand|million|billion|trillion)s?\b)",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?:^|[\s(\[:=,])[$€£]?[-\u2212][$€£]?$")


Ratio = tuple[Decimal, Decimal]
"""This many of that many."""

_RATIO = re.compile(
    r"(?<![\w.,/-])(\d+(?:\.\d+)?)(?:\s?/\s?|\s(?:out )?of\s(?:the |its |all |these )?)(\d+(?:\.\d+)?)(?![\w/%-]|\.\d)"
)


def ratios(text: str) -> Iterator[tuple[Ratio, str]]:
    """Every `4/5`, `4 of 5` and `4 out of the 5` of a text in `plain_form`, with how it is written."""
    for found in _RATIO.finditer(text):
        yield (Decimal(found[1]), Decimal(found[2])), found[0]


def plain_form(text: str) -> str:
    """`text` as a reader sees it: digits grouped in thousands written together, nothing hidden between two of them."""
    shown = "".join(letter for letter in text if letter.isprintable() or letter.isspace())
    return one_line(_GROUPS.sub(lambda grouped: re.sub(r"\D", "", grouped[0]), shown))


def numerals(text: str) -> Iterator[Numeral]:
    """Every numeral of a text in `plain_form`, in order. `4/5`, `3-5` and `1, 2` hold two each."""
    for found in _WITH_DIGITS.finditer(text):
        plain = _PLAIN.fullmatch(found[0])
        after = text[found.end() : found.end() + 24]
        if plain is None or _NOT_COUNTED.match(after):
            yield Numeral(text=found[0], value=None)
            continue
        negative = _MINUS.search(text[max(0, found.start() - 4) : found.start()])
        value = Decimal(plain[1])
        yield Numeral(
            text=found[0],
            value=-value if negative else value,
            places=len(plain[1].partition(".")[2]),
            percent=_PERCENT.match(after) is not None,
        )
