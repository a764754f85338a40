"""Values out of text cells: JSON first, then a Python literal, both bounded. Nothing is ever evaluated.

Result directories hold dicts and lists as `repr` text beside real JSON. `parse_cell` reads either into plain JSON
types, and never raises: what can't be read comes back as a reason.

Decided here, so that a value can always be written as canonical JSON again: tuples and sets become lists (sets
sorted), keys become text, `nan` and infinities become the word that stood there, bytes and constructor calls
(`Decimal('1')`, `datetime.datetime(2026, 1, 2)`) become their source text, numbers of absurd length stay text, and
lone surrogates become U+FFFD.
"""

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal

from evalbench.canonical import canonical_json
from evalbench.decimals import SCORE_LIMIT, nine_places
from evalbench.readers.json_text import without_surrogates

MAX_CHARS = 64_000_000
MAX_DEPTH = 100
MAX_VALUES = 1_000_000
MAX_NUMBER_CHARS = 200

_WORDS: dict[str, object] = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SPACE = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\"", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\n)|(.))", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")
_WORD = re.compile(r"[+-]?[A-Za-z_][A-Za-z0-9_.]*+")
_CALL_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|[()]|[^'\"()]++", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,4})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A parsed value, or the reason there is none: `empty`, `too_large`, `too_deep`, `too_many_values`,
    `not_json` or `not_a_literal`. `value` is meaningful exactly when `reason` is None."""

    value: object = None
    reason: str | None = None


class _RefusedError(Exception):
    """The text can't be read; carries the reason."""


def parse_cell(text: str) -> Cell:
    """JSON, else a Python literal."""
    cell = parse_json(text)
    if cell.reason != "not_json":
        return cell
    try:
        value = _Literal(text.strip()).read()
    except _RefusedError as refused:
        return Cell(reason=str(refused))
    return Cell(value=_without_surrogates(value) if _may_hold_surrogates(text) else value)


def parse_json(text: str) -> Cell:
    """JSON only."""
    if len(text) > MAX_CHARS:
        return Cell(reason="too_large")
    stripped = text.strip()
    if not stripped:
        return Cell(reason="empty")
    try:
        value = json.loads(stripped, parse_int=_integer, parse_float=_float, parse_constant=str)
    except RecursionError:
        return Cell(reason="too_deep")
    except ValueError:
        return Cell(reason="not_json")
    if reason := _bound_broken(value):
        return Cell(reason=reason)
    return Cell(value=_without_surrogates(value) if _may_hold_surrogates(stripped) else value)


def plain_decimal(text: str) -> Decimal | None:
    """A number in ordinary notation, rounded to 9 decimals; None for anything else, 1e9 and beyond included."""
    stripped = text.strip()
    if len(stripped) > MAX_NUMBER_CHARS or not _PLAIN_NUMBER.fullmatch(stripped):
        return None
    number = Decimal(stripped)
    if abs(number) >= SCORE_LIMIT:
        return None
    return nine_places(number)


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= MAX_NUMBER_CHARS else text


def _float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _bound_broken(value: object) -> str | None:
    """The bound a parsed value breaks, or None."""
    level, depth, seen = [value], 0, 0
    while level:
        depth += 1
        seen += len(level)
        if depth > MAX_DEPTH:
            return "too_deep"
        if seen > MAX_VALUES:
            return "too_many_values"
        level = [child for item in level for child in _children(item)]
    return None


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _may_hold_surrogates(text: str) -> bool:
    return "\\ud" in text or "\\uD" in text or "\\U" in text


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {str(_without_surrogates(key)): _without_surrogates(item) for key, item in value.items()}
    return value


class _Literal:
    """Recursive descent over one Python literal. Depth and count are bounded while reading."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.seen = 0

    def read(self) -> object:
        value = self._value(1)
        self._skip_space()
        if self.at != len(self.text):
            raise _RefusedError("not_a_literal")
        return value

    def _value(self, depth: int) -> object:
        self.seen += 1
        if depth > MAX_DEPTH:
            raise _RefusedError("too_deep")
        if self.seen > MAX_VALUES:
            raise _RefusedError("too_many_values")
        self._skip_space()
        head = self._peek()
        if head in "'\"" and head:
            return self._string()
        if head == "{":
            return self._braces(depth)
        if head in "[(" and head:
            return self._sequence(depth)
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            return _number(found.group())
        return self._word()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _take(self, mark: str) -> bool:
        self._skip_space()
        if self._peek() != mark:
            return False
        self.at += 1
        return True

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise _RefusedError("not_a_literal")
        self.at = found.end()
        body = found.group(1) if found.group(1) is not None else found.group(2)
        return _ESCAPE.sub(_unescaped, body) if "\\" in body else body

    def _sequence(self, depth: int) -> object:
        close = "]" if self._peek() == "[" else ")"
        self.at += 1
        items: list[object] = []
        comma = False
        while not self._take(close):
            if items and not comma:
                raise _RefusedError("not_a_literal")
            items.append(self._value(depth + 1))
            comma = self._take(",")
        grouping = close == ")" and len(items) == 1 and not comma
        return items[0] if grouping else items

    def _braces(self, depth: int) -> object:
        self.at += 1
        if self._take("}"):
            return {}
        first = self._value(depth + 1)
        if self._take(":"):
            return self._dict(first, depth)
        items = [first]
        while not self._take("}"):
            if not self._take(","):
                raise _RefusedError("not_a_literal")
            if self._take("}"):
                break
            items.append(self._value(depth + 1))
        return sorted(items, key=canonical_json)

    def _dict(self, first: object, depth: int) -> dict[str, object]:
        found = {_key(first): self._value(depth + 1)}
        while not self._take("}"):
            if not self._take(","):
                raise _RefusedError("not_a_literal")
            if self._take("}"):
                break
            key = self._value(depth + 1)
            if not self._take(":"):
                raise _RefusedError("not_a_literal")
            found[_key(key)] = self._value(depth + 1)
        return found

    def _word(self) -> object:
        found = _WORD.match(self.text, self.at)
        if found is None:
            raise _RefusedError("not_a_literal")
        start, word = self.at, found.group()
        self.at = found.end()
        if word in _WORDS:
            return _WORDS[word]
        if word.lstrip("+-").lower() in {"nan", "inf", "infinity"}:
            return word
        if word in {"b", "B"} and self._peek() in {"'", '"'}:
            self._string()
            return self.text[start : self.at]
        if self._peek() == "(":
            self._skip_call()
            return self.text[start : self.at]
        raise _RefusedError("not_a_literal")

    def _skip_call(self) -> None:
        """Past the closing parenthesis of a constructor call; what is inside is never interpreted."""
        open_marks = 0
        while token := _CALL_TOKEN.match(self.text, self.at):
            self.at = token.end()
            open_marks += {"(": 1, ")": -1}.get(token.group(), 0)
            if open_marks == 0:
                return
        raise _RefusedError("not_a_literal")


def _number(text: str) -> object:
    if len(text) > MAX_NUMBER_CHARS:
        return text
    bare = text.replace("_", "")
    return int(bare) if bare.lstrip("+-").isdigit() else _float(bare)


def _key(value: object) -> str:
    if isinstance(value, str):
        return value
    return canonical_json(value) if isinstance(value, list | dict) else str(value)


def _unescaped(found: re.Match[str]) -> str:
    for code in (found.group(1), found.group(2), found.group(3)):
        if code is not None:
            point = int(code, 16)
            return chr(point) if point <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"
    if found.group(4) is not None:
        return ""
    letter = found.group(5)
    return _ESCAPES.get(letter, "\\" + letter)
