"""What a summary may name and say: the ids, names and numbers of a digest, told apart by where they stand in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any

from evalbench.summaries.digest import Digest
from evalbench.summaries.numerals import Ratio, numerals, plain_form, ratios

_PROSE = frozenset({"why", "where"})
_FIGURES = frozenset({"numerator", "value", "estimated_usd"})
_SCALES = frozenset({"best"})
_SHARES = ("task_quality", "useful_progress", "effect_integrity", "false_success")
_ROWS = ("metrics", "graders", "tasks", "judge_health")
_OF_THE_WHOLE = ("trials", "harm", "signals", "judge_failures", "defects")
_ID = re.compile(r"\b[A-Z][A-Za-z]{0,11}-\d{2,}\b")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotable:
    """Numbers, percentages, words with digits and ratios that stand in the evidence a run wrote."""

    numbers: frozenset[Decimal]
    percents: frozenset[Decimal]
    words: frozenset[str]
    ratios: frozenset[Ratio]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """task_ids: as the digest writes them. numbers: every recorded figure. percents: every recorded share, times 100.

    words: words with digits that are part of a name, in small letters. ratios: figures that stand side by side, and
    counts over the trials on record or planned. whole: those two. names: finds whole names, ids that the evidence holds
    (`INV-60342`) and the run's date in a text. evidence: what may be quoted where a failure is explained.
    """

    task_ids: frozenset[str]
    numbers: frozenset[Decimal]
    percents: frozenset[Decimal]
    words: frozenset[str]
    ratios: frozenset[Ratio]
    whole: frozenset[Decimal]
    evidence: Quotable
    names: re.Pattern[str] = field(repr=False)


def vocabulary(digest: Digest) -> Vocabulary:
    """The vocabulary of a digest."""
    parts: Mapping[str, Any] = digest
    leaves = list(_leaves(parts))
    names = sorted({name for name in _names(leaves) if any(letter.isdigit() for letter in name)})
    task_ids = {row["task_id"] for row in (*parts["tasks"], *parts["judge_failures"]) if row["task_id"] is not None}
    whole = {Decimal(parts["trials"]["recorded"]), Decimal(parts["trials"]["planned"])}
    evidence = [plain_form(leaf) for key, leaf in leaves if key == "why" and isinstance(leaf, str)]
    bare = {name for name in names if re.fullmatch(r"[\d.,]+", name)}
    spelt = [name for name in names if name not in bare] + [word for text in evidence for word in _ID.findall(text)]
    return Vocabulary(
        task_ids=frozenset(task_ids),
        numbers=frozenset(_numbers(leaves)),
        percents=frozenset(_percents(parts)),
        words=frozenset(word for name in spelt for word in _words(name)),
        ratios=frozenset(_ratios(parts, whole)),
        whole=frozenset(whole),
        evidence=_quotable(evidence),
        names=_pattern(spelt, sorted(bare & task_ids), date.fromisoformat(parts["run"]["run_date"])),
    )


def _leaves(value: object, key: str = "", *, prose: bool = False) -> Iterator[tuple[str, object]]:
    """(key, leaf) of every leaf, and ("", key) of every key that is a name; leaves of prose have the key `why`."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield "", name
            yield from _leaves(inner, name, prose=prose or name in _PROSE)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, key, prose=prose)
    else:
        yield ("why" if prose else key), value


def _names(leaves: list[tuple[str, object]]) -> Iterator[str]:
    for key, leaf in leaves:
        if isinstance(leaf, str) and key not in _PROSE | _FIGURES | _SCALES:
            yield plain_form(leaf)


def _numbers(leaves: list[tuple[str, object]]) -> Iterator[Decimal]:
    for key, leaf in leaves:
        if (isinstance(leaf, int) and not isinstance(leaf, bool)) or (isinstance(leaf, str) and key in _FIGURES):
            yield Decimal(leaf)


def _percents(parts: Mapping[str, Any]) -> Iterator[Decimal]:
    shares = [parts["signals"][name]["value"] for name in _SHARES] + [grader["value"] for grader in parts["graders"]]
    yield from (100 * Decimal(share) for share in shares if share is not None)
    for metric in parts["metrics"]:
        if metric["value"] is not None and metric["best"] is not None:
            yield 100 * Decimal(metric["value"]) / Decimal(metric["best"])
    if parts["general_score"]["value"] is not None:
        yield Decimal(parts["general_score"]["value"])


def _ratios(parts: Mapping[str, Any], whole: set[Decimal]) -> Iterator[Ratio]:
    rows = (parts["trials"], *parts["signals"].values(), *(row for name in _ROWS for row in parts[name]))
    for row in rows:
        yield from product(set(_numbers(list(_leaves(row)))), repeat=2)
    counts = {name: parts[name] for name in _OF_THE_WHOLE}
    yield from product(set(_numbers(list(_leaves(counts)))), whole)


def _quotable(texts: list[str]) -> Quotable:
    found = [numeral for text in texts for numeral in numerals(text)]
    return Quotable(
        numbers=frozenset(n.value for n in found if n.value is not None and not n.percent),
        percents=frozenset(n.value for n in found if n.value is not None and n.percent),
        words=frozenset(n.text.casefold() for n in found if n.value is None),
        ratios=frozenset(ratio for text in texts for ratio, _ in ratios(text)),
    )


def _words(name: str) -> Iterator[str]:
    """Words with digits in a name, as numerals see them and as people shorten it: `tool_selection.set_f1` → `f1`."""
    yield from (numeral.text.casefold() for numeral in numerals(name) if numeral.value is None)
    yield from (part.casefold() for part in re.findall(r"[^\W_]+", name) if not part.isalpha())


def _pattern(spelt: list[str], bare: list[str], day: date) -> re.Pattern[str]:
    """Names stand alone. An id of digits only is one behind the word task or id; elsewhere it is a number."""
    choices = [re.escape(name) for name in sorted({*spelt, *_spelled(day)}, key=lambda name: (-len(name), name))]
    patterns = [rf"(?<!\w)(?:{'|'.join(choices)})(?!\w)"]
    if bare:
        one = rf"(?:{'|'.join(re.escape(name) for name in sorted(bare, key=len, reverse=True))})(?!\w)"
        patterns.append(rf"\b(?:tasks?|ids?)[ #:]{{1,3}}{one}(?:(?:,| and|, and) {one})*")
    return re.compile("|".join(patterns), re.IGNORECASE)


def _spelled(day: date) -> Iterator[str]:
    """A date as people write it."""
    yield day.isoformat()
    for month in (_MONTHS[day.month - 1], _MONTHS[day.month - 1][:3]):
        yield from (f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{month} {day.day} {day.year}")
        yield from (f"{day.day} {month}", f"{month} {day.day}")
