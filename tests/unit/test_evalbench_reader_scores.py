"""Score rows: kept as written, on the right trial; scorer types; NL2SQL runs."""

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.ledger import ComparatorRow, EvidenceRef, TrialStatus
from evalbench.readers.evalbench import EvalbenchLedger, read_evalbench
from evalbench.readers.evalbench.scores import MAX_LOG_CHARS
from evalbench.readers.snapshot import ReadOptions, Snapshot

NOW = datetime(2026, 12, 2, tzinfo=UTC)
Rows = Sequence[Mapping[str, str]]


def table(rows: Rows) -> bytes:
    """A CSV file of these rows; a cell a row lacks is empty."""
    out = io.StringIO()
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer = csv.DictWriter(out, fieldnames=columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def read(files: Mapping[str, bytes | Rows]) -> EvalbenchLedger:
    """The ledger of a directory of these files or rows."""
    data = {name: rows if isinstance(rows, bytes) else table(rows) for name, rows in files.items()}
    return read_evalbench(Snapshot(path="r", files=data, newest_mtime=NOW), ReadOptions(now=NOW))


def score(task_id: str, comparator: str, value: str, **more: str) -> dict[str, str]:
    """A row of scores.csv."""
    base = {"comparator": comparator, "comparison_error": "", "comparison_logs": "", "id": task_id}
    return {**base, **more, "score": value}


def verdicts(ledger: EvalbenchLedger) -> dict[tuple[str, int], list[tuple[str, Decimal | None]]]:
    """(comparator, score) of every trial."""
    return {(t.task_id, t.trial): [(row.comparator, row.score) for row in t.comparators] for t in ledger.trials}


def codes(ledger: EvalbenchLedger) -> list[str]:
    """Defect codes in order."""
    return [defect.code for defect in ledger.defects]


def test_a_row_is_kept_as_written_with_its_place() -> None:
    """Score as a decimal of nine places, error and log as text."""
    run = read({
        "evals.csv": [{"eval_id": "a"}],
        "scores.csv": [
            score("a", "goal_completion", "66.66666666666667", comparison_logs="PASS\nwell", comparison_error="late")
        ],
    })  # fmt: skip
    expected = ComparatorRow(
        comparator="goal_completion",
        scorer_type="goal_completion",
        score=Decimal("66.666666667"),
        error="late",
        log="PASS\nwell",
        ref=EvidenceRef(file="scores.csv", row=1),
    )
    assert (expected,) == run.trials[0].comparators


SCORES = {
    "empty": ("", []),
    "nan": ("nan", ["score_not_a_number"]),
    "word": ("n/a", ["score_not_a_number"]),
    "beyond a table's numbers": ("1e12", ["score_not_a_number"]),
}


@pytest.mark.parametrize(("text", "defects"), SCORES.values(), ids=SCORES)
def test_a_score_that_is_no_number_is_absent(text: str, defects: list[str]) -> None:
    """Never 0: the text stays beside, and the defect says where it stood."""
    run = read({"evals.csv": [{"eval_id": "a"}], "scores.csv": [score("a", "x", text)]})
    assert (None, text) == (run.trials[0].comparators[0].score, run.trials[0].comparators[0].score_text)
    assert defects == codes(run)


def test_logs_are_bounded_after_redaction() -> None:
    """A secret that straddles the bound is gone before the cut."""
    log = "x" * (MAX_LOG_CHARS - 10) + " ghp_" + "a1" * 20
    run = read({"evals.csv": [{"eval_id": "a"}], "scores.csv": [score("a", "x", "1", comparison_logs=log)]})
    assert MAX_LOG_CHARS == len(run.trials[0].comparators[0].log)
    assert run.trials[0].comparators[0].log.endswith(" [redacted")


def test_the_last_score_of_a_file_without_line_end_is_never_used() -> None:
    """`100` cut to `10` has all its fields."""
    whole = table([score("a", "x", "100"), score("b", "x", "100")])
    run = read({"evals.csv": [{"eval_id": "a"}, {"eval_id": "b"}], "scores.csv": whole[:-2]})
    assert {("a", 0): [("x", Decimal(100))], ("b", 0): []} == verdicts(run)
    assert ["torn_row"] == codes(run)


def test_an_id_only_the_scores_know_is_a_trial() -> None:
    """No row is lost: the trial's evidence is its score."""
    run = read({"evals.csv": [{"eval_id": "a"}], "scores.csv": [score("a", "x", "1"), score("b", "x", "2")]})
    assert {("a", 0): [("x", Decimal(1))], ("b", 0): [("x", Decimal(2))]} == verdicts(run)
    assert (EvidenceRef(file="scores.csv", row=2), "no_evals_row") == (run.trials[1].ref, run.trials[1].calls_reason)
    assert ["scores_without_evals"] == codes(run)


def test_rows_without_id_are_kept_apart() -> None:
    """They name no trial; nobody is judged by them."""
    run = read({"evals.csv": [{"eval_id": "a"}], "scores.csv": [score("", "x", "1"), score("", "w", "2")]})
    assert ["w", "x"] == [row.comparator for row in run.unattached]
    assert ["score_without_id"] * 2 == codes(run)


def test_the_legacy_file_is_read_where_it_is_the_only_one() -> None:
    """Both present would count every score twice."""
    legacy = [score("a", "x", "1")]
    alone = read({"evals.csv": [{"eval_id": "a"}], "results.csv": legacy})
    assert ("results.csv", []) == (alone.trials[0].comparators[0].ref.file, codes(alone))  # type: ignore[union-attr]
    both = read({"evals.csv": [{"eval_id": "a"}], "results.csv": legacy, "scores.csv": legacy})
    assert ({("a", 0): [("x", Decimal(1))]}, ["legacy_scores_ignored"]) == (verdicts(both), codes(both))


def test_row_order_never_matters() -> None:
    """Any order of the rows gives the same trials with the same verdicts, repeated ids included."""
    evals = [{"eval_id": "a", "stderr": "1"}, {"eval_id": "a", "stderr": "2"}, {"eval_id": "b", "stderr": ""}]
    scores = [score("a", "x", "1"), score("a", "x", "1"), score("b", "x", "3"), score("b", "y", "4")]
    seen = {
        repr(sorted(verdicts(read({"evals.csv": e, "scores.csv": s})).items()))
        for e in itertools.permutations(evals)
        for s in itertools.permutations(scores)
    }
    assert 1 == len(seen)


def test_trials_with_one_id_are_numbered_by_content() -> None:
    """The number goes with what the row says, wherever it stands."""
    rows = [{"eval_id": "a", "returncode": "0", "conversation_history": "[]"}, {"eval_id": "a", "returncode": "1"}]
    for order in (rows, rows[::-1]):
        run = read({"evals.csv": order})
        assert [0, 1] == [trial.trial for trial in run.trials]
        assert ["trials_renumbered"] == codes(run)
    first, second = (read({"evals.csv": order}).trials for order in (rows, rows[::-1]))
    assert [trial.status for trial in first] == [trial.status for trial in second]


TWINS = [{"eval_id": "a", "stderr": "1"}, {"eval_id": "a", "stderr": "2"}]


def test_scores_that_differ_between_twins_belong_to_neither() -> None:
    """A verdict on the wrong trial is worse than none: they are kept, unattached, and reported."""
    run = read({"evals.csv": TWINS, "scores.csv": [score("a", "goal", "0"), score("a", "goal", "100")]})
    assert {("a", 0): [], ("a", 1): []} == verdicts(run)
    assert [Decimal(0), Decimal(100)] == [row.score for row in run.unattached]
    assert ["ambiguous_scores", "repeated_id", "trials_renumbered"] == codes(run)


def test_scores_that_agree_between_twins_belong_to_each() -> None:
    """Either assignment says the same."""
    run = read({"evals.csv": TWINS, "scores.csv": [score("a", "goal", "100"), score("a", "goal", "100")]})
    assert {("a", 0): [("goal", Decimal(100))], ("a", 1): [("goal", Decimal(100))]} == verdicts(run)


def test_one_score_for_two_twins_is_not_shared() -> None:
    """It is one trial's verdict; nobody knows whose."""
    run = read({"evals.csv": TWINS, "scores.csv": [score("a", "goal", "100")]})
    assert {("a", 0): [], ("a", 1): []} == verdicts(run)
    assert 1 == len(run.unattached)


def test_twins_are_told_apart_by_shared_cells() -> None:
    """The query itself, or the database, says which trial a score is about."""
    evals = [{"id": "1_trial_0", "generated_sql": "SELECT 1"}, {"id": "1_trial_0", "generated_sql": "SELECT 2"}]
    scores = [
        score("1_trial_0", "exact_match", "0", generated_sql="SELECT 2"),
        score("1_trial_0", "exact_match", "100", generated_sql="SELECT 1"),
    ]
    run = read({"evals.csv": evals, "scores.csv": scores})
    found = {trial.ref.row: trial.comparators[0].score for trial in run.trials if trial.ref}
    assert {1: Decimal(100), 2: Decimal(0)} == found
    assert () == run.unattached


def test_two_rows_of_one_comparator_are_both_kept_and_reported() -> None:
    """The reader doesn't choose between contradicting rows."""
    run = read({"evals.csv": [{"eval_id": "a"}], "scores.csv": [score("a", "x", "1"), score("a", "x", "0")]})
    assert {("a", 0): [("x", Decimal(0)), ("x", Decimal(1))]} == verdicts(run)
    assert ["repeated_score"] == codes(run)


def settings(values: Mapping[str, str]) -> Rows:
    """Rows of configs.csv for these scorer settings."""
    return [
        {"job_id": "j", "run_time": "2026-11-30", "config": f"experiment_config.scorers.{key}", "value": value}
        for key, value in values.items()
    ]


TYPES = {
    "known name": ("goal_completion", "goal_completion", {}),
    "rubric row rolls up": ("binary_rubric_scorer", "binary_rubric_scorer_11", {}),
    "renamed by type": ("goal_completion", "goal_final", {"goal_final.type": "goal_completion"}),
    "renamed rubric row": ("binary_rubric_scorer", "safety_rubric_0", {"safety_rubric.type": "binary_rubric_scorer"}),
    "renamed by nesting": ("goal_completion", "final", {"final.goal_completion.model_config": "judge.yaml"}),
    "own row name": ("llmrater", "Rated", {"rate.type": "llmrater", "rate.scorer_name": "Rated"}),
    "script's name": ("python_scorer", "check_sum", {"python_scorer.script_path": "s/check_sum.py"}),
    "known name beats a stated type": ("turn_count", "turn_count", {"turn_count.type": "goal_completion"}),
    "unknown type": (None, "mine", {"mine.type": "something_else"}),
    "unknown name": (None, "mine", {}),
    "number that is part of a name": (None, "top_5", {}),
    "dataset quality category": ("dataset_quality", "cuj_diversity", {}),
}


@pytest.mark.parametrize(("expected", "comparator", "values"), TYPES.values(), ids=TYPES)
def test_the_scorer_behind_a_name_is_resolved(expected: str | None, comparator: str, values: Mapping[str, str]) -> None:
    """A renamed scorer is what its settings say; nothing is guessed from a name that only resembles a type."""
    files: dict[str, bytes | Rows] = {"evals.csv": [{"eval_id": "a"}], "scores.csv": [score("a", comparator, "1")]}
    if values:
        files["configs.csv"] = settings(values)
    assert expected == read(files).trials[0].comparators[0].scorer_type


def test_scorers_with_empty_settings_are_found_in_the_rows_metadata() -> None:
    """They leave no row in configs.csv; metadata names them, and has the last word on settings."""
    metadata = repr({"scorers": {"turn_count": {}, "safe": {"binary_rubric_scorer": {}}, "odd": None}})
    run = read({
        "configs.csv": settings({"goal_completion.model_config": "judge.yaml", "safe.x": "y"}),
        "evals.csv": [{"eval_id": "a", "metadata": metadata}],
        "scores.csv": [score("a", "safe_2", "1")],
    })  # fmt: skip
    types = {
        "goal_completion": "goal_completion",
        "odd": None,
        "safe": "binary_rubric_scorer",
        "turn_count": "turn_count",
    }
    assert types == run.scorers
    assert "binary_rubric_scorer" == run.trials[0].comparators[0].scorer_type


SQL = {"id": "7_trial_1", "prompt_id": "7", "trial_index": "1", "generated_sql": "SELECT 1", "golden_error": ""}


def test_sql_trials_are_named_by_prompt_and_index() -> None:
    """By the columns where there are any, else by the id; scores join on the whole id."""
    rows = [
        SQL,
        {**SQL, "id": "odd", "trial_index": "0"},
        {**SQL, "id": "8_trial_2", "prompt_id": "", "trial_index": ""},
    ]
    run = read({"evals.csv": rows, "scores.csv": [score("7_trial_1", "exact_match", "100")]})
    assert [("7", 0), ("7", 1), ("8", 2)] == [(trial.task_id, trial.trial) for trial in run.trials]
    assert [[], [("exact_match", Decimal(100))], []] == list(verdicts(run).values())
    assert {(None, "not_an_agent_run", None)} == {
        (t.calls, t.calls_reason, t.finished_conversation) for t in run.trials
    }


def test_sql_trials_that_only_scores_know_are_named_alike() -> None:
    """Also where evals.csv is lost altogether."""
    run = read({"scores.csv": [score("7_trial_1", "exact_match", "100"), score("7_trial_0", "exact_match", "0")]})
    assert {("7", 0): [("exact_match", Decimal(0))], ("7", 1): [("exact_match", Decimal(100))]} == verdicts(run)


SQL_STATUS = {
    "completed": (TrialStatus.COMPLETED, None, {}),
    "generator failed": (TrialStatus.CRASHED, "sql_generator_error: 429", {"sql_generator_error": "429"}),
    "prompt failed": (TrialStatus.CRASHED, "prompt_generator_error: x", {"prompt_generator_error": "x"}),
    "database refused": (TrialStatus.FAILED, "generated_error: no such table", {"generated_error": "no such table"}),
    "nothing said": (None, None, {"generated_sql": ""}),
}


@pytest.mark.parametrize(("status", "reason", "change"), SQL_STATUS.values(), ids=SQL_STATUS)
def test_sql_status_tells_a_crash_from_a_wrong_query(
    status: TrialStatus | None, reason: str | None, change: Mapping[str, str]
) -> None:
    """A failed generator is only in evals.csv; a refused query is a failed attempt."""
    trial = read({"evals.csv": [{**SQL, **change}]}).trials[0]
    assert (status, reason) == (trial.status, trial.status_reason)


QUERIES = {
    "both ran": ("", False, {}),
    "golden failed": ("no such column", False, {"golden_error": "no such column"}),
    "nothing generated": ("", True, {"generated_sql": ""}),
    "spelled-out absence": ("", True, {"generated_sql": "None", "golden_error": "nan"}),
}


@pytest.mark.parametrize(("golden", "empty", "change"), QUERIES.values(), ids=QUERIES)
def test_score_rows_carry_what_only_evals_says_of_their_queries(
    golden: str, empty: bool, change: Mapping[str, str]
) -> None:
    """Whether the reference failed and whether anything was executed; the score itself stays as written."""
    run = read({"evals.csv": [{**SQL, **change}], "scores.csv": [score("7_trial_1", "recall_match", "100")]})
    row = run.trials[0].comparators[0]
    assert (golden, empty, Decimal(100), "") == (row.golden_error, row.generated_empty, row.score, row.error)
    assert (["golden_query_failed"] if golden else []) == codes(run)


def test_unrecorded_queries_are_unknown() -> None:
    """An agent's run has no golden query; a file without the columns says nothing."""
    rows = [{"eval_id": "a", "golden_error": "", "generated_sql": "skipped"}]
    agent = read({"evals.csv": rows, "scores.csv": [score("a", "x", "1")]})
    silent = read({"evals.csv": [{"id": "a"}], "scores.csv": [score("a", "x", "1")]})
    for run in (agent, silent):
        assert (None, None) == (run.trials[0].comparators[0].golden_error, run.trials[0].comparators[0].generated_empty)


def test_golden_error_in_the_scores_file_is_read() -> None:
    """Some releases write it there; either file's word is enough."""
    rows = [score("7_trial_1", "exact_match", "0", golden_error="gone")]
    assert "gone" == read({"evals.csv": [SQL], "scores.csv": rows}).trials[0].comparators[0].golden_error


def test_consistency_rows_belong_to_no_trial() -> None:
    """They compare two trials; one defect counts them."""
    pair = {"prompt_id": "7", "trial1_id": "7_trial_0", "trial2_id": "7_trial_1", "logs": "Inconsistent"}
    scores = [score("7_trial_1", "exact_match", "100"), *[score("", "exact_match_consistency", "0", **pair)] * 2]
    run = read({"evals.csv": [SQL], "scores.csv": scores})
    assert [("exact_match_consistency", "Inconsistent")] * 2 == [(row.comparator, row.log) for row in run.unattached]
    assert ["consistency_rows"] == codes(run)
    assert "scores.csv: 2 rows compare two trials with each other" in run.defects[0].message


def test_the_sample_of_sql_traps_is_read_whole(sample_runs: Path) -> None:
    """Seven trials of four prompts, 28 attached rows, three consistency rows."""
    run = read({file.name: file.read_bytes() for file in (sample_runs / "trap-nl2sql").iterdir()})
    assert [("1", 0), ("1", 1), ("2", 0), ("2", 1), ("3", 0), ("3", 1), ("4", 0)] == list(verdicts(run))
    assert (28, 3) == (sum(len(rows) for rows in verdicts(run).values()), len(run.unattached))
