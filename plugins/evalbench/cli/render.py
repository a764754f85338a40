"""The report document for people: each decision with what decided it first, then a board of all of them."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalbench.cli.layout import columns, labelled
from evalbench.cli.words import NOTHING, clean, counted, fraction, in_unit, money, rate

Document: TypeAlias = Mapping[str, Any]

DECISION_STYLES = {"PASS": "bold green", "FAIL": "bold red", "INSUFFICIENT_EVIDENCE": "bold yellow"}
SIGNAL_NAMES = {
    "task_quality": "task quality",
    "useful_progress": "useful progress",
    "effect_integrity": "effect integrity",
    "cost_per_verified_outcome": "cost per verified",
    "false_success": "false success",
}
EXAMPLE_QUERY = "SELECT * FROM release_board"
COST = "cost_per_verified_outcome"


def decisions_page(report: Document) -> list[RenderableType]:
    """Every decision of a report, and the board when there are several."""
    decisions: Sequence[Document] = report["decisions"]
    if not decisions:
        return [Text("No decision in scope: no run of an asked-for subject and date. Nothing is held.")]
    parts: list[RenderableType] = []
    for decision in decisions:
        parts += [decision_block(decision), Text("")]
    return [*parts, board(decisions)] if len(decisions) > 1 else parts[:-1]


def decision_block(decision: Document) -> Group:
    """One decision: the word and what decided it, five signals, the funnel, what fired, what would flip it."""
    lines: list[RenderableType] = [_headline(decision), _decided(decision), _signals(decision["signals"])]
    lines += [labelled("Funnel", _funnel(decision["funnel"])), *_repeats(decision.get("pass_hat_k") or {})]
    fired = [check for check in decision["checks"] if check["fired"]]
    if fired:
        lines.append(_fired(fired))
    lines.append(labelled("To flip", clean(decision["flip"])))
    return Group(lines[0], *(Padding(line, (0, 0, 0, 2)) for line in lines[1:]))


def board(decisions: Sequence[Document]) -> Table:
    """One line per decision."""
    table = columns("decision", "candidate", "suite", "date", "decided by", whole=("decision", "date"))
    for decision in decisions:
        date = f"{decision['date']}{'*' if decision['provisional'] else ''}"
        names = (clean(decision[key]) for key in ("candidate", "suite"))
        table.add_row(_word(decision), *names, date, clean(decision["decided_by"] or NOTHING))
    if any(decision["provisional"] for decision in decisions):
        table.caption = "* provisional: the day is not over"
        table.caption_justify = "left"
    return table


def accounting_line(accounting: Document) -> Table:
    """`13 listed = 11 scored + … + 2 ignored (not_a_directory 1, …)`."""
    parts = []
    for name in ("scored", "unchanged", "out_of_range", "in_progress", "quarantined", "ignored"):
        found = accounting[name]
        if isinstance(found, Mapping):
            why = f" ({counted(found)})" if found else ""
            parts.append(f"{sum(found.values())} {name}{why}")
        else:
            parts.append(f"{found} {name.replace('_', ' ')}")
    return labelled("Accounting", f"{accounting['listed']} listed = {' + '.join(parts)}")


def where_lines(lake: str) -> list[RenderableType]:
    """Where the tables are and how to ask them."""
    place = clean(shlex.quote(lake))
    return [
        labelled("Tables", f"{place}/trends/<table>/run_date=<date>/part-0.parquet"),
        labelled("Ask them", f"evalbench query --lake {place} '{EXAMPLE_QUERY}'"),
    ]


def _word(decision: Document) -> Text:
    return Text(decision["decision"], style=DECISION_STYLES.get(decision["decision"], "bold"))


def _headline(decision: Document) -> Text:
    line = _word(decision)
    line.append(f"  {clean(decision['candidate'])}", style="bold")
    subject = " / ".join(clean(decision[key]) for key in ("product", "suite", "environment"))
    line.append(f"  {subject}  {decision['date']}", style="not bold")
    if decision["provisional"]:
        line.append("  PROVISIONAL: the UTC day is not over", style="yellow")
    return line


def _decided(decision: Document) -> RenderableType:
    name = decision["decided_by"]
    if name is None:
        return Text("Every check holds at both ends: permitted within this scope.")
    check = next(check for check in decision["checks"] if check["name"] == name)
    proven = "proven" if check["proven"] else "not proven: evidence is missing"
    said = Text.assemble(("Decided by ", ""), (clean(name), "bold"), f" ({proven}): {clean(check.get('reason', ''))}")
    return Group(said, Text(f"Next: {clean(check['next_step'])}"))


def _signals(signals: Document) -> Table:
    table = columns("signal", "count", "value", "95 %", "left out or beside", right=("count", "value"))
    for name, label in SIGNAL_NAMES.items():
        signal = signals[name]
        dollars = name == COST
        value = signal["value"]
        shown = money(value, most=2) if dollars else rate(value)
        count = fraction(signal["numerator"], signal["denominator"], dollars=dollars)
        table.add_row(label, count, shown, _interval(signal["ci95"], dollars=dollars), _beside(signal))
    return table


def _interval(ends: Sequence[float] | None, *, dollars: bool) -> str:
    if ends is None:
        return NOTHING
    return " to ".join(money(end, most=2) if dollars else rate(end) for end in ends)


def _beside(signal: Document) -> str:
    """What is in neither numerator nor denominator, and the figures that must not be added to them."""
    parts = [counted(signal["left_out"])]
    if signal.get("unverified"):
        parts.append(f"unverified {signal['unverified']}")
    if signal.get("uncalibrated"):
        parts.append(f"uncalibrated {signal['uncalibrated']}")
    if signal.get("cost_per_run") is not None:
        parts.append(f"{money(signal['cost_per_run'], most=2)} a run")
    if signal.get("estimated_usd") is not None:
        parts.append(f"estimated {money(signal['estimated_usd'])}")
    return "; ".join(part for part in parts if part) or NOTHING


def _funnel(funnel: Document) -> str:
    way = " → ".join(
        f"{funnel[step]} {step}" for step in ("planned", "started", "ended", "declared", "judged", "verified")
    )
    aside = ", ".join(f"{funnel[step]} {step.replace('_', ' ')}" for step in ("waiting", "crashed", "gave_up"))
    return f"{way}; {aside}"


def _repeats(pass_hat_k: Document) -> list[RenderableType]:
    """pass^k with its bracket, where tasks were tried more than once."""
    shown = [(k, found) for k, found in pass_hat_k.items() if found["lower"] is not None]
    if len(shown) < 2:
        return []
    spans = "  ".join(f"^{k} {_span(found)}" for k, found in shown)
    return [labelled("pass^k", f"{spans}  over {shown[0][1]['tasks']} tasks")]


def _span(found: Document) -> str:
    lower, upper = f"{found['lower']:.4f}", f"{found['upper']:.4f}"
    return lower if lower == upper else f"{lower} to {upper}"


def _fired(checks: Sequence[Document]) -> Table:
    ends = ("observed", "best", "worst", "limit")
    table = columns("fired", "proven", *ends, right=ends, whole=("fired",))
    for check in checks:
        unit = check.get("unit", "number")
        worst = "unbounded" if check.get("worst_unbounded") else in_unit(check["worst"], unit)
        shown = {end: in_unit(check[end], unit) for end in ends} | {"worst": worst}
        table.add_row(clean(check["name"]), "yes" if check["proven"] else "no", *shown.values())
    return table
