"""The number rule: every number a text states stands in the digest.

Tolerant of formatting: thousands separators, a share written as a percentage, a stored value rounded to the digits
given. Numbers inside names of the digest and in the run's date are no claims. Number words from zero to twelve are
claims where they count tasks, trials or the like ("three tasks", not "one reason"); larger ones and fractions before
such a noun can't be held against a figure and are refused.

In `4/5`, `4 of 5` and `4 out of 5` both numbers must also belong together: they stand in one row of the digest, or the
second is the number of trials on record or planned.

What only stands in a run's own words (`why`, `where`) may be repeated where a failure or defect is explained, nowhere
else: a transcript can't lend a headline its numbers.
"""

import re
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from itertools import product

from evalbench.summaries.numerals import Numeral, numerals, plain_form, ratios
from evalbench.summaries.personal import MAX_EXCERPT
from evalbench.summaries.vocabulary import Vocabulary

NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_COUNTED = (
    r"(?:tasks?|trials?|runs?|attempts?|scenarios?|cases?|outcomes?|effects?|completions?|declarations?|windows?"
    r"|failures?|successes|crashes|judges?|graders?|comparators?|metrics?|verdicts?|rows?|scores?|defects?|calls?)"
)
_BEFORE_COUNTED = rf"(?=[\s-]+(?:(?:out )?of (?:the |its |all |these )*)?(?:[\w'-]+\s+){{0,2}}?{_COUNTED}\b)"
_WORD_CLAIM = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})\b{_BEFORE_COUNTED}", re.IGNORECASE)
_LARGE_CLAIM = re.compile(
    r"\b(?:thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    rf"|ninety|dozens?|hundreds?|thousands?|half|halves|thirds?|quarters?)\b(?:{_BEFORE_COUNTED}|(?=\s+of\b))",
    re.IGNORECASE,
)
_ENDS = (Decimal(0), Decimal(1), Decimal(100))
_TWO_DIGITS = 10
_EXACT = Context(prec=MAX_EXCERPT)  # no number of a digest has more digits


def invented_numbers(
    text: str, known: Vocabulary, *, quoting: bool = False, own_tasks: int | None = None
) -> tuple[str, ...]:
    """What a text states and the digest doesn't, as written, in order; empty when all of it stands there.

    quoting: the evidence's own numbers may be repeated. own_tasks: the number of tasks named beside the text.
    """
    plain = known.names.sub("§", plain_form(text))
    own = frozenset() if own_tasks is None else frozenset({Decimal(own_tasks)})
    numbers = known.numbers | own | (known.evidence.numbers if quoting else frozenset())
    percents = known.percents | (known.evidence.percents if quoting else frozenset())
    words = known.words | (known.evidence.words if quoting else frozenset())
    found = [n.text for n in numerals(plain) if not _stands(n, numbers, percents, words)]
    found += [word for word in _WORD_CLAIM.findall(plain) if Decimal(NUMBER_WORDS.index(word.lower())) not in numbers]
    found += _LARGE_CLAIM.findall(plain)
    pairs = known.ratios | frozenset(product(own, known.whole)) | (known.evidence.ratios if quoting else frozenset())
    found += [written for ratio, written in ratios(plain) if ratio not in pairs]
    return tuple(dict.fromkeys(found))


def _stands(numeral: Numeral, numbers: Iterable[Decimal], percents: Iterable[Decimal], words: frozenset[str]) -> bool:
    if numeral.value is None:
        return numeral.text.casefold() in words
    said = numeral.value
    if numeral.percent:
        return any(_reads_as(said, numeral.places, stored, whole_from=Decimal(0)) for stored in percents)
    return any(_reads_as(said, numeral.places, stored, whole_from=Decimal(_TWO_DIGITS)) for stored in numbers)


def _reads_as(said: Decimal, places: int, stored: Decimal, *, whole_from: Decimal) -> bool:
    """Whether `said` is `stored`, or `stored` rounded to the places given.

    Rounding never reaches 0, 1 or 100, where a share of some would read as none or all, and leaves a number below
    `whole_from` a decimal.
    """
    if said == stored:
        return True
    if said in _ENDS or (places == 0 and abs(stored) < whole_from):
        return False
    if places >= _places(stored):
        return False
    step = Decimal(1).scaleb(-places)
    return any(stored.quantize(step, rounding=way, context=_EXACT) == said for way in (ROUND_HALF_UP, ROUND_HALF_EVEN))


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0
