"""Facts of single runs, the last ones kept in memory: what the tables don't hold of a run or a trial."""

from collections.abc import Mapping
from threading import Lock

from evalbench.errors import PipelineError
from evalbench.lake.index import read_segments, segments
from evalbench.lake.verdicts import read_scored
from evalbench.ledger import ScoredRun
from evalbench.storage import Storage

MOST_TRIALS = 500
"""Trials kept in memory, those of the last run asked for in any case. A trial is some seventy objects, and Python's
collector stops every answer while it visits all that are kept: with 20,000 trials for half a second.
"""


class HeldRuns:
    """Runs of one lake by the key of their facts. Facts are immutable, so nothing kept is ever stale."""

    def __init__(self, lake: Storage) -> None:
        self._lake = lake
        self._lock = Lock()
        self._held: dict[str, ScoredRun] = {}
        self._index: tuple[tuple[str, ...], Mapping[str, str]] = ((), {})

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
        """The key of the facts that rows of `runs` were made from.

        Raises PipelineError when they are gone, or when there are several and the index names none of them.
        """
        start = f"facts/{run_key}/{content}.{reader_version}-"
        found = [path for path in self._lake.paths(f"facts/{run_key}") if path.startswith(start)]
        if not found:
            raise PipelineError(
                f"{self._lake}/{start}…: these facts are gone; run the pipeline over the runs again, or restore them"
            )
        if len(found) == 1:
            return found[0]
        standing = self._standing().get(run_key)  # read under other settings once: the index knows which reading stands
        if standing not in found:
            raise PipelineError(
                f"{self._lake}/{start}…: {len(found)} readings of the same files are kept, and the index says of none"
                " that it stands; run the pipeline over the runs again"
            )
        return standing

    def _standing(self) -> Mapping[str, str]:
        """Run key → the facts that stand; read anew when the index has other segments."""
        names, standing = self._index
        if names != segments(self._lake):
            names, index = read_segments(self._lake)
            standing = {key: entry.standing.facts for key, entry in index.items() if entry.standing is not None}
            self._index = names, standing
        return standing
