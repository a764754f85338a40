"""Which way to Gemini is taken, and why. Keys, credentials and settings arrive as arguments."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

from evalbench.errors import UsageError

# What the messages below and in `refusals` tell an operator to set.
KEY_VARIABLE = "GOOGLE_API_KEY"
CONNECTION_SETTING = "EVALBENCH_SUMMARIES_CONNECTION"
PROJECT_SETTING = "EVALBENCH_VERTEX_PROJECT"
LOCATION_SETTING = "EVALBENCH_VERTEX_LOCATION"
MODELS_SETTING = "EVALBENCH_SUMMARY_MODELS"
ROLE = "roles/aiplatform.user"

DEFAULT_LOCATION = "global"


class Provider(StrEnum):
    """Who serves the model: Google AI Studio by API key, or Vertex AI by Google credentials."""

    GEMINI = "gemini"
    VERTEX = "vertex"


# In order; the later ones are asked only when an earlier one is NOT_FOUND. Google retires models a year or so after
# their release and names the successor, which is what stands behind each default.
DEFAULT_MODELS: dict[Provider, tuple[str, ...]] = {
    Provider.GEMINI: ("gemini-2.5-flash", "gemini-3.5-flash-lite", "gemini-flash-latest"),
    Provider.VERTEX: ("gemini-2.5-pro", "gemini-3.5-flash", "gemini-3.5-flash-lite"),
}


class Secret:
    """A text that no repr, log line, format string or pickle shows; `reveal` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself: for the call that needs it, never for a message."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __str__(self) -> str:
        return "…"

    def __format__(self, spec: str) -> str:
        return "…"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled: hand it over in the process that uses it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The way to Gemini that was taken. why: a sentence for people, without secrets.

    api_key is set for `gemini`; project, location and credentials (a google.auth credentials object) for `vertex`.
    """

    mode: Provider
    why: str
    api_key: Secret | None = None
    project: str | None = None
    location: str | None = None
    credentials: object | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offline:
    """There is no way to Gemini, or none was asked for: the offline writer writes. why: a sentence for people."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a caller has to show. credentials: finds google.auth credentials, which can take seconds; None without any.

    project: the one those credentials name.
    """

    api_key: Secret | None
    credentials: Callable[[], object | None]
    project: str | None = None


NOBODY = Login(api_key=None, credentials=lambda: None)
"""Nothing to show."""


def choose(
    mode: str,
    *,
    api_key: str | None,
    project: str | None,
    location: str | None,
    credentials: Callable[[], object | None],
) -> Access | Offline:
    """The way that `mode` (auto, gemini, vertex, offline) asks for.

    auto: gemini if there is a key, else vertex if there are a project and credentials, else offline. `credentials` is
    asked only when the answer depends on it: looking for them can take seconds. Raises UsageError when a way was asked
    for by name and something for it is missing, and for a key that can't be one.
    """
    if mode == Provider.GEMINI:
        return _gemini(api_key, "summaries=gemini, and there is an API key")
    if mode == Provider.VERTEX:
        return _vertex(project, location, credentials(), f"summaries=vertex, and Google credentials for {project}")
    if mode == "auto":
        return _best(api_key, project, location, credentials)
    if mode == "offline":
        return Offline(why="summaries=offline")
    raise UsageError(f"{mode!r} is no way to write summaries; known are auto, gemini, vertex and offline")


def _best(
    api_key: str | None, project: str | None, location: str | None, credentials: Callable[[], object | None]
) -> Access | Offline:
    if _given(api_key):
        return _gemini(api_key, "summaries=auto, and there is an API key")
    if not _given(project):
        return Offline(why="summaries=auto, and there is neither an API key nor a Google Cloud project")
    found = credentials()
    if found is None:
        return Offline(why=f"summaries=auto, and there is neither an API key nor Google credentials for {project}")
    return _vertex(project, location, found, f"summaries=auto, no API key, but Google credentials for {project}")


def _gemini(api_key: str | None, why: str) -> Access:
    if api_key is None or not _given(api_key):
        raise UsageError(
            f"summaries=gemini needs an API key: set {KEY_VARIABLE}, or name an Airflow connection with the key as its"
            f" password in {CONNECTION_SETTING}"
        )
    key = api_key.strip()
    # Anything else breaks inside the HTTP client, in an error that carries the key.
    if not all(" " < character < "\x7f" for character in key):
        raise UsageError(
            f"the API key holds a character that no key has, such as a space: check {KEY_VARIABLE}, or the password of"
            f" the Airflow connection named by {CONNECTION_SETTING}"
        )
    return Access(mode=Provider.GEMINI, why=why, api_key=Secret(key))


def _vertex(project: str | None, location: str | None, credentials: object | None, why: str) -> Access:
    if not _given(project):
        raise UsageError(
            f"summaries=vertex needs a Google Cloud project: set {PROJECT_SETTING}, or the project of the Airflow"
            f" Google connection named by {CONNECTION_SETTING}"
        )
    if credentials is None:
        raise UsageError(
            "summaries=vertex needs Google credentials: set GOOGLE_APPLICATION_CREDENTIALS to a service account's"
            " file, run `gcloud auth application-default login`, or name an Airflow Google connection in"
            f" {CONNECTION_SETTING}; the account needs {ROLE} in {project}"
        )
    return Access(
        mode=Provider.VERTEX,
        why=why,
        project=project,
        location=location or DEFAULT_LOCATION,
        credentials=credentials,
    )


def _given(text: str | None) -> bool:
    return bool(text and text.strip())
