"""What Airflow connections show to Google and to model services, for the DAG's workers and the page's api-server."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar

from airflow.sdk.exceptions import AirflowException

from evalbench.errors import UsageError
from evalbench.settings import GoogleAccess

GOOGLE, SUMMARIES = "EVALBENCH_GOOGLE_CONNECTION", "EVALBENCH_SUMMARIES_CONNECTION"
HOLDING: Mapping[str, str] = MappingProxyType(
    {
        GOOGLE: "as a Google connection with a whole service account key, or with none where the machine has one"
        " (`airflow connections add NAME --conn-type google_cloud_platform`)",
        SUMMARIES: "with the API key as its password, or as a Google connection with a whole service account key",
    }
)
"""What an Airflow connection must hold, by the setting that names it."""

Held = TypeVar("Held")


def google_access(name: str, process: str) -> GoogleAccess:
    """What an Airflow connection shows to Google, found when it is asked for. process: as for `held`."""
    return GoogleAccess(credentials=lambda: held(GOOGLE, name, process, lambda: google_hook(name).get_credentials()))


def google_hook(name: str) -> Any:  # noqa: ANN401 - the provider's class, imported when it is needed: it takes seconds
    """The Google provider's hook on an Airflow connection."""
    return import_module("airflow.providers.google.common.hooks.base_google").GoogleBaseHook(name)


def held(setting: str, name: str, process: str, find: Callable[[], Held]) -> Held:
    """What `find` makes of the Airflow connection that a setting names.

    process: where it must be known, for the error: `worker`. Raises UsageError, without what the connection holds, when
    it can't be used.
    """
    auth = import_module("google.auth.exceptions")
    try:
        return find()
    except (AirflowException, auth.GoogleAuthError, ValueError) as error:
        raise UsageError(
            f"{setting}: the Airflow connection {name!r} can't be used ({type(error).__name__}); see that it exists on"
            f" this {process}, {HOLDING[setting]}"
        ) from None
