"""The page within Airflow: for its users who may read the DAG, over the lake that the environment names."""

import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TypeVar

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI

from evalbench.errors import UsageError
from evalbench.settings import GoogleAccess, load_settings
from evalbench.storage import lake_of
from evalbench.web.app import create_app
from evalbench.web.store import Store

DAG_ID = "evalbench_nightly"

Shown = TypeVar("Shown")


def mounted_app() -> FastAPI:
    """The page with Airflow's own authentication: 401 without a user, 403 for one who may not read the DAG."""
    return create_app(_open_store, [Depends(requires_access_dag(method="GET", param_dag_id=DAG_ID))])


def _open_store() -> Store:
    settings = load_settings(os.environ)
    if settings.google_connection is not None:
        settings = replace(settings, google=_google(settings.google_connection))
    return Store(lake_of(settings), settings.now)


def _google(name: str) -> GoogleAccess:
    """What an Airflow connection shows to Google, found when it is asked for."""

    def shown(find: Callable[[object], Shown]) -> Shown:
        # The Google provider's hooks take seconds to import, which a local lake doesn't owe.
        hooks = import_module("airflow.providers.google.common.hooks.base_google")
        auth = import_module("google.auth.exceptions")
        errors = import_module("airflow.exceptions")
        try:
            return find(hooks.GoogleBaseHook(name))
        except (errors.AirflowException, auth.GoogleAuthError, ValueError) as error:
            raise UsageError(
                f"EVALBENCH_GOOGLE_CONNECTION: the Airflow connection {name!r} can't be used ({type(error).__name__});"
                " see that the api-server knows it, as a Google connection with a whole service account key"
            ) from None

    return GoogleAccess(credentials=lambda: shown(lambda hook: hook.get_credentials()))  # type: ignore[attr-defined]
