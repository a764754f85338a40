"""Summaries end to end: real run directories, the real SDK, a Gemini-compatible server, and what is stored of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.gemini.serving import API_KEY, PROJECT, GeminiServer
from tests.integration.test_lifecycle import read
from tests.integration.test_pipeline import settings, tables, write_run

from evalbench import pipeline
from evalbench.errors import UsageError
from evalbench.settings import Settings
from evalbench.summaries.access import Login, Secret
from evalbench.summaries.gemini import application_default

ANSWER: dict[str, Any] = {
    "headline": "The run did what its evidence shows.",
    "went_well": [],
    "failures": [],
    "suspected_defects": [],
    "next_steps": ["Read the worst tasks."],
}
GOOD = json.dumps(ANSWER)
BY_KEY = Login(api_key=Secret(API_KEY), credentials=lambda: None)
BY_ACCOUNT = Login(api_key=None, credentials=application_default, project=PROJECT)


def answer(**parts: object) -> dict[str, str]:
    """A step of the server's script: an answer with other parts."""
    return {"text": json.dumps(ANSWER | parts)}


@pytest.fixture
def used(root: Path, tmp_path: Path) -> Settings:
    """Settings that ask a model, over a root with one run."""
    write_run(tmp_path / "runs", "a")
    return settings(tmp_path / "runs", tmp_path / "lake", root, summaries="gemini", summary_deadline_s=20)


def summary(lake: Path) -> dict[str, Any]:
    """The one row of the table."""
    (row,) = read(lake, "summaries")
    return row


def test_a_model_s_answer_is_stored_and_asked_for_once(used: Settings, tmp_path: Path, server: GeminiServer) -> None:
    """A rerun makes no call and changes no byte; one changed run makes exactly one."""
    server.script(default={"text": GOOD})
    report: Any = pipeline.run(used, login=BY_KEY)
    row = summary(tmp_path / "lake")
    assert ("generated", None, "gemini-2.5-flash") == (row["state"], row["reason"], row["summary_model"])
    assert row["text"].startswith("The run did what its evidence shows.")
    assert (1, 1) == (row["calls"], len(server.calls()))
    assert row["tokens_in"] > 0
    assert {"generated": 1} == report["summaries"]["states"]
    assert row["tokens_in"] == report["summaries"]["tokens_in"]
    before = tables(tmp_path / "lake")
    pipeline.run(used, login=BY_KEY)
    assert (1, before) == (len(server.calls()), tables(tmp_path / "lake"))
    write_run(tmp_path / "runs", "b")
    pipeline.run(used, login=BY_KEY)
    assert 2 == len(server.calls())
    write_run(tmp_path / "runs", "b", verified=False)
    pipeline.run(used, login=BY_KEY)
    assert 3 == len(server.calls())


def test_vertex_asks_with_a_service_account(
    used: Settings, root: Path, tmp_path: Path, server: GeminiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token exchange is real; the default model is the bigger one."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(server.service_account))
    server.script(default={"text": GOOD})
    vertex = settings(tmp_path / "runs", tmp_path / "lake", root, summaries="vertex", vertex_project=PROJECT)
    report: Any = pipeline.run(vertex, login=BY_ACCOUNT)
    assert ("generated", "gemini-2.5-pro") == (
        summary(tmp_path / "lake")["state"],
        summary(tmp_path / "lake")["summary_model"],
    )
    (why,) = report["summaries"]["why"]
    assert "vertex" in why
    assert PROJECT in why


@pytest.mark.parametrize(
    ("steps", "state", "reason", "calls"),
    [
        ([{"status": 429}, {"status": 429}, {"text": GOOD}], "generated", None, 3),
        ([{"status": 503}, {"text": GOOD}], "generated", None, 2),
        ([{"text": GOOD, "finish": "MAX_TOKENS"}], "truncated", "max_tokens", 1),
        ([{"text": GOOD, "finish": "SAFETY"}], "blocked", "safety", 1),
        ([{"block": "SAFETY"}], "blocked", "blocked", 1),
        ([{"empty": True}, {"empty": True}], "rejected", "empty", 2),
        ([{"text": "{"}, {"text": "no json"}], "rejected", "not_json", 2),
        ([answer(headline="It passed 7,341 tasks.")] * 2, "rejected", "invented_number", 2),
        (
            [answer(failures=[{"cause": "c", "explanation": "e", "task_ids": ["t99"]}])] * 2,
            "rejected",
            "unknown_task_id",
            2,
        ),
        ([answer(headline="It passed 7,341 tasks."), {"text": GOOD}], "generated", None, 2),
        ([answer(headline="Ready to ship.")] * 2, "rejected", "release_verdict", 2),
        ([{"status": 403}], "unavailable", "permission", 1),
        ([{"status": 400}], "unavailable", "bad_request", 1),
    ],
)
def test_whatever_comes_back_ends_in_its_state(
    used: Settings, tmp_path: Path, server: GeminiServer, steps: list[Any], state: str, reason: str | None, calls: int
) -> None:
    """Only what holds against the evidence is shown as a model's; everything else is the offline text, labelled."""
    server.script(default={"status": 500}, steps=steps)
    pipeline.run(used, login=BY_KEY)
    row = summary(tmp_path / "lake")
    assert (state, reason, calls) == (row["state"], row["reason"], len(server.calls()))
    assert ("Offline summary" not in row["text"]) is (state == "generated")


def test_what_was_unavailable_is_asked_for_again_by_the_next_sweep(
    used: Settings, tmp_path: Path, server: GeminiServer
) -> None:
    """Once it is there the row says so, and nothing is owed any more; a backfill asks for nothing."""
    server.script(default={"status": 403})
    report: Any = pipeline.run(used, login=BY_KEY)
    assert {"unavailable": 1} == report["summaries"]["states"]
    day = summary(tmp_path / "lake")["run_date"]
    pipeline.run(used, login=BY_KEY, since=day, until=day)
    assert 1 == len(server.calls())
    server.script(default={"text": GOOD})
    pipeline.run(used, login=BY_KEY)
    assert ("generated", 2) == (summary(tmp_path / "lake")["state"], len(server.calls()))
    pipeline.run(used, login=BY_KEY)
    assert 2 == len(server.calls())


def test_a_stored_answer_stays_when_nobody_is_asked_any_more(
    used: Settings, root: Path, tmp_path: Path, server: GeminiServer
) -> None:
    """The original result, whatever writes the others."""
    server.script(default={"text": GOOD})
    pipeline.run(used, login=BY_KEY)
    for mode in ("offline", "off", "auto"):
        pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", root, summaries=mode))
        assert "generated" == summary(tmp_path / "lake")["state"]
    assert 1 == len(server.calls())


def test_a_way_that_cannot_be_taken_stops_before_anything_is_done(used: Settings, tmp_path: Path) -> None:
    """The operator's mistake is told at once, and names the variable."""
    with pytest.raises(UsageError, match="GOOGLE_API_KEY"):
        pipeline.run(used)
    assert not (tmp_path / "lake").exists()


def test_the_key_is_nowhere(
    used: Settings, tmp_path: Path, server: GeminiServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in the lake nor in a log line, when it is refused or accepted."""
    caplog.set_level("DEBUG")
    server.script(default={"text": GOOD}, steps=[{"status": 403}])
    for _ in range(2):
        report = pipeline.run(used, login=BY_KEY)
        assert API_KEY not in json.dumps(report)
    assert API_KEY not in caplog.text
    assert all(API_KEY.encode() not in path.read_bytes() for path in (tmp_path / "lake").rglob("*") if path.is_file())


def test_a_killed_night_pays_for_no_answer_twice(used: Settings, tmp_path: Path, server: GeminiServer) -> None:
    """What was stored before stands, though nothing was published."""
    server.script(default={"text": GOOD})
    plan = pipeline.discover(used)
    keys = [entry.run_key for entry in plan.to_score]
    pipeline.score(used, plan, keys[0])
    list(pipeline.summarize(used, plan, keys, BY_KEY))
    shutil.rmtree(tmp_path / "lake" / "_ops")
    pipeline.run(used, login=BY_KEY)
    assert 1 == len(server.calls())
