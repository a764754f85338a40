"""What the product's own tests rely on: that the emulators refuse what Google refuses, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from google.api_core.exceptions import BadRequest, Conflict, NotFound, PreconditionFailed
from google.cloud.bigquery import LoadJob, LoadJobConfig, QueryJobConfig, ScalarQueryParameter, SchemaField, Table
from google.cloud.storage import Bucket
from tests.cloud.emulators import BigQuery, Gcs
from tests.cloud.install import find_python

FAILS = "#!/bin/sh\nexit 127\n"
RUNS = "#!/bin/sh\nexit 0\n"


def test_a_write_that_depends_on_another_generation_is_refused(bucket: Bucket) -> None:
    """412 for whoever is slower, whatever was written meanwhile, and for a second creation; the first bytes stay."""
    first = bucket.blob("commits/2026-01-01.json")
    first.upload_from_string(b"one", if_generation_match=0)
    seen = first.generation
    bucket.blob(first.name).upload_from_string(b"two", if_generation_match=seen)
    for generation in (seen, 0):
        with pytest.raises(PreconditionFailed):
            bucket.blob(first.name).upload_from_string(b"late", if_generation_match=generation)
    assert b"two" == bucket.blob(first.name).download_as_bytes()


def test_a_job_id_is_used_once(bigquery: BigQuery, dataset: str, bucket: Bucket) -> None:
    """409 for a second load under the same id, also after one that failed; the job then says what became of it."""
    client = bigquery.client()
    client.create_dataset(dataset)
    schema = [SchemaField("n", "INTEGER")]
    client.create_table(Table(f"{dataset}.staging", schema=schema))
    bucket.blob("rows.jsonl").upload_from_string(b'{"n": 1}\n{"n": 2}\n')
    config = LoadJobConfig(schema=schema, source_format="NEWLINE_DELIMITED_JSON", create_disposition="CREATE_NEVER")

    def load(name: str, job_id: str) -> None:
        uri = f"gs://{bucket.name}/{name}"
        client.load_table_from_uri(uri, f"{dataset}.staging", job_id=job_id, job_config=config).result()

    done, failed = f"{dataset.partition('.')[2]}-done", f"{dataset.partition('.')[2]}-failed"
    load("rows.jsonl", done)
    with pytest.raises(BadRequest):
        load("absent.jsonl", failed)
    for job_id in (done, failed):
        with pytest.raises(Conflict, match=f"Already Exists: Job .*{job_id}"):
            load("rows.jsonl", job_id)
    with pytest.raises(NotFound):
        client.get_job(f"{done}-never")
    job = client.get_job(done)
    assert isinstance(job, LoadJob)
    assert (None, 2, 2) == (job.error_result, job.output_rows, client.get_table(f"{dataset}.staging").num_rows)
    assert "invalid" == client.get_job(failed).error_result["reason"]


def test_a_script_that_fails_leaves_every_table_as_it_was(bigquery: BigQuery, dataset: str) -> None:
    """What an ASSERT says is the error; of the transaction before it nothing is there, in no table."""
    client = bigquery.client()
    client.create_dataset(dataset)
    for name in ("one", "two"):
        client.query_and_wait(f"CREATE TABLE `{dataset}.{name}` AS SELECT 1 AS seq")
    swap = f"""
        BEGIN TRANSACTION;
        DELETE FROM `{dataset}.one` WHERE TRUE;
        INSERT INTO `{dataset}.two` (seq) VALUES (2);
        ASSERT (SELECT MAX(seq) FROM `{dataset}.two`) = @expected AS 'the race is lost';
        COMMIT TRANSACTION;"""

    def run(expected: int) -> None:
        config = QueryJobConfig(query_parameters=[ScalarQueryParameter("expected", "INT64", expected)])
        client.query_and_wait(swap, job_config=config)

    def rows() -> list[list[int]]:
        return [sorted(row["seq"] for row in client.list_rows(f"{dataset}.{name}")) for name in ("one", "two")]

    with pytest.raises(BadRequest, match="the race is lost"):
        run(expected=3)
    assert [[1], [1]] == rows()
    run(expected=2)
    assert [[], [1, 2]] == rows()


def test_bigquery_loads_what_is_in_cloud_storage_and_reading_a_table_is_no_job(
    bigquery: BigQuery, dataset: str, bucket: Bucket
) -> None:
    """One load job for two objects; listing rows afterwards adds none, so that jobs can be counted."""
    client = bigquery.client()
    client.create_dataset(dataset)
    for number in (1, 2):
        bucket.blob(f"rows/{number}.csv").upload_from_string(f"{number}\n".encode())
    uris = [f"gs://{bucket.name}/rows/{number}.csv" for number in (1, 2)]
    before = {job.job_id for job in client.list_jobs()}
    config = LoadJobConfig(schema=[SchemaField("n", "INTEGER")], source_format="CSV")
    load = client.load_table_from_uri(uris, f"{dataset}.loaded", job_config=config)
    load.result()
    assert [1, 2] == sorted(row["n"] for row in client.list_rows(f"{dataset}.loaded"))
    assert {load.job_id} == {job.job_id for job in client.list_jobs()} - before


def test_an_emulator_ends_with_whoever_started_it(root: Path, tmp_path: Path) -> None:
    """Also when that is killed, which can stop nothing any more."""
    code = (
        "import sys, time; from pathlib import Path; from tests.cloud.emulators import fake_gcs\n"
        "with fake_gcs(Path(sys.argv[1])) as server: print(server.url, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert answers(url)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not answers(url)


def test_two_emulators_know_nothing_of_each_other(gcs: Gcs, root: Path, tmp_path: Path) -> None:
    """Each starts empty, on a port of its own: two processes of the tests share none."""
    gcs.bucket("of-this-one-only")
    code = (
        "import sys; from pathlib import Path; from tests.cloud.emulators import fake_gcs\n"
        "with fake_gcs(Path(sys.argv[1])) as server: print(server.url, *server.client().list_buckets())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=root, capture_output=True, check=True, text=True
    )
    (other,) = said.stdout.split()
    assert other != gcs.url


def python(folder: Path, name: str, text: str) -> Path:
    """A program of this name in a new folder; where it is."""
    folder.mkdir(parents=True)
    program = folder / name
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


def test_a_python_is_found_behind_a_shim_that_fails(tmp_path: Path) -> None:
    """pyenv puts a `python3.13` on the PATH that only runs where somebody chose it; the next one is taken."""
    shim = python(tmp_path / "shims", "python3.13", FAILS)
    good = python(tmp_path / "usr", "python3.13", RUNS)
    environment = {"PATH": f"{shim.parent}{os.pathsep}{good.parent}"}
    assert str(good) == find_python(environment, tmp_path / "no-uv")


@pytest.mark.parametrize("variable", ["PYENV_ROOT", "HOME"])
def test_a_python_is_found_among_those_of_pyenv(tmp_path: Path, variable: str) -> None:
    """None of pyenv's versions needs to be chosen, and pyenv needs not be on the PATH."""
    root = tmp_path if variable == "PYENV_ROOT" else tmp_path / ".pyenv"
    shim = python(tmp_path / "shims", "python3.13", FAILS)
    python(root / "versions" / "3.12.1" / "bin", "python", RUNS)
    good = python(root / "versions" / "3.13.0" / "bin", "python", RUNS)
    assert str(good) == find_python({"PATH": str(shim.parent), variable: str(tmp_path)}, tmp_path / "no-uv")


def test_a_python_is_found_that_only_uv_knows(tmp_path: Path) -> None:
    """As a last resort uv is asked, which may download nothing."""
    good = python(tmp_path / "managed", "python", RUNS)
    uv = python(tmp_path / "bin", "uv", f'#!/bin/sh\ncase "$*" in *--no-python-downloads*3.14) echo {good};; esac\n')
    assert str(good) == find_python({"PATH": str(tmp_path)}, uv)


def test_a_python_is_asked_what_it_is(tmp_path: Path) -> None:
    """Not taken for its name when it is an older one; where none will do, none is found."""
    this = python(tmp_path / "bin", "python3.13", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    expected = str(this) if sys.version_info >= (3, 13) else None
    assert expected == find_python({"PATH": str(this.parent)}, tmp_path / "no-uv")


def answers(url: str) -> bool:
    """Whether somebody listens there."""
    try:
        with urlopen(f"{url}/storage/v1/b", timeout=5):  # noqa: S310 - our own address
            return True
    except (URLError, OSError):
        return False
