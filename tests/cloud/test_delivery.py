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
from evalbench.tables import TABLES, table_named

NEXT_DAY = date(2026, 11, 28)


@pytest.fixture(scope="module")
def tables(started_bigquery: BigQuery) -> Iterator[str]:
    """A dataset whose tables and views are there, since making them takes the emulator seconds."""
    place = Place(lake="/no/such/lake", dataset=f"{started_bigquery.project}.delivered", bigquery=started_bigquery)
    place.deliver()
    yield place.dataset
    started_bigquery.client().delete_dataset(place.dataset, delete_contents=True)


@pytest.fixture
def place(tmp_path: Path, bigquery: BigQuery, tables: str) -> Iterator[Place]:
    """An empty lake, and tables without rows."""
    place = Place(lake=str(tmp_path / "lake"), dataset=tables, bigquery=bigquery)
    yield place
    place.clear()


@pytest.fixture
def nowhere(tmp_path: Path, bigquery: BigQuery, dataset: str) -> Iterator[Place]:
    """An empty lake, and a dataset that isn't there."""
    yield Place(lake=str(tmp_path / "lake"), dataset=dataset, bigquery=bigquery)
    bigquery.client().delete_dataset(dataset, delete_contents=True, not_found_ok=True)


# -- the same rows -------------------------------------------------------------------------------------------------


def test_switched_on_after_ten_nights_every_table_is_equal(nowhere: Place, root: Path, tmp_path: Path) -> None:
    """BigQuery has row for row what DuckDB reads, by one load per table; again, it makes no job, and a run that is
    forgotten goes from there."""
    runs = shutil.copytree(root / "include/samples/runs", tmp_path / "runs")
    for day in range(17, 27):
        write_run(runs, f"night-{day}", day)
    used = settings(runs, Path(nowhere.lake))
    pipeline.run(used)
    delivery = nowhere.deliver(news=True)
    expected, made = nowhere.here(), nowhere.jobs()
    assert expected == nowhere.there()
    assert ["policy_attestations", "policy_graders"] == sorted(name for name, rows in expected.items() if not rows)
    assert (len(TABLES), 1, len(TABLES) + 1, []) == (delivery.loads, delivery.scripts, len(made), nowhere.staging())
    assert (Delivery(), made) == (nowhere.deliver(news=True), nowhere.jobs())

    forget(used, "night-20")
    nowhere.deliver(news=True)
    assert nowhere.here() == (there := nowhere.there())
    assert ("night-20" in str(expected), "night-20" in str(there)) == (True, False)


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
    client = place.bigquery.client()
    loads = [client.get_job(name) for name in place.jobs() if name not in before and "_load_" in name]
    sources = sorted(uri for load in loads for uri in load.source_uris)
    assert sorted(f"gs://{bucket.name}/team 1/läke/{path}" for path in place.storage.paths("trends")) == sources


def test_a_date_follows_from_content_to_content_and_back(place: Place) -> None:
    """A, B, A again and nothing at all: the rows of the last one each time; the date's record stays, the log too."""
    lake = place.storage
    log(lake, "first")
    for number, (rows, mark) in enumerate([(3, "a"), (2, "b"), (3, "a")], start=1):
        put(lake, rows, mark=mark)
        delivery = place.deliver()
        assert ((DAY,), rows + 1) == (delivery.dates, delivery.rows)
        assert place.here() == place.there()
        assert [(number, rows, 1)] == place.ask("SELECT seq, row_count, log_rows FROM `{d}._published`")
    put(lake, 0, tables=())
    place.deliver()
    assert place.here() == place.there()
    assert [(4, 0, 1)] == place.ask("SELECT seq, row_count, log_rows FROM `{d}._published`")


def test_only_the_changed_date_is_loaded(place: Place) -> None:
    """Rows of other dates are neither loaded nor replaced."""
    put(place.storage, 3)
    put(place.storage, 4, day=NEXT_DAY, tables=("trials", "calls"))
    place.deliver()
    put(place.storage, 5, day=NEXT_DAY, mark="b")
    assert Delivery(dates=(NEXT_DAY,), loads=1, scripts=1, rows=5) == place.deliver()
    assert place.here() == place.there()
    assert [(DAY, 1), (NEXT_DAY, 2)] == place.ask("SELECT run_date, seq FROM `{d}._published` ORDER BY 1")


def test_the_log_keeps_what_only_bigquery_has(place: Place) -> None:
    """An entry that changed is changed there, a new one added, and one whose file is gone stays."""
    lake = place.storage
    log(lake, "first", runs='["r1"]')
    log(lake, "second", runs='["r2"]')
    place.deliver()
    log(lake, "first", runs='["forgotten"]')
    log(lake, "third", runs='["r3"]')
    gone = next(path for path in lake.paths("trends/decision_log") if b"second" in lake.read(path))
    lake.delete(gone)
    place.deliver()
    runs = "SELECT runs FROM `{d}.decision_log` WHERE run_date > '2026-01-01' ORDER BY 1"
    assert [('["forgotten"]',), ('["r2"]',), ('["r3"]',)] == place.ask(runs)
    made = place.jobs()
    assert (Delivery(), made) == (place.deliver(), place.jobs())


# -- what is worth a job -------------------------------------------------------------------------------------------


def test_what_only_tells_of_executions_waits_for_news(place: Place) -> None:
    """Without news no job is made for it; with news, or with another date's change, it travels."""
    lake = place.storage
    put(lake, 1)
    place.deliver()
    tell(lake, "quiet night", day=NEXT_DAY)
    assert Delivery() == place.deliver()
    assert Delivery(dates=(NEXT_DAY,), loads=1, scripts=1, rows=1) == place.deliver(news=True)
    tell(lake, "another quiet night", day=NEXT_DAY)
    put(lake, 2)
    assert Delivery(dates=(DAY, NEXT_DAY), loads=2, scripts=1, rows=4) == place.deliver()
    assert place.here() == place.there()


def test_a_date_that_is_being_written_is_left(place: Place) -> None:
    """Its old rows stay until it is whole; the others follow. So does one whose file isn't what was committed."""
    lake = place.storage
    put(lake, 1)
    put(lake, 1, day=NEXT_DAY)
    place.deliver()
    before = place.there(table_named("trials"))
    put(lake, 2)
    whole = read_commit(lake, DAY)
    assert whole
    write_commit(lake, replace(whole, writing=True))
    put(lake, 2, day=NEXT_DAY)
    lake.write_atomic(f"trends/trials/run_date={NEXT_DAY}/part-0.parquet", b"half")
    assert Delivery(left=(DAY, NEXT_DAY)) == place.deliver(news=True)
    assert before == place.there(table_named("trials"))
    write_commit(lake, whole)
    put(lake, 2, day=NEXT_DAY)
    assert (DAY, NEXT_DAY) == place.deliver().dates
    assert place.here() == place.there()


# -- made good -----------------------------------------------------------------------------------------------------


def test_whatever_was_emptied_is_filled_again(nowhere: Place) -> None:
    """Rows, a table, its record of what it has, rows that are nobody's, the whole dataset: by the next delivery."""
    lake, client = nowhere.storage, nowhere.bigquery.client()
    put(lake, 3, tables=("trials", "calls"))
    log(lake, "entry")
    put(lake, 2, day=NEXT_DAY)
    nowhere.deliver()
    expected = nowhere.here()

    def healed() -> bool:
        assert expected != nowhere.there() or not nowhere.ask("SELECT 1 FROM `{d}._published`")
        assert (DAY, NEXT_DAY) == nowhere.deliver().dates
        return expected == nowhere.there() and Delivery() == nowhere.deliver()

    nowhere.ask("DELETE FROM `{d}.trials` WHERE run_date = '2026-11-27'")
    assert healed()
    nowhere.ask("DELETE FROM `{d}.decision_log` WHERE run_date = '2026-11-27'")
    assert healed()
    client.delete_table(f"{nowhere.dataset}.calls")
    assert healed()
    nowhere.ask("DELETE FROM `{d}._published` WHERE seq > 0")
    assert healed()
    nowhere.ask("UPDATE `{d}.trials` SET run_date = '1999-01-01' WHERE run_date = '2026-11-28'")
    nowhere.ask("INSERT INTO `{d}.trials` SELECT * FROM `{d}.trials` WHERE run_date = '1999-01-01'")
    assert healed()
    client.delete_dataset(nowhere.dataset, delete_contents=True)
    nowhere.deliver()
    assert expected == nowhere.there()


def test_what_is_not_delivered_and_what_is_left_stays_when_all_is_made_good(place: Place) -> None:
    """A date that is being written keeps its rows, though everything else is replaced."""
    lake = place.storage
    put(lake, 3)
    put(lake, 2, day=NEXT_DAY)
    place.deliver()
    expected = place.there()
    whole = read_commit(lake, DAY)
    assert whole
    write_commit(lake, replace(whole, writing=True))
    place.ask("DELETE FROM `{d}.trials` WHERE run_date = '2026-11-28'")
    assert ((NEXT_DAY,), (DAY,)) == ((delivery := place.deliver()).dates, delivery.left)
    assert expected == place.there()


# -- how tables are kept -------------------------------------------------------------------------------------------


def test_a_table_is_as_declared(nowhere: Place) -> None:
    """Types, descriptions, money with nine decimals, partition, clustering, labels, filter and location."""
    put(nowhere.storage, 1)
    replace(nowhere, partition_filter=True, location="EU").deliver()
    client = nowhere.bigquery.client()
    there = client.get_table(f"{nowhere.dataset}.trials")
    cost = next(field for field in there.schema if field.name == "cost_usd")
    assert ("NUMERIC", 18, 9, "NULLABLE") == (cost.field_type, cost.precision, cost.scale, cost.mode)
    assert cost.description
    assert ("run_date", "DAY", True) == (
        there.time_partitioning.field, there.time_partitioning.type_, there.require_partition_filter,
    )  # fmt: skip
    assert ["product", "candidate"] == there.clustering_fields
    assert {"application": "evalbench", "table_version": "1"} == there.labels
    assert "EU" == client.get_dataset(nowhere.dataset).location
    with pytest.raises(UsageError, match=r"is in EU, EVALBENCH_BIGQUERY_LOCATION says US"):
        replace(nowhere, location="US").deliver()


def test_new_columns_are_added_and_those_of_others_stay(place: Place) -> None:
    """Rows there from before are null in a new column; a column that nobody declared keeps standing empty."""
    put(place.storage, 1)
    place.deliver()
    client = place.bigquery.client()
    there = client.get_table(f"{place.dataset}.trials")
    client.delete_table(there)
    older = [field for field in there.schema if field.name not in ("cost_usd", "model")]
    theirs = google.SchemaField("reviewed_by", "STRING", description="Whoever looked at it")
    made = google.Table(f"{place.dataset}.trials", schema=[*older, theirs])
    made.time_partitioning, made.clustering_fields = there.time_partitioning, ["suite"]
    made.labels = {"team": "quality"}
    client.create_table(made)
    place.deliver()
    assert place.here() == place.there()
    now = client.get_table(f"{place.dataset}.trials")
    assert [*(field.name for field in older), "reviewed_by", "model", "cost_usd"] == [
        field.name for field in now.schema
    ]
    assert ("quality", ["suite"]) == (now.labels["team"], now.clustering_fields)
    assert {field.name: field.description for field in there.schema} == {
        field.name: field.description for field in now.schema if field.name != "reviewed_by"
    }
    client.delete_table(now)


def test_views_are_made_and_replaced(place: Place) -> None:
    """Every view of include/sql is there; one that asks something else is told what to ask."""
    put(place.storage, 1)
    place.deliver()
    client = place.bigquery.client()
    view = client.get_table(f"{place.dataset}.trend_daily")
    asked = view.view_query
    view.view_query = f"SELECT 1 AS one FROM `{place.dataset}.trials`"
    client.update_table(view, ["view_query"])
    place.deliver()
    assert asked == client.get_table(f"{place.dataset}.trend_daily").view_query
    client.delete_table(view)
    client.create_table(google.Table(f"{place.dataset}.trend_daily", schema=[google.SchemaField("one", "INT64")]))
    with pytest.raises(UsageError, match=r"has a TABLE .*\.trend_daily where the view belongs"):
        place.deliver()
    client.delete_table(view)
