"""What several downloads have in their rows: subjects, signals, places in files, and records as they are."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields

from evalbench.gate.case import Subject
from evalbench.web.csv_text import Cell, Row, csv_text
from evalbench.web.models.parts import SignalFigure, SignalPoint
from evalbench.web.models.places import Place

OF_SUBJECT = ("product", "suite", "environment", "candidate")
POINT = ("value", "numerator", "denominator", "left_out", "ci95_low", "ci95_high", "unit", "not_available")
FIGURE = (*POINT, "left_out_for", "covered", "population", "counted")


def subject_cells(subject: Subject | None) -> tuple[Cell, ...]:
    """Under OF_SUBJECT; empty for an entry whose subject isn't known."""
    return astuple(subject) if subject is not None else ("",) * len(OF_SUBJECT)


def point_cells(found: SignalFigure | SignalPoint | None, unit: str | None) -> tuple[Cell, ...]:
    """Under POINT: a signal on a date, None where it wasn't published for it."""
    if found is None:
        return (*[None] * (len(POINT) - 2), unit, "not published")
    low, high = found.ci95 or (None, None)
    why = found.reason if found.value is None else None
    return (found.value, found.numerator, found.denominator, found.left_out_total, low, high, unit, why)


def figure_cells(found: SignalFigure | None) -> tuple[Cell, ...]:
    """Under FIGURE: a signal with what was left out for which reason, and with its coverage."""
    if found is None:
        return (*point_cells(None, None), *[None] * (len(FIGURE) - len(POINT)))
    return (*point_cells(found, found.unit), found.left_out, found.covered, found.population, found.counted)


def records(kind: type, rows: Sequence[object], header: Sequence[str], before: Iterable[Row]) -> str:
    """A file of records as they are, each behind some cells of its own; their `subject` is among these."""
    names = [field.name for field in fields(kind) if field.name != "subject"]
    shown = zip(before, rows, strict=False)
    return csv_text([*header, *names], ((*cells, *(getattr(row, name) for name in names)) for cells, row in shown))


def place_said(place: Place | None) -> str | None:
    """`trials.jsonl line 4, outcome`."""
    if place is None:
        return None
    row = "" if place.row is None else f" {place.unit} {place.row}"
    return f"{place.file}{row}" + ("" if place.field is None else f", {place.field}")
