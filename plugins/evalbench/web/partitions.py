"""A date's partitions, taken only as its commit record vouches for them: never from a date that is half published."""

import hashlib
import io
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from evalbench.errors import PipelineError
from evalbench.lake.commits import Commit
from evalbench.sinks.decision_log import UNREADABLE
from evalbench.sinks.parquet import partition_path
from evalbench.storage import Storage
from evalbench.tables import table_named
from evalbench.web.tables import READ, WHOLE, declared_rows

REPLACED = (*WHOLE, "trials", "gate_evidence", "verdicts")

Rows = dict[str, pa.Table]
"""Rows by table name."""

_OPERATIONAL = ("this file about an execution of the pipeline", "restore it, or delete it and lose its rows")
_GROWING = {
    "decision_log": UNREADABLE,
    "run_states": _OPERATIONAL,
    "accounting": _OPERATIONAL,
}
_COMMITTED = ("this file of a table", "delete it and run the pipeline again")
"""What can't be read, and what to do then."""


def committed_rows(lake: Storage, commits: Iterable[Commit]) -> list[Rows | None]:
    """Each date's rows, exactly those of its commit record, read at once; None where the files are others by now.

    A date that has no partitions any more has no rows. Raises PipelineError for a file that can't be read.
    """
    wanted = [(commit, _paths(commit)) for commit in commits]
    found = lake.read_many(path for _, paths in wanted for path in paths.values())
    return [_rows(lake, commit, paths, found) for commit, paths in wanted]


def _paths(commit: Commit) -> dict[str, str]:
    """Table name → path, of the tables that the page reads."""
    paths = {name: partition_path(table_named(name), commit.run_date) for name in REPLACED}
    return {name: path for name, path in paths.items() if path in commit.objects}


def _rows(lake: Storage, commit: Commit, paths: Mapping[str, str], found: Mapping[str, bytes]) -> Rows | None:
    if any(_sha256(found.get(path, b"")) != commit.objects[path].sha256 for path in paths.values()):
        return None
    return {name: table_rows(lake, name, path, found[path]) for name, path in paths.items()}


def table_rows(lake: Storage, name: str, path: str, data: bytes) -> pa.Table:
    """The rows of one file of a table. Raises PipelineError for one that can't be read."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        written = frozenset(file.schema_arrow.names)
        there = [column for column in READ[name] if column in written]
        return declared_rows(table_named(name), READ[name], file.read(columns=there, use_threads=False))
    except (pa.ArrowException, OSError, ValueError) as error:
        what, then = _GROWING.get(name, _COMMITTED)
        raise PipelineError(f"{lake}/{path}: {what} can't be read ({type(error).__name__}); {then}") from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
