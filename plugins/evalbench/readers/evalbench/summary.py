"""summary.csv: the harness's completion marker, and claims kept only to report where they mislead."""

from evalbench.ledger import SummaryClaim
from evalbench.readers.cells import plain_decimal
from evalbench.readers.csv_table import Table
from evalbench.readers.evalbench.redaction import Redactor

METRIC = "metric_name"


def is_complete(table: Table) -> bool:
    """An intact file with at least one row: it is written last, and can itself be cut."""
    return not table.torn and table.has(METRIC) and bool(table.rows)


def read_summary(table: Table, redactor: Redactor) -> tuple[SummaryClaim, ...]:
    """Every intact row as written."""
    return tuple(
        SummaryClaim(
            metric=redactor.text(row.text(METRIC)),
            score=plain_decimal(row.text("metric_score")),
            correct=plain_decimal(row.text("correct_results_count")),
            total=plain_decimal(row.text("total_results_count")),
            ref=table.ref(row),
        )
        for row in table.rows
    )
