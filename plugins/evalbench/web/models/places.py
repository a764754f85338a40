"""Where something was read, for people."""

from dataclasses import dataclass

from evalbench.ledger import EvidenceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file of the run directory, a row of it (`unit`: record, a CSV's header not counted, or line), a field."""

    file: str
    row: int | None
    field: str | None
    unit: str


def place_of(ref: EvidenceRef | None) -> Place | None:
    """The place a reference names."""
    if ref is None:
        return None
    return Place(file=ref.file, row=ref.row, field=ref.field, unit="record" if ref.file.endswith(".csv") else "line")
