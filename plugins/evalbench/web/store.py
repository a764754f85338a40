"""The lake as the page reads it: one state for one answer, looked at again every few seconds."""

import logging
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import date, datetime
from threading import Lock
from typing import Any, TypeVar

from evalbench.errors import EvalbenchError, UsageError
from evalbench.ledger import ScoredRun
from evalbench.storage import Storage
from evalbench.web.held_runs import HeldRuns
from evalbench.web.kept import Kept
from evalbench.web.snapshot import Seen, Snapshot, take_snapshot
from evalbench.web.words import listed

log = logging.getLogger(__name__)

FRESH_S = 5.0
"""How long a look at the lake counts."""
PATIENCE_S = 3.0
"""How long answers wait for a look at the lake, counted from its start; then they are made from the state there is."""
MOST_KEPT = 50
"""Models that are kept of one state of the lake."""
NAMED = 10
"""Dates a sentence names."""

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """Which state of the lake a page shows.

    lake: its name. read_at: when the rows were last read because something had changed; looked_at: when that was last
    checked; now: when the page was made (all by the settings' clock). newest_run: the last date with a run, None in a
    lake without runs. shown_before, left_out: dates that are being published, or whose publishing was interrupted. The
    former are shown as they were before; the latter were never seen whole, and nothing of them is shown. looking_since:
    when the look began that wasn't over when the page was made, None when none was under way. problem: why the lake
    couldn't be looked at again, None when it could: then all is as of looked_at.
    """

    lake: str
    read_at: datetime
    looked_at: datetime
    now: datetime
    newest_run: date | None
    shown_before: tuple[date, ...] = ()
    left_out: tuple[date, ...] = ()
    looking_since: datetime | None = None
    problem: str | None = None

    def missing(self, place: str = "on this page yet") -> str:
        """`2026-11-30 is being published and not on this page yet`; empty when no date is left out."""
        return f"{_being_published(self.left_out)} and not {place}" if self.left_out else ""

    @property
    def outdated(self) -> str:
        """`2026-11-30 is being published: shown as it was before`; empty when no date is shown so."""
        before = "it was" if len(self.shown_before) == 1 else "they were"
        return f"{_being_published(self.shown_before)}: shown as {before} before" if self.shown_before else ""

    def hides(self, day: date | None) -> bool:
        """Whether there may be something on a date, or without one in the lake, of which nothing is shown."""
        return day in self.left_out if day is not None else bool(self.left_out) and self.newest_run is None


def _being_published(days: Sequence[date]) -> str:
    return f"{listed([day.isoformat() for day in days], NAMED)} {'is' if len(days) == 1 else 'are'} being published"


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

    def view(self) -> View:
        """The newest known state of the lake.

        Where the last look is too old, a new one is waited for, but no longer than it may take: whoever asks while it
        takes longer is answered at once. Raises, as long as nothing is known: UsageError when there is no lake,
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
        as_of = AsOf(
            lake=str(self._lake),
            read_at=state.read_at,
            looked_at=state.looked_at,
            now=self._clock(),
            newest_run=state.newest_run,
            shown_before=state.snapshot.shown_before,
            left_out=state.snapshot.left_out,
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
        """Stop looking; views that are in use stay whole."""
        self._worker.shutdown(cancel_futures=True)

    def _look_if_due(self) -> _Look | None:
        with self._lock:
            if self._look is not None and not self._look.over.done():
                return self._look
            if self._state is not None and self._ticks() - self._state.looked < FRESH_S:
                return None
            self._look = _Look(over=self._worker.submit(self._look_again), begun=self._clock(), started=self._ticks())
            return self._look

    def _left_to_wait(self, look: _Look) -> float:
        return max(0.0, self._patience - (self._ticks() - look.started))

    def _look_again(self) -> None:
        """Learn what is there now. Once anything is known, a failure of whatever kind is told beside it."""
        state, looked = self._state, self._ticks()
        try:
            self._state = self._newest(state, looked)
        except Exception as error:
            if state is None:
                raise
            self._state = replace(state, looked=looked, problem=_told(error, state.problem))

    def _newest(self, state: _State | None, looked: float) -> _State:
        """The state of the lake now; the lake is read where it doesn't look as before."""
        now, seen = self._clock(), Seen.of(self._lake)
        if not seen.commits and not self._lake.is_there():
            raise UsageError(f"{self._lake}: no lake here; run the pipeline first, or set EVALBENCH_LAKE to its lake")
        if state is not None and not state.snapshot.moving and state.snapshot.seen == seen:
            return replace(state, looked_at=now, looked=looked, problem=None)
        snapshot = take_snapshot(self._lake, seen, None if state is None else state.snapshot)
        return _State(
            snapshot=snapshot,
            kept=Kept(MOST_KEPT),
            newest_run=snapshot.database.rows("SELECT max(run_date) AS day FROM runs")[0]["day"],
            read_at=now,
            looked_at=now,
            looked=looked,
        )


def _told(error: Exception, before: str | None) -> str:
    """A failed look in a sentence. One that nobody foresaw is logged with its trace, once while it lasts."""
    if isinstance(error, EvalbenchError):
        return str(error)
    said = f"unexpected error ({type(error).__name__}); see the api-server's log"
    if said != before:
        log.error("the page keeps what it knew, since the lake can't be looked at", exc_info=error)
    return said
