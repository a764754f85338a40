"""A worker that is killed: Airflow gives its Airflow task another process, and the night is what it would have been."""

import os
import shutil
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.dags.nights import Nights

STABLE, FAST = "inversion-stable-v1", "inversion-fast-v2"
SCORE = "run_directory.score"
BATCH = "score[batch 0: 2 runs]"


def killing(nights: Nights, deaths: Path, times: int) -> None:
    """The process that scores dies like one out of memory, once its first run is done, so many times."""
    nightly = import_module("evalbench.nightly")
    original = nightly.score_batch

    def score_batch(*given: Any) -> Iterator[Any]:
        for state in original(*given):
            yield state
            died = deaths.stat().st_size if deaths.exists() else 0
            if died < times:
                with deaths.open("ab") as file:
                    file.write(b"x")
                os.kill(os.getpid(), signal.SIGKILL)

    nights.patch.setattr(nightly, "score_batch", score_batch)


def test_a_worker_killed_in_the_middle_of_a_batch(nights: Nights, tmp_path: Path) -> None:
    """The second try goes on where the first one ended; the lake is the one of a night without a death."""
    nights.bring(STABLE, FAST)
    nights.set(max_mapped_tasks=1)
    night = nights.run()
    undisturbed = nights.files()
    shutil.rmtree(nights.lake)
    killing(nights, tmp_path / "deaths", 1)
    with nights.own_process(SCORE):
        again = nights.run()
    assert (2, night.tasks) == (again.tries[BATCH], again.tasks)
    assert night.decisions == again.decisions
    assert undisturbed == nights.files()


def test_a_worker_killed_at_every_try(nights: Nights, tmp_path: Path) -> None:
    """Four tries; then exactly the run that never was scored is lost, the one before it is decided.

    Airflow forgets the label of an instance that ends so.
    """
    nights.bring(STABLE, FAST)
    nights.set(max_mapped_tasks=1)
    killing(nights, tmp_path / "deaths", 99)
    with nights.own_process(SCORE):
        night = nights.run()
    assert ("failed", 4) == (night.tasks["score[0]"], night.tries["score[0]"])
    assert ("failed", {"task_lost": 1}) == (night.state, night.accounting["quarantined"])
    assert {"stable-v1": "PASS", "fast-v2": "INSUFFICIENT_EVIDENCE"} == night.decisions
    assert "PipelineError: 1 planned run directories left no result (task_lost)" in night.error("enforce")
