"""Times of our input formats: ISO 8601 text in, aware UTC out."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def to_utc(text: str, timezone: str) -> datetime | None:
    """ISO 8601 text as UTC; without an offset it is in `timezone` (IANA name). None when it is no such time.

    In an hour that a clock change repeats, the first is meant. An unknown `timezone` is the caller's error and raises.
    """
    zone = ZoneInfo(timezone)
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
