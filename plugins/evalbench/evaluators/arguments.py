"""Arguments: were the expected calls made with the expected arguments?"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from evalbench.canonical import canonical_json
from evalbench.evaluators.base import Absent, Evaluator
from evalbench.evaluators.matching import Attempt, attempt
from evalbench.ledger import ExpectedCall, ToolCall, Trial, Verdict

MOST_COMPARISONS = 1_000_000
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)
_DEEPEST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Evaluator):
    """Share of expected arguments that are equal in same-named calls paired in order.

    Calls are paired by a longest common subsequence of names; where several exist, by the one with most equal
    arguments. Arguments the task doesn't name are ignored. Equality tolerates type (`"7"` and `7`, `"true"` and
    `true`, JSON inside a string), never spelling: `"007"` and `"1e3"` are ids, not numbers.
    detail: JSON with `pairs`, `equal`, `expected` arguments and `unmatched` expected calls.
    """

    name: ClassVar[str] = "arguments"
    version: ClassVar[str] = "1"
    values: ClassVar[tuple[str, ...]] = ("equal_share",)

    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        """One verdict: null when no call pairs, or when no paired call names an expected argument."""
        tried = attempt(trial)
        if isinstance(tried, Absent):
            return self.all_unavailable(trial, tried)
        gap = _gap(tried)
        if gap is not None:
            return self.all_unavailable(trial, gap)
        pairs, equal, expected = _best_pairing(tried.called, tried.expected)
        counts = {"pairs": pairs, "equal": equal, "expected": expected, "unmatched": len(tried.expected) - pairs}
        detail = canonical_json(counts)
        if not expected:
            reason = "no_expected_arguments" if pairs else "no_pair"
            return self.all_unavailable(trial, Absent(reason=reason, detail=detail))
        return self.verdicts(trial, {"equal_share": Fraction(equal, expected)}, detail)


def _gap(tried: Attempt) -> Absent | None:
    if len(tried.called) * len(tried.expected) > MOST_COMPARISONS:
        return Absent(reason="too_many_calls", detail=f"more than {MOST_COMPARISONS} pairs of calls to compare")
    return tried.sequence_gap()


def _best_pairing(called: Sequence[ToolCall], expected: Sequence[ExpectedCall]) -> tuple[int, int, int]:
    """(pairs, equal arguments, expected arguments) of the best pairing in order.

    Best = most pairs, then most equal arguments, then fewest expected ones: a total order over sums, so the values
    don't depend on which of several best pairings is found.
    """
    wanted = [_arguments(call.args_json) for call in expected]
    given = [_arguments(call.args_json) for call in called]
    above = [(0, 0, 0)] * (len(called) + 1)
    for call, arguments in zip(expected, wanted, strict=True):
        row = [(0, 0, 0)]
        for column, other in enumerate(called):
            best = max(row[column], above[column + 1])
            if other.name == call.name:
                pairs, equal, fewer = above[column]
                same = sum(1 for key, value in arguments.items() if given[column].get(key) == value)
                best = max(best, (pairs + 1, equal + same, fewer - len(arguments)))
            row.append(best)
        above = row
    pairs, equal, fewer = above[-1]
    return pairs, equal, -fewer


def _arguments(args_json: str | None) -> Mapping[str, str]:
    """Argument name to canonical text; arguments that are no object are one argument without a name."""
    if args_json is None:
        return {}
    value = _load(args_json)
    named = value if isinstance(value, dict) else {"": value}
    return {key: canonical_json(tolerant(item)) for key, item in named.items()}


def tolerant(value: object, depth: int = 0) -> object:
    """A parsed JSON value with types that only look different made equal.

    Tagged, so that a number never equals a boolean. Below a depth of 50 values are compared as text.
    """
    if depth > _DEEPEST:
        return ["text", str(value)]
    match value:
        case None:
            return ["null"]
        case bool():
            return ["boolean", value]
        case Decimal():
            return ["number", _plain(value)]
        case str():
            return _tolerant_text(value, depth)
        case list():
            return ["list", [tolerant(item, depth + 1) for item in value]]
        case dict():
            return ["object", {key: tolerant(item, depth + 1) for key, item in value.items()}]
    return ["text", str(value)]


def _tolerant_text(text: str, depth: int) -> object:
    stripped = text.strip()
    if _PLAIN_NUMBER.fullmatch(stripped):
        return ["number", _plain(Decimal(stripped))]
    if stripped.lower() in ("true", "false"):
        return ["boolean", stripped.lower() == "true"]
    if stripped[:1] in ("[", "{"):
        try:
            return tolerant(_load(stripped), depth + 1)
        except (ValueError, RecursionError):
            return ["text", stripped]
    return ["text", stripped]


def _load(text: str) -> object:
    """Parsed JSON with every number exact. ValueError for what is no JSON, NaN and infinities included."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _plain(number: Decimal) -> str:
    """One spelling per number (1, 1.0 and 1e0 are the same), exact however many digits it has."""
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "0"
    significant = text.rstrip("0")
    return f"{'-' if sign else ''}{significant}e{int(exponent) + len(text) - len(significant)}"


EVALUATOR = Arguments()
