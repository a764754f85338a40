"""What several pages show: subjects, filters, figures with their counts, checks, and as of when all of it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.repeats import Bracket
from evalbench.signals import Funnel
from evalbench.words import plural

SIGNAL_LABELS = {
    "task_quality": "Task quality",
    "useful_progress": "Useful progress",
    "effect_integrity": "Effect integrity",
    "cost_per_verified_outcome": "Cost per verified outcome",
    "false_success": "False success",
}
"""The five signals in the order in which every page shows them."""
STAGE_LABELS = {
    1: "Coverage",
    2: "False success",
    3: "Unknown effects",
    4: "Floors",
    5: "Comparison with the baseline",
}
VERDICT_LABELS = {
    Verdict.PASS: "May ship",
    Verdict.FAIL: "Failed",
    Verdict.INSUFFICIENT_EVIDENCE: "Lacks evidence",
}
"""What a decision means for a release; the word of record is the verdict itself."""
TALLY_WORDS = {
    Verdict.PASS: ("may ship", "may ship"),
    Verdict.FAIL: ("failed", "failed"),
    Verdict.INSUFFICIENT_EVIDENCE: ("lacks evidence", "lack evidence"),
}
"""The same of one subject, and of several or none."""
HELD_FIRST = (Verdict.FAIL, Verdict.INSUFFICIENT_EVIDENCE, Verdict.PASS)
"""How decisions of one date are sorted."""


class MissingError(LookupError):
    """What was asked for isn't in the lake; the message says so in one sentence, and what to look at instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What to show; None: everything. day: the date decided. older: also subjects not decided for a month.

    decision: of the board's rows; no other page has it.
    """

    product: str | None = None
    suite: str | None = None
    environment: str | None = None
    candidate: str | None = None
    model: str | None = None
    day: date | None = None
    older: bool = False
    decision: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """What can be chosen, each sorted; dates newest first."""

    products: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    days: tuple[date, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFigure:
    """One signal of one decision.

    value = numerator / denominator, in `unit` (`quality 0..1`, `share`, `USD`); None over nothing, and then reason says
    why in words. numerator: None where nothing of it is known. left_out: reason → items in neither. ci95: None where no
    interval is defined. beside: figures kept next to it and never added to it, as JSON values by name.
    covered of population: coverage, in `counted` (`completed trials`, `active windows`, …): how much of what should
    speak does.
    """

    name: str
    label: str
    unit: str
    value: float | None
    numerator: float | None
    denominator: int
    left_out: Mapping[str, int]
    left_out_total: int
    ci95: tuple[float, float] | None
    beside: Mapping[str, object]
    reason: str | None
    covered: int
    population: int
    counted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPoint:
    """A signal on one date, and what was decided then. Fields as in SignalFigure."""

    day: date
    decision: Verdict
    value: float | None
    numerator: float | None
    denominator: int
    left_out_total: int
    ci95: tuple[float, float] | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLink:
    """A trial by name; trial None: planned, and without a record. label: as sentences name it (`t1#2`)."""

    run_id: str
    task_id: str
    trial: int | None
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """A trial behind a check and why. missing: the evidence is absent; else it is harm on record."""

    link: TrialLink
    why: str
    missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of one decision, at both ends.

    number: its place in the fixed order, from 0. stage: 1 to 5, stage_label in words. status: evaluated, reported,
    not_evaluated, not_used or refused. fired: it holds the release; proven: even the best end breaches the limit.
    observed, best, worst, limit: in `unit` (share, count, USD, seconds, tokens, …); None where there is nothing to
    divide, or, for worst with worst_unbounded, where no bound exists. numerator, denominator: the raw counts.
    reason: one sentence. evidence: the trials behind it, the first of evidence_total.
    """

    number: int
    name: str
    stage: int
    stage_label: str
    status: str
    fired: bool
    proven: bool
    unit: str
    observed: float | None
    best: float | None
    worst: float | None
    worst_unbounded: bool
    limit: float | None
    numerator: float | None
    denominator: float | None
    reason: str
    next_step: str
    evidence: tuple[EvidenceRow, ...]
    evidence_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """What decided, for people.

    sentence: the check's own, on PASS that every check holds, or that the lake lacks the check. check, number, proven,
    next_step: None, None, False and None where there is no check of which to tell. trials: the first five behind it of
    trials_total.
    """

    sentence: str
    check: str | None
    number: int | None
    proven: bool
    next_step: str | None
    trials: tuple[TrialLink, ...]
    trials_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How a decision differs from the one of the subject's date before.

    before_day, before: None for a subject's first decision. changed: the word or the deciding check is another.
    sentence: all of it in words, with what the two were made with that differs. revised: where this date itself was
    decided before with another result (decision_log): that first word, else None; revisions: entries of the log for
    this date.
    """

    before_day: date | None
    before: Verdict | None
    changed: bool
    sentence: str
    revised: Verdict | None
    revisions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayMark:
    """What was decided on a date. not_of_record: as in Standing."""

    day: date
    decision: Verdict
    not_of_record: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A run that the operator voided: it is in no number."""

    run_id: str
    reason: str
    owner: str
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One subject's decision on one date, with all that a line of the board shows.

    verdict: the word. not_of_record: why it isn't of record, in words; None where it is. age_days: days from the date
    to the clock's, negative where it is to come; behind_days: days from the date to the newest run of the whole lake
    that isn't to come (0: the newest, or newer). model, dataset_version: None where the runs name none. signals: the
    five, in order. marks: decisions of the last dates, oldest first, this one last; sparks: signal name → its points
    over the same dates. pass_hat_k: k → bracket.
    """

    subject: Subject
    day: date
    verdict: Verdict
    not_of_record: str | None
    age_days: int
    behind_days: int
    policy_name: str
    policy_version: str
    policy_hash: str
    workflow: str
    model: str | None
    dataset_version: str | None
    baseline: str | None
    window_days: int
    as_of: datetime
    tasks: int
    runs: tuple[str, ...]
    deciding: Deciding
    flip: str
    signals: tuple[SignalFigure, ...]
    funnel: Funnel
    pass_hat_k: Mapping[int, Bracket]
    change: Change
    marks: tuple[DayMark, ...]
    sparks: Mapping[str, tuple[SignalPoint, ...]] = field(default_factory=dict)
    attested: tuple[str, ...] = ()
    excluded: tuple[Excluded, ...] = ()

    @property
    def provisional(self) -> bool:
        """Whether it may still become another one before it goes on record."""
        return self.not_of_record is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many subjects a verdict was given to; provisional: of how many of these it isn't of record."""

    verdict: Verdict
    count: int
    provisional: int

    @property
    def said(self) -> str:
        """`2 may ship (1 provisional)`."""
        one, several = TALLY_WORDS[self.verdict]
        return f"{plural(self.count, one, several)}{self.aside}"

    @property
    def aside(self) -> str:
        """` (1 provisional)`; empty where all are of record."""
        return f" ({self.provisional:,} provisional)" if self.provisional else ""


def tallies(rows: Sequence[Standing]) -> tuple[Tally, ...]:
    """One for each verdict, also for those that nobody was given."""
    return tuple(_tally(verdict, [row for row in rows if row.verdict is verdict]) for verdict in Verdict)


def _tally(verdict: Verdict, rows: Sequence[Standing]) -> Tally:
    return Tally(verdict=verdict, count=len(rows), provisional=sum(row.provisional for row in rows))
