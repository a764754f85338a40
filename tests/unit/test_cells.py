"""Values out of repr and JSON cells."""

from decimal import Decimal

import pytest

from evalbench.canonical import canonical_json
from evalbench.readers.cells import MAX_DEPTH, MAX_VALUES, Cell, parse_cell, parse_json, plain_decimal

VALUES = {
    "json": ({"a": [1, 2.5, None, True]}, '{"a": [1, 2.5, null, true]}'),
    "repr dict": ({"a": [1, 2.5, None, True]}, "{'a': [1, 2.5, None, True]}"),
    "repr, quote inside": ({"say": "it's"}, "{'say': \"it's\"}"),
    "repr, both quotes inside": (['it\'s "so"'], "['it\\'s \"so\"']"),
    "repr, escapes": (["a\nb\\cé😀"], "['a\\nb\\\\c\\xe9\\U0001f600']"),
    "unknown escape keeps its backslash": (["\\d"], "['\\d']"),
    "empty list": ([], "[]"),
    "empty dict": ({}, "{}"),
    "empty tuple": ([], "()"),
    "tuple of one": ([1], "(1,)"),
    "parentheses only group": (1, "(1)"),
    "trailing comma": ([1, 2], "[1, 2,]"),
    "set is sorted": (["a", "b"], "{'b', 'a'}"),
    "keys become text": ({"1": "x", "None": "y"}, "{1: 'x', None: 'y'}"),
    "nan keeps its word": (["nan", "-inf"], "[nan, -inf]"),
    "json NaN keeps its word": (["NaN"], "[NaN]"),
    "json overflow keeps its digits": (["1e999"], "[1e999]"),
    "repr overflow keeps its digits": (["1e999", "x"], "[1e999, 'x']"),
    "absurdly long number stays text": (["9" * 300], f"[{'9' * 300}]"),
    "constructor stays text": ({"when": "datetime.datetime(2026, 1, 2)"}, "{'when': datetime.datetime(2026, 1, 2)}"),
    "constructor with a parenthesis in a string": ([["f(')', (1))"], 2], "[[f(')', (1))], 2]"),
    "decimal stays text": (["Decimal('1.5')"], "[Decimal('1.5')]"),
    "bytes stay text": (["b'\\x00'"], "[b'\\x00']"),
    "lone surrogate": (["\ufffd"], '["\\ud800"]'),
    "lone surrogate in repr": (["\ufffd"], "['\\udcff']"),
    "None alone": (None, "None"),
    "space around": ([1], "  [1]\n"),
    "json in another script": (["日本"], '["日本"]'),
}


@pytest.mark.parametrize(("expected", "text"), VALUES.values(), ids=VALUES)
def test_a_cell_is_read_into_json_types(expected: object, text: str) -> None:
    """JSON and repr give the same values, and each can be written as canonical JSON again."""
    assert Cell(value=expected) == parse_cell(text)
    assert canonical_json(expected) == canonical_json(parse_cell(text).value)


REFUSED = {
    "empty": ("empty", ""),
    "blank": ("empty", " \n"),
    "prose": ("not_a_literal", "Agent took 8 turns."),
    "cut repr": ("not_a_literal", "{'a': ['b'"),
    "cut string": ("not_a_literal", "['abc"),
    "cut json": ("not_a_literal", '{"a": '),
    "two values": ("not_a_literal", "[1] [2]"),
    "missing comma": ("not_a_literal", "[1 2]"),
    "missing colon": ("not_a_literal", "{'a': 1, 'b'}"),
    "object repr": ("not_a_literal", "[<object at 0x7f>]"),
    "expression": ("not_a_literal", "[1 + 2]"),
    "comprehension": ("not_a_literal", "[x for x in (1, 2)]"),
    "lambda": ("not_a_literal", "lambda: 1"),
    "unclosed call": ("not_a_literal", "[f(1]"),
    "deep json": ("too_deep", "[" * 150 + "]" * 150),
    "absurdly deep json": ("too_deep", "[" * 100_000 + "]" * 100_000),
    "deep repr": ("too_deep", "['a', " * 150 + "]" * 150),
    "absurdly deep repr": ("too_deep", "('a', " * 100_000),
    "too many values": ("too_many_values", "[" + "0," * MAX_VALUES + "0]"),
    "too many repr values": ("too_many_values", "['a'," + "0," * MAX_VALUES + "]"),
}


@pytest.mark.parametrize(("reason", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_has_a_reason(reason: str, text: str) -> None:
    """Nothing raises, nothing is evaluated: a refused cell says why."""
    assert Cell(reason=reason) == parse_cell(text)


def test_the_deepest_allowed_nesting_is_read() -> None:
    """The depth bound is exact, for JSON and for repr."""
    assert parse_cell("[" * MAX_DEPTH + "]" * MAX_DEPTH).reason is None
    assert "too_deep" == parse_cell("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)).reason
    assert parse_cell("('a'," * (MAX_DEPTH - 1) + ")" * (MAX_DEPTH - 1)).reason is None


def test_a_constructor_is_never_called() -> None:
    """Text that would run code when evaluated stays text."""
    text = "[__import__('os').system('exit 1')]"
    assert Cell(reason="not_a_literal") == parse_cell(text)
    assert Cell(value=["exec('raise SystemExit')"]) == parse_cell("[exec('raise SystemExit')]")


def test_json_only_cells_refuse_repr() -> None:
    """A cell documented as JSON isn't read as anything else."""
    assert Cell(reason="not_json") == parse_json("['a']")
    assert Cell(value=["a"]) == parse_json('["a"]')


NUMBERS = {
    "plain": (Decimal(20), "20.0"),
    "share": (Decimal("33.333333333"), "33.33333333333333"),
    "half to even": (Decimal("0.000000002"), "0.0000000025"),
    "exponent": (Decimal(1500), "1.5e3"),
    "tiny": (Decimal(0), "1e-400"),
    "negative": (Decimal(-1), "-1"),
    "spaces": (Decimal(7), " 7 "),
    "empty": (None, ""),
    "nan": (None, "nan"),
    "infinity": (None, "inf"),
    "underscore": (None, "1_000"),
    "word": (None, "n/a"),
    "too large for a table": (None, "1e9"),
    "absurd exponent": (None, "1e999999999"),
    "endless digits": (None, "1" * 500),
}


@pytest.mark.parametrize(("expected", "text"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_plain_or_absent(expected: Decimal | None, text: str) -> None:
    """A number in ordinary notation becomes a decimal of nine places; anything else is absent, never 0."""
    assert expected == plain_decimal(text)
