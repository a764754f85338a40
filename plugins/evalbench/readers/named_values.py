"""Which values are secrets by a name: the one they stand under, or the one that stands beside them.

`{"api_key": "…"}`, `{"db": {"pass": "…"}}`, `{"name": "DB_PASSWORD", "value": "…"}`, `["--api-key", "…"]`,
`[["Authorization", "…"]]`: the shapes in which tools are given variables, settings, options and headers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

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

_NAMES = frozenset({"name", "key", "id", "field", "header", "variable", "var", "option", "param", "parameter"})
_VALUES = ("value", "values", "default")
_NAME_CHARS = 64


def is_secret_key(key: str) -> bool:
    """Whether a value under this name is a secret. Counts of tokens, idempotency keys and the like are not."""
    return _names_one(key[-_KEY_TAIL:])


@lru_cache(maxsize=4096)  # every trial has the same few names
def _names_one(key: str) -> bool:
    words = [word.lower() for word in _WORD.findall(key)]
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


def secret_members(members: Mapping[str, object], above: str) -> frozenset[str]:
    """The keys of an object whose values are secrets. above: the key it stands under, "" for none."""
    named = any(key.lower() in _NAMES and _names_secret(value) for key, value in members.items())
    inside = f"{above[-_KEY_TAIL:]}_"
    return frozenset(
        key
        for key in members
        if is_secret_key(key) or is_secret_key(inside + key) or (named and key.lower().endswith(_VALUES))
    )


def secret_items(items: Sequence[object]) -> Iterator[bool]:
    """Of each item of a list whether it is a secret: the one after an option, the second of two after any name."""
    before: object = None
    for item in items:
        word = isinstance(before, str) and " " not in before and (len(items) == 2 or before.startswith("-"))
        yield word and _names_secret(before)
        before = item


def _names_secret(value: object) -> bool:
    """Whether this names a secret and holds none: `--password=x` is a text with its secret in it."""
    short = isinstance(value, str) and len(value) <= _NAME_CHARS and not any(mark in value for mark in ":=\n")
    return short and is_secret_key(str(value))
