"""The command line over the samples: exit codes, one JSON document, errors in a line, pages that fit a terminal."""

import csv
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.cli import main

SAMPLES = ("inversion-stable-v1", "inversion-fast-v2")
CLOCK = "2026-12-02T06:00:00Z"
HOSTILE = "\x1b[31mred\x1b[0m [bold]loud[/bold] \u202egnp"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed clock after the samples' dates, and a terminal of 80 columns."""
    monkeypatch.setenv("EVALBENCH_CLOCK", CLOCK)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def inversion(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A runs root with the two candidates of the release inversion only."""
    runs = tmp_path_factory.mktemp("inversion")
    for name in SAMPLES:
        shutil.copytree(root / "include" / "samples" / "runs" / name, runs / name)
    return runs


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, inversion: Path, root: Path) -> Path:
    """A lake with the release inversion published."""
    place = tmp_path_factory.mktemp("lake")
    done = evalbench("run", inversion, "--lake", place, "--routing", routing(root))
    assert 3 == done.returncode, done.stderr
    return place


def routing(root: Path) -> Path:
    """The samples' routing file."""
    return root / "include" / "samples" / "routing.yaml"


def evalbench(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a process of its own."""
    return subprocess.run(
        [Path(sys.executable).parent / "evalbench", *map(str, arguments)],
        env=os.environ | {"EVALBENCH_CLOCK": CLOCK, "COLUMNS": "80"} | env,
        capture_output=True,
        text=True,
        check=False,
    )


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the command in this process."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def decisions(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A report's decisions by candidate."""
    return {decision["candidate"]: decision for decision in report["decisions"]}


def test_run_prints_the_release_inversion_as_one_document(inversion: Path, tmp_path: Path, root: Path) -> None:
    """The two candidates, to the digit, with exit code 3; stdout is one JSON document and nothing else."""
    done = evalbench("run", inversion, "--lake", tmp_path / "lake", "--routing", routing(root), "--json")
    assert 3 == done.returncode
    report = json.loads(done.stdout)
    assert {"decisions", "runs", "accounting"} <= report.keys()
    found = decisions(report)
    assert {"stable-v1": "PASS", "fast-v2": "FAIL"} == {name: one["decision"] for name, one in found.items()}
    signals = {
        name: {signal: (one["numerator"], one["denominator"]) for signal, one in decision["signals"].items()}
        for name, decision in found.items()
    }
    assert (3.272, 4) == signals["stable-v1"]["task_quality"]
    assert (14, 14) == signals["stable-v1"]["useful_progress"]
    assert (5, 5) == signals["stable-v1"]["effect_integrity"]
    assert (0, 4) == signals["stable-v1"]["false_success"]
    assert (4.51, 5) == signals["fast-v2"]["task_quality"]
    assert (15, 16) == signals["fast-v2"]["useful_progress"]
    assert (4, 5) == signals["fast-v2"]["effect_integrity"]
    assert (1, 5) == signals["fast-v2"]["false_success"]
    assert "false_success" == found["fast-v2"]["decided_by"]
    assert ["false_success"] == [check["name"] for check in found["fast-v2"]["checks"] if check["proven"]]
    assert 2 == report["accounting"]["scored"]


def test_jobs_change_no_result(inversion: Path, tmp_path: Path, root: Path, lake: Path) -> None:
    """Two processes give the decisions and the tables that one gives, byte for byte."""
    done = evalbench("run", inversion, "--lake", tmp_path, "--routing", routing(root), "--jobs", 2)
    assert 3 == done.returncode, done.stderr
    tables = {path.relative_to(lake): path.read_bytes() for path in (lake / "trends" / "decisions").rglob("*.parquet")}
    assert tables == {name: (tmp_path / name).read_bytes() for name in tables}
    assert 1 <= len(tables)


def test_gate_decides_from_the_lake_alone(capsys: pytest.CaptureFixture[str], lake: Path, root: Path) -> None:
    """gate gives run's decisions without any run file, changes no file, and exits by them."""
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    code, out, _ = call(capsys, "gate", "--lake", lake, "--routing", routing(root), "--json")
    assert 3 == code
    assert {"stable-v1": "PASS", "fast-v2": "FAIL"} == {
        name: one["decision"] for name, one in decisions(json.loads(out)).items()
    }
    assert before == {path: path.stat().st_mtime_ns for path in lake.rglob("*")}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--candidate", "stable-v1"], 0),
        (["--candidate", "fast-v2"], 3),
        (["--candidate", "fast-v2", "--candidate", "stable-v1"], 3),
        (["--since", "2027-01-01"], 0),
        (["--until", "2020-01-01"], 0),
    ],
)
def test_the_exit_code_follows_the_decisions_in_scope(
    capsys: pytest.CaptureFixture[str], lake: Path, root: Path, options: list[str], expected: int
) -> None:
    """0 when every decision in scope is PASS or there is none, 3 when any is FAIL."""
    code, _, err = call(capsys, "gate", "--lake", lake, "--routing", routing(root), *options)
    assert (expected, "") == (code, err)


def test_missing_evidence_alone_exits_with_4(
    capsys: pytest.CaptureFixture[str], sample_runs: Path, tmp_path: Path
) -> None:
    """Replayed runs under the default policy: a judge is no destination check, so nothing is proven either way."""
    runs = tmp_path / "runs"
    shutil.copytree(sample_runs / "trap-misspelt-product", runs / "one")
    code, out, _ = call(capsys, "run", runs, "--lake", tmp_path / "lake", "--json")
    assert ["INSUFFICIENT_EVIDENCE"] == [decision["decision"] for decision in json.loads(out)["decisions"]]
    assert 4 == code


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["gate", "--lake", "L", "--since", "yesterday"], 2, "--since"),
        (["gate", "--lake", "L", "--nonsense"], 2, "--nonsense"),
        (["frobnicate"], 2, "frobnicate"),
        (["gate"], 2, "EVALBENCH_LAKE"),
        (["run", "nowhere", "--lake", "L"], 1, "nowhere"),
        (["run", "nowhere", "--lake", "L", "--policy", "no.yaml"], 2, "no.yaml"),
        (["run", "nowhere", "--lake", "L", "--timezone", "Mars/Olympus"], 2, "timezone"),
        (["run", "nowhere", "--lake", "L", "--summaries", "poetry"], 2, "summaries"),
        (["score", "nowhere"], 2, "nowhere"),
        (["doctor", "nowhere"], 2, "nowhere"),
        (["query", "--lake", "nowhere", "SELECT 1"], 2, "nowhere"),
        (["schema", "nosuch"], 2, "nosuch"),
        (["schema", "--format", "xml"], 2, "xml"),
        (["schema", "trial-record", "--format", "bigquery"], 2, "trial-record"),
    ],
)
def test_an_error_is_one_line_and_one_document(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    """What can't be done is said in one line on stderr without a traceback; with --json stdout is an error document."""
    monkeypatch.chdir(tmp_path)
    found, out, err = call(capsys, *arguments)
    assert (code, "") == (found, out)
    assert 1 == len(err.splitlines())
    assert words in err
    if arguments[0] in {"run", "gate", "score", "doctor"} and "--nonsense" not in arguments:
        found, out, _ = call(capsys, *arguments, "--json")
        assert code == found
        assert code == json.loads(out)["error"]["exit_code"]


def test_an_unexpected_error_shows_its_traceback_on_demand_only(tmp_path: Path) -> None:
    """A bug is exit code 1 and a line; EVALBENCH_DEBUG=1 adds the traceback."""
    broken = "import evalbench.cli.inputs as i, sys\ndef f(*a): raise RuntimeError('boom')\ni.load_settings = f\n"
    program = f"{broken}from evalbench.cli import main\nsys.exit(main(['gate', '--lake', {str(tmp_path)!r}]))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | env, capture_output=True, text=True, check=False
        )
        for env in ({}, {"EVALBENCH_DEBUG": "1"})
    ]
    assert [1, 1] == [done.returncode for done in runs]
    assert [False, True] == ["Traceback" in done.stderr for done in runs]
    assert ["boom" in done.stderr for done in runs] == [True, True]


def test_pages_say_what_decided_before_the_numbers(capsys: pytest.CaptureFixture[str], lake: Path, root: Path) -> None:
    """A person reads the word, the deciding check, counts before rates, both ends, and what would flip it."""
    code, out, _ = call(capsys, "gate", "--lake", lake, "--routing", routing(root))
    assert 3 == code
    fast = out[out.index("FAIL  fast-v2") :]
    assert fast.index("Decided by false_success (proven)") < fast.index("task quality")
    for words in (
        "4.51/5  0.902",
        "15/16",
        "4/5  0.800",
        "$1.89/3  $0.63",
        "1/5  0.200",
        "Funnel",
        "To flip",
        "$0.4725",
    ):
        assert words in fast
    assert "$2.068/4  $0.52" in out


def test_the_board_comes_first(capsys: pytest.CaptureFixture[str], lake: Path, root: Path) -> None:
    """A line per decision, before any detail, without escape codes where stdout is no terminal; sentences fold."""
    _, out, _ = call(capsys, "gate", "--lake", lake, "--routing", routing(root))
    rows = [line.split() for line in out.splitlines()[:3]]
    assert [
        ["decision", "candidate", "suite", "date", "decided", "by"],
        ["FAIL", "fast-v2", "inversion", "2026-11-28", "false_success"],
        ["PASS", "stable-v1", "inversion", "2026-11-28", "-"],
    ] == rows
    assert "\x1b" not in out
    assert 80 >= max(len(line) for line in out.splitlines() if line.startswith(("  Decided", "  To flip", "   ")))


def test_a_decision_says_what_it_rests_on(capsys: pytest.CaptureFixture[str], lake: Path, root: Path) -> None:
    """Policy and how it came to hold, scope, baseline; an attestation that spoke for nothing is named."""
    arguments = ("gate", "--lake", lake, "--candidate", "fast-v2")
    _, out, _ = call(capsys, *arguments, "--routing", routing(root))
    page = " ".join(out.split())
    assert "Policy release_inversion 1 (route release-inversion / inversion)" in page
    assert "Scope 5 tasks, 1 run of 1 day, dataset version 1, consequential, as of 2026-11-29 00:00 UTC" in page
    assert "Baseline not named" in page
    _, out, _ = call(capsys, *arguments)
    assert "Policy consequential 1 (the default: no route matches)" in " ".join(out.split())
    _, out, _ = call(
        capsys, *arguments, "--policy", routing(root).parent / "tau_bench_policy.yaml", "--baseline", "stable-v1"
    )
    page = " ".join(out.split())
    assert "Policy tau_bench_airline 1 (given, instead of the routing's)" in page
    assert "Baseline stable-v1, compared, and not used: an earlier check fired" in page
    assert "Attestation goal_completion matched no row of these runs (product release-inversion, " in page


def test_names_fold_between_their_segments(sample_runs: Path, tmp_path: Path) -> None:
    """On a terminal too narrow for the board, a name is folded after `/ _ . -`, never inside a word."""
    for name in ("trap-misspelt-product", "trap-judge-contradiction"):
        shutil.copytree(sample_runs / name, tmp_path / "runs" / name)
    command = [Path(sys.executable).parent / "evalbench", "run", tmp_path / "runs", "--lake", tmp_path / "lake"]
    _, shown = terminal_output([str(part) for part in command], columns="84")
    board = shown[shown.index("decided by") :].split("\r\n\r\n")[0]
    assert "evalset" not in board
    words = set(re.findall(r"[a-z]+", re.sub(r"\x1b\[[0-9;]*m", "", board)))
    assert {"synthetic", "contradiction", "misspelt", "product", "coverage"} <= words


def test_text_from_runs_stays_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A candidate's name can neither colour the terminal, nor be read as markup, nor turn the text around."""
    run = tmp_path / "runs" / "hostile"
    run.mkdir(parents=True)
    manifest = {"run_id": "h", "candidate": HOSTILE, "product": "p", "dataset": "d", "run_time": "2026-11-30T00:00:00Z"}
    (run / "run.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    (run / "trials.jsonl").write_text('{"task_id": "t", "status": "completed"}\n', encoding="utf-8")
    for arguments in (("run", tmp_path / "runs", "--lake", tmp_path / "lake"), ("score", run), ("doctor", run)):
        code, out, _ = call(capsys, *arguments)
        assert code in {0, 4}
        assert "[bold]loud[/bold]" in " ".join(out.split())
        assert not {"\x1b", "\u202e"} & set(out)


def test_provisional_decisions_are_marked(
    capsys: pytest.CaptureFixture[str], inversion: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decision about a day that is not over says so in the document and on the page."""
    lines = (inversion / SAMPLES[0] / "run.yaml").read_text(encoding="utf-8")
    day = re.search(r"run_time: *\W?(\d{4}-\d{2}-\d{2})", lines)
    assert day is not None
    monkeypatch.setenv("EVALBENCH_CLOCK", f"{day[1]}T23:00:00Z")
    arguments = ("run", inversion, "--lake", tmp_path / "lake", "--routing", routing(root), "--candidate", "stable-v1")
    _, out, _ = call(capsys, *arguments, "--json")
    assert [True] == [decision["provisional"] for decision in json.loads(out)["decisions"]]
    _, out, _ = call(capsys, *arguments)
    assert "PROVISIONAL" in out


def test_score_prints_one_run(capsys: pytest.CaptureFixture[str], sample_runs: Path) -> None:
    """score recomputes a run's metrics from its rows, and names what General Score is made of."""
    code, out, _ = call(capsys, "score", sample_runs / "trap-judge-outage", "--json")
    found = json.loads(out)
    assert 0 == code
    assert (75.5, []) == (found["general_score"]["value"], found["general_score"]["missing"])
    goal = found["metrics"]["goal_completion"]
    assert (1, 2, 2) == (goal["passed"], goal["denominator"], goal["unavailable"])
    assert isinstance(found["defect_list"], list)
    code, out, _ = call(capsys, "score", sample_runs / "49e5b728-f934-4e6b-9ced-70b5db228928")
    page = " ".join(out.split())
    assert "no row of behavioral_metrics, parameter_analysis" in page
    assert "File defects none; 151 score rows gave no verdict" in page


def test_doctor_compares_claims_with_recomputed_numbers(capsys: pytest.CaptureFixture[str], sample_runs: Path) -> None:
    """doctor's page names the judge failures and says why the summary misleads; exit code 0 though all is wrong."""
    code, out, _ = call(capsys, "doctor", sample_runs / "trap-judge-contradiction")
    assert 0 == code
    page = " ".join(out.split())
    assert "goal_completion: 3 of 4 rows hold no verdict (judge_contradiction)." in page
    assert "claimed against recomputed" in page


@pytest.mark.parametrize("verb", ["doctor", "score"])
def test_a_folder_of_runs_is_told_from_a_run(capsys: pytest.CaptureFixture[str], inversion: Path, verb: str) -> None:
    """It is a usage error that names runs in it."""
    code, out, err = call(capsys, verb, inversion)
    assert (2, "") == (code, out)
    assert f"{inversion} is a folder of runs (inversion-fast-v2, inversion-stable-v1)" in err


def test_a_run_is_told_from_a_runs_root(capsys: pytest.CaptureFixture[str], inversion: Path, tmp_path: Path) -> None:
    """A runs root that is itself a run directory is a usage error, not an empty root."""
    one = inversion / SAMPLES[0]
    code, _, err = call(capsys, "run", one, "--lake", tmp_path / "lake")
    assert (2, f"evalbench: {one} is a run directory; give the folder that holds it\n") == (code, err)


def test_nothing_decided_permits_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without any run it is no error; with directories in range that could not be scored it holds, and names them."""
    runs = tmp_path / "runs"
    runs.mkdir()
    code, out, _ = call(capsys, "run", runs, "--lake", tmp_path / "lake")
    assert (0, True) == (code, "Nothing was decided: no run in scope, so nothing is permitted." in out)
    (runs / "no-time").mkdir()
    (runs / "no-time" / "trials.jsonl").write_text('{"task_id": "t"}\n', encoding="utf-8")
    code, out, _ = call(capsys, "run", runs, "--lake", tmp_path / "lake")
    assert (4, True) == (
        code,
        "Nothing was decided, so nothing is permitted: 1 directory in range" in " ".join(out.split()),
    )
    assert re.search(r"^no-time +quarantined: no run time +No readable run time", out, re.MULTILINE)
    code, out, _ = call(capsys, "run", runs, "--lake", tmp_path / "lake", "--json")
    assert [("no-time", "quarantined", "no_run_time", None)] == [
        tuple(state[key] for key in ("path", "disposition", "reason", "run_date"))
        for state in json.loads(out)["not_scored"]
    ]


def test_a_pending_run_of_another_day_holds_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A directory that could not be scored counts in the range its own date is in."""
    run = tmp_path / "runs" / "unfinished"
    run.mkdir(parents=True)
    (run / "run.yaml").write_text("run_time: 2026-12-02T01:00:00Z\nplanned: {tasks: [t]}\n", encoding="utf-8")
    arguments = ("run", tmp_path / "runs", "--lake", tmp_path / "lake")
    assert 4 == call(capsys, *arguments, "--since", "2026-12-02")[0]
    assert 0 == call(capsys, *arguments, "--until", "2026-12-01")[0]


def test_names_nobody_ran_are_usage_errors(capsys: pytest.CaptureFixture[str], lake: Path, root: Path) -> None:
    """A candidate or a baseline without a run in scope is more likely misspelt than meant."""
    for option in ("--candidate", "--baseline"):
        code, out, err = call(capsys, "gate", "--lake", lake, "--routing", routing(root), option, "stabel-v1")
        assert (2, "") == (code, out)
        assert "stabel-v1 has no run in scope" in err


def test_a_route_that_matches_nothing_is_said(
    capsys: pytest.CaptureFixture[str], inversion: Path, tmp_path: Path, root: Path
) -> None:
    """A line on stderr, only when everything that stands was asked for."""
    arguments = ("run", inversion, "--lake", tmp_path, "--routing", routing(root))
    warning = "the route tau-bench-airline / tau_airline matched no subject of these runs"
    _, out, err = call(capsys, *arguments, "--json")
    assert (1, True) == (len(err.splitlines()), warning in err)
    assert ["tau-bench-airline / tau_airline"] == json.loads(out)["idle_routes"]
    assert "" == call(capsys, *arguments, "--candidate", "fast-v2")[2]


def test_no_planted_secret_reaches_any_output(
    capsys: pytest.CaptureFixture[str], sample_runs: Path, tmp_path: Path
) -> None:
    """Whatever verb looks at the directory with planted secrets, none of them is printed."""
    runs = tmp_path / "runs"
    shutil.copytree(sample_runs / "trap-secrets", runs / "trap-secrets")
    for arguments in (
        ("run", runs, "--lake", tmp_path / "lake"),
        ("gate", "--lake", tmp_path / "lake"),
        ("score", runs / "trap-secrets"),
        ("doctor", runs / "trap-secrets"),
    ):
        for extra in ((), ("--json",)):
            _, out, err = call(capsys, *arguments, *extra)
            assert "PLANTED" not in out + err


def test_query_formats_agree(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    """Decimals keep every digit, NULL is told from an empty text, quotes follow RFC 4180, dates are ISO."""
    sql = (
        "SELECT CAST(1.5 AS DECIMAL(38,9)) AS d, NULL AS n, '' AS e, 'a,\"b\"' AS q, DATE '2026-11-30' AS day,"
        " 12345678901234567890.123456789::DECIMAL(38,9) AS big, true AS yes"
    )
    code, out, _ = call(capsys, "query", "--lake", lake, "--format", "csv", sql)
    assert 0 == code
    assert 'd,n,e,q,day,big,yes\r\n1.5,NULL,,"a,""b""",2026-11-30,12345678901234567890.123456789,true\r\n' == out
    _, out, _ = call(capsys, "query", "--lake", lake, "--format", "json", sql)
    row = json.loads(out, parse_float=Decimal)[0]
    assert (Decimal("12345678901234567890.123456789"), None, "", "2026-11-30", True) == (
        row["big"], row["n"], row["e"], row["day"], row["yes"],
    )  # fmt: skip
    _, out, _ = call(capsys, "query", "--lake", lake, sql)
    assert "NULL" in out
    assert "12345678901234567890.123456789" in out


def test_query_json_is_ascii(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    """Control characters and everything beyond ASCII are escaped, and read back as they were."""
    _, out, _ = call(capsys, "query", "--lake", lake, "--format", "json", "SELECT 'é' || chr(155) || chr(27) AS x")
    assert out.isascii()
    assert "\x1b" not in out
    assert [{"x": "é\x9b\x1b"}] == json.loads(out)


def test_a_wide_table_is_not_folded_where_nobody_looks(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    """Where stdout is no terminal, a row is a line however wide; on a narrow terminal it becomes a block."""
    sql = "SELECT " + ", ".join(f"{number} AS column_number_{number}" for number in range(20))
    _, out, _ = call(capsys, "query", "--lake", lake, sql)
    assert 3 == len(out.splitlines())
    command = [str(Path(sys.executable).parent / "evalbench"), "query", "--lake", str(lake), sql]
    code, shown = terminal_output(command)
    assert 0 == code
    assert 20 <= len(shown.splitlines())


def test_query_reads_what_run_published(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    """The decisions are in the tables, one row each."""
    _, out, _ = call(
        capsys, "query", "--lake", lake, "--format", "csv", "SELECT candidate, decision FROM decisions ORDER BY ALL"
    )
    assert [["candidate", "decision"], ["fast-v2", "FAIL"], ["stable-v1", "PASS"]] == list(csv.reader(io.StringIO(out)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELEC 1",
        "DROP VIEW runs",
        "SELECT 1; SELECT 2",
        "SELECT * FROM '/etc/passwd'",
        "SELECT 1 AS a, 2 AS a",
    ],
)
def test_query_answers_reads_only(capsys: pytest.CaptureFixture[str], lake: Path, sql: str) -> None:
    """A statement that is no single SELECT over the tables is a usage error, in one document with --format json."""
    code, out, err = call(capsys, "query", "--lake", lake, "--format", "json", sql)
    assert (2, 1) == (code, len(err.splitlines()))
    assert 2 == json.loads(out)["error"]["exit_code"]


def test_schema_is_the_generated_data_dictionary(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    """Without a table, Markdown is docs/tables.md; JSON names every table; a trial record has a JSON Schema."""
    code, out, _ = call(capsys, "schema", "--format", "md")
    assert (0, (root / "docs" / "tables.md").read_text(encoding="utf-8")) == (code, out)
    _, out, _ = call(capsys, "schema", "--format", "json")
    assert {"runs", "trials", "signals", "decisions"} <= json.loads(out).keys()
    _, out, _ = call(capsys, "schema", "runs", "--format", "bigquery")
    assert "run_date" in {field["name"] for field in json.loads(out)}
    _, out, _ = call(capsys, "schema", "runs")
    assert out.startswith("## runs\n")
    _, out, _ = call(capsys, "schema", "trial-record")
    assert ["task_id"] == json.loads(out)["required"]


def test_help_loads_no_engine() -> None:
    """`evalbench --help` imports neither pandas, pyarrow, duckdb nor scipy."""
    program = (
        "import sys\nfrom evalbench.cli import main\ncode = main(['--help'])\n"
        "print(code, sorted({'pandas', 'pyarrow', 'duckdb', 'scipy', 'airflow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "0 []" == done.stderr.strip()
    for verb in ("run", "gate", "score", "doctor", "query", "schema"):
        assert verb in done.stdout


def test_a_closed_pipe_changes_nothing(lake: Path, root: Path) -> None:
    """A reader that goes away leaves the exit code and an empty stderr."""
    command = [Path(sys.executable).parent / "evalbench", "gate", "--lake", str(lake), "--routing", str(routing(root))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"EVALBENCH_CLOCK": CLOCK}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        assert (3, "") == (process.wait(), said)


def test_an_answer_that_cannot_be_written_is_an_error(lake: Path, root: Path) -> None:
    """A full disk behind stdout is exit code 1 and a line, never a silent success."""
    command = [Path(sys.executable).parent / "evalbench", "gate", "--lake", str(lake), "--routing", str(routing(root))]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert 1 == done.returncode
    assert "stdout can't be written" in done.stderr
    assert 1 == len(done.stderr.splitlines())


def test_interrupted_is_130_without_a_traceback(tmp_path: Path) -> None:
    """Ctrl-C ends a verb with 130 and one line, whatever it was doing."""
    program = (
        "import signal, sys, time\nimport evalbench.cli.inputs as inputs\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background of a shell ignore it
        "def wait(*_):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "inputs.load_settings = wait\n"
        f"from evalbench.cli import main\nsys.exit(main(['gate', '--lake', {str(tmp_path)!r}]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert (130, 1) == (process.wait(), len(said.splitlines()))


def terminal_output(command: list[str], columns: str = "100") -> tuple[int, str]:
    """(exit code, everything shown) of a command on a pseudo-terminal of its own."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        command,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=os.environ | {"EVALBENCH_CLOCK": CLOCK, "COLUMNS": columns, "TERM": "xterm-256color"},
    ) as process:
        os.close(follower)
        shown = b"".join(_chunks(leader))
        os.close(leader)
        return process.wait(), shown.decode("utf-8", "replace")


def _chunks(leader: int) -> Iterator[bytes]:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 1)[0]:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                return
            if not chunk:
                return
            yield chunk


def test_a_terminal_gets_colours_and_a_progress_bar(inversion: Path, tmp_path: Path, root: Path) -> None:
    """On a terminal decisions are coloured, and scoring shows a bar."""
    command = [Path(sys.executable).parent / "evalbench", "run", inversion, "--lake", tmp_path / "lake"]
    code, shown = terminal_output([str(part) for part in (*command, "--routing", routing(root))])
    assert 3 == code
    assert "\x1b[1;31mFAIL" in shown
    assert "2/2" in shown
