"""The views in BigQuery: the files of include/sql with every table and view under its full name.

Base tables may demand a filter on their partitions, which BI tools don't write. Inside our views each base table is
therefore read behind a filter that every date passes, whatever the setting says.
"""

import re
from collections.abc import Mapping

from evalbench.settings import include_dir
from evalbench.tables import TABLES, VIEWS

EVERY_DATE = "run_date >= DATE '1970-01-01'"

_KEPT = r"""--[^\n]* | /\*.*?\*/ | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \bDISTINCT\s+FROM\b"""
_OUTSIDE = re.compile(_KEPT, re.VERBOSE | re.DOTALL | re.IGNORECASE)
_REFERENCE = re.compile(
    rf"""(?P<kept>{_KEPT}) | \b(?P<clause>FROM|JOIN)(?P<space>\s+)(?P<name>\w+)\b(?!\s*[.(])(?P<alias>\s+AS\s+\w+)?""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_CTE = re.compile(r"\b(\w+)\s+AS\s*\(", re.IGNORECASE)


def view_queries(dataset: str) -> dict[str, str]:
    """The query of every view by name, in the order in which they can be created. dataset: `project.dataset`."""
    return {view.name: qualified(_text(view.name), dataset) for view in VIEWS}


def qualified(sql: str, dataset: str) -> str:
    """A query in which every table and view of ours has its full name; all else, comments too, is as it was.

    sql: names tables and views bare and directly after FROM or JOIN, each in a clause of its own, and writes AS before
    an alias. A name that the query gives to a common table expression is the expression's.
    """
    shadowed = frozenset(_CTE.findall(_OUTSIDE.sub(" ", sql)))
    sources = {name: source for name, source in _sources(dataset).items() if name not in shadowed}

    def replaced(found: re.Match[str]) -> str:
        if found["kept"] is not None or found["name"] not in sources:
            return found[0]
        alias = found["alias"] or f" AS {found['name']}"
        return f"{found['clause']}{found['space']}{sources[found['name']]}{alias}"

    return _REFERENCE.sub(replaced, sql)


def _sources(dataset: str) -> Mapping[str, str]:
    tables = {table.name: f"(SELECT * FROM `{dataset}.{table.name}` WHERE {EVERY_DATE})" for table in TABLES}
    return tables | {view.name: f"`{dataset}.{view.name}`" for view in VIEWS}


def _text(name: str) -> str:
    return (include_dir() / "sql" / f"{name}.sql").read_text(encoding="utf-8")
