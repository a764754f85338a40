"""Secrets out of text and JSON before anything leaves a reader.

Two signs of a secret: the name it stands under or beside (`named_values.py`), and its own shape (`redaction.py`). When
in doubt more is replaced, never less, and every pattern is linear in the text.
"""

import re

from evalbench.canonical import canonical_json
from evalbench.readers.cells import parse_json
from evalbench.readers.named_values import is_secret_key, secret_items, secret_members
from evalbench.redaction import REDACTED, redact_bearer, redact_shapes

__all__ = ("MAX_DEPTH", "is_secret_key", "redact_json", "redact_text")

MAX_DEPTH = 200
_JSON_STARTS = ("{", "[", '"')

_ASSIGNMENT = re.compile(
    r"(?<![A-Za-z0-9_.-])"
    r"(?P<key>(?:(?i:api|private|access|secret|auth|refresh|bearer)[ ](?=[A-Za-z]))?[A-Za-z0-9_.-]++)"
    r"(?:\\*+[\"'])?"
    r"(?P<sep>\s{0,20}+(?:=>|:=|:|={1,2})\s{0,20}+|[\"']?,?[ \t]{1,20}+)"
)
_OPENING_QUOTE = re.compile(r"(\\*+)([\"'])")
_PLAIN_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\]|\\[\s\S])*+") for quote in "\"'"}
_BARE = re.compile(r"(?:(?i:bearer|basic|digest|token|negotiate)\s{1,5}(?=\S))?[^\s\"'&]++")
_LINE = re.compile(r"[^\r\n\"']++")
_BRACKETED = re.compile(r"[\[\](){}]|\"(?:[^\"\\]|\\[\s\S])*+(?:\"|\Z)|'(?:[^'\\]|\\[\s\S])*+(?:'|\Z)")
_EMPTY_WORDS = frozenset({"none", "null", "true", "false"})


def redact_text(text: str) -> str:
    """`text` with every secret value replaced by `[redacted]`; names and ordinary words stay.

    A text that is JSON is looked through like a JSON value, and JSON in its texts as well. It becomes canonical JSON if
    it holds a secret, and is replaced where it is too deep or too large to be looked through.
    """
    return _redact_text(text, "", MAX_DEPTH)


def redact_json(value: object) -> object:
    """A copy of a JSON value without secrets: by name, by shape, and inside texts. Below MAX_DEPTH all is replaced."""
    return _redact_value(value, "", MAX_DEPTH)


def _redact_value(value: object, above: str, depth: int) -> object:
    """above: the key it stands under. depth: how many levels may follow, those of JSON in texts included."""
    if isinstance(value, str):
        return _redact_text(value, above, depth)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth <= 0:
        return REDACTED
    if isinstance(value, dict):
        secret = secret_members(value, above)
        return {
            _redact_words(key): _replaced(item) if key in secret else _redact_value(item, key, depth - 1)
            for key, item in value.items()
        }
    return [
        _replaced(item) if secret else _redact_value(item, above, depth - 1)
        for item, secret in zip(value, secret_items(value), strict=True)
    ]


def _replaced(value: object) -> object:
    """What is absent, empty or a flag is no secret."""
    return value if value is None or isinstance(value, bool) or value in ("", [], {}) else REDACTED


def _redact_text(text: str, above: str, depth: int) -> str:
    cell = parse_json(text) if text.lstrip().startswith(_JSON_STARTS) else None
    if cell is None or cell.reason == "not_json":
        return _redact_words(text)
    if cell.reason:
        return REDACTED
    clean = _redact_value(cell.value, above, depth - 1)
    return _redact_words(text if clean == cell.value else canonical_json(clean))


def _redact_words(text: str) -> str:
    return redact_bearer(_redact_assignments(redact_shapes(text)))


def _redact_assignments(text: str) -> str:
    """Replaces the value after `key: `, `key=`, `"key": ` or `--key ` wherever the key names a secret."""
    pieces: list[str] = []
    done = 0
    position = 0
    while match := _ASSIGNMENT.search(text, position):
        position = match.end()
        if not _names_secret(match):
            position = max(match.end("key"), match.start() + 1)
            continue
        start, end = _value_span(text, match)
        if start < end:
            pieces += (text[done:start], REDACTED)
            done = position = end
    pieces.append(text[done:])
    return "".join(pieces)


def _names_secret(match: re.Match[str]) -> bool:
    if not is_secret_key(match["key"]):
        return False
    return any(mark in match["sep"] for mark in ":=") or match["key"].startswith("--")


def _value_span(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Where the secret stands: without its quotes. Empty for an absent value. An unclosed one runs to the end."""
    start = match.end()
    quote = _OPENING_QUOTE.match(text, start)
    if quote:
        return quote.end(), _closing_quote(text, quote)
    if text[start : start + 1] in ("[", "{", "("):
        return start, _closing_bracket(text, start)
    pattern = _LINE if match["key"].lower().endswith("cookie") else _BARE
    bare = pattern.match(text, start)
    value = bare[0].rstrip(",;)]}\\") if bare else ""
    if value.lower() in _EMPTY_WORDS or _is_prose(match, value):
        return start, start
    return start, start + len(value)


def _is_prose(match: re.Match[str], value: str) -> bool:
    """`Unexpected token: end of input` is a sentence; `token: 8f3a…` and `token=abc` are not."""
    spaced_colon = match["sep"].strip() == ":" and match["sep"].endswith(" ")
    weak = match["key"].lower() in ("token", "auth", "cookie")
    return spaced_colon and weak and value.isalpha() and len(value) < 16


def _closing_quote(text: str, quote: re.Match[str]) -> int:
    if not quote[1]:
        content = _PLAIN_QUOTED[quote[2]].match(text, quote.end())
        return content.end() if content else len(text)
    end = text.find(quote[0], quote.end())
    while end > quote.end() and text[end - 1] == "\\":
        end = text.find(quote[0], end + 1)
    return len(text) if end < 0 else end


def _closing_bracket(text: str, start: int) -> int:
    depth = 0
    for token in _BRACKETED.finditer(text, start):
        if token[0] in ("[", "{", "("):
            depth += 1
        elif token[0] in ("]", "}", ")"):
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)
