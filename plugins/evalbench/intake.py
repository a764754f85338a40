"""From a child of the runs root to its facts: take the bytes once, hand them to the reader that knows them."""

import posixpath
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from threading import Lock

from evalbench.accounting import TASK_LOST, Change, DirectoryState, Disposition, Identity
from evalbench.errors import UsageError
from evalbench.lake.facts import facts_key, read_head, reading, write_facts
from evalbench.lake.index import FORGOTTEN, IndexEntry, Standing
from evalbench.lake.verdicts import write_verdicts
from evalbench.ledger import Run
from evalbench.readers.assemble import READER_VERSION, UNKNOWN
from evalbench.readers.manifest import external_evalset
from evalbench.readers.registry import HEAD_FILES, head_tells, read_directory, unrelated
from evalbench.readers.snapshot import NoRunState, NotARun, ReadOptions, Snapshot, run_key_of
from evalbench.retention import Retention
from evalbench.scoring import score_run
from evalbench.settings import Settings
from evalbench.storage import (
    FileStamp,
    ListedEntry,
    Storage,
    hint_of,
    lake_of,
    open_storage,
    runs_of,
    split_name,
    too_large,
)

CHANGED = "changed_while_read"
READER_ERROR = "reader_error"
NAMELESS = f"{UNKNOWN}/{UNKNOWN}"
"""The candidate of a directory that names neither a candidate nor a generator."""

WHOLE = Lock()
"""Held while a directory is read whole only to date it."""

Covers = Callable[[date], bool]
"""Whether a run date is in range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The bytes of a run directory, and what its listing looked like when they were read."""

    snapshot: Snapshot
    hint: str
    beside: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """How directories are read: from where, into which lake, under which options."""

    runs: Storage
    lake: Storage
    options: ReadOptions
    max_run_bytes: int
    retention: Retention

    @classmethod
    def of(cls, settings: Settings) -> "Intake":
        """The intake these settings describe. Raises UsageError when runs or lake aren't given."""
        return cls(
            runs=runs_of(settings),
            lake=lake_of(settings),
            options=read_options(settings),
            max_run_bytes=settings.max_run_bytes,
            retention=Retention.of(settings),
        )

    def look_at(self, listed: ListedEntry, known: IndexEntry | None, stored: Collection[str]) -> DirectoryState:
        """What is to be done with a listed entry: planned, or where it ends already. No file of it is opened.

        known: what the index has of it. stored: keys of the facts that are in the lake.
        """
        if listed.ignored is not None:
            message = f"{listed.path}: {listed.ignored.replace('_', ' ')}"
            return _ends(listed, NotARun(disposition="ignored", reason=listed.ignored, message=message))
        if listed.problem is not None:
            return _ends(listed, NotARun(disposition="quarantined", reason=listed.problem, message=listed.message))
        if listed.size > self.max_run_bytes:
            message = too_large(listed.path, listed.size, self.max_run_bytes)
            return _ends(listed, NotARun(disposition="quarantined", reason="too_large", message=message))
        if known is not None and known.forgotten:
            message = "This run was forgotten on purpose; its directory is still here."
            state = _ends(listed, NotARun(disposition="ignored", reason=FORGOTTEN, message=message))
            return replace(state, path=f"{FORGOTTEN}-{known.run_key[:12]}")  # the path may tell what was purged
        if (no_run := unrelated(listed.files)) is not None:
            return _ends(listed, no_run)
        hint = _hint(self.runs, listed.files, known.beside if known is not None else None)
        planned = DirectoryState(
            path=listed.path,
            run_key=run_key_of(listed.path),
            disposition=Disposition.PLANNED,
            size=listed.size,
            hint=hint,
            seen=known.seen if known is not None else 0,
        )
        if known is None or (known.hint, known.reading) != (hint, self.reading):
            return planned
        return self._as_known(planned, known, stored)

    def _as_known(self, planned: DirectoryState, known: IndexEntry, stored: Collection[str]) -> DirectoryState:
        """A directory nobody wrote to since the last look: where that look ended, unless there is more to be done."""
        seen = replace(
            planned,
            disposition=known.disposition,
            reason=known.reason,
            message=known.message,
            format=known.format,
            content=known.content,
            run_id=known.run_id,
            run_time=known.run_time,
            began=known.began,
            beside=known.beside,
            identity=known.identity,
        )
        match known.disposition:
            case Disposition.SCORED if known.standing is not None and known.standing.facts in stored:
                return _standing(seen, known.standing, Disposition.UNCHANGED)
            case Disposition.IN_PROGRESS if known.began and self.options.now - known.began < self.options.grace:
                return seen
            case Disposition.QUARANTINED | Disposition.IGNORED if not known.lost:
                return seen
        return replace(planned, run_id=known.run_id, run_time=known.run_time)

    def dated(self, planned: DirectoryState) -> DirectoryState:
        """A planned directory with its run time, where one can be read."""
        if planned.run_time is not None:
            return planned
        found = self._head(planned.path, enough=head_tells) or self._read(planned.path)
        return replace(planned, run_id=found.run_id, run_time=found.run_time) if found is not None else planned

    def identified(self, state: DirectoryState, known: IndexEntry | None) -> DirectoryState:
        """A directory without a result with whose run it holds: by its small files, else by the facts that stood.

        For one that was lost, and for one that gave facts before and can't be read any more: neither may be missing in
        silence, while older facts speak for it.
        """
        lost, before = state.reason == TASK_LOST, known.standing if known is not None else None
        if not lost and (state.disposition is not Disposition.QUARANTINED or before is None):
            return state
        found = self._head(state.path, enough=bool) if lost else None
        if not isinstance(found, Run) or found.candidate == NAMELESS:
            if before is None or not self.lake.exists(before.facts):
                return state
            found = read_head(self.lake, before.facts)
        identity = Identity(
            product=found.product,
            candidate=found.candidate,
            environment=found.environment,
            dataset=found.dataset,
            dataset_named=found.dataset_named,
        )
        return replace(state, run_id=found.run_id, run_time=found.run_time, identity=identity)

    def score(self, planned: DirectoryState, known: IndexEntry | None, covers: Covers) -> DirectoryState:
        """Read a planned directory, store its facts, verdicts and transcripts; scored, or where it ends instead.

        known: what the index has of it; with the same content it is unchanged, and nothing is stored. A directory whose
        files are no longer those that were listed is in progress: it is read again next time.
        """
        taken = take(self.runs, planned.path, self.max_run_bytes)
        if isinstance(taken, NotARun):
            return replace(_no_run(planned, taken), hint=None)
        planned = replace(planned, hint=taken.hint, beside=taken.beside, content=taken.snapshot.content)
        key = facts_key(planned.run_key, taken.snapshot.content, self.reading)
        before = known.standing if known is not None else None
        if before is not None and before.facts == key and self.lake.exists(key):
            head = read_head(self.lake, key)
            state = _run(planned, head, key, Disposition.UNCHANGED)
            return state if covers(head.run_date) else replace(state, disposition=Disposition.OUT_OF_RANGE, facts=None)
        result = read_snapshot(taken.snapshot, self.options)
        if isinstance(result, NotARun):
            return _no_run(planned, result)
        if not covers(result.run_date):
            return _run(planned, result, None, Disposition.OUT_OF_RANGE)
        try:
            write_facts(self.lake, result, self.reading)
            write_verdicts(self.lake, key, score_run(result))
        except (ValueError, TypeError, ArithmeticError) as error:
            return _no_run(planned, _crashed(planned.path, error))
        self.retention.keep(self.lake, taken.snapshot, result, key, self.options)
        return replace(_run(planned, result, key, Disposition.SCORED), change=_change(result, before))

    @property
    def reading(self) -> str:
        """How files become facts here; part of their names."""
        return reading(READER_VERSION, self.options.timezone, self.options.empty_trajectory_expects_no_call)

    def _head(self, path: str, enough: Callable[[Collection[str]], bool]) -> Run | NotARun | None:
        """What the small files of a directory tell; None when they don't date it, or aren't `enough` by their names."""
        taken = self.runs.read_directory(path, self.max_run_bytes, only=HEAD_FILES)
        if taken.newest_mtime is None or not enough(taken.stamps):
            return None
        snapshot = Snapshot(path=path, files=taken.files, newest_mtime=taken.newest_mtime)
        found = read_snapshot(snapshot, replace(self.options, grace=timedelta(0)))
        return found if found.run_time is not None else None

    def _read(self, path: str) -> Run | NotARun | None:
        """A whole directory; one at a time, whoever asks, since each may be as large as is allowed."""
        with WHOLE:
            taken = take(self.runs, path, self.max_run_bytes)
        return read_snapshot(taken.snapshot, self.options) if isinstance(taken, Taken) else None


def read_options(settings: Settings) -> ReadOptions:
    """What the readers need of the settings."""
    return ReadOptions(
        now=settings.now(),
        timezone=settings.timezone,
        grace=settings.grace,
        empty_trajectory_expects_no_call=settings.empty_trajectory_expects_no_call,
    )


def take(runs: Storage, path: str, max_bytes: int) -> Taken | NotARun:
    """The bytes of a run directory and of the evalset its plan points to; NotARun when they can't be taken."""
    taken = runs.read_directory(path, max_bytes)
    if taken.problem is not None or taken.newest_mtime is None:
        disposition: NoRunState = "in_progress" if taken.problem == CHANGED else "quarantined"
        return NotARun(disposition=disposition, reason=taken.problem or "unreadable", message=taken.message)
    snapshot = Snapshot(path=path, files=taken.files, newest_mtime=taken.newest_mtime)
    evalset = external_evalset(snapshot)
    if evalset is None:
        return Taken(snapshot=snapshot, hint=_hint(runs, taken.stamps, None), beside=None)
    beside = posixpath.normpath(posixpath.join(path, evalset))
    hint = _hint(runs, taken.stamps, beside)
    data = runs.read_beside(beside, max_bytes)
    if data is not None:
        snapshot = replace(snapshot, files={**taken.files, evalset: data})
    return Taken(snapshot=snapshot, hint=hint, beside=beside)


def _hint(runs: Storage, files: Mapping[str, FileStamp], beside: str | None) -> str:
    """What a listing tells of a directory's files and of the one beside them that belongs to it."""
    stamp = runs.stamp(beside) if beside is not None else None
    return hint_of(files if stamp is None else {**files, f"../{beside}": stamp})


def read_snapshot(snapshot: Snapshot, options: ReadOptions) -> Run | NotARun:
    """Read a directory's bytes. A reader that crashes is that directory's failure (`reader_error`)."""
    try:
        return read_directory(snapshot, options)
    except Exception as error:  # noqa: BLE001 - any crash costs one directory, and is told as its state
        return _crashed(snapshot.path, error)


def locate(directory: str, settings: Settings) -> tuple[Storage, str]:
    """(storage over the parent folder, the directory's name in it) of a run directory given by a person.

    Raises UsageError when there is no such directory.
    """
    if not open_storage(directory, settings).is_there():
        raise UsageError(f"{directory}: no such run directory")
    parent, name = split_name(directory)
    return open_storage(parent, settings), name


def _crashed(path: str, error: Exception) -> NotARun:
    """The error's type only: its text may hold what the files hold, unredacted."""
    message = f"{path}: can't be turned into facts ({type(error).__name__}); `evalbench doctor` on it shows more"
    return NotARun(disposition="quarantined", reason=READER_ERROR, message=message)


def _ends(listed: ListedEntry, result: NotARun) -> DirectoryState:
    """The state of an entry whose listing says it all: nothing of it needs to be remembered."""
    state = DirectoryState(path=listed.path, run_key=run_key_of(listed.path), disposition=Disposition.PLANNED)
    return _no_run(replace(state, size=listed.size), result)


def _no_run(planned: DirectoryState, result: NotARun) -> DirectoryState:
    """Where a directory without a ledger ends. A crash may not come again, so it leaves no hint."""
    return replace(
        planned,
        disposition=Disposition(result.disposition),
        reason=result.reason,
        message=result.message,
        format=result.format,
        run_id=result.run_id,
        run_time=result.run_time,
        began=result.began,
        hint=None if result.reason == READER_ERROR else planned.hint,
    )


def _run(planned: DirectoryState, run: Run, facts: str | None, disposition: Disposition) -> DirectoryState:
    return replace(
        planned,
        disposition=disposition,
        format=run.format,
        facts=facts,
        run_id=run.run_id,
        run_time=run.run_time,
        state=run.state,
    )


def _standing(seen: DirectoryState, standing: Standing, disposition: Disposition) -> DirectoryState:
    return replace(
        seen,
        disposition=disposition,
        content=standing.content,
        facts=standing.facts,
        run_id=standing.run_id,
        run_time=standing.run_time,
        state=standing.state,
    )


def _change(run: Run, before: Standing | None) -> Change:
    if before is None:
        return Change.NEW
    return Change.CHANGED if before.run_date == run.run_date else Change.MOVED
