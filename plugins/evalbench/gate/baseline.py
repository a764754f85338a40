"""Candidate and baseline: what they share, and what forbids comparing them."""

from evalbench.gate.case import Case
from evalbench.pool import Pool


def shared_tasks(candidate: Pool, baseline: Pool) -> frozenset[str]:
    """Task ids recorded on both sides whose definitions, where both carry one, are the same."""
    mine, theirs = task_definitions(candidate), task_definitions(baseline)
    return frozenset(
        task for task in mine.keys() & theirs.keys() if not mine[task] or not theirs[task] or mine[task] & theirs[task]
    )


def task_definitions(pool: Pool) -> dict[str, frozenset[str]]:
    """Task id → hashes of its definition seen in the pool (empty where the source carries none)."""
    seen: dict[str, set[str]] = {}
    for trial in pool.trials:
        keys = seen.setdefault(trial.trial.task_id, set())
        if trial.trial.task_key is not None:
            keys.add(trial.trial.task_key)
    return {task: frozenset(keys) for task, keys in seen.items()}


def no_baseline(case: Case) -> str:
    """Why there is nothing to compare with."""
    if case.baseline_candidate is None:
        return "no baseline is named"
    return f"baseline {case.baseline_candidate} has no run in the window"


def incomparable(candidate: Pool, baseline: Pool) -> tuple[str, ...]:
    """What differs between two pools so that comparing them would mislead; empty when they may be compared."""
    mine, theirs = task_definitions(candidate), task_definitions(baseline)
    shared = shared_tasks(candidate, baseline)
    differences = []
    if mine.keys() != theirs.keys() or len(shared) != len(mine):
        differences.append(f"task sets ({len(mine)} and {len(theirs)} tasks, {len(shared)} the same)")
    if _dataset_versions(candidate) != _dataset_versions(baseline):
        differences.append("dataset version")
    return tuple(differences)


def _dataset_versions(pool: Pool) -> frozenset[str | None]:
    return frozenset(run.dataset_version for run in pool.runs)


def graders(pool: Pool) -> frozenset[tuple[str | None, ...]]:
    """Graders with their versions and rubrics that scored anything in the pool."""
    return frozenset(
        (quality.grader_kind, quality.grader_name, quality.grader_version, quality.rubric_version)
        for trial in pool.trials
        for quality in trial.trial.qualities
        if quality.score is not None
    )
