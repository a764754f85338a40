"""What an evaluator is: a small frozen dataclass that turns one trial into named verdicts.

An evaluator reads the ledger only. A value it can't give is an unavailable verdict with a reason, never 0, and a
crash inside one is the same (`evaluator_error`): one evaluator never costs the others their verdicts.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from evalbench.decimals import nine_places
from evalbench.ledger import Trial, Verdict, VerdictState


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A value that can't be given: a snake_case reason and, where it helps a person, a detail."""

    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator(ABC):
    """Base of every evaluator; its fields are its parameters.

    name: unique, snake_case. version: raised whenever a value could change; it keys stored verdicts.
    values: the names of the values it gives, in order; "" names a single value after the evaluator itself.
    top: the best possible value.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    values: ClassVar[tuple[str, ...]]
    top: ClassVar[Decimal] = Decimal(1)

    @abstractmethod
    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        """One verdict per name in `values`, in that order."""

    @classmethod
    def verdict_names(cls) -> tuple[str, ...]:
        """Full names of the verdicts, e.g. `tool_order.graded`."""
        return tuple(f"{cls.name}.{value}" if value else cls.name for value in cls.values)

    def score(self, trial: Trial, value: str, number: Fraction, detail: str | None = None) -> Verdict:
        """An available verdict; `number` is rounded here."""
        return self._verdict(trial, value, number=nine_places(number), detail=detail)

    def unavailable(self, trial: Trial, value: str, absent: Absent) -> Verdict:
        """A verdict that was not possible, with its reason."""
        return self._verdict(trial, value, reason=absent.reason, detail=absent.detail)

    def all_unavailable(self, trial: Trial, absent: Absent) -> tuple[Verdict, ...]:
        """Every value of this evaluator unavailable for the same reason."""
        return tuple(self.unavailable(trial, value, absent) for value in self.values)

    def verdicts(
        self, trial: Trial, found: Mapping[str, Fraction | Absent], detail: str | None = None
    ) -> tuple[Verdict, ...]:
        """One verdict per name in `values` from what was found; `detail` stands beside the available ones."""
        made = []
        for value in self.values:
            number = found[value]
            if isinstance(number, Absent):
                made.append(self.unavailable(trial, value, number))
            else:
                made.append(self.score(trial, value, number, detail))
        return tuple(made)

    def _verdict(
        self,
        trial: Trial,
        value: str,
        *,
        number: Decimal | None = None,
        reason: str | None = None,
        detail: str | None = None,
    ) -> Verdict:
        return Verdict(
            name=f"{self.name}.{value}" if value else self.name,
            source="evaluator",
            version=self.version,
            value=number,
            state=VerdictState.UNAVAILABLE if number is None else VerdictState.AVAILABLE,
            reason=reason,
            task_id=trial.task_id,
            trial=trial.trial,
            detail=detail,
            ref=trial.ref,
        )


def run_evaluators(trial: Trial, evaluators: Iterable[Evaluator]) -> tuple[Verdict, ...]:
    """Every evaluator's verdicts on one trial, in the order given. Never raises: a crash is `evaluator_error`."""
    verdicts: list[Verdict] = []
    for evaluator in evaluators:
        try:
            verdicts.extend(evaluator.evaluate(trial))
        except Exception as error:  # noqa: BLE001 - any crash is one evaluator's failure and becomes data
            detail = f"{type(error).__name__}: {error}"[:200]
            verdicts.extend(evaluator.all_unavailable(trial, Absent(reason="evaluator_error", detail=detail)))
    return tuple(verdicts)
