"""scores.csv (older releases: results.csv): one row per trial and comparator, kept as written."""

from evalbench.ledger import ComparatorRow, Defect, EvidenceRef
from evalbench.readers.cells import plain_decimal
from evalbench.readers.csv_table import Row, Table
from evalbench.readers.evalbench.configs import RunConfig
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.model import ScoreRow
from evalbench.readers.evalbench.row_text import REASON_CHARS, join_cells, stated
from evalbench.readers.evalbench.scorer_types import ScorerTypes

MAX_LOG_CHARS = 20_000
MAX_SCORE_CHARS = 200


def read_scores(table: Table, config: RunConfig, types: ScorerTypes, log: DefectLog) -> list[ScoreRow]:
    """Every row of the file, in file order."""
    rows = [_read(row, table, config, types) for row in table.rows]
    consistency = [found for found in rows if found.consistency]
    if consistency:
        said = f"{len(consistency)} rows compare two trials with each other; they are kept, attached to no trial"
        first = consistency[0].row.ref
        log.extend([Defect(code="consistency_rows", message=f"{table.file}: {said}", ref=first)])
    for found in rows:
        if not found.raw_id and not found.consistency:
            log.add("score_without_id", "names no trial; the row is kept, attached to none", found.row.ref)
        if found.row.score is None and found.row.score_text:
            _report_score(found.row, log)
    return rows


def _read(row: Row, table: Table, config: RunConfig, types: ScorerTypes) -> ScoreRow:
    written = row.text("score")
    score = plain_decimal(written)
    comparator = config.redactor.text(row.text("comparator"), MAX_SCORE_CHARS)
    golden = row.fields.get("golden_error")
    log = row.text("comparison_logs") or row.text("logs")
    return ScoreRow(
        raw_id=row.text("id"),
        row=ComparatorRow(
            comparator=comparator,
            scorer_type=types.of(comparator),
            score=score,
            score_text="" if score is not None else config.redactor.text(written, MAX_SCORE_CHARS),
            error=config.redactor.text(stated(row.text("comparison_error")), MAX_LOG_CHARS),
            log=config.redactor.text(log, MAX_LOG_CHARS),
            golden_error=config.redactor.text(stated(golden), REASON_CHARS) if golden is not None else None,
            ref=table.ref(row),
        ),
        joins=join_cells(row.fields),
        consistency=not row.text("id") and bool(row.text("trial1_id") or row.text("trial2_id")),
    )


def _report_score(row: ComparatorRow, log: DefectLog) -> None:
    ref = EvidenceRef(file=row.ref.file, row=row.ref.row, field="score") if row.ref else None
    said = f"score {row.score_text!r} of {row.comparator} is not a usable number; the verdict is unavailable"
    log.add("score_not_a_number", said, ref)
