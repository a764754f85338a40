"""CSV that is safe to open in a spreadsheet: no text in it is a formula."""

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from evalbench.web.words import counted

Cell: TypeAlias = object
Row: TypeAlias = Sequence[Cell]

FORMULA = frozenset("=+-@")
"""What makes a spreadsheet compute a text that begins with it."""
UNSEEN = "\u200b\u2060\ufeff"


def csv_text(header: Sequence[str], rows: Iterable[Row]) -> str:
    """One CSV file: numbers as they are, nothing for None, and no text that a spreadsheet would compute."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return target.getvalue()


def safe(text: str) -> str:
    """A text behind an apostrophe where it would be a formula, whatever stands unseen before its first letter."""
    # Full-width signs count as what they look like.
    letters = unicodedata.normalize("NFKC", text)
    first = next((letter for letter in letters if not letter.isspace() and letter not in UNSEEN), "")
    return f"'{text}" if first in FORMULA else text


def _cell(value: Cell) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return safe(counted(value))
    if isinstance(value, list | tuple):
        return safe(", ".join(str(item) for item in value))
    return safe(str(value))
