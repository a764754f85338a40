"""What is said of a lake by a process that is in some time zone.

A process finds these functions by their module's name, which it can't for those of a test module.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb
from tests.lakes import AFTER, ask
from tests.processes import start

from evalbench.sinks.duckdb import connect
from evalbench.storage import LocalStorage
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.database import Database
from evalbench.web.links import Links
from evalbench.web.note import as_markdown
from evalbench.web.pages import PAGES
from evalbench.web.report import Scope, report
from evalbench.web.report_page import as_html
from evalbench.web.store import Store

T = TypeVar("T")

ZONE = "SELECT current_setting('TimeZone') AS zone"
ASKED = {
    "product": "shop", "suite": "orders", "environment": "offline", "candidate": "agent-1", "run_id": "good",
    "task_id": "t1", "trial": "0", "q": "good",
}  # fmt: skip
OF_DATE = {"date": "2026-11-02"}


def in_zone(zone: str, work: Callable[[], T]) -> T:
    """What some work returns in a process of its own that is in this zone."""
    answer: T = start(partial(_there, zone, work)).result()
    return answer


def _there(zone: str, work: Callable[[], T]) -> T:
    os.environ["TZ"] = zone
    time.tzset()
    assert [zone] == zone_of_another()
    return work()


def told(lake: Path) -> Mapping[str, str]:
    """All that is shown of a lake with ASKED, by what shows it."""
    store = Store(LocalStorage(str(lake)), lambda: datetime.fromisoformat(AFTER))
    view = store.view()
    store.close()
    reported = report(view, Scope())
    return {
        **{f"page {name}": page(view, Links(base=""), ASKED) for name, page in PAGES.items()},
        "page quality of the date": PAGES["quality"](view, Links(base=""), OF_DATE),
        **{f"file {name}": DOWNLOADS[name](view, ASKED) for name in ("board", "runs", "decision_log", "accounting")},
        "file entries": DOWNLOADS["entries"](view, OF_DATE | {"list": "excluded"}),
        "report": as_html(reported),
        "note": as_markdown(reported),
    }


def queried(lake: Path) -> list[dict[str, str]]:
    """The runs' times as a query gives them, and what they are cast to."""
    sql = "SELECT run_time, CAST(run_time AS DATE) AS day, CAST(run_time AS VARCHAR) AS said FROM runs"
    return [{name: str(value) for name, value in row.items()} for row in ask(lake, sql)]


def zone_of_cursors(lake: Path) -> Sequence[str]:
    """The zone of a cursor over a lake's tables."""
    with connect(str(lake)) as connection:
        return _zones(connection.cursor())


def zones_beside() -> tuple[Sequence[str], Sequence[str]]:
    """The zone of the page's tables, and that of another database of the process made after them."""
    page = Database()
    return [row["zone"] for row in page.rows(ZONE)], zone_of_another()


def zone_of_another() -> Sequence[str]:
    """The zone of a database that nothing was said to."""
    with duckdb.connect(":memory:") as other:
        return _zones(other)


def _zones(connection: duckdb.DuckDBPyConnection) -> Sequence[str]:
    return [zone for (zone,) in connection.execute(ZONE).fetchall()]
