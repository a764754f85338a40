"""Run times: naive local text in, aware UTC out."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def parse_run_time(text: str, timezone: str) -> datetime | None:
    """`YYYY-MM-DD[ HH:MM:SS[.ffffff]]` in `timezone` as UTC; a time that states its own offset keeps it.

    None when it is no such time. In an hour that a clock change repeats, the first is meant. An unknown `timezone`
    is the caller's error and raises.
    """
    zone = ZoneInfo(timezone)
    try:
        moment = datetime.fromisoformat(text.strip())
        local = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
