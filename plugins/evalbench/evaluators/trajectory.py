"""Trajectory: the six metrics of Vertex AI, on calls as they were made."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalbench.evaluators.base import Absent, Evaluator
from evalbench.evaluators.matching import Attempt, attempt, lcs_length, matches
from evalbench.ledger import Trial, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory(Evaluator):
    """exact, in order, any order, precision, recall and single tool use.

    any_order, precision and recall ask for membership, as Vertex defines them: a call made once answers every repeat
    of its expectation. Repeats are seen by exact, in_order and the multiset tool selection.
    single_tool_use is for tasks that expect exactly one tool: 1 if that tool occurs.
    """

    name: ClassVar[str] = "trajectory"
    version: ClassVar[str] = "1"
    values: ClassVar[tuple[str, ...]] = ("exact", "in_order", "any_order", "precision", "recall", "single_tool_use")

    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        """Six verdicts; exact, in_order and precision need a source that keeps repeats and order."""
        tried = attempt(trial)
        if isinstance(tried, Absent):
            return self.all_unavailable(trial, tried)
        found = _sequence(tried) | _membership(tried) | {"single_tool_use": _single_tool_use(tried)}
        return self.verdicts(trial, found, tried.note)


def _sequence(tried: Attempt) -> dict[str, Fraction | Absent]:
    gap = tried.sequence_gap()
    if gap is not None:
        return dict.fromkeys(("exact", "in_order", "precision"), gap)
    called, expected = tried.called, tried.expected
    exact = len(called) == len(expected) and all(map(matches, called, expected))
    return {
        "exact": Fraction(exact),
        "in_order": Fraction(lcs_length(called, expected) == len(expected)),
        "precision": _precision(tried),
    }


def _precision(tried: Attempt) -> Fraction | Absent:
    if not tried.called:
        return Absent(reason="nothing_called") if tried.expected else Fraction(1)
    names = {wanted.name for wanted in tried.expected if wanted.args_json is None}
    calls = {(wanted.name, wanted.args_json) for wanted in tried.expected if wanted.args_json is not None}
    answered = sum(1 for call in tried.called if call.name in names or (call.name, call.args_json) in calls)
    return Fraction(answered, len(tried.called))


def _membership(tried: Attempt) -> dict[str, Fraction | Absent]:
    gap = tried.arguments_gap()
    if gap is not None:
        return dict.fromkeys(("any_order", "recall"), gap)
    names = set(tried.called_names)
    calls = {(call.name, call.args_json) for call in tried.called}
    occurs = sum(
        1
        for wanted in tried.expected
        if (wanted.name in names if wanted.args_json is None else (wanted.name, wanted.args_json) in calls)
    )
    total = len(tried.expected)
    if total:
        return {"any_order": Fraction(occurs == total), "recall": Fraction(occurs, total)}
    return {"any_order": Fraction(1), "recall": Absent(reason="nothing_expected") if tried.called else Fraction(1)}


def _single_tool_use(tried: Attempt) -> Fraction | Absent:
    expected = set(tried.expected_names)
    if len(expected) != 1:
        return Absent(reason="no_single_tool", detail=f"{len(expected)} tools are expected, one is needed")
    return Fraction(expected <= set(tried.called_names))


EVALUATOR = Trajectory()
