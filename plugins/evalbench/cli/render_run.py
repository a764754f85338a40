"""One run's scores, and one directory's diagnosis, for people."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalbench.cli.layout import Document, columns, labelled
from evalbench.cli.words import NOTHING, clean, number
from evalbench.words import counted, plural, spaced

SHOWN_DEFECTS = 20
SHOWN_PLACES = 3
MAX_NAME = 36
NO_GRACE = " (read with no grace)"


def score_page(document: Document) -> list[RenderableType]:
    """Header, metrics, General Score with what it misses, defects."""
    return [
        *header(document),
        Text(""),
        _metrics(document["metrics"]),
        Text(""),
        labelled("General Score", _general_score(document["general_score"])),
        *_defects(document["defect_list"], document["rows_without_verdict"]),
    ]


def doctor_page(document: Document) -> list[RenderableType]:
    """Header, findings, and summary.csv row by row."""
    findings = document["findings"]
    parts: list[RenderableType] = [*header(document), Text("")]
    parts += _findings(findings) if findings else [Text("Nothing is wrong that can be seen from inside.")]
    if document["summary"]:
        parts += [Text(""), Text("summary.csv, claimed against recomputed", style="bold"), _claims(document["summary"])]
        parts += _reasons(document["summary"])
    return parts


def header(document: Document) -> list[RenderableType]:
    """Which run this is."""
    names = ("candidate", "product", "suite", "dataset", "run_time", "format")
    known = ", ".join(f"{spaced(name)} {clean(document[name])}" for name in names if document.get(name))
    state = f"{document['state']}{NO_GRACE if document['state'] == 'abandoned' else ''}"
    head = Text.assemble((clean(document["run_id"] or document["path"]), "bold"), f"  {state}")
    trials = document.get("trials")
    counts = "" if trials is None else f"{plural(trials, 'trial')} on record, {_planned(document)}"
    return [head, *(Text(line) for line in (known, counts) if line)]


def _planned(document: Document) -> str:
    if document.get("plan") == "observed":
        return "no plan reachable"
    return f"{document['planned']} planned ({document['plan']})"


def _metrics(metrics: Document) -> Table:
    counts = ("sum/rows", "value", "passed")
    table = columns("metric", *counts, "unavailable", right=counts, whole=("metric",))
    for name, metric in metrics.items():
        rows = f"{number(metric['numerator'])}/{metric['denominator']}"
        passed = NOTHING if metric["passed"] is None else f"{metric['passed']}/{metric['denominator']}"
        absent = clean(counted(metric["unavailable_reasons"])) or NOTHING
        table.add_row(_short(name), rows, number(metric["value"]), passed, absent)
    return table


def _general_score(score: Document) -> str:
    if score["value"] is not None:
        return f"{number(score['value'])} of 100 (a diagnostic; it never decides)"
    return f"unavailable: no row of {', '.join(score['missing'])}"


def _defects(defects: Sequence[Document], silent_rows: int) -> list[RenderableType]:
    """What is wrong in the files; and how many of their score rows are worth nothing, which is no defect of theirs."""
    count = f"{len(defects):,}" if defects else "none"
    rows = f"; {plural(silent_rows, 'score row')} gave no verdict" if silent_rows else ""
    head = labelled("File defects", f"{count}{rows}")
    if not defects:
        return [head]
    table = columns("defect", "what")
    for defect in defects[:SHOWN_DEFECTS]:
        table.add_row(clean(defect["code"]), clean(defect["message"]))
    more = len(defects) - SHOWN_DEFECTS
    rest = [Text(f"and {more} more; --json lists all of them")] if more > 0 else []
    return [head, Text(""), table, *rest]


def _findings(findings: Sequence[Document]) -> list[RenderableType]:
    """Code and count, then what it means and the first places."""
    parts: list[RenderableType] = []
    for finding in findings:
        places = [_place(place) for place in finding["where"]]
        more = ", …" if len(places) > SHOWN_PLACES else ""
        where = f" [{', '.join(places[:SHOWN_PLACES])}{more}]" if places else ""
        said = Text.assemble(clean(finding["message"]), (where, "dim"))
        parts += [Text(f"{clean(finding['code'])} ({finding['count']})", style="bold"), Padding(said, (0, 0, 0, 2))]
    return parts


def _short(name: str) -> str:
    """A metric's name in a column of its own; a run may name its scorers as long as it likes."""
    safe = clean(name)
    return safe if len(safe) <= MAX_NAME else f"{safe[: MAX_NAME - 1]}…"


def _place(ref: Document) -> str:
    """`scores.csv record 4`, `trials.jsonl line 5`, `configs.csv record 3 model_config.key`."""
    unit = "record" if ref["file"].endswith(".csv") else "line"
    row = f" {unit} {ref['row']}" if ref["row"] is not None else ""
    return clean(f"{ref['file']}{row}" + (f" {ref['field']}" if ref["field"] else ""))


def _claims(claims: Sequence[Document]) -> Table:
    counts = ("passed", "mean", "unavailable")
    table = columns("metric", "reads as", *counts, "misleads", right=counts, whole=("metric", "misleads"))
    for claim in claims:
        found = claim["recomputed"]
        passed = mean = absent = NOTHING
        if found is not None:
            passed = NOTHING if found["passed"] is None else f"{found['passed']}/{found['denominator']}"
            mean, absent = number(found["value"]), number(found["unavailable"])
        misleads = "yes" if claim["misleading"] else "no"
        table.add_row(_short(claim["metric"]), clean(claim["reads_as"]), passed, mean, absent, misleads)
    return table


def _reasons(claims: Sequence[Document]) -> list[RenderableType]:
    """Why each row misleads; metrics with the same reason together."""
    why: dict[str, list[str]] = {}
    for claim in claims:
        if claim["misleading"]:
            why.setdefault(claim["why"], []).append(clean(claim["metric"]))
    return [Text(""), *(Text(f"{', '.join(metrics)}: {clean(reason)}") for reason, metrics in why.items())]
