"""Values as published columns hold them. What a type can't hold is absent, never 0, NaN or a failed partition."""

import math
from decimal import Decimal

from evalbench.canonical import canonical_json
from evalbench.decimals import SCORE_LIMIT, nine_places

Row = dict[str, object]

_NUMERIC_LIMIT = Decimal(10) ** 29
_INT64_LIMIT = 2**63


def money(value: Decimal | None) -> Decimal | None:
    """US dollars as decimal(18, 9)."""
    return _decimal(value, SCORE_LIMIT)


def numeric(value: Decimal | None) -> Decimal | None:
    """A score, verdict value or sum as decimal(38, 9)."""
    return _decimal(value, _NUMERIC_LIMIT)


def _decimal(value: Decimal | None, limit: Decimal) -> Decimal | None:
    if value is None or not value.is_finite():
        return None
    rounded = nine_places(value) if abs(value) < limit else limit
    return rounded if abs(rounded) < limit else None


def real(value: float | None) -> float | None:
    """A finite float, rounded to 9 decimals so that the last bits of a platform's mathematics don't show."""
    return None if value is None or not math.isfinite(value) else round(value, 9) + 0.0


def figure(value: float | None) -> Decimal | None:
    """A check's figure (share, count or dollars) as decimal(38, 9), as people write it: 0.1, not what a float holds."""
    return None if value is None or not math.isfinite(value) else numeric(Decimal(repr(value)))


def whole(value: int | None) -> int | None:
    """An integer of 64 bits."""
    return value if value is not None and -_INT64_LIMIT <= value < _INT64_LIMIT else None


def json_text(value: object) -> str:
    """Canonical JSON; values JSON doesn't know are written as text."""
    return canonical_json(_plain(value))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return real(value)
    return value if value is None or isinstance(value, str | bool | int) else str(value)
