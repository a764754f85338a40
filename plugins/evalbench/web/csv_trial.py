"""The tables of the trial page as CSV files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType

from evalbench.ledger import ExpectedCall, ToolCall
from evalbench.web.csv_rows import place_said
from evalbench.web.csv_text import Cell, Row, csv_text
from evalbench.web.models.parts import MissingError
from evalbench.web.models.trial import TrialPage, trial_page
from evalbench.web.models.trial_parts import EffectRow, VerdictRow
from evalbench.web.pages import Given, required, trial_of
from evalbench.web.store import View

_KEY = ("run_id", "task_id", "trial")


def _tools(page: TrialPage) -> str:
    header = (
        "comparison", "forbidden", "expected_number", "expected_tool", "expected_args", "called_number", "called_tool",
        "called_args", "status", "duration_ms", "not_available",
    )  # fmt: skip
    missing = page.tools.called_reason if page.tools.called is None else None
    if missing is not None and not page.tools.rows:
        raise _not_known(page, "its calls", missing)
    rows = (
        (
            row.mark, row.forbidden, *_call(row.expected_at, row.expected), *_call(row.called_at, row.called),
            *((None, None) if row.called is None else (row.called.status, row.called.duration_ms)),
            missing,
        )
        for row in page.tools.rows
    )  # fmt: skip
    return _of_trial(page, header, rows)


def _call(at: int | None, call: ExpectedCall | ToolCall | None) -> tuple[Cell, ...]:
    """Its number as the page counts, from 1, its tool and arguments; empty where that side is."""
    return (None, None, None) if call is None or at is None else (at + 1, call.name, call.args_json)


def _effects(page: TrialPage) -> str:
    if page.effects is None:
        raise _not_known(page, "its effects", page.effects_reason)
    return _records(page, EffectRow, page.effects)


def _not_known(page: TrialPage, what: str, why: str | None) -> MissingError:
    """A file without rows would say that there are none: of what isn't known there is no file."""
    return MissingError(f"{page.link.label} of {page.link.run_id}: {what} are not available: {why}")


def _verdicts(page: TrialPage) -> str:
    return _records(page, VerdictRow, page.verdicts)


def _records(page: TrialPage, kind: type, found: Iterable[EffectRow | VerdictRow]) -> str:
    names = [field.name for field in fields(kind) if field.name != "place"]
    rows = ((*(getattr(row, name) for name in names), place_said(row.place)) for row in found)
    return _of_trial(page, (*names, "place"), rows)


def _of_trial(page: TrialPage, header: Iterable[str], rows: Iterable[Row]) -> str:
    key = (page.link.run_id, page.link.task_id, page.link.trial)
    return csv_text((*_KEY, *header), ((*key, *row) for row in rows))


def _file(make: Callable[[TrialPage], str]) -> Callable[[View, Given], str]:
    def text(view: View, given: Given) -> str:
        return make(trial_page(view, required(given, "run_id"), required(given, "task_id"), trial_of(given)))

    return text


TRIAL: Mapping[str, Callable[[View, Given], str]] = MappingProxyType(
    {"tools": _file(_tools), "effects": _file(_effects), "verdicts": _file(_verdicts)}
)
"""Name of the download → its text."""
