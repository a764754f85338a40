"""The sample files say what include/samples/README.md claims, read with nothing but csv, json and yaml.

These tests guard the inputs themselves: golden tests elsewhere may then blame the code, not the sample.
"""

import csv
import fnmatch
import hashlib
import io
import json
import re
from collections import Counter
from decimal import Decimal
from math import comb
from pathlib import Path
from typing import Any

import pytest
import yaml

SAMPLES = Path(__file__).parents[2] / "include" / "samples"
RUNS = SAMPLES / "runs"

REAL = {  # goal_completion: passed, judged, unavailable
    "63258d1c-1a4e-45c0-ba68-94fc5a0f6004": (21, 49, 1),
    "49e5b728-f934-4e6b-9ced-70b5db228928": (22, 49, 1),
    "4feb5ba7-eb25-4a14-9a87-1e906bfb667c": (20, 49, 1),
    "5267e834-a74b-4172-90d4-4de66990f29a": (21, 48, 2),
}
REAL_DIGESTS = {  # sha256 over configs, evals, scores and summary, one after the other
    "63258d1c-1a4e-45c0-ba68-94fc5a0f6004": "1ef2554179e5ff27648bceeea22b9b0db7f0a05bf95a6440b7fdd00226c4a186",
    "49e5b728-f934-4e6b-9ced-70b5db228928": "b1dca2e0492719a6b524e3dfa4f4be8f84e4b5632bf446be726a42df73cd947d",
    "4feb5ba7-eb25-4a14-9a87-1e906bfb667c": "8f530dc60b3fe344565eb57cd892ce52dadd87c4de858b14661da071b94e6847",
    "5267e834-a74b-4172-90d4-4de66990f29a": "1f914e795f76f0a04ca0ceb32138786e809261b12faa089e5eb263033857ba1e",
}
INVERSION = ("inversion-stable-v1", "inversion-fast-v2")
TRAPS = (
    "trap-crash-no-summary",
    "trap-judge-contradiction",
    "trap-judge-outage",
    "trap-misspelt-product",
    "trap-nl2sql",
    "trap-repr-oddities",
    "trap-secrets",
)
HARNESS_FILES = ["configs.csv", "evals.csv", "scores.csv", "summary.csv"]
CSV_CELL_LIMIT = 131_072  # Python's default, in characters
READ_ONLY = ("*__lookup_*", "*__get_*", "*__search_*")
COMPONENTS = ("goal_completion", "trajectory_matcher", "behavioral_metrics", "parameter_analysis")


def rows(run: str, file: str) -> list[dict[str, str]]:
    """The rows of one harness file as text; byte order mark dropped, cells of any size."""
    csv.field_size_limit(10_000_000)
    text = (RUNS / run / file).read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def scores(run: str, comparator: str) -> list[dict[str, str]]:
    return [row for row in rows(run, "scores.csv") if row["comparator"] == comparator]


def configs(run: str) -> dict[str, str]:
    return {row["config"]: row["value"] for row in rows(run, "configs.csv")}


def trials(run: str) -> list[dict[str, Any]]:
    lines = (RUNS / run / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line, parse_float=Decimal) for line in lines]


def is_read_only(tool: str) -> bool:
    return any(fnmatch.fnmatchcase(tool, pattern) for pattern in READ_ONLY)


def test_the_runs_root_holds_exactly_the_documented_directories() -> None:
    """Real, inversion and trap directories, one unrelated folder and one stray cache file: nothing undocumented."""
    expected = sorted([*REAL, *INVERSION, *TRAPS, "notes", "trends_cache.csv"])

    assert expected == sorted(path.name for path in RUNS.iterdir())
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert [] == [name for name in expected if name not in readme]


def test_the_licences_lie_beside_the_real_data() -> None:
    """Both licences are there and the README names them."""
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")

    for name, words in (("LICENSE-EVALBENCH", "Apache License"), ("LICENSE-TAU-BENCH", "MIT License")):
        assert words in (SAMPLES / name).read_text(encoding="utf-8")
        assert name in readme


@pytest.mark.parametrize("run", REAL_DIGESTS)
def test_real_files_are_unchanged(run: str) -> None:
    """The real directories are the bytes the harness wrote, line ends included."""
    data = b"".join((RUNS / run / name).read_bytes() for name in HARNESS_FILES)

    assert REAL_DIGESTS[run] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("run", REAL)
def test_real_runs_have_the_counted_passes(run: str) -> None:
    """Passed, judged and unavailable goal_completion rows per real run."""
    goal = scores(run, "goal_completion")
    judged = [row for row in goal if not row["comparison_logs"].startswith("Error calling model:")]
    passed = [row for row in judged if Decimal(row["score"]) == 100]

    assert REAL[run] == (len(passed), len(judged), len(goal) - len(judged))


def test_real_runs_pool_to_the_published_numbers() -> None:
    """1,200 score rows, trajectory mean 38.921 with 20 of 200 at 100, and the lower pass^k of four trials."""
    trajectory = [Decimal(row["score"]) for run in REAL for row in scores(run, "trajectory_matcher")]
    passes: Counter[str] = Counter()
    for run in REAL:
        passes.update(row["id"] for row in scores(run, "goal_completion") if Decimal(row["score"]) == 100)

    assert 1200 == sum(len(rows(run, "scores.csv")) for run in REAL)
    assert (200, 20) == (len(trajectory), trajectory.count(Decimal(100)))
    assert Decimal("38.921") == round(sum(trajectory) / 200, 3)
    pass_hat = [round(sum(comb(c, k) for c in passes.values()) / comb(4, k) / 50, 4) for k in (1, 2, 3, 4)]
    assert [0.42, 0.2733, 0.22, 0.20] == pass_hat


SIGNALS = [
    (
        "inversion-stable-v1",
        {
            "quality": (Decimal("3.272"), 4, Decimal("0.818")),
            "progress": (14, 14),
            "waiting_windows": 4,
            "effects": {"verified": 5, "rejected": 1},
            "total": Decimal("2.068"),
            "verified_outcomes": 4,
            "per_run": Decimal("0.41"),
            "per_verified": Decimal("0.52"),
            "false_success": (0, 4),
            "unverified": 0,
        },
    ),
    (
        "inversion-fast-v2",
        {
            "quality": (Decimal("4.51"), 5, Decimal("0.902")),
            "progress": (15, 16),
            "waiting_windows": 0,
            "effects": {"verified": 4, "unknown": 1},
            "total": Decimal("1.89"),
            "verified_outcomes": 3,
            "per_run": Decimal("0.38"),
            "per_verified": Decimal("0.63"),
            "false_success": (1, 5),
            "unverified": 1,
        },
    ),
]


@pytest.mark.parametrize(("run", "expected"), SIGNALS)
def test_the_inversion_adds_up(run: str, expected: dict[str, Any]) -> None:
    """The ten records carry the release inversion's numbers to the digit."""
    records = trials(run)
    grades = [Decimal(str(r["quality"]["score"])) for r in records if "quality" in r]
    windows = [w for r in records for w in r["progress"]["windows"]]
    active = [w for w in windows if w["state"] == "active"]
    total = sum((Decimal(str(r["cost"]["usd"])) for r in records), Decimal(0))
    verified = sum(r["outcome"]["state"] == "verified" for r in records)
    declared = [r for r in records if r["declared_complete"]]
    cent = Decimal("0.01")

    assert expected == {
        "quality": (sum(grades), len(grades), sum(grades) / len(grades)),
        "progress": (sum(w["delta"] for w in active), len(active)),
        "waiting_windows": sum(w["state"] == "waiting" for w in windows),
        "effects": dict(Counter(e["state"] for r in records for e in r["effects"])),
        "total": total,
        "verified_outcomes": verified,
        "per_run": (total / len(records)).quantize(cent),
        "per_verified": (total / verified).quantize(cent),
        "false_success": (sum(r["outcome"]["state"] == "failed" for r in declared), len(declared)),
        "unverified": sum(r["outcome"]["state"] == "unavailable" for r in declared),
    }


@pytest.mark.parametrize("run", INVERSION)
def test_inversion_records_leave_nothing_unsaid(run: str) -> None:
    """Every planned trial speaks on every point; what is missing is missing by name."""
    manifest = yaml.safe_load((RUNS / run / "run.yaml").read_text(encoding="utf-8"))
    records = trials(run)

    assert manifest["planned"] == {"tasks": [r["task_id"] for r in records], "trials": 1}
    assert manifest["labels"] == {"synthetic": "true"}
    assert (manifest["product"], manifest["dataset"]) == ("release-inversion", "inversion")
    for record in records:
        assert (manifest["run_id"], manifest["candidate"]) == (record["run_id"], record["candidate"])
        assert {"status", "declared_complete", "tools", "usage", "timing", "progress"} <= record.keys()
        assert record["cost"]["state"] == "billed"
        outcome = record["outcome"]
        assert outcome["predicate"]
        assert outcome["verifier"]["kind"] == "deterministic"
        assert ("evidence" in outcome) == (outcome["state"] != "unavailable")
        assert ("reason" in outcome) == (outcome["state"] != "verified")


@pytest.mark.parametrize("run", INVERSION)
def test_every_effectful_call_has_exactly_one_effect_record(run: str) -> None:
    """Calls that write and effect records match by tool; rejected calls are rejected effects; keys are never shared."""
    for record in trials(run):
        writes = [call for call in record["tools"]["called"] if not is_read_only(call["name"])]
        effects = record["effects"]

        assert Counter(call["name"] for call in writes) == Counter(effect["tool"] for effect in effects)
        rejected_calls = [call["name"] for call in writes if call["status"] == "rejected"]
        assert rejected_calls == [effect["tool"] for effect in effects if effect["state"] == "rejected"]
        assert len(effects) == len({effect["idempotency_key"] for effect in effects})
        for effect in effects:
            assert effect["destination"]
            assert ("evidence" in effect) == (effect["state"] != "unknown")
            assert ("reason" in effect) == (effect["state"] in {"unknown", "rejected"})


def test_the_inversion_waits_validly_and_lies_once() -> None:
    """stable's t4 waits with all four fields and a due after its day; fast's t4 is the best answer and false."""
    waiting = next(r for r in trials("inversion-stable-v1") if r["status"] == "waiting")
    false_success = max(trials("inversion-fast-v2"), key=lambda r: r["quality"]["score"])

    assert ("t4", False) == (waiting["task_id"], waiting["declared_complete"])
    assert {"owner", "decision", "due", "resume_state"} == {key for key, value in waiting["wait"].items() if value}
    assert waiting["wait"]["due"] > "2026-11-29T00:00:00Z"
    assert ("t4", "failed", True) == (
        false_success["task_id"],
        false_success["outcome"]["state"],
        false_success["declared_complete"],
    )


@pytest.mark.parametrize("run", TRAPS)
def test_traps_are_labelled_synthetic(run: str) -> None:
    """Each trap says in its own configs that it is synthetic, and has its own candidate and the traps' product."""
    config = configs(run)
    product_keys = [key for key in config if key.endswith(("product_name", "poduct_name"))]

    assert config["experiment_config.description"].startswith("synthetic: ")
    assert f"synthetic-{run.removeprefix('trap-')}" == config["model_config.agent_version"]
    assert ["evalbench-traps"] == [config[key] for key in product_keys]
    assert {"2026-11-27"} == {row["run_time"][:10] for row in rows(run, "configs.csv")}
    expected_files = HARNESS_FILES[:2] if run == "trap-crash-no-summary" else HARNESS_FILES
    assert expected_files == sorted(path.name for path in (RUNS / run).iterdir())


OUTAGE = {"outage-01", "outage-02"}
CONTRADICTED = {"contradiction-01", "contradiction-02", "contradiction-03"}
JUDGES = ("goal_completion", "behavioral_metrics", "parameter_analysis")
GENERAL = [  # run, ids left out per component, component means over the rows kept, General Score
    ("trap-judge-outage", dict.fromkeys(JUDGES, OUTAGE), (50, "87.5", 90, 100), "75.5"),
    ("trap-judge-contradiction", {"goal_completion": CONTRADICTED}, (100, "62.5", 100, 100), "92.5"),
    ("trap-misspelt-product", {}, (50, 75, 90, 100), "73"),
]


@pytest.mark.parametrize(("run", "left_out", "means", "general"), GENERAL)
def test_trap_general_scores_are_exact_once_failed_judges_are_left_out(
    run: str, left_out: dict[str, set[str]], means: tuple[str | int, ...], general: str
) -> None:
    """The four components of each trap that has a General Score, and the score, as exact decimals."""
    found = []
    for component in COMPONENTS:
        kept = [Decimal(r["score"]) for r in scores(run, component) if r["id"] not in left_out.get(component, ())]
        found.append(sum(kept, Decimal(0)) / len(kept))

    assert [Decimal(mean) for mean in means] == found
    weights = (Decimal("0.4"), Decimal("0.2"), Decimal("0.2"), Decimal("0.2"))
    assert Decimal(general) == sum((weight * mean for weight, mean in zip(weights, found, strict=True)), Decimal(0))


def test_the_outage_is_silent_once_and_loud_once() -> None:
    """outage-01 has four LLM rows without log and error, outage-02 four that begin with the model error."""
    llm = [
        r
        for r in rows("trap-judge-outage", "scores.csv")
        if r["comparator"] not in {"trajectory_matcher", "turn_count"}
    ]
    silent = {r["comparator"]: r["score"] for r in llm if not r["comparison_logs"] and not r["comparison_error"]}
    loud = [r for r in llm if r["comparison_logs"].startswith("Error calling model: 429 RESOURCE_EXHAUSTED")]

    assert {
        "goal_completion": "0.0",
        "behavioral_metrics": "100.0",
        "parameter_analysis": "100.0",
        "binary_rubric_scorer_0": "0.0",
    } == silent
    assert [("outage-02", "0.0")] * 4 == [(r["id"], r["score"]) for r in loud]


def test_the_contradictions_say_fail_beside_a_hundred() -> None:
    """Three goal rows and one rubric row open with FAIL in different dress, hold the letters PASS, and score 100."""
    contradicting = [
        (row["id"], row["comparator"])
        for row in rows("trap-judge-contradiction", "scores.csv")
        if re.match(r"(\*\*|Verdict: )?FAIL", row["comparison_logs"]) and row["score"] == "100.0"
    ]

    assert [
        ("contradiction-01", "goal_completion"),
        ("contradiction-01", "binary_rubric_scorer_0"),
        ("contradiction-02", "goal_completion"),
        ("contradiction-03", "goal_completion"),
    ] == contradicting


def test_the_crash_left_a_torn_row() -> None:
    """evals.csv ends inside a quoted cell of its third row, without a line end."""
    text = (RUNS / "trap-crash-no-summary" / "evals.csv").read_text(encoding="utf-8")

    assert text.endswith("The contact of Orch")
    assert 1 == text.count('"') % 2
    assert ["crash-01", "crash-02"] == [row["eval_id"] for row in rows("trap-crash-no-summary", "evals.csv")][:2]


def test_the_oddities_survived_version_control() -> None:
    """Byte order mark, CRLF, lone CR, NUL, an oversized cell and the ids are still in the bytes."""
    data = (RUNS / "trap-repr-oddities" / "evals.csv").read_bytes()

    assert data.startswith(b"\xef\xbb\xbf")
    assert data.endswith(b"\r\n")
    assert b"progress 10%\rprogress 100%" in data
    assert b"September\x00 invoice" in data
    assert all(literal in data for literal in (b"'max_turns': None", b"'strict': True", b"'weight': nan"))
    quoted = re.findall(rb'"((?:[^"]|"")*)"', data)
    assert max(len(cell) for cell in quoted) > CSV_CELL_LIMIT
    ids = [row["id"] for row in scores("trap-repr-oddities", "goal_completion")]
    assert ["007", "1e3", "NA"] == ids
    assert "" == scores("trap-repr-oddities", "goal_completion")[1]["score"]


def test_planted_secrets_stand_only_in_their_trap() -> None:
    """The marker is in configs, evals and scores of trap-secrets and in no other sample file."""
    holding = sorted(
        path.relative_to(RUNS).as_posix()
        for path in RUNS.rglob("*")
        if path.is_file() and b"PLANTED" in path.read_bytes()
    )

    assert [f"trap-secrets/{name}" for name in HARNESS_FILES[:3]] == holding
    config = configs("trap-secrets")
    assert 39 == len(config["model_config.env.GOOGLE_API_KEY"])
    assert "'password': 'PLANTED-hunter2'" in config["db_configs.sqlite"]
    evals = rows("trap-secrets", "evals.csv")
    for column in ("conversation_history", "scenario", "stderr", "stdout"):
        assert any("PLANTED" in row[column] for row in evals)


def test_nl2sql_rows_need_a_second_look() -> None:
    """Seven trials of four prompts out of order, with the failures where only evals.csv shows them."""
    evals = {row["id"]: row for row in rows("trap-nl2sql", "evals.csv")}
    table = rows("trap-nl2sql", "scores.csv")

    assert ["2_trial_1", "1_trial_1", "1_trial_0", "3_trial_0", "3_trial_1", "4_trial_0", "2_trial_0"] == list(evals)
    assert "metadata" not in evals["1_trial_0"]
    assert ["2_trial_1"] == [key for key, row in evals.items() if row["sql_generator_error"]]
    assert ["3_trial_0", "3_trial_1"] == [key for key, row in evals.items() if row["golden_error"]]
    assert evals["1_trial_0"]["generated_result"].endswith("]...and 3 more items truncated")
    consistency = [(r["id"], r["job_id"], r["prompt_id"]) for r in table if r["comparator"].endswith("_consistency")]
    assert [("", "", "2"), ("", "", "1"), ("", "", "3")] == consistency
    hundred = {(r["id"], r["comparator"]) for r in table if r["score"] == "100.0"}
    assert {("3_trial_1", "recall_match"), ("4_trial_0", "executable_sql")} <= hundred


def test_the_traps_stay_small() -> None:
    """All traps together are below 400 kB: a clone pays for them."""
    total = sum(path.stat().st_size for run in TRAPS for path in (RUNS / run).iterdir())

    assert 400_000 > total
