"""How single cells of evals.csv are understood. Everything in the file is text."""

from collections.abc import Mapping

from evalbench.canonical import sha256_parts
from evalbench.readers.cells import plain_decimal
from evalbench.readers.csv_table import Row

# How releases and pandas spell a missing value once it is cast to text.
_ABSENT = frozenset({"", "none", "nan", "<na>", "null"})
REASON_CHARS = 500


def stated(text: str) -> str:
    """The text, or nothing where it only spells a missing value. Not for ids: `NA` is an id."""
    return "" if text.strip().lower() in _ABSENT else text


def whole_number(text: str) -> int | None:
    """`0`, also as `0.0`; None when it isn't a whole number."""
    number = plain_decimal(text)
    return int(number) if number is not None and number == number.to_integral_value() else None


def truth(text: str) -> bool | None:
    """True or False as any writer spells it, None for anything else."""
    return {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}.get(text.strip().lower())


def content_hash(row: Row) -> str:
    """Hash of what a row says, wherever in the file it stands."""
    return sha256_parts(part for column in sorted(row.fields) for part in (column, row.fields[column]))


def join_cells(fields: Mapping[str, str]) -> dict[str, str]:
    """Cells that evals.csv and scores.csv share, besides the id."""
    names = ("database", "dialects", "generated_sql", "generated_error")
    return {name: fields[name] for name in names if name in fields}
