"""Tool order: did the expected calls come in the expected order?"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalbench.evaluators.base import Absent, Evaluator
from evalbench.evaluators.matching import attempt, lcs_length
from evalbench.ledger import Trial, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOrder(Evaluator):
    """subsequence: 1 if the expected calls are a subsequence of the calls. graded: LCS/|expected|.

    With nothing expected the empty sequence is a subsequence of anything (1), and the graded value null.
    """

    name: ClassVar[str] = "tool_order"
    version: ClassVar[str] = "1"
    values: ClassVar[tuple[str, ...]] = ("subsequence", "graded")

    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        """Two verdicts; both need a source that keeps repeats and order."""
        tried = attempt(trial)
        if isinstance(tried, Absent):
            return self.all_unavailable(trial, tried)
        gap = tried.sequence_gap()
        if gap is not None:
            return self.all_unavailable(trial, gap)
        common, wanted = lcs_length(tried.called, tried.expected), len(tried.expected)
        graded = Fraction(common, wanted) if wanted else Absent(reason="nothing_expected")
        return self.verdicts(trial, {"subsequence": Fraction(common == wanted), "graded": graded})


EVALUATOR = ToolOrder()
