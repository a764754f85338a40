"""A reader's browser that writes down whatever goes wrong on the way."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, Response

WATCH = """
document.addEventListener("securitypolicyviolation", (event) => {
  (window.violations ||= []).push(event.violatedDirective + " " + event.blockedURI);
});
"""
HARMLESS = ("An iframe which has both allow-scripts and allow-same-origin", "[DOM] Input elements should have")
"""What Airflow's own page has the browser say."""


@dataclass
class Visit:
    """A browser window of a reader of its own. problems: everything that no page should do."""

    page: Page
    base: str
    problems: list[str] = field(default_factory=list)
    expected: tuple[int, ...] = ()

    def open(self, path: str) -> Page:
        """Go to a path; what the policy refused there is a problem."""
        self.page.goto(self.base + path)
        return self.page

    def look(self) -> None:
        """Take note of what the page's policy refused."""
        refused: list[str] = self.page.evaluate("window.violations || []")
        self.problems += [f"{self.page.url}: refused {what}" for what in refused]

    def _said(self, message: ConsoleMessage) -> None:
        text = message.text
        if message.type not in ("error", "warning") or text.startswith(HARMLESS):
            return
        if not any(f"status of {status}" in text for status in self.expected):
            self.problems.append(f"{self.page.url}: console: {text}")

    def _asked(self, request: Request) -> None:
        address = request.url.removeprefix("blob:")
        if not address.startswith("data:") and urlsplit(address).hostname != "127.0.0.1":
            self.problems.append(f"{self.page.url}: request to {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.problems.append(f"{response.url}: {response.status}")

    def _popped_up(self, dialog: Dialog) -> None:
        self.problems.append(f"{self.page.url}: dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def visiting(browser: Browser, base: str, expected: tuple[int, ...] = (), **options: Any) -> Iterator[Visit]:
    """A new reader. expected: states of answers that are no problem. options: of Playwright's new_context."""
    context = browser.new_context(viewport=options.pop("viewport", {"width": 1440, "height": 900}), **options)
    context.add_init_script(WATCH)
    page = context.new_page()
    visit = Visit(page=page, base=base, expected=expected)
    page.on("console", visit._said)
    page.on("pageerror", lambda error: visit.problems.append(f"{page.url}: {error}"))
    page.on("request", visit._asked)
    page.on("response", visit._answered)
    page.on("dialog", visit._popped_up)
    try:
        yield visit
        if options.get("java_script_enabled", True):
            visit.look()
        assert not visit.problems, "\n".join(visit.problems)
    finally:
        context.close()
