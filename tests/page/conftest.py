"""A browser, a lake with a history, and the page over it; each once for a process of pytest."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from scripts.demo_lake import demo_lake
from tests.page.serving import MORNING, app_over, served, until_read

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    f"tests/page drives the machine's own browser, and none of {', '.join(BROWSERS)} is on the PATH;"
    " install one (Debian: apt-get install chromium), or leave them out with --ignore tests/page"
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's own Chromium, without a window."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert program is not None, MISSING
    # A container has no user namespaces for the sandbox; nothing but our own pages is opened.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a history of two weeks."""
    return demo_lake(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def site(lake: Path) -> Iterator[str]:
    """The address of the page over that lake, on the morning after its newest run."""
    with served(app_over(lake, MORNING)) as address:
        until_read(address)
        yield address
