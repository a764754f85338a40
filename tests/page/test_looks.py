"""How the page looks and is reached: light and dark, on a phone, by keyboard, and by assistive technology (axe)."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from tests.page.addresses import FAST, PAGES, TRIAL
from tests.page.visiting import visiting

AXE = Path(".cache/axe/node_modules/axe-core/axe.min.js")
PHONE: ViewportSize = {"width": 390, "height": 844}
PHONE_IN_AIRFLOW: ViewportSize = {"width": 318, "height": 700}
"""What Airflow's navigation leaves of a phone's screen."""
BESIDE_NAVIGATION: ViewportSize = {"width": 1200, "height": 800}
"""What Airflow's navigation leaves of a laptop's screen."""
SCHEMES = ("light", "dark")
BLACK_OR_DARK = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")


@pytest.fixture(scope="module")
def axe(root: Path) -> str:
    """axe-core, as npm installed it."""
    script = root / AXE
    assert script.is_file(), (
        f"{AXE} is missing: make test installs it with npm (Node 12 or newer); or leave these tests out with"
        " --ignore tests/page"
    )
    return script.read_text(encoding="utf-8")


def barriers(page: Page, axe: str, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe calls serious or critical on a page, by rule and first element. rules: only these; none: all."""
    page.evaluate(axe)
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate("options => axe.run(document, options).then(found => found.violations)", options)
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def brightness(page: Page) -> int:
    """Of the ground everything stands on, 0 to 765."""
    found = BLACK_OR_DARK.match(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert found is not None
    return sum(map(int, found.groups()))


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_serious_barrier(browser: Browser, site: str, axe: str, name: str) -> None:
    """Names, roles, contrast, headings, tables: axe finds nothing serious or critical; nor in dark colours."""
    with visiting(browser, site, expected=(404,), color_scheme="light") as visit:
        page = visit.open(PAGES[name])
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert [] == barriers(page, axe)
        page.emulate_media(color_scheme="dark")
        assert brightness(page) < 200
        assert [] == barriers(page, axe, rules=("color-contrast",))


def test_axe_does_find_a_barrier(browser: Browser, site: str, axe: str) -> None:
    """The scan is not blind: text without contrast and a field without a name are both told."""
    with visiting(browser, site) as visit:
        page = visit.open("/search")
        page.evaluate(
            """() => {
            const text = document.createElement("p"), field = document.createElement("input");
            text.textContent = "hardly to be read";
            text.style.color = "#eeeeee";
            document.querySelector("main").append(text, field);
            }"""
        )
        assert {"color-contrast", "label"} <= {found.partition(" ")[0] for found in barriers(page, axe)}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("screen", [PHONE, PHONE_IN_AIRFLOW, BESIDE_NAVIGATION], ids=lambda size: str(size["width"]))
def test_every_page_fits_its_screen(browser: Browser, site: str, name: str, screen: ViewportSize) -> None:
    """Nothing sticks out sideways: what is wider scrolls in a box of its own, which the keyboard reaches."""
    with visiting(browser, site, expected=(404,), viewport=screen) as visit:
        page = visit.open(PAGES[name])
        assert screen["width"] >= page.evaluate("document.documentElement.scrollWidth")
        wide = page.locator(".scroll").all()
        assert all("0" == box.get_attribute("tabindex") for box in wide)


def test_rows_of_the_board_become_blocks_on_a_phone(browser: Browser, site: str) -> None:
    """Each signal says its name there, since no column header stands above it."""
    with visiting(browser, site, viewport=PHONE) as visit:
        page = visit.open("/?product=release-inversion")
        expect(page.locator(".board tbody tr").first.get_by_text("Effect integrity")).to_be_visible()
        assert page.locator("td.why").first.evaluate("cell => cell.clientWidth") > 300


def test_no_mark_is_cut_off_on_a_phone(browser: Browser, site: str) -> None:
    """A limit at the right end of its scale is where most checks are decided."""
    with visiting(browser, site, viewport=PHONE_IN_AIRFLOW) as visit:
        page = visit.open(f"/candidate?{FAST}")
        right = "part => part.getBoundingClientRect().right"
        cells = page.locator(".checks td:has(svg)").all()
        assert cells
        assert all(cell.locator("svg").evaluate(right) <= cell.evaluate(right) for cell in cells)


def test_the_deciding_sentence_has_room_beside_airflows_navigation(browser: Browser, site: str) -> None:
    """It is what the board is read for: as wide as a sentence needs, no column of single words."""
    with visiting(browser, site, viewport=BESIDE_NAVIGATION) as visit:
        page = visit.open("/?product=release-inversion")
        assert page.locator("td.why").first.evaluate("cell => cell.clientWidth") > 300


def test_colours_follow_the_system_until_the_reader_chooses(browser: Browser, site: str) -> None:
    """Dark where the system is; the button switches, and the choice holds on the next page and the next visit."""
    with visiting(browser, site, color_scheme="dark") as visit:
        page = visit.open("/")
        assert brightness(page) < 200
        page.get_by_role("button", name="Show in light colours").click()
        assert brightness(page) > 600
        page = visit.open(TRIAL)
        assert brightness(page) > 600
        page.get_by_role("button", name="Show in dark colours").click()
        assert brightness(visit.open("/")) < 200


def test_without_a_choice_of_its_own_the_page_takes_airflows_colours(browser: Browser, site: str) -> None:
    """Airflow keeps its own switch under `theme` at the same address; a page inside of it looks alike."""
    with visiting(browser, site, color_scheme="light") as visit:
        visit.open("/")
        visit.page.evaluate("localStorage.setItem('theme', 'dark')")
        assert brightness(visit.open("/")) < 200


@pytest.mark.parametrize("scheme", SCHEMES)
def test_charts_are_there_in_the_colours_of_the_page(browser: Browser, site: str, scheme: str) -> None:
    """One drawing of each chart is shown, the one for the scheme; the other is not even loaded."""
    with visiting(browser, site, color_scheme=scheme) as visit:
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url))
        page = visit.open(f"/candidate?{FAST}")
        page.locator("figure").last.scroll_into_view_if_needed()
        page.wait_for_load_state("networkidle")
        drawn = [address for address in asked if "/chart/" in address]
        assert drawn
        assert all(f"theme={scheme}" in address for address in drawn)


def test_the_keyboard_reaches_everything(browser: Browser, site: str) -> None:
    """The first stop skips to the content; every stop can be seen; sorting and folding work by key."""
    with visiting(browser, site) as visit:
        page = visit.open("/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.keyboard.press("Tab")
        focused = page.locator("*:focus")
        assert "2px" == focused.evaluate("element => getComputedStyle(element).outlineWidth")
        sort = page.locator(".board thead th").first.get_by_role("button")
        sort.focus()
        page.keyboard.press("Enter")
        assert "ascending" == page.locator(".board thead th").first.get_attribute("aria-sort")
        more = page.locator(".clamped summary").first
        more.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".clamped").first).to_have_attribute("open", "")


def test_a_printed_page_is_light_and_without_controls(browser: Browser, site: str) -> None:
    """On paper there is nothing to press, and dark ground is left out."""
    with visiting(browser, site, color_scheme="dark") as visit:
        page = visit.open("/")
        page.emulate_media(media="print")
        assert 765 == brightness(page)
        expect(page.locator(".filters")).to_be_hidden()
        expect(page.locator(".top form")).to_be_hidden()


def test_a_decision_is_told_by_word_and_shape(browser: Browser, site: str) -> None:
    """Without any colour the three decisions differ: each has a word and a shape of its own."""
    with visiting(browser, site) as visit:
        page = visit.open("/")
        shapes = {
            mark.inner_text().strip(): mark.locator("svg > *").first.evaluate("shape => shape.tagName")
            for mark in page.locator(".board .decision").all()
        }
        assert {"May ship": "circle", "Failed": "rect", "Lacks evidence": "path"} == shapes
