"""Pictures of every page for README and docs: `python -m scripts.screenshots`, into docs/images.

Over the lake of `scripts/demo_lake.py`, in the machine's own Chromium. Text is drawn with the machine's fonts, so two
machines make pictures of one content and not of one size in bytes.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import uvicorn
from playwright.sync_api import Browser, sync_playwright
from scripts.demo_lake import demo_lake

from evalbench.settings import Settings
from evalbench.storage import lake_of
from evalbench.web.app import create_app
from evalbench.web.store import Store

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
MORNING = datetime(2026, 12, 1, 7, 30, tzinfo=UTC)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FAST = "product=release-inversion&suite=inversion&environment=offline&candidate=fast-v2"
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
MOST_BYTES = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A page, how wide the window is and how much of the page's height is taken."""

    path: str
    width: int = 1440
    height: int = 880
    dark: bool = False


SHOTS: Mapping[str, Shot] = {
    "board": Shot(path="/"),
    "board-dark": Shot(path="/", dark=True),
    "board-phone": Shot(path="/?product=release-inversion", width=390, height=1300),
    "candidate": Shot(path=f"/candidate?{FAST}", height=1310),
    "run": Shot(path="/run?run_id=trap-judge-contradiction", height=1120),
    "trial": Shot(path="/trial?run_id=inversion-fast-v2&task_id=t4&trial=0", height=1150),
    "contradictions": Shot(path="/contradictions", height=760),
    "quality": Shot(path="/quality", height=1100),
}


def main() -> int:
    """Make all of them; what is larger than it may be in the repository is told."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"screenshots: none of {', '.join(BROWSERS)} is on the PATH; install one", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="evalbench-") as folder:
        demo_lake(Path(folder))
        os.chdir(folder)  # the page names the lake as it is called
        with _served("lake") as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
            sizes = {name: _take(browser, address, name, shot) for name, shot in SHOTS.items()}
            browser.close()
            os.chdir(IMAGES)
    for name, size in sizes.items():
        print(f"docs/images/{name}.png: {size:,} bytes")
    return int(max(sizes.values()) > MOST_BYTES)


def _take(browser: Browser, address: str, name: str, shot: Shot) -> int:
    """One picture; its size in bytes."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height}, color_scheme="dark" if shot.dark else "light"
    )
    page = context.new_page()
    page.goto(address + shot.path, wait_until="networkidle")
    file = IMAGES / f"{name}.png"
    page.screenshot(path=file)
    context.close()
    return file.stat().st_size


@contextmanager
def _served(lake: str) -> Iterator[str]:
    """The page over a lake, on a free port; its address once it has read the lake."""
    settings = Settings(lake=lake, clock=MORNING)
    store = Store(lake_of(settings), settings.now)
    store.view()
    server = uvicorn.Server(uvicorn.Config(create_app(lambda: store), host="127.0.0.1", port=0, log_level="warning"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.05)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
