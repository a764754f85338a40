"""Addresses of the page, and of runs' files: every one is made here, with everything from runs percent-encoded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import quote, urlencode

from evalbench.gate.case import Subject
from evalbench.settings import PLACEHOLDER, Settings
from evalbench.web.models.parts import Filters, TrialLink
from evalbench.web.models.places import Place

CONSOLE = "https://console.cloud.google.com/storage/browser/_details"
"""The page of an object in the Cloud Console, by bucket and name."""


class Address(str):
    """An address of the page or of a file: it is followed, not read, so nothing in it is replaced or left out."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """base: the path the page is mounted at, without a slash at its end.

    source_url: where a file of a run is to be seen, with the placeholders of the setting; None: nowhere.
    """

    base: str
    source_url: str | None = None

    def static(self, name: str, version: str) -> Address:
        """A file of the page itself."""
        return self._to(f"static/{name}", {"v": version})

    def board(self, filters: Filters | None = None) -> Address:
        """The board, all of it or filtered."""
        return self._to("", filter_fields(filters))

    def page(self, name: str, filters: Filters | None = None) -> Address:
        """`contradictions`, `quality` or `search`."""
        return self._to(name, filter_fields(filters))

    def candidate(self, subject: Subject, day: date | None = None) -> Address:
        """One subject; its newest date without a day."""
        return self._to("candidate", subject_fields(subject, day))

    def check(self, subject: Subject, day: date, number: int) -> Address:
        """One check of one decision."""
        return Address(f"{self.candidate(subject, day)}#check-{number}")

    def run(self, run_id: str) -> Address:
        """One run."""
        return self._to("run", {"run_id": run_id})

    def trial(self, link: TrialLink) -> Address:
        """One trial; of one without a record its run."""
        if link.trial is None:
            return Address(f"{self.run(link.run_id)}#trials")
        return self._to("trial", {"run_id": link.run_id, "task_id": link.task_id, "trial": link.trial})

    def chart(self, kind: str, subject: Subject, day: date, theme: str, version: str) -> Address:
        """A drawing of a subject. version: of the rows it shows, so that it may be kept."""
        return self._to(f"chart/{kind}.svg", {**subject_fields(subject, day), "theme": theme, "v": version})

    def download(self, table: str, fields: Mapping[str, object]) -> Address:
        """A table as CSV."""
        return self._to(f"download/{table}.csv", fields)

    def source(self, directory: str, place: Place) -> Address | None:
        """Where to see what was read, None where nobody said. A place that is a whole file begins at row 1."""
        if self.source_url is None:
            return None
        parts = {"path": directory, "file": place.file, "row": str(1 if place.row is None else place.row)}
        return Address(PLACEHOLDER.sub(lambda found: quote(parts[found[1]], safe=""), self.source_url))

    def _to(self, path: str, fields: Mapping[str, object]) -> Address:
        given = {name: str(value) for name, value in fields.items() if value is not None}
        query = f"?{urlencode(given, quote_via=quote, safe='')}" if given else ""
        return Address(f"{self.base}/{path}{query}")


def source_url_of(settings: Settings) -> str | None:
    """Where these settings say that files of runs are to be seen: where they name, else the bucket's own page."""
    if settings.source_url is not None:
        return settings.source_url
    scheme, _, root = (settings.runs or "").partition("://")
    return f"{CONSOLE}/{quote(root.strip('/'))}/{{path}}/{{file}}" if scheme == "gs" else None


def subject_fields(subject: Subject, day: date | None = None) -> dict[str, object]:
    """A subject and a date as query fields."""
    return {
        "product": subject.product,
        "suite": subject.suite,
        "environment": subject.environment,
        "candidate": subject.candidate,
        "date": day,
    }


def filter_fields(filters: Filters | None) -> dict[str, object]:
    """Filters as query fields."""
    if filters is None:
        return {}
    return {
        "product": filters.product,
        "suite": filters.suite,
        "model": filters.model,
        "candidate": filters.candidate,
        "environment": filters.environment,
        "date": filters.day,
        "older": "1" if filters.older else None,
        "decision": filters.decision,
    }
