"""Collects defects while a directory is read, and keeps the collection bounded."""

from collections import defaultdict
from collections.abc import Iterable

from evalbench.ledger import Defect, EvidenceRef

MAX_PER_CODE = 50


class DefectLog:
    """Append-only. `finish` gives it all in a stable order, of each code at most MAX_PER_CODE and then a count."""

    def __init__(self) -> None:
        self._by_code: dict[str, list[Defect]] = defaultdict(list)

    def add(
        self,
        code: str,
        message: str,
        ref: EvidenceRef | None = None,
        *,
        task_id: str | None = None,
        trial: int | None = None,
    ) -> None:
        """Note one defect; `message` is already free of secrets."""
        place = "" if ref is None else _place(ref) + ": "
        self.extend([Defect(code=code, message=place + message, ref=ref, task_id=task_id, trial=trial)])

    def extend(self, defects: Iterable[Defect]) -> None:
        """Take over defects found elsewhere."""
        for defect in defects:
            self._by_code[defect.code].append(defect)

    def finish(self) -> tuple[Defect, ...]:
        """All of them by code, then place."""
        return tuple(defect for code in sorted(self._by_code) for defect in self._bounded(code))

    def _bounded(self, code: str) -> list[Defect]:
        found = sorted(self._by_code[code], key=_order)
        rest = len(found) - MAX_PER_CODE
        if rest <= 0:
            return found
        count = Defect(code=code, message=f"{rest} more defects of this kind, {len(found)} in all")
        return [*found[:MAX_PER_CODE], count]


def _place(ref: EvidenceRef) -> str:
    return ref.file if ref.row is None else f"{ref.file} record {ref.row}"


def _order(defect: Defect) -> tuple[str, int, str, str, int]:
    ref = defect.ref or EvidenceRef(file="")
    return (ref.file, ref.row or 0, defect.message, defect.task_id or "", defect.trial or 0)
