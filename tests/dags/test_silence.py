"""Never green by silence: what is lost on the way turns the DAG run red and is named; the rest is published.

Causes are real where a file or folder can make them; the rest are faults injected where disk or memory would fail. What
Airflow makes of failed, skipped and removed Airflow tasks is in `test_matrix.py`.
"""

import shutil
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.dags.nights import Nights

from evalbench import pipeline
from evalbench.canonical import sha256_json
from evalbench.errors import StorageError

STABLE, FAST, OUTAGE = "inversion-stable-v1", "inversion-fast-v2", "trap-judge-outage"
JUDGED = "gemini_cli/synthetic-judge-outage"  # the candidate of the last


def run_key(name: str) -> str:
    """The key under which a run directory's facts are."""
    return sha256_json(name)[:32]


# -- discover ----------------------------------------------------------------------------------------------------


def test_a_runs_root_that_is_gone(nights: Nights) -> None:
    """discover fails and says where it looked; gate raises instead of deciding over nothing; nothing is published."""
    nights.runs.rmdir()
    night = nights.run()
    assert {
        "discover": "failed", "score": "upstream_failed", "summarize": "upstream_failed",
        "gate": "failed", "publish": "upstream_failed", "enforce": "failed",
    } == night.tasks  # fmt: skip
    assert "failed" == night.state
    assert f"PipelineError: {nights.runs}: no such runs folder" in night.error("discover")
    assert night.error("gate").startswith("PipelineError: discover did not succeed in this DAG run")
    assert None is night.report


def test_a_runs_root_that_is_suddenly_empty(nights: Nights) -> None:
    """A wrong mount beside a lake that knows runs is a fault, not a night without runs; what stood still stands."""
    nights.bring(STABLE)
    assert "success" == nights.run().state
    before = nights.files()
    shutil.rmtree(nights.runs / STABLE)
    night = nights.run()
    assert ("failed", "failed", "failed") == (night.state, night.tasks["discover"], night.tasks["gate"])
    assert "check the runs path" in night.error("discover")
    assert before == nights.files()


def test_dates_in_the_wrong_order(nights: Nights) -> None:
    """A mistake in the parameters is told at once, and is not tried again."""
    nights.bring(STABLE)
    night = nights.run(since="2026-11-30", until="2026-11-27")
    assert ("failed", "failed", 1) == (night.state, night.tasks["discover"], night.tries["discover"])
    assert "UsageError: since 2026-11-30 is after until 2026-11-27" in night.error("discover")


def test_a_parameter_of_the_wrong_kind(nights: Nights) -> None:
    """Airflow itself refuses to make the DAG run, naming the parameter; nothing is read or written."""
    from airflow.sdk.exceptions import ParamValidationError

    nights.bring(STABLE)
    with pytest.raises(ParamValidationError, match="since: 'yesterday' is not a 'date'"):
        nights.run(since="yesterday")
    assert not nights.lake.exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lake": ""}, "EVALBENCH_LAKE"),
        ({"runs": ""}, "EVALBENCH_RUNS"),
        ({"timezone": "Mars/Olympus"}, "EVALBENCH_TIMEZONE"),
        ({"lake": "s3://bucket/lake"}, "s3: is not supported"),
    ],
)
def test_an_installation_that_is_not_set_up(nights: Nights, settings: dict[str, str], words: str) -> None:
    """The first Airflow task names the variable; the gate raises too."""
    nights.set(**settings)
    night = nights.run()
    assert ("failed", "failed", "failed") == (night.state, night.tasks["discover"], night.tasks["gate"])
    assert words in night.error("discover")
    assert 1 == night.tries["discover"]


# -- score -------------------------------------------------------------------------------------------------------


def test_a_lost_run_directory_is_a_fault_of_the_pipeline_after_the_others_are_published(nights: Nights) -> None:
    """One instance fails for good: its directory is `task_lost`, its subject lacks evidence, the others are decided and
    published, and enforce says that the pipeline failed, although a release would have been held as well."""
    nights.bring(STABLE, FAST, OUTAGE)
    blocked = nights.lake / "facts" / run_key(OUTAGE)
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder must be")
    night = nights.run()
    assert {
        f"score[{STABLE}]": "success", f"score[{FAST}]": "success", f"score[{OUTAGE}]": "failed",
        f"summarize[{STABLE}]": "success", f"summarize[{FAST}]": "success", "summarize[2]": "upstream_failed",
        "discover": "success", "gate": "success", "publish": "success", "enforce": "failed",
    } == night.tasks  # fmt: skip
    assert "failed" == night.state
    assert "StorageError" in night.error(f"score[{OUTAGE}]")
    assert 4 == night.tries[f"score[{OUTAGE}]"]
    assert ({"task_lost": 1}, 2) == (night.accounting["quarantined"], night.accounting["scored"])
    assert {"stable-v1": "PASS", "fast-v2": "FAIL", JUDGED: "INSUFFICIENT_EVIDENCE"} == night.decisions
    assert "PipelineError: 1 planned run directories left no result (task_lost)" in night.error("enforce")
    (states,) = nights.lake.glob("trends/run_states/*/*.parquet")
    rows = {row["path"]: row for row in pq.read_table(states, partitioning=None).to_pylist()}
    assert ("quarantined", "task_lost") == (rows[OUTAGE]["state"], rows[OUTAGE]["reason"])


def test_a_lost_run_directory_is_red_even_where_holds_are_not(nights: Nights) -> None:
    """fail_on_hold speaks of decisions; a loss is red in a backfill and under `never`, too."""
    nights.bring(STABLE)
    blocked = nights.lake / "facts" / run_key(STABLE)
    blocked.parent.mkdir(parents=True)
    blocked.write_text("")
    night = nights.run(run_type="backfill", at=datetime(2026, 11, 29, 2, tzinfo=UTC), fail_on_hold="never")
    assert ("failed", {"stable-v1": "INSUFFICIENT_EVIDENCE"}) == (night.state, night.decisions)
    assert "task_lost" in night.error("enforce")


def test_the_night_after_a_loss_takes_the_directory_up(nights: Nights) -> None:
    """Nothing needs cleaning up by hand: the directory is still new, everything else unchanged."""
    nights.bring(STABLE, OUTAGE)
    blocked = nights.lake / "facts" / run_key(STABLE)
    blocked.parent.mkdir(parents=True)
    blocked.write_text("")
    nights.run()
    blocked.unlink()
    night = nights.run(candidates=["stable-v1"])
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    assert (1, 1, {}) == (
        night.accounting["scored"],
        night.accounting["unchanged"],
        night.accounting["quarantined"],
    )


def test_a_disk_that_fails_once_costs_a_try(nights: Nights) -> None:
    """What may mend itself is tried again, and the night is as green as without it."""
    nights.bring(STABLE)
    with nights.breaking("score_batch", StorageError("Input/output error"), times=1):
        night = nights.run()
    assert ("success", 2, {"stable-v1": "PASS"}) == (night.state, night.tries[f"score[{STABLE}]"], night.decisions)
    assert [f"score[{STABLE}]"] == [name for name, _ in night.errors]


def test_an_unreadable_directory_is_a_row_and_no_lost_task(nights: Nights) -> None:
    """An item's failure is data: its instance succeeds, it is quarantined by its reason, and nothing is red for it."""
    nights.bring(STABLE)
    broken = nights.runs / "broken"
    broken.mkdir()
    (broken / "trials.jsonl").write_text("not a record\n")
    night = nights.run()
    assert "success" == night.state
    assert {"unreadable": 1} == night.accounting["quarantined"]


# -- summarize ---------------------------------------------------------------------------------------------------


def test_a_summary_that_fails_blocks_nothing(nights: Nights) -> None:
    """Advisory: gate, publish and enforce run, and the decision is the one it would have been."""
    nights.bring(STABLE)
    with nights.breaking("summarize_batch", RuntimeError("no words")):
        night = nights.run()
    assert "failed" == night.tasks[f"summarize[{STABLE}]"]
    assert ("success", "success", "success") == tuple(night.tasks[name] for name in ("gate", "publish", "enforce"))
    assert {"stable-v1": "PASS"} == night.decisions


def test_a_damaged_summary_is_a_state_in_a_row(nights: Nights) -> None:
    """A text nobody can read any more stops no night and no table: its row says so."""
    nights.bring(STABLE)
    nights.run()
    (stored,) = (nights.lake / "summaries").glob("*/*.json")
    stored.write_text("{")
    night = nights.run(since="2026-11-28")
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    table = nights.lake / "trends" / "summaries" / "run_date=2026-11-28" / "part-0.parquet"
    assert [("unavailable", "summary_unreadable", None)] == [
        (row["state"], row["reason"], row["text"]) for row in pq.read_table(table, partitioning=None).to_pylist()
    ]


# -- gate and publish --------------------------------------------------------------------------------------------


def test_a_gate_that_fails_stops_publishing(nights: Nights) -> None:
    """A policy that can't be used: no decision, no table, and enforce has nothing to pass."""
    nights.bring(STABLE)
    policy = nights.lake.with_name("broken.yaml")
    policy.write_text("schema: 1\nname: x\nversion: '1'\nfloors: {verified_yeild: {min: 0.5}}\n")
    night = nights.run(policy=str(policy))
    assert {"gate": "failed", "publish": "upstream_failed", "enforce": "failed"}.items() <= night.tasks.items()
    assert "failed" == night.state
    assert "floors.verified_yeild" in night.error("gate")
    assert 1 == night.tries["gate"]
    assert not (nights.lake / "trends").exists()


def test_a_candidate_nobody_ran_is_no_release_without_objections(nights: Nights) -> None:
    """A misspelt name turns the DAG run red before anything is published."""
    nights.bring(STABLE)
    night = nights.run(candidates=["stable-v9"])
    assert ("failed", "failed", "upstream_failed") == (night.state, night.tasks["gate"], night.tasks["publish"])
    assert "candidate stable-v9 has no run in scope" in night.error("gate")


def test_a_plan_that_vanished_stops_the_gate(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    """What should have arrived is known from the stored plan alone; without it nothing is decided."""
    nights.bring(STABLE)
    summarize = pipeline.summarize

    def summarize_and_lose(*given: Any) -> Any:
        done = summarize(*given)
        for plan in (nights.lake / "_ops" / "plans").iterdir():
            plan.unlink()
        return done

    monkeypatch.setattr(pipeline, "summarize", summarize_and_lose)
    night = nights.run()
    assert ("failed", "failed", None) == (night.state, night.tasks["gate"], night.report)
    assert "no such plan; start again from discover" in night.error("gate")


def test_a_publish_that_fails_leaves_enforce_nothing_to_pass(nights: Nights) -> None:
    """A table that can't be written: tried again, red, and `enforce` says that publish is what failed."""
    nights.bring(STABLE)
    nights.lake.mkdir()
    (nights.lake / "trends").write_text("a file where a folder must be")
    night = nights.run()
    assert ("failed", "failed", 4) == (night.state, night.tasks["publish"], night.tries["publish"])
    assert "StorageError" in night.error("publish")
    assert "publish did not succeed" in night.error("enforce")
