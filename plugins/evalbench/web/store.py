"""The lake as the page reads it: one state for one answer, looked at again every few seconds."""

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

FRESH_S = 5.0
"""How long a look at the lake counts."""
PATIENCE_S = 3.0
"""How long an answer waits for a newer state before it is made from the one there is."""
MOST_KEPT = 50
"""Models that are kept of one state of the lake."""

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """Which state of the lake a page shows.

    lake: its name. read_at: when the rows were last read because something had changed; looked_at: when that was last
    checked; now: when the page was made (all by the settings' clock). newest_run: the last date with a run, None in a
    lake without runs. unsettled: dates that are being published, or whose publishing was interrupted: they are shown as
    they were before, or, where the page has never seen them whole, left out. problem: why the lake couldn't be looked
    at again, None when it could: then all is as of looked_at.
    """

    lake: str
    read_at: datetime
    looked_at: datetime
    now: datetime
    newest_run: date | None
    unsettled: tuple[date, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One state of the lake, for one answer: everything the page models are made from.

    number: another one whenever the rows may be others, so that what was made from them can be kept.
    """

    as_of: AsOf
    number: int
    lake: Storage
    snapshot: Snapshot
    runs: HeldRuns
    kept: Kept[Hashable, Any]

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
    number: int
    newest_run: date | None
    read_at: datetime
    looked_at: datetime
    looked: float
    problem: str | None = None


class Store:
    """Read-only over one lake; shared by all requests and threads. Nothing is read before the first `view()`.

    clock: the time that pages show. ticks: seconds that pass, even where the clock stands still.
    """

    def __init__(
        self, lake: Storage, clock: Callable[[], datetime], ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self._lake, self._clock, self._ticks = lake, clock, ticks
        self._runs = HeldRuns(lake)
        self._lock = Lock()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evalbench-lake")
        self._state: _State | None = None
        self._looking: Future[None] | None = None

    def view(self) -> View:
        """The newest known state of the lake.

        Where the last look is too old, a new one is waited for a little while. Raises, as long as nothing is known:
        UsageError when there is no lake, StorageError when it can't be reached, PipelineError when it is damaged.
        """
        looking = self._look_if_due()
        if looking is not None:
            wait([looking], timeout=None if self._state is None else PATIENCE_S)
            if looking.done():
                looking.result()
        state = self._state
        if state is None:
            raise RuntimeError("the first look at the lake ended without a state")
        as_of = AsOf(
            lake=str(self._lake),
            read_at=state.read_at,
            looked_at=state.looked_at,
            now=self._clock(),
            newest_run=state.newest_run,
            unsettled=state.snapshot.unsettled,
            problem=state.problem,
        )
        return View(
            as_of=as_of,
            number=state.number,
            lake=self._lake,
            snapshot=state.snapshot,
            runs=self._runs,
            kept=state.kept,
        )

    def close(self) -> None:
        """Stop looking; views that are in use stay whole."""
        self._worker.shutdown(cancel_futures=True)

    def _look_if_due(self) -> Future[None] | None:
        with self._lock:
            if self._looking is not None and not self._looking.done():
                return self._looking
            if self._state is not None and self._ticks() - self._state.looked < FRESH_S:
                return None
            self._looking = self._worker.submit(self._look)
            return self._looking

    def _look(self) -> None:
        """See whether the lake looks as before; only else read it. Once anything is known, a failure is told beside."""
        state, looked, now = self._state, self._ticks(), self._clock()
        try:
            seen = Seen.of(self._lake)
            if not seen.commits and not self._lake.is_there():
                raise UsageError(
                    f"{self._lake}: no lake here; run the pipeline first, or set EVALBENCH_LAKE to its lake"
                )
            if state is None or state.snapshot.moving or state.snapshot.seen != seen:
                snapshot = take_snapshot(self._lake, seen, None if state is None else state.snapshot)
                state = _State(
                    snapshot=snapshot,
                    kept=Kept(MOST_KEPT),
                    number=0 if state is None else state.number + 1,
                    newest_run=snapshot.database.rows("SELECT max(run_date) AS day FROM runs")[0]["day"],
                    read_at=now,
                    looked_at=now,
                    looked=looked,
                )
            self._state = replace(state, looked_at=now, looked=looked, problem=None)
        except EvalbenchError as error:
            if state is None:
                raise
            self._state = replace(state, looked=looked, problem=str(error))
