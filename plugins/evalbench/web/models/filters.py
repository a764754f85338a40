"""Filters as a condition on a held table, and what can be chosen in them."""

from collections.abc import Mapping
from datetime import date

from evalbench.errors import UsageError
from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.web.models.parts import FilterOptions, Filters
from evalbench.web.store import View
from evalbench.web.tables import SUBJECT

NAMES = ("product", "suite", "environment", "candidate", "model")
SEVERAL = ", "
"""What stands between the models of a decision over runs of several."""


def filters_of(given: Mapping[str, str]) -> Filters:
    """Filters from a query string: product, suite, environment, candidate, model, date, decision, and older=1.

    An empty one is none. Raises UsageError for a date that is no date, and a decision that is none.
    """
    chosen = {name: given.get(name) or None for name in NAMES}
    day, decision = day_of(given.get("date")), _decision_of(given.get("decision"))
    return Filters(**chosen, day=day, decision=decision, older=given.get("older") == "1")


def _decision_of(text: str | None) -> Verdict | None:
    if not text:
        return None
    try:
        return Verdict(text)
    except ValueError as error:
        raise UsageError(f"decision: {text!r} is none of {', '.join(Verdict)}") from error


def day_of(text: str | None) -> date | None:
    """A date of a query string, None for none. Raises UsageError for a text that is no date."""
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"date: {text!r} is no date; give one such as 2026-11-28") from error


def condition(filters: Filters, *, day: bool = True, model: bool = True) -> tuple[str, list[object]]:
    """`product = ? AND …` with its parameters, for a table with a subject; `true` when everything is asked for.

    day, model: whether the table has them to be asked about.
    """
    asked: list[tuple[str, object]] = [
        (f"{name} = ?", value) for name in NAMES[:4] if (value := getattr(filters, name)) is not None
    ]
    if model and filters.model is not None:
        asked.append((f"list_contains(string_split(model, '{SEVERAL}'), ?)", filters.model))
    if day and filters.day is not None:
        asked.append(("run_date = ?", filters.day))
    return " AND ".join(text for text, _ in asked) or "true", [value for _, value in asked]


def shown(filters: Filters, subject: Subject, model: str | None) -> bool:
    """Whether filters let a subject with these models pass; the date is somebody else's to look at."""
    asked = ((getattr(filters, name), getattr(subject, name)) for name in NAMES[:4])
    fits = all(wanted in (None, value) for wanted, value in asked)
    return fits and (filters.model is None or filters.model in (model or "").split(SEVERAL))


def filter_options(view: View, filters: Filters) -> FilterOptions:
    """What can be chosen; of suites, environments and candidates those that the other filters leave."""
    rows, days = view.once("options", lambda: _choices(view))
    suites = [row for row in rows if filters.product in (None, row["product"])]
    subjects = [row for row in suites if filters.suite in (None, row["suite"])]
    candidates = [row for row in subjects if filters.environment in (None, row["environment"])]
    models = {name for row in rows for name in (row["model"] or "").split(SEVERAL)} - {""}
    return FilterOptions(
        products=_distinct(rows, "product"),
        suites=_distinct(suites, "suite"),
        environments=_distinct(subjects, "environment"),
        candidates=_distinct(candidates, "candidate"),
        models=tuple(sorted(models)),
        days=days,
    )


def _choices(view: View) -> tuple[list[dict[str, str]], tuple[date, ...]]:
    rows = view.rows(f"SELECT DISTINCT {SUBJECT}, model FROM decisions")
    days = view.rows("SELECT DISTINCT run_date FROM decisions ORDER BY run_date DESC")
    return rows, tuple(row["run_date"] for row in days)


def _distinct(rows: list[dict[str, str]], name: str) -> tuple[str, ...]:
    return tuple(sorted({row[name] for row in rows}))
