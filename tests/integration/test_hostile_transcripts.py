"""Whatever is said in a trial, keeping it changes no decision, no fact, no table, and loses no run."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path

import pytest
from tests.inert_payloads import PAYLOADS
from tests.lakes import RECORD, files, index, settings, tables, write_run
from tests.page.hostile import chunks

from evalbench import pipeline
from evalbench.lake.facts import read_facts
from evalbench.lake.records import decode_records
from evalbench.lake.transcripts import read_transcript
from evalbench.readers.transcripts import TRANSCRIPT_VERSION
from evalbench.report import Document
from evalbench.storage import LocalStorage

TODAY = date(2026, 12, 2)
DAYS: Mapping[str, int | None] = {"off": None, "on": 30}

LONG = 10_000_000
LONG_IN = ("content", "a tool")
SAID: dict[str, list[object]] = {
    "scripts": list(chunks()),
    "markup": list(PAYLOADS),
    "half a surrogate pair": ["\ud800", "a\udfff😀\ud83d", "\udbff://\udc00", '{"\ud800": "\udfff"}', '["\ud800'],
    "control": ["\0", "a\0b", "\x1b[2J", "\r\n\x85\u2028", "\ufeff{}", "", " ", "\u202e{}"],
    "deep": ["[" * 95 + "]" * 95, "[" * 50_000, '{"a":' * 5_000, json.dumps(json.dumps(json.dumps(json.dumps([1]))))],
    "numbers": ["1e999", "-" + "9" * 5000, f"[{'9' * 5000}]", "[NaN, -Infinity, 1E+999999]", '{"a": 0.10}'],
    "keys twice": ['{"a": 1, "a": 2}', '{"name": "t", "name": ["t"], "args": {"x": 1, "x": 2}}'],
    "wrong types": [None, True, 0, -1.5, 10**300, [], {}, [[]], [None], {"a": {"b": [{}]}}, {"": ""}, [{"text": 1}]],
    "addresses": ["s3://b/\ud800", "gs://jo:pa55word@b/x", "x://" + "é" * 5000, "://", "file:///dev/zero"],
    "long": ["x" * LONG, '{"a": "' + "x" * LONG + '"}'],
}
"""What stands in each place of a conversation, by its kind; long texts in some, since each is read several times."""

AGENT, QUERY = "trap-judge-contradiction", "trap-nl2sql"
QUERY_PLACES = ("nl_prompt", "generated_sql", "generated_result", "generated_error")
UNREADABLE = ("not_json", "not_turns", "too_deep")
Place = Callable[[object], object]
RECORDED: dict[str, Place] = {
    "the whole": lambda x: x,
    "a message": lambda x: [x],
    "a role": lambda x: [{"role": x, "content": "y"}],
    "content": lambda x: [{"role": "user", "content": x}],
    "parts": lambda x: [{"role": "assistant", "content": [x, {"text": x}, {"text": "y"}]}],
    "a text": lambda x: [{"text": x}],
    "a tool": lambda x: [{"role": "tool", "name": x, "status": x, "result": x}],
    "arguments": lambda x: [{"name": "t", "args": x}, {"role": "tool", "arguments": {"x": x, str(x)[:99]: [x]}}],
    "calls": lambda x: [{"role": "assistant", "tool_calls": x}, {"tool_calls": [x, {"name": x, "args": x}]}],
    "functions": lambda x: [{"tool_calls": [{"function": x}, {"function": {"name": x, "arguments": x}}]}],
}
SPOKEN: dict[str, Place] = {
    "the whole": lambda x: x,
    "a turn": lambda x: [x],
    "a user": lambda x: [{"user": x, "agent": "{}"}],
    "output": lambda x: [{"user": "y", "agent": x}],
    "an answer": lambda x: [{"agent": json.dumps({"response": x})}],
    "calls": lambda x: [{"agent": json.dumps({"tool_calls": x})}],
    "a call": lambda x: [{"agent": json.dumps({"tool_calls": [x, {"tool_name": x}]})}],
    "a tool": lambda x: [{"agent": json.dumps({"tool_calls": [{"name": "t", "status": x, "output": x}]})}],
    "arguments": lambda x: [{"agent": json.dumps({"tool_calls": [{"name": "t", "args": x, "response": x}]})}],
}


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory, sample_runs: Path) -> Iterator[dict[str, tuple[Path, Document]]]:
    """By how long words are kept: a lake over the same hostile runs, and the report of what was decided."""
    folder = tmp_path_factory.mktemp("hostile")
    runs = folder / "runs"
    for number, (kind, said) in enumerate(SAID.items()):
        _record_run(runs, f"records-{kind}", 5 + number, _put(RECORDED, kind))
        told = [json.dumps(one) for _, one in _put(SPOKEN, kind)]
        told += [_in_utf8(one) for one in said if isinstance(one, str) and len(one) < LONG]
        _rows_anew(runs / f"agent-{kind}", sample_runs / AGENT, [{"conversation_history": one} for one in told])
        texts = [_in_utf8(one if isinstance(one, str) else json.dumps(one)) for one in said]
        _rows_anew(runs / f"query-{kind}", sample_runs / QUERY, [dict.fromkeys(QUERY_PLACES, one) for one in texts])
    made = {}
    for name, days in DAYS.items():
        lake = folder / name
        made[name] = (lake, pipeline.run(settings(runs, lake, transcript_days=days)))
    yield made
    shutil.rmtree(folder)


def _put(places: Mapping[str, Place], kind: str) -> list[tuple[str, object]]:
    """(place, conversation) of every text of a kind in every place."""
    return [(name, put(one)) for name, put in places.items() for one in SAID[kind] if kind != "long" or name in LONG_IN]


def _in_utf8(text: str) -> str:
    return text.encode(errors="replace").decode()


def _record_run(runs: Path, name: str, day: int, told: list[tuple[str, object]]) -> None:
    """A run of trial records: a good trial for each conversation."""
    directory = write_run(runs, name, day)
    tasks = [f"{place} {number}" for number, (place, _) in enumerate(told)]
    records = [RECORD | {"task_id": task, "transcript": one} for task, (_, one) in zip(tasks, told, strict=True)]
    (directory / "trials.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    plan = (directory / "run.yaml").read_text().replace("tasks: [t1]", f"tasks: {json.dumps(tasks)}")
    (directory / "run.yaml").write_text(plan)


def _rows_anew(run: Path, sample: Path, changes: list[dict[str, str]]) -> None:
    """A run of a harness like the sample, with its first row once for each change."""
    run.mkdir(parents=True)
    for file in sample.iterdir():
        (run / file.name).write_text(file.read_text(encoding="utf-8").replace(sample.name, run.name), encoding="utf-8")
    first = next(csv.DictReader(io.StringIO((run / "evals.csv").read_text(encoding="utf-8"))))
    target = io.StringIO()
    writer = csv.DictWriter(target, first.keys())
    writer.writeheader()
    name = "eval_id" if "eval_id" in first else "id"
    writer.writerows(first | change | {name: f"{number}_trial_0"} for number, change in enumerate(changes))
    (run / "evals.csv").write_text(target.getvalue(), encoding="utf-8")


def test_what_was_said_changes_no_byte(lakes: dict[str, tuple[Path, Document]]) -> None:
    """The same runs scored, the same decisions, facts, verdicts, tables and index, with transcripts and without."""
    (without, report), (lake, told) = lakes["off"], lakes["on"]
    assert 3 * len(SAID) == report["accounting"]["scored"]  # type: ignore[index]
    for part in ("decisions", "accounting", "not_scored", "runs", "changes"):
        assert report[part] == told[part], part
    kept = files(lake, only=("transcripts/",))
    assert (0, 3 * len(SAID)) == (len(files(without, only=("transcripts/",))), len(kept))
    assert tables(without) == {path: data for path, data in tables(lake).items() if path not in kept}
    assert index(without) == index(lake)


def test_whatever_was_said_is_kept(lakes: dict[str, tuple[Path, Document]]) -> None:
    """No words are missing for a reason that nobody foresaw, and every trial has messages or says why it has none."""
    folder, _ = lakes["on"]
    lake = LocalStorage(str(folder))
    spoken, silent = 0, set()
    for entry in index(folder).values():
        assert entry.standing is not None
        for trial in read_facts(lake, entry.standing.facts).trials:
            found = read_transcript(lake, entry.standing.facts, trial.task_id, trial.trial, TODAY, TRANSCRIPT_VERSION)
            assert found is not None
            spoken += bool(found.messages)
            assert found.messages or found.reason or found.elsewhere, (entry.path, trial.task_id)
            silent |= {found.reason}
    assert spoken > 500
    assert {None, "not_recorded", *(f"conversation_history_{why}" for why in UNREADABLE)} == silent


def test_no_secret_and_no_half_pair_is_stored(lakes: dict[str, tuple[Path, Document]]) -> None:
    """What is stored is UTF-8 that any reader takes, within the size of a run's transcripts and what is around them."""
    folder, _ = lakes["on"]
    for path, data in files(folder, only=("transcripts/",)).items():
        payloads = [record.payload for record in decode_records(data)]
        assert 5_000_000 > sum(map(len, payloads)), path
        assert b"pa55word" not in b"".join(payloads)
        for payload in payloads:
            payload.decode()
