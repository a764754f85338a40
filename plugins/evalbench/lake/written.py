"""What became of summaries in one execution: `_ops/written/<plan_id>/<run_key>.json`. Operational, as plans are."""

from collections.abc import Iterable

from evalbench.accounting import Written
from evalbench.lake.objects import read_json, read_jsons, to_json
from evalbench.storage import Storage

FOLDER = "_ops/written"


def write_written(lake: Storage, plan_id: str, run_key: str, written: Written) -> None:
    """Store what became of a run's summary; a retry replaces it, but not what was paid for."""
    before = read_json(lake, _path(plan_id, run_key), Written)
    if before is None or not written.cached:
        lake.write_atomic(_path(plan_id, run_key), to_json(written))


def read_written(lake: Storage, plan_id: str, run_keys: Iterable[str]) -> list[Written]:
    """What became of the summaries of these runs, as far as they were written. Raises PipelineError when damaged."""
    return list(read_jsons(lake, [_path(plan_id, run_key) for run_key in run_keys], Written).values())


def _path(plan_id: str, run_key: str) -> str:
    return f"{FOLDER}/{plan_id}/{run_key}.json"
