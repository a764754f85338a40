"""Five signals, kept apart: each a numerator, a denominator, and what was left out. There is no composite.

Definitions: docs/glossary.md. Intervals cluster by task wherever a task contributes more than one item.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from evalbench.counts import CostCounts, DeclarationCounts, EffectCounts, ProgressCounts, QualityCounts
from evalbench.intervals import Item, events_needed, rate_interval, ratio_interval_by_task, zero_event_upper
from evalbench.ledger import EffectState, OutcomeState
from evalbench.pool import Pool

SIGNALS_VERSION = "1"
UNITS = {
    "task_quality": "quality 0..1",
    "useful_progress": "share",
    "effect_integrity": "share",
    "cost_per_verified_outcome": "USD",
    "false_success": "share",
}
"""Of the five signals, by name."""
PROVABLE = (0.05, 0.02, 0.01)  # rates that zero failures over enough distinct tasks would prove


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One signal of one pool.

    value = numerator / denominator, None over nothing; numerator is None where nothing of it is known (no trial has a
    bill: that is no $0). left_out: reason → count of items that are in neither.
    beside: figures kept next to the signal and never added to it. ci95: None where none is defined.
    """

    name: str
    numerator: Decimal | None
    denominator: int
    left_out: dict[str, int]
    beside: dict[str, object] = field(default_factory=dict)
    ci95: tuple[float, float] | None = None

    @property
    def unit(self) -> str:
        """What the value is counted in."""
        return UNITS[self.name]

    @property
    def value(self) -> float | None:
        """The rate, None over nothing and of nothing."""
        return float(self.numerator / self.denominator) if self.numerator is not None and self.denominator else None


def task_quality(pool: Pool) -> Signal:
    """Sum of quality scores over completed trials whose named graders really ran."""
    counts = QualityCounts.of(pool)
    items = [
        Item(task=trial.trial.task_id, value=float(trial.quality))
        for trial in pool.trials
        if trial.completed and trial.quality is not None
    ]
    graders = sorted(
        {
            "/".join(part or "-" for part in (quality.grader_name, quality.grader_version, quality.rubric_version))
            for trial in pool.trials
            for quality in trial.trial.qualities
            if quality.score is not None
        }
    )
    disagreements = [q.disagreement for t in pool.trials for q in t.trial.qualities if q.disagreement is not None]
    return Signal(
        name="task_quality",
        numerator=counts.total,
        denominator=counts.graded,
        left_out=counts.left_out,
        beside={
            "graded": counts.graded,
            "completed": counts.completed,
            "graders": graders,
            "uncalibrated": counts.uncalibrated,
            "max_disagreement": max(disagreements, default=None),
        },
        ci95=rate_interval(items),
    )


def useful_progress(pool: Pool) -> Signal:
    """Active windows with task-specific new evidence, over active windows observed."""
    counts = ProgressCounts.of(pool)
    items = [
        Item(task=trial.trial.task_id, value=float(index < progress.active_with_delta))
        for trial in pool.trials
        if (progress := trial.trial.progress) is not None
        for index in range(progress.active)
    ]
    left_out = {
        "waiting_windows": counts.waiting,
        "stale_windows": counts.stale,
        "trials_without_windows": len(pool.trials) - counts.trials_with,
    }
    return Signal(
        name="useful_progress",
        numerator=Decimal(counts.with_delta),
        denominator=counts.active,
        left_out=_present(left_out),
        beside={"waiting": counts.waiting, "stale": counts.stale},
        ci95=rate_interval(items, binary=True),
    )


def effect_integrity(pool: Pool) -> Signal:
    """Effects verified at the destination, over verified, failed and unknown ones."""
    counts = EffectCounts.of(pool)
    items = [
        Item(task=trial.trial.task_id, value=float(effect.state is EffectState.VERIFIED))
        for trial in pool.trials
        for effect in trial.effects
        if effect.state is not EffectState.REJECTED and counts.hold(effect)
    ]
    return Signal(
        name="effect_integrity",
        numerator=Decimal(counts.verified),
        denominator=counts.total,
        left_out=_present({"rejected": counts.rejected, "tolerated": counts.tolerated}),
        beside={
            "failed": counts.failed,
            "unknown": counts.unknown,
            "silent": counts.silent,
            "rejected": counts.rejected,
            "trials_hiding_effects": counts.hidden,
        },
        ci95=rate_interval(items, binary=True),
    )


def cost_per_verified_outcome(pool: Pool) -> Signal:
    """Covered cost of all trials, failures and waits included, over outcomes verified at the destination."""
    counts = CostCounts.of(pool)
    verified = sum(1 for trial in pool.trials if trial.verified)
    rows = [
        (trial.trial.task_id, float(trial.cost_usd), float(trial.verified))
        for trial in pool.trials
        if trial.cost_usd is not None
    ]
    return Signal(
        name="cost_per_verified_outcome",
        numerator=counts.covered_usd if counts.covered else None,
        denominator=verified,
        left_out=_present({"cost_not_covered": counts.uncovered}),
        beside={
            "covered_trials": counts.covered,
            "cost_per_run": float(counts.covered_usd / counts.covered) if counts.covered else None,
            "estimated_usd": float(counts.estimated_usd) if counts.estimated else None,
            "estimated_trials": counts.estimated,
            "basis": pool.policy.cost_basis,
        },
        ci95=ratio_interval_by_task(rows) if counts.uncovered == 0 else None,
    )


def false_success(pool: Pool) -> Signal:
    """Declared completions whose outcome failed, over all declared completions."""
    counts = DeclarationCounts.of(pool)
    declared = [trial for trial in pool.trials if trial.declared is True]
    items = [Item(task=trial.trial.task_id, value=float(trial.false_success)) for trial in declared]
    unknown = sum(1 for trial in pool.trials if trial.declared is None)
    tasks = {trial.trial.task_id for trial in declared}
    none_yet = counts.failed == 0 and len(tasks) == len(declared)
    return Signal(
        name="false_success",
        numerator=Decimal(counts.failed),
        denominator=counts.declared,
        left_out=_present({"declaration_unknown": unknown, "no_record": pool.missing_count}),
        beside={
            "unverified": counts.unavailable,
            # What a count of zero over distinct tasks proves, one-sided at 95 %: 0/5 is not a rate of zero.
            "zero_events_upper95": zero_event_upper(len(declared)) if none_yet else None,
            "tasks_needed_for": {f"{limit:.0%}": events_needed(limit) for limit in PROVABLE} if none_yet else None,
        },
        ci95=rate_interval(items, binary=True),
    )


SIGNALS: tuple[Callable[[Pool], Signal], ...] = (
    task_quality,
    useful_progress,
    effect_integrity,
    cost_per_verified_outcome,
    false_success,
)


def signals(pool: Pool) -> tuple[Signal, ...]:
    """All five, in their fixed order."""
    return tuple(signal(pool) for signal in SIGNALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Trials on their way. started = on record; ended = not running; judged = outcome verified or failed.

    gave_up = ended and said so: declared not complete, neither validly waiting nor crashed. declaration_unknown = ended
    without saying whether it completed.
    """

    planned: int
    started: int
    ended: int
    declared: int
    judged: int
    verified: int
    waiting: int
    crashed: int
    gave_up: int
    declaration_unknown: int


def funnel(pool: Pool) -> Funnel:
    """The funnel of a pool."""
    ended = [trial for trial in pool.trials if trial.ended]
    return Funnel(
        planned=pool.planned,
        started=len(pool.trials),
        ended=len(ended),
        declared=sum(1 for trial in pool.trials if trial.declared is True),
        judged=sum(1 for trial in pool.trials if trial.outcome.state is not OutcomeState.UNAVAILABLE),
        verified=sum(1 for trial in pool.trials if trial.verified),
        waiting=pool.waiting_count,
        crashed=sum(1 for trial in pool.trials if trial.crashed),
        gave_up=sum(1 for t in ended if t.declared is False and not t.waiting and not t.crashed),
        declaration_unknown=sum(1 for t in ended if t.declared is None and not t.waiting and not t.crashed),
    )


def _present(counts: dict[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in counts.items() if count}
