"""From options to settings and dates."""

import os
from collections.abc import Mapping
from datetime import date

from evalbench.errors import UsageError
from evalbench.settings import Settings, load_settings
from evalbench.summaries.access import KEY_VARIABLE, Login, Secret
from evalbench.summaries.gemini import application_default


def settings_from(overrides: Mapping[str, object]) -> Settings:
    """The environment's settings with this call's options over them. Raises UsageError naming what can't be used."""
    return load_settings(os.environ, overrides)  # noqa: TID251 - a shell hands the environment to settings


def login() -> Login:
    """What this process can show to Google: a key in the environment, or Application Default Credentials."""
    key = os.environ.get(KEY_VARIABLE, "").strip()  # noqa: TID251 - a shell hands it on, wrapped so that nobody prints it
    return Login(api_key=Secret(key) if key else None, credentials=application_default)


def utc_date(text: str | None, option: str) -> date | None:
    """A date option. Raises UsageError."""
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: expected a date such as 2026-11-30") from error


def one_of(value: str, option: str, known: tuple[str, ...]) -> str:
    """A word out of a few. Raises UsageError."""
    if value not in known:
        raise UsageError(f"{option} {value!r}: expected one of {', '.join(known)}")
    return value
