"""Types of the fields of our own input formats: what is accepted for each, and the JSON Schema it is published with."""

import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, cast

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

from evalbench.canonical import canonical_json
from evalbench.decimals import SCORE_LIMIT, nine_places
from evalbench.readers.json_text import MAX_DIGITS, JsonNumber, plain, without_surrogates
from evalbench.readers.moments import to_utc
from evalbench.readers.redact import redact_json, redact_text

MAX_COUNT = 10**15
MAX_TRIAL = 10**9
MAX_NUMBER = Decimal(10) ** 18
UNKNOWN_ENVIRONMENT = "unknown"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def environment_named(word: str) -> str:
    """`offline` or `production`; any other word is `unknown`: a misspelt production is not pooled with offline runs."""
    said = word.strip().lower()
    return said if said in ("offline", "production") else UNKNOWN_ENVIRONMENT


def _identifier(value: object) -> object:
    """Ids and names: exactly as written, a number by its text. Not redacted, since they join records."""
    if isinstance(value, JsonNumber):
        return value.text
    if isinstance(value, str):
        return without_surrogates(value)
    raise ValueError("expected text")


def _text(value: object) -> object:
    if value is None:
        return None
    text = cast("str", _identifier(value))
    return redact_text(text) if text.strip() else None


def _evidence(value: object) -> object:
    """Text, or a JSON object or list kept as its canonical text. Empty is none."""
    if isinstance(value, dict | list):
        return canonical_json(redact_json(plain(value))) if value else None
    return _text(value)


def _decimal(value: object) -> Decimal:
    text = value.text if isinstance(value, JsonNumber) else value
    if not isinstance(text, str) or len(text) > MAX_DIGITS or not _NUMBER.fullmatch(text):
        raise ValueError("expected a number")
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise ValueError("the number is too large") from error
    if not -MAX_NUMBER < number < MAX_NUMBER:
        raise ValueError("the number is too large")
    return number


def _rounded(value: object) -> Decimal:
    return nine_places(_decimal(value))


def _share(value: object) -> object:
    share = None if value is None else _rounded(value)
    if share is not None and not 0 <= share <= 1:
        raise ValueError("expected a number from 0 to 1")
    return share


def _usd(value: object) -> object:
    usd = None if value is None else _rounded(value)
    if usd is not None and not 0 <= usd < SCORE_LIMIT:
        raise ValueError(f"expected US dollars from 0 to below {SCORE_LIMIT}")
    return usd


def _count(value: object) -> object:
    if value is None:
        return None
    number = _decimal(value)
    if number != number.to_integral_value() or not 0 <= number <= MAX_COUNT:
        raise ValueError(f"expected a whole number from 0 to {MAX_COUNT}")
    return int(number)


def _trial_number(value: object) -> object:
    number = _count(value)
    if isinstance(number, int) and number > MAX_TRIAL:
        raise ValueError(f"expected a whole number from 0 to {MAX_TRIAL}")
    return number


def _measure(value: object) -> object:
    number = None if value is None else float(_decimal(value))
    if number is not None and number < 0:
        raise ValueError("expected a number of at least 0")
    return number


def _time(value: object, info: ValidationInfo) -> object:
    if value is None:
        return None
    moment = to_utc(value if isinstance(value, str) else "", (info.context or {}).get("timezone", "UTC"))
    if moment is None:
        raise ValueError("expected an ISO 8601 time")
    return moment


def _flag(value: object) -> object:
    if value is not None and not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _found(value: object) -> object:
    """Harm is not talked away by a wrong type: whatever is neither false nor null says yes."""
    return None if value is None else value is not False


def _arguments(value: object) -> object:
    """Arguments → their canonical JSON, secrets redacted."""
    return None if value is None else canonical_json(redact_json(plain(value)))


Identifier = Annotated[str, BeforeValidator(_identifier)]
Text = Annotated[str | None, BeforeValidator(_text)]
Evidence = Annotated[
    str | None, BeforeValidator(_evidence), WithJsonSchema({"type": ["string", "object", "array", "null"]})
]
Share = Annotated[
    Decimal | None, BeforeValidator(_share), WithJsonSchema({"type": ["number", "null"], "minimum": 0, "maximum": 1})
]
Usd = Annotated[Decimal | None, BeforeValidator(_usd), WithJsonSchema({"type": ["number", "null"], "minimum": 0})]
Count = Annotated[
    int | None,
    BeforeValidator(_count),
    WithJsonSchema({"type": ["integer", "null"], "minimum": 0}),
]
TrialNumber = Annotated[
    int | None, BeforeValidator(_trial_number), WithJsonSchema({"type": ["integer", "null"], "minimum": 0})
]
Measure = Annotated[float | None, BeforeValidator(_measure), WithJsonSchema({"type": ["number", "null"], "minimum": 0})]
Time = Annotated[datetime | None, BeforeValidator(_time)]
Flag = Annotated[bool | None, BeforeValidator(_flag)]
Found = Annotated[bool | None, BeforeValidator(_found)]
Arguments = Annotated[str | None, BeforeValidator(_arguments), WithJsonSchema({})]
