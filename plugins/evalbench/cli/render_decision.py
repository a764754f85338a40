"""One decision for people: the word and what decided it first, then what it rests on, then the numbers."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalbench.cli.layout import Document, columns, labelled, listing
from evalbench.cli.words import NOTHING, clean, fraction, in_unit, money, rate
from evalbench.gate.wording import trial_name
from evalbench.words import counted, listed, plural, spaced, suite_name

DECISION_STYLES = {"PASS": "bold green", "FAIL": "bold red", "INSUFFICIENT_EVIDENCE": "bold yellow"}
SIGNAL_NAMES = {
    "task_quality": "task quality",
    "useful_progress": "useful progress",
    "effect_integrity": "effect integrity",
    "cost_per_verified_outcome": "cost per verified",
    "false_success": "false success",
}
AGAINST_BASELINE = ("floor.progress_regression", "floor.effect_regression", "compare.")
COMPARED = ("evaluated", "reported", "not_used", "refused")
COST = "cost_per_verified_outcome"
SHOWN_TRIALS = 5
SHOWN_K = 6
SHOWN_RUNS = 3


def decision_block(decision: Document) -> list[RenderableType]:
    """The word, what decided it and what it rests on; signals, funnel and baseline; what fired, what would flip it."""
    lines: list[RenderableType] = [*_decided(decision), listing(list(_basis(decision))), _signals(decision["signals"])]
    lines += [labelled("Funnel", _funnel(decision["funnel"])), *_repeats(decision["pass_hat_k"])]
    compared = [check for check in decision["checks"] if check["name"].startswith(AGAINST_BASELINE)]
    lines += [labelled("Compared", clean(check["reason"])) for check in compared if check["status"] in COMPARED]
    fired = [check for check in decision["checks"] if check["fired"]]
    if fired:
        lines.append(_fired(fired))
    lines.append(labelled("To flip", clean(decision["flip"])))
    return [_headline(decision), *(Padding(line, (0, 0, 0, 2)) for line in lines)]


def voided_lines(report: Document) -> list[RenderableType]:
    """Voided runs of the dates in scope that no decision above names."""
    named = {exclusion["run_id"] for decision in report["decisions"] for exclusion in decision["excluded"]}
    return [
        labelled("Excluded", _voided(exclusion)) for exclusion in report["excluded"] if exclusion["run_id"] not in named
    ]


def decision_word(decision: Document) -> Text:
    """PASS, FAIL or INSUFFICIENT_EVIDENCE in its colour."""
    return Text(decision["decision"], style=DECISION_STYLES.get(decision["decision"], "bold"))


def _headline(decision: Document) -> Text:
    line = decision_word(decision)
    line.append(f"  {clean(decision['candidate'])}", style="bold")
    product, environment = clean(decision["product"]), clean(decision["environment"])
    subject = f"{product} / {suite_name(clean(decision['suite']))} / {environment}"
    line.append(f"  {subject}  {decision['date']}", style="not bold")
    if decision["provisional"]:
        line.append("  PROVISIONAL: the UTC day is not over", style="yellow")
    return line


def _decided(decision: Document) -> list[RenderableType]:
    name = decision["decided_by"]
    if name is None:
        return [Text("Every check holds at both ends: permitted within the scope below.")]
    check = next(check for check in decision["checks"] if check["name"] == name)
    proven = "proven" if check["proven"] else "not proven: evidence is missing"
    said = Text.assemble(("Decided by ", ""), (clean(name), "bold"), f" ({proven}): {clean(check['reason'])}")
    trials = list(dict.fromkeys(trial_name(clean(ref["task_id"]), ref["trial"]) for ref in check["trials"]))
    unsaid = bool(trials) and trials[0] not in clean(check["reason"])
    which = f" ({listed(trials, SHOWN_TRIALS)})" if unsaid else ""
    return [said, Text(f"Next: {clean(check['next_step'])}{which}")]


def _basis(decision: Document) -> Iterator[tuple[str, str]]:
    """What the decision rests on: policy, scope, baseline, attestations, what was voided, defects of its runs."""
    yield "Policy", _policy(decision["policy"])
    yield "Scope", _scope(decision["scope"], runs=len(decision["runs"]))
    yield "Baseline", _baseline(decision)
    for attested in decision["attested"]:
        yield "Attested", clean(attested)
    for attested in decision["attested_nothing"]:
        comparator, _, runs = clean(attested).partition(" ")
        yield "Attested", f"Attestation {comparator} matched no row of these runs {runs}"
    for exclusion in decision["excluded"]:
        yield "Excluded", _voided(exclusion)
    if decision["defects"]:
        yield "Defects", f"{sum(decision['defects'].values())} in the files: {clean(counted(decision['defects']))}"
    incomplete = any(check["fired"] and check["stage"] == 1 for check in decision["checks"])
    if decision["runs"] and (decision["defects"] or incomplete):
        yield (
            "Look",
            f"evalbench doctor on the directory of {listed([clean(run) for run in decision['runs']], SHOWN_RUNS)}",
        )


def _voided(exclusion: Document) -> str:
    """`run-7 is in no number: wrong image (Jo Meyer, 2026-11-29)`."""
    said = {key: clean(value) for key, value in exclusion.items()}
    return f"{said['run_id']} is in no number: {said['reason']} ({said['owner']}, {said['date']})"


def _policy(policy: Document) -> str:
    ways = {None: "the default: no route matches", "given": "given, instead of the routing's"}
    way = ways.get(policy["route"]) or f"route {clean(policy['route'])}"
    return f"{clean(policy['name'])} {clean(policy['version'])} ({way})"


def _scope(scope: Document, *, runs: int) -> str:
    version = f"dataset version {clean(scope['dataset_version'])}" if scope["dataset_version"] else "no dataset version"
    window = f"{plural(runs, 'run')} of {plural(scope['window']['days'], 'day')}"
    as_of = str(scope["as_of"])[:16].replace("T", " ")
    return f"{plural(scope['tasks'], 'task')}, {window}, {version}, {clean(scope['workflow'])}, as of {as_of} UTC"


def _baseline(decision: Document) -> str:
    if decision["baseline"] is None:
        return "not named"
    name = clean(decision["baseline"])
    if not decision["baseline_runs"]:
        return f"{name} has no run here, so nothing is compared"
    compared = {check["status"] for check in decision["checks"] if check["name"].startswith("compare.")}
    if compared == {"not_evaluated"}:
        return f"{name} has runs here and the candidate has none, so nothing is compared"
    if "not_used" in compared:
        return f"{name}, compared, and not used: an earlier check fired"
    return f"{name}, not comparable in all" if "refused" in compared else f"{name}, compared"


def _signals(signals: Document) -> Table:
    table = columns("signal", "count", "value", "95 %", "left out or beside", right=("count", "value"))
    for name, label in SIGNAL_NAMES.items():
        signal = signals[name]
        dollars = name == COST
        value = signal["value"]
        shown = money(value) if dollars else rate(value)
        count = fraction(signal["numerator"], signal["denominator"], dollars=dollars)
        table.add_row(label, count, shown, _interval(signal["ci95"], dollars=dollars), _beside(signal))
    return table


def _interval(ends: Sequence[float] | None, *, dollars: bool) -> str:
    if ends is None:
        return NOTHING
    return " to ".join(money(end) if dollars else rate(end) for end in ends)


def _beside(signal: Document) -> str:
    """What is in neither numerator nor denominator, and the figures that must not be added to them."""
    parts = [clean(counted(signal["left_out"]))]
    if signal.get("unverified"):
        parts.append(f"unverified {signal['unverified']}")
    if signal.get("uncalibrated"):
        parts.append(f"uncalibrated {signal['uncalibrated']}")
    if signal.get("cost_per_run") is not None:
        parts.append(f"{money(signal['cost_per_run'])} a run")
    if signal.get("estimated_usd") is not None:
        parts.append(f"estimated {money(signal['estimated_usd'], most=4)}")
    return "; ".join(part for part in parts if part) or NOTHING


def _funnel(funnel: Document) -> str:
    way = " → ".join(
        f"{funnel[step]} {step}" for step in ("planned", "started", "ended", "declared", "judged", "verified")
    )
    aside = ", ".join(f"{funnel[step]} {spaced(step)}" for step in ("waiting", "crashed", "gave_up"))
    return f"{way}; {aside}"


def _repeats(pass_hat_k: Document) -> list[RenderableType]:
    """pass^k with its bracket, where tasks were tried more than once."""
    found = [(k, span) for k, span in pass_hat_k.items() if span["lower"] is not None]
    if len(found) < 2:
        return []
    shown = found if len(found) <= SHOWN_K else [*found[: SHOWN_K - 1], found[-1]]
    table = columns("pass^k", *(f"^{k}" for k, _ in shown), right=[f"^{k}" for k, _ in shown])
    table.add_row(f"over {plural(shown[0][1]['tasks'], 'task')}", *(_span(span) for _, span in shown))
    return [table]


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
