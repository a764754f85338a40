"""Collects defects while a directory is read."""

from collections.abc import Iterable

from evalbench.ledger import Defect, EvidenceRef


class DefectLog:
    """Append-only. `finish` gives it all in a stable order."""

    def __init__(self) -> None:
        self._found: list[Defect] = []

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
        self._found.extend(defects)

    def finish(self) -> tuple[Defect, ...]:
        """All of them by code, then place."""
        return tuple(sorted(self._found, key=_order))


def _place(ref: EvidenceRef) -> str:
    return ref.file if ref.row is None else f"{ref.file} record {ref.row}"


def _order(defect: Defect) -> tuple[str, str, int, str, str, int]:
    ref = defect.ref or EvidenceRef(file="")
    return (defect.code, ref.file, ref.row or 0, defect.message, defect.task_id or "", defect.trial or 0)
