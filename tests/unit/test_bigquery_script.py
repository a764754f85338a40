"""The script that replaces dates: what BigQuery allows in a transaction, and demands of tables with a filter."""

from dataclasses import replace
from datetime import date

import pytest

from evalbench.sinks.bigquery.records import Contents, Fresh, Staged, Swap
from evalbench.sinks.bigquery.script import swap_script
from evalbench.tables import TABLES, table_named

DAYS = (date(2026, 11, 27), date(2026, 11, 28))
EVERY = tuple(table.name for table in TABLES)


def swap(*staged: str, held: tuple[str, ...] = ()) -> Swap:
    """Two dates, with rows in these tables now and before."""
    fresh = Fresh(contents=Contents(content="c0", operations="0e"), tables=staged)
    tables = (Staged(table=table_named(name), name=f"_staging_{name}_h_5", rows=3, own=True) for name in staged)
    return Swap(seq=4, dates=dict.fromkeys(DAYS, fresh), held=frozenset(held), staged=tuple(tables))


def statements(of: Swap) -> list[str]:
    """One by one."""
    return swap_script("p.d", of).rstrip(";\n").split(";\n")


def test_only_statements_that_a_transaction_may_hold() -> None:
    """BigQuery takes SELECT, INSERT, UPDATE and DELETE there; everything is between BEGIN and COMMIT."""
    first, *between, last = statements(swap(*EVERY, held=EVERY))
    assert ("BEGIN TRANSACTION", "COMMIT TRANSACTION") == (first, last)
    assert {"SELECT", "UPDATE", "DELETE", "INSERT"} == {statement.split(maxsplit=1)[0] for statement in between}


def test_every_use_of_a_table_that_may_demand_a_filter_names_dates() -> None:
    """Rows are deleted, changed and looked up by date; rows are added with named columns, from staging."""
    tables = {f"`p.d.{table.name}`" for table in TABLES}
    for statement in statements(swap(*EVERY, held=EVERY)):
        inserted = statement.startswith("INSERT INTO")
        used = [name for name in tables if name in statement.partition(")" if inserted else "\0")[2 if inserted else 0]]
        if used:
            assert "run_date IN (DATE '2026-11-27', DATE '2026-11-28')" in statement
        if inserted:
            assert "(run_date, " in statement


def test_tables_without_rows_before_or_now_are_not_touched() -> None:
    """No statement is spent on them, of which each is a job of its own."""
    made = statements(swap("trials", held=("calls",)))
    starts = [" ".join(statement.split()[:3]) for statement in made if not statement.startswith("SELECT")]
    assert [
        "BEGIN TRANSACTION",
        "UPDATE `p.d._published` SET",
        "INSERT INTO `p.d.trials`",
        "DELETE FROM `p.d.calls`",
        "DELETE FROM `p.d._published`",
        "INSERT INTO `p.d._published`",
        "COMMIT TRANSACTION",
    ] == starts


@pytest.mark.parametrize(
    ("kept", "condition"),
    [
        (None, "run_date IN (DATE '2026-11-27', DATE '2026-11-28')"),
        (frozenset[date](), "run_date >= DATE '0001-01-01'"),
        (frozenset([date(2026, 11, 30)]), "run_date >= DATE '0001-01-01' AND NOT run_date IN (DATE '2026-11-30')"),
    ],
)
def test_which_rows_go(kept: frozenset[date] | None, condition: str) -> None:
    """Those of the dates; where all is made afresh, everything but what is kept. Of the log never any."""
    deleted = [each for each in statements(replace(swap("trials", held=EVERY), kept=kept)) if each.startswith("DELETE")]
    assert {condition} == {each.partition(" WHERE ")[2] for each in deleted}
    assert len(EVERY) == len(deleted)
    assert not any("decision_log" in each for each in deleted)


def test_it_fails_unless_number_and_staging_are_what_they_were() -> None:
    """Before anything is changed: the last publish, and as many rows as were loaded."""
    _, number, staging, *_ = statements(swap("trials", "calls"))
    assert "(SELECT IFNULL(MAX(seq), 0) FROM `p.d._published`) = 4, TRUE, ERROR(" in number
    assert "(SELECT COUNT(*) FROM `p.d._staging_trials_h_5`) = 3 AND (SELECT COUNT(*)" in staging
