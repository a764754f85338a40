"""The board: where every subject stands."""

from dataclasses import dataclass
from datetime import date, timedelta

from evalbench.web.as_of import AsOf
from evalbench.web.models.filters import filter_options, shown
from evalbench.web.models.parts import HELD_FIRST, FilterOptions, Filters, Standing, Tally, tallies
from evalbench.web.models.quality import kept_out
from evalbench.web.models.standing import newest_run, standings, subject_of_row
from evalbench.web.store import View
from evalbench.web.tables import SUBJECT

RECENT = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One row per subject: its newest decision, or that of the date chosen, as far as the filters fit that decision.

    rows: newest date first, then failed, lacking evidence, may ship; then by subject. tallies: of these and of those
    that the filter by decision leaves out. older: subjects left out because they weren't decided for 30 days before the
    newest run that isn't dated in the future. kept_out: as `quality.kept_out` says. nothing: why there is no row, in a
    sentence; None when there are some.
    """

    as_of: AsOf
    filters: Filters
    options: FilterOptions
    tallies: tuple[Tally, ...]
    rows: tuple[Standing, ...]
    older: int
    kept_out: str
    nothing: str | None


def board(view: View, filters: Filters) -> Board:
    """The board of a view of the lake."""
    day, today = filters.day, view.as_of.now.date()
    limit = _limit(view, filters)
    rows = view.once(("standings", day, limit, today), lambda: _standings(view, day, limit))
    subjects = view.once(
        ("subjects", day), lambda: view.rows(f"SELECT {SUBJECT}, model, run_date FROM ({_chosen(day)})")
    )
    found = [row for row in rows if shown(filters, row.subject, row.model)]
    chosen = [row for row in found if filters.decision in (None, row.verdict)]
    older = sum(row["run_date"] < limit and shown(filters, subject_of_row(row), row["model"]) for row in subjects)
    return Board(
        as_of=view.as_of,
        filters=filters,
        options=filter_options(view, filters),
        tallies=tallies(found),
        rows=tuple(chosen),
        older=older,
        kept_out=view.once("kept out", lambda: kept_out(view)),
        nothing=None if chosen else _nothing(view, filters, older),
    )


def _standings(view: View, day: date | None, limit: date) -> list[Standing]:
    """Every subject's decision of a date, or its newest one unless it is before the limit, as the board sorts them."""
    chosen = f"SELECT {SUBJECT}, run_date AS day FROM ({_chosen(day)}) WHERE run_date >= ?"
    found = standings(view, chosen, [limit])
    return sorted(found, key=lambda row: (-row.day.toordinal(), HELD_FIRST.index(row.verdict), row.subject))


def _chosen(day: date | None) -> str:
    """A SELECT of the decision of each subject on a date, or of its newest one."""
    if day is not None:
        return f"SELECT * FROM daily WHERE run_date = DATE '{day.isoformat()}'"
    return f"SELECT * FROM daily QUALIFY row_number() OVER (PARTITION BY {SUBJECT} ORDER BY run_date DESC) = 1"


def _limit(view: View, filters: Filters) -> date:
    """The first date whose decisions are shown."""
    newest = newest_run(view)
    return date.min if filters.older or filters.day is not None or newest is None else newest - RECENT


def _nothing(view: View, filters: Filters, older: int) -> str:
    if older and filters.decision is None:
        were = "1 was" if older == 1 else f"{older:,} were"
        return f"No subject was decided in the last {RECENT.days} days before the newest run; {were} before."
    if filters != Filters(older=filters.older):
        return "No decision matches these filters."
    if view.as_of.newest_run is None:
        return "Nothing is decided yet: no run has been published into this lake."
    return "Nothing is decided yet: the lake has runs, and no decision."
