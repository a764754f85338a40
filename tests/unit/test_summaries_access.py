"""Which way to Gemini is taken, and what is said when there is none."""

import copy
import pickle
import subprocess
import sys

import pytest

from evalbench.errors import UsageError
from evalbench.summaries.access import Access, Offline, Provider, Secret, choose

KEY = "AIzaSyNotARealKey-0123456789"
FOUND = object()


def way(
    mode: str, *, key: str | None = None, project: str | None = None, found: object | None = None
) -> Access | Offline:
    """The way that is chosen from what there is."""
    return choose(mode, api_key=key, project=project, location=None, credentials=lambda: found)


@pytest.mark.parametrize(
    ("taken", "mode", "key", "project", "found"),
    [
        (Provider.GEMINI, "gemini", KEY, None, None),
        (Provider.GEMINI, "gemini", KEY, "proj", FOUND),
        (Provider.VERTEX, "vertex", None, "proj", FOUND),
        (Provider.VERTEX, "vertex", KEY, "proj", FOUND),  # asked for by name: the key is not looked at
        (Provider.GEMINI, "auto", KEY, "proj", FOUND),
        (Provider.VERTEX, "auto", None, "proj", FOUND),
        (Provider.VERTEX, "auto", "  ", "proj", FOUND),
        (None, "auto", None, "proj", None),
        (None, "auto", None, None, FOUND),
        (None, "auto", None, None, None),
        (None, "offline", KEY, "proj", FOUND),
    ],
)
def test_the_way_follows_from_the_mode_and_what_there_is(
    taken: Provider | None, mode: str, key: str | None, project: str | None, found: object | None
) -> None:
    """auto: a key first, then a project with credentials, then offline; a name means that way or none."""
    chosen = way(mode, key=key, project=project, found=found)
    assert taken == (chosen.mode if isinstance(chosen, Access) else None)
    assert f"summaries={mode}" in chosen.why
    assert KEY not in f"{chosen!r}{chosen}"


def test_each_way_has_what_it_needs_and_nothing_of_the_other() -> None:
    """The key alone for AI Studio; project, place and credentials for Vertex AI, by default everywhere."""
    by_key, by_account = way("gemini", key=f" {KEY}\n"), way("vertex", key=KEY, project="proj", found=FOUND)
    assert isinstance(by_key, Access)
    assert isinstance(by_account, Access)
    assert by_key.api_key is not None
    assert (KEY, None, None) == (by_key.api_key.reveal(), by_key.project, by_key.credentials)
    assert (None, "proj", "global", FOUND) == (
        by_account.api_key,
        by_account.project,
        by_account.location,
        by_account.credentials,
    )


@pytest.mark.parametrize(
    ("mode", "key", "project", "named"),
    [
        ("gemini", None, None, ["GOOGLE_API_KEY", "EVALBENCH_SUMMARIES_CONNECTION"]),
        ("gemini", "AIza key", None, ["GOOGLE_API_KEY", "EVALBENCH_SUMMARIES_CONNECTION"]),
        ("auto", "AIza\nkey", None, ["GOOGLE_API_KEY"]),
        ("vertex", None, None, ["EVALBENCH_VERTEX_PROJECT"]),
        ("vertex", None, "proj", ["GOOGLE_APPLICATION_CREDENTIALS", "roles/aiplatform.user in proj"]),
        ("openai", None, None, ["auto, gemini, vertex and offline"]),
    ],
)
def test_a_way_without_what_it_needs_is_a_usage_error_that_names_it(
    mode: str, key: str | None, project: str | None, named: list[str]
) -> None:
    """What was asked for by name is not replaced in silence; a key that can't be one is not shown."""
    with pytest.raises(UsageError) as raised:
        way(mode, key=key, project=project)
    assert named == [name for name in named if name in str(raised.value)]
    assert "AIza" not in str(raised.value)


@pytest.mark.parametrize(
    ("mode", "key", "project"), [("auto", KEY, "proj"), ("auto", None, None), ("gemini", KEY, None)]
)
def test_credentials_are_not_looked_for_unless_they_matter(mode: str, key: str | None, project: str | None) -> None:
    """Looking for them asks the network on some machines."""

    def look() -> object:
        raise AssertionError("looked")

    choose(mode, api_key=key, project=project, location=None, credentials=look)


def test_a_secret_shows_in_no_form_but_the_one_that_asks_for_it() -> None:
    """Strings, formats, containers and copies of a secret keep it."""
    secret = Secret(KEY)
    shown = f"{secret} {secret!r} {secret:>40} {[secret]} { {1: secret} } %s %r" % (secret, secret)
    assert KEY not in shown
    assert KEY not in str(dir(secret)) + str(getattr(secret, "__dict__", ""))
    assert KEY == secret.reveal()
    for keep in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(TypeError, match="not pickled"):
            keep(secret)


def test_the_sdk_is_not_loaded_before_it_is_needed() -> None:
    """Loading it takes seconds, which no parsing of the DAG and no other verb should pay."""
    script = "import sys; from evalbench.summaries import access, gemini; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert "'evalbench.summaries.gemini'" in loaded
    assert "'google.genai'" not in loaded
    assert "'google.auth'" not in loaded
