"""What a finding is, and how its sentence names things."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from evalbench.ledger import EvidenceRef

SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One kind of problem: code is a stable snake_case word, subject the metric or file it is about, if any.

    kind: state, plan, trials, declarations, outcomes, effects, waits, verdicts (rows of the harness's scores that are
    worth nothing), health, expectations, manifest, defect (see `ledger.Defect`) or secrets. refs: the first places, at
    most SHOWN.
    """

    kind: str
    code: str
    count: int
    message: str
    subject: str | None = None
    refs: tuple[EvidenceRef, ...] = ()


def first_places(refs: Iterable[EvidenceRef | None]) -> tuple[EvidenceRef, ...]:
    """The first places by file, record and field."""
    places = [ref for ref in refs if ref is not None]
    return tuple(sorted(places, key=lambda ref: (ref.file, ref.row or 0, ref.field or ""))[:SHOWN])


def most_common(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first, at most SHOWN."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]


def some(names: list[str], count: int) -> str:
    """The first names, and how many there are in all when there are more."""
    more = f" and others, {count} in all" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def trials_of(count: int, total: int) -> str:
    """`1 of 1 trial`, `3 of 5 trials`."""
    return f"{count} of {total} {'trial' if total == 1 else 'trials'}"
