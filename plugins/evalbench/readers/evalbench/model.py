"""What one EvalBench result directory says, as the reader hands it on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from evalbench.ledger import ComparatorRow, Defect, Plan, SummaryClaim, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalbenchLedger:
    """One result directory, read. None = the directory doesn't say.

    run_time: aware UTC. dataset: basename of the dataset config. scorers: configured name → EvalBench's scorer type,
    None for a type that EvalBench doesn't know. trials: sorted by (task_id, trial), pairs unique. unattached:
    comparator rows that name no trial, or whose trial can't be told from its twins. has_summary: an intact summary.csv
    is there, the harness's only completion marker. planned: from an evalset file in the snapshot. Secrets are already
    redacted.
    """

    job_id: str | None = None
    run_time: datetime | None = None
    product: str | None = None
    requester: str | None = None
    dataset: str | None = None
    generator: str | None = None
    generator_class: str | None = None
    agent_version: str | None = None
    model: str | None = None
    eval_group: str | None = None
    scorers: Mapping[str, str | None] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    unattached: tuple[ComparatorRow, ...] = ()
    summary: tuple[SummaryClaim, ...] = ()
    has_summary: bool = False
    planned: Plan | None = None
    defects: tuple[Defect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRow:
    """One row of evals.csv before numbering and joining.

    raw_id is what scores join on. trial.trial is the number the file gives, else 0. content: hash of the row's cells.
    joins: cells that tell rows with one id apart in the scores too. golden_error and generated_empty as in
    ComparatorRow, None for a run without queries. models: model names its statistics mention.
    """

    raw_id: str
    trial: Trial
    content: str
    joins: Mapping[str, str] = field(default_factory=dict)
    golden_error: str | None = None
    generated_empty: bool | None = None
    models: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One row of the scores before joining. consistency: it compares two trials and belongs to neither."""

    raw_id: str
    row: ComparatorRow
    joins: Mapping[str, str] = field(default_factory=dict)
    consistency: bool = False

    @property
    def content(self) -> tuple[str, Decimal | None, str, str, str]:
        """What the row says, without its place in the file."""
        return (self.row.comparator, self.row.score, self.row.score_text, self.row.error, self.row.log)
