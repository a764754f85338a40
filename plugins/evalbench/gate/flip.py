"""What would flip a decision: follows from the two ends of the checks that fired, nothing else."""

from collections.abc import Iterable

from evalbench.gate.result import CheckResult, TrialRef
from evalbench.gate.wording import listed, trial_name


def what_would_flip(results: tuple[CheckResult, ...]) -> str:
    """One or two sentences naming the trials and evidence a different decision needs."""
    fired = [result for result in results if result.fired]
    proven = [result for result in fired if result.proven]
    if not fired:
        return "PASS holds at both ends; new harm on record, or a limit tightened in the policy, would flip it."
    missing = _named(ref for result in fired for ref in result.trials if ref.missing)
    open_checks = listed(result.name for result in fired if not result.proven)
    if not proven:
        whose = f" ({missing})" if missing else ""
        return f"PASS needs {open_checks} to hold once the missing evidence{whose} is in; nothing is proven so far."
    harm = _named(ref for result in proven for ref in result.trials if not ref.missing)
    names = ", ".join(result.name for result in proven)
    sentence = ""
    if missing:
        sentence = f"If the missing evidence ({missing}) turns out well: still FAIL, by {names}{_of(harm)}. "
    needs = f"{names} to pass{_of(harm)}"
    if open_checks:
        needs += f", and the evidence that {open_checks} {'waits' if ',' not in open_checks else 'wait'} for"
        needs += f" ({missing})" if missing else ""
    return f"{sentence}PASS needs {needs}."


def _of(names: str) -> str:
    return f" ({names})" if names else ""


def _named(refs: Iterable[TrialRef]) -> str:
    return listed(trial_name(ref.task_id, ref.trial) for ref in refs)
