"""The report as a browser opens it from a ticket: from a file, with nothing to load and nothing that runs."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.inert_payloads import PAYLOADS
from tests.lakes import AFTER, RECORD, settings, write_run

from evalbench import pipeline
from evalbench.cli import main


@pytest.fixture(scope="module")
def hostile_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which every payload is a candidate that was decided twice, so that charts are drawn, and failed."""
    root = tmp_path_factory.mktemp("hostile")
    for number, payload in enumerate(PAYLOADS):
        for day in (27, 28):
            folder = write_run(root / "runs", f"r{number}-{day}", day)
            manifest = (folder / "run.yaml").read_text(encoding="utf-8").replace('"agent-1"', json.dumps(payload))
            (folder / "run.yaml").write_text(manifest, encoding="utf-8")
            failed = {**RECORD, "outcome": {**RECORD["outcome"], "state": "failed", "reason": payload}}  # type: ignore[dict-item]
            (folder / "trials.jsonl").write_text(json.dumps(failed) + "\n", encoding="utf-8")
    pipeline.run(settings(root / "runs", root / "lake"))
    return root / "lake"


@pytest.mark.parametrize("chosen", [(), PAYLOADS[:3]], ids=["every subject", "with charts"])
def test_a_report_loads_nothing_and_runs_nothing(
    browser: Browser,
    hostile_lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chosen: tuple[str, ...],
) -> None:
    """One request, for the file; no console message, no dialog, nothing refused; every chart is drawn."""
    monkeypatch.setenv("EVALBENCH_CLOCK", AFTER)
    options = [text for payload in chosen for text in ("--candidate", payload)]
    assert 0 == main(["report", "--lake", str(hostile_lake), "-o", str(tmp_path / "r.html"), *options])
    context = browser.new_context()
    page = context.new_page()
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url.split(",")[0]))
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.goto((tmp_path / "r.html").as_uri())
    undrawn = page.evaluate("[...document.images].filter(one => !one.complete || !one.naturalWidth).length")
    charts = page.evaluate("document.images.length")
    context.close()
    assert {(tmp_path / "r.html").as_uri(), "data:image/svg+xml;base64"} >= set(seen)
    assert (6 * len(chosen), 0) == (charts, undrawn)
