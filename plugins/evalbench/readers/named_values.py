"""Secrets that stand beside their name in JSON, not under it.

`{"name": "DB_PASSWORD", "value": "…"}`, `{"db": {"pass": "…"}}`, `["--api-key", "…"]`, `[["Authorization", "…"]]`: the
shapes in which tools are given variables, settings, options and headers; also in a text that is JSON itself.
"""

from collections.abc import Iterator, Sequence

from evalbench.canonical import canonical_json
from evalbench.readers.cells import parse_json
from evalbench.readers.redact import is_secret_key, redact_text
from evalbench.redaction import REDACTED

_NAMES = frozenset({"name", "key", "id", "field", "header", "variable", "var", "option", "param", "parameter"})
_VALUES = ("value", "values", "default")
_NAME_CHARS = 64
_LEVELS = 4


def without_named(value: object, above: str = "", levels: int = _LEVELS) -> object:
    """A JSON value without these secrets, as deep as the parsers' bounds allow.

    above: the key it stands under. levels: of JSON inside texts inside JSON; below them all such text is replaced.
    """
    if isinstance(value, str):
        return text_without_named(value, above, levels)
    if isinstance(value, dict):
        named = any(key.lower() in _NAMES and _names_secret(name) for key, name in value.items())
        return {
            redact_text(key): _replaced(item)
            if (named and key.lower().endswith(_VALUES)) or is_secret_key(f"{above}_{key}")
            else without_named(item, key, levels)
            for key, item in value.items()
        }
    return list(_items(value, above, levels)) if isinstance(value, list) else value


def text_without_named(text: str, above: str = "", levels: int = _LEVELS) -> str:
    """A text that is JSON without these secrets; any other, and one that holds none, as it was written."""
    cell = parse_json(text) if text.lstrip().startswith(("{", "[", '"')) else None
    if cell is None or cell.reason:
        return text
    if levels == 0:
        return REDACTED
    clean = without_named(cell.value, above, levels - 1)
    return text if clean == cell.value else canonical_json(clean)


def _items(values: Sequence[object], above: str, levels: int) -> Iterator[object]:
    """The item after an option is its value; so is the second of two after any name."""
    before: object = None
    for value in values:
        word = isinstance(before, str) and " " not in before and (len(values) == 2 or before.startswith("-"))
        yield _replaced(value) if word and _names_secret(before) else without_named(value, above, levels)
        before = value


def _names_secret(value: object) -> bool:
    """Whether this names a secret and holds none: `--password=x` is a text with its secret in it."""
    short = isinstance(value, str) and len(value) <= _NAME_CHARS and not any(mark in value for mark in ":=\n")
    return short and is_secret_key(str(value))


def _replaced(value: object) -> object:
    """What is absent, empty or a flag is no secret."""
    return value if value is None or isinstance(value, bool) or value in ("", [], {}) else REDACTED
