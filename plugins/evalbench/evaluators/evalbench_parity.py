"""EvalBench parity: what its trajectory_matcher would say, recomputed from the recorded calls.

Like upstream's default, both sides keep only names of the form `server__tool`; both sides empty is 100, so a task that
expects nothing always gets a value, declared or not.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from rapidfuzz.distance import Levenshtein

from evalbench.evaluators.base import Absent, Evaluator
from evalbench.evaluators.matching import attempt
from evalbench.ledger import Trial, Verdict
from evalbench.names import SEPARATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalbenchParity(Evaluator):
    """jaccard: of the name sets, times 100. ordered: 100·(1 - Levenshtein distance/longer length).

    filter_native_tools: drop bare names from both sides, as EvalBench does unless told otherwise.
    """

    name: ClassVar[str] = "evalbench_parity"
    version: ClassVar[str] = "1"
    values: ClassVar[tuple[str, ...]] = ("jaccard", "ordered")
    top: ClassVar[Decimal] = Decimal(100)

    filter_native_tools: bool = True

    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        """Two verdicts on 0..100. EvalBench itself compares accumulated names, so those are good enough here."""
        tried = attempt(trial, undeclared_empty=True)
        if isinstance(tried, Absent):
            return self.all_unavailable(trial, tried)
        called, expected = self._kept(tried.called_names), self._kept(tried.expected_names)
        if not called and not expected:
            return self.verdicts(trial, dict.fromkeys(self.values, Fraction(100)), tried.note)
        both, either = set(called) & set(expected), set(called) | set(expected)
        distance = Levenshtein.distance(called, expected)
        found = {
            "jaccard": Fraction(100 * len(both), len(either)),
            "ordered": 100 - Fraction(100 * distance, max(len(called), len(expected))),
        }
        return self.verdicts(trial, found, tried.note)

    def _kept(self, names: list[str]) -> list[str]:
        return [name for name in names if _names_a_server(name)] if self.filter_native_tools else names


def _names_a_server(name: str) -> bool:
    server, separator, tool = name.partition(SEPARATOR)
    return bool(server and separator and tool)


EVALUATOR = EvalbenchParity()
