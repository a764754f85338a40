"""What a report holds: decisions picked from the lake, each with all that stands beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from evalbench.errors import UsageError
from evalbench.gate.case import Subject
from evalbench.web.as_of import AsOf
from evalbench.web.models.board import Board, board
from evalbench.web.models.candidate import ON_A_PAGE, Candidate, candidate
from evalbench.web.models.parts import HELD_FIRST, Filters, Tally, tallies
from evalbench.web.models.standing import subject_of_row
from evalbench.web.store import View
from evalbench.web.words import listed, suite_name

NAMED = 10
"""Candidates an error names."""
IN_A_REPORT = replace(ON_A_PAGE, dates=None, entries=None)
"""All of a subject's past: a range may end long before its newest date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What the report is about; None and (): everything. Dates are inclusive.

    Of each subject its newest decision in range is shown.
    """

    product: str | None = None
    suite: str | None = None
    candidates: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None

    @property
    def narrow(self) -> bool:
        """Whether something is left out on purpose."""
        return self != Scope()

    def names(self, subject: Subject) -> bool:
        """Whether a subject is asked for; a suite with or without its file ending."""
        return (
            self.product in (None, subject.product)
            and self.suite in (None, subject.suite, suite_name(subject.suite))
            and (not self.candidates or subject.candidate in self.candidates)
        )

    @property
    def said(self) -> str:
        """`product shop, from 2026-11-01 to 2026-11-30`; empty where everything is asked for."""
        parts = [f"product {self.product}"] if self.product is not None else []
        parts += [f"suite {self.suite}"] if self.suite is not None else []
        parts += [f"candidate {', '.join(self.candidates)}"] if self.candidates else []
        span = [f"from {self.since}"] if self.since is not None else []
        span += [f"to {self.until}"] if self.until is not None else []
        return ", ".join([*parts, " ".join(span)] if span else parts)

    def holds(self, day: date) -> bool:
        """Whether a date is in range."""
        return (self.since is None or day >= self.since) and (self.until is None or day <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Decisions, each with all that stands beside it.

    caveats: what is to be known before any decision is read, in sentences: dates of the scope that are being published.
    pages: newest date first, then failed, lacking evidence, may ship; then by subject. tallies: of the pages. older:
    subjects left out because they weren't decided for a month before the newest run that isn't dated in the future.
    kept_out: as `quality.kept_out` says, whatever is asked for. nothing: why there is no page, in a sentence; None when
    there are some.
    """

    as_of: AsOf
    scope: Scope
    caveats: tuple[str, ...]
    pages: tuple[Candidate, ...]
    tallies: tuple[Tally, ...]
    older: int
    kept_out: str
    nothing: str | None


def report(view: View, scope: Scope) -> Report:
    """The report on a view of the lake. Raises UsageError when something is asked for by name and nobody has it."""
    subjects = view.rows("SELECT DISTINCT product, suite, environment, candidate FROM decisions")
    caveats = tuple(_caveats(view.as_of, scope))
    _check_names([subject_of_row(row) for row in subjects], scope, caveats)
    candidate_asked = scope.candidates[0] if len(scope.candidates) == 1 else None
    found = board(view, Filters(product=scope.product, candidate=candidate_asked, older=scope.narrow))
    rows = [row for row in found.rows if scope.names(row.subject)]
    pages = [page for row in rows if (page := _page(view, row.subject, row.day, scope)) is not None]
    pages.sort(key=lambda page: (-page.standing.day.toordinal(), HELD_FIRST.index(page.standing.verdict), page.subject))
    return Report(
        as_of=found.as_of,
        scope=scope,
        caveats=caveats,
        pages=tuple(pages),
        tallies=tallies([page.standing for page in pages]),
        older=found.older,
        kept_out=found.kept_out,
        nothing=None if pages else _nothing(found, scope),
    )


def _caveats(as_of: AsOf, scope: Scope) -> Iterator[str]:
    told = replace(
        as_of,
        shown_before=tuple(filter(scope.holds, as_of.shown_before)),
        left_out=tuple(filter(scope.holds, as_of.left_out)),
    )
    if told.left_out:
        newest = "A decision shown as the newest may not be"
        yield f"{told.missing('in this report')}. {newest}: make the report again when that is mended."
    if told.shown_before:
        yield f"{told.outdated}."


def _nothing(found: Board, scope: Scope) -> str | None:
    if found.rows:
        return f"Nothing was decided: {scope.said}."
    return "No decision can be shown yet." if found.as_of.hides(None) else found.nothing


def _page(view: View, subject: Subject, newest: date, scope: Scope) -> Candidate | None:
    """The subject on its newest date in range, as far as it had come by then."""
    page = candidate(view, subject, newest, IN_A_REPORT)
    if scope.holds(newest):
        return page
    day = next((day for day in page.days if scope.holds(day)), None)
    return None if day is None else _until(candidate(view, subject, day, IN_A_REPORT), day)


def _until(page: Candidate, day: date) -> Candidate:
    return replace(
        page,
        signals={name: tuple(point for point in points if point.day <= day) for name, points in page.signals.items()},
        costs=tuple(point for point in page.costs if point.day <= day),
        pass_hat_k=tuple(point for point in page.pass_hat_k if point.day <= day),
        marks=tuple(mark for mark in page.marks if mark.day <= day),
        changes=tuple(change for change in page.changes if change.day <= day),
        log=tuple(entry for entry in page.log if entry.day <= day),
    )


def _check_names(subjects: Sequence[Subject], scope: Scope, caveats: Sequence[str]) -> None:
    """A name that nobody has is often a misspelt one. Raises UsageError with those there are, and with the caveats."""
    of_product = [subject for subject in subjects if scope.product in (None, subject.product)]
    of_suite = [one for one in of_product if scope.suite in (None, one.suite, suite_name(one.suite))]
    asked = (
        ("product", [scope.product], {subject.product for subject in subjects}),
        ("suite", [scope.suite], {name for one in of_product for name in (suite_name(one.suite), one.suite)}),
        ("candidate", scope.candidates, {subject.candidate for subject in of_suite}),
    )
    for what, names, known in asked:
        lost = next((name for name in names if name is not None and name not in known), None)
        if lost is not None:
            there = f"there are {listed(sorted(known), NAMED)}" if known else "there is none"
            raise UsageError("; ".join((f"no decision is about {what} {lost}", there, *caveats)))
