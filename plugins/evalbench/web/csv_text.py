"""CSV that is safe to open in a spreadsheet: no text in it is a formula, whatever the spreadsheet splits lines at."""

import re
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
QUOTE = '"'
# A spreadsheet of another locale begins a new cell at these. Quotes hold a text together only where they stand at the
# start of one of its own cells.
_SEPARATORS = re.compile("([;\t|\r\n])")
_QUOTED = re.compile('[",;\t|\r\n]')
_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which no file can hold."""


def csv_text(header: Sequence[str], rows: Iterable[Row]) -> str:
    """One CSV file: numbers as they are, nothing for None, and no text that a spreadsheet would compute."""
    return "".join(f"{','.join(map(_written, row))}\r\n" for row in (header, *rows))


def safe(text: str) -> str:
    """A text with an apostrophe wherever a formula would begin: at its start, and behind a separator of cells."""
    guarded = "".join(f"'{part}" if _is_formula(part) else part for part in _SEPARATORS.split(text))
    return f"'{guarded}" if _is_formula(text) and not guarded.startswith("'") else guarded


def _is_formula(text: str) -> bool:
    """Whether it begins like one, whatever stands unseen before its first letter."""
    if text[:1].isascii() and text[:1].isalnum():
        return False
    # Full-width signs count as what they look like.
    letters = unicodedata.normalize("NFKC", text)
    return next((letter for letter in letters if letter != QUOTE and not _unseen(letter)), "") in FORMULA


def _unseen(letter: str) -> bool:
    """Whether it is a blank, a control character, or one that only steers how others look."""
    return unicodedata.category(letter)[0] in "ZC"


def _written(cell: Cell) -> str:
    text = _HALVES.sub("\ufffd", _text(cell))
    return QUOTE + text.replace(QUOTE, QUOTE * 2) + QUOTE if _QUOTED.search(text) else text


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float | Decimal):
        return str(cell)
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    if isinstance(cell, Mapping):
        return safe(counted(cell))
    if isinstance(cell, list | tuple):
        return safe(", ".join(str(item) for item in cell))
    return safe(str(cell))
