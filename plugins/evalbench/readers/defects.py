"""Defects, kept readable: many of one kind become one with a count."""

from collections import Counter
from collections.abc import Iterable

from evalbench.ledger import Defect

MAX_PER_CODE = 50


def bounded(defects: Iterable[Defect]) -> tuple[Defect, ...]:
    """The first MAX_PER_CODE defects of each code in their order, and one that counts the rest of that code."""
    kept: list[Defect] = []
    seen: Counter[str] = Counter()
    for defect in defects:
        seen[defect.code] += 1
        if seen[defect.code] <= MAX_PER_CODE:
            kept.append(defect)
    kept.extend(
        Defect(code=code, message=f"{count - MAX_PER_CODE} more of this kind are not listed.")
        for code, count in sorted(seen.items())
        if count > MAX_PER_CODE
    )
    return tuple(kept)
