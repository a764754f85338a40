"""How long the page takes to answer: `python -m benchmarks.page [--runs N] [--trials N] [--dates N] [--rounds N]`.

Makes a lake of that size, serves the page's own application over it in a process of its own, and asks for every page
over one connection, each time for something else. Beside them a small file, which costs what any answer costs.
"""

import argparse
import http.client
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import uvicorn
from benchmarks.page_lake import make_lake, publish_again
from scripts.stack_postgres import free_port

from evalbench.lake.commits import read_commits
from evalbench.settings import Settings
from evalbench.sinks.duckdb import query
from evalbench.storage import LocalStorage
from evalbench.web.app import create_app
from evalbench.web.charts import kinds
from evalbench.web.store import FRESH_S, Store

LIMIT_MS = 300.0
NOTHING = "(a small file)"
NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
ASKED = {
    "subjects": "SELECT DISTINCT product, suite, environment, candidate FROM decisions ORDER BY ALL",
    "dates": "SELECT DISTINCT run_date AS date FROM decisions ORDER BY ALL",
    "runs": "SELECT run_id FROM runs ORDER BY hash(run_id), run_id LIMIT 1000",
    "trials": "SELECT run_id, task_id, trial FROM trials ORDER BY hash(run_id, task_id), trial LIMIT 1000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Milliseconds of one page: of the median and of the 95th of 100 answers, and of the server's CPU per answer."""

    name: str
    p50: float
    p95: float
    cpu: float


def main() -> int:
    """Make the lake, ask, print; 1 when a page's 95th percentile is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 2000), ("trials", 50), ("dates", 50), ("rounds", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalbench-page-") as folder:
        lake = Path(folder, "lake")
        began = time.perf_counter()
        settings = make_lake(lake, given.runs, given.trials, given.dates)
        took = time.perf_counter() - began
        print(f"{given.runs:,} runs, {given.runs * given.trials:,} trials, {given.dates} dates; made in {took:.0f} s")
        return _measure(lake, settings, given.rounds)


def _measure(lake: Path, settings: Settings, rounds: int) -> int:
    pages = _pages(lake)
    with _served(lake) as (server, port):
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        print(f"first answer after {_until_read(asked):.1f} s; {server.memory_info().rss / 1e6:.0f} MB")
        publish_again(settings, "one-more")
        time.sleep(FRESH_S)
        print(f"first answer after a publish: {_timed(asked, '/') / 1000:.1f} s")
        found = [_of_page(name, addresses, asked, server, rounds) for name, addresses in pages.items()]
    print(f"{'page':<16}{'p50 ms':>10}{'p95 ms':>10}{'CPU ms':>10}")
    for page in found:
        print(f"{page.name:<16}{page.p50:>10.1f}{page.p95:>10.1f}{page.cpu:>10.1f}")
    slow = [page.name for page in found if page.p95 > LIMIT_MS]
    if slow:
        print(f"above {LIMIT_MS:.0f} ms: {', '.join(slow)}")
    return 1 if slow else 0


def _pages(lake: Path) -> dict[str, list[str]]:
    """Addresses of every page, each with something else in it."""
    place = LocalStorage(str(lake))
    rows = {name: query(place, sql, partial(read_commits, place)).to_pylist() for name, sql in ASKED.items()}
    filters = [{}, *({"product": row["product"]} for row in rows["subjects"]), *rows["dates"]]
    dated = [{**subject, **day} for day in rows["dates"] for subject in rows["subjects"]]
    texts = ["t", "run-2026-11-3", "airline-0", "0001", "T5", "nothing of that name"]
    return {
        NOTHING: ["/static/icon.svg"],
        "board": _addresses("/", filters),
        "candidate": _addresses("/candidate", [*rows["subjects"], *dated]),
        "a chart of it": [
            address for kind in kinds() for address in _addresses(f"/chart/{kind}.svg", rows["subjects"])
        ],
        "run": _addresses("/run", rows["runs"]),
        "trial": _addresses("/trial", rows["trials"]),
        "contradictions": _addresses("/contradictions", filters),
        "quality": _addresses("/quality", filters),
        "search": _addresses("/search", [{"q": text} for text in texts]),
    }


def _addresses(path: str, fields: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{path}?{urlencode(given)}" for given in fields]


def _of_page(
    name: str, addresses: Sequence[str], asked: http.client.HTTPConnection, server: psutil.Process, rounds: int
) -> Measured:
    before = _cpu(server)
    times = sorted(_timed(asked, address) for address in islice(cycle(addresses), rounds))
    spent = (_cpu(server) - before) * 1000 / rounds
    return Measured(name=name, p50=statistics.median(times), p95=times[int(len(times) * 0.95)], cpu=spent)


def _timed(asked: http.client.HTTPConnection, address: str) -> float:
    """Milliseconds until the whole answer is there."""
    began = time.perf_counter()
    status = _ask(asked, address)
    took = (time.perf_counter() - began) * 1000
    if status != http.HTTPStatus.OK:
        raise RuntimeError(f"{address}: answered with {status}")
    return took


def _until_read(asked: http.client.HTTPConnection) -> float:
    """Seconds from the first question until the lake has been read."""
    began = time.perf_counter()
    while _ask(asked, "/") == http.HTTPStatus.SERVICE_UNAVAILABLE:
        time.sleep(0.1)
    return time.perf_counter() - began


def _ask(asked: http.client.HTTPConnection, address: str) -> int:
    asked.request("GET", address)
    answer = asked.getresponse()
    answer.read()
    return answer.status


def _cpu(server: psutil.Process) -> float:
    used = server.cpu_times()
    return used.user + used.system


@contextmanager
def _served(lake: Path) -> Iterator[tuple[psutil.Process, int]]:
    """The page over a lake, in a process of its own: (it, its port)."""
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(lake, port))
    process.start()
    try:
        _wait_for(port)
        yield psutil.Process(process.pid), port
    finally:
        process.terminate()
        process.join()


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            _ask(http.client.HTTPConnection("127.0.0.1", port, timeout=5), "/static/icon.svg")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the page's server doesn't answer")


def _serve(lake: Path, port: int) -> None:
    app = create_app(lambda: Store(LocalStorage(str(lake)), lambda: NOW))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_keep_alive=600)


if __name__ == "__main__":
    sys.exit(main())
