"""Rows beside the evidence: generated text, and the pipeline's own book-keeping."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from evalbench.ledger import Run
from evalbench.tables import table_named
from evalbench.trends.cells import Row
from evalbench.trends.context import RowContext

SUMMARIES, RUN_STATES, ACCOUNTING = table_named("summaries"), table_named("run_states"), table_named("accounting")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Text about a run. text is None with a reason where there is none; tokens and cost where they aren't known."""

    run: Run
    state: str
    text: str | None = None
    reason: str | None = None
    digest_hash: str | None = None
    prompt_version: str | None = None
    summary_model: str | None = None
    calls: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_thinking: int | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryState:
    """What a pipeline run made of one entry of the runs root. run_id, run_time and content where they are known.

    change: what is news about it, None where nothing is.
    """

    path: str
    state: str
    reason: str | None = None
    detail: str | None = None
    change: str | None = None
    run_key: str | None = None
    run_id: str | None = None
    run_time: datetime | None = None
    content: str | None = None
    run: Run | None = None


def summary_row(context: RowContext, summary: RunSummary) -> Row:
    """The row of a run in `summaries`."""
    return {
        **context.of_run(SUMMARIES, summary.run),
        "run_id": summary.run.run_id,
        "state": summary.state,
        "text": summary.text,
        "reason": summary.reason,
        "digest_hash": summary.digest_hash,
        "prompt_version": summary.prompt_version,
        "summary_model": summary.summary_model,
        "calls": summary.calls,
        "tokens_in": summary.tokens_in,
        "tokens_out": summary.tokens_out,
        "tokens_thinking": summary.tokens_thinking,
        "cost_usd": summary.cost_usd,
    }


def run_state_rows(
    context: RowContext, plan_id: str, executed_at: datetime | None, entries: Iterable[EntryState]
) -> Iterator[Row]:
    """Rows of `run_states`."""
    for entry in entries:
        common = context.of_run(RUN_STATES, entry.run) if entry.run is not None else context.of_nobody(RUN_STATES)
        yield {
            **common,
            "plan_id": plan_id,
            "executed_at": executed_at,
            "path": entry.path,
            "state": entry.state,
            "reason": entry.reason,
            "detail": entry.detail,
            "run_key": entry.run_key,
            "run_id": entry.run_id,
            "run_time": entry.run_time,
            "content": entry.content,
            "change": entry.change,
        }


def accounting_rows(
    context: RowContext, plan_id: str, executed_at: datetime | None, counts: Mapping[tuple[str, str | None], int]
) -> Iterator[Row]:
    """Rows of `accounting`; counts: (state, reason) → entries."""
    for (state, reason), entries in counts.items():
        yield {
            **context.of_nobody(ACCOUNTING),
            "plan_id": plan_id,
            "executed_at": executed_at,
            "state": state,
            "reason": reason,
            "entries": entries,
        }
