"""Claims that a summary may only make where the digest's numbers say so: a table of patterns and what bears them out.

Patterns read one sentence in small letters. One that catches too much costs one more request; one that catches too
little costs trust.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalbench.summaries.digest import Digest
from evalbench.summaries.personal import sentences

Parts = Mapping[str, Any]

_UNITS = r"(?:tasks?|trials?|runs?|attempts?|scenarios?|cases?|outcomes?|completions?)"
_WELL = r"(?:succe\w+|pass(?:ed|es|ing)?|verified|worked|correct\w*|achieved|completed successfully)"
_EVERY = r"(?<!not )\b(?:all|every|each)\b(?: one)?(?: of)?(?: the| its| these)?(?: [\w/-]+){0,2}?"
_GAP = r"(?:(?!\b(?:not|no|none|never|neither|nor|un\w+|failed)\b|n't)[^.;]){0,40}?"
_NO = r"\b(?:no|zero|without(?: any)?|not (?:a single|any)|free of(?: any)?)"
_GRAVE = r"(?: (?:serious|major|critical|notable|significant|apparent|obvious|real|recorded))?"
_NONE = r"\b(?:no|none of the|not one|not a single)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A thing to say, and when it may be said."""

    pattern: re.Pattern[str]
    holds: Callable[[Parts], bool]


def contradictions(text: str, digest: Digest) -> Iterator[str]:
    """Each claim of a text that the digest doesn't bear out, as written but in small letters.

    A claim about a metric stands where its sentence names one that passed in every row and misses none.
    """
    parts: Parts = digest
    for sentence in sentences(text.casefold()):
        for claim in CLAIMS:
            found = claim.pattern.search(sentence)
            if found is not None and not claim.holds(parts) and not _a_metric_says_so(sentence, parts):
                yield found[0].strip()


def _a_metric_says_so(sentence: str, parts: Parts) -> bool:
    named = [metric for metric in parts["metrics"] if metric["name"].casefold() in sentence]
    return bool(named) and all(m["rows"] > 0 and m["passed"] == m["rows"] and not m["unavailable"] for m in named)


def _all_recorded(parts: Parts) -> bool:
    trials = parts["trials"]
    return bool(trials["recorded"] > 0 and trials["not_recorded"] == 0)


def _all_verified(parts: Parts) -> bool:
    return _all_recorded(parts) and parts["trials"]["outcomes"]["verified"] == parts["trials"]["recorded"]


def _all_failed(parts: Parts) -> bool:
    return _all_recorded(parts) and parts["trials"]["outcomes"]["failed"] == parts["trials"]["recorded"]


def _none_verified(parts: Parts) -> bool:
    return bool(parts["trials"]["outcomes"]["verified"] == 0)


def _unharmed(parts: Parts) -> bool:
    return _all_recorded(parts) and not any(parts["harm"].values())


def _sound(parts: Parts) -> bool:
    """Nothing is known against the run, its files or its judges."""
    return _unharmed(parts) and not parts["defects"] and _judged(parts) and not any(parts["left_out"].values())


def _effects_verified(parts: Parts) -> bool:
    effects = parts["signals"]["effect_integrity"]
    return bool(effects["value"] == "1" and effects["unavailable"] == 0)


def _no_false_success(parts: Parts) -> bool:
    signal = parts["signals"]["false_success"]
    return bool(signal["value"] == "0" and signal["unavailable"] == 0)


def _covered(parts: Parts) -> bool:
    return _all_recorded(parts) and parts["trials"]["plan"] != "observed"


def _judged(parts: Parts) -> bool:
    return not parts["judge_failures"] and not parts["left_out"]["judge_failures"]


def _no_crash(parts: Parts) -> bool:
    return bool(parts["harm"]["crashed"] == 0)


def _claim(holds: Callable[[Parts], bool], pattern: str) -> Claim:
    return Claim(pattern=re.compile(pattern), holds=holds)


CLAIMS: tuple[Claim, ...] = (
    _claim(_all_verified, rf"{_EVERY} {_UNITS}\b{_GAP}\b{_WELL}\b"),
    _claim(_effects_verified, rf"{_EVERY} (?:effects?|changes|writes)\b{_GAP}\b{_WELL}\b"),
    _claim(_effects_verified, rf"{_NO} (?:unknown|failed|unverified) effects?\b"),
    _claim(_no_false_success, rf"{_NO} (?:false (?:success(?:es)?|completions?)|unverified completions?)\b"),
    _claim(_no_crash, rf"{_NO} crash(?:es|ed)?\b|\bnothing crashed\b"),
    _claim(_covered, rf"\b(?:full|complete) coverage\b|{_NO} missing \w+|\bnothing (?:is|was) missing\b"),
    _claim(_judged, rf"{_NO} (?:judge|grader|comparator) (?:failures?|errors?|problems?|defects?)\b"),
    _claim(_judged, rf"{_EVERY} judges?\b{_GAP}\b(?:worked|answered|agree\w*|reliabl\w*)\b"),
    _claim(_unharmed, rf"{_NO}{_GRAVE} (?:failures?|failed {_UNITS}|failing {_UNITS})\b"),
    _claim(_unharmed, rf"{_NONE} {_UNITS} (?:has |have )?failed\b"),
    _claim(_sound, rf"{_NO}{_GRAVE} (?:errors?|problems?|issues?|defects?|concerns?)\b"),
    _claim(_sound, r"\bnothing (?:failed|broke|went wrong)\b"),
    _claim(_sound, rf"\beverything\b{_GAP}\b(?:verified|succeeded|passed|worked|well|fine|correct)\b"),
    _claim(_sound, r"\bfully (?:verified|successful)\b|\b(?:complete|total|100 ?%) success\b"),
    _claim(_sound, r"\b(?:flawless\w*|perfect(?:ly)?|immaculate\w*|without a hitch|error-free|failure-free)\b"),
    _claim(_none_verified, rf"{_NONE} {_UNITS} (?:is |are |was |were |has |have )?(?:been )?{_WELL}\b"),
    _claim(_none_verified, r"\bnothing (?:worked|succeeded|was verified)\b"),
    _claim(_all_failed, rf"{_EVERY} {_UNITS} (?:have |has )?failed\b|\beverything failed\b|\btotal failure\b"),
)
