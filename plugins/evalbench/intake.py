"""From a child of the runs root to its facts: take the bytes once, hand them to the reader that knows them."""

import posixpath
from dataclasses import dataclass, replace

from evalbench.accounting import DirectoryState, Disposition
from evalbench.errors import UsageError
from evalbench.lake.facts import facts_key, read_head, reading, write_facts
from evalbench.lake.verdicts import write_verdicts
from evalbench.ledger import Run
from evalbench.readers.assemble import READER_VERSION
from evalbench.readers.manifest import external_evalset
from evalbench.readers.registry import read_directory
from evalbench.readers.snapshot import NoRunState, NotARun, ReadOptions, Snapshot, run_key_of
from evalbench.scoring import score_run
from evalbench.settings import Settings
from evalbench.storage import ListedEntry, Storage

CHANGED = "changed_while_read"
READER_ERROR = "reader_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """How directories are read: from where, into which lake, under which options."""

    runs: Storage
    lake: Storage
    options: ReadOptions
    max_run_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> "Intake":
        """The intake these settings describe. Raises UsageError when runs or lake aren't given."""
        return cls(
            runs=Storage(settings.require_runs()),
            lake=Storage(settings.require_lake()),
            options=read_options(settings),
            max_run_bytes=settings.max_run_bytes,
        )

    def look_at(self, listed: ListedEntry) -> DirectoryState:
        """What is to be done with a listed entry: planned, or where it ends already. Writes nothing."""
        if listed.ignored is not None:
            return DirectoryState(
                path=listed.path,
                run_key=run_key_of(listed.path),
                disposition=Disposition.IGNORED,
                reason=listed.ignored,
                message=f"{listed.path}: {listed.ignored.replace('_', ' ')}",
            )
        snapshot = take_snapshot(self.runs, listed.path, self.max_run_bytes)
        if isinstance(snapshot, NotARun):
            return _no_run(listed.path, snapshot)
        key = self.facts_of(snapshot)
        if self.lake.exists(key):
            return _run(snapshot, read_head(self.lake, key), key, Disposition.UNCHANGED)
        result = read_snapshot(snapshot, self.options)
        if isinstance(result, NotARun):
            return _no_run(listed.path, result, snapshot)
        return _run(snapshot, result, key, Disposition.PLANNED)

    def score(self, planned: DirectoryState) -> DirectoryState:
        """Read a planned directory again, store its facts and verdicts; scored, or why not.

        A directory whose files are no longer those that were planned is in progress: it is read again next time.
        """
        snapshot = take_snapshot(self.runs, planned.path, self.max_run_bytes)
        if isinstance(snapshot, NotARun):
            return _no_run(planned.path, snapshot)
        if snapshot.content != planned.content:
            message = f"{planned.path} changed since it was planned; it is read again next time"
            return _no_run(planned.path, NotARun(disposition="in_progress", reason=CHANGED, message=message), snapshot)
        result = read_snapshot(snapshot, self.options)
        if isinstance(result, NotARun):
            return _no_run(planned.path, result, snapshot)
        try:
            facts = write_facts(self.lake, result, self.reading)
            write_verdicts(self.lake, facts, score_run(result))
        except (ValueError, TypeError, ArithmeticError) as error:
            return _no_run(planned.path, _crashed(planned.path, error), snapshot)
        return _run(snapshot, result, facts, Disposition.SCORED)

    @property
    def reading(self) -> str:
        """How files become facts here; part of their names."""
        return reading(READER_VERSION, self.options.timezone, self.options.empty_trajectory_expects_no_call)

    def facts_of(self, snapshot: Snapshot) -> str:
        """Key of the facts these files give."""
        return facts_key(snapshot.run_key, snapshot.content, self.reading)


def read_options(settings: Settings) -> ReadOptions:
    """What the readers need of the settings."""
    return ReadOptions(
        now=settings.now(),
        timezone=settings.timezone,
        grace=settings.grace,
        empty_trajectory_expects_no_call=settings.empty_trajectory_expects_no_call,
    )


def take_snapshot(runs: Storage, path: str, max_bytes: int) -> Snapshot | NotARun:
    """The bytes of a run directory and of the evalset its plan points to; NotARun when they can't be taken."""
    taken = runs.read_directory(path, max_bytes)
    if taken.problem is not None or taken.newest_mtime is None:
        disposition: NoRunState = "in_progress" if taken.problem == CHANGED else "quarantined"
        return NotARun(disposition=disposition, reason=taken.problem or "unreadable", message=taken.message)
    snapshot = Snapshot(path=path, files=taken.files, newest_mtime=taken.newest_mtime)
    evalset = external_evalset(snapshot)
    if evalset is None:
        return snapshot
    data = runs.read_beside(posixpath.normpath(posixpath.join(path, evalset)), max_bytes)
    return snapshot if data is None else replace(snapshot, files={**taken.files, evalset: data})


def read_snapshot(snapshot: Snapshot, options: ReadOptions) -> Run | NotARun:
    """Read a directory's bytes. A reader that crashes is that directory's failure (`reader_error`)."""
    try:
        return read_directory(snapshot, options)
    except Exception as error:  # noqa: BLE001 - any crash costs one directory, and is told as its state
        return _crashed(snapshot.path, error)


def locate(directory: str) -> tuple[Storage, str]:
    """(storage over the parent folder, the directory's name in it) of a run directory given by a person.

    Raises UsageError when there is no such directory.
    """
    place = Storage(directory).root.resolve()
    if not place.is_dir():
        raise UsageError(f"{directory}: no such run directory")
    return Storage(str(place.parent)), place.name


def _crashed(path: str, error: Exception) -> NotARun:
    """The error's type only: its text may hold what the files hold, unredacted."""
    message = f"{path}: can't be turned into facts ({type(error).__name__}); `evalbench doctor` on it shows more"
    return NotARun(disposition="quarantined", reason=READER_ERROR, message=message)


def _no_run(path: str, result: NotARun, snapshot: Snapshot | None = None) -> DirectoryState:
    return DirectoryState(
        path=path,
        run_key=run_key_of(path),
        disposition=Disposition(result.disposition),
        reason=result.reason,
        message=result.message,
        format=result.format,
        content=snapshot.content if snapshot is not None else None,
        run_id=result.run_id,
        run_time=result.run_time,
        size=_size(snapshot),
    )


def _run(snapshot: Snapshot, run: Run, facts: str, disposition: Disposition) -> DirectoryState:
    return DirectoryState(
        path=run.path,
        run_key=run.run_key,
        disposition=disposition,
        format=run.format,
        content=run.content,
        facts=facts,
        run_id=run.run_id,
        run_time=run.run_time,
        state=run.state,
        size=_size(snapshot),
    )


def _size(snapshot: Snapshot | None) -> int:
    return sum(len(data) for data in snapshot.files.values()) if snapshot is not None else 0
