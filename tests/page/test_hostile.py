"""What runs write is shown as text, wherever it is shown: two hundred payloads in every text field, none runs."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.sync_api import Browser, Page
from tests.page.hostile import CLOCK, chunks, hostile_lake, payloads
from tests.page.serving import app_over, served, until_read
from tests.page.visiting import WATCH, visiting

from evalbench.web.security import HEADERS

OURS = (
    "a b body br button caption circle code dd details div dl dt figcaption figure footer form h1 h2 h3 head header"
    " html img input label li line link main meta nav ol option p path polyline pre rect script section select span"
    " summary svg table tbody td th thead title tr ul"
)
FOREIGN = """
() => {
  const ours = new Set("OURS".split(" "));
  const found = window.ran ? ["a payload ran"] : [];
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith("on") || name === "style" || name === "srcdoc") found.push(element.outerHTML.slice(0, 200));
      if (["href", "src", "action", "data"].includes(name) && !/^([/#]|$)/.test(value)) found.push(name + "=" + value);
    }
  }
  for (const element of document.querySelectorAll("*")) {
    if (!ours.has(element.tagName.toLowerCase())) found.push("element " + element.tagName);
  }
  if (document.scripts.length !== 2) found.push(document.scripts.length + " scripts");
  return found;
}
""".replace("OURS", OURS)
"""What stands in a page that no template of ours puts there."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sample_runs: Path) -> Iterator[str]:
    """The page over the hostile lake."""
    lake = hostile_lake(tmp_path_factory.mktemp("hostile"), sample_runs)
    with served(app_over(lake, CLOCK)) as address:
        until_read(address)
        yield address


def links(page: Page, start: str) -> list[str]:
    """Addresses on a page that begin so, each once, without their fragments."""
    found = page.locator(f"a[href^='{start}']").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    return list(dict.fromkeys(address.partition("#")[0] for address in found))


def test_there_are_two_hundred_payloads() -> None:
    """All different, each with the one deed that a page would give away."""
    assert 200 == len(set(payloads()))
    assert all("window.ran=1" in payload for payload in payloads())


def test_no_payload_runs_on_any_page(browser: Browser, site: str) -> None:
    """Every kind of page with each of the texts; of each candidate one run, of each run two trials.

    No script, no dialog, no refusal, no foreign element.
    """
    seen: list[str] = []
    with visiting(browser, site) as visit:

        def look(address: str) -> Page:
            page = visit.open(address)
            visit.look()
            assert [] == page.evaluate(FOREIGN), address
            seen.append(address.partition("?")[0])
            return page

        candidates = links(look("/"), "/candidate?")
        for address in ("/contradictions", "/quality", "/search?q=window.ran"):
            look(address)
        for candidate in candidates:
            for run in links(look(candidate), "/run?")[:1]:
                trials = links(look(run), "/trial?")
                for trial in [address for address in trials if "unknown" not in address][:2]:
                    look(trial)
    assert len(chunks()) <= seen.count("/candidate")
    assert len(chunks()) <= seen.count("/run")
    assert 2 * len(chunks()) <= seen.count("/trial")


def test_the_texts_are_there_to_be_read(browser: Browser, site: str) -> None:
    """Escaped, not dropped: the trial page shows outcome, tools, receipts, grades and dialogue letter by letter."""
    with visiting(browser, site) as visit:
        trials = links(visit.open("/contradictions"), "/trial?run_id=run%200%20")
        page = visit.open(trials[0])
        for part in ("outcome", "tools", "effects", "verdicts", "transcript"):
            shown = page.locator("section").filter(has=page.locator(f"h2#{part}")).inner_text()
            assert "'\"`><script>window.ran=1</script>" in shown, part


class Elements(HTMLParser):
    """Counts the elements of a page and notes attributes no page of ours has."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.strange: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element."""
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.strange += [f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ("style", "srcdoc")]


@pytest.mark.parametrize(
    "path",
    [
        "/?product={}&suite={}&candidate={}&model={}&environment={}",
        "/?date={}",
        "/contradictions?candidate={}",
        "/quality?product={}",
        "/search?q={}",
        "/run?run_id={}",
        "/trial?run_id={}&task_id={}&trial=0",
        "/trial?run_id=x&task_id=x&trial={}",
        "/candidate?product={}&suite={}&environment={}&candidate={}",
        "/download/entries.csv?list={}",
        "/chart/{}.svg",
        "/download/{}.csv",
        "/{}",
    ],
)
def test_what_an_address_says_is_said_back_as_text(site: str, path: str) -> None:
    """Filters, searches and errors repeat what was asked for; no element or attribute comes of it."""
    with httpx.Client(base_url=site) as client:
        for text in chunks():
            value = urlencode({"": text})[1:]
            answer = client.get(path.replace("{}", value))
            assert "text/html" in answer.headers["content-type"]
            assert "window.ran=1" in answer.text
            found = Elements()
            found.feed(answer.text)
            assert [] == found.strange
            assert 2 == found.counts["script"]
            assert {"iframe", "object", "base", "style", "video", "math"}.isdisjoint(found.counts)


def test_the_watch_sees_a_payload_that_is_not_escaped(browser: Browser) -> None:
    """The same payloads in a page unescaped: under the page's policy each is refused and told; without it one runs."""
    app = FastAPI()
    page = f"<!doctype html><title>x</title><body>{' '.join(payloads()[:80])}"
    app.add_api_route("/safe", lambda: HTMLResponse(page, headers=dict(HEADERS)))
    app.add_api_route("/bare", lambda: HTMLResponse(page))
    with served(app) as address:
        assert ("refused", None) == _befell(browser, address, "/safe")
        assert ("ran", 1) == _befell(browser, address, "/bare")


def _befell(browser: Browser, address: str, path: str) -> tuple[str, int | None]:
    """Whether something was refused there, and whether something ran."""
    page = browser.new_context().new_page()
    page.add_init_script(WATCH)
    page.goto(address + path)
    page.wait_for_function("window.ran || window.violations")
    assert page.evaluate(FOREIGN)
    refused, ran = page.evaluate("[window.violations || [], window.ran]")
    page.context.close()
    return "refused" if refused else "ran", ran
