"""Where a run directory holds secrets: the place and how many, never the value."""

from collections.abc import Iterator
from dataclasses import dataclass

from evalbench.ledger import EvidenceRef
from evalbench.readers.csv_table import Table, read_table
from evalbench.readers.evalbench.configs import read_configs
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.reader import CONFIGS
from evalbench.readers.evalbench.redaction import Redactor
from evalbench.readers.redact import is_secret_key
from evalbench.readers.snapshot import Snapshot, TooManyRecordsError
from evalbench.redaction import REDACTED


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPlace:
    """Secrets found in one cell (CSV: file, record, column or setting) or line (other files)."""

    ref: EvidenceRef
    count: int


def secret_places(snapshot: Snapshot) -> tuple[SecretPlace, ...]:
    """Every place the reader redacts, by file and row. Nothing of a value is kept."""
    redactor = read_configs(_table(CONFIGS, snapshot.files.get(CONFIGS, b"")), DefectLog()).redactor
    return tuple(place for name in sorted(snapshot.files) for place in _in_file(name, snapshot.files[name], redactor))


def _in_file(name: str, data: bytes, redactor: Redactor) -> Iterator[SecretPlace]:
    cells = _settings(data) if name == CONFIGS else _cells(name, data) if name.endswith(".csv") else _lines(data)
    for row, column, text in cells:
        alone = name == CONFIGS and column is not None and bool(text) and is_secret_key(column)
        count = max(redactor.text(text).count(REDACTED) - text.count(REDACTED), int(alone))
        if count > 0:
            field = None if column is None else redactor.text(column)
            yield SecretPlace(ref=EvidenceRef(file=name, row=row, field=field), count=count)


def _table(name: str, data: bytes) -> Table:
    """A table without rows where no reader would take any."""
    try:
        return read_table(name, data)
    except TooManyRecordsError:
        return Table(file=name)


def _settings(data: bytes) -> Iterator[tuple[int, str | None, str]]:
    for row in _table(CONFIGS, data).rows:
        yield row.number, row.text("config"), row.text("value")


def _cells(name: str, data: bytes) -> Iterator[tuple[int, str | None, str]]:
    for row in _table(name, data).rows:
        for column, text in sorted(row.fields.items()):
            yield row.number, column, text


def _lines(data: bytes) -> Iterator[tuple[int, str | None, str]]:
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        yield number, None, line
