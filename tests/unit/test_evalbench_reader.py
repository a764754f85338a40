"""One EvalBench directory as a whole: the real runs, configuration, time, completion, plan, secrets."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.ledger import EvidenceRef, PlannedTask, PlanSource, TrialStatus
from evalbench.readers.evalbench import EvalbenchLedger, looks_like_evalbench, read_evalbench
from evalbench.readers.snapshot import ReadOptions, Snapshot

NOW = datetime(2026, 12, 2, tzinfo=UTC)
JOB = "49e5b728-f934-4e6b-9ced-70b5db228928"


def table(rows: Sequence[Mapping[str, str]]) -> bytes:
    """A CSV file as the harness writes it."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def configs(values: Mapping[str, str], run_time: str = "2026-11-30 10:36:16.235254", job_id: str = JOB) -> bytes:
    """A configs.csv of these settings."""
    return table([{"job_id": job_id, "run_time": run_time, "config": k, "value": v} for k, v in values.items()])


def read(files: Mapping[str, bytes], timezone: str = "UTC") -> EvalbenchLedger:
    """The ledger of a directory of these files."""
    snapshot = Snapshot(path="run", files=files, newest_mtime=NOW)
    return read_evalbench(snapshot, ReadOptions(now=NOW, timezone=timezone))


def codes(ledger: EvalbenchLedger) -> list[str]:
    """Defect codes in order."""
    return [defect.code for defect in ledger.defects]


@pytest.fixture(scope="module")
def replayed(sample_runs: Path) -> dict[str, EvalbenchLedger]:
    """The four real runs, by job id."""
    paths = sorted(path.parent for path in sample_runs.glob("????????-*/evals.csv"))
    return {path.name: read({file.name: file.read_bytes() for file in path.iterdir()}) for path in paths}


def test_the_real_runs_are_read_whole(replayed: dict[str, EvalbenchLedger]) -> None:
    """Fifty trials in each of the four runs, and every one of the 1,200 score rows on its trial."""
    assert [50] * 4 == [len(run.trials) for run in replayed.values()]
    assert 1200 == sum(len(trial.comparators) for run in replayed.values() for trial in run.trials)
    assert [()] * 4 == [run.unattached for run in replayed.values()]
    assert [()] * 4 == [run.defects for run in replayed.values()]


def test_the_real_runs_say_what_they_are(replayed: dict[str, EvalbenchLedger]) -> None:
    """Product under its nested key, generator class, dataset, time and scorers, the ones with empty settings too."""
    run = replayed[JOB]
    assert JOB == run.job_id
    assert "tau-bench-airline" == run.product
    assert ("custom", "replay_agent.TauReplayAgent") == (run.generator, run.generator_class)
    assert "tau-bench gpt-4o tool-calling (replayed)" == run.agent_version
    assert "tau_airline_t1.evalset.json" == run.dataset
    assert datetime(2026, 11, 30, 10, 36, 16, 235254, tzinfo=UTC) == run.run_time
    names = ["end_to_end_latency", "goal_completion", "token_consumption", "tool_call_latency"]
    assert {name: name for name in [*names, "trajectory_matcher", "turn_count"]} == run.scorers
    assert run.has_summary
    assert (Decimal(100), Decimal(22), Decimal(50)) == next(
        (claim.score, claim.correct, claim.total) for claim in run.summary if claim.metric == "goal_completion"
    )
    assert None is run.planned


def test_a_real_trial_holds_calls_expectation_and_evidence(replayed: dict[str, EvalbenchLedger]) -> None:
    """The first task: six calls in order with their arguments, one expected call, no invented telemetry."""
    trial = replayed[JOB].trials[0]
    assert ("tau-airline-00", 0, TrialStatus.COMPLETED, True) == (
        trial.task_id,
        trial.trial,
        trial.status,
        trial.finished_conversation,
    )
    assert None is trial.declared_complete
    assert trial.calls is not None
    names = ["search_direct_flight", "search_onestop_flight", "get_user_details", "book_reservation", "think"]
    assert [f"airline__{name}" for name in [*names, "book_reservation"]] == [call.name for call in trial.calls]
    assert '{"date":"2024-05-20","destination":"SEA","origin":"JFK"}' == trial.calls[0].args_json
    assert EvidenceRef(file="evals.csv", row=1, field="conversation_history[2].tool_calls[0]") == trial.calls[0].ref
    assert ("tool_calls", None) == (trial.calls_source, trial.calls[0].status)
    assert ["airline__book_reservation"] == [call.name for call in trial.expected or ()]
    assert trial.usage is not None
    assert (None, None, 6) == (trial.usage.input_tokens, trial.usage.output_tokens, trial.usage.tool_calls)
    assert (None, None) == (trial.cost, trial.timing)
    assert ("evals.csv", 1) == (trial.ref.file, trial.ref.row) if trial.ref else False


def test_the_same_task_has_the_same_key_in_every_real_run(replayed: dict[str, EvalbenchLedger]) -> None:
    """Prompts and dataset names differ between the runs; the fifty task identities don't."""
    keys = [{trial.task_id: trial.task_key for trial in run.trials} for run in replayed.values()]
    assert 50 == len(set(keys[0].values()))
    assert [keys[0]] * 4 == keys


LISTINGS = {
    "complete": (True, ["configs.csv", "evals.csv", "scores.csv", "summary.csv"]),
    "only configs": (True, ["configs.csv"]),
    "only a log": (True, ["setup_execution.log"]),
    "legacy scores": (True, ["results.csv"]),
    "records only": (False, ["trials.jsonl", "run.yaml"]),
    "root files": (False, ["trends_cache.csv", "processed_dirs.json"]),
    "nothing": (False, []),
}


@pytest.mark.parametrize(("expected", "names"), LISTINGS.values(), ids=LISTINGS)
def test_a_directory_is_recognised_by_its_listing(expected: bool, names: list[str]) -> None:
    """Any of the harness's own files makes a run of it, a crashed one too."""
    assert expected == looks_like_evalbench(names)


PRODUCTS = {
    "plain": ("shop", {"experiment_config.product_name": "shop"}),
    "misspelt": ("shop", {"experiment_config.poduct_name": "shop"}),
    "nested": ("shop", {"experiment_config.experiment_config.product_name": "shop"}),
    "right spelling first": ("a", {"experiment_config.poduct_name": "b", "experiment_config.product_name": "a"}),
    "empty": (None, {"experiment_config.product_name": ""}),
    "absent": (None, {"experiment_config.orchestrator": "geminicli"}),
}


@pytest.mark.parametrize(("expected", "values"), PRODUCTS.values(), ids=PRODUCTS)
def test_the_product_is_found_under_every_spelling(expected: str | None, values: Mapping[str, str]) -> None:
    """Releases spell the key in three ways; an empty value is no product."""
    assert expected == read({"configs.csv": configs(values)}).product


def test_configuration_values_are_read_by_name() -> None:
    """Dataset is a basename, requester any key that holds its mark, group and version as written."""
    run = read({
        "configs.csv": configs({
            "experiment_config.dataset_config": "datasets/shop/orders.evalset.json",
            "experiment_config.guitar_requester_ldap": "ann",
            "experiment_config.eval_group": "nightly",
            "model_config.generator": "claude_code",
            "model_config.model": "m-1",
            "model_config.agent_version": "1.2",
        })
    })  # fmt: skip
    assert ("orders.evalset.json", "ann", "nightly") == (run.dataset, run.requester, run.eval_group)
    assert ("claude_code", "m-1", "1.2") == (run.generator, run.model, run.agent_version)


TIMES = {
    "fraction": (datetime(2026, 11, 30, 10, 36, 16, 235254, tzinfo=UTC), "2026-11-30 10:36:16.235254", "UTC"),
    "date only": (datetime(2026, 11, 30, tzinfo=UTC), "2026-11-30", "UTC"),
    "local time": (datetime(2026, 11, 30, 9, 36, 16, tzinfo=UTC), "2026-11-30 10:36:16", "Europe/Berlin"),
    "local day before": (datetime(2026, 11, 29, 23, 0, tzinfo=UTC), "2026-11-30", "Europe/Berlin"),
    "own offset wins": (datetime(2026, 11, 30, 8, 0, tzinfo=UTC), "2026-11-30 10:00:00+02:00", "America/New_York"),
    "no time": (None, "yesterday", "UTC"),
    "empty": (None, "", "UTC"),
}


@pytest.mark.parametrize(("expected", "text", "timezone"), TIMES.values(), ids=TIMES)
def test_run_time_is_utc(expected: datetime | None, text: str, timezone: str) -> None:
    """Naive times are in the given zone; what is no time is absent, and reported unless empty."""
    run = read({"configs.csv": configs({"a": "b"}, run_time=text)}, timezone)
    assert expected == run.run_time
    assert (["run_time_unreadable"] if text == "yesterday" else []) == codes(run)


def test_run_time_falls_back_to_the_summary() -> None:
    """A run whose configs lost their time is dated by its summary."""
    summary = b"metric_name,metric_score,job_id,run_time\nexecutable,1,j,2026-11-30 01:00:00\n"
    assert datetime(2026, 11, 30, 1, tzinfo=UTC) == read({"summary.csv": summary}).run_time


SUMMARIES = {
    "intact": (True, 1, [], b"metric_name,metric_score\nexecutable,1\n"),
    "torn after its last number": (False, 0, ["torn_row"], b"metric_name,metric_score\nexecutable,1"),
    "torn later": (False, 1, ["torn_row"], b"metric_name,metric_score\ngoal_completion,100\nexecut"),
    "header only": (False, 0, [], b"metric_name,metric_score\n"),
    "torn header": (False, 0, ["torn_row"], b"metric_name,met"),
    "empty": (False, 0, ["empty_file"], b""),
}


@pytest.mark.parametrize(("complete", "claims", "defects", "data"), SUMMARIES.values(), ids=SUMMARIES)
def test_only_an_intact_summary_completes_a_run(complete: bool, claims: int, defects: list[str], data: bytes) -> None:
    """The summary is written last and can itself be cut; what is left of it claims nothing more."""
    run = read({"summary.csv": data})
    assert (complete, claims, defects) == (run.has_summary, len(run.summary), codes(run))


def test_a_summary_without_metric_names_completes_nothing() -> None:
    """A file that only bears the name is no completion marker."""
    run = read({"summary.csv": b"a,b\n1,2\n"})
    assert (False, ["missing_column"]) == (run.has_summary, codes(run))


def test_no_files_no_claims() -> None:
    """A directory with only a log gives an empty ledger, not an error."""
    assert EvalbenchLedger() == read({"setup_execution.log": b"..."})


def test_a_run_where_nothing_ran_has_no_trials() -> None:
    """All four files, a complete-looking summary, and evals.csv of four error columns."""
    run = read({
        "configs.csv": configs({"experiment_config.product_name": "shop"}),
        "evals.csv": b"prompt_generator_error,generated_error,sql_generator_error,golden_error\n",
        "scores.csv": b"generated_sql,generated_error,comparator,score,id\n",
        "summary.csv": b"metric_name,metric_score\ntoken_consumption,100\n",
    })  # fmt: skip
    assert ((), (), True, ["missing_column"]) == (run.trials, run.unattached, run.has_summary, codes(run))


def test_differing_job_ids_are_reported() -> None:
    """The configuration's id stands; a file of another job is a defect that names it."""
    files = {"configs.csv": configs({"a": "b"}), "summary.csv": b"metric_name,job_id\nexecutable,other\n"}
    run = read(files)
    assert (JOB, ["conflicting_job_id"]) == (run.job_id, codes(run))


def test_a_setting_with_two_values_is_reported() -> None:
    """The choice doesn't depend on row order."""
    rows = [{"job_id": "j", "run_time": "2026-11-30", "config": "model_config.model", "value": v} for v in ("b", "a")]
    for order in (rows, rows[::-1]):
        run = read({"configs.csv": table(order)})
        assert ("a", ["repeated_config"]) == (run.model, codes(run))


def test_a_plan_beyond_belief_is_no_plan() -> None:
    """Every planned trial without a record becomes a row, so a plan has an end."""
    settings = {"experiment_config.dataset_config": "set.json", "experiment_config.num_trials": "100001"}
    run = read({"configs.csv": configs(settings), "set.json": b'[{"id": "a", "nl_prompt": "how many?"}]'})
    assert (None, ["plan_too_large"]) == (run.planned, codes(run))


EVALSET = b'{"scenarios": [{"id": "a"}, {"id": "b"}, {"id": 7}]}'
PLANS = {
    "named by the dataset": (["7", "a", "b"], {"x/set.evalset.json": EVALSET, "other.evalset.json": b"[]"}, {}),
    "the only one there": (["7", "a", "b"], {"../sets/other.evalset.json": EVALSET}, {}),
    "listed scenarios only": (["b"], {"set.evalset.json": EVALSET}, {"experiment_config.scenarios": "['b', 'z']"}),
    "listed by commas": (["a", "b"], {"set.evalset.json": EVALSET}, {"experiment_config.scenarios": "a, b"}),
    "pattern": (["a"], {"set.evalset.json": EVALSET}, {"experiment_config.scenario_pattern": "a*"}),
    "trials don't repeat agent scenarios": (
        ["7", "a", "b"],
        {"set.evalset.json": EVALSET},
        {"experiment_config.num_trials": "3"},
    ),
}


@pytest.mark.parametrize(("expected", "files", "settings"), PLANS.values(), ids=PLANS)
def test_the_plan_is_the_evalset_less_what_the_run_left_out(
    expected: list[str], files: Mapping[str, bytes], settings: Mapping[str, str]
) -> None:
    """One trial for each scenario the run's own settings leave in; numeric ids are text."""
    named = {"experiment_config.dataset_config": "data/set.evalset.json", **settings}
    run = read({"configs.csv": configs(named), **files})
    assert run.planned is not None
    assert PlanSource.EVALSET is run.planned.source
    assert tuple(PlannedTask(task_id=name) for name in expected) == run.planned.tasks


def test_read_only_prompts_are_planned_once_per_trial() -> None:
    """Queries run num_trials times, writing statements once."""
    prompts = (
        b'[{"id": "1", "nl_prompt": "q", "query_type": "DQL"}, {"id": "2", "nl_prompt": "q", "query_type": "dml"}]'
    )
    settings = {"experiment_config.dataset_config": "p.json", "experiment_config.num_trials": "3"}
    run = read({"configs.csv": configs(settings), "p.json": prompts})
    assert run.planned is not None
    assert (PlannedTask(task_id="1", trials=3), PlannedTask(task_id="2")) == run.planned.tasks


UNPLANNED = {
    "two candidates": ("evalset_ambiguous", {"a.evalset.json": EVALSET, "b.evalset.json": EVALSET}),
    "not JSON": ("evalset_unreadable", {"a.evalset.json": b"{"}),
    "no ids": ("evalset_unreadable", {"a.evalset.json": b'{"scenarios": [{"name": "a"}]}'}),
}


@pytest.mark.parametrize(("code", "files"), UNPLANNED.values(), ids=UNPLANNED)
def test_an_unusable_evalset_is_no_plan(code: str, files: Mapping[str, bytes]) -> None:
    """The plan is then unknown, never a part of it."""
    run = read({"configs.csv": configs({"a": "b"}), **files})
    assert (None, [code]) == (run.planned, codes(run))


def test_secrets_of_the_configuration_leave_no_trace() -> None:
    """Values of the environment and of database configs vanish, wherever else they turn up."""
    secrets = ["hunter2-nothing-like-a-key", "correct-horse-battery"]
    run = read({
        "configs.csv": configs({
            "model_config.env.SERVICE_PASSWORD": secrets[0],
            "db_configs.sqlite": repr([{"database_path": "x.db", "password": secrets[1]}]),
            "model_config.agent_version": f"agent --with {secrets[0]}",
        }),
        "evals.csv": table([
            {
                "eval_id": "a",
                "returncode": "1",
                "stderr": f"login with {secrets[1]} refused",
                "conversation_history": '[{"user": "", "agent": {"tool_calls": [{"name": "db__open", '
                f'"args": {{"how": "{secrets[1]}", "note": "as {secrets[0]}"}}}}]}}}}]',
                "scenario": repr({"id": "a", "expected_trajectory": [{"name": "x", "args": {"how": secrets[1]}}]}),
            }
        ]),
        "scores.csv": table([
            {"comparator": "goal_completion", "comparison_error": secrets[0], "comparison_logs": secrets[1], "id": "a",
             "score": secrets[0]}
        ]),
    })  # fmt: skip
    assert [] == [secret for secret in secrets if secret in repr(run)]
    assert run.trials[0].calls is not None
    assert '{"how":"[redacted]","note":"as [redacted]"}' == run.trials[0].calls[0].args_json
    assert "agent --with [redacted]" == run.agent_version


def test_the_planted_secrets_of_the_samples_leave_no_trace(sample_runs: Path) -> None:
    """Nothing marked as planted survives reading."""
    files = {file.name: file.read_bytes() for file in (sample_runs / "trap-secrets").iterdir()}
    assert any(b"PLANTED" in data for data in files.values())
    assert "PLANTED" not in repr(read(files))


def test_defects_stand_in_the_order_of_the_file() -> None:
    """Of each kind the first record's comes first, so that the few that are kept are the first ones."""
    run = read({"scores.csv": b"comparator,id,score\n" + b"x\n" * 1000})
    found = [defect for defect in run.defects if defect.code == "wrong_field_count"]
    assert list(range(1, 1001)) == [defect.ref.row for defect in found if defect.ref]
