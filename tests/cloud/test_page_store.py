"""The page's copy of a lake in a bucket."""

from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from google.cloud.storage import Bucket
from tests.lakes import settings, write_run

from evalbench import pipeline
from evalbench.settings import load_settings
from evalbench.storage import lake_of
from evalbench.web.models.board import board
from evalbench.web.models.candidate import candidate
from evalbench.web.models.parts import Filters
from evalbench.web.models.run import run_page
from evalbench.web.models.trial import trial_page
from evalbench.web.store import FRESH_S, Store

NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)


def pages(store: Store) -> tuple[object, ...]:
    """Board, candidate, run and trial, but for the lake's name."""
    view = store.view()
    (row,) = board(view, Filters()).rows
    found = (
        board(view, Filters()),
        candidate(view, row.subject),
        run_page(view, "second"),
        trial_page(view, "second", "t1", 0),
    )
    return tuple(replace(page, as_of=replace(view.as_of, lake="")) for page in found)


def test_a_lake_in_a_bucket_is_shown_as_a_local_one(tmp_path: Path, bucket: Bucket) -> None:
    """Every page is the same, at first and after another night."""
    runs = tmp_path / "runs"
    write_run(runs, "first", 27)
    write_run(runs, "second", 28)
    given = {"runs": str(runs), "lake": f"gs://{bucket.name}/lake", "grace_hours": 0, "clock": NOW}
    lakes = [settings(runs, tmp_path / "lake"), load_settings({}, given)]
    seconds = [0.0]
    with ExitStack() as opened:
        for lake in lakes:
            pipeline.run(lake)
        stores = [
            opened.enter_context(closing(Store(lake_of(lake), lambda: NOW, lambda: seconds[0]))) for lake in lakes
        ]
        local, in_bucket = map(pages, stores)
        assert local == in_bucket
        write_run(runs, "third", 28)
        for lake in lakes:
            pipeline.run(lake)
        seconds[0] += FRESH_S
        again, in_bucket = map(pages, stores)
        assert again == in_bucket
        assert local != again
