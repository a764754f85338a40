"""Every table's rows over the shipped samples, as text. UPDATE_GOLDEN=1 writes the files anew; read the difference."""

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.published import VERSIONS, ask, decided_on, mismatches, publish, rows_of, sample, sample_policy

from evalbench.routing import parse_routing
from evalbench.tables import TABLES, Table
from evalbench.trends import EntryState, Row, decision_log_rows, operational_rows

INVERSION = ("inversion-fast-v2", "inversion-stable-v1")
REPLAYED = (
    "49e5b728-f934-4e6b-9ced-70b5db228928",
    "4feb5ba7-eb25-4a14-9a87-1e906bfb667c",
    "5267e834-a74b-4172-90d4-4de66990f29a",
    "63258d1c-1a4e-45c0-ba68-94fc5a0f6004",
)
DAY = date(2026, 11, 28)
NIGHT = datetime(2026, 11, 29, 2, tzinfo=UTC)


def golden(name: str, text: str) -> str:
    """The kept text of this name, after writing `text` there when asked to."""
    path = Path(__file__).parent / "tables" / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def rendered(table: Table, rows: Sequence[Row]) -> str:
    """What every row shares, then one block per row: what identifies it, and its other columns; nulls left out."""
    shared = [name for name in table.column_names if len({str(row[name]) for row in rows}) == 1]
    own = [name for name in table.column_names if name not in (*shared, *table.sort_key)]
    blocks = [_block("every row", rows[0], shared)] if rows else []
    blocks += [_block(" ".join(f"{name}={row[name]}" for name in table.sort_key), row, own) for row in rows]
    return "\n".join(blocks)


def _block(title: str, row: Row, names: Sequence[str]) -> str:
    return "\n".join([f"[{title}]", *(f"{name} = {_text(row[name])}" for name in names if row[name] is not None), ""])


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float | Decimal | date) else repr(value)


@pytest.fixture(scope="module")
def inversion(root: Path) -> dict[str, list[Row]]:
    """Rows of the release inversion under its own policy."""
    samples = root / "include" / "samples"
    routing = parse_routing((samples / "routing.yaml").read_text(encoding="utf-8"), "routing.yaml")
    runs = [sample(samples / "runs" / name) for name in INVERSION]
    policies = [sample_policy(samples / "inversion_policy.yaml")]
    rows = rows_of(DAY, runs, policies, routing)
    rows["decision_log"] = decision_log_rows(DAY, NIGHT, decided_on(DAY, runs, policies, routing), routing, VERSIONS)
    entries = [EntryState(path=item.run.path, state="scored", run_id=item.run.run_id, run=item.run) for item in runs]
    entries.append(EntryState(path="notes", state="ignored", reason="no_run_files"))
    counts = {("listed", None): 3, ("scored", None): 2, ("ignored", "no_run_files"): 1}
    return rows | operational_rows(DAY, "plan-1", entries, counts, routing, VERSIONS)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_rows_over_the_release_inversion(table: Table, inversion: dict[str, list[Row]]) -> None:
    """Rows are what they were."""
    text = rendered(table, inversion[table.name])
    assert golden(f"{table.name}.txt", text) == text


@pytest.fixture(scope="module")
def lake(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release inversion and the replayed runs, published under every shipped policy that concerns them."""
    samples = root / "include" / "samples"
    routing = parse_routing((samples / "routing.yaml").read_text(encoding="utf-8"), "routing.yaml")
    paths = [samples / "inversion_policy.yaml", samples / "tau_bench_policy.yaml"]
    paths += [root / "include" / "policies" / name for name in ("consequential.yaml", "read_only.yaml")]
    target = tmp_path_factory.mktemp("lake")
    runs = [sample(samples / "runs" / name) for name in (*INVERSION, *REPLAYED)]
    publish(target, runs, [sample_policy(path) for path in paths], routing)
    return target


def test_sql_reproduces_the_samples_signals(lake: Path) -> None:
    """Three subjects under four policies: sixty signals, none of them different."""
    assert ([], [{"n": 60}]) == (mismatches(lake), ask(lake, "SELECT COUNT(*) AS n FROM recompute_signals"))


def test_the_board_shows_the_release_inversion(lake: Path) -> None:
    """Better quality, worse evidence: PASS for the stable candidate, FAIL for the fast one."""
    rows = ask(
        lake,
        "SELECT candidate, decision, decided_by, ROUND(task_quality, 3) AS quality, useful_progress, effect_integrity,"
        " ROUND(usd_per_verified_outcome, 2) AS usd, false_successes, declared_completions FROM release_board"
        " WHERE policy_name = 'release_inversion' AND product = 'release-inversion' ORDER BY candidate",
    )
    assert [
        ("fast-v2", "FAIL", "false_success", 0.902, 0.9375, 0.8, 0.63, 1, 5),
        ("stable-v1", "PASS", None, 0.818, 1.0, 1.0, 0.52, 0, 4),
    ] == [tuple(row.values()) for row in rows]


def test_the_replayed_runs_verify_84_of_200(lake: Path) -> None:
    """Under the policy that attests the database check, and none under the default, where a judge proves nothing."""
    rows = ask(
        lake,
        "SELECT policy_name, verified, judged FROM decisions WHERE product = 'tau-bench-airline'"
        " AND policy_name IN ('tau_bench_airline', 'consequential') ORDER BY 1",
    )
    assert [("consequential", 0, 0), ("tau_bench_airline", 84, 195)] == [tuple(row.values()) for row in rows]


def test_worst_tasks_of_the_replayed_runs_have_four_trials(lake: Path) -> None:
    """Fifty tasks, ranked without ties."""
    rows = ask(
        lake,
        "SELECT COUNT(*) AS tasks, MIN(trials) AS fewest, MAX(trials) AS most, SUM(verified) AS verified,"
        " COUNT(DISTINCT task_rank) AS ranks FROM worst_tasks WHERE policy_name = 'tau_bench_airline'"
        " AND product = 'tau-bench-airline'",
    )
    assert [(50, 4, 4, 84, 50)] == [tuple(row.values()) for row in rows]


def test_judge_failures_of_the_replayed_runs(lake: Path) -> None:
    """Five of two hundred trials have no database verdict."""
    rows = ask(
        lake,
        "SELECT SUM(without_verdict) AS n, MAX(judged) AS judged, MAX(asked) AS asked FROM judge_failures"
        " WHERE name = 'goal_completion'",
    )
    assert [(5, 195, 200)] == [tuple(row.values()) for row in rows]
