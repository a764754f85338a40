"""What processes do to a lake in Cloud Storage. They find these functions by their module's name."""

import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import requests.adapters
from tests.processes import SECONDS, Cut, Work
from tests.publishers import COUNTS, score

from evalbench import nightly
from evalbench.errors import PipelineError
from evalbench.lake.commits import read_commits
from evalbench.settings import Settings
from evalbench.sinks.duckdb import query
from evalbench.storage import gcs, lake_of

CHANGE = "http.change"
"""The audit event of a request that changes something; its argument is `/bucket/object`."""
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NAME = re.compile(rb'"name": "([^"]+)"')
OBJECT = re.compile(r"/b/([^/]+)/o(?:/(.+))?$")


def under(environment: Mapping[str, str], work: Work) -> object:
    """Do some work with these environment variables, and tell Python's audit hooks of every request that changes."""
    os.environ.update(environment)
    send = requests.adapters.HTTPAdapter.send

    def tell(adapter: requests.adapters.HTTPAdapter, request: requests.PreparedRequest, *args: Any, **more: Any) -> Any:
        if request.method in CHANGING and (place := _object(request)) is not None:
            sys.audit(CHANGE, place)
        return send(adapter, request, *args, **more)

    requests.adapters.HTTPAdapter.send = tell  # type: ignore[method-assign]
    return work()


def _object(request: requests.PreparedRequest) -> str | None:
    """`/bucket/object` of a request to Cloud Storage."""
    found = OBJECT.search(urlsplit(request.url or "").path)
    if found is None:
        return None
    if found[2] is not None:
        return f"/{found[1]}/{unquote(found[2])}"
    named = NAME.search(request.body) if isinstance(request.body, bytes) else None
    return f"/{found[1]}/{named[1].decode()}" if named is not None else None


def night(used: Settings, plan_id: str) -> None:
    """A whole DAG run."""
    score(used, plan_id)
    nightly.publish(used, plan_id)


def one_more_request(cut: Cut, reached: Event, go_on: Event, work: Work) -> object:
    """Do some work as far as a request; go on when told to, and die when that request has been answered."""
    left = cut.number
    gcs.WORKERS = 1  # one request after the other

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event != CHANGE or not Path(arguments[0]).is_relative_to(cut.below):
            return
        left -= 1
        if left == 0:
            reached.set()
            assert go_on.wait(SECONDS)
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return work()


def half_dates(used: Settings) -> list[str] | None:
    """What a reader sees of a date that can't be: half of its runs. None when it got no answer."""
    lake = lake_of(used)
    try:
        rows = query(lake, COUNTS, partial(read_commits, lake)).to_pylist()
    except PipelineError:
        return None
    seen = defaultdict[object, set[object]](set)
    for row in rows:
        seen[row["run_date"]] |= {row["n"], row["ids"]}
    return [f"{day}: {found}" for day, found in seen.items() if len(found) > 1]
