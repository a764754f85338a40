"""A lake with a history, for pictures of the page and for its tests: `python -m scripts.demo_lake FOLDER`.

The samples, and thirteen days before them on which the two candidates of the release inversion ran too, with other
results each day; the policy becomes stricter on one of them. Also directories that can't be scored. Everything but the
real samples is synthetic. The same code gives the same lake.
"""

import argparse
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.grow import grow

from evalbench import pipeline
from evalbench.settings import Settings

SAMPLES = Path(__file__).resolve().parent.parent / "include" / "samples"
CLOCK = datetime(2026, 12, 1, 2, 5, tzinfo=UTC)
"""The morning after the newest sample."""
DAYS, BEFORE_SAMPLES, STRICTER_ON = 13, date(2026, 11, 27), date(2026, 11, 21)
EXCLUSIONS = """\
schema: 1
exclude:
  - {run: trap-misspelt-product, reason: started with the wrong image, owner: release-desk, date: 2026-11-28}
"""
STORIES: Mapping[str, Mapping[int, Mapping[str, Mapping[str, object]]]] = {
    "stable-v1": {
        2: {"t3": {"outcome": "unavailable"}},
        5: {"t2": {"windows": None}},
        6: {"t1": {"effect": "unknown"}},
        9: {"t5": {"outcome": "failed"}},
    },
    "fast-v2": {
        1: {"t4": {"outcome": "verified"}},
        4: {"t4": {"outcome": "verified"}, "t5": {"outcome": "verified", "effect": "verified"}},
        7: {"t4": {"outcome": "verified"}, "t5": {"outcome": "verified", "effect": "verified"}},
        8: {"t1": {"cost": None}, "t4": {"outcome": "verified"}},
        10: {"t1": {"quality": None}, "t2": {"outcome": "failed"}},
    },
}
"""Candidate → day, from 0 → task → what is otherwise than in the sample."""


def demo_lake(folder: Path, clock: datetime = CLOCK) -> Path:
    """Make runs and lake below an empty folder; where the lake is."""
    runs, lake = demo_runs(folder / "runs"), folder / "lake"
    early = _with_policy(folder / "early", {"0.60": "0.75"})
    (folder / "exclude.yaml").write_text(EXCLUSIONS, encoding="utf-8")
    settings = Settings(
        runs=str(runs),
        lake=str(lake),
        routing=str(early / "routing.yaml"),
        exclude=str(folder / "exclude.yaml"),
        grace_hours=96,
        transcript_days=365,
        clock=clock,
    )
    pipeline.run(settings)
    late = replace(settings, routing=str(SAMPLES / "routing.yaml"), clock=clock + timedelta(minutes=5))
    pipeline.run(late, since=STRICTER_ON)
    return lake


def demo_runs(runs: Path) -> Path:
    """The samples, two candidates' days before them, and what can't be scored."""
    shutil.copytree(SAMPLES / "runs", runs)
    for candidate, story in STORIES.items():
        source = SAMPLES / "runs" / f"inversion-{candidate}"
        for number, run in enumerate(grow(runs, DAYS, DAYS, BEFORE_SAMPLES, [source])):
            _retell(run / "trials.jsonl", number, story.get(number, {}))
    broken = runs / "inversion-broken-manifest"
    broken.mkdir()
    (broken / "run.yaml").write_text("run_id: [unclosed\n", encoding="utf-8")
    (broken / "trials.jsonl").write_text("{}\n", encoding="utf-8")
    shutil.copytree(SAMPLES / "runs" / "inversion-fast-v2", runs / "inversion-fast-v2-copy")
    return runs


def _retell(file: Path, day: int, story: Mapping[str, Mapping[str, object]]) -> None:
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for record in records:
        _retold(record, day, story.get(record["task_id"], {}))
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def _retold(record: dict[str, Any], day: int, otherwise: Mapping[str, object]) -> None:
    """One record on one day: grades and costs a little other than the day before, and what the story says."""
    swing = ((day * 7 + len(record["task_id"]) * 3 + ord(record["task_id"][-1])) % 11 - 5) / 100
    if record.get("quality"):
        record["quality"]["score"] = round(min(1.0, record["quality"]["score"] + swing), 3)
    record["cost"]["usd"] = round(record["cost"]["usd"] * (1 + swing), 4)
    if "outcome" in otherwise:
        record["outcome"]["state"] = otherwise["outcome"]
    if "effect" in otherwise:
        record["effects"][0] |= {"state": otherwise["effect"], "evidence": "read back at the destination"}
    for field, key in (("windows", "progress"), ("cost", "cost"), ("quality", "quality")):
        if field in otherwise:
            record.pop(key, None)


def _with_policy(folder: Path, changes: Mapping[str, str]) -> Path:
    """The samples' routing with another version of the inversion's policy."""
    folder.mkdir(parents=True)
    for file in SAMPLES.glob("*.yaml"):
        shutil.copy(file, folder / file.name)
    policy = folder / "inversion_policy.yaml"
    text = policy.read_text(encoding="utf-8").replace('version: "1"', 'version: "0.9"')
    for before, after in changes.items():
        text = text.replace(before, after)
    policy.write_text(text, encoding="utf-8")
    return folder


def main() -> int:
    """Make it where the command line says."""
    parser = argparse.ArgumentParser(description="Make a lake with a history.")
    parser.add_argument("folder", type=Path, help="an empty folder; made when it isn't there")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(demo_lake(given.folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
