"""pass@k and pass^k: the definitions, the bracket, and the vectors of a published benchmark."""

import csv
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from evalbench.comparators import harness_verdict
from evalbench.intervals import clustered_se
from evalbench.ledger import ComparatorRow
from evalbench.repeats import MOST_K, pass_at_k, pass_at_k_brackets, pass_hat_k, pass_hat_k_brackets

REPLAYED = (
    "49e5b728-f934-4e6b-9ced-70b5db228928",
    "4feb5ba7-eb25-4a14-9a87-1e906bfb667c",
    "5267e834-a74b-4172-90d4-4de66990f29a",
    "63258d1c-1a4e-45c0-ba68-94fc5a0f6004",
)


def counted(tasks: Mapping[str, Sequence[bool | None]]) -> dict[str, Counter[bool | None]]:
    """Trials one by one, as counts."""
    return {task: Counter(seen) for task, seen in tasks.items()}


@pytest.fixture(scope="module")
def airline(sample_runs: Path) -> dict[str, list[bool | None]]:
    """Fifty tasks, four trials each, as the replayed runs' goal_completion rows tell."""
    tasks: dict[str, list[bool | None]] = defaultdict(list)
    for run in REPLAYED:
        with (sample_runs / run / "scores.csv").open(encoding="utf-8", newline="") as file:
            for cells in csv.DictReader(file):
                if cells["comparator"] == "goal_completion":
                    made = ComparatorRow(
                        comparator="goal_completion", score=Decimal(cells["score"]), log=cells["comparison_logs"]
                    )
                    value = harness_verdict(made).value
                    tasks[cells["id"]].append(None if value is None else value >= 100)
    return dict(tasks)


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [
        (4, 2, 1, Fraction(1, 2), Fraction(1, 2)),
        (4, 2, 2, Fraction(5, 6), Fraction(1, 6)),
        (4, 2, 3, Fraction(1), Fraction(0)),
        (4, 4, 4, Fraction(1), Fraction(1)),
        (4, 0, 1, Fraction(0), Fraction(0)),
        (2, 2, 3, None, None),
        (0, 0, 1, None, None),
    ],
)
def test_one_task(n: int, c: int, k: int, at: Fraction | None, hat: Fraction | None) -> None:
    """1 - C(n-c,k)/C(n,k) and C(c,k)/C(n,k); null for fewer than k trials."""
    assert (at, hat) == (pass_at_k(n, c, k), pass_hat_k(n, c, k))


@pytest.mark.parametrize(
    ("k", "lower", "upper", "complete_case", "complete_tasks"),
    [
        (1, 0.4200, 0.4450, 0.4250, 50),
        (2, 0.2733, 0.2867, 0.2767, 50),
        (3, 0.2200, 0.2250, 0.2245, 49),
        (4, 0.2000, 0.2000, 0.2174, 46),
    ],
)
def test_the_published_vectors_of_the_airline_runs(
    airline: dict[str, list[bool | None]],
    k: int,
    lower: float,
    upper: float,
    complete_case: float,
    complete_tasks: int,
) -> None:
    """The lower end is what the benchmark published: it counts unavailable trials as failed."""
    brackets = pass_hat_k_brackets(counted(airline))
    assert list(brackets) == [1, 2, 3, 4]
    found = brackets[k]
    assert (lower, upper, complete_case) == pytest.approx((found.lower, found.upper, found.complete_case), abs=5e-5)
    assert (50, complete_tasks) == (found.tasks, found.complete_tasks)


def test_the_pooled_share_and_its_errors(airline: dict[str, list[bool | None]]) -> None:
    """84 of 195 judged; repeats of a task hang together: SE 0.0522, not 0.0349."""
    judged = [trial for trials in airline.values() for trial in trials if trial is not None]
    assert (84, 195) == (sum(judged), len(judged))
    clusters = [[float(trial is True) for trial in trials] for trials in airline.values()]
    assert pytest.approx(0.0522, abs=5e-5) == clustered_se(clusters)
    independent = [value for cluster in clusters for value in cluster]
    share = sum(independent) / len(independent)
    assert pytest.approx(0.0349, abs=5e-5) == (share * (1 - share) / len(independent)) ** 0.5


def test_pass_at_k_has_the_same_bracket() -> None:
    """Two tasks, one unavailable trial: counted failed below, passed above, left out in between."""
    brackets = pass_at_k_brackets(counted({"a": [True, False], "b": [None, False]}))
    assert (0.25, 0.5, 0.25) == (brackets[1].lower, brackets[1].upper, brackets[1].complete_case)
    assert (0.5, 1.0, 1.0) == (brackets[2].lower, brackets[2].upper, brackets[2].complete_case)
    assert (2, 1) == (brackets[2].tasks, brackets[2].complete_tasks)


def test_tasks_with_too_few_trials_are_left_out_of_that_k() -> None:
    """The mean is over tasks, and the count says how many."""
    found = pass_hat_k_brackets(counted({"a": [True], "b": [True, False]}))
    assert (0.75, 2) == (found[1].lower, found[1].tasks)
    assert (0.0, 1) == (found[2].lower, found[2].tasks)


def test_nothing_judged_is_a_full_bracket_and_no_trial_no_k() -> None:
    """Unavailable alone says nothing: 0 to 1, and the complete case null."""
    found = pass_hat_k_brackets(counted({"a": [None, None]}))[1]
    assert (0.0, 1.0, None, 1, 0) == (found.lower, found.upper, found.complete_case, found.tasks, found.complete_tasks)
    assert pass_hat_k_brackets(counted({})) == pass_hat_k_brackets(counted({"a": []})) == {}


def test_a_plan_of_any_size_costs_no_more_than_its_largest_k() -> None:
    """Fifty thousand tasks of a billion missing trials each: every k up to the largest one, each a full bracket."""
    found = pass_hat_k_brackets({f"task-{n}": {None: 10**9} for n in range(50_000)})
    assert list(range(1, MOST_K + 1)) == list(found)
    assert {(0.0, 1.0, None, 50_000, 0)} == {
        (each.lower, each.upper, each.complete_case, each.tasks, each.complete_tasks) for each in found.values()
    }
