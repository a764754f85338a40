"""One state of the lake, of whole dates only. A new state is a new snapshot, which takes over what didn't change."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

import pyarrow as pa

from evalbench import __version__
from evalbench.canonical import sha256_json
from evalbench.lake.commits import FOLDER, RECORD, Commit, commit_path
from evalbench.lake.objects import read_jsons
from evalbench.storage import Storage
from evalbench.web.database import Database
from evalbench.web.derived import derived_rows
from evalbench.web.partitions import Rows, committed_rows, table_rows
from evalbench.web.tables import FILE, GROWING, HELD

DATES_AT_ONCE = 4
FILES_AT_ONCE = 256
"""What is in memory beside the database while a snapshot is taken."""
VERSION_LETTERS = 16

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What listings tell of a lake: digests of its commit records, sizes of the files that no record vouches for."""

    commits: Mapping[str, str]
    growing: Mapping[str, int]

    @classmethod
    def of(cls, lake: Storage) -> "Seen":
        """How the lake looks now."""
        commits = {path: digest for path, digest in lake.digests(FOLDER).items() if RECORD.fullmatch(path)}
        sizes = {path: size for name in GROWING for path, size in lake.sizes(f"trends/{name}").items()}
        return cls(commits=commits, growing={path: size for path, size in sizes.items() if path.endswith(".parquet")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Rows of the lake.

    seen: how the lake looked. settled: commit records under whose digest rows are held. version: changes with the rows,
    and with the code; the same in every process. shown_before, left_out: dates that were being published, with rows of
    before, and without any. moving: one of them so quickly that its record must be looked at again, though it looks the
    same.
    """

    database: Database
    seen: Seen
    settled: Mapping[str, str]
    version: str
    shown_before: tuple[date, ...]
    left_out: tuple[date, ...]
    moving: bool


def take_snapshot(lake: Storage, seen: Seen, before: Snapshot | None) -> Snapshot:
    """The lake as it looks now; what `before` holds of it already isn't read again.

    A date that is being published keeps the rows it had before, and has none where there was no before. Raises
    PipelineError for a damaged file, StorageError when the lake can't be reached.
    """
    held = before.settled if before is not None else {}
    stale = [path for path, digest in seen.commits.items() if held.get(path) != digest]
    commits = sorted(read_jsons(lake, stale, Commit).values(), key=lambda commit: commit.run_date)
    database = Database()
    loaded = _add_dates(database, lake, [commit for commit in commits if not commit.writing])
    days = frozenset(commit.run_date for commit in loaded)
    gone = frozenset(date.fromisoformat(path[-15:-5]) for path in held.keys() - seen.commits.keys())
    unsettled = [commit for commit in commits if commit.run_date not in days]
    files = _stale_files(seen, before, days)
    _add_files(database, lake, files)
    if before is not None:
        _take_over(
            database, before.database, days | gone, {*files, *(before.seen.growing.keys() - seen.growing.keys())}
        )
    database.finish()
    fresh = {path: seen.commits[path] for commit in loaded if (path := commit_path(commit.run_date)) in seen.commits}
    settled = {path: digest for path, digest in held.items() if path in seen.commits} | fresh
    return Snapshot(
        database=database,
        seen=seen,
        settled=settled,
        version=sha256_json([__version__, settled, seen.growing])[:VERSION_LETTERS],
        shown_before=tuple(commit.run_date for commit in unsettled if commit_path(commit.run_date) in held),
        left_out=tuple(commit.run_date for commit in unsettled if commit_path(commit.run_date) not in held),
        moving=any(not commit.writing for commit in unsettled),
    )


def _add_dates(database: Database, lake: Storage, commits: Sequence[Commit]) -> list[Commit]:
    """Those whose rows were as their record says, and are in the database now."""
    added: list[Commit] = []
    for chunk in _chunks(commits, DATES_AT_ONCE):
        found = zip(chunk, committed_rows(lake, chunk), strict=True)
        whole = [(commit, rows) for commit, rows in found if rows is not None]
        dates = [rows for _, rows in whole]
        for rows in (*dates, derived_rows(dates)):
            _add(database, rows)
        added += [commit for commit, _ in whole]
    return added


def _add(database: Database, rows: Rows) -> None:
    for name in rows.keys() & HELD.keys():
        database.add(name, rows[name])


def _stale_files(seen: Seen, before: Snapshot | None, days: Collection[date]) -> list[str]:
    """Growing files to be read. Those of a date published anew are: forgetting a run rewrites both."""
    known = before.seen.growing if before is not None else {}
    again = tuple(f"run_date={day.isoformat()}/" for day in days)
    return [
        path for path, size in seen.growing.items() if known.get(path) != size or any(part in path for part in again)
    ]


def _add_files(database: Database, lake: Storage, files: Sequence[str]) -> None:
    for chunk in _chunks(files, FILES_AT_ONCE):
        rows: dict[str, list[pa.Table]] = {}
        for path, data in lake.read_many(chunk).items():
            name = path.split("/")[1]
            table = table_rows(lake, name, path, data)
            rows.setdefault(name, []).append(table.append_column(FILE, pa.array([path] * table.num_rows, pa.string())))
        for name, found in rows.items():
            database.add(name, pa.concat_tables(found))


def _take_over(database: Database, before: Database, days: Collection[date], files: Collection[str]) -> None:
    """Rows of the snapshot before, without those of these dates and files."""
    for name in HELD:
        column, without = (FILE, sorted(files)) if name in GROWING else ("run_date", sorted(days))
        kept = f"SELECT * FROM {name} WHERE NOT list_contains(?, {column})"
        database.add(name, before.arrow(kept, [without]))


def _chunks(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
