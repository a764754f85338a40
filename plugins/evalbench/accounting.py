"""What became of every child of the runs root, and whether the sum closes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from evalbench.errors import AccountingError
from evalbench.ledger import RunState


class Disposition(StrEnum):
    """`planned` = to be scored, before it is; the others are where a listed entry ends. Abandoned runs are scored.

    `deleted` = known, and listed no more: outside the sum.
    """

    PLANNED = "planned"
    SCORED = "scored"
    UNCHANGED = "unchanged"
    OUT_OF_RANGE = "out_of_range"
    IN_PROGRESS = "in_progress"
    QUARANTINED = "quarantined"
    IGNORED = "ignored"
    DELETED = "deleted"


class Change(StrEnum):
    """What is news about a directory. `late`: new, on a date published before. `moved`: changed, with another date."""

    NEW = "new"
    LATE = "late"
    CHANGED = "changed"
    MOVED = "moved"


TASK_LOST = "task_lost"
DUPLICATE_RUN_ID = "duplicate_run_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose run a directory holds, as far as its small files tell."""

    product: str
    candidate: str
    environment: str
    dataset: str | None
    dataset_named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryState:
    """One child of the runs root.

    path: relative to the root. reason: snake_case, for everything but scored and unchanged. content: sha256 over its
    files, None when they weren't taken. facts: key of its facts in the lake, None without. size: bytes of its files.
    hint: what its listing looked like, None where that says nothing about the next time. beside: path of a file outside
    it that belongs to it, relative to the root. began: from when an unfinished run's age counts. identity: of a run
    that is lost, or can't be read any more. seen: how many looks the index had of it when it was listed.
    """

    path: str
    run_key: str
    disposition: Disposition
    reason: str | None = None
    message: str = ""
    format: str | None = None
    content: str | None = None
    facts: str | None = None
    run_id: str | None = None
    run_time: datetime | None = None
    state: RunState | None = None
    size: int = 0
    hint: str | None = None
    beside: str | None = None
    began: datetime | None = None
    change: Change | None = None
    identity: Identity | None = None
    seen: int = 0

    @property
    def run_date(self) -> date | None:
        """UTC date of `run_time`."""
        return self.run_time.date() if self.run_time is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """listed = scored + unchanged + out_of_range + in_progress + quarantined(reason) + ignored(reason)."""

    listed: int
    scored: int
    unchanged: int
    out_of_range: int
    in_progress: int
    quarantined: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of one run's summary in one execution.

    message: what to do about it, for people. cached: it was there already. calls, tokens, cost_usd: of the calls made
    for it now. why: which way was taken to write it. Tokens and cost are None where nothing was counted or priced.
    """

    state: str
    why: str
    reason: str | None = None
    message: str = ""
    cached: bool = False
    calls: int = 0
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_thinking: int | None = None
    cost_usd: Decimal | None = None


WITH_FACTS = frozenset({Disposition.SCORED, Disposition.UNCHANGED})
"""Where an entry ends whose facts are in the lake and count."""


def settle(entries: Iterable[DirectoryState], results: Mapping[str, DirectoryState]) -> tuple[DirectoryState, ...]:
    """Planned entries replaced by what became of them (results: by run key); one that never came back is lost."""
    return tuple(
        results.get(entry.run_key) or _lost(entry) if entry.disposition is Disposition.PLANNED else entry
        for entry in entries
    )


def hold_back(states: Iterable[DirectoryState], duplicates: Mapping[str, str]) -> tuple[DirectoryState, ...]:
    """Directories whose run id another one has first (run key → its path) are quarantined."""
    return tuple(
        _duplicate(state, duplicates[state.run_key])
        if state.run_key in duplicates and state.disposition in WITH_FACTS
        else state
        for state in states
    )


def account(states: Iterable[DirectoryState], listed: Iterable[str]) -> Accounting:
    """Count the states of the `listed` paths.

    Raises AccountingError when a listed path has no final state, has two, or a state was never listed.
    """
    ended = [state for state in states if state.disposition is not Disposition.PLANNED]
    expected, found = Counter(listed), Counter(state.path for state in ended)
    if expected != found:
        lost, extra = sorted((expected - found).elements()), sorted((found - expected).elements())
        raise AccountingError(
            f"listed {expected.total()} run directories, accounted for {found.total()}:"
            f" lost {lost[:5]}, unlisted or twice {extra[:5]}; run the pipeline again from discover"
        )
    counts = Counter(state.disposition for state in ended)
    return Accounting(
        listed=expected.total(),
        scored=counts[Disposition.SCORED],
        unchanged=counts[Disposition.UNCHANGED],
        out_of_range=counts[Disposition.OUT_OF_RANGE],
        in_progress=counts[Disposition.IN_PROGRESS],
        quarantined=_reasons(ended, Disposition.QUARANTINED),
        ignored=_reasons(ended, Disposition.IGNORED),
    )


def _lost(entry: DirectoryState) -> DirectoryState:
    message = f"{entry.path}: planned, but no result came back; look at its task's log and run again"
    return replace(entry, disposition=Disposition.QUARANTINED, reason=TASK_LOST, message=message, facts=None)


def _duplicate(state: DirectoryState, first: str) -> DirectoryState:
    message = f"{state.path}: run id {state.run_id} is that of {first}, which came first"
    return replace(state, disposition=Disposition.QUARANTINED, reason=DUPLICATE_RUN_ID, message=message)


def _reasons(states: Iterable[DirectoryState], disposition: Disposition) -> dict[str, int]:
    reasons = Counter(state.reason or "unknown" for state in states if state.disposition is disposition)
    return dict(sorted(reasons.items()))
