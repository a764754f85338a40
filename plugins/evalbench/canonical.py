"""Canonical bytes: the same value gives the same text and the same hash, on any machine and in any order."""

import hashlib
import json
from collections.abc import Iterable


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no spaces and no NaN. `value` holds JSON types only.

    Raises ValueError for NaN and infinities, TypeError for anything that is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_text(text: str) -> str:
    """Hex sha256 of the UTF-8 bytes of `text` (lone surrogates survive as such)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_json(value: object) -> str:
    """Hex sha256 of the canonical JSON of `value`."""
    return sha256_text(canonical_json(value))


def sha256_parts(parts: Iterable[str]) -> str:
    """Hex sha256 over a sequence of texts; the sequence, not its concatenation, is hashed."""
    return sha256_json(list(parts))
