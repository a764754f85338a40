"""Places where run directories are read and the lake is written: local folders, and buckets of Cloud Storage."""

from evalbench.storage.base import (
    DirectoryFiles,
    Files,
    FileStamp,
    ListedEntry,
    Storage,
    hint_of,
    too_large,
)
from evalbench.storage.local import TEMPORARY, LocalStorage
from evalbench.storage.places import lake_of, local_path, open_storage, runs_of, split_name

__all__ = [
    "TEMPORARY",
    "DirectoryFiles",
    "FileStamp",
    "Files",
    "ListedEntry",
    "LocalStorage",
    "Storage",
    "hint_of",
    "lake_of",
    "local_path",
    "open_storage",
    "runs_of",
    "split_name",
    "too_large",
]
