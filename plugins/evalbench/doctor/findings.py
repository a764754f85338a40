"""What is wrong in a run directory, one finding per kind: a count, a sentence, and where to look."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from evalbench.doctor.evidence_findings import evidence_findings
from evalbench.doctor.finding import Finding, first_places, most_common, some, trials_of
from evalbench.doctor.secret_places import SecretPlace
from evalbench.health import Health, evaluator_health
from evalbench.ledger import (
    EMPTY_NOT_DECLARED,
    Defect,
    OutcomeState,
    PlanSource,
    Run,
    RunState,
    ScoredRun,
    TrialStatus,
    Verdict,
)
from evalbench.metrics import metric_name
from evalbench.pool import missing_trials
from evalbench.readers.manifest import FILE as MANIFEST

ENOUGH_ROWS = 5
"""Fewer rows of one value are no surprise."""


def run_health(scored: ScoredRun) -> dict[str, Health]:
    """Health per metric of a run, against the outcomes its own records verified."""
    outcomes = {
        (trial.task_id, trial.trial): trial.outcome.state is OutcomeState.VERIFIED
        for trial in scored.run.trials
        if trial.outcome is not None and trial.outcome.state is not OutcomeState.UNAVAILABLE
    }
    return evaluator_health(scored.verdicts, outcomes)


def findings(scored: ScoredRun, health: Mapping[str, Health], secrets: tuple[SecretPlace, ...]) -> tuple[Finding, ...]:
    """Everything worth a person's look: the manifest first, since it says what all else is measured against."""
    run = scored.run
    manifest = [defect for defect in run.defects if _of_manifest(defect)]
    return (
        *defect_findings("manifest", manifest),
        *defect_findings("defect", (defect for defect in run.defects if not _of_manifest(defect))),
        *_state(run),
        *_missing_trials(run),
        *_crashed(run),
        *evidence_findings(run),
        *_silent_judges(scored.verdicts),
        *_unattached(run),
        *_expectations(run),
        *secret_findings(secrets),
        *_never_varied(scored.verdicts, health),
    )


def _state(run: Run) -> Iterator[Finding]:
    if run.state is RunState.ABANDONED:
        said = (
            "The harness never finished: what marks a complete run is not there. Within the grace period the pipeline"
            " calls it in progress, after it abandoned, and then its missing trials are missing evidence."
        )
        yield Finding(kind="state", code="not_complete", count=1, message=said)


def _missing_trials(run: Run) -> Iterator[Finding]:
    if run.plan.source is PlanSource.OBSERVED:
        said = "No plan is reachable (neither run.yaml nor the evalset): a trial that left no record can't be missed."
        yield Finding(kind="plan", code="plan_observed", count=1, message=said)
        return
    missing = missing_trials(run)
    if missing:
        count = sum(item.count for item in missing)
        named = some([item.task_id for item in missing], count)
        said = f"{count} of {run.plan.trials} planned trials left no record: {named}."
        yield Finding(kind="plan", code="missing_trials", count=count, message=said)


def _crashed(run: Run) -> Iterator[Finding]:
    crashed = [trial for trial in run.trials if trial.status is TrialStatus.CRASHED]
    if crashed:
        reasons = Counter(trial.status_reason or "no reason recorded" for trial in crashed)
        named = "; ".join(f"{reason} ({count})" for reason, count in most_common(reasons))
        said = f"{trials_of(len(crashed), len(run.trials))} crashed: {named}"
        yield Finding(
            kind="trials",
            code="crashed_trials",
            count=len(crashed),
            message=said,
            refs=first_places(t.ref for t in crashed),
        )


def _silent_judges(verdicts: Iterable[Verdict]) -> Iterator[Finding]:
    rows: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.source == "harness":
            rows[metric_name(verdict)].append(verdict)
    for metric, found in sorted(rows.items()):
        by_reason: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in found:
            if verdict.reason is not None:
                by_reason[verdict.reason].append(verdict)
        for reason, failed in sorted(by_reason.items()):
            said = f"{metric}: {len(failed)} of {len(found)} rows hold no verdict ({reason})."
            refs = first_places(verdict.ref for verdict in failed)
            yield Finding(kind="verdicts", code=reason, count=len(failed), message=said, subject=metric, refs=refs)


def _unattached(run: Run) -> Iterator[Finding]:
    if run.unattached:
        said = f"{len(run.unattached)} score rows name no trial of this run and judge nobody."
        refs = first_places(row.ref for row in run.unattached)
        yield Finding(kind="verdicts", code="unattached_scores", count=len(run.unattached), message=said, refs=refs)


def _never_varied(verdicts: Iterable[Verdict], health: Mapping[str, Health]) -> Iterator[Finding]:
    comparators = {metric_name(verdict) for verdict in verdicts if verdict.source == "harness"}
    still = [name for name, found in health.items() if found.never_varied and found.n >= ENOUGH_ROWS]
    for code, names in (
        ("comparators_never_varied", [name for name in still if name in comparators]),
        ("evaluators_never_varied", [name for name in still if name not in comparators]),
    ):
        if names:
            named = some([f"{name} ({health[name].n} rows)" for name in names], len(names))
            said = f"The same value for every trial: {named}."
            yield Finding(kind="health", code=code, count=len(names), message=said)


def _expectations(run: Run) -> Iterator[Finding]:
    empty = [t for t in run.trials if t.expected == () or t.expected_reason == EMPTY_NOT_DECLARED]
    if not empty:
        return
    if any(trial.expected == () for trial in empty):
        code, what = "empty_expectation", "expect no tool call at all (an empty expected trajectory)"
    else:
        code, what = EMPTY_NOT_DECLARED, "have an empty expected trajectory, which is not taken for an expectation"
    said = f"{trials_of(len(empty), len(run.trials))} {what}."
    refs = first_places(trial.ref for trial in empty)
    yield Finding(kind="expectations", code=code, count=len(empty), message=said, refs=refs)


def _of_manifest(defect: Defect) -> bool:
    return defect.ref is not None and defect.ref.file == MANIFEST


def defect_findings(kind: str, defects: Iterable[Defect]) -> Iterator[Finding]:
    """One finding per code, with the first message of that code."""
    by_code: dict[str, list[Defect]] = defaultdict(list)
    for defect in defects:
        by_code[defect.code].append(defect)
    for code, found in sorted(by_code.items()):
        more = f" (and {len(found) - 1} more of this kind)" if len(found) > 1 else ""
        refs = first_places(defect.ref for defect in found)
        yield Finding(kind=kind, code=code, count=len(found), message=found[0].message + more, refs=refs)


def secret_findings(places: tuple[SecretPlace, ...]) -> Iterator[Finding]:
    """One finding per file that holds secrets: where and how many."""
    by_file: dict[str, list[SecretPlace]] = defaultdict(list)
    for place in places:
        by_file[place.ref.file].append(place)
    for file, found in sorted(by_file.items()):
        count = sum(place.count for place in found)
        said = f"{file} holds {count} secrets in clear text: whoever may read it reads them."
        refs = first_places(place.ref for place in found)
        yield Finding(kind="secrets", code="secrets_in_clear", count=count, message=said, subject=file, refs=refs)
