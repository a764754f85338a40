"""The evaluators, one module each. A new one is one file with an `EVALUATOR`, and one line here."""

from importlib import import_module

from evalbench.canonical import sha256_parts
from evalbench.evaluators.base import Evaluator, run_evaluators
from evalbench.ledger import Trial, Verdict

EVALUATOR_MODULES = (
    "tool_selection",
    "tool_order",
    "tools_avoided",
    "trajectory",
    "evalbench_parity",
    "arguments",
)


def load_evaluators(modules: tuple[str, ...] = EVALUATOR_MODULES) -> tuple[Evaluator, ...]:
    """The `EVALUATOR` of each module of this package, in the order given."""
    return tuple(import_module(f"{__name__}.{module}").EVALUATOR for module in modules)


EVALUATORS = load_evaluators()


def evaluate_trial(trial: Trial, evaluators: tuple[Evaluator, ...] = EVALUATORS) -> tuple[Verdict, ...]:
    """Every evaluator's verdicts on one trial, in a stable order. Never raises: a crash is `evaluator_error`."""
    return run_evaluators(trial, evaluators)


def evaluators_digest(evaluators: tuple[Evaluator, ...] = EVALUATORS) -> str:
    """Hex sha256 over names, versions and parameters; it keys stored verdicts. The evaluators' order doesn't matter."""
    return sha256_parts(sorted(f"{evaluator.name}={evaluator.version}:{evaluator!r}" for evaluator in evaluators))
