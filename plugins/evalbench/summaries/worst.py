"""The tasks of a run that went worst, each with what went wrong and a few words of why."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from evalbench.comparators import LLM_JUDGES
from evalbench.ledger import EffectState, OutcomeState, Run, ScoredRun, Trial, TrialStatus, Verdict
from evalbench.pool import missing_trials
from evalbench.summaries.personal import excerpt, label
from evalbench.summaries.recorded import Figures, is_comparison, number, outcome_state

MAX_TASKS = 10

# What can go wrong with a trial, the gravest first.
TRIAL_HARM: Mapping[str, Callable[[Trial], bool]] = {
    "declared_complete_but_failed": lambda t: t.declared_complete is True and outcome_state(t) is OutcomeState.FAILED,
    "declared_complete_not_verified": lambda t: (
        t.declared_complete is True and outcome_state(t) is OutcomeState.UNAVAILABLE
    ),
    "effect_unknown": lambda t: _has_effect(t, EffectState.UNKNOWN),
    "effect_failed": lambda t: _has_effect(t, EffectState.FAILED),
    "crashed": lambda t: t.status is TrialStatus.CRASHED,
    "outcome_failed": lambda t: t.declared_complete is not True and outcome_state(t) is OutcomeState.FAILED,
    "ended_failed": lambda t: t.status is TrialStatus.FAILED,
}
NOT_RECORDED, SCORED_ZERO, NOT_JUDGED = "not_recorded", "scored_zero", "not_judged"
HARM = (*TRIAL_HARM, NOT_RECORDED, SCORED_ZERO, NOT_JUDGED)
"""Counted in trials; the last two in rows of the harness's comparators."""

_BAD_EFFECTS = (EffectState.FAILED, EffectState.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmedTask:
    """A task and how often each kind of harm befell it."""

    task_id: str
    harm: Mapping[str, int]
    trials: tuple[Trial, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def rank(self) -> tuple[object, ...]:
        """Sorts the gravest first, then by id."""
        return (*(-self.harm.get(kind, 0) for kind in HARM), self.task_id)

    def row(self) -> Figures:
        """As the digest holds it."""
        why = {source: excerpt(words) for source, words in _why(self) if words}
        return {"task_id": label(self.task_id), "trials": len(self.trials), "harm": dict(self.harm), "why": why}


def harmed_tasks(scored: ScoredRun) -> list[HarmedTask]:
    """Every task that something went wrong with, the worst first; the order of trials and rows never matters."""
    trials: dict[str, list[Trial]] = defaultdict(list)
    for trial in scored.run.trials:
        trials[trial.task_id].append(trial)
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in scored.verdicts:
        if verdict.task_id is not None and is_comparison(verdict):
            verdicts[verdict.task_id].append(verdict)
    missing = _missing(scored.run)
    tasks = [
        HarmedTask(
            task_id=task,
            harm=_harm(trials[task], verdicts[task], missing[task]),
            trials=tuple(sorted(trials[task], key=_gravest_first)),
            verdicts=tuple(verdicts[task]),
        )
        for task in sorted({*trials, *missing})
    ]
    return sorted((task for task in tasks if task.harm), key=lambda task: task.rank)


def harm_totals(tasks: Iterable[HarmedTask]) -> dict[str, int]:
    """How often each kind of harm befell the run, zeros included."""
    total = sum((Counter(task.harm) for task in tasks), Counter[str]())
    return {kind: total[kind] for kind in HARM}


def _missing(run: Run) -> Counter[str]:
    return Counter({item.task_id: item.count for item in missing_trials(run)})


def _harm(trials: list[Trial], verdicts: list[Verdict], missing: int) -> dict[str, int]:
    counts = {kind: sum(1 for trial in trials if befell(trial)) for kind, befell in TRIAL_HARM.items()}
    counts[NOT_RECORDED] = missing
    counts[SCORED_ZERO] = sum(1 for verdict in verdicts if verdict.value == 0)
    counts[NOT_JUDGED] = sum(1 for verdict in verdicts if verdict.value is None)
    return {kind: count for kind, count in counts.items() if count}


def _gravest_first(trial: Trial) -> tuple[object, ...]:
    return (*(not befell(trial) for befell in TRIAL_HARM.values()), trial.trial)


def _has_effect(trial: Trial, state: EffectState) -> bool:
    return any(effect.state is state for effect in trial.effects or ())


def _why(task: HarmedTask) -> Iterator[tuple[str, str]]:
    """What each source says of the gravest trial it says something bad of."""
    yield "outcome", _first(_outcome_words(trial) for trial in task.trials)
    yield "effect", _first(_effect_words(trial) for trial in task.trials)
    yield "error", _first(_error_words(trial) for trial in task.trials)
    yield "judge", _judge_words(task)


def _first(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")


def _outcome_words(trial: Trial) -> str:
    outcome = trial.outcome
    if outcome is None or outcome.state is OutcomeState.VERIFIED:
        return ""
    return _joined(outcome.state.value, outcome.predicate, outcome.reason, outcome.evidence)


def _effect_words(trial: Trial) -> str:
    bad = next((effect for state in _BAD_EFFECTS for effect in trial.effects or () if effect.state is state), None)
    return "" if bad is None else _joined(bad.state.value, bad.tool, bad.destination, bad.reason, bad.evidence)


def _error_words(trial: Trial) -> str:
    failed = trial.status in (TrialStatus.CRASHED, TrialStatus.FAILED)
    return _joined(trial.status.value, trial.status_reason) if failed and trial.status is not None else ""


def _judge_words(task: HarmedTask) -> str:
    """The log beside a zero, a model's before a rule's, else what stands where a verdict should be."""
    zero = [verdict for verdict in task.verdicts if verdict.value == 0]
    silent = [verdict for verdict in task.verdicts if verdict.value is None]
    chosen = next(iter((*sorted(zero, key=lambda verdict: verdict.scorer_type not in LLM_JUDGES), *silent)), None)
    if chosen is None:
        return ""
    return f"{chosen.name} {number(chosen.value) or chosen.reason}: {chosen.detail or _log(task, chosen)}"


def _log(task: HarmedTask, verdict: Verdict) -> str:
    rows = (row for trial in task.trials if trial.trial == verdict.trial for row in trial.comparators)
    return next((row.log for row in rows if row.comparator == verdict.name and row.ref == verdict.ref), "")


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)
