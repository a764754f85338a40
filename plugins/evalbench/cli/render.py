"""The report document for people: a line per decision first, then each decision, then what was left out and where."""

import shlex
from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalbench.cli.layout import Document, Name, columns, labelled, to_copy
from evalbench.cli.render_decision import decision_block, decision_word
from evalbench.cli.words import NOTHING, clean
from evalbench.words import counted, listed, spaced, suite_name

SHOWN_CHANGES = 20
EXAMPLE_QUERY = "SELECT decision, candidate, suite, run_date, decided_by FROM decisions ORDER BY ALL"
PENDING = ("quarantined", "in_progress")
SHOWN_STATES = 10


def decisions_page(report: Document, pending: Sequence[Document] = ()) -> list[RenderableType]:
    """The board when there are several decisions, then every decision. pending: those in scope of PENDING."""
    decisions: Sequence[Document] = report["decisions"]
    if not decisions:
        return [Text(_nothing_decided(pending))]
    parts: list[RenderableType] = [board(decisions), Text("")] if len(decisions) > 1 else []
    for decision in decisions:
        parts += [*decision_block(decision), Text("")]
    return parts[:-1]


def board(decisions: Sequence[Document]) -> Table:
    """One line per decision."""
    table = columns("decision", "candidate", "suite", "date", "decided by", whole=("decision", "date"))
    for decision in decisions:
        date = f"{decision['date']}{'*' if decision['provisional'] else ''}"
        names = (Name(clean(decision["candidate"])), Name(suite_name(clean(decision["suite"]))))
        table.add_row(decision_word(decision), *names, date, Name(clean(decision["decided_by"] or NOTHING)))
    if any(decision["provisional"] for decision in decisions):
        table.caption = "* provisional: the day is not over"
        table.caption_justify = "left"
    return table


def accounting_lines(report: Document) -> list[RenderableType]:
    """`13 listed = 11 scored + … + 2 ignored (…)`, then every directory that could have been scored and was not."""
    accounting = report["accounting"]
    if accounting is None:
        return []
    parts = []
    for name in ("scored", "unchanged", "out_of_range", "in_progress", "quarantined", "ignored"):
        found = accounting[name]
        if isinstance(found, Mapping):
            why = f" ({_ignored(report) if name == 'ignored' else clean(counted(found))})" if found else ""
            parts.append(f"{sum(found.values())} {name}{why}")
        else:
            parts.append(f"{found} {spaced(name)}")
    sum_line = labelled("Accounting", f"{accounting['listed']} listed = {' + '.join(parts)}")
    changes = [clean(f"{item['path']} {item['change']}") for item in report["changes"]]
    news = [labelled("Changes", listed(changes, SHOWN_CHANGES))] if changes else []
    return [sum_line, *news, *_not_scored([state for state in report["not_scored"] if state["disposition"] in PENDING])]


def summaries_lines(report: Document) -> list[RenderableType]:
    """Who wrote how many summaries, what became of the others, and what the calls took."""
    summaries = report["summaries"]
    if summaries is None or not summaries["why"]:
        return []
    parts = [f"{count} {state}" for state, count in summaries["states"].items()]
    told = [", ".join(parts) + (f" ({summaries['cached']} written before)" if summaries["cached"] else "")]
    if summaries["reasons"]:
        told.append(f"why not a model's: {counted(summaries['reasons'])}")
    told += summaries["messages"]
    if summaries["calls"]:
        told.append(_calls(summaries))
    return [labelled("Summaries", clean("; ".join([*summaries["why"], *told])))]


def bigquery_lines(report: Document) -> list[RenderableType]:
    """What the dataset that follows the lake was told."""
    told = report["bigquery"]
    if told is None:
        return []
    done = f"{listed(told['dates'], 3)} replaced by {told['loads']} load jobs, {told['rows']} rows"
    left = f"; being written, so left for the next publish: {listed(told['left'], 3)}" if told["left"] else ""
    return [labelled("BigQuery", clean(f"{told['dataset']}: {done if told['dates'] else 'nothing to do'}{left}"))]


def _calls(summaries: Document) -> str:
    """`12 calls of gemini-2.5-flash: 30,000 tokens in, 4,000 out, 900 thinking; $0.0190`. What isn't known is said."""
    tokens = [
        f"{'unknown' if summaries[key] is None else format(summaries[key], ',')} {word}"
        for key, word in (("tokens_in", "tokens in"), ("tokens_out", "out"), ("tokens_thinking", "thinking"))
    ]
    cost = "no price" if summaries["cost_usd"] is None else f"${summaries['cost_usd']:.4f}"
    models = ", ".join(summaries["models"]) or "no model"
    return f"{summaries['calls']} calls of {models}: {', '.join(tokens)}; {cost}"


def where_lines(lake: str) -> list[RenderableType]:
    """Where the tables are and how to ask them."""
    place = clean(shlex.quote(lake))
    return [
        labelled("Tables", f"{place}/trends/<table>/run_date=<date>/part-0.parquet"),
        to_copy("Ask them", f"evalbench query --lake {place} '{EXAMPLE_QUERY}'"),
    ]


def _nothing_decided(pending: Sequence[Document]) -> str:
    if not pending:
        return "Nothing was decided: no run in scope, so nothing is permitted."
    directories = "1 directory" if len(pending) == 1 else f"{len(pending):,} directories"
    return f"Nothing was decided, so nothing is permitted: {directories} in range could not be scored."


def _ignored(report: Document) -> str:
    """`not a directory: a, b; not a run directory: notes`."""
    by_reason: dict[str, list[str]] = {}
    for state in report["not_scored"]:
        if state["disposition"] == "ignored":
            by_reason.setdefault(state["reason"], []).append(clean(state["path"]))
    return "; ".join(f"{spaced(why)}: {listed(paths, 3)}" for why, paths in sorted(by_reason.items()))


def _not_scored(states: Sequence[Document]) -> list[RenderableType]:
    if not states:
        return []
    table = columns("not scored", "state", "what", whole=("state",))
    for state in states[:SHOWN_STATES]:
        reason = "" if state["reason"] == state["disposition"] else f": {state['reason']}"
        said = spaced(f"{state['disposition']}{reason}")
        table.add_row(Name(clean(state["path"])), clean(said), clean(state["message"]))
    more = len(states) - SHOWN_STATES
    return [table, *([Text(f"and {more:,} more; --json lists all of them")] if more > 0 else [])]
