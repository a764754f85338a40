"""Summaries by a model in Airflow: where the key comes from, where it never goes, and that nothing waits for them."""

import json
import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.dags.nights import Night, Nights
from tests.gemini.serving import API_KEY, PROJECT, GeminiServer, gemini_server

STABLE, FAST = "inversion-stable-v1", "inversion-fast-v2"
RENDERED = "5132213177"
"""What `733173311*7` comes to, wherever somebody renders it."""
ANSWER = {
    "headline": "The run did what its evidence shows.", "went_well": [], "failures": [], "suspected_defects": [],
    "next_steps": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GeminiServer]:
    """A running Gemini-compatible server."""
    with gemini_server(tmp_path_factory.mktemp("gemini")) as server:
        yield server


@pytest.fixture
def server(started: GeminiServer, nights: Nights) -> GeminiServer:
    """The server, as new, in the place of Google for the DAG runs to come; it answers well."""
    started.reset()
    started.script(default={"text": json.dumps(ANSWER)})
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GEMINI_", "GCLOUD_", "CLOUDSDK_"))]:
        nights.patch.delenv(name)
    for name, url in started.environment().items():
        nights.patch.setenv(name, url)
    nights.patch.setenv("NO_PROXY", "127.0.0.1")
    return started


def connect(nights: Nights, **connection: object) -> None:
    """An Airflow connection, as an environment variable of the workers, named in the settings."""
    nights.patch.setenv("AIRFLOW_CONN_OUR_MODEL", json.dumps(connection))
    nights.set(summaries_connection="our_model")


def rows(nights: Nights) -> dict[str, tuple[str, str | None]]:
    """Run id → state and model of its summary."""
    found = [
        row
        for path in sorted(nights.lake.glob("trends/summaries/*/*.parquet"))
        for row in pq.read_table(path, partitioning=None).to_pylist()
    ]
    return {row["run_id"]: (row["state"], row["summary_model"]) for row in found}


def everything(nights: Nights, night: Night, printed: str) -> bytes:
    """Whatever a DAG run leaves: the whole Airflow home (database with XCom and rendered fields, logs), the lake, its
    errors, and what its processes printed."""
    home = [path for path in Path(os.environ["AIRFLOW_HOME"]).rglob("*") if path.is_file()]
    lake = [path for path in nights.lake.rglob("*") if path.is_file()]
    tables = [repr(pq.read_table(path, partitioning=None).to_pylist()) for path in lake if path.suffix == ".parquet"]
    errors = ["".join(traceback.format_exception(error)) for _, error in night.errors]
    told = "\n".join([printed, *tables, *errors, json.dumps(dict(night.told))])
    return b"\n".join([*(path.read_bytes() for path in (*home, *lake)), told.encode()])


def captured(capfd: pytest.CaptureFixture[str]) -> str:
    """What was printed so far, by children, too."""
    return "".join(capfd.readouterr())


@contextmanager
def as_a_worker(nights: Nights) -> Iterator[None]:
    """While the block runs, `summarize` has a process, a supervisor and a log file, as an executor gives it."""
    from airflow.sdk.execution_time import supervisor

    start = supervisor.ActivitySubprocess.start

    with nights.own_process("run_directory.summarize"), nights.patch.context() as patched, ExitStack() as files:

        def logged(*, client: Any, what: Any, **given: Any) -> Any:
            logger, file = supervisor._configure_logging(f"summarize/{what.map_index}.log", client)
            files.callback(file.close)
            return start(client=client, what=what, logger=logger, **given)

        patched.setattr(supervisor.ActivitySubprocess, "start", logged)
        yield


def test_the_key_of_the_environment(nights: Nights, server: GeminiServer, capfd: pytest.CaptureFixture[str]) -> None:
    """Each worker asks with it, says which way it took, and leaves it nowhere; a second DAG run asks nothing."""
    nights.bring(STABLE, FAST)
    nights.set(summaries="gemini")
    nights.patch.setenv("GOOGLE_API_KEY", API_KEY)
    with as_a_worker(nights):
        night = nights.run()
    assert {STABLE: ("generated", "gemini-2.5-flash"), FAST: ("generated", "gemini-2.5-flash")} == rows(nights)
    assert {"success"} == {state for name, state in night.tasks.items() if name.startswith("summarize")}
    assert 2 == len(server.calls())
    assert {API_KEY} == {call["headers"]["x-goog-api-key"] for call in server.calls()}
    left = everything(nights, night, captured(capfd))
    logs = b"".join(log.read_bytes() for log in Path(os.environ["AIRFLOW_HOME"]).glob("logs/summarize/*.log"))
    for said in ("summaries=gemini, and there is an API key", f"{STABLE}: generated"):
        assert said.encode() in logs
    assert night.run_id.encode() in left
    assert API_KEY.encode() not in left
    nights.run(since="2026-11-28", until="2026-11-28")
    assert 2 == len(server.calls())


def test_the_key_of_an_airflow_connection(
    nights: Nights, server: GeminiServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """`auto` finds it, too; it stays in the connection."""
    nights.bring(STABLE)
    nights.set(summaries="auto")
    connect(nights, conn_type="generic", password=API_KEY)
    night = nights.run()
    assert {STABLE: ("generated", "gemini-2.5-flash")} == rows(nights)
    assert [API_KEY] == [call["headers"]["x-goog-api-key"] for call in server.calls()]
    left = everything(nights, night, captured(capfd))
    assert night.run_id.encode() in left
    assert API_KEY.encode() not in left


@pytest.mark.parametrize("kind", ["key_path", "keyfile_dict"])
def test_vertex_by_a_google_connection(
    nights: Nights, server: GeminiServer, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """Its service account buys a token; project and account are the connection's, and neither key nor token stay."""
    nights.bring(STABLE)
    nights.set(summaries="vertex")
    account = server.service_account.read_text("utf-8")
    extra = {"key_path": str(server.service_account), "keyfile_dict": account}
    connect(nights, conn_type="google_cloud_platform", extra={kind: extra[kind], "project": PROJECT})
    night = nights.run()
    assert {STABLE: ("generated", "gemini-2.5-pro")} == rows(nights)
    (call,) = server.calls()
    assert f"/v1/projects/{PROJECT}/locations/global" == call["path"].split("/publishers")[0]
    (bought,) = [entry["claims"] for entry in server.journal() if entry["path"] == "/token"]
    assert json.loads(account)["client_email"] == bought["iss"]
    assert f"Google credentials for {PROJECT}" in "\n".join(night.told[f"summarize[{STABLE}]"])
    left = everything(nights, night, captured(capfd))
    middle = json.loads(account)["private_key"].splitlines()[5]
    assert [] == [secret for secret in (middle, "PRIVATE KEY", "ya29.") if secret.encode() in left]


@pytest.mark.parametrize(("key", "says"), [(None, "needs an API key"), ("AIza planted“key-of-nobody", "no key has")])
def test_without_a_key_everything_else_is_as_ever(
    nights: Nights, server: GeminiServer, capfd: pytest.CaptureFixture[str], key: str | None, says: str
) -> None:
    """`summarize` alone is red, at its first try, and names what to set; the same is decided, published and held."""
    nights.bring(STABLE, FAST)
    nights.set(summaries="gemini")
    if key is not None:
        nights.patch.setenv("GOOGLE_API_KEY", key)
    night = nights.run()
    red = {name for name, state in night.tasks.items() if state == "failed"}
    assert {f"summarize[{STABLE}]", f"summarize[{FAST}]", "enforce"} == red
    assert {1} == {night.tries[name] for name in red}
    assert says in night.error(f"summarize[{STABLE}]")
    assert "GOOGLE_API_KEY" in night.error(f"summarize[{STABLE}]")
    assert [] == server.calls()
    left = everything(nights, night, captured(capfd))
    assert b"planted" not in left
    decided = published(nights)
    shutil.rmtree(nights.lake)
    nights.set(summaries="off")
    without = nights.run()
    assert without.error("enforce") == night.error("enforce")
    assert without.decisions == night.decisions
    assert published(nights) == decided


def published(nights: Nights) -> dict[str, bytes]:
    """What is published beside summaries; when a decision was first taken is a lake's own."""
    but = ("summaries/", "trends/summaries/", "trends/decision_log/", "commits/", "index/")
    found = {name: data for name, data in nights.files().items() if not name.startswith(but)}
    assert any(name.startswith("trends/decisions/") for name in found)
    return found


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refused_key_is_a_state_in_a_row(
    nights: Nights, server: GeminiServer, capfd: pytest.CaptureFixture[str], status: int
) -> None:
    """Every Airflow task is green; the provider's error, which repeats the key, is passed on to nobody."""
    nights.bring(STABLE)
    nights.set(summaries="gemini")
    nights.patch.setenv("GOOGLE_API_KEY", API_KEY)
    server.script(default={"status": status})
    night = nights.run()
    assert {"success"} == {*night.tasks.values(), night.state}
    assert {STABLE: ("unavailable", None)} == rows(nights)
    left = everything(nights, night, captured(capfd))
    assert [] == [piece for piece in (API_KEY, "refused; credential") if piece.encode() in left]


def test_braces_of_a_run_are_never_rendered(
    nights: Nights, server: GeminiServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """A directory named like a template keeps its name in the grid, in the lake and in what is asked."""
    name = "{{ 733173311*7 }}{{ var.value.x }}"
    nights.bring(STABLE)
    (nights.runs / STABLE).rename(nights.runs / name)
    told: dict[str, Any] = {**ANSWER, "headline": "It wrote {{ params }}."}
    server.script(default={"text": json.dumps(told)})
    nights.set(summaries="gemini")
    nights.patch.setenv("GOOGLE_API_KEY", API_KEY)
    night = nights.run()
    assert {f"score[{name}]", f"summarize[{name}]"} == {task for task in night.tasks if "[" in task}
    assert {STABLE: ("generated", "gemini-2.5-flash")} == rows(nights)
    assert {"success"} == {*night.tasks.values()}
    (text,) = [json.loads(path.read_bytes())["text"] for path in nights.lake.glob("summaries/*/*.json")]
    assert "It wrote { { params }}." in text
    assert RENDERED.encode() not in everything(nights, night, captured(capfd))
