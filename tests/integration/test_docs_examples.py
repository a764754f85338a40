"""The example a newcomer copies from the documentation does what the documentation says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalbench.cli import main

MANIFEST = """
candidate: agent/1
product: billing
dataset: refunds
run_time: 2026-11-20 10:00:00
planned: {tasks: [refund-7]}
"""


def test_the_documented_record_passes_under_the_default_policy(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/formats.md: read without a defect, and enough for a PASS under `consequential`."""
    text = (root / "docs" / "formats.md").read_text(encoding="utf-8")
    found = re.search(r"```json\n(\{\"task_id\": \"refund-7\".*?)```", text, re.DOTALL)
    assert found is not None
    run = tmp_path / "runs" / "night-1"
    run.mkdir(parents=True)
    (run / "trials.jsonl").write_text(json.dumps(json.loads(found[1])) + "\n", encoding="utf-8")
    (run / "run.yaml").write_text(MANIFEST, encoding="utf-8")
    assert 0 == main(["run", str(tmp_path / "runs"), "--lake", str(tmp_path / "lake"), "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    decision = document["decisions"][0]
    assert ("PASS", "consequential", {}) == (decision["decision"], decision["policy"]["name"], decision["defects"])
