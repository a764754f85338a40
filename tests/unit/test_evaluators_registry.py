"""How evaluators are found, versioned and kept from harming each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from evalbench import evaluators
from evalbench.evaluators import EVALUATOR_MODULES, EVALUATORS, evaluate_trial, evaluators_digest, load_evaluators
from evalbench.evaluators.base import Evaluator
from evalbench.evaluators.evalbench_parity import EvalbenchParity
from evalbench.ledger import Trial, Verdict

TRIAL = Trial(task_id="t1", trial=2, calls=(), expected=(), forbidden=("drop",))
NEW_EVALUATOR = """
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalbench.evaluators.base import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount(Evaluator):
    name: ClassVar[str] = "call_count"
    version: ClassVar[str] = "1"
    values: ClassVar[tuple[str, ...]] = ("",)

    def evaluate(self, trial):
        return self.verdicts(trial, {"": Fraction(len(trial.calls))})


EVALUATOR = CallCount()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashing(Evaluator):
    """Fails on every trial."""

    name: ClassVar[str] = "crashing"
    version: ClassVar[str] = "3"
    values: ClassVar[tuple[str, ...]] = ("one", "two")

    def evaluate(self, trial: Trial) -> tuple[Verdict, ...]:
        raise KeyError(trial.task_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised(EvalbenchParity):
    """The same evaluator in its next version."""

    version: ClassVar[str] = "2"


def test_a_new_evaluator_is_one_file_and_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with an EVALUATOR and its name in the list: its verdicts stand behind the others'."""
    (tmp_path / "call_count.py").write_text(NEW_EVALUATOR, encoding="utf-8")
    monkeypatch.setattr(evaluators, "__path__", [*evaluators.__path__, str(tmp_path)])
    loaded = load_evaluators((*EVALUATOR_MODULES, "call_count"))
    verdicts = evaluate_trial(TRIAL, loaded)
    assert (*(verdict.name for verdict in evaluate_trial(TRIAL)), "call_count") == tuple(v.name for v in verdicts)
    assert verdicts[-1].value == 0
    assert evaluators_digest() != evaluators_digest(loaded)


def test_a_crash_in_one_evaluator_is_a_verdict_and_costs_the_others_nothing() -> None:
    """Each value of the crashing evaluator is unavailable as `evaluator_error`, and says what happened."""
    verdicts = evaluate_trial(TRIAL, (Crashing(), *EVALUATORS))
    crashed = [(v.name, v.value, v.reason, v.detail, v.version, v.task_id, v.trial) for v in verdicts[:2]]
    assert crashed == [
        ("crashing.one", None, "evaluator_error", "KeyError: 't1'", "3", "t1", 2),
        ("crashing.two", None, "evaluator_error", "KeyError: 't1'", "3", "t1", 2),
    ]
    assert verdicts[2:] == evaluate_trial(TRIAL)


def test_every_module_is_registered_and_every_value_has_one_name() -> None:
    """Names are unique, a module's file name is its evaluator's, and no module is forgotten."""
    folder = Path(evaluators.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "base", "matching"}
    assert modules == set(EVALUATOR_MODULES) == {evaluator.name for evaluator in EVALUATORS}
    names = [name for evaluator in EVALUATORS for name in evaluator.verdict_names()]
    assert len(names) == len(set(names))
    assert names == [verdict.name for verdict in evaluate_trial(TRIAL)]


def test_the_digest_follows_versions_and_parameters_and_not_order() -> None:
    """It keys stored verdicts: anything that can change a value changes it."""
    digest = evaluators_digest(EVALUATORS)
    assert digest == evaluators_digest(EVALUATORS[::-1])
    others = tuple(e for e in EVALUATORS if e.name != "evalbench_parity")
    assert digest == evaluators_digest((*others, EvalbenchParity()))
    assert digest != evaluators_digest((*others, Raised()))
    assert digest != evaluators_digest((*others, EvalbenchParity(filter_native_tools=False)))


def test_the_documentation_lists_every_evaluator_with_its_version_and_values(root: Path) -> None:
    """docs/evaluators.md is what users read; it follows the code."""
    text = (root / "docs" / "evaluators.md").read_text(encoding="utf-8")
    for evaluator in EVALUATORS:
        assert f"| `{evaluator.name}` | {evaluator.version} |" in text
        assert all(f"`{value}`" in text for value in evaluator.values if value)
