"""A lake's own name: made once, and kept when the lake is moved or copied. Tells one lake from another elsewhere."""

from dataclasses import dataclass
from uuid import uuid4

from evalbench.errors import PipelineError
from evalbench.lake.objects import read_json, to_json
from evalbench.storage import Storage

PATH = "_ops/lake.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a lake is."""

    lake_id: str


def lake_id(lake: Storage) -> str:
    """The name of a lake, 32 hexadecimal digits; made when it has none. Raises PipelineError for a damaged one."""
    found = read_json(lake, PATH, Identity)
    if found is None:
        lake.create(PATH, to_json(Identity(lake_id=uuid4().hex)))
        found = read_json(lake, PATH, Identity)
    if found is None:
        raise PipelineError(f"{lake}/{PATH}: gone as soon as it was written; leave the lake to the pipeline")
    return found.lake_id
