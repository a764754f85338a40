"""JSON text → values, deliberately: numbers keep their text, repeated keys are no answer, depth is bounded."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalbench.canonical import canonical_json

MAX_DEPTH = 100
MAX_DIGITS = 400

_TOKENS = re.compile(r"\"(?:[^\"\\]|\\[\s\S])*+\"?|[\[\]{}]")
_INTEGER = re.compile(r"-?\d+")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A number as it was written: `7`, `1e3`, `0.10`, or the non-JSON words `NaN` and `Infinity`."""

    text: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The value of a key that one object gives twice, with different values: it says neither."""

    key: str


class JsonError(ValueError):
    """The text is not JSON, or nests deeper than MAX_DEPTH."""


def parse_json(text: str) -> object:
    """Parse one JSON value. Numbers become JsonNumber, contradicting repeated keys Ambiguous. Raises JsonError."""
    _check_depth(text)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(f"{error.msg} at character {error.pos + 1}") from error


def plain(value: object) -> object:
    """The same value with Python numbers. Raises ValueError for what has no plain JSON value (NaN, repeated keys)."""
    match value:
        case dict():
            return {without_surrogates(key): plain(member) for key, member in value.items()}
        case list():
            return [plain(item) for item in value]
        case str():
            return without_surrogates(value)
        case JsonNumber(text):
            return _number(text)
        case Ambiguous(key):
            raise ValueError(f"key {key!r} is given twice")
    return value


def written(value: object) -> str:
    """Canonical text of a parsed value, numbers as written: for ordering, never for reading."""
    return canonical_json(_as_written(value))


def without_surrogates(text: str) -> str:
    """`text` with lone surrogates, which no UTF-8 file can hold, as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _as_written(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_written(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_as_written(item) for item in value]
    if isinstance(value, JsonNumber):
        return {"number": value.text}
    return {"ambiguous": value.key} if isinstance(value, Ambiguous) else value


def _number(text: str) -> int | float:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    if number - number != 0:
        raise ValueError(f"{text} is not a finite number")
    return number


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        same = key not in members or members[key] == value
        members[key] = value if same else Ambiguous(key)
    return members


def _check_depth(text: str) -> None:
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonError(f"nested deeper than {MAX_DEPTH} levels")
        elif token[0] in ("]", "}"):
            depth -= 1


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=JsonNumber, parse_int=JsonNumber, parse_constant=JsonNumber, strict=False
)
