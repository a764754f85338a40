"""The tolerant CSV splitter."""

import csv
import io

import pytest

from evalbench.readers.csv_table import read_table


def cells(data: bytes) -> list[dict[str, str]]:
    """The intact records of a file."""
    return [dict(row.fields) for row in read_table("f.csv", data).rows]


def codes(data: bytes) -> list[tuple[str, int | None]]:
    """(defect code, record) of a file."""
    return [(defect.code, defect.ref.row if defect.ref else None) for defect in read_table("f.csv", data).defects]


RECORDS = {
    "plain": ([{"a": "1", "b": "2"}], b"a,b\n1,2\n"),
    "quoted comma, quote and line feed": ([{"a": 'x,"y"\nz', "b": "2"}], b'a,b\n"x,""y""\nz",2\n'),
    "empty cells": ([{"a": "", "b": ""}], b'a,b\n"",\n'),
    "BOM": ([{"a": "1", "b": "2"}], b"\xef\xbb\xbfa,b\n1,2\n"),
    "CRLF": ([{"a": "1", "b": "2"}], b"a,b\r\n1,2\r\n"),
    "CRLF after a quote in a file of line feeds": ([{"a": "1", "b": "2"}], b'a,b\n1,"2"\r\n'),
    "lone carriage return is content": ([{"a": "x\ry", "b": "2"}], b"a,b\nx\ry,2\n"),
    "carriage return before the line feed is content": ([{"a": "1", "b": "2\r"}], b"a,b\n1,2\r\n"),
    "NUL in a header hides no column": ([{"a": "1", "b": "2"}], b"\0a,b\0\n1,2\n"),
    "NUL is content": ([{"a": "x\0y", "b": "2"}], b"a,b\nx\0y,2\n"),
    "quote inside an unquoted cell": ([{"a": 'x"y', "b": "2"}], b'a,b\nx"y,2\n'),
    "text after a closing quote": ([{"a": "xyz", "b": "2"}], b'a,b\n"x"yz,2\n'),
    "blank lines are no records": ([{"a": "1", "b": "2"}], b"a,b\n\n1,2\n\n"),
    "header only": ([], b"a,b\n"),
    "one empty cell in one column": ([{"a": ""}], b"a\n\n"),
    "id-like text stays text": ([{"a": "007", "b": "1e3"}], b"a,b\n007,1e3\n"),
}


@pytest.mark.parametrize(("expected", "data"), RECORDS.values(), ids=RECORDS)
def test_intact_records_are_read_as_text(expected: list[dict[str, str]], data: bytes) -> None:
    """Records end at line feeds outside quotes, and cells come as written."""
    assert expected == cells(data)
    assert [] == codes(data)


DEFECTS = {
    "torn last record with all its fields": ([("torn_row", 2)], [{"a": "1", "b": "2"}], b"a,b\n1,2\n3,4"),
    "torn inside quotes": ([("torn_row", 2)], [{"a": "1", "b": "2"}], b'a,b\n1,2\n3,"4\n'),
    "torn after a comma": ([("torn_row", 1)], [], b"a,b\n1,"),
    "torn header": ([("torn_row", None)], [], b"a,b"),
    "too few fields": ([("wrong_field_count", 1)], [{"a": "3", "b": "4"}], b"a,b\n1\n3,4\n"),
    "too many fields": ([("wrong_field_count", 2)], [{"a": "1", "b": "2"}], b"a,b\n1,2\n3,4,5\n"),
    "empty file": ([("empty_file", None)], [], b""),
    "repeated column keeps the first": ([("repeated_column", None)], [{"a": "1"}], b"a,a\n1,2\n"),
    "not UTF-8": ([("not_utf8", None)], [{"a": "\ufffd", "b": "2"}], b"a,b\n\xff,2\n"),
}


@pytest.mark.parametrize(("expected", "kept", "data"), DEFECTS.values(), ids=DEFECTS)
def test_damage_is_located_and_never_used(
    expected: list[tuple[str, int | None]], kept: list[dict[str, str]], data: bytes
) -> None:
    """A damaged record is dropped with a defect that names it; its neighbours stay."""
    assert expected == codes(data)
    assert kept == cells(data)


def test_only_a_missing_line_end_makes_a_file_torn() -> None:
    """A wrong record in the middle doesn't say that the end is missing."""
    assert read_table("f.csv", b"a,b\n1,2").torn
    assert not read_table("f.csv", b"a,b\n1\n").torn


def test_cells_have_any_size() -> None:
    """A cell beyond the standard library's limit is read whole."""
    large = "x" * (csv.field_size_limit() + 1)
    assert [{"a": large, "b": "2"}] == cells(f"a,b\n{large},2\n".encode())
    assert [{"a": large + '"', "b": "2"}] == cells(f'a,b\n"{large}""",2\n'.encode())


def test_what_the_standard_writer_wrote_is_read_back() -> None:
    """Writing with the csv module and reading is identity."""
    rows = [["plain", 'a "quote"'], ["comma, here", "line\nfeed"], ["", "tab\t"], ["é", "\r\n"]]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["a", "b"], *rows])
    assert [{"a": first, "b": second} for first, second in rows] == cells(out.getvalue().encode())


def test_records_are_numbered_from_one_without_header_and_blank_lines() -> None:
    """Evidence can name the record."""
    table = read_table("f.csv", b"a,b\n1,2\n\n3\n5,6\n")
    assert [1, 3] == [row.number for row in table.rows]
    assert ("f.csv", 3, "b") == (table.ref(table.rows[1], "b").file, 3, table.ref(table.rows[1], "b").field)
