"""A thousand summaries through a storm of faults, and how many questions are asked at a time."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.gemini.serving import API_KEY, GeminiServer
from tests.integration.test_lifecycle import read
from tests.integration.test_pipeline import settings, write_run

from evalbench import pipeline
from evalbench.lake.verdicts import read_scored
from evalbench.ledger import ScoredRun
from evalbench.settings import Settings
from evalbench.storage import LocalStorage
from evalbench.summaries.access import Access, Login, Secret
from evalbench.summaries.digest import digest_of
from evalbench.summaries.gemini import Gemini
from evalbench.summaries.offline import write_offline
from evalbench.trends import RunSummary
from evalbench.writing import Writer, stored_summary

RUNS, SEED = 1_000, 20261130
BY_KEY = Login(api_key=Secret(API_KEY), credentials=lambda: None)
PLANTED = (
    "Error calling", "RESOURCE_EXHAUSTED", "Quota exceeded", "Traceback", "I'm sorry", "overloaded", "<html", "<script",
    "refused; credential", "7,341", "no_such_task", API_KEY,
)  # fmt: skip
"""Pieces of every error text, invention and markup that the server sends."""

Step = dict[str, Any]
Steps = Callable[[Random], list[Step]]


def said(**parts: object) -> Step:
    """An answer in the right form, with other parts."""
    whole = {"headline": "The run did what its evidence shows.", "went_well": [], "failures": []}
    return {"text": json.dumps(whole | {"suspected_defects": [], "next_steps": ["Read the worst tasks."]} | parts)}


GOOD = said()
TEXT = "The run did what its evidence shows.\n\nNext steps:\n\n- Read the worst tasks.\n"
TRANSIENT: tuple[Step, ...] = (
    {"status": 429}, {"status": 429, "retry_after": 3}, {"status": 429, "retry_after_date": 4},
    {"status": 429, "retry_delay": 5}, {"status": 500}, {"status": 503}, {"status": 503, "retry_after": 2},
    {"drop": True}, {"status": 502, "raw": "<html>Error calling upstream</html>"}, {"status": 504},
)  # fmt: skip
FINAL: tuple[Step, ...] = (
    {"status": 400}, {"status": 401}, {"status": 403}, {"status": 404, "raw": "<html>Error calling upstream</html>"},
    {"status": 200, "raw": "<html>Error calling upstream</html>"},
)  # fmt: skip
REFUSED: dict[str, tuple[Step, ...]] = {
    "empty": ({"empty": True}, {"text": ""}, {"text": " \u200b "}, said(headline="…")),
    "malformed JSON": ({"text": "{"}, {"text": GOOD["text"][:-1]}, {"text": f"Here it is: {GOOD['text']}"}),
    "another form": ({"text": "[]"}, {"text": '{"summary": "Fine."}'}, said(headline=["Fine."]), said(verdict="fine")),
    "error text": (
        {"text": "Error calling Gemini: 429 RESOURCE_EXHAUSTED. Quota exceeded."},
        said(headline="Error calling Gemini: 429 RESOURCE_EXHAUSTED."),
        said(next_steps=["Quota exceeded for this project; try again."]),
        said(went_well=["Traceback (most recent call last): ValueError: no key"]),
        said(headline="I'm sorry, but I can't summarise this."),
        said(headline="The model is currently overloaded."),
    ),
    "invented number": (
        said(headline="It verified 7,341 tasks."),
        said(went_well=["A share of 73.41 % was verified."]),
    ),
    "unknown id": (said(failures=[{"cause": "Lost", "explanation": "Gone.", "task_ids": ["no_such_task"]}]),),
    "HTML": (
        {"text": "<html><body>Error calling upstream</body></html>"},
        {"text": "<!doctype html><script>x</script>"},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the calls of one question get, and how it must end."""

    name: str
    steps: list[Step]
    state: str

    @property
    def reads(self) -> str:
        """State and name: what is counted."""
        return f"{self.name}: {self.state}"


def faults(draw: Random, count: int) -> list[Step]:
    """So many that may pass."""
    return draw.choices(TRANSIENT, k=count)


def stories(draw: Random) -> Iterator[Story]:
    """One of each kind, over and over; each begins with a fault."""
    while True:
        kind = draw.choice(sorted(REFUSED))
        refused = draw.choices(REFUSED[kind], k=2)
        cut = {**GOOD, "finish": "MAX_TOKENS"}
        blocked = {**GOOD, "finish": draw.choice(["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII"])}
        yield Story(name="passes", steps=[*faults(draw, draw.randint(1, 5)), GOOD], state="generated")
        yield Story(name="stays", steps=faults(draw, 6), state="unavailable")
        yield Story(name="final", steps=[draw.choice(FINAL)], state="unavailable")
        yield Story(name="cut", steps=[*faults(draw, draw.randint(0, 2)), cut], state="truncated")
        yield Story(name="blocked answer", steps=[*faults(draw, draw.randint(0, 2)), blocked], state="blocked")
        yield Story(name="blocked prompt", steps=[{"block": "SAFETY"}], state="blocked")
        yield Story(name=f"{kind} twice", steps=[refused[0], *faults(draw, 1), refused[1]], state="rejected")
        yield Story(name=f"{kind} once", steps=[refused[0], GOOD], state="generated")
        yield Story(name=f"{kind}, then nothing", steps=[refused[0], *faults(draw, 6)], state="rejected")
        yield Story(name=f"{kind}, then cut", steps=[refused[0], cut], state="truncated")


@pytest.fixture
def thousand(root: Path, sample_runs: Path, tmp_path: Path) -> tuple[Settings, list[ScoredRun]]:
    """Settings, and a thousand runs: the small samples as they were read and scored, under other names."""
    for folder in [*sample_runs.glob("inversion-*"), *sample_runs.glob("trap-*")]:
        shutil.copytree(folder, tmp_path / "runs" / folder.name)
    used = settings(tmp_path / "runs", tmp_path / "lake", root, summaries="gemini")
    plan = pipeline.discover(used)
    facts = [pipeline.score(used, plan, entry.run_key).facts for entry in plan.to_score]
    runs = [read_scored(LocalStorage(used.require_lake()), ref) for ref in facts if ref is not None]
    return used, [named(runs[number % len(runs)], f"storm-{number:04}") for number in range(RUNS)]


def named(scored: ScoredRun, name: str) -> ScoredRun:
    """The same run under another name."""
    return replace(scored, run=replace(scored.run, run_id=name, run_key=name))


def summarized(used: Settings, runs: list[ScoredRun]) -> list[RunSummary]:
    """The rows after one try at every summary by ten workers that take no pauses."""
    writer = Writer.of(used, BY_KEY)
    assert isinstance(writer.way, Access)
    writer = replace(writer, gemini=Gemini(writer.way, writer.models, sleep=lambda _seconds: None))
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(writer.write, runs))
    return [stored_summary(writer.lake, scored, used) for scored in runs]


@pytest.mark.timeout(900)
def test_no_error_text_is_ever_stored(
    thousand: tuple[Settings, list[ScoredRun]], server: GeminiServer, tmp_path: Path
) -> None:
    """Each row holds a checked answer, or the offline text under a label that tells what became of the model's."""
    used, runs = thousand
    told = [story for story, _ in zip(stories(Random(SEED)), runs, strict=False)]  # noqa: S311 - repeatable, not secret
    rules = [{"contains": scored.run.run_id, "steps": story.steps} for scored, story in zip(runs, told, strict=True)]
    server.script(default={"text": "more calls than were scripted"}, rules=rules)
    rows = summarized(used, runs)
    ended = Counter(f"{story.name}: {row.state}" for story, row in zip(told, rows, strict=True))
    assert Counter(story.reads for story in told) == ended
    assert RUNS == sum(Counter(row.state for row in rows).values()) == len({row.digest_hash for row in rows})
    assert {"generated", "truncated", "blocked", "rejected", "unavailable"} == {row.state for row in rows}
    for row, scored in zip(rows, runs, strict=True):
        generated = row.state == "generated"
        assert (TEXT if generated else write_offline(digest_of(scored))) == row.text, row
        assert generated is (row.reason is None)
    assert sum(len(story.steps) for story in told) == len(server.calls())
    lake = b"".join(path.read_bytes() for path in sorted((tmp_path / "lake").rglob("*.json")))
    assert [] == [piece for piece in PLANTED if piece.encode() in lake]
    assert b"storm-0999" in lake


def test_no_more_questions_at_a_time_than_workers(root: Path, tmp_path: Path, server: GeminiServer) -> None:
    """Calls in flight are bounded by `summary_workers` in each process, so by pool slots times workers in all."""
    for number in range(12):
        write_run(tmp_path / "runs", f"run-{number}")
    used = settings(tmp_path / "runs", tmp_path / "lake", root, summaries="gemini", summary_workers=3)
    server.script(default=GOOD, steps=[{"status": 503}] * 2, latency_s=0.3)
    pipeline.run(used, login=BY_KEY)
    assert ["generated"] * 12 == [row["state"] for row in read(tmp_path / "lake", "summaries")]
    assert 14 == len(server.calls())
    assert 3 == max(call["in_flight"] for call in server.calls())
