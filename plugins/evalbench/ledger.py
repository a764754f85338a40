"""The ledger: one run as typed, immutable records. Pure data; stored as facts, trusted by everything above it.

Absence is a value: a field that may be missing is None, and where a reader knows why, a reason stands beside it.
Nothing in here knows a policy, a clock or a place.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

EMPTY_NOT_DECLARED = "empty_not_declared"
"""`Trial.expected_reason` of an empty expectation that the operator doesn't take for one."""


class RunState(StrEnum):
    """How far a run directory got. `abandoned` is in progress past its grace period and counts as scored."""

    COMPLETE = "complete"
    IN_PROGRESS = "in_progress"
    ABANDONED = "abandoned"
    UNREADABLE = "unreadable"


class TrialStatus(StrEnum):
    """What the record says became of a trial."""

    COMPLETED = "completed"
    WAITING = "waiting"
    FAILED = "failed"
    CRASHED = "crashed"
    RUNNING = "running"


class OutcomeState(StrEnum):
    """State of an outcome at its destination."""

    VERIFIED = "verified"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"


class EffectState(StrEnum):
    """State of one effect at its destination. `rejected` = denied on purpose: the boundary worked."""

    VERIFIED = "verified"
    FAILED = "failed"
    UNKNOWN = "unknown"
    REJECTED = "rejected"


class CostState(StrEnum):
    """Where a cost figure comes from; only `billed` is covered."""

    BILLED = "billed"
    ESTIMATED = "estimated"
    UNAVAILABLE = "unavailable"


class PlanSource(StrEnum):
    """Where the planned trials come from; `observed` = no plan was reachable, so nothing missing can be seen."""

    MANIFEST = "manifest"
    EVALSET = "evalset"
    OBSERVED = "observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef:
    """Where a fact was read: a file of the run directory and a 1-based record (CSV header not counted) or line."""

    file: str
    row: int | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """Something in the input that can't be taken at its word. `code` is a stable snake_case word."""

    code: str
    message: str
    ref: EvidenceRef | None = None
    task_id: str | None = None
    trial: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call in the order it was made. `name` is canonical (see `names.py`), `raw_name` as recorded.

    args_json: canonical JSON of the arguments, None when they were not recorded.
    status: success, error, rejected, or None when the harness did not say.
    """

    index: int
    raw_name: str
    name: str
    args_json: str | None = None
    status: str | None = None
    duration_ms: float | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """One call the task expects. args_json None = any arguments."""

    raw_name: str
    name: str
    args_json: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """State at the destination by a named predicate. Built with `evidence.outcome`, which applies the naming rules."""

    state: OutcomeState
    predicate: str | None = None
    verifier_kind: str | None = None
    verifier_name: str | None = None
    verifier_version: str | None = None
    reason: str | None = None
    evidence: str | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One change at a destination, after reconciliation: attempts sharing an idempotency key are one effect.

    tool is canonical; attempts counts what was tried (a later verification of one attempt is no further one).
    """

    effect_id: str
    state: EffectState
    tool: str | None = None
    destination: str | None = None
    idempotency_key: str | None = None
    reason: str | None = None
    evidence: str | None = None
    attempts: int = 1
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One grader's verdict on one trial. score in 0..1 rounded to 9 decimals, None when the grader did not run."""

    score: Decimal | None
    grader_kind: str | None = None
    grader_name: str | None = None
    grader_version: str | None = None
    rubric_version: str | None = None
    model: str | None = None
    prompt_sha256: str | None = None
    calibration: str | None = None
    disagreement: float | None = None
    reason: str | None = None
    ref: EvidenceRef | None = None

    @property
    def calibrated(self) -> bool:
        """A model grade needs prompt hash, model, rubric version and calibration sample; other kinds need none."""
        return self.grader_kind != "model" or all(
            (self.prompt_sha256, self.model, self.rubric_version, self.calibration)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Observation windows, counted. An active window that doesn't say whether evidence was new counts as stale."""

    active: int
    active_with_delta: int
    waiting: int = 0
    stale: int = 0
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A wait for an approval; valid only when all four fields are there and `due` has not passed."""

    owner: str | None = None
    decision: str | None = None
    due: datetime | None = None
    resume_state: str | None = None
    ref: EvidenceRef | None = None

    def defect_at(self, as_of: datetime) -> str | None:
        """None when valid at `as_of` (aware UTC), else `wait_invalid` or `wait_overdue`."""
        if not (self.owner and self.decision and self.due and self.resume_state):
            return "wait_invalid"
        return "wait_overdue" if self.due < as_of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a trial cost in US dollars, rounded to 9 decimals."""

    state: CostState
    usd: Decimal | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and calls of one trial.

    cached_in_input: True when `input_tokens` already holds the cached ones (Gemini), False when not (Claude),
    None when the generator's convention is unknown.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_creation_tokens: int | None = None
    reasoning_tokens: int | None = None
    inference_calls: int | None = None
    tool_calls: int | None = None
    cached_in_input: bool | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Wall time of one trial and of its tools, in seconds."""

    duration_s: float | None = None
    tool_duration_s: float | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparatorRow:
    """One row of the harness's scores, as written. `comparators.py` decides what it is worth.

    comparator: the name in the file; scorer_type: EvalBench's scorer behind it (renamed ones resolved), or None.
    score: the number as written, None when empty or not a number (then score_text says what stood there).
    log: at most `readers` cap of characters, secrets redacted.
    golden_error: why the golden query failed, "" when it ran, None when the harness did not record it.
    generated_empty: True when the generated query was empty (never executed), None when not recorded.
    """

    comparator: str
    scorer_type: str | None = None
    score: Decimal | None = None
    score_text: str = ""
    error: str = ""
    log: str = ""
    golden_error: str | None = None
    generated_empty: bool | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt at one task, with everything that was recorded about it.

    declared_complete: the record's own word, None when the record is silent.
    finished_conversation: return code 0, not timed out, no generated error, history parses; None when not an
        EvalBench conversation or when that evidence is missing.
    calls None = the call sequence is unavailable; () = there were no calls. expected None = no expectation;
    () = no call expected. calls_source: `tool_calls`, `accumulated_tools` (order and repeats unsure) or `record`.
    task_key: hash of conversation plan, expected trajectory and environment, None when the source has none.
    """

    task_id: str
    trial: int
    task_key: str | None = None
    status: TrialStatus | None = None
    status_reason: str | None = None
    declared_complete: bool | None = None
    finished_conversation: bool | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    qualities: tuple[Quality, ...] = ()
    progress: Progress | None = None
    effects: tuple[Effect, ...] | None = None
    calls: tuple[ToolCall, ...] | None = None
    calls_source: str | None = None
    calls_reason: str | None = None
    expected: tuple[ExpectedCall, ...] | None = None
    expected_reason: str | None = None
    forbidden: tuple[str, ...] | None = None
    cost: Cost | None = None
    wait: Wait | None = None
    usage: Usage | None = None
    timing: Timing | None = None
    comparators: tuple[ComparatorRow, ...] = ()
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A task the plan names and how many trials of it."""

    task_id: str
    trials: int = 1


MOST_PLANNED_TRIALS = 100_000
"""Readers take no plan beyond it: every planned trial without a record becomes a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the run set out to do."""

    source: PlanSource
    tasks: tuple[PlannedTask, ...] = ()

    @property
    def trials(self) -> int:
        """Number of planned trials."""
        return sum(task.trials for task in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryClaim:
    """One row of the harness's summary.csv, kept only to report where it misleads."""

    metric: str
    score: Decimal | None
    correct: Decimal | None
    total: Decimal | None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A directory of trials of one candidate.

    run_key: hash of the path relative to the runs root; content: sha256 over the directory's file contents.
    run_time is aware UTC. `dataset` is run.yaml's (then dataset_named, and it is the suite), else the basename of the
    harness's dataset config. environment is offline, production, or unknown when the source names another word.
    unattached holds comparator rows that name no task (blank or torn ids): kept, counted, judged by nobody.
    """

    run_id: str
    run_key: str
    path: str
    format: str
    state: RunState
    content: str
    reader_version: str
    run_time: datetime
    candidate: str
    product: str
    environment: str = "offline"
    dataset: str | None = None
    dataset_named: bool = False
    dataset_version: str | None = None
    baseline: str | None = None
    requester: str | None = None
    model: str | None = None
    generator: str | None = None
    generator_class: str | None = None
    agent_version: str | None = None
    eval_group: str | None = None
    workflow: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    scorers: dict[str, str | None] = field(default_factory=dict)
    plan: Plan = field(default_factory=lambda: Plan(source=PlanSource.OBSERVED))
    summary: tuple[SummaryClaim, ...] = ()
    unattached: tuple[ComparatorRow, ...] = ()
    defects: tuple[Defect, ...] = ()
    trials: tuple[Trial, ...] = ()

    @property
    def run_date(self) -> date:
        """UTC date of `run_time`: the partition this run belongs to."""
        return self.run_time.date()


class VerdictState(StrEnum):
    """Whether a verdict was possible."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one evaluator, or one of the harness's comparators, says of one trial.

    name: `tool_selection.set_f1` or the comparator's name. source: `evaluator` or `harness`. scorer_type as in
    ComparatorRow. value is rounded to 9 decimals (evaluators 0..1 or 0..100 as documented, comparators as written) and
    None exactly when the state is unavailable, with a snake_case reason. task_id is None for unattached rows.
    """

    name: str
    source: str
    version: str
    value: Decimal | None
    state: VerdictState
    reason: str | None = None
    scorer_type: str | None = None
    task_id: str | None = None
    trial: int | None = None
    detail: str | None = None
    ref: EvidenceRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A run's facts with the verdicts computed from them: all that deciding and publishing ever read."""

    run: Run
    verdicts: tuple[Verdict, ...]
