"""BigQuery as it follows a lake: the same rows, no job without a change, and whatever is missing there made good."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from google.cloud import bigquery as google
from google.cloud.storage import Bucket
from tests.cloud.delivering import DAY, Place, log, put, tell
from tests.cloud.emulators import BigQuery
from tests.lakes import settings, write_run

from evalbench import pipeline
from evalbench.delivery import Delivery
from evalbench.errors import UsageError
from evalbench.forgetting import forget
from evalbench.lake.commits import read_commit, write_commit
from evalbench.storage import LocalStorage
from evalbench.tables import TABLES, VIEWS

NEXT_DAY = date(2026, 11, 28)
RECORDS = "SELECT run_date, seq, row_count, log_rows FROM `{d}._published` ORDER BY 1"


@pytest.fixture
def nowhere(tmp_path: Path, bigquery: BigQuery, dataset: str) -> Iterator[Place]:
    """An empty lake, and a dataset that isn't there."""
    yield (place := Place(lake=str(tmp_path / "lake"), dataset=dataset, url=bigquery.url))
    place.client.delete_dataset(dataset, delete_contents=True, not_found_ok=True)


def unsettle(lake: LocalStorage, day: date) -> None:
    """Leave a date as a publisher does that is killed at its first partition."""
    commit = read_commit(lake, day)
    assert commit
    write_commit(lake, replace(commit, writing=True))


# -- the same rows -------------------------------------------------------------------------------------------------


def test_switched_on_after_ten_nights(nowhere: Place, root: Path, tmp_path: Path) -> None:
    """Row for row what DuckDB reads, in every table, by one load per table; then no job, until a run is forgotten.

    Tables are as declared: money with nine decimals, descriptions, partition, clustering, labels, filter, location.
    """
    runs = shutil.copytree(root / "include/samples/runs", tmp_path / "runs")
    for day in range(17, 27):
        write_run(runs, f"night-{day}", day)
    used = settings(runs, Path(nowhere.lake))
    pipeline.run(used)
    place = replace(nowhere, partition_filter=True, location="EU")
    delivery = place.deliver(news=True)
    names = [table.name for table in TABLES]
    expected, jobs = place.here(names), place.jobs()
    assert expected == place.there(names)
    assert ["policy_attestations", "policy_graders"] == sorted(name for name, rows in expected.items() if not rows)
    assert (len(TABLES), 1, len(TABLES) + 1, []) == (delivery.loads, delivery.scripts, len(jobs), place.staging())
    assert (Delivery(), jobs) == (place.deliver(news=True), place.jobs())

    forget(used, "night-20")
    place.deliver(news=True)
    assert place.here(names) == (there := place.there(names))
    assert (True, False) == ("night-20" in str(expected), "night-20" in str(there))

    client = place.client
    trials = client.get_table(f"{place.dataset}.trials")
    cost = next(field for field in trials.schema if field.name == "cost_usd")
    assert ("NUMERIC", 18, 9, "NULLABLE", "USD" in cost.description) == (
        cost.field_type, cost.precision, cost.scale, cost.mode, True,
    )  # fmt: skip
    assert ("DAY", "run_date", ["product", "candidate"], True) == (
        trials.time_partitioning.type_, trials.time_partitioning.field, trials.clustering_fields,
        trials.require_partition_filter,
    )  # fmt: skip
    assert {"application": "evalbench", "table_version": "1"} == trials.labels
    assert "EU" == client.get_dataset(place.dataset).location
    with pytest.raises(UsageError, match=r"is in EU, EVALBENCH_BIGQUERY_LOCATION says US"):
        replace(place, location="US").deliver()


def test_a_lake_in_a_bucket_is_loaded_from_there(place: Place, bucket: Bucket) -> None:
    """Its objects are the sources of the load jobs, whatever their folders are called."""
    put(place.storage, 3, tables=("trials", "calls"))
    log(place.storage, "entry")
    tell(place.storage, "manual__2026-11-30T19_43_12+00_00-6e28")
    for path in place.storage.paths():
        bucket.blob(f"team 1/läke/{path}").upload_from_string(place.storage.read(path))
    before = place.jobs()
    replace(place, lake=f"gs://{bucket.name}/team 1/läke").deliver(news=True)
    assert place.here() == place.there()
    loads = [place.client.get_job(name) for name in place.jobs() if name not in before and "_load_" in name]
    sources = sorted(uri for load in loads for uri in load.source_uris)  # type: ignore[union-attr]
    assert sorted(f"gs://{bucket.name}/team 1/läke/{path}" for path in place.storage.paths("trends")) == sources


def test_dates_follow_from_content_to_content_and_back(place: Place) -> None:
    """A, B, A again and nothing at all: the rows of the last one each time, by loading the changed date alone.

    Its record stays, and so does its entry of the log.
    """
    lake = place.storage
    put(lake, 4, day=NEXT_DAY, tables=("trials", "calls"))
    log(lake, "first")
    for number, (rows, mark) in enumerate([(3, "a"), (2, "b"), (3, "a")], start=1):
        put(lake, rows, mark=mark)
        delivery = place.deliver()
        assert ((DAY, NEXT_DAY) if number == 1 else (DAY,)) == delivery.dates
        assert place.here() == place.there()
        assert [(DAY, number, rows, 1), (NEXT_DAY, 1, 8, 0)] == place.ask(RECORDS)
    put(lake, 0, tables=())
    assert Delivery(dates=(DAY,), loads=1, scripts=1, rows=1) == place.deliver()
    assert place.here() == place.there()
    assert [(DAY, 4, 0, 1), (NEXT_DAY, 1, 8, 0)] == place.ask(RECORDS)


def test_the_log_keeps_what_only_bigquery_has(place: Place) -> None:
    """An entry that changed is changed there, a new one added, and one whose file is gone stays; then all is well."""
    lake = place.storage
    for name in ("r1", "r2"):
        log(lake, name, runs=name)
    place.deliver()
    log(lake, "r1", runs="forgotten")
    log(lake, "r3", runs="r3")
    lake.delete(next(path for path in lake.paths("trends/decision_log") if b"r2" in lake.read(path)))
    place.deliver()
    runs = "SELECT runs FROM `{d}.decision_log` WHERE run_date > '2026-01-01' ORDER BY 1"
    assert [("forgotten",), ("r2",), ("r3",)] == place.ask(runs)
    assert Delivery() == place.deliver()


# -- what is worth a job -------------------------------------------------------------------------------------------


def test_what_only_tells_of_executions_waits_for_news(place: Place) -> None:
    """Without news no job is made for it; with news, or with another date's change, it travels."""
    lake = place.storage
    tell(lake, "quiet night", day=NEXT_DAY)
    assert Delivery() == place.deliver()
    assert Delivery(dates=(NEXT_DAY,), loads=1, scripts=1, rows=1) == place.deliver(news=True)
    tell(lake, "another quiet night", day=NEXT_DAY)
    put(lake, 2)
    assert Delivery(dates=(DAY, NEXT_DAY), loads=2, scripts=1, rows=4) == place.deliver()
    assert place.here() == place.there()


def test_a_date_that_is_being_written_is_left(place: Place) -> None:
    """Its old rows stay until it is whole, so do those of one whose file isn't what was committed, whatever else comes.

    Also where everything else is replaced, since rows of another date are gone.
    """
    lake = place.storage
    put(lake, 1)
    put(lake, 1, day=NEXT_DAY)
    put(lake, 1, day=date(2026, 11, 29))
    place.deliver()
    before = place.there(["trials"])
    put(lake, 2)
    unsettle(lake, DAY)
    put(lake, 2, day=NEXT_DAY)
    lake.write_atomic(f"trends/trials/run_date={NEXT_DAY}/part-0.parquet", b"half")
    assert Delivery(left=(DAY, NEXT_DAY)) == place.deliver(news=True)
    place.ask("DELETE FROM `{d}.trials` WHERE run_date = '2026-11-29'")
    assert ((date(2026, 11, 29),), (DAY, NEXT_DAY)) == ((again := place.deliver()).dates, again.left)
    assert before == place.there(["trials"])
    put(lake, 2)
    put(lake, 3, day=NEXT_DAY)
    assert ((DAY, NEXT_DAY), ()) == ((again := place.deliver()).dates, again.left)
    assert place.here() == place.there()


# -- made good -----------------------------------------------------------------------------------------------------


def test_whatever_was_emptied_is_filled_again(place: Place) -> None:
    """Rows, a table, BigQuery's own record, the whole dataset; and what is nobody's goes: by the next delivery."""
    lake, client = place.storage, place.client
    put(lake, 3, tables=("trials", "calls"))
    log(lake, "entry")
    put(lake, 2, day=NEXT_DAY)
    place.deliver()
    expected = place.here()

    def heals() -> bool:
        return (DAY, NEXT_DAY) == place.deliver().dates and expected == place.there()

    place.ask("UPDATE `{d}.trials` SET run_date = '1999-01-01' WHERE run_date = '2026-11-27'")
    place.ask("DELETE FROM `{d}.trials` WHERE run_date = '2026-11-28'")
    assert heals()
    client.delete_table(f"{place.dataset}.calls")
    assert heals()
    place.ask("DELETE FROM `{d}.decision_log` WHERE run_date = '2026-11-27'")
    assert heals()
    place.ask("DELETE FROM `{d}._published` WHERE seq > 0")
    assert heals()
    client.delete_dataset(place.dataset, delete_contents=True)
    assert heals()
    assert Delivery() == place.deliver()


# -- how tables and views are kept ---------------------------------------------------------------------------------


def test_new_columns_are_added_and_those_of_others_stay(place: Place) -> None:
    """In a table of an older version: described as declared; what others added to it is theirs."""
    put(place.storage, 1)
    client, name = place.client, f"{place.dataset}.trials"
    declared = client.get_table(name)
    client.delete_table(name)
    older = [field for field in declared.schema if field.name not in ("cost_usd", "model")]
    made = google.Table(name, schema=[*older, google.SchemaField("reviewed_by", "STRING", description="Whoever")])
    made.time_partitioning, made.clustering_fields = declared.time_partitioning, ["suite"]
    made.labels = {"team": "quality"}
    client.create_table(made)
    place.deliver()
    assert place.here() == place.there()
    now = client.get_table(name)
    assert [*(field.name for field in older), "reviewed_by", "model", "cost_usd"] == [each.name for each in now.schema]
    expected = {field.name: field.description for field in declared.schema} | {"reviewed_by": "Whoever"}
    assert expected == {field.name: field.description for field in now.schema}
    assert ("quality", "evalbench", ["suite"]) == (now.labels["team"], now.labels["application"], now.clustering_fields)


def test_views_are_made_and_kept(place: Place) -> None:
    """Every view of include/sql is there; one that asks something else is told what to ask, no table is overwritten."""
    client = place.client
    there = {table.table_id for table in client.list_tables(place.dataset) if table.table_type == "VIEW"}
    assert {view.name for view in VIEWS} == there
    view = client.get_table(f"{place.dataset}.trend_daily")
    asked, view.view_query = view.view_query, f"SELECT 1 AS one FROM `{place.dataset}.signals`"
    client.update_table(view, ["view_query"])
    place.deliver()
    assert asked == client.get_table(f"{place.dataset}.trend_daily").view_query
    client.delete_table(view)
    client.create_table(google.Table(f"{place.dataset}.trend_daily", schema=[google.SchemaField("one", "INT64")]))
    with pytest.raises(UsageError, match=r"has a TABLE .*\.trend_daily where the view belongs"):
        place.deliver()
    client.delete_table(view)
