"""Small run directories, and what lakes made from them must have in common."""

import hashlib
import json
import shutil
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from evalbench.lake.commits import read_commit, read_commits, write_commit
from evalbench.lake.index import Index, read_index
from evalbench.settings import Settings, load_settings
from evalbench.sinks.duckdb import query
from evalbench.storage import TEMPORARY, LocalStorage

AFTER = "2026-12-02T06:00:00Z"
UNPROMISED = ("_ops/", "trends/run_states/", "trends/accounting/")
A_LAKES_OWN = ("index/", "commits/")
"""Their files tell how often something was written; what they say is compared apart."""

RECORD = {
    "task_id": "t1", "trial": 0, "status": "completed", "declared_complete": True,
    "outcome": {
        "state": "verified", "predicate": "order exists", "evidence": "row 1",
        "verifier": {"kind": "deterministic", "name": "probe"},
    },
    "effects": [{
        "id": "e1", "tool": "shop__order", "destination": "db", "idempotency_key": "k", "state": "verified",
        "evidence": "row 1",
    }],
    "tools": {"called": [{"name": "shop__order", "status": "success"}]},
    "cost": {"usd": 0.1, "state": "billed"},
}  # fmt: skip


def settings(runs: Path, lake: Path, **fields: object) -> Settings:
    """Settings over these folders, with a clock past every date."""
    given = {"runs": runs, "lake": lake, "grace_hours": 0, "clock": AFTER} | fields
    return load_settings({}, {name: str(value) if isinstance(value, Path) else value for name, value in given.items()})


def write_run(runs: Path, name: str, day: int, candidate: str = "agent-1", run_id: str | None = None) -> Path:
    """A run of one good trial on a day of November 2026; whole from the moment it is there."""
    unfinished = runs.parent / f"{runs.name}-{name}"
    unfinished.mkdir(parents=True)
    (unfinished / "run.yaml").write_text(
        f'run_id: "{run_id or name}"\ncandidate: "{candidate}"\nproduct: shop\ndataset: orders\n'
        f'run_time: "2026-11-{day:02} 09:00:00"\nplanned: {{tasks: [t1], trials: 1}}\n'
    )
    (unfinished / "trials.jsonl").write_text(json.dumps(RECORD) + "\n")
    runs.mkdir(exist_ok=True)
    shutil.rmtree(runs / name, ignore_errors=True)
    return unfinished.rename(runs / name)


def say_publishing(lake: Path, day: date, *, writing: bool = True) -> None:
    """What a publisher says of a date before it replaces the partitions, and afterwards."""
    place = LocalStorage(str(lake))
    record = read_commit(place, day)
    assert record is not None
    write_commit(place, replace(record, seq=record.seq + 1, writing=writing))


def files(lake: Path, only: tuple[str, ...] = ("",), but: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Files of a lake by path, as far as they are finished."""
    found = {path.relative_to(lake).as_posix(): path for path in sorted(lake.rglob("*")) if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if name.startswith(only) and not name.startswith(but) and not path.name.startswith(TEMPORARY)
    }


def tables(lake: Path) -> dict[str, bytes]:
    """Every file whose bytes are promised."""
    return files(lake, but=(*UNPROMISED, *A_LAKES_OWN))


def index(lake: Path) -> Index:
    """What a lake knows of run directories, whoever looked."""
    return {key: replace(entry, plan_id="") for key, entry in read_index(LocalStorage(str(lake))).items()}


def unsettled(lake: Path) -> list[str]:
    """What commit records say that isn't so, and what none of them says; empty when every date is finished."""
    found, vouched = [], set()
    for day, commit in read_commits(LocalStorage(str(lake))).items():
        if commit.writing:
            found.append(f"{day} is being written")
        for path, stored in commit.objects.items():
            data = (lake / path).read_bytes() if (lake / path).is_file() else b""
            if (stored.size, stored.sha256) != (len(data), hashlib.sha256(data).hexdigest()):
                found.append(f"{path} is not what was committed")
            vouched.add(path)
    there = files(lake, only=("trends/",), but=(*UNPROMISED, "trends/decision_log/"))
    return [*found, *(f"{path} was never committed" for path in sorted(there.keys() - vouched))]


def untold(lake: Path) -> list[str]:
    """What is unsettled though no commit record says that its date is being written."""
    found = unsettled(lake)
    writing = {text.split()[0] for text in found if text.endswith("is being written")}
    return [text for text in found if not any(day in text for day in writing)]


def ask(lake: Path, sql: str) -> list[dict[str, object]]:
    """The rows of a query."""
    rows: list[dict[str, object]] = query(
        LocalStorage(str(lake)), sql, partial(read_commits, LocalStorage(str(lake)))
    ).to_pylist()
    return rows
