"""What a judge's log says, read without trusting the score beside it."""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Stated(StrEnum):
    """The verdict a judge's log states."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    BOTH = "both"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorCounts:
    """Hallucinations and unneeded clarifications: as the judge states them, and as EvalBench's patterns see them."""

    stated: tuple[int, ...]
    as_harness: tuple[int, ...]


_SUB_GOALS = re.compile(r"(\d{1,6})/(\d{1,6}) sub-goals met")
_LABEL = (
    r"(?:(?:(?:final|overall|my)\s+)?"
    r"(?:verdict|result|answer|evaluation|decision|judge?ment|assessment|outcome|score|grade|pass\s*(?:/|or)\s*fail)"
    r"\s{0,3}(?:is|was)?\s{0,3}[:=-]?\s{0,3})?"
)
_LEAD = re.compile(
    rf"\W{{0,10}}{_LABEL}(?:(pass(?:ed|es)?|fail(?:ed|s|ure)?)\b|(\d{{1,9}})/1\b)([^\n]*)", re.IGNORECASE
)
_ECHO = re.compile(r"\s*(?:/|or\b)\s*fail", re.IGNORECASE)
_CONCLUSION = re.compile(
    r"^[^\w\n]{0,10}(?:(?:final|overall)\s{1,3})?(?:verdict|answer|conclusion)\W{1,5}(pass|fail)(?:ed|s|es|ure)?\b",
    re.IGNORECASE | re.MULTILINE,
)
_ALONE = re.compile(r"^[^\w\n]{0,10}(PASS|FAIL)(?:ED)?[^\w\n]{0,10}$", re.MULTILINE)
_CAPITALS = re.compile(r"\b(PASS|FAIL)(?:ED)?\b")
_NEGATION = re.compile(r"(?:\b(?:not|no|never|cannot|would|should|could|if|or)|n't)\b", re.IGNORECASE)


def stated_verdict(log: str) -> Stated:
    """PASS or FAIL as a judge's log states it, whatever else it mentions ("password", "the call failed once").

    Read in this order: the word the log begins with, behind markdown and a label like `Verdict:`; lines that
    conclude (`Final verdict: PASS`, or the word alone); the only capital PASS or FAIL of the first line, unless it
    is negated. BOTH when the beginning and all conclusions differ, or, without one, conclusions among themselves.
    """
    text = _plain(log)
    first, _, rest = text.partition("\n")
    lead = _lead(text)
    body = text if lead is None else rest
    concluded = {word.upper() == "PASS" for word in (*_CONCLUSION.findall(body), *_ALONE.findall(body))}
    if lead is not None:
        return _as_stated({lead} | concluded if len(concluded) == 1 else {lead})
    if concluded:
        return _as_stated(concluded)
    words = {word == "PASS" for word in _CAPITALS.findall(first)}
    return Stated.NOTHING if len(words) != 1 or _NEGATION.search(first) else _as_stated(words)


def lead_verdict(log: str) -> Stated:
    """The verdict a log begins with, for a scorer whose way of stating one is unknown."""
    lead = _lead(_plain(log))
    return Stated.NOTHING if lead is None else _as_stated({lead})


def _plain(log: str) -> str:
    return re.sub(r"[*_`#>\"<\[\]]", "", log).strip()


def _as_stated(passes: set[bool]) -> Stated:
    return Stated.BOTH if len(passes) > 1 else Stated.PASS if True in passes else Stated.FAIL


def _lead(text: str) -> bool | None:
    """Whether the log begins with PASS (or n/1), None when it begins with neither verdict.

    In small letters the word must end the phrase: "Failed tool calls aside" and "Fail-safe" are no verdict.
    """
    found = _LEAD.match(text)
    if found is None:
        return None
    word, points, rest = found.groups()
    if points is not None:
        return int(points) >= 1
    ends_phrase = re.match(r"\s*(?:$|[^\w\s-]|-+\s)", rest)
    if _ECHO.match(rest) or not (word.isupper() or ends_phrase):
        return None
    return bool(word.upper().startswith("PASS"))


def sub_goal_share(log: str) -> Decimal | None:
    """100·met/goals as a log of the second generation of goal_completion states it, None for any other log."""
    share = _SUB_GOALS.match(log)
    if share is None or int(share[2]) == 0:
        return None
    return 100 * Decimal(share[1]) / Decimal(share[2])


_COUNTS = tuple(
    (re.compile(rf"{name} Count:\s*(\d{{1,9}})"), re.compile(rf"{name}s?[ _]count\W{{0,8}}(\d{{1,9}})", re.IGNORECASE))
    for name in ("Hallucination", "Clarification")
)


def behavior_counts(log: str) -> BehaviorCounts | None:
    """Both counts of a behavioral_metrics log, None unless both are stated (in bold and as JSON keys, too)."""
    stated, as_harness = [], []
    for strict, tolerant in _COUNTS:
        found = tolerant.search(log)
        if found is None:
            return None
        seen = strict.search(log)
        stated.append(int(found[1]))
        as_harness.append(int(seen[1]) if seen is not None else 0)
    return BehaviorCounts(stated=tuple(stated), as_harness=tuple(as_harness))


_FAVOURABLE = frozenset({"EQUIVALENT", "INFORMATION_MATCHES", "EXTRA_INFORMATION"})
_CHOICE = re.compile(
    r"\b(EQUIVALENT|INFORMATION_MATCHES|EXTRA_INFORMATION"
    r"|NOT_EQUIVALENT|MISSING_INFORMATION|INCORRECT_INFORMATION|INCONSISTENT)\b"
)
_FINAL_CHOICE = re.compile(rf"FINAL ANSWER\W{{0,20}}{_CHOICE.pattern}")
# How a log of these raters begins when no model was asked.
NO_JUDGE_NEEDED = ("Skipped.", "Generated query failed to execute", "Inconsistent: One trial", "Inferred from")


def chosen_answer(log: str) -> bool | None:
    """Whether a rater's final answer is favourable; None when it chooses nothing, or both ways.

    Read in this order: behind `FINAL ANSWER`, in the last line, anywhere.
    """
    text = log.partition("\nError analysis:")[0].strip()
    chosen = _FINAL_CHOICE.findall(text) or _CHOICE.findall(text.rpartition("\n")[2]) or _CHOICE.findall(text)
    favourable = {word in _FAVOURABLE for word in chosen}
    return favourable.pop() if len(favourable) == 1 else None
