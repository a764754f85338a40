"""The views as BigQuery gets them, and the queries of docs/bi.md: GoogleSQL, with the rows that DuckDB gives."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.bi_page import DATASET, Chosen, queries, questions, sent
from tests.googlesql import Relation, analysed, columns_of, evaluated
from tests.published import ask, publish, sample, sample_policy
from zetasql.core import ServerError

from evalbench.routing import parse_routing
from evalbench.sinks.bigquery.views import EVERY_DATE, qualified, view_queries
from evalbench.tables import TABLES, VIEWS

RUNS = ("inversion-fast-v2", "inversion-stable-v1", "trap-judge-contradiction", "trap-judge-outage")

CHOSEN = Chosen(
    first="2026-11-28",
    last="2026-11-28",
    values=dict.fromkeys(("product", "candidate", "policy_name", "state"), "x"),
)
BASE = f"(SELECT * FROM `{DATASET}.%s` WHERE {EVERY_DATE})"

REPLACED = {
    "a table": ("SELECT 1 FROM trials", f"SELECT 1 FROM {BASE % 'trials'} AS trials"),
    "a table with an alias": ("SELECT 1 FROM runs AS r", f"SELECT 1 FROM {BASE % 'runs'} AS r"),
    "a view": ("SELECT 1 FROM trend_daily", f"SELECT 1 FROM `{DATASET}.trend_daily` AS trend_daily"),
    "joined, over several lines": (
        "SELECT 1\nFROM runs AS r\nINNER JOIN\n  calls\n  ON r.run_id = calls.run_id",
        f"SELECT 1\nFROM {BASE % 'runs'} AS r\nINNER JOIN\n  {BASE % 'calls'} AS calls\n  ON r.run_id = calls.run_id",
    ),
    "in lower case, in a subquery": (
        "select (select 1 from effects) from runs as x",
        f"select (select 1 from {BASE % 'effects'} AS effects) from {BASE % 'runs'} as x",
    ),
}

KEPT = {
    "a column": "SELECT trials, runs.trials FROM x",
    "an alias": "SELECT 1 AS trials FROM x AS runs",
    "a comment": "SELECT 1 -- FROM trials\nFROM x /* JOIN runs\nFROM calls */",
    "a text": "SELECT 'FROM trials', \"JOIN runs\", 'it\\'s FROM calls' FROM x",
    "what has its full name": "SELECT 1 FROM `my-project.evalbench.trials`",
    "another dataset's table": "SELECT 1 FROM other.trials",
    "the same beginning": "SELECT 1 FROM trials_of_old JOIN run",
    "a function": "SELECT 1 FROM calls(1)",
    "compared columns": "SELECT x IS DISTINCT FROM trials, y IS NOT DISTINCT\nFROM runs FROM x",
    "an expression of the query's own": "WITH trials AS (SELECT 1) SELECT 1 FROM trials",
}


@pytest.mark.parametrize(("sql", "expected"), REPLACED.values(), ids=REPLACED.keys())
def test_tables_and_views_get_their_full_names(sql: str, expected: str) -> None:
    """A base table is read behind a filter on its partitions, under the name the query has for it."""
    assert expected == qualified(sql, DATASET)


@pytest.mark.parametrize("sql", KEPT.values(), ids=KEPT.keys())
def test_all_else_is_left_alone(sql: str) -> None:
    """A table's name that stands for something else."""
    assert sql == qualified(sql, DATASET)


def test_every_view_is_there_in_the_order_in_which_they_build_on_each_other() -> None:
    """A view names only views before it: they can be created one after another."""
    queries = view_queries(DATASET)
    assert [view.name for view in VIEWS] == list(queries)
    seen: set[str] = set()
    for name, sql in queries.items():
        used = set(re.findall(rf"`{DATASET}\.(\w+)`", sql)) & set(queries)
        assert set() == used - seen, name
        seen.add(name)


def test_no_base_table_is_read_without_a_filter() -> None:
    """BigQuery may demand one; who asks a view need not know."""
    base = rf"`{DATASET}\.(?:{'|'.join(table.name for table in TABLES)})`"
    for name, sql in view_queries(DATASET).items():
        assert len(re.findall(base, sql)) == len(re.findall(rf"FROM {base} WHERE {EVERY_DATE}\)", sql)), name


@pytest.fixture(scope="module")
def dataset() -> Mapping[str, Relation]:
    """Columns of every table and view under its full name; each view is analysed over those before it."""
    known = {f"{DATASET}.{table.name}": Relation(columns=columns_of(table)) for table in TABLES}
    for name, sql in view_queries(DATASET).items():
        known[f"{DATASET}.{name}"] = Relation(columns=analysed(sql, known))
    return known


def test_every_view_is_googlesql(dataset: Mapping[str, Relation]) -> None:
    """Names, types and functions resolve over the declared columns."""
    assert len(TABLES) + len(VIEWS) == len(dataset)


@pytest.mark.parametrize("chosen", [Chosen(first="2026-11-28", last="2026-11-28"), CHOSEN], ids=["dates", "all"])
def test_every_query_of_the_page_is_googlesql(dataset: Mapping[str, Relation], root: Path, chosen: Chosen) -> None:
    """As Looker Studio, Superset and Metabase send it, its figures too."""
    page = (root / "docs" / "bi.md").read_text(encoding="utf-8")
    for query in queries(page):
        asked = sent(query, chosen)
        figures = [question for question in questions(page) if question.view == query.view and query.tool != "metabase"]
        for sql in [asked.sql, *(question.over(asked.sql) for question in figures if not query.aggregates)]:
            assert analysed(sql, dataset, asked.parameters), query.name


NOT_GOOGLESQL = {
    "a filtered count": "SELECT COUNT(*) FILTER (WHERE recorded) FROM trials",
    "DuckDB's cast": "SELECT trial::INT64 FROM trials",
    "DuckDB's types": "SELECT CAST(trial AS BIGINT) FROM trials",
    "a parameter of a type": "SELECT CAST(trial AS NUMERIC(38, 9)) FROM trials",
    "a relation where its column is meant": "WITH n AS (SELECT 1 AS n) SELECT MAX(n) FROM n",
    "an unknown column": "SELECT trails FROM trials",
    "a comparison of types that don't compare": "SELECT run_date = trial FROM trials",
}


@pytest.mark.parametrize("sql", NOT_GOOGLESQL.values(), ids=NOT_GOOGLESQL.keys())
def test_what_is_no_googlesql_is_noticed(sql: str) -> None:
    """The check above can fail: DuckDB answers most of these."""
    trials = next(table for table in TABLES if table.name == "trials")
    with pytest.raises(ServerError):
        analysed(sql, {"trials": Relation(columns=columns_of(trials))})


@pytest.fixture(scope="module")
def lake(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release inversion and two traps under two policies."""
    samples = root / "include" / "samples"
    routing = parse_routing((samples / "routing.yaml").read_text(encoding="utf-8"), "routing.yaml")
    policies = [samples / "inversion_policy.yaml", root / "include" / "policies" / "consequential.yaml"]
    target = tmp_path_factory.mktemp("lake")
    runs = [sample(samples / "runs" / name) for name in RUNS]
    publish(target, runs, [sample_policy(path) for path in policies], routing)
    return target


def test_googlesql_gives_the_rows_that_duckdb_gives(lake: Path, root: Path) -> None:
    """Every view, by GoogleSQL's own evaluator: nulls, rounding, whole and decimal numbers mean the same in both."""
    known = {
        table.name: Relation(columns=columns_of(table), rows=ask(lake, f"SELECT * FROM {table.name}"))
        for table in TABLES
    }
    for view in VIEWS:
        sql = (root / "include" / "sql" / f"{view.name}.sql").read_text(encoding="utf-8")
        rows = ask(lake, f"SELECT * FROM {view.name}")
        columns, found = evaluated(sql, used(known, sql))
        assert normal(rows) == normal(found), view.name
        known[view.name] = Relation(columns=columns, rows=rows)


def used(known: Mapping[str, Relation], sql: str) -> dict[str, Relation]:
    """The relations and columns that a query may read: handing rows over is what takes time."""
    words = set(re.findall(r"\w+", sql))
    return {
        name: replace(known[name], columns={name: kind for name, kind in known[name].columns.items() if name in words})
        for name in sorted(known.keys() & words)
    }


def normal(rows: list[dict[str, Any]]) -> list[str]:
    """Rows in one order, without timestamps, numbers to nine decimals."""
    return sorted(
        repr([(name, _normal(value)) for name, value in row.items() if not hasattr(value, "tzinfo")]) for row in rows
    )


def _normal(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    return f"{float(value):.9f}" if hasattr(value, "__float__") else str(value)
