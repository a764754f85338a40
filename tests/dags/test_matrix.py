"""The matrix: whatever becomes of what is before them, gate, publish and enforce are never green by silence.

Rows are what can happen to Airflow tasks (failed, skipped, removed, none at all, too many, cleared); Airflow's own
state machine decides what runs then. "Skipped" and "marked" are what an operator's button does to an instance.
"""

import shutil

import pytest
from tests.dags.nights import Night, Nights

from evalbench.errors import GateHeldError, PipelineError

STABLE, FAST, OUTAGE = "inversion-stable-v1", "inversion-fast-v2", "trap-judge-outage"
JUDGED = "gemini_cli/synthetic-judge-outage"  # the candidate of the last
VERBS = ("discover", "gate", "publish", "enforce")


def verbs(night: Night) -> dict[str, str]:
    """The states of the Airflow tasks that are not mapped."""
    return {name: night.tasks[name] for name in VERBS}


def skip() -> BaseException:
    """What sets an Airflow task instance to skipped."""
    from airflow.sdk.exceptions import AirflowSkipException

    return AirflowSkipException("somebody skipped it")


def root_cause(night: Night) -> str:
    """What enforce says is wrong: a fault, not a decision."""
    assert PipelineError is type(night.errors[-1][1])
    return night.error("enforce")


# -- failed ------------------------------------------------------------------------------------------------------


def test_discover_failed(nights: Nights) -> None:
    """Nothing is decided or published, each reducer says so, and enforce names where to start."""
    nights.bring(STABLE)
    with nights.breaking("discover", PipelineError("no such runs folder")):
        night = nights.run()
    assert {
        "discover": "failed", "gate": "failed", "publish": "upstream_failed", "enforce": "failed",
    } == verbs(night)  # fmt: skip
    assert ("failed", None, ()) == (night.state, night.report, night.events)
    assert "discover did not succeed in this DAG run (it is failed)" in night.error("gate")
    assert "discover did not succeed" in root_cause(night)


@pytest.mark.parametrize("cleared", ["gate", "publish", "enforce"])
def test_a_reducer_cleared_alone_behind_a_discover_that_failed(nights: Nights, cleared: str) -> None:
    """Clearing one red Airflow task doesn't get around the first one."""
    nights.bring(STABLE)
    with nights.breaking("discover", PipelineError("no such runs folder")):
        night = nights.run()
    again = nights.rerun(night, cleared, downstream=False)
    assert ("failed", None) == (again.state, again.report)
    assert again.tasks[cleared] in {"failed", "upstream_failed"}


@pytest.mark.parametrize("cleared", ["gate", "publish", "enforce"])
def test_a_reducer_cleared_alone_after_a_later_try_of_discover_failed(nights: Nights, cleared: str) -> None:
    """The plan of an earlier try is in the lake, and proves nothing any more: the reducer is red, not silent."""
    nights.bring(STABLE)
    night = nights.run()
    assert "success" == night.state
    with nights.breaking("discover", PipelineError("no such runs folder")):
        assert "failed" == nights.rerun(night, "discover", downstream=False).tasks["discover"]
    again = nights.rerun(night, cleared, downstream=False)
    assert "failed" == again.tasks[cleared]
    assert "discover did not succeed in this DAG run (it is failed)" in again.error(cleared)


def test_discover_cleared_with_everything_downstream_mends_the_night(nights: Nights) -> None:
    """What every message recommends works: the same DAG run, green, as if nothing had happened."""
    nights.bring(STABLE)
    with nights.breaking("discover", PipelineError("no such runs folder")):
        night = nights.run()
    again = nights.rerun(night, "discover")
    assert ("success", {"stable-v1": "PASS"}) == (again.state, again.decisions)
    assert dict.fromkeys(VERBS, "success") == verbs(again)


def test_gate_failed(nights: Nights) -> None:
    """publish never runs; enforce says that gate did not succeed."""
    nights.bring(STABLE)
    with nights.breaking("gate", PipelineError("the sum is wrong")):
        night = nights.run()
    assert {
        "discover": "success", "gate": "failed", "publish": "upstream_failed", "enforce": "failed",
    } == verbs(night)  # fmt: skip
    assert ("failed", None) == (night.state, night.report)
    assert "gate did not succeed in this DAG run (it is failed)" in root_cause(night)


def test_publish_failed(nights: Nights) -> None:
    """enforce has nothing to pass, says so, and the asset is told nothing."""
    nights.bring(STABLE)
    with nights.breaking("publish", PipelineError("no space")):
        night = nights.run()
    assert ("failed", "failed", ()) == (night.state, night.tasks["enforce"], night.events)
    assert "publish did not succeed in this DAG run (it is failed)" in root_cause(night)


def test_a_batch_lost_after_all_retries(nights: Nights) -> None:
    """Exactly its runs are `task_lost`, and can't pass; the others are decided and published; enforce is red for it."""
    nights.bring(STABLE, FAST, OUTAGE)
    nights.set(max_mapped_tasks=2)
    with nights.breaking("score_batch", MemoryError(), batch=1):
        night = nights.run()
    lost = [name for name, state in night.tasks.items() if state == "failed" and name.startswith("score")]
    assert ["score[batch 1: 2 runs]"] == lost
    assert 4 == night.tries["score[batch 1: 2 runs]"]
    assert ("success", "success") == (night.tasks["gate"], night.tasks["publish"])
    assert night.report is not None
    assert {STABLE: "task_lost", FAST: "task_lost"} == {
        state["path"]: state["reason"] for state in night.report["not_scored"]
    }
    assert ({"task_lost": 2}, 1) == (night.accounting["quarantined"], night.accounting["scored"])
    assert dict.fromkeys(("stable-v1", "fast-v2", JUDGED), "INSUFFICIENT_EVIDENCE") == night.decisions
    assert "2 planned run directories left no result (task_lost)" in root_cause(night)
    assert "failed" == night.state


def test_a_lost_batch_cleared_is_taken_up(nights: Nights) -> None:
    """The red instance and everything downstream again: all runs decided, nothing lost any more."""
    nights.bring(STABLE, OUTAGE)
    with nights.breaking("score_batch", MemoryError(), batch=0):
        night = nights.run(candidates=["stable-v1"])
    assert {"task_lost": 1} == night.accounting["quarantined"]
    again = nights.rerun(night, "run_directory.score")
    assert ("success", {"stable-v1": "PASS"}) == (again.state, again.decisions)
    assert (2, {}) == (again.accounting["scored"], again.accounting["quarantined"])


def test_every_batch_lost(nights: Nights) -> None:
    """Nothing came back at all: that is no night without runs."""
    nights.bring(STABLE, FAST)
    with nights.breaking("score_batch", MemoryError()):
        night = nights.run()
    assert ("failed", {"task_lost": 2}) == (night.state, night.accounting["quarantined"])
    assert "task_lost" in root_cause(night)


# -- skipped and marked ------------------------------------------------------------------------------------------


def test_discover_skipped(nights: Nights) -> None:
    """The fan-out is skipped with it; gate is not, and raises."""
    nights.bring(STABLE)
    with nights.breaking("discover", skip()):
        night = nights.run()
    assert {
        "discover": "skipped", "gate": "failed", "publish": "upstream_failed", "enforce": "failed",
    } == verbs(night)  # fmt: skip
    assert ("failed", None) == (night.state, night.report)
    assert "discover did not succeed in this DAG run (it is skipped)" in root_cause(night)


def test_a_score_instance_skipped(nights: Nights) -> None:
    """Its runs have no result, whoever skipped them: lost, the others published, red."""
    nights.bring(STABLE, FAST, OUTAGE)
    nights.set(max_mapped_tasks=2)
    with nights.breaking("score_batch", skip(), batch=1):
        night = nights.run()
    assert "skipped" == night.tasks["score[batch 1: 2 runs]"]
    assert ({"task_lost": 2}, 1) == (night.accounting["quarantined"], night.accounting["scored"])
    assert "2 planned run directories left no result (task_lost)" in root_cause(night)
    assert "failed" == night.state


def test_every_score_instance_skipped(nights: Nights) -> None:
    """A fan-out that was skipped whole is not a night without runs."""
    nights.bring(STABLE)
    with nights.breaking("score_batch", skip()):
        night = nights.run()
    assert ("failed", {"task_lost": 1}) == (night.state, night.accounting["quarantined"])


def test_a_summarize_instance_skipped(nights: Nights) -> None:
    """Advisory: the night is what it would have been."""
    nights.bring(STABLE)
    with nights.breaking("summarize_batch", skip()):
        night = nights.run()
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)


@pytest.mark.parametrize(("verb", "publish"), [("gate", "skipped"), ("publish", "skipped")])
def test_a_reducer_skipped(nights: Nights, verb: str, publish: str) -> None:
    """Airflow passes a skip on and calls the DAG run a success; enforce runs all the same and says what is missing."""
    nights.bring(STABLE)
    with nights.breaking(verb, skip()):
        night = nights.run()
    assert ("failed", "skipped", publish) == (night.state, night.tasks[verb], night.tasks["publish"])
    assert f"{verb} did not succeed in this DAG run (it is skipped)" in root_cause(night)
    assert None is night.report


@pytest.mark.parametrize(
    ("marked", "red", "words"),
    [
        ("discover", "gate", "discover left no plan"),
        (r"run_directory\.score", "enforce", "1 planned run directories left no result (task_lost)"),
        ("publish", "enforce", "no such report"),
    ],
)
def test_marked_a_success_without_having_run(nights: Nights, marked: str, red: str, words: str) -> None:
    """A mark leaves no plan, no result and no report: each is missed by the next that needs it."""
    nights.bring(STABLE)
    night = nights.run(marked=marked)
    assert ("failed", "failed") == (night.state, night.tasks["enforce"])
    assert words in night.error(red)


# -- removed, none, too many -------------------------------------------------------------------------------------


def test_fewer_batches_after_clearing(nights: Nights) -> None:
    """Instances of an earlier try that no batch is left for are removed; the reducers go by the plan that holds now."""
    nights.bring(STABLE, FAST, OUTAGE)
    with nights.breaking("gate", PipelineError("not yet")):
        night = nights.run()
    shutil.rmtree(nights.runs / OUTAGE)
    again = nights.rerun(night, "discover")
    assert "removed" in {state for name, state in again.tasks.items() if name.startswith("score")}
    assert {"discover": "success", "gate": "success", "publish": "success", "enforce": "failed"} == verbs(again)
    assert GateHeldError is type(again.errors[-1][1])
    assert 2 == again.accounting["listed"]
    assert {"stable-v1": "PASS", "fast-v2": "FAIL"} == again.decisions


def test_no_batch_left_after_clearing(nights: Nights) -> None:
    """A finished night cleared whole has nothing to score: every instance is removed, and the night is what it was."""
    nights.bring(STABLE)
    night = nights.run()
    again = nights.rerun(night, "discover")
    assert {"removed"} == {state for name, state in again.tasks.items() if name.startswith(("score", "summarize"))}
    assert dict.fromkeys(VERBS, "success") == verbs(again)
    assert ("success", night.decisions) == (again.state, again.decisions)


def test_more_batches_after_clearing(nights: Nights) -> None:
    """A directory that came in between gets an instance of its own in the second try."""
    nights.bring(STABLE)
    with nights.breaking("gate", PipelineError("not yet")):
        night = nights.run()
    nights.bring(FAST)
    again = nights.rerun(night, "discover")
    assert 2 == again.accounting["listed"]
    assert {"stable-v1": "PASS", "fast-v2": "FAIL"} == again.decisions
    assert ("failed", "failed") == (again.state, again.tasks["enforce"])


def test_discover_alone_cleared_and_a_new_run_never_scored(nights: Nights) -> None:
    """The new plan names a run, nobody scored it, then gate is cleared: lost and red, not left out."""
    nights.bring(STABLE)
    night = nights.run()
    nights.bring(FAST)
    nights.rerun(night, "discover", downstream=False)
    again = nights.rerun(night, "gate")
    assert {"task_lost": 1} == again.accounting["quarantined"]
    assert "failed" == again.state


@pytest.mark.parametrize(("names", "state"), [([], "success"), ([STABLE], "success"), ([FAST], "failed")])
def test_nothing_to_map(nights: Nights, names: list[str], state: str) -> None:
    """Zero instances: the three reducers run, and a release that is held stays held."""
    nights.bring(*names)
    nights.run(since="2026-11-28", until="2026-11-28")
    night = nights.run(since="2026-11-28", until="2026-11-28")
    assert set() == {name for name in night.tasks if "[" in name}
    assert ("success", "success") == (night.tasks["gate"], night.tasks["publish"])
    assert (state, len(names)) == (night.state, len(night.decisions))


def test_more_run_directories_than_airflow_maps(nights: Nights) -> None:
    """1,100 directories are as many batches as are allowed, not one instance each; every one is accounted for."""
    for number in range(1099):
        broken = nights.runs / f"broken-{number:04}"
        broken.mkdir()
        (broken / "trials.jsonl").write_text("not a record\n")
    nights.bring(STABLE)
    nights.set(max_mapped_tasks=3)
    night = nights.run()
    assert 3 == len([name for name in night.tasks if name.startswith("score")])
    assert (1100, 1, {"unreadable": 1099}) == (
        night.accounting["listed"],
        night.accounting["scored"],
        night.accounting["quarantined"],
    )
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)


def test_more_batches_asked_for_than_airflow_maps(nights: Nights) -> None:
    """Told before anything is read, with both names, and not tried again."""
    nights.bring(STABLE)
    nights.set(max_mapped_tasks=1025)
    night = nights.run()
    assert ("failed", 1) == (night.state, night.tries["discover"])
    assert (
        "UsageError: EVALBENCH_MAX_MAPPED_TASKS is 1025, and Airflow maps at most 1024 (core.max_map_length);"
        " lower the one or raise the other" == night.error("discover")
    )
    assert not nights.lake.exists()
