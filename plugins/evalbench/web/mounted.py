"""The page within Airflow: for its users who may read the DAG, over the lake that the environment names."""

import os
from dataclasses import replace
from functools import cache

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI

from evalbench.airflow_connections import google_access
from evalbench.settings import load_settings
from evalbench.storage import lake_of
from evalbench.web.app import create_app
from evalbench.web.links import source_url_of
from evalbench.web.store import Store

DAG_ID = "evalbench_nightly"


def mounted_app() -> FastAPI:
    """The page with Airflow's own authentication: 401 without a user, 403 for one who may not read the DAG."""
    guards = [Depends(requires_access_dag(method="GET", param_dag_id=DAG_ID))]
    return create_app(_open_store, guards, source_url=_source_url)


@cache
def _source_url() -> str | None:
    return source_url_of(load_settings(os.environ))


def _open_store() -> Store:
    settings = load_settings(os.environ)
    if settings.google_connection is not None:
        settings = replace(settings, google=google_access(settings.google_connection, "api-server"))
    return Store(lake_of(settings), settings.now)
