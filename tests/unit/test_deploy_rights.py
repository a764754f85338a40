"""The scripts that grant rights grant what is documented. A recorder stands in the place of Google's commands."""

import os
import re
import subprocess
from pathlib import Path

import pytest

PROJECT, BUCKET = "some-project", "some-bucket"
# Stands where gcloud and bq would: writes down what it was asked, and says that nothing exists yet.
RECORDER = """#!/bin/sh
printf '%s\\n' "$(basename "$0") $*" >> "$RECORD"
case " $* " in *" describe "* | *" show "*) exit 1 ;; esac
"""


@pytest.fixture(scope="module")
def document(root: Path) -> str:
    """docs/deploy.md."""
    return (root / "docs" / "deploy.md").read_text(encoding="utf-8")


def recorded(script: Path, tmp_path: Path, **variables: str) -> list[str]:
    """The commands that a script would send to Google."""
    for name in ("gcloud", "bq"):
        (tmp_path / name).write_text(RECORDER, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    record = tmp_path / "record"
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RECORD": str(record), "PROJECT": PROJECT, **variables}
    subprocess.run(["bash", script], env=env, capture_output=True, text=True, check=True)  # noqa: S607
    return record.read_text(encoding="utf-8").splitlines()


def granted(commands: list[str]) -> set[tuple[str, str, str]]:
    """(who, on what, role) of every grant among them, in the document's words."""
    pieces = {
        r"managed-folders add-iam-policy-binding gs://some-bucket/(\S+)/ --role (\S+) --member (\S+)": "folder {0}",
        r"projects add-iam-policy-binding some-project --role (\S+) --member (\S+)": "project",
        r"GRANT `(\S+)` ON SCHEMA `some-project`\.`evalbench` TO \"(\S+)\"": "dataset",
        r"service-accounts add-iam-policy-binding (\S+)@\S+ --project \S+ --role (\S+) --member (\S+)": "account {0}",
        r"run jobs add-iam-policy-binding (\S+) .* --role (\S+) --member (\S+)": "job {0}",
    }
    found = set()
    for pattern, on in pieces.items():
        for match in re.finditer(pattern, "\n".join(commands)):
            *where, role, member = match.groups()
            found.add((_who(member), on.format(*where), role))
    return found


def _who(member: str) -> str:
    """`evalbench-pipeline`, `Kubernetes NAME`, or whoever else it is."""
    pod = re.fullmatch(r"serviceAccount:some-project\.svc\.id\.goog\[airflow/(\S+)\]", member)
    return f"Kubernetes {pod[1]}" if pod else member.removeprefix("serviceAccount:").partition("@")[0]


def test_the_scripts_grant_what_the_document_says(root: Path, document: str, tmp_path: Path) -> None:
    """Row for row, and nothing beyond it; no account gets a right on the bucket or a basic role."""
    asked = {"LOCATION": "EU", "BUCKET": BUCKET, "REGION": "somewhere"}
    choices = {
        "RUNS": "RUNS",
        "LAKE": "LAKE",
        "LOGS": "LOGS",
        "BI": "BI",
        "SUMMARIES": "vertex",
        "GKE_NAMESPACE": "airflow",
    }
    commands = recorded(root / "deploy" / "iam.sh", tmp_path, **asked, **choices)
    commands += recorded(root / "deploy" / "cloudrun" / "schedule.sh", tmp_path, **asked)
    cells = (line.split(" | ") for line in document.splitlines() if "| `roles/" in line)
    rows = {tuple(cell.replace("`", "").strip("| ") for cell in row[:3]) for row in cells}
    told = {(who, on.partition(",")[0], role) for who, on, role in rows}
    assert told == granted(commands)
    assert len(rows) == sum("add-iam-policy-binding" in command or "GRANT" in command for command in set(commands))


def test_what_wasnt_asked_for_is_not_granted(root: Path, tmp_path: Path) -> None:
    """Without dashboards, remote logs, Kubernetes and Vertex AI, one account has four grants."""
    commands = recorded(root / "deploy" / "iam.sh", tmp_path, LOCATION="EU", BUCKET=BUCKET)
    assert {
        ("evalbench-pipeline", "folder runs", "roles/storage.objectViewer"),
        ("evalbench-pipeline", "folder lake", "roles/storage.objectUser"),
        ("evalbench-pipeline", "dataset", "roles/bigquery.dataEditor"),
        ("evalbench-pipeline", "project", "roles/bigquery.jobUser"),
    } == granted(commands)


def test_the_accounts_of_pods_and_job_are_those_with_rights(root: Path) -> None:
    """An address in values or job that iam.sh doesn't make would be an identity without any right."""
    script = (root / "deploy" / "iam.sh").read_text(encoding="utf-8")
    texts = [path.read_text(encoding="utf-8") for path in sorted((root / "deploy").rglob("*.yaml"))]
    named = set(re.findall(r"([\w-]+)@PROJECT\.iam", "\n".join(texts)))
    assert {"evalbench-pipeline", "evalbench-ui"} == named
    assert named <= set(re.findall(r"^\s*account ([\w-]+)$", script, re.MULTILINE))
