"""Facts of single runs, the last ones kept in memory: what the tables don't hold of a run or a trial."""

from threading import Lock

from evalbench.errors import PipelineError
from evalbench.lake.index import read_index
from evalbench.lake.verdicts import read_scored
from evalbench.ledger import ScoredRun
from evalbench.storage import Storage

MOST_TRIALS = 20_000
"""Trials kept in memory, those of the last run asked for in any case."""


class HeldRuns:
    """Runs of one lake by the key of their facts. Facts are immutable, so nothing kept is ever stale."""

    def __init__(self, lake: Storage) -> None:
        self._lake = lake
        self._lock = Lock()
        self._held: dict[str, ScoredRun] = {}

    def scored(self, facts: str) -> ScoredRun:
        """A run with this code's verdicts. Raises PipelineError when its facts are gone or damaged."""
        with self._lock:
            found = self._held.pop(facts, None)
        scored = found if found is not None else read_scored(self._lake, facts)
        with self._lock:
            self._held[facts] = scored
            while len(self._held) > 1 and sum(len(run.run.trials) for run in self._held.values()) > MOST_TRIALS:
                del self._held[next(iter(self._held))]
        return scored

    def key(self, run_key: str, content: str, reader_version: str) -> str:
        """The key of the facts that rows of `runs` were made from. Raises PipelineError when they are gone."""
        start = f"facts/{run_key}/{content}.{reader_version}-"
        found = [path for path in self._lake.paths(f"facts/{run_key}") if path.startswith(start)]
        if len(found) > 1:  # read under other settings once: the index knows which reading stands
            entry = read_index(self._lake).get(run_key)
            standing = entry.standing.facts if entry is not None and entry.standing is not None else None
            found = [path for path in found if path == standing] or found
        if not found:
            raise PipelineError(
                f"{self._lake}/{start}…: these facts are gone; run the pipeline over the runs again, or restore them"
            )
        return found[-1]
