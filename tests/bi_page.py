"""The queries of docs/bi.md, as Looker Studio, Superset and Metabase would send them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from types import SimpleNamespace

from jinja2.sandbox import SandboxedEnvironment

DATASET = "my-project.evalbench"
"""The dataset that the page writes for the reader's."""

_PIECE = re.compile(
    r"^```sql (?P<tool>[a-z-]+)\n(?P<text>.*?)^```$|^The same over: (?P<views>.*?)\.$", re.MULTILINE | re.DOTALL
)
_VIEW = re.compile(rf"`{re.escape(DATASET)}\.(\w+)`")
_CODE = re.compile(r"`([^`]+)`")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query of the page for one tool, over one view. written: it stands there, and isn't "the same over" another."""

    tool: str
    view: str
    text: str
    number: int
    written: bool = True

    @property
    def aggregates(self) -> bool:
        """Whether it has other columns than the view."""
        return "GROUP BY" in self.text

    @property
    def name(self) -> str:
        """A short name that no other query has."""
        return f"{self.tool}-{self.number}-{self.view}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a person chose in the dashboard: first and last date, values by column. Nothing: no filter is set."""

    first: str | None = None
    last: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a tool sends to the database: SQL, and query parameters, all of them texts."""

    sql: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A row of the page's table of questions."""

    text: str
    view: str
    by: Sequence[str]
    figures: Sequence[str]
    only: str | None

    def over(self, source: str) -> str:
        """The chart's query over a data source, as Superset and Looker Studio wrap it."""
        figures = [f"{figure} AS figure_{number}" for number, figure in enumerate(self.figures)]
        where = f" WHERE {self.only}" if self.only else ""
        by = ", ".join(self.by)
        return f"SELECT {', '.join([*self.by, *figures])} FROM (\n{source}\n) AS virtual_table{where} GROUP BY {by}"


def queries(page: str) -> list[Query]:
    """Every query of the page, those of "The same over" too."""
    found: list[Query] = []
    for piece in _PIECE.finditer(page):
        if piece["views"] is None:
            view = _VIEW.search(piece["text"])
            assert view is not None, piece["text"]
            found.append(Query(tool=piece["tool"], view=view[1], text=piece["text"].strip(), number=len(found)))
        else:
            found += list(_over(found[-1], _CODE.findall(piece["views"])))
    return found


def _over(query: Query, views: Sequence[str]) -> Iterator[Query]:
    for number, view in enumerate(views, query.number + 1):
        text = query.text.replace(f".{query.view}`", f".{view}`")
        yield replace(query, view=view, text=text, number=number, written=False)


def questions(page: str) -> list[Question]:
    """Every row of the table of questions."""
    rows = [line.strip("| \n").split("|") for line in page.splitlines() if re.match(r"\| [^|]+\? \| `", line)]
    return [_question([cell.strip() for cell in row]) for row in rows]


def _question(cells: Sequence[str]) -> Question:
    text, view, by, figures, *only = cells
    (source,) = _CODE.findall(view)
    conditions = _CODE.findall(only[0]) if only else []
    return Question(
        text=text,
        view=source,
        by=_CODE.findall(by),
        figures=_CODE.findall(figures),
        only=conditions[0] if conditions else None,
    )


def sent(query: Query, chosen: Chosen) -> Sent:
    """A query as its tool sends it."""
    if query.tool == "looker-studio":
        assert chosen.first is not None
        assert chosen.last is not None
        dates = {"DS_START_DATE": chosen.first.replace("-", ""), "DS_END_DATE": chosen.last.replace("-", "")}
        return Sent(sql=query.text, parameters=dates)
    return Sent(sql={"superset": _superset, "metabase": _metabase}[query.tool](query.text, chosen))


def _superset(text: str, chosen: Chosen) -> str:
    """Jinja with what Superset puts into it. Its time ranges end before their last date, ours with it."""
    environment = SandboxedEnvironment()
    environment.filters["where_in"] = lambda values: "(" + ", ".join(f"'{value}'" for value in values) + ")"
    first, end = chosen.first, _next_day(chosen.last)

    def get_time_filter(column: str, *, remove_filter: bool) -> SimpleNamespace:
        assert (column, remove_filter) == ("run_date", True)
        made = [None if day is None else f"CAST('{day}' AS DATE)" for day in (first, end)]
        return SimpleNamespace(from_expr=made[0], to_expr=made[1])

    return environment.from_string(text).render(
        get_time_filter=get_time_filter,
        filter_values=lambda column: [chosen.values[column]] if column in chosen.values else [],
        from_dttm=None if first is None else f"{first}T00:00:00",
        to_dttm=None if end is None else f"{end}T00:00:00",
    )


def _next_day(day: str | None) -> str | None:
    return None if day is None else (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _metabase(text: str, chosen: Chosen) -> str:
    """Clauses whose filter is set, with the condition Metabase writes for a field filter on an aliased column."""
    conditions = {name: f"(`t`.`{name}` = '{value}')" for name, value in chosen.values.items()}
    if chosen.first is not None:
        conditions["run_date"] = f"(`t`.`run_date` BETWEEN DATE '{chosen.first}' AND DATE '{chosen.last}')"

    def clause(found: re.Match[str]) -> str:
        names = _VARIABLE.findall(found[1])
        return _VARIABLE.sub(lambda name: conditions[name[1]], found[1]) if set(names) <= conditions.keys() else ""

    return _OPTIONAL.sub(clause, text)


def for_bigquery(sql: str, dataset: str) -> str:
    """A query over this dataset."""
    return sql.replace(DATASET, dataset)


def for_duckdb(sql: str) -> str:
    """A query over the lake: bare names, no backquotes, DuckDB's sign for parameters. PARSE_DATE must be a macro."""
    return re.sub(r"@(\w+)", r"$\1", _VIEW.sub(r"\1", sql).replace("`", ""))
