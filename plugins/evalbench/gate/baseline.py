"""Candidate and baseline: what they share, and what forbids comparing them."""

from evalbench.gate.case import Case
from evalbench.gate.wording import listed, plural
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


def uncompared(case: Case) -> str:
    """Why there is nothing to compare: no baseline, or no run on one of the two sides."""
    if case.baseline_candidate is None:
        return "no baseline is named"
    if case.baseline is not None:
        return "the candidate has no run in the window"
    return f"baseline {case.baseline_candidate} has no run in the window{baseline_gaps(case)}"


def baseline_gaps(case: Case) -> str:
    """What the baseline's pool lacks: `; 1 run of the baseline lost: path; 1 run of the baseline voided: run-7`."""
    gaps = {
        "lost": [run.path for run in case.baseline_lost],
        "voided": [exclusion.run_id for exclusion in case.baseline_excluded],
    }
    return "".join(
        f"; {plural(len(names), 'run')} of the baseline {what}: {listed(names)}"
        for what, names in gaps.items()
        if names
    )


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
