"""What an operator can set: one frozen object, read once from a mapping (the environment) and explicit overrides."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from evalbench.errors import UsageError

PREFIX = "EVALBENCH_"
PLACEHOLDER = re.compile(r"\{(path|file|row)\}")
"""What an address of a file is filled in with: the run's directory, the file, and the row in it."""


class SummariesMode(StrEnum):
    """Who writes the run summaries. `auto`: a model where there is a key or are credentials. `off` writes none."""

    AUTO = "auto"
    OFFLINE = "offline"
    GEMINI = "gemini"
    VERTEX = "vertex"
    OFF = "off"


class FailOnHold(StrEnum):
    """When a held release fails the caller: `auto` = except in backfills."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleAccess:
    """How this process shows itself to Google. credentials: makes google.auth credentials, when Google is asked."""

    credentials: Callable[[], object]


def no_google_credentials(service: str, error: Exception) -> UsageError:
    """The error where there is nothing to show to a service of Google's."""
    return UsageError(
        f"no Google credentials for {service} ({type(error).__name__}); log in with"
        " `gcloud auth application-default login`, give the machine a service account, see that"
        " GOOGLE_APPLICATION_CREDENTIALS names a file that is there, or, in Airflow, name a connection in"
        " EVALBENCH_GOOGLE_CONNECTION"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the verbs take from outside.

    runs, lake: local paths or gs://bucket/prefix, None when not given. routing, policy, exclude: local paths, None when
    not given (routing: the shipped one; policy: routing's; exclude: no run is voided). allowed_roots: which places
    runs and lake may be in (`file`, `gs`, gs://bucket, gs://bucket/prefix); None: any of these.
    google_connection: the Airflow connection that Cloud Storage and BigQuery are used with; None: Application Default
    Credentials. google: what was found of it, never from the environment. bigquery_dataset: project.dataset that
    follows the lake, None: none. bigquery_location: where that dataset is, or is made; None: where it is, and none is
    made. bigquery_partition_filter: whether queries on its base tables must name dates.
    timezone: IANA name that naive run times are in. grace_hours: how long an unfinished run counts as in progress.
    clock: a fixed instant instead of the wall clock. max_mapped_tasks: mapped Airflow tasks before runs are batched.
    max_run_bytes: bigger run directories are quarantined. transcript_days: how long after a run's date what was said in
    it is kept; 0 keeps nothing and removes what is kept, None keeps nothing and leaves what others keep to its time.
    transcript_bytes: most that the transcripts of one run hold.
    summary_models: asked in order, the next one when one is gone; None: the way's own. summary_workers:
    questions at a time in one process. summary_prompt_tokens: most a prompt may take. summary_deadline_s: most that a
    question and its retries may take. vertex_project, vertex_location: None = those of the credentials, and global.
    summaries_connection: an Airflow connection with key or credentials. prices: None = the shipped table.
    source_url: where the page's readers find a file of a run, with placeholders `{path}`, `{file}` and `{row}`; None:
    in the console of Cloud Storage where the runs are in a bucket, else nowhere.
    """

    runs: str | None = None
    lake: str | None = None
    routing: str | None = None
    policy: str | None = None
    exclude: str | None = None
    allowed_roots: tuple[str, ...] | None = None
    google_connection: str | None = None
    google: GoogleAccess | None = field(default=None, repr=False, compare=False)
    bigquery_dataset: str | None = None
    bigquery_location: str | None = None
    bigquery_partition_filter: bool = False
    timezone: str = "UTC"
    grace_hours: float = 24.0
    clock: datetime | None = None
    summaries: SummariesMode = SummariesMode.OFFLINE
    summary_models: tuple[str, ...] | None = None
    summary_workers: int = 10
    summary_prompt_tokens: int = 6000
    summary_deadline_s: float = 180.0
    summaries_connection: str | None = None
    vertex_project: str | None = None
    vertex_location: str | None = None
    prices: str | None = None
    source_url: str | None = None
    max_mapped_tasks: int = 64
    max_run_bytes: int = 512 * 1024 * 1024
    transcript_days: int | None = None
    transcript_bytes: int = 4 * 1024 * 1024
    empty_trajectory_expects_no_call: bool = True
    fail_on_hold: FailOnHold = FailOnHold.AUTO

    @property
    def grace(self) -> timedelta:
        """The grace period of unfinished runs."""
        return timedelta(hours=self.grace_hours)

    def now(self) -> datetime:
        """The clock: the fixed one when set, else the wall clock. Aware UTC."""
        return self.clock or datetime.now(UTC)

    def require_runs(self) -> str:
        """The runs root. Raises UsageError when it isn't set."""
        return _required(
            self.runs, "runs", "name RUNS on the command line", "the folder that holds one directory per run"
        )

    def require_lake(self) -> str:
        """The lake. Raises UsageError when it isn't set."""
        return _required(self.lake, "lake", "pass --lake", "the folder that facts and tables are written to")


def load_settings(env: Mapping[str, str], overrides: Mapping[str, object] | None = None) -> Settings:
    """Settings from `EVALBENCH_*` variables; `overrides` (field name → value, None = not given) win.

    Raises UsageError naming the variable or option whose value can't be used. An empty variable counts as not set;
    variables this package doesn't know are somebody else's.
    """
    given: dict[str, tuple[str, object]] = {
        name: (_variable(name), text) for name in PARSERS if (text := env.get(_variable(name), "").strip())
    }
    for name, value in (overrides or {}).items():
        if name not in PARSERS:
            raise UsageError(f"{name} is no setting; known are {', '.join(sorted(PARSERS))}")
        if value is not None:
            given[name] = (_option(name), value)
    return Settings(**{name: _parse(name, source, value) for name, (source, value) in given.items()})  # type: ignore[arg-type]


def include_dir() -> Path:
    """Where the shipped policies and views are: the repository's `include/`, else the copy inside the package."""
    package = Path(__file__).resolve().parent
    packaged = package / "_include"
    return packaged if packaged.is_dir() else package.parent.parent / "include"


Choice = TypeVar("Choice", bound=StrEnum)


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _required(value: str | None, name: str, otherwise: str, meaning: str) -> str:
    if value is None:
        raise UsageError(f"no {name} given: set {_variable(name)} or {otherwise}, {meaning}")
    return value


def _parse(name: str, source: str, value: object) -> object:
    """The typed value of one setting; `source` is the variable or option, for the error."""
    try:
        return PARSERS[name](value)
    except ValueError as error:
        raise UsageError(f"{source}: {value!r} can't be used: {error}") from error


def _text(value: object) -> str:
    text = str(value)
    if not text or "\0" in text:
        raise ValueError("expected a path")
    return text


def _word(value: object) -> str:
    return _shaped(value, r"[\w.:-]+", "a name without spaces")


def _shaped(value: object, pattern: str, expected: str) -> str:
    """The text without blanks around it. Raises ValueError where it has another shape than expected."""
    text = str(value).strip()
    if not re.fullmatch(pattern, text):
        raise ValueError(f"expected {expected}")
    return text


def _names(value: object) -> tuple[str, ...]:
    """`a, b`: names in order, or a list of them."""
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    return tuple(_word(part) for part in parts)


def _roots(value: object) -> tuple[str, ...]:
    """`file, gs://bucket/prefix`: kinds of places, buckets, or folders in them."""
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    roots = tuple(str(part).strip().rstrip("/") for part in parts)
    for root in roots:
        if root not in ("file", "gs") and not re.fullmatch(r"gs://[a-z0-9][a-z0-9._-]+(/[^/]+)*", root):
            raise ValueError("expected file, gs, gs://bucket or gs://bucket/prefix, separated by commas")
    return roots


def _dataset(value: object) -> str:
    pattern = r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\.[A-Za-z0-9_]{1,1024}"
    return _shaped(value, pattern, "project.dataset; a dataset has letters, digits and _ only")


def _source_url(value: object) -> str:
    """No placeholder says which server is asked: what runs are called must not."""
    expected = "an address that begins with http:// or https:// and a server, without spaces"
    text = _shaped(value, r"https?://[^\s/?#@{}\\]+(?:[/?#]\S*)?", expected)
    if found := re.search(r"[{}][^{}]*\}?", PLACEHOLDER.sub("", text)):
        raise ValueError(f"{found[0]} is no placeholder; there are {{path}}, {{file}} and {{row}}")
    return text


def _timezone(value: object) -> str:
    try:
        return ZoneInfo(str(value)).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("expected an IANA timezone such as UTC or Europe/Zurich") from error


def _hours(value: object) -> float:
    hours = float(str(value))
    if not 0 <= hours <= 24 * 366:
        raise ValueError("expected hours from 0 to 8784")
    return hours


def _instant(value: object) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        raise ValueError("expected an instant with an offset, such as 2026-12-02T06:00:00Z")
    return moment.astimezone(UTC)


def _positive(value: object) -> int:
    number = int(str(value))
    if number < 1:
        raise ValueError("expected a whole number from 1")
    return number


def _at_most(most: int, value: object) -> int:
    number = _positive(value)
    if number > most:
        raise ValueError(f"expected a whole number from 1 to {most}")
    return number


def _days(value: object) -> int:
    days = int(str(value))
    if not 0 <= days <= 3650:
        raise ValueError("expected a whole number of days from 0 to 3650")
    return days


def _seconds(value: object) -> float:
    seconds = float(str(value))
    if not 1 <= seconds <= 3600:
        raise ValueError("expected seconds from 1 to 3600")
    return seconds


def _flag(value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    flag = words.get(str(value).lower())
    if flag is None:
        raise ValueError("expected true or false")
    return flag


def _choice(kind: type[Choice], value: object) -> Choice:
    try:
        return kind(str(value))
    except ValueError as error:
        raise ValueError(f"expected one of {', '.join(kind)}") from error


PARSERS: dict[str, Callable[[object], object]] = {
    "runs": _text,
    "lake": _text,
    "routing": _text,
    "policy": _text,
    "exclude": _text,
    "allowed_roots": _roots,
    "google_connection": _word,
    "bigquery_dataset": _dataset,
    "bigquery_location": _word,
    "bigquery_partition_filter": _flag,
    "timezone": _timezone,
    "grace_hours": _hours,
    "clock": _instant,
    "summaries": lambda value: _choice(SummariesMode, value),
    "summary_models": _names,
    "summary_workers": lambda value: _at_most(64, value),
    "summary_prompt_tokens": lambda value: _at_most(100_000, value),
    "summary_deadline_s": _seconds,
    "summaries_connection": _word,
    "vertex_project": _word,
    "vertex_location": _word,
    "prices": _text,
    "source_url": _source_url,
    "max_mapped_tasks": _positive,
    "max_run_bytes": _positive,
    "transcript_days": _days,
    "transcript_bytes": _positive,
    "empty_trajectory_expects_no_call": _flag,
    "fail_on_hold": lambda value: _choice(FailOnHold, value),
}
