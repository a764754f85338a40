"""Two hundred texts that would run a script wherever they aren't escaped, and a lake whose runs are full of them."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from evalbench import pipeline
from evalbench.settings import Settings

CLOCK = datetime(2026, 12, 1, 6, tzinfo=UTC)
RAN = "window.ran=1"
"""What every payload would do; a page on which it was done has `window.ran`."""
VECTORS = (
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<body onload={}>",
    "<iframe srcdoc='<script>parent.{}</script>'></iframe>",
    "<iframe src=javascript:{}></iframe>",
    "<a href=javascript:{}>x</a>",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<video><source onerror={}></video>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror={}>",
    "<style>@import 'javascript:{}';</style>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<base href='javascript:{}//'>",
    "<object data='javascript:{}'></object>",
    "<form action=javascript:{}><button>x</button></form>",
    " onmouseover={} x=",
    " autofocus onfocus={} x=",
    "{{{{ cycler.__init__.__globals__ }}}}<b onclick={}>",
    "{{% raw %}}<img src=x onerror={}>{{% endraw %}}",
    "\u202e<script>{}</script>",
    "\x00<scr\x00ipt>{}</script>",
    "\uff1cscript\uff1e{}\uff1c/script\uff1e<script >{}</script >",
    "&lt;script&gt;{}&lt;/script&gt;&#60;img src=x onerror={}&#62;",
)
BREAKOUTS = ("", "\"'>", "'\"`>", "-->", "</title></textarea>", "</style></script>", "]]>", "</svg></math></table>")
"""What would end the place a payload stands in."""
CHUNK = 20


def payloads() -> list[str]:
    """All of them."""
    return [breakout + vector.format(*[RAN] * vector.count("{}")) for vector, breakout in product(VECTORS, BREAKOUTS)]


def chunks() -> list[str]:
    """The same in ten texts of twenty."""
    every = payloads()
    return [" ".join(every[start : start + CHUNK]) for start in range(0, len(every), CHUNK)]


def hostile_lake(folder: Path, sample_runs: Path) -> Path:
    """A lake made from hostile runs only: each text stands in every field of one run, and of its trials."""
    runs = folder / "runs"
    for number, text in enumerate(chunks()):
        _write_run(runs / f"{number}-{_name(text)}", number, text)
    _write_harness_run(runs / "harness", sample_runs / "trap-judge-contradiction")
    first = next(path for path in sorted(runs.iterdir()) if path.name.startswith("0-"))
    shutil.copytree(first, runs / f"copy-{_name(chunks()[1])}")
    excluded = {"run": _run_id(3, chunks()[3]), "reason": chunks()[4], "owner": chunks()[5], "date": "2026-11-29"}
    exclusions = folder / "exclude.yaml"
    exclusions.write_text(yaml.safe_dump({"schema": 1, "exclude": [excluded]}), encoding="utf-8")
    settings = Settings(
        runs=str(runs),
        lake=str(folder / "lake"),
        exclude=str(exclusions),
        grace_hours=0,
        clock=CLOCK,
        transcript_days=90,
    )
    pipeline.run(settings)
    return folder / "lake"


def _write_run(run: Path, number: int, text: str) -> None:
    """A run of trial records that calls itself, and everything in it, by the text."""
    run.mkdir(parents=True)
    named = dict.fromkeys(
        ("candidate", "product", "dataset", "dataset_version", "requester", "model", "workflow"), text
    )
    tasks = [f"{task} {text}" for task in ("failed", "waiting", "unknown")]
    manifest: dict[str, Any] = {
        **named,
        "run_id": _run_id(number, text),
        "run_time": str(datetime(2026, 11, 28, 10, tzinfo=UTC) + timedelta(minutes=number)),
        "environment": "offline",
        "planned": {"tasks": [*tasks, f"planned {text}"], "trials": 1},
        "labels": {text: text},
    }
    (run / "run.yaml").write_text(yaml.safe_dump(manifest, allow_unicode=True), encoding="utf-8")
    records = [_record(task, text) for task in tasks]
    records[1] |= {
        "status": "waiting", "declared_complete": False, "outcome": None,
        "wait": {"owner": text, "decision": text, "due": "2026-12-05T00:00:00Z", "resume_state": text},
    }  # fmt: skip
    records[2]["outcome"] |= {"state": "unavailable"}
    records[2]["effects"][0] |= {"state": "unknown"}
    lines = [json.dumps({name: value for name, value in record.items() if value is not None}) for record in records]
    (run / "trials.jsonl").write_text(
        "\n".join([*lines, json.dumps({"task_id": text, "trial": text})]), encoding="utf-8"
    )


def _record(task: str, text: str) -> dict[str, Any]:
    call = {"name": text, "args": {text: text}}
    said = [
        {"role": "user", "content": text},
        {"role": text, "content": text},
        {"role": "tool", "name": text, "content": text},
    ]
    return {
        "task_id": task, "trial": 0, "status": "completed", "status_reason": text, "declared_complete": True,
        "outcome": {
            "state": "failed", "predicate": text, "evidence": text, "reason": text,
            "verifier": {"kind": "deterministic", "name": text, "version": text},
        },
        "quality": {"score": 0.95, "grader": {"kind": "model", "name": text, "version": text, "model": text}},
        "effects": [{
            "id": text, "tool": text, "destination": text, "idempotency_key": text, "state": "verified",
            "evidence": text, "reason": text,
        }],
        "tools": {
            "expected": [call, {"name": f"never {text}"}], "forbidden": [text],
            "called": [call | {"status": "success"}, {"name": f"more {text}", "status": text}],
        },
        "cost": {"usd": 0.1, "state": "billed"}, "transcript": said,
    }  # fmt: skip


def _write_harness_run(run: Path, sample: Path) -> None:
    """A run as EvalBench leaves it, with the texts where the harness, its judges and its settings write freely."""
    shutil.copytree(sample, run)
    texts = chunks()

    def judged(number: int, row: dict[str, str]) -> None:
        row["comparison_logs"] = texts[number % len(texts)]
        row["comparison_error"] = texts[number % len(texts)] if number % 5 == 0 else ""
        row["comparator"] = texts[number % len(texts)] if number % 3 == 0 else row["comparator"]

    def claimed(number: int, row: dict[str, str]) -> None:
        row["metric_name"] = texts[number] if number else row["metric_name"]

    def configured(_: int, row: dict[str, str]) -> None:
        named = {"experiment_config.product_name": texts[0], "model_config.agent_version": texts[1]}
        row["value"] = named.get(row["config"], row["value"])

    _rewrite(run / "scores.csv", judged)
    _rewrite(run / "summary.csv", claimed)
    _rewrite(run / "configs.csv", configured)


def _rewrite(file: Path, change: Callable[[int, dict[str, str]], None]) -> None:
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    for number, row in enumerate(rows):
        change(number, row)
    target = io.StringIO()
    writer = csv.DictWriter(target, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    file.write_text(target.getvalue().replace("\0", ""), encoding="utf-8")


def _run_id(number: int, text: str) -> str:
    return f"run {number} {text}"


def _name(text: str) -> str:
    """As much of a text as a directory can be called."""
    return "".join(letter for letter in text[:90] if letter not in "/\0")
