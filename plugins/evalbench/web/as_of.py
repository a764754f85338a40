"""Which state of the lake a page shows, and how that is said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from evalbench.words import listed, plural

NAMED = 10
"""Dates a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """Which state of the lake a page shows.

    lake: its name. read_at: when the rows were last read because something had changed; looked_at: when that was last
    checked; now: when the page was made (all by the settings' clock). newest_run: the last date with a run, None in a
    lake without runs. shown_before, left_out: dates that are being published, or whose publishing was interrupted. The
    former are shown as they were before; the latter were never seen whole, and nothing of them is shown. lost: those of
    both that nobody is publishing, while their files aren't those of their records. unreadable: why files about
    executions of the pipeline are left out, a sentence each. looking_since: when the look began that wasn't over when
    the page was made, None when none was under way. problem: why the lake couldn't be looked at again, None when it
    could: then all is as of looked_at.
    """

    lake: str
    read_at: datetime
    looked_at: datetime
    now: datetime
    newest_run: date | None
    shown_before: tuple[date, ...] = ()
    left_out: tuple[date, ...] = ()
    lost: tuple[date, ...] = ()
    unreadable: tuple[str, ...] = ()
    looking_since: datetime | None = None
    problem: str | None = None

    def missing(self, place: str = "on this page yet") -> str:
        """`2026-11-30 is being published and not on this page yet`, or why else; empty when no date is left out."""
        coming, lost = self._told_apart(self.left_out)
        said = [f"{_are(coming)} being published and not {place}"] if coming else []
        return "; ".join(said + ([f"{_are(lost)} not {place}, as {_damage(lost)}"] if lost else []))

    @property
    def outdated(self) -> str:
        """`2026-11-30 is being published: shown as it was before`, or why else; empty when no date is shown so."""
        coming, lost = self._told_apart(self.shown_before)
        said = [f"{_are(coming)} being published: shown as {_were(coming)} before"] if coming else []
        return "; ".join(said + ([f"{_are(lost)} shown as {_were(lost)} before, as {_damage(lost)}"] if lost else []))

    @property
    def unread(self) -> str:
        """What is left out of the files about executions of the pipeline, and why; empty when nothing is."""
        if not self.unreadable:
            return ""
        more = len(self.unreadable) - 1
        return self.unreadable[0] + (f"; and {plural(more, 'more such file')}" if more else "")

    @property
    def awaits(self) -> bool:
        """Whether a date that is left out is being published, as far as can be told."""
        return bool(self._told_apart(self.left_out)[0])

    def _told_apart(self, days: Sequence[date]) -> tuple[list[date], list[date]]:
        """Those that are being published, and those that lost a file."""
        return [day for day in days if day not in self.lost], [day for day in days if day in self.lost]

    def hides(self, day: date | None) -> bool:
        """Whether there may be something on a date, or without one in the lake, of which nothing is shown."""
        return day in self.left_out if day is not None else bool(self.left_out) and self.newest_run is None

    def nothing(self, said: str, day: date | None = None) -> str:
        """What a page says where it found nothing, on a date or on all: dates that are left out may hold it."""
        if self.hides(day):
            return f"{self.missing()}."
        return f"{said} {self.missing()}." if day is None and self.left_out else said

    @property
    def whole(self) -> bool:
        """Whether everything is shown that the lake holds."""
        return not (self.left_out or self.shown_before or self.unreadable or self.problem)


def _are(days: Sequence[date]) -> str:
    return f"{listed([day.isoformat() for day in days], NAMED)} {'is' if len(days) == 1 else 'are'}"


def _were(days: Sequence[date]) -> str:
    return "it was" if len(days) == 1 else "they were"


def _damage(days: Sequence[date]) -> str:
    one = len(days) == 1
    files = "its files are not those of its record" if one else "their files are not those of their records"
    return f"{files} (a file is lost or damaged): run the pipeline again"
