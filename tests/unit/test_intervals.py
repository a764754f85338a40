"""Intervals: the published vectors, the null cases, and independence of order."""

from statistics import fmean

import pytest

from evalbench.intervals import (
    BOOTSTRAP_SEED,
    Item,
    bootstrap_ratio,
    clustered_interval,
    clustered_se,
    events_needed,
    mcnemar_exact,
    paired_difference,
    rate_interval,
    ratio_interval_by_task,
    wilson,
    zero_event_upper,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"), [(8, 10, 0.4902, 0.9433), (0, 20, 0.0, 0.1611), (47, 50, 0.8378, 0.9794)]
)
def test_wilson_vectors(successes: int, n: int, low: float, high: float) -> None:
    """Two-sided 95 %."""
    assert (low, high) == pytest.approx(wilson(successes, n), abs=5e-5)


def test_wilson_ends_are_exact_and_mirror_each_other() -> None:
    """No success starts at exactly 0, no failure ends at exactly 1."""
    none, every = wilson(0, 7), wilson(7, 7)
    assert none is not None
    assert every is not None
    assert (0.0, 1.0) == (none[0], every[1])
    assert 1 - none[1] == pytest.approx(every[0])


def test_nothing_observed_has_no_interval() -> None:
    """A rate over nothing is null."""
    nothing = [
        wilson(0, 0),
        zero_event_upper(0),
        clustered_se([]),
        clustered_interval([[], [1.0]]),
        mcnemar_exact(0, 0),
        paired_difference({}, {}),
        bootstrap_ratio([], seed=1),
        rate_interval([], binary=True),
        ratio_interval_by_task([]),
    ]
    assert [None] * len(nothing) == nothing


def test_zero_events_bound_the_rate_from_above() -> None:
    """1 - 0.05^(1/n)."""
    assert pytest.approx(0.1391, abs=5e-5) == zero_event_upper(20)


@pytest.mark.parametrize(("limit", "n"), [(0.05, 59), (0.02, 149), (0.01, 299)])
def test_how_many_clean_tasks_prove_a_limit(limit: float, n: int) -> None:
    """The smallest n whose bound is within the limit."""
    assert n == events_needed(limit)
    enough, too_few = zero_event_upper(n), zero_event_upper(n - 1)
    assert enough is not None
    assert too_few is not None
    assert enough <= limit < too_few


def test_clustered_standard_error_vector() -> None:
    """{1,1,0}, {0,0}, {1}: 0.2500; without the small-sample factor it would be 0.2041."""
    se = clustered_se([[1, 1, 0], [0, 0], [1]])
    assert pytest.approx(0.25) == se
    assert pytest.approx(0.2041, abs=5e-5) == (se or 0) * (2 / 3) ** 0.5


def test_fewer_than_two_clusters_have_no_error() -> None:
    """Repeats of one task say nothing of other tasks; empty clusters don't count."""
    assert clustered_se([[1, 0, 1, 0]]) is None
    assert clustered_se([[1, 0], []]) is None


def test_the_clustered_interval_uses_t_and_stays_in_bounds() -> None:
    """Two degrees of freedom: mean 0.5 ± 4.3027·0.25, cut to 0..1 unless other bounds are given."""
    clusters = [[1.0, 1, 0], [0.0, 0], [1.0]]
    assert (0.0, 1.0) == clustered_interval(clusters)
    assert (-0.5757, 1.5757) == pytest.approx(clustered_interval(clusters, bounds=(-9, 9)), abs=5e-5)


def test_no_variation_is_no_certainty() -> None:
    """An SE of 0 would claim to know the rate exactly."""
    assert clustered_se([[1, 1], [1, 1]]) == 0
    assert clustered_interval([[1, 1], [1, 1]]) is None


def test_one_answer_per_task_uses_wilson_and_repeats_cluster() -> None:
    """The method follows the data, and the order of items never matters."""
    single = [Item(task=str(i), value=float(i < 8)) for i in range(10)]
    repeated = [Item(task=str(i % 3), value=float(i % 2)) for i in range(10)]
    assert wilson(8, 10) == rate_interval(single, binary=True)
    clusters = [[item.value for item in repeated if item.task == task] for task in "012"]
    assert clustered_interval(clusters) == pytest.approx(rate_interval(repeated, binary=True))
    assert rate_interval(repeated, binary=True) == rate_interval(repeated[::-1], binary=True)
    graded = [Item(task=str(i), value=i / 10) for i in range(10)]
    assert clustered_interval([[item.value] for item in graded]) == pytest.approx(rate_interval(graded))


def test_the_paired_difference_pairs_by_task() -> None:
    """Per-task means 0.5→1, 0→0.5, 1→1: mean 1/3, SE = sd/√3, t with two degrees of freedom."""
    baseline = {"a": [0, 1], "b": [0], "c": [1, 1]}
    candidate = {"c": [1], "a": [1, 1], "b": [1, 0]}
    found = paired_difference(baseline, candidate)
    assert found is not None
    assert (3, pytest.approx(1 / 3), pytest.approx(1 / 6)) == (found.tasks, found.mean, found.se)
    assert (-0.3838, 1.0504) == (pytest.approx(found.low, abs=5e-5), pytest.approx(found.high, abs=5e-5))


def test_equal_differences_have_no_interval() -> None:
    """Two tasks that moved alike don't prove that all do."""
    found = paired_difference({"a": [0.0], "b": [0.5]}, {"a": [0.25], "b": [0.75]})
    assert found is not None
    assert (0.25, 0.0, None, None) == (found.mean, found.se, found.low, found.high)


def test_differing_task_sets_are_refused_by_name() -> None:
    """What can't be paired must not be compared."""
    with pytest.raises(ValueError, match="task sets differ: b, c"):
        paired_difference({"a": [1], "b": [1]}, {"a": [1], "c": [1]})


@pytest.mark.parametrize(("one", "other", "p"), [(1, 8, 0.0391), (8, 1, 0.0391), (0, 1, 1.0), (5, 5, 1.0)])
def test_exact_mcnemar(one: int, other: int, p: float) -> None:
    """Two-sided, on discordant pairs only."""
    assert p == pytest.approx(mcnemar_exact(one, other), abs=5e-5)


def test_the_bootstrap_of_a_ratio_is_repeatable_and_ignores_order() -> None:
    """Same tasks and seed, same interval, and it holds the ratio itself."""
    tasks = [(0.4 + i / 50, float(i % 3 != 0)) for i in range(30)]
    interval = bootstrap_ratio(tasks, seed=11)
    assert interval is not None
    assert interval == bootstrap_ratio(tasks[::-1], seed=11)
    assert interval != bootstrap_ratio(tasks, seed=12)
    ratio = fmean(cost for cost, _ in tasks) / fmean(verified for _, verified in tasks)
    assert interval[0] < ratio < interval[1]


def test_a_ratio_that_may_be_unbounded_has_no_interval() -> None:
    """With one verified outcome among many tasks, a resample without any is common."""
    assert bootstrap_ratio([(1.0, 0.0)] * 9 + [(1.0, 1.0)], seed=3) is None


def test_trials_of_one_task_are_resampled_together() -> None:
    """One task repeated is one task: no interval."""
    assert ratio_interval_by_task([("a", 1.0, 1.0)] * 5) is None
    rows = [("a", 1.0, 1.0), ("b", 2.0, 1.0), ("a", 3.0, 1.0), ("c", 1.5, 1.0)]
    by_task = [(4.0, 2.0), (2.0, 1.0), (1.5, 1.0)]
    assert bootstrap_ratio(by_task, seed=BOOTSTRAP_SEED) == ratio_interval_by_task(rows)
