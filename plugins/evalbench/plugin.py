"""The Airflow plugin, registered by entry point: `Evaluations` in the navigation, and the application behind it.

Every Airflow process imports this module: it stays free of anything heavy. The api-server alone asks for the page, and
imports it then.
"""

import logging
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

log = logging.getLogger(__name__)

MOUNT = "/evalbench"


def _address() -> str:
    """Where browsers find the page: below the path of Airflow's own address, where it has one."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/") + MOUNT


class EvalbenchPlugin(AirflowPlugin):
    """Makes the package known to Airflow as the plugin `evalbench`."""

    name = "evalbench"
    external_views = [  # noqa: RUF012 - Airflow takes what it refuses out of this list
        {
            "name": "Evaluations",
            "href": f"{_address()}/",
            "destination": "nav",
            "nav_top_level": True,
            "url_route": "evalbench",
            "icon": f"{_address()}/static/icon.svg",
            "icon_dark_mode": f"{_address()}/static/icon-dark.svg",
        }
    ]

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]
        """The application, made when the api-server asks; none where it can't be made, which its log then says.

        An error here would keep Airflow's own UI from starting.
        """
        try:
            from evalbench.web.mounted import mounted_app  # noqa: PLC0415 - every other Airflow process does without

            return [{"app": mounted_app(), "url_prefix": MOUNT, "name": "Evaluations"}]
        except Exception:
            log.exception(
                "Evaluations is left out: the page can't be made. Install evalbench with everything it requires into"
                " the environment of this api-server (`pip check` names what is missing), then start it again"
            )
            return []
