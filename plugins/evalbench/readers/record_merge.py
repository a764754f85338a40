"""Several lines about one trial → one Trial. Appended lines add evidence; what they take back is a defect.

Where two lines disagree the rules of `evidence.py` hold for outcome and effects; for the rest: whatever is worse for
the candidate wins where better and worse can be told, else the later line. An absent field never overrides one that
is there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from evalbench import evidence
from evalbench.ledger import (
    Cost,
    CostState,
    Defect,
    Progress,
    Quality,
    Timing,
    ToolCall,
    Trial,
    TrialStatus,
    Usage,
)

_UNFINISHED = frozenset({None, TrialStatus.RUNNING, TrialStatus.WAITING})
_COST_RANK = {CostState.UNAVAILABLE: 0, CostState.ESTIMATED: 1, CostState.BILLED: 2}
_T = TypeVar("_T")
_Measured = TypeVar("_Measured", Usage, Timing)


def merge_lines(trials: Sequence[Trial]) -> tuple[Trial, tuple[Defect, ...]]:
    """The trials of one (task_id, trial), in the order of their lines, as one; and what they disagree about."""
    merged = trials[0]
    defects: list[Defect] = []
    for later in trials[1:]:
        defects.extend(_disagreements(merged, later))
        merged = _merge(merged, later)
    if merged.effects is not None:
        effects = evidence.reconcile(merged.effects)
        merged = replace(merged, effects=evidence.hold_boundary(effects, merged.calls or ()))
    merged = replace(merged, qualities=tuple(sorted(merged.qualities, key=_grade_order)))
    defects.extend(_conflicts(merged))
    return merged, tuple(defects)


def _merge(earlier: Trial, later: Trial) -> Trial:
    """The later trial's word, with the earlier's where it is silent and where worse wins."""
    expected = earlier.expected if later.expected is None else later.expected
    disputed = None not in (earlier.expected, later.expected) and earlier.expected != later.expected
    return replace(
        later,
        status=later.status or earlier.status,
        declared_complete=_any_true(earlier.declared_complete, later.declared_complete),
        started_at=min((t for t in (earlier.started_at, later.started_at) if t), default=None),
        ended_at=max((t for t in (earlier.ended_at, later.ended_at) if t), default=None),
        outcome=_both(evidence.merge_outcomes, earlier.outcome, later.outcome),
        qualities=_merge_qualities((*earlier.qualities, *later.qualities)),
        progress=_both(_merge_progress, earlier.progress, later.progress),
        effects=_both(lambda a, b: (*a, *b), earlier.effects, later.effects),
        calls=_both(_merge_calls, earlier.calls, later.calls),
        calls_source=later.calls_source or earlier.calls_source,
        expected=None if disputed or earlier.expected_reason else expected,
        expected_reason="conflicting_expectation" if disputed else earlier.expected_reason,
        forbidden=_both(lambda a, b: tuple(sorted({*a, *b})), earlier.forbidden, later.forbidden),
        cost=_both(_merge_cost, earlier.cost, later.cost),
        wait=later.wait or earlier.wait,
        usage=_both(_fill, earlier.usage, later.usage),
        timing=_both(_fill, earlier.timing, later.timing),
        ref=earlier.ref,
    )


def _both(merge: Callable[[_T, _T], _T], earlier: _T | None, later: _T | None) -> _T | None:
    if earlier is None or later is None:
        return later if earlier is None else earlier
    return merge(earlier, later)


def _any_true(earlier: bool | None, later: bool | None) -> bool | None:
    """A completion once declared stays declared: it can still turn out false."""
    return True if earlier or later else _both(lambda a, _: a, earlier, later)


def _merge_progress(earlier: Progress, later: Progress) -> Progress:
    return replace(
        later,
        active=max(earlier.active, later.active),
        active_with_delta=min(earlier.active_with_delta, later.active_with_delta),
        waiting=min(earlier.waiting, later.waiting),
        stale=max(earlier.stale, later.stale),
    )


def _merge_calls(earlier: tuple[ToolCall, ...], later: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The longer of two where one continues the other; else both, so that no call is lost."""
    shorter, longer = sorted((earlier, later), key=len)
    if _continues(longer, shorter):
        return longer
    return tuple(replace(call, index=index) for index, call in enumerate((*earlier, *later)))


def _continues(longer: Sequence[ToolCall], shorter: Sequence[ToolCall]) -> bool:
    return all(
        (a.name, a.args_json, a.status) == (b.name, b.args_json, b.status)
        for a, b in zip(longer, shorter, strict=False)
    )


def _merge_cost(earlier: Cost, later: Cost) -> Cost:
    """Billed beats estimated beats unavailable; of two of a kind the higher."""
    return max(later, earlier, key=lambda cost: (_COST_RANK[cost.state], cost.usd or 0))


def _merge_qualities(qualities: Iterable[Quality]) -> tuple[Quality, ...]:
    """One per grader, in the order first seen: a score beats none, the lower of two scores wins."""
    graders: dict[tuple[str | None, ...], Quality] = {}
    for quality in qualities:
        known = graders.get(_grader(quality))
        if known is None or known.score is None or (quality.score is not None and quality.score < known.score):
            graders[_grader(quality)] = quality
    return tuple(graders.values())


def _grade_order(quality: Quality) -> tuple[object, ...]:
    """By name, then from no score to the lowest: of two grades under one name the last counts, in any order given."""
    score = quality.score
    return (quality.grader_name or "", score is not None, -(score or 0), *(part or "" for part in _grader(quality)))


def _grader(quality: Quality) -> tuple[str | None, ...]:
    return (quality.grader_kind, quality.grader_name, quality.grader_version, quality.rubric_version)


def _fill(earlier: _Measured, later: _Measured) -> _Measured:
    missing = {f.name: getattr(earlier, f.name) for f in fields(later) if getattr(later, f.name) is None}
    return replace(later, **missing)


def _disagreements(earlier: Trial, later: Trial) -> Iterator[Defect]:
    for field in _disputed(earlier, later):
        where = f"line {earlier.ref and earlier.ref.row} and line {later.ref and later.ref.row}"
        yield Defect(
            code="conflicting_records",
            message=f"{where} disagree about {field} of this trial.",
            ref=later.ref and replace(later.ref, field=field),
            task_id=later.task_id,
            trial=later.trial,
        )


def _disputed(earlier: Trial, later: Trial) -> Iterator[str]:
    if earlier.status not in _UNFINISHED and later.status not in (None, earlier.status):
        yield "status"
    for field in ("declared_complete", "expected"):
        if None not in (getattr(earlier, field), getattr(later, field)) and getattr(earlier, field) != getattr(
            later, field
        ):
            yield field
    if earlier.progress and later.progress and _counts(earlier.progress) != _counts(later.progress):
        yield "progress"
    if earlier.calls and later.calls:
        shorter, longer = sorted((earlier.calls, later.calls), key=len)
        if not _continues(longer, shorter):
            yield "tools.called"
    if earlier.cost and later.cost and earlier.cost.state is later.cost.state and earlier.cost.usd != later.cost.usd:
        yield "cost"
    scores = {_grader(quality): quality.score for quality in earlier.qualities}
    if any(scores.get(_grader(quality)) not in (None, quality.score) for quality in later.qualities):
        yield "quality"


def _counts(progress: Progress) -> tuple[int, ...]:
    return (progress.active, progress.active_with_delta, progress.waiting, progress.stale)


def _conflicts(trial: Trial) -> Iterator[Defect]:
    if trial.outcome is not None and trial.outcome.reason == evidence.CONFLICTING_OUTCOME:
        yield _conflict(
            trial, evidence.CONFLICTING_OUTCOME, "the outcome was both verified and failed; it counts as failed."
        )
    for effect in trial.effects or ():
        if effect.reason == evidence.CONFLICTING_EFFECT:
            message = f"effect {effect.effect_id!r} was both verified and failed; it counts as failed."
            yield _conflict(trial, evidence.CONFLICTING_EFFECT, message)
        elif effect.reason == evidence.BOUNDARY_BREACHED:
            message = f"effect {effect.effect_id!r} was rejected, yet found at its destination; it counts as failed."
            yield _conflict(trial, evidence.BOUNDARY_BREACHED, message)


def _conflict(trial: Trial, code: str, message: str) -> Defect:
    where = f"line {trial.ref.row}: " if trial.ref else ""
    return Defect(code=code, message=where + message, ref=trial.ref, task_id=trial.task_id, trial=trial.trial)
