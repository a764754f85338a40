"""A decision with all that stands beside it: what reports and tables are made of."""

from collections import defaultdict
from dataclasses import dataclass

from evalbench.gate.case import Case
from evalbench.gate.decision import Decision, decide
from evalbench.ledger import OutcomeState
from evalbench.pool import Pool
from evalbench.repeats import Bracket, pass_hat_k_brackets
from evalbench.signals import Funnel, Signal, funnel, signals


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedSubject:
    """One subject on one date: the case, the gate's answer, five signals, the funnel and pass^k by k."""

    case: Case
    decision: Decision
    signals: tuple[Signal, ...]
    funnel: Funnel
    pass_hat_k: dict[int, Bracket]


def decide_subject(case: Case) -> DecidedSubject:
    """Decide a case and compute what stands beside the decision."""
    return DecidedSubject(
        case=case,
        decision=decide(case),
        signals=signals(case.pool),
        funnel=funnel(case.pool),
        pass_hat_k=pass_hat_k_brackets(repeated_outcomes(case.pool)),
    )


def repeated_outcomes(pool: Pool) -> dict[str, list[bool | None]]:
    """Task → its trials as verified, failed or unavailable; valid waits left out, one without a record unavailable."""
    outcomes: dict[str, list[bool | None]] = defaultdict(list)
    for trial in pool.trials:
        if not trial.waiting:
            unavailable = trial.outcome.state is OutcomeState.UNAVAILABLE
            outcomes[trial.trial.task_id].append(None if unavailable else trial.verified)
    for item in pool.missing:
        outcomes[item.task_id].extend([None] * item.count)
    return dict(outcomes)
