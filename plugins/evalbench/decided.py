"""A decision with all that stands beside it: what reports and tables are made of."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from evalbench.gate.case import Case
from evalbench.gate.decision import Decision, decide
from evalbench.ledger import OutcomeState
from evalbench.pool import Pool
from evalbench.repeats import Bracket, pass_at_k_brackets, pass_hat_k_brackets
from evalbench.signals import Funnel, Signal, funnel, signals


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedSubject:
    """One subject on one date: the case, the gate's answer, five signals, the funnel, pass@k and pass^k by k."""

    case: Case
    decision: Decision
    signals: tuple[Signal, ...]
    funnel: Funnel
    pass_at_k: dict[int, Bracket]
    pass_hat_k: dict[int, Bracket]


def decide_subject(case: Case) -> DecidedSubject:
    """Decide a case and compute what stands beside the decision."""
    outcomes = repeated_outcomes(case.pool)
    return DecidedSubject(
        case=case,
        decision=decide(case),
        signals=signals(case.pool),
        funnel=funnel(case.pool),
        pass_at_k=pass_at_k_brackets(outcomes),
        pass_hat_k=pass_hat_k_brackets(outcomes),
    )


def repeated_outcomes(pool: Pool) -> dict[str, Counter[bool | None]]:
    """Task → how many of its trials verified (True), failed (False) or are unavailable (None).

    Valid waits are left out; one without a record is unavailable.
    """
    outcomes: dict[str, Counter[bool | None]] = defaultdict(Counter)
    for trial in pool.trials:
        if not trial.waiting:
            unavailable = trial.outcome.state is OutcomeState.UNAVAILABLE
            outcomes[trial.trial.task_id][None if unavailable else trial.verified] += 1
    for item in pool.missing:
        outcomes[item.task_id][None] += item.count
    return dict(outcomes)
