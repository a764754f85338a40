"""The lake as the page reads it: one state for one answer, looked at again every few seconds."""

import logging
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import date, datetime
from threading import Lock
from typing import Any, TypeVar

from evalbench.errors import EvalbenchError, StorageError, UsageError
from evalbench.ledger import ScoredRun
from evalbench.storage import Storage
from evalbench.web.as_of import AsOf
from evalbench.web.held_runs import HeldRuns
from evalbench.web.kept import Kept
from evalbench.web.snapshot import Seen, Snapshot, take_snapshot
from evalbench.words import plural

log = logging.getLogger(__name__)

FRESH_S = 5.0
"""How long a look at the lake counts."""
PATIENCE_S = 3.0
"""How long answers wait for a look at the lake, counted from its start; then they are made from the state there is."""
MOST_KEPT = 20
"""Models that are kept of one state of the lake."""

_Made = TypeVar("_Made")


class NoLakeError(UsageError):
    """Nothing has been published there yet, or it is the wrong place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One state of the lake, for one answer: everything the page models are made from."""

    as_of: AsOf
    lake: Storage
    snapshot: Snapshot
    runs: HeldRuns
    kept: Kept[Hashable, Any]

    @property
    def version(self) -> str:
        """What names these rows, in any process: what was made from them alone may be kept under it."""
        return self.snapshot.version

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of a SELECT over the tables of `tables.HELD`, and `daily`, with `?` for each parameter."""
        return self.snapshot.database.rows(sql, params)

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What is made from these rows and the key alone: made when it is asked for first, then kept for a while."""
        made: _Made = self.kept.get(key, make)
        return made

    def facts_key(self, run_key: str, content: str, reader_version: str) -> str:
        """The key of a run's facts, by columns of `runs`. Raises PipelineError when they are gone."""
        return self.runs.key(run_key, content, reader_version)

    def scored(self, facts: str) -> ScoredRun:
        """A run's facts and verdicts by the facts' key. Raises PipelineError when they are gone or damaged."""
        return self.runs.scored(facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is known, and since when. looked: by the ticks. kept: what was made from the snapshot."""

    snapshot: Snapshot
    kept: Kept[Hashable, Any]
    newest_run: date | None
    read_at: datetime
    looked_at: datetime
    looked: float
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """A look at the lake. begun: by the clock; started: by the ticks."""

    over: Future[None]
    begun: datetime
    started: float


class Store:
    """Read-only over one lake; shared by all requests and threads. Nothing is read before the first `view()`.

    clock: the time that pages show. ticks: seconds that pass, even where the clock stands still. patience: seconds that
    answers wait for a look.
    """

    def __init__(
        self,
        lake: Storage,
        clock: Callable[[], datetime],
        ticks: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE_S,
    ) -> None:
        self._lake, self._clock, self._ticks, self._patience = lake, clock, ticks, patience
        self._runs = HeldRuns(lake)
        self._lock = Lock()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evalbench-lake")
        self._state: _State | None = None
        self._look: _Look | None = None
        self._failed_at: float | None = None

    def view(self) -> View:
        """The newest known state of the lake.

        Where the last look is too old, a new one is waited for, but no longer than it may take: whoever asks while it
        takes longer is answered at once. Raises, as long as nothing is known: NoLakeError when there is no lake,
        StorageError when it can't be reached, PipelineError when it is damaged.
        """
        look = self._look_if_due()
        if look is not None:
            wait([look.over], timeout=None if self._state is None else self._left_to_wait(look))
            if look.over.done():
                look.over.result()
                look = None
        state = self._state
        if state is None:
            raise RuntimeError("the first look at the lake ended without a state")
        unsettled = state.snapshot.unsettled
        as_of = AsOf(
            lake=str(self._lake),
            read_at=state.read_at,
            looked_at=state.looked_at,
            now=self._clock(),
            newest_run=state.newest_run,
            shown_before=unsettled.shown_before,
            left_out=unsettled.left_out,
            lost=unsettled.lost,
            unreadable=tuple(unsettled.unreadable.values()),
            looking_since=None if look is None else look.begun,
            problem=state.problem,
        )
        return View(
            as_of=as_of,
            lake=self._lake,
            snapshot=state.snapshot,
            runs=self._runs,
            kept=state.kept,
        )

    def close(self) -> None:
        """Stop looking; views that are in use stay whole, and a look that hangs isn't waited for."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _look_if_due(self) -> _Look | None:
        with self._lock:
            if self._look is not None and (not self._look.over.done() or self._failed_just_now()):
                return self._look
            if self._state is not None and self._ticks() - self._state.looked < FRESH_S:
                return None
            self._look = _Look(over=self._worker.submit(self._look_again), begun=self._clock(), started=self._ticks())
            return self._look

    def _failed_just_now(self) -> bool:
        """Whether nothing is known and that is still fresh: a lake that is damaged isn't read for every request."""
        return self._state is None and self._failed_at is not None and self._ticks() - self._failed_at < FRESH_S

    def _left_to_wait(self, look: _Look) -> float:
        return max(0.0, self._patience - (self._ticks() - look.started))

    def _look_again(self) -> None:
        """Learn what is there now. Once anything is known, a failure of whatever kind is told beside it."""
        state, looked = self._state, self._ticks()
        try:
            self._state = self._newest(state, looked)
        except Exception as error:
            if state is None:
                self._failed_at = self._ticks()
                raise
            self._state = replace(state, looked=looked, problem=_told(error, state.problem))

    def _newest(self, state: _State | None, looked: float) -> _State:
        """The state of the lake now; the lake is read where it doesn't look as before."""
        now, before = self._clock(), None if state is None else state.snapshot
        snapshot = self._taken(before)
        if state is not None and snapshot is before:
            return replace(state, looked_at=now, looked=looked, problem=None)
        same_rows = state is not None and snapshot.database is state.snapshot.database
        return _State(
            snapshot=snapshot,
            kept=Kept(MOST_KEPT),
            newest_run=snapshot.database.rows("SELECT max(run_date) AS day FROM runs")[0]["day"],
            read_at=state.read_at if state is not None and same_rows else now,
            looked_at=now,
            looked=looked,
        )

    def _taken(self, before: Snapshot | None) -> Snapshot:
        seen = self._seen(before)
        if before is not None and not before.unsure and before.seen == seen:
            return before
        snapshot = take_snapshot(self._lake, seen, before)
        return take_snapshot(self._lake, self._seen(snapshot), snapshot) if snapshot.unproven else snapshot

    def _seen(self, before: Snapshot | None) -> Seen:
        """How the lake looks. Raises NoLakeError where there is none, StorageError for one whose records all went."""
        seen = Seen.of(self._lake)
        if not seen.commits and not self._lake.is_there():
            raise NoLakeError(f"{self._lake}: no lake here; run the pipeline first, or set EVALBENCH_LAKE to its lake")
        if not seen.commits and before is not None and before.seen.commits:
            had, then = plural(len(before.seen.commits), "date"), "bring its files back, or run the pipeline again"
            raise StorageError(f"{self._lake}: the lake is empty now, it had {had}; {then}")
        return seen


def _told(error: Exception, before: str | None) -> str:
    """A failed look in a sentence. One that nobody foresaw is logged with its trace, once while it lasts."""
    if isinstance(error, EvalbenchError):
        return str(error)
    said = f"unexpected error ({type(error).__name__}); see the api-server's log"
    if said != before:
        log.error("the page keeps what it knew, since the lake can't be looked at", exc_info=error)
    return said
