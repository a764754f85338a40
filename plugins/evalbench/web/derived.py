"""Tables made from some dates' partitions while these are read: what they are made from is too much to be held."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from evalbench.tables import table_named
from evalbench.web.partitions import Rows
from evalbench.web.tables import DERIVED, DERIVED_FROM, READ, VIEWS_BEHIND, declared_rows, view_sql

_OWN_DAY = "CREATE VIEW decisions AS SELECT * REPLACE (run_date AS window_from) FROM every_decision"
"""A trial is judged by the decision of its own day: what later windows pool again isn't asked for here."""


def derived_rows(dates: Sequence[Rows]) -> Rows:
    """The derived tables of these dates."""
    tables = {name: _together(name, dates) for name in DERIVED_FROM}
    tables["every_decision"] = tables.pop("decisions")
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as database:
        database.execute("SET threads = 1")
        for name, rows in tables.items():
            database.register(name, rows)
        database.execute(_OWN_DAY)
        for name in VIEWS_BEHIND:
            database.execute(f"CREATE VIEW {name} AS {view_sql(name)}")
        return {derived.name: database.sql(derived.select).to_arrow_table() for derived in DERIVED}


def _together(name: str, dates: Sequence[Rows]) -> pa.Table:
    found = [rows[name] for rows in dates if name in rows]
    return pa.concat_tables(found) if found else _nothing(name)


def _nothing(name: str) -> pa.Table:
    return declared_rows(table_named(name), READ[name], pa.table({}))
