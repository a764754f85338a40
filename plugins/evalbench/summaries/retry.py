"""When a call is tried again, and after how long. Time left and randomness are arguments.

Waiting follows what the server asks for (`Retry-After` and `RetryInfo.retryDelay`, which the SDK ignores), else an
exponential backoff with jitter.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

RETRIES = 5
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})

DURATION = re.compile(r"\d{1,12}(\.\d{1,9})?s")
SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?")
RETRY_INFO = "google.rpc.RetryInfo"


class Spent(StrEnum):
    """Why there is no further try: five are enough, time is up, or the server wants a longer pause than there is."""

    RETRIES = "retries"
    DEADLINE = "deadline"
    ASKED = "asked"


def next_wait(retries: int, *, asked: float | None, left: float, random: Callable[[], float]) -> float | Spent:
    """Seconds to wait before retry number `retries` + 1, or why there is none.

    asked: what the server asked for, see `asked_wait`. left: seconds to the overall deadline; a wait that would end
    after it is not begun, since nothing could follow it. random: uniform in [0, 1).
    """
    if retries >= RETRIES:
        return Spent.RETRIES
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2.0**retries) * (0.5 + random() / 2)
    # Workers that were sent away together must not come back together.
    wait = backoff if asked is None else max(backoff, asked + FIRST_WAIT / 2 * random())
    if wait < left:
        return wait
    return Spent.ASKED if asked is not None and asked >= left else Spent.DEADLINE


def asked_wait(headers: Mapping[str, str], body: object) -> float | None:
    """Seconds that an error answer asks to wait, None when it doesn't say so in a form that can be read.

    The larger of the `Retry-After` header (seconds, or a date: relative to the answer's own `Date`, so that no clock of
    this machine matters) and the `retryDelay` of a `RetryInfo` in the body.
    """
    lowered = {name.lower(): text for name, text in headers.items()}
    found = [_retry_after(lowered), *(_delay(detail) for detail in error_details(body))]
    return max((seconds for seconds in found if seconds is not None), default=None)


def error_details(body: object) -> Iterator[Mapping[str, object]]:
    """The `details` of a Google error body (`{"error": {"details": […]}}`) that are objects; nothing when malformed."""
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    if isinstance(details, list):
        yield from (detail for detail in details if isinstance(detail, Mapping))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    if SECONDS.fullmatch(text):
        return float(text)
    until, now = _date(text), _date(headers.get("date", ""))
    return None if until is None or now is None else max(0.0, (until - now).total_seconds())


def _delay(detail: Mapping[str, object]) -> float | None:
    delay = detail.get("retryDelay")
    if not str(detail.get("@type", "")).endswith(RETRY_INFO) or not isinstance(delay, str):
        return None
    return float(delay[:-1]) if DURATION.fullmatch(delay) else None


def _date(text: str) -> datetime | None:
    """An HTTP date; None when it isn't one, or has no zone to compare in."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment
