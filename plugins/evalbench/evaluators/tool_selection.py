"""Tool selection: were the right tools called? Precision, recall and F1 over names (set) and over calls (multiset)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalbench.evaluators.base import Absent, Evaluator
from evalbench.evaluators.matching import attempt, multiset_matched
from evalbench.ledger import Trial, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection(Evaluator):
    """matched/called, matched/expected and 2·matched/(called + expected).

    Nothing called and nothing expected is 1 throughout. With one side empty F1 is 0 and the rate over nothing null.
    """

    name: ClassVar[str] = "tool_selection"
    version: ClassVar[str] = "1"
    values: ClassVar[tuple[str, ...]] = (
        "set_precision",
        "set_recall",
        "set_f1",
        "multiset_precision",
        "multiset_recall",
        "multiset_f1",
    )

    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        """Six verdicts; the multiset ones need a source that keeps repeats."""
        tried = attempt(trial)
        if isinstance(tried, Absent):
            return self.all_unavailable(trial, tried)
        called, expected = set(tried.called_names), set(tried.expected_names)
        found = _rates("set", len(called & expected), len(called), len(expected))
        gap = tried.sequence_gap()
        if gap is not None:
            found |= dict.fromkeys(("multiset_precision", "multiset_recall", "multiset_f1"), gap)
        else:
            matched = multiset_matched(tried.called, tried.expected)
            found |= _rates("multiset", matched, len(tried.called), len(tried.expected))
        return self.verdicts(trial, found, tried.note)


def _rates(variant: str, matched: int, called: int, expected: int) -> dict[str, Fraction | Absent]:
    if not called and not expected:
        return dict.fromkeys((f"{variant}_precision", f"{variant}_recall", f"{variant}_f1"), Fraction(1))
    return {
        f"{variant}_precision": Fraction(matched, called) if called else Absent(reason="nothing_called"),
        f"{variant}_recall": Fraction(matched, expected) if expected else Absent(reason="nothing_expected"),
        f"{variant}_f1": Fraction(2 * matched, called + expected),
    }


EVALUATOR = ToolSelection()
