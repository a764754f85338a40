"""What the evidence of a run leaves open, before any policy: declarations, outcomes, effects and waits."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from evalbench.doctor.finding import Finding, first_places, most_common, some, trials_of
from evalbench.evidence import NO_OUTCOME_RECORDED, NO_REASON_STATED, wait_defect
from evalbench.gate.case import as_of
from evalbench.ledger import Effect, EffectState, OutcomeState, Run, Trial, TrialStatus

NOBODY_JUDGES = "No outcome here is verified: a policy must attest a comparator, or trials.jsonl must record it."


def evidence_findings(run: Run) -> Iterator[Finding]:
    """What is not declared, not judged, not accounted for, and not validly waiting."""
    yield from _declarations(run)
    yield from _outcomes(run)
    yield from _effects(run)
    yield from _calls_without_effects(run)
    yield from _waits(run)


def _declarations(run: Run) -> Iterator[Finding]:
    silent = [trial for trial in run.trials if trial.declared_complete is None]
    if not silent:
        return
    finished = sum(1 for trial in silent if trial.finished_conversation)
    said = f"{trials_of(len(silent), len(run.trials))} record no declared_complete."
    if finished:
        said += f" {finished} of them finished their conversation, which a policy may count (finished_conversation)."
    refs = first_places(trial.ref for trial in silent)
    yield Finding(kind="declarations", code="not_declared", count=len(silent), message=said, refs=refs)


def _outcomes(run: Run) -> Iterator[Finding]:
    by_reason: dict[str, list[Trial]] = defaultdict(list)
    for trial in run.trials:
        if trial.outcome is None:
            by_reason[NO_OUTCOME_RECORDED].append(trial)
        elif trial.outcome.state is OutcomeState.UNAVAILABLE:
            by_reason[trial.outcome.reason or NO_REASON_STATED].append(trial)
    for reason, found in sorted(by_reason.items()):
        if reason == NO_OUTCOME_RECORDED and len(found) == len(run.trials) and run.format == "evalbench":
            said = NOBODY_JUDGES
        else:
            said = f"{trials_of(len(found), len(run.trials))} have no verdict on their outcome ({reason})."
        refs = first_places(trial.outcome.ref if trial.outcome else trial.ref for trial in found)
        yield Finding(kind="outcomes", code=reason, count=len(found), message=said, refs=refs)


def _effects(run: Run) -> Iterator[Finding]:
    by_reason: dict[str, list[Effect]] = defaultdict(list)
    total = 0
    for trial in run.trials:
        total += len(trial.effects or ())
        for effect in trial.effects or ():
            if effect.state is EffectState.UNKNOWN:
                by_reason[effect.reason or NO_REASON_STATED].append(effect)
    for reason, found in sorted(by_reason.items()):
        said = f"{len(found)} of {total} effect records are unknown ({reason})."
        refs = first_places(effect.ref for effect in found)
        yield Finding(kind="effects", code=reason, count=len(found), message=said, refs=refs)


def _calls_without_effects(run: Run) -> Iterator[Finding]:
    """Which tools write is the policy's to say: what is listed is what it has to say it of."""
    bare = [trial for trial in run.trials if trial.calls and not trial.effects]
    if not bare:
        return
    tools = Counter(call.name for trial in bare for call in trial.calls or ())
    named = some([f"{tool} ({count})" for tool, count in most_common(tools)], len(tools))
    said = (
        f"{trials_of(len(bare), len(run.trials))} made calls and record no effect: each call of a tool that the policy"
        f" doesn't name read-only is an unknown effect. Tools: {named}."
    )
    refs = first_places(trial.ref for trial in bare)
    yield Finding(kind="effects", code="calls_without_effects", count=len(bare), message=said, refs=refs)


def _waits(run: Run) -> Iterator[Finding]:
    """Waits as they will be judged at the end of the run's own day."""
    by_defect: dict[str, list[Trial]] = defaultdict(list)
    waiting = [trial for trial in run.trials if trial.status is TrialStatus.WAITING]
    for trial in waiting:
        defect = wait_defect(
            trial.wait, declared=trial.declared_complete, outcome=trial.outcome, as_of=as_of(run.run_date)
        )
        if defect is not None:
            by_defect[defect].append(trial)
    meaning = {
        "wait_invalid": "lack owner, decision, due or resume_state, or have declared or verified something already",
        "wait_overdue": "were due before the run's day ended",
    }
    for defect, found in sorted(by_defect.items()):
        said = f"{len(found)} of {len(waiting)} waits don't count as waits: they {meaning[defect]}."
        refs = first_places(trial.wait.ref if trial.wait else trial.ref for trial in found)
        yield Finding(kind="waits", code=defect, count=len(found), message=said, refs=refs)
