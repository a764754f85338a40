"""The commit record of a date: `commits/<date>.json`, what its partitions hold and from which inputs they were made.

It is a sequence lock for readers: while partitions are replaced the record says `writing`, and every change of them
raises `seq`. Who reads the records before and after reading partitions, and finds the same, read no half date.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from evalbench.canonical import sha256_json
from evalbench.lake.objects import read_json, read_jsons, to_json
from evalbench.storage import Files, Storage

FOLDER = "commits"
RECORD = re.compile(rf"{FOLDER}/\d{{4}}-\d\d-\d\d\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """A partition file as committed: its size in bytes and the sha256 of them."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One date. seq: grows with every change of its partitions.

    evidence, rules, texts: hashes of what the rows were made from, see `Standing.evidence`, `publishing.rules_hash` and
    `publishing.texts_hash`; None while writing. objects: path in the lake → the file; empty for a date that has no rows
    any more.
    """

    run_date: date
    seq: int
    writing: bool
    evidence: str | None
    rules: str | None
    texts: str | None
    objects: Mapping[str, StoredObject]

    @property
    def content(self) -> str:
        """sha256 over all partitions of the date."""
        return sha256_json(sorted((path, stored.sha256) for path, stored in self.objects.items()))


def commit_path(day: date) -> str:
    """Where a date's record is in the lake."""
    return f"{FOLDER}/{day.isoformat()}.json"


def read_commit(lake: Storage, day: date) -> Commit | None:
    """A date's record, None for a date never published. Raises PipelineError when it is damaged."""
    return read_json(lake, commit_path(day), Commit)


def read_commits(lake: Storage) -> dict[date, Commit]:
    """Every date's record. Raises PipelineError when one is damaged."""
    found = read_jsons(lake, [path for path in lake.paths(FOLDER) if RECORD.fullmatch(path)], Commit)
    return {commit.run_date: commit for commit in found.values()}


def write_commit(files: Files, commit: Commit) -> None:
    """Replace a date's record, unless it says so already."""
    path, data = commit_path(commit.run_date), to_json(commit)
    if not files.holds(path, data):
        files.write_atomic(path, data)
