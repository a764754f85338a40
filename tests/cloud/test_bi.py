"""docs/bi.md and every view: the same questions to BigQuery and to DuckDB over one lake have the same answers."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery as client
from tests.bi_page import Chosen, Query, Question, Sent, for_bigquery, for_duckdb, queries, questions, sent
from tests.cloud.emulators import BigQuery

from evalbench.cli import main
from evalbench.delivery import deliver
from evalbench.settings import GoogleAccess
from evalbench.sinks.bigquery.warehouse import Warehouse
from evalbench.sinks.duckdb import connect
from evalbench.storage import LocalStorage
from evalbench.tables import TABLES, VIEWS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bi.md").read_text(encoding="utf-8")
QUERIES = queries(PAGE)
QUESTIONS = questions(PAGE)
SOURCES = [query for query in QUERIES if query.tool != "metabase"]

CLOCK = "2026-12-01T06:00:00Z"
"""Of the executions, whose rows are of its date: a month can be asked about whatever the day is."""
WHOLE = Chosen(first="2026-11-01", last=CLOCK[:10])
FILTERED = Chosen(
    first="2026-11-28",
    last="2026-11-28",
    values={
        "product": "release-inversion",
        "candidate": "fast-v2",
        "policy_name": "release_inversion",
        "state": "quarantined",
    },
)
CASES = [(query, WHOLE) for query in QUERIES]
CASES += [(query, FILTERED) for query in QUERIES if query.written]
CASES += [(query, Chosen()) for query in QUERIES if query.written and query.tool != "looker-studio"]


@pytest.fixture(scope="module")
def lake(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples and a broken directory; one day was decided by another policy first."""
    place = tmp_path_factory.mktemp("bi")
    runs, lake = place / "runs", place / "lake"
    shutil.copytree(root / "include" / "samples" / "runs", runs)
    (runs / "broken").mkdir()
    (runs / "broken" / "trials.jsonl").write_text("{\n", encoding="utf-8")
    routing = ["--routing", str(root / "include" / "samples" / "routing.yaml")]
    other = [
        "--policy",
        str(root / "include" / "policies" / "consequential.yaml"),
        "--since",
        "2026-11-28",
        "--until",
        "2026-11-28",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBENCH_CLOCK", CLOCK)
        for more in (other, []):
            assert main(["run", str(runs), "--lake", str(lake), *routing, "--grace-hours", "0", *more]) in {3, 4}
    return lake


@pytest.fixture(scope="module")
def dataset(lake: Path, started_bigquery: BigQuery) -> str:
    """The lake in BigQuery; its base tables refuse queries that name no dates."""
    name = f"{started_bigquery.project}.bi{uuid4().hex[:12]}"
    access = GoogleAccess(credentials=AnonymousCredentials)
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in started_bigquery.environment().items():
            patch.setenv(variable, value)
        deliver(
            LocalStorage(str(lake)),
            Warehouse(dataset=name, location="US", partition_filter=True, access=access),
            news=True,
        )
    return name


@pytest.fixture(scope="module")
def duck(lake: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The lake in DuckDB, with the one function of the page's queries that it has under another name."""
    with connect(str(lake)) as connection:
        connection.execute("CREATE MACRO parse_date(form, day) AS CAST(strptime(day, form) AS DATE)")
        yield connection


@pytest.fixture(scope="module")
def google(started_bigquery: BigQuery) -> client.Client:
    """A client of BigQuery."""
    return started_bigquery.client()


def from_duckdb(duck: duckdb.DuckDBPyConnection, query: Sent) -> list[dict[str, Any]]:
    """DuckDB's rows."""
    rows: list[dict[str, Any]] = (
        duck.sql(for_duckdb(query.sql), params=dict(query.parameters)).to_arrow_table().to_pylist()
    )
    return rows


def from_bigquery(google: client.Client, dataset: str, query: Sent) -> list[dict[str, Any]]:
    """BigQuery's rows."""
    parameters = [client.ScalarQueryParameter(name, "STRING", value) for name, value in query.parameters.items()]
    config = client.QueryJobConfig(query_parameters=parameters)
    return [dict(row.items()) for row in google.query_and_wait(for_bigquery(query.sql, dataset), job_config=config)]


def normal(rows: list[dict[str, Any]]) -> list[str]:
    """Rows in one order, numbers to nine decimals: engines differ in the type of a quotient, not in its value."""
    return sorted(repr({name: _normal(value) for name, value in row.items()}) for row in rows)


def _normal(value: Any) -> Any:
    if value is None or isinstance(value, str | bool) or not hasattr(value, "__float__"):
        return str(value) if hasattr(value, "isoformat") else value
    return f"{float(value):.9f}"


@pytest.mark.parametrize("name", [view.name for view in VIEWS])
def test_every_view_has_the_same_rows(
    name: str, duck: duckdb.DuckDBPyConnection, google: client.Client, dataset: str
) -> None:
    """And answers a query that names no dates, though the base tables don't."""
    query = Sent(sql=f"SELECT * FROM `my-project.evalbench.{name}`")
    rows = from_duckdb(duck, query)
    assert rows
    assert normal(rows) == normal(from_bigquery(google, dataset, query))


@pytest.mark.parametrize(
    ("query", "chosen"), CASES, ids=[f"{query.name}, {chosen.first or 'ever'}" for query, chosen in CASES]
)
def test_every_query_of_the_page_has_the_same_answer(
    query: Query, chosen: Chosen, duck: duckdb.DuckDBPyConnection, google: client.Client, dataset: str
) -> None:
    """As its tool sends it, with and without filters; over the whole month there is something to see."""
    asked = sent(query, chosen)
    rows = from_duckdb(duck, asked)
    assert rows or chosen is FILTERED
    assert normal(rows) == normal(from_bigquery(google, dataset, asked))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_the_figures_of_every_question_can_be_shown(
    question: Question, duck: duckdb.DuckDBPyConnection, google: client.Client, dataset: str
) -> None:
    """Looker Studio and Superset have a data source with these columns, and get the same figures from both engines."""
    sources = {query.tool: query for query in reversed(SOURCES) if query.view == question.view}
    assert {"looker-studio", "superset"} == set(sources)
    found = []
    for query in sources.values():
        source = sent(query, WHOLE)
        asked = Sent(sql=question.over(source.sql), parameters=source.parameters)
        found += [normal(from_duckdb(duck, asked)), normal(from_bigquery(google, dataset, asked))]
    assert found[0]
    assert [found[0]] * len(found) == found


def test_filters_filter(duck: duckdb.DuckDBPyConnection) -> None:
    """What is chosen reaches the rows, and what isn't chosen is left out."""
    (board,) = [query for query in QUERIES if query.tool == "metabase" and query.view == "release_board"]
    held = next(query for query in QUERIES if query.tool == "metabase" and query.view == "check_daily")
    worst = next(query for query in QUERIES if query.tool == "superset" and query.view == "judged_trials")
    everyone = from_duckdb(duck, sent(board, Chosen()))
    assert {"fast-v2", "stable-v1"} < {row["candidate"] for row in everyone}
    assert {"fast-v2"} == {row["candidate"] for row in from_duckdb(duck, sent(held, FILTERED))}
    assert {"fast-v2"} == {row["candidate"] for row in from_duckdb(duck, sent(worst, FILTERED))}


def test_base_tables_ask_for_dates_here(google: client.Client, dataset: str) -> None:
    """So that the tests above mean something: without dates a base table doesn't answer."""
    with pytest.raises(Exception, match="without a filter over column"):
        from_bigquery(google, dataset, Sent(sql="SELECT * FROM `my-project.evalbench.trials`"))


def test_one_question_by_hand(duck: duckdb.DuckDBPyConnection) -> None:
    """fast-v2 declared 5 completions; 1 failed, 1 is unverified: between 20 % and 40 % false."""
    query = next(query for query in QUERIES if "at_most" in query.text)
    (row,) = from_duckdb(duck, sent(query, FILTERED))
    assert (1, 1, 5, 0.2, 0.4) == (
        int(row["false_successes"]),
        int(row["unverified"]),
        int(row["declared"]),
        float(row["at_least"]),
        float(row["at_most"]),
    )


def test_every_view_is_on_the_page() -> None:
    """With what a row is; and no tool is left out."""
    head = PAGE[: PAGE.index("## The model")]
    assert set() == {view.name for view in VIEWS} - set(re.findall(r"`(\w+)`", head)) - {"pooled_trials"}
    assert {"looker-studio", "superset", "metabase"} == {query.tool for query in QUERIES}
    assert 14 == len(QUESTIONS)
    assert set() == {query.view for query in QUERIES} - {view.name for view in VIEWS}


def test_the_reader_of_the_page_reads_one_state(lake: Path) -> None:
    """The Python of the page gives whole tables with run_date as a date."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "bi.md", "exec"), names)  # noqa: S102 - what a reader of the page does
    found = names["read"](lake, *(table.name for table in TABLES))
    decisions = found["decisions"].to_pylist()
    assert {"2026-11-27", "2026-11-28", "2026-11-30"} == {row["run_date"].isoformat() for row in decisions}
