"""What one execution of the pipeline set out to do, and what came back: `_ops/plans/`, `_ops/results/`.

Operational: outside the promise of identical bytes, never read to compute a table.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from uuid import uuid4

from evalbench.accounting import DirectoryState, Disposition
from evalbench.canonical import sha256_text
from evalbench.errors import PipelineError
from evalbench.lake.objects import read_json, read_jsons, to_json
from evalbench.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every child of the runs root and what is to be done with it.

    since, until: UTC dates, both inclusive; with either the plan is a range, without both a sweep. own: in a sweep, the
    date from which on every date is decided, changed or not. gone: known directories that are listed no more.
    owed: keys of unchanged runs whose summaries are still to be had.
    """

    plan_id: str
    since: date | None
    until: date | None
    entries: tuple[DirectoryState, ...]
    own: date | None = None
    gone: tuple[DirectoryState, ...] = ()
    owed: tuple[str, ...] = ()

    @property
    def ranged(self) -> bool:
        """Whether the plan is for given dates, not a sweep over all that changed."""
        return self.since is not None or self.until is not None

    @property
    def to_score(self) -> tuple[DirectoryState, ...]:
        """Entries that are new or changed and in range."""
        return tuple(entry for entry in self.entries if entry.disposition is Disposition.PLANNED)

    @property
    def owed_entries(self) -> tuple[DirectoryState, ...]:
        """Entries of the runs whose summaries are owed."""
        keys = frozenset(self.owed)
        return tuple(entry for entry in self.entries if entry.run_key in keys)

    def covers(self, day: date) -> bool:
        """Whether a run date is in range."""
        return in_range(day, self.since, self.until)

    def entry(self, run_key: str) -> DirectoryState:
        """One entry by its key. Raises PipelineError when the plan has none."""
        for entry in self.entries:
            if entry.run_key == run_key:
                return entry
        raise PipelineError(f"plan {self.plan_id} names no run directory {run_key}; start again from discover")


def in_range(day: date, since: date | None, until: date | None) -> bool:
    """Whether a day lies between two dates, both inclusive; None is no bound."""
    return (since is None or since <= day) and (until is None or day <= until)


def plan_id_of(name: str) -> str:
    """A name as a file name: unchanged when safe, else what is safe of it and a digest of the whole."""
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}", name):
        return name
    return f"{re.sub(r'[^A-Za-z0-9_.+-]+', '_', name)[:100].lstrip('.')}-{sha256_text(name)[:8]}"


def batches(plan: Plan, limit: int) -> list[list[str]]:
    """Keys of the runs to score, in at most `limit` batches: one run each where that suffices, else even by bytes.

    Biggest first into the emptiest batch; the same plan gives the same batches. Runs that only lack a summary are one
    more batch, the last.
    """
    if plan.owed:
        scored = batches(replace(plan, owed=()), max(1, limit - 1))
        return [*scored, list(plan.owed)] if limit > 1 or not scored else [[*scored[0], *plan.owed]]
    runs = sorted(plan.to_score, key=lambda entry: (-entry.size, entry.path))
    if len(runs) <= limit:
        return [[entry.run_key] for entry in plan.to_score]
    found: list[list[str]] = [[] for _ in range(limit)]
    bytes_in = [0] * limit
    for entry in runs:
        emptiest = min(range(limit), key=lambda position: (bytes_in[position], position))
        found[emptiest].append(entry.run_key)
        bytes_in[emptiest] += entry.size + 1
    return found


def plan_path(plan_id: str) -> str:
    """Where a plan is in the lake."""
    return f"_ops/plans/{plan_id}.json"


def write_plan(lake: Storage, plan: Plan) -> None:
    """Store a plan, and forget results of an earlier attempt under the same name."""
    lake.at_once(lake.delete, lake.paths(f"_ops/results/{plan.plan_id}"))
    lake.write_atomic(plan_path(plan.plan_id), to_json(plan))


def read_plan(lake: Storage, plan_id: str) -> Plan:
    """A stored plan. Raises PipelineError when there is none, or it is damaged."""
    plan = read_json(lake, plan_path(plan_id), Plan)
    if plan is None:
        raise PipelineError(f"{lake}/{plan_path(plan_id)}: no such plan; start again from discover")
    return plan


def write_result(lake: Storage, plan_id: str, result: DirectoryState) -> None:
    """Store what became of one run directory; a retry replaces it."""
    lake.write_atomic(_result_path(plan_id, result.run_key), to_json(result))


def read_results(lake: Storage, plan: Plan) -> dict[str, DirectoryState]:
    """The results that came back, by run key. Raises PipelineError when one is damaged."""
    paths = {_result_path(plan.plan_id, entry.run_key): entry.run_key for entry in plan.to_score}
    return {paths[path]: result for path, result in read_jsons(lake, paths, DirectoryState).items()}


def read_result(lake: Storage, plan_id: str, run_key: str) -> DirectoryState | None:
    """What became of one planned run directory, None when nothing came back. Raises PipelineError when damaged."""
    return read_json(lake, _result_path(plan_id, run_key), DirectoryState)


def _result_path(plan_id: str, run_key: str) -> str:
    return f"_ops/results/{plan_id}/{run_key}.json"


def remember_days(lake: Storage, plan_id: str, days: Iterable[date]) -> tuple[date, ...]:
    """Add dates to those that an execution decides; all of them, sorted.

    They outlive a retry: what its first attempt published is no longer a change for the second one, and still its own.
    """
    path = f"_ops/decided/{plan_id}.json"
    known = read_json(lake, path, list[date]) or []
    found = tuple(sorted({*known, *days}))
    lake.write_atomic(path, to_json(list(found)))
    return found


def new_plan_id() -> str:
    """A name for a plan nobody named, of its own: two executions at once must not take each other's results."""
    return f"cli-{uuid4().hex[:16]}"
