"""The JSON document of one execution: `_ops/reports/<plan_id>.json`, what `enforce` and people read afterwards."""

import json
from collections.abc import Mapping

from evalbench.canonical import canonical_json
from evalbench.errors import PipelineError
from evalbench.lake.objects import damaged
from evalbench.storage import Storage


def report_path(plan_id: str) -> str:
    """Where a report is in the lake."""
    return f"_ops/reports/{plan_id}.json"


def write_report(lake: Storage, plan_id: str, document: Mapping[str, object]) -> None:
    """Store a report."""
    lake.write_atomic(report_path(plan_id), canonical_json(document).encode())


def read_report(lake: Storage, plan_id: str) -> dict[str, object]:
    """A stored report. Raises PipelineError when there is none, or it is damaged."""
    path = report_path(plan_id)
    try:
        document = json.loads(lake.read(path))
    except FileNotFoundError as error:
        raise PipelineError(f"{lake}/{path}: no such report, so nothing was published; look at publish") from error
    except ValueError as error:
        raise damaged(lake, path, error) from error
    if not isinstance(document, dict):
        raise damaged(lake, path, ValueError("no document"))
    return document
