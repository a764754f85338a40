"""How a check's sentence counts things and names trials: a few, and how many more."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from evalbench.gate.case import Case
from evalbench.gate.result import Exact
from evalbench.judged import JudgedTrial
from evalbench.ledger import EffectState, PlanSource

NAMED = 5
REASON_CHARS = 60

Reasoned: TypeAlias = tuple[JudgedTrial, str | None]
"""A trial and why it is named, where that is known."""


def plural(count: int, one: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def figure(value: Exact | None, unit: str) -> str:
    """A figure in its unit, for a sentence: `0.818`, `$0.52`, `96.8 seconds`; `no figure` for None."""
    if value is None:
        return "no figure"
    size: Exact = -value if value < 0 else value
    sign, amount = "-" if value < 0 else "", _rounded(size, 4 if unit == "USD" else 3)
    if unit == "USD":
        whole, _, cents = amount.partition(".")
        return f"{sign}${whole}.{cents.ljust(2, '0')}"
    return f"{sign}{amount} {unit}" if unit in ("seconds", "tokens") else f"{sign}{amount}"


def difference(value: Exact | None, unit: str) -> str:
    """`difference +0.084`, with the sign of candidate - baseline; `difference unknown` for None."""
    if value is None:
        return "difference unknown"
    return f"difference {'+' if value > 0 else ''}{figure(value, unit)}"


def _rounded(value: Exact, places: int) -> str:
    """At most `places` decimals; more where they would show as nothing what is something."""
    text = f"{float(value):.{places}f}"
    if value and not float(text):
        text = f"{float(value):.{places + 6}f}"
    return text.rstrip("0").rstrip(".")


def listed(names: Iterable[str], more_of: str = "", most: int = NAMED) -> str:
    """Each name once, in order of first mention, at most `most` of them. more_of: what the others are."""
    once = list(dict.fromkeys(names))
    more = f" and {len(once) - most} more{more_of}" if len(once) > most else ""
    return ", ".join(once[:most]) + more


def owed_trials(case: Case) -> str:
    """What the trials are that a decision counts on: without a plan only those are known that were seen."""
    planned = all(run.plan.source is not PlanSource.OBSERVED for run in case.pool.runs)
    return "planned trials" if planned else "planned or seen trials"


def tolerated(case: Case) -> str:
    """`; 12 tolerated by the policy`: effects that no share counts. Empty without any."""
    count = case.effects.tolerated
    return f"; {count} tolerated by the policy" if count else ""


def trial_name(task_id: str, trial: int | None) -> str:
    """The task's id, and the trial's number where a task has several; a trial that left no record says so."""
    if trial is None:
        return f"{task_id} (no record)"
    return task_id if trial == 0 else f"{task_id}#{trial}"


def after(said: str, trials: Iterable[Reasoned]) -> str:
    """`said: t1 (reason), t2 (another)`; a reason they share stands once, at the end; `said` alone without trials."""
    found = [(trial_name(*trial.key[1:]), _short(reason)) for trial, reason in trials]
    if not found:
        return said
    names = [name for name, _ in found]
    more_of = " tasks" if len(set(names)) < len(names) else ""
    if len({reason for _, reason in found}) == 1:
        return f"{said}: {listed(names, more_of)}{_bracketed(found[0][1])}"
    return f"{said}: {listed((name + _bracketed(reason) for name, reason in found), more_of)}"


def with_unknown_effects(case: Case) -> Iterator[Reasoned]:
    """Trials with an effect nobody can account for, each with the first one's reason."""
    for trial in case.pool.trials:
        for effect in trial.effects:
            if effect.state is EffectState.UNKNOWN and case.effects.hold(effect):
                yield trial, effect.effect.reason
                break


def _bracketed(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _short(reason: str | None) -> str:
    """A record's own reason may be a page."""
    text = reason or ""
    return text if len(text) <= REASON_CHARS else f"{text[: REASON_CHARS - 1]}…"
