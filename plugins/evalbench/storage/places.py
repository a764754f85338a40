"""Which place a root names: a local folder, or a prefix of a bucket in Cloud Storage."""

import re
from pathlib import Path, PurePosixPath

from evalbench.errors import UsageError
from evalbench.settings import Settings
from evalbench.storage.base import Storage
from evalbench.storage.local import LocalStorage

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(?=:/)|(gs|gcs|s3|https?|file)(?=:)")
"""A URL, also one that lost its slashes: a folder of that name would be a strange one."""
BUCKET = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/(.*))?", re.DOTALL)
LOCAL = "file"


def lake_of(settings: Settings) -> Storage:
    """The lake these settings name. Raises UsageError when they name none, or one that isn't allowed."""
    return open_storage(settings.require_lake(), settings)


def runs_of(settings: Settings) -> Storage:
    """The runs root these settings name. Raises UsageError when they name none, or one that isn't allowed."""
    return open_storage(settings.require_runs(), settings)


def open_storage(root: str, settings: Settings) -> Storage:
    """A place by its name. Raises UsageError for one that `allowed_roots` doesn't allow, or no storage here serves."""
    scheme = SCHEME.match(root)
    if scheme is None:
        _check_allowed(root, LOCAL, settings)
        return LocalStorage(root)
    found = BUCKET.fullmatch(root)
    if found is None:
        name = "not a bucket's name (3 or more of a-z, 0-9, -, _ and .)"
        what = name if scheme[0] == "gs" else f"{scheme[0]}: is not supported"
        raise UsageError(f"{root}: {what}; give a local path, or gs://bucket/prefix")
    bucket, prefix = found[1], _clean(root, found[2] or "")
    _check_allowed(root, f"gs://{bucket}/{prefix}", settings)
    from evalbench.storage.gcs import GcsStorage  # noqa: PLC0415 - its client takes a second that local lakes don't owe

    return GcsStorage(bucket, prefix, settings.google)


def local_path(path: str) -> Path:
    """A path on this machine. Raises UsageError for a URL."""
    if SCHEME.match(path):
        raise UsageError(f"{path}: must be a file on this machine; give a local path")
    return Path(path)


def split_name(root: str) -> tuple[str, str]:
    """(the place that holds this one, its name there). Raises UsageError for a bucket, which nothing holds."""
    if not SCHEME.match(root):
        place = Path(root).resolve()
        return str(place.parent), place.name
    parent, _, name = root.rstrip("/").rpartition("/")
    if BUCKET.fullmatch(parent) is None:
        raise UsageError(f"{root}: a bucket is no run directory; give gs://bucket/directory")
    return parent, name


def _clean(root: str, prefix: str) -> str:
    """A prefix without slashes at its ends."""
    parts = prefix.strip("/").split("/") if prefix.strip("/") else []
    if any(part in ("", ".", "..") or "*" in part for part in parts):
        raise UsageError(f"{root}: empty parts, *, . and .. are no folders in a bucket; give gs://bucket/prefix")
    return "/".join(parts)


def _check_allowed(root: str, place: str, settings: Settings) -> None:
    """Raise UsageError unless the operator allows this place; without a list every local folder and bucket is."""
    allowed = settings.allowed_roots
    if allowed is None or any(_covers(entry, place) for entry in allowed):
        return
    raise UsageError(
        f"{root}: not allowed; EVALBENCH_ALLOWED_ROOTS has {', '.join(allowed)}: name a place in one of these, or add"
        " this one"
    )


def _covers(allowed: str, place: str) -> bool:
    if allowed in ("gs", LOCAL):
        return place.partition(":")[0] == allowed
    return PurePosixPath(place).is_relative_to(PurePosixPath(allowed))
