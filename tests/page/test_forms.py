"""Forms and links lead to whom they name, whatever letters the name is made of."""

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser
from tests.lakes import settings, write_run
from tests.page.serving import MORNING, app_over, served, until_read
from tests.page.visiting import visiting

from evalbench import pipeline

NAMES = {
    "no width": "agent\u200b1",
    "another of no width": "agent\u200e1",
    "reordering": "agent\u202e\u2066txt",
    "control characters": "agent\x01\x1b\x7f\x85\t1",
    "marks of HTML": "agent\"'<b>&lt;&amp;&copy=1&#0;",
    "blanks": "  agent  1 ",
    "very long": "\u9577" * 2500,
}
UNSENT = {"NUL": "agent\x001", "a line of Windows": "agent\r\n1", "a line": "agent\n1", "a return": "agent\r1"}


@pytest.fixture(scope="module")
def named_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page over a lake in which every candidate was decided on two dates."""
    folder = tmp_path_factory.mktemp("names")
    for at, name in enumerate([*NAMES.values(), *UNSENT.values()]):
        for day in (27, 28):
            write_run(folder / "runs", f"run-{at}-{day}", day, json.dumps(name)[1:-1])
    pipeline.run(settings(folder / "runs", folder / "lake"))
    with served(app_over(folder / "lake", MORNING)) as address:
        until_read(address)
        yield address


def fields(address: str) -> dict[str, list[str]]:
    """What an address asks for."""
    return parse_qs(urlsplit(address).query)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_form_sends_the_name_that_was_chosen(browser: Browser, named_site: str, name: str) -> None:
    """The board's filter finds that one subject, its link opens it, and another date of it can be chosen there."""
    with visiting(browser, named_site) as visit:
        page = visit.open("/")
        page.select_option("#filter-candidate", value=name)
        page.click("form.filters button.primary")
        assert [name] == fields(page.url)["candidate"]
        assert 1 == page.locator("table.board tbody tr").count()
        page.click("table.board a.subject")
        assert [name] == fields(page.url)["candidate"]
        page.select_option("#filter-date", value="2026-11-27")
        page.click("form.filters button")
        assert ([name], ["2026-11-27"]) == (fields(page.url)["candidate"], fields(page.url)["date"])
        assert "on 2026-11-27" in page.locator("p.verdict").inner_text()


@pytest.mark.parametrize("name", UNSENT.values(), ids=UNSENT)
def test_a_name_that_no_form_can_send_is_reached_by_links(browser: Browser, named_site: str, name: str) -> None:
    """A browser would send another name: so it can't be chosen, which is said; links open the subject and its dates."""
    with visiting(browser, named_site) as visit:
        page = visit.open("/")
        choices = page.locator("#filter-candidate option[disabled]").all_inner_texts()
        assert len(UNSENT) == len(choices)
        assert all(choice.endswith(" (by its links only: no form can send this name)") for choice in choices)
        links = [str(link.get_attribute("href")) for link in page.locator("table.board a.subject").all()]
        (link,) = [link for link in links if fields(link)["candidate"] == [name]]
        page = visit.open(link)
        assert 0 == page.locator("main form").count()
        assert "No form can send this name" in page.inner_text("main")
        page.click("summary:has-text('Signals and costs as a table')")
        page.click("a:has-text('2026-11-27')")
        assert ([name], ["2026-11-27"]) == (fields(page.url)["candidate"], fields(page.url)["date"])
        assert "on 2026-11-27" in page.locator("p.verdict").inner_text()


def test_the_search_keeps_what_was_searched_for(browser: Browser, named_site: str) -> None:
    """Sent once more, it asks for the same."""
    text = "run\u200e\u202e-\"'<b>&lt;"
    with visiting(browser, named_site) as visit:
        page = visit.open("/")
        page.fill("#q", text)
        page.click("form[role=search] button")
        assert {"q": [text]} == fields(page.url)
        page.click("form[role=search] button")
        assert {"q": [text]} == fields(page.url)
