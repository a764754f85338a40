"""Secrets out of text and JSON before anything leaves a reader.

Two signs of a secret: the name it stands under (`api_key`, `password`, `Authorization` …), which is known here, and its
own shape (`redaction.py`). When in doubt more is replaced, never less, and every pattern is linear in the text.
"""

import re
from itertools import pairwise

from evalbench.redaction import REDACTED, redact_bearer, redact_keys, redact_shapes

MAX_DEPTH = 200
_KEY_TAIL = 200

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_SECRET_PARTS = ("password", "passwd", "passphrase", "passcode", "apikey", "secretkey", "accesskey", "privatekey")
_SECRET_WORDS = frozenset({"secret", "secrets", "credential", "credentials"})
_SECRET_ENDINGS = frozenset({"token", "auth", "authorization", "pwd", "pw", "bearer", "cookie"})
_ACCOUNT_WORDS = frozenset({"db", "user", "smtp", "mysql", "pg", "postgres", "redis", "admin", "root", "ftp", "proxy"})
_SECRET_KEY_KINDS = frozenset(
    {"api", "private", "access", "secret", "account", "signing", "encryption", "ssh", "master", "subscription", "auth"}
)
_SECRET_TOKEN_KINDS = frozenset({"access", "refresh", "auth", "api", "bearer", "session", "id"})
_COUNT_WORDS = frozenset(
    {"max", "min", "per", "total", "input", "output", "prompt", "completion", "cached", "thinking", "reasoning"}
)

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


def is_secret_key(key: str) -> bool:
    """Whether a value under this name is a secret. Counts of tokens, idempotency keys and the like are not."""
    words = [word.lower() for word in _WORD.findall(key[-_KEY_TAIL:])]
    if not words:
        return False
    joined = "".join(words)
    if any(part in joined for part in _SECRET_PARTS) or any(word in _SECRET_WORDS for word in words):
        return True
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "tokens":
        return before in _SECRET_TOKEN_KINDS
    if last.endswith("token") or last in _SECRET_ENDINGS:
        return before not in _COUNT_WORDS
    if last == "pass" and before in _ACCOUNT_WORDS:
        return True
    return last.endswith("secret") or any(
        first in _SECRET_KEY_KINDS and second in ("key", "keys") for first, second in pairwise(words)
    )


def redact_text(text: str) -> str:
    """`text` with every secret value replaced by `[redacted]`; names and ordinary words stay."""
    return redact_bearer(_redact_assignments(redact_shapes(text)))


def redact_json(value: object) -> object:
    """A copy of a JSON value without secrets: by key, by shape, and inside texts. Below MAX_DEPTH all is replaced."""
    return _redact_value(value, MAX_DEPTH)


def _redact_value(value: object, depth: int) -> object:
    if isinstance(value, str):
        return redact_text(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return REDACTED
    if isinstance(value, dict):
        return {_redact_key(key): _redact_member(key, member, depth - 1) for key, member in value.items()}
    return [_redact_value(item, depth - 1) for item in value]


def _redact_key(key: object) -> object:
    return redact_keys(key) if isinstance(key, str) else key


def _redact_member(key: object, value: object, depth: int) -> object:
    secret = isinstance(key, str) and is_secret_key(key)
    if secret and value is not None and not isinstance(value, bool) and value not in ("", [], {}):
        return REDACTED
    return _redact_value(value, depth)


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
