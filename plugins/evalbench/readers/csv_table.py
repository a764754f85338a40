"""CSV files as harnesses leave them: a tolerant splitter, linear in the size of the file.

Records end at a line feed outside quotes and nowhere else; a carriage return is content, except right before the line
feed in a file whose header ends with both. Cells have any size. A file that does not end in a line end was cut while
it was written: its last record is torn and never used, even when its number of fields fits.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalbench.ledger import Defect, EvidenceRef
from evalbench.readers.redact import redact_text
from evalbench.readers.snapshot import MOST_RECORDS, TooManyRecordsError

_BOM = b"\xef\xbb\xbf"
_BREAK = re.compile("[,\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One intact record. number is 1-based, the header and blank lines not counted."""

    number: int
    fields: Mapping[str, str]

    def text(self, column: str) -> str:
        """The cell as written; empty when the file has no such column."""
        return self.fields.get(column, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A file's intact records and what was wrong with the others. torn: the end of the file is missing."""

    file: str
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    torn: bool = False
    defects: tuple[Defect, ...] = ()

    def has(self, column: str) -> bool:
        """Whether the header names this column."""
        return column in self.columns

    def ref(self, row: Row, column: str | None = None) -> EvidenceRef:
        """Where a row, or one of its cells, stands."""
        return EvidenceRef(file=self.file, row=row.number, field=column)


def read_table(file: str, data: bytes) -> Table:
    """Split `data` into records under its header; bytes that are not UTF-8 become U+FFFD.

    Raises TooManyRecordsError, and nothing else.
    """
    text, defects = _decoded(file, data)
    records = _records(text)
    header, header_ended = next(records, ([], True))
    if not header_ended:
        return Table(file=file, torn=True, defects=(*defects, _torn(file, None)))
    if not header:
        return Table(file=file, defects=(*defects, _defect("empty_file", file, "holds no header and no records")))
    crlf = header[-1].endswith("\r")
    # A NUL in a cell is content; one in a header would only hide the column.
    columns = tuple(name.replace("\0", "") for name in (_without_return(header) if crlf else header))
    repeated = sorted({name for name in columns if columns.count(name) > 1})
    for name in repeated:
        defects.append(_defect("repeated_column", file, f"names column {redact_text(name)!r} twice; the first is used"))
    rows: list[Row] = []
    torn, number = False, 0
    for fields, ended in records:
        if ended and fields in ([""], ["\r"]) and len(columns) > 1:
            continue
        number += 1
        if number > MOST_RECORDS:
            raise TooManyRecordsError(file)
        cells = _without_return(fields) if crlf and ended else fields
        if not ended:
            torn = True
            defects.append(_torn(file, number))
        elif len(cells) != len(columns):
            counted = f"has {len(cells)} fields where the header has {len(columns)}; the record is not used"
            defects.append(_defect("wrong_field_count", file, counted, number))
        else:
            rows.append(Row(number=number, fields=dict(zip(reversed(columns), reversed(cells), strict=True))))
    return Table(file=file, columns=columns, rows=tuple(rows), torn=torn, defects=tuple(defects))


def _decoded(file: str, data: bytes) -> tuple[str, list[Defect]]:
    raw = data.removeprefix(_BOM)
    try:
        return raw.decode("utf-8"), []
    except UnicodeDecodeError as error:
        where = f"byte {error.start} is not UTF-8; unreadable bytes are shown as U+FFFD"
        return raw.decode("utf-8", "replace"), [_defect("not_utf8", file, where)]


def _records(text: str) -> Iterator[tuple[list[str], bool]]:
    """(fields, whether a line end closed the record), one after the other."""
    at = 0
    while at < len(text):
        fields: list[str] = []
        while True:
            field, at, mark = _field(text, at)
            fields.append(field)
            if mark != ",":
                break
        yield fields, mark == "\n"


def _field(text: str, start: int) -> tuple[str, int, str]:
    """(cell, position after its delimiter, the delimiter, empty at the end of the file)."""
    quoted, at = "", start
    if text.startswith('"', start):
        quoted, at, closed = _quoted(text, start + 1)
        if not closed:
            return quoted, len(text), ""
    found = _BREAK.search(text, at)
    if found is None:
        return quoted + text[at:], len(text), ""
    rest = text[at : found.start()]
    # After a closing quote a carriage return can only belong to the line end.
    if at > start and rest == "\r" and found.group() == "\n":
        rest = ""
    return quoted + rest, found.end(), found.group()


def _quoted(text: str, start: int) -> tuple[str, int, bool]:
    """(content, position after the closing quote, whether there was one)."""
    pieces: list[str] = []
    at = start
    while (quote := text.find('"', at)) >= 0:
        pieces.append(text[at:quote])
        if not text.startswith('"', quote + 1):
            return "".join(pieces), quote + 1, True
        pieces.append('"')
        at = quote + 2
    return "".join(pieces) + text[at:], len(text), False


def _without_return(fields: list[str]) -> list[str]:
    return [*fields[:-1], fields[-1].removesuffix("\r")]


def _torn(file: str, number: int | None) -> Defect:
    what = "the header" if number is None else "the last record"
    return _defect("torn_row", file, f"does not end in a line end: {what} was cut and is not used", number)


def _defect(code: str, file: str, what: str, number: int | None = None) -> Defect:
    place = file if number is None else f"{file} record {number}"
    return Defect(code=code, message=f"{place}: {what}", ref=EvidenceRef(file=file, row=number))
