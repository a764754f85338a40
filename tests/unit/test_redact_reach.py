"""Secrets beside their name, planted wherever a run directory holds JSON: they reach no file, no output and no page."""

import csv
import html
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote_plus

import pyarrow.parquet as pq
import pytest
import yaml
from fastapi.testclient import TestClient
from tests.lakes import AFTER, RECORD, ask, files
from tests.page.serving import app_over, until_read

from evalbench.cli import main

SECRET = "kestrel-9-kestrel-9"
SHAPES: tuple[object, ...] = (
    {"name": "DB_PASSWORD", "value": SECRET},
    [{"values": [SECRET], "Key": "api key"}],
    {"headers": [["Authorization", SECRET], ["Accept", "json"]]},
    ["run", "--api-key", SECRET, "--fast"],
    {"db": {"host": "h", "pass": SECRET}},
    {"body": json.dumps({"option": "--token", "default": SECRET})},
    json.dumps(json.dumps({"id": "smtp_pass", "value": SECRET})),
    json.dumps(["--client-secret", SECRET], indent=2),
)
LINK = re.compile(r'(?:href|src)="(/[^"]*)"')


def as_text(shape: object) -> str:
    """The same where only text can stand."""
    return shape if isinstance(shape, str) else json.dumps(shape)


def records() -> list[object]:
    """A trial per shape, which stands in every field that takes JSON or prose."""
    return [
        RECORD | {
            "task_id": f"t{number}",
            "outcome": {"state": "failed", "predicate": as_text(shape), "evidence": shape, "reason": as_text(shape),
                        "verifier": {"kind": "deterministic", "name": "probe"}},
            "quality": {"score": 0.9, "grader": {"kind": "model", "name": "g"}, "reason": as_text(shape)},
            "effects": [{"id": f"e{part}", "tool": "shop__order", "destination": as_text(shape), "idempotency_key": "k",
                         "state": "failed", "reason": as_text(shape), "evidence": evidence}
                        for part, evidence in enumerate((shape, as_text(shape)))],
            "tools": {"called": [{"name": "shop__order", "args": shape}, {"name": "shop__order", "args": [[shape], 1]}],
                      "expected": [{"name": "shop__order", "args": {"a": shape}}]},
            "transcript": [{"role": "user", "content": shape}, {"role": "tool", "name": "x", "args": shape}],
        }
        for number, shape in enumerate(SHAPES)
    ]  # fmt: skip


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A CSV file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_records(run: Path) -> None:
    """A run of trial evidence records."""
    run.mkdir(parents=True)
    labels = {"name": "DB_PASSWORD", "value": SECRET, "more": as_text(SHAPES[0])}
    manifest = {"run_id": "records", "candidate": "c", "product": "shop", "dataset": "d", "labels": labels,
                "run_time": "2026-11-28 09:00:00", "planned": {"tasks": ["t0"], "trials": 1}}  # fmt: skip
    (run / "run.yaml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
    (run / "trials.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records()), encoding="utf-8")


def write_harness(run: Path, name: str, evals: Sequence[Mapping[str, str]]) -> None:
    """A result directory of EvalBench, with a row of scores for each shape."""
    run.mkdir(parents=True)
    told = {"job_id": name, "run_time": "2026-11-28 10:00:00"}
    settings = {"experiment_config.product_name": "shop", "model_config.generator": "g", "experiment_config.eval_group":
                as_text(SHAPES[0])}  # fmt: skip
    scores = [
        {"comparator": "goal_completion", "id": evals[0].get("eval_id") or evals[0]["id"], "score": as_text(shape),
         "comparison_logs": as_text(shape), "comparison_error": as_text(shape)}
        for shape in SHAPES
    ]  # fmt: skip
    (run / "configs.csv").write_text(table([told | {"config": key, "value": text} for key, text in settings.items()]))
    (run / "evals.csv").write_text(table(evals))
    (run / "scores.csv").write_text(table(scores))
    (run / "summary.csv").write_text(table([{"metric_name": as_text(SHAPES[0]), "metric_score": "1"}]))


def agent_rows() -> list[dict[str, str]]:
    """A conversation and an expectation per shape."""
    rows = []
    for number, shape in enumerate(SHAPES):
        calls = [{"name": "shop__order", "args": args, "response": args} for args in (shape, as_text(shape), [shape])]
        turns = [{"user": as_text(shape), "agent": json.dumps({"tool_calls": calls, "response": as_text(shape)})}]
        expected = [{"name": "shop__order", "args": shape}, {"name": "shop__order", "args": {"deep": [shape, 1, 2]}}]
        scenario = repr({"id": f"a{number}", "expected_trajectory": expected})
        crash = {"returncode": str(number % 2), "stderr": as_text(shape) if number % 2 else ""}
        rows.append({"eval_id": f"a{number}", "conversation_history": json.dumps(turns), "scenario": scenario, **crash})
    return rows


def sql_rows() -> list[dict[str, str]]:
    """A query and its answer per shape."""
    return [
        {"id": f"{number}_trial_0", "nl_prompt": as_text(shape), "generated_sql": as_text(shape),
         "generated_result": as_text(shape), "generated_error": as_text(shape), "golden_error": as_text(shape)}
        for number, shape in enumerate(SHAPES)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs root with one directory of each kind."""
    folder = tmp_path_factory.mktemp("planted") / "runs"
    write_records(folder / "records")
    write_harness(folder / "agent", "agent", agent_rows())
    write_harness(folder / "sql", "sql", sql_rows())
    return folder


@pytest.fixture(scope="module")
def said(runs: Path) -> list[str]:
    """What each command prints, from the first run to the report, about all of it; the lake lies beside the runs."""
    lake, each = runs.parent / "lake", sorted(runs.iterdir())
    commands = (
        ("run", runs, "--lake", lake),
        ("run", runs, "--lake", lake, "--json"),
        ("gate", "--lake", lake, "--json"),
        *(("score", run, *form) for run in each for form in ((), ("--json",))),
        *(("query", "--lake", lake, f"SELECT * FROM {name}") for name in ("calls", "effects", "trials", "verdicts")),
        ("report", "--lake", lake, "-o", "-", "--format", "md"),
        ("report", "--lake", lake, "-o", runs.parent / "report.html"),
        *(("doctor", run, "--json") for run in each),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBENCH_CLOCK", AFTER)
        patch.setenv("EVALBENCH_TRANSCRIPT_DAYS", "30")
        return [printed(patch, command) for command in commands]


def printed(patch: pytest.MonkeyPatch, command: Sequence[object]) -> str:
    """stdout and stderr of a command that does its work."""
    out = io.StringIO()
    patch.setattr("sys.stdout", out)
    patch.setattr("sys.stderr", out)
    assert main([str(argument) for argument in command]) in (0, 3, 4), (command, out.getvalue())
    return out.getvalue()


def test_no_secret_beside_its_name_is_in_the_lake(runs: Path, said: list[str]) -> None:
    """Neither in a file's bytes nor in any column of its rows; the calls are there, without it."""
    lake = runs.parent / "lake"
    assert {"facts", "verdicts", "trends", "transcripts", "index"} <= {name.split("/")[0] for name in files(lake)}
    for name, data in files(lake).items():
        assert SECRET.encode() not in data, name
        if name.endswith(".parquet"):
            assert SECRET not in str(pq.read_table(lake / name, partitioning=None).to_pylist()), name
    calls = ask(
        lake, "SELECT run_id, COUNT(*) AS n FROM calls WHERE args LIKE '%[redacted]%' GROUP BY ALL ORDER BY ALL"
    )
    assert [{"run_id": "agent", "n": 3 * len(SHAPES)}, {"run_id": "records", "n": 2 * len(SHAPES)}] == calls


def test_no_secret_beside_its_name_is_printed(runs: Path, said: list[str]) -> None:
    """Nor in the report file."""
    report = (runs.parent / "report.html").read_text(encoding="utf-8")
    assert [] == [text for text in (*said, report) if SECRET in text]
    assert "[redacted]" in "".join(said)


def test_the_doctor_knows_where_they_stand(said: list[str]) -> None:
    """A line or a cell that holds one is a place of a secret, as one that holds `api_key=…` is."""
    agent, records, sql = (
        {finding["subject"] for finding in json.loads(text)["findings"] if finding["kind"] == "secrets"}
        for text in said[-3:]
    )
    assert {"configs.csv", "evals.csv", "scores.csv", "summary.csv"} == agent == sql
    assert {"trials.jsonl"} == records


def test_no_page_shows_a_secret_beside_its_name(runs: Path, said: list[str]) -> None:
    """Whatever can be reached from the board, downloads included; trials show their calls and words without it."""
    with TestClient(app_over(runs.parent / "lake", datetime(2026, 12, 2, 6, tzinfo=UTC))) as asking:
        until_read("/", asking.get)
        seen = dict(reached(asking))
    assert len(seen) > 3 * len(SHAPES)
    for address, text in seen.items():
        assert SECRET not in html.unescape(text), address
        assert SECRET not in unquote_plus(address)
    trials = [text for address, text in seen.items() if address.startswith("/trial?")]
    assert len(trials) >= 3 * len(SHAPES)
    assert [] == [text for text in trials if "[redacted]" not in text]


def reached(asking: TestClient) -> Iterator[tuple[str, str]]:
    """Every address that pages lead to, and what is there."""
    known = {"/", "/quality", "/contradictions"}
    waiting = sorted(known)
    while waiting:
        address = waiting.pop()
        text = asking.get(address).text
        yield address, text
        found = {html.unescape(link) for link in LINK.findall(text)} - known
        known |= found
        waiting += sorted(found)
