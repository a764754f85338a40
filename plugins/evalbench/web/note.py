"""The report as a decision note in GitHub-flavoured Markdown: for a comment on a pull request. No links, no HTML."""

from collections.abc import Iterator, Sequence

from evalbench import __version__
from evalbench.gate.decision import Verdict
from evalbench.web.inert import inert, named, table
from evalbench.web.marks import STEPS
from evalbench.web.models.candidate import Candidate
from evalbench.web.models.parts import Check, SignalFigure, Standing
from evalbench.web.report import Report
from evalbench.web.words import NOTHING, counted, fraction, in_unit, instant, number, plural, short_hash, suite_name

MOST_CHARS = 60_000
"""A comment on GitHub holds 65,536 characters."""
TABLE_CHARS = 40_000
"""What the table on top may take of them: some decisions are told whole in any case."""
CELL_CHARS = 300
NAMED_RUNS = NAMED_VOIDED = 5
ASIDE = ("waiting", "crashed", "gave_up", "declaration_unknown")


def as_markdown(report: Report) -> str:
    """The note. What doesn't fit into a comment is left out from the end, of the table and of sections, and counted.

    The first decision is always there with what decided it, in brief where its section alone is too long.
    """
    head, foot = "\n".join(filter(None, (_caveats(report), _head(report)))), _foot(report)
    sections = _sections(report, MOST_CHARS - len(head) - len(foot))
    return "\n".join(part for part in (head, *sections, foot) if part)


def _sections(report: Report, room: int) -> list[str]:
    alone = len(report.pages) == 1
    parts = [_part(page, alone=alone) for page in report.pages]
    if parts and not _fitting(parts[:1], room):
        parts[0] = _in_brief(report.pages[0], alone=alone)
    shown = max(1, _fitting(parts, room))
    left = len(parts[shown:])
    more = f"{plural(left, 'decision')} more: too many for one comment; ask for them by candidate, product or suite.\n"
    return [*parts[:shown], more] if left else parts


def _fitting(parts: Sequence[str], room: int) -> int:
    for shown, part in enumerate(parts):
        room -= len(part) + 1
        if room < 0:
            return shown
    return len(parts)


def _caveats(report: Report) -> str:
    """What is to be known before any decision is read."""
    return "\n".join(f"**{inert(said)}**\n" for said in report.caveats)


def _head(report: Report) -> str:
    """How many may ship, and a line for each, as many as fit; nothing where there is one decision, whose own heading
    says all.
    """
    if report.nothing is not None:
        return f"## Release decisions\n\n{inert(report.nothing)}\n"
    if len(report.pages) == 1:
        return ""
    rows = [
        (
            f"**{page.standing.verdict}**",
            named(page.subject.candidate),
            _subject(page.standing),
            f"{page.standing.day}{_provisional(page.standing)}",
            named(page.standing.deciding.check) if page.standing.deciding.check is not None else NOTHING,
        )
        for page in report.pages
    ]
    lines = table(("decision", "candidate", "subject", "date", "decided by"), (), rows)
    shown = _fitting(lines, TABLE_CHARS)
    left = len(lines) - shown
    said = [f"And {plural(left, 'decision')} more than this table holds.", ""] if left else []
    title = f"## Release decisions: {', '.join(one.said for one in report.tallies)}"
    return "\n".join([title, "", *lines[:shown], "", *said])


def _foot(report: Report) -> str:
    as_of = report.as_of
    about = f" Asked for: {inert(report.scope.said)}." if report.scope.said else ""
    older = f" {plural(report.older, 'subject')} not decided for a month left out." if report.older else ""
    made = f"Made {instant(as_of.now)} by evalbench {__version__} from the lake {named(as_of.lake)}."
    kept_out = f" {inert(report.kept_out)}" if report.kept_out else ""
    return f"{made}{about}{older}{kept_out} PASS permits a release within its scope; it doesn't mean safe.\n"


def _part(page: Candidate, *, alone: bool) -> str:
    standing = page.standing
    paragraphs = [
        _title(standing, alone=alone),
        _why(standing),
        "\n".join(_signals(standing.signals)),
        f"**Trials.** {_funnel(standing)}",
        *_repeats(standing),
        *_fired(page.checks, standing.deciding.check),
        f"**What would flip it.** {inert(standing.flip)}",
        f"**What changed.** {inert(standing.change.sentence)}{_revised(standing)}",
        f"**Scope.** {_scope(standing)}",
        *(f"**Not counted.** {said}" for said in _not_counted(standing)),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _in_brief(page: Candidate, *, alone: bool) -> str:
    """The beginning of a section that is too long."""
    said = "What else is to be said of it is too long for a comment: the HTML report and the page have it."
    return "\n\n".join((_title(page.standing, alone=alone), _why(page.standing), said)) + "\n"


def _title(standing: Standing, *, alone: bool) -> str:
    then = "may ship" if standing.verdict is Verdict.PASS else "held"
    said = f"{named(standing.subject.candidate)}: {standing.verdict}, {then}"
    return f"{'##' if alone else '###'} {said}{_provisional(standing)}"


def _provisional(standing: Standing) -> str:
    return f" ({standing.not_of_record})" if standing.not_of_record is not None else ""


def _why(standing: Standing) -> str:
    why = standing.deciding
    if why.check is None:
        return f"**{inert(why.sentence)}**"
    more = f" and {number(why.trials_total - len(why.trials))} more" if why.trials_total > len(why.trials) else ""
    trials = f" Trials: {', '.join(named(link.label) for link in why.trials)}{more}." if why.trials else ""
    proof = "proven" if why.proven else "not proven: evidence is missing"
    then = f" Next: {inert(why.next_step.rstrip('.'))}." if why.next_step else ""
    return f"**{inert(why.sentence)}**\n\nDecided by {named(why.check)}, {proof}.{trials}{then}"


def _signals(figures: Sequence[SignalFigure]) -> list[str]:
    rows = [
        (
            figure.label,
            inert(fraction(figure.numerator, figure.denominator, figure.unit)),
            inert(in_unit(figure.value, figure.unit)) if figure.value is not None else "not available",
            _interval(figure),
            f"{number(figure.covered)} of {number(figure.population)} {inert(figure.counted)}",
            inert(counted(figure.left_out)) or inert(figure.reason or "") or NOTHING,
        )
        for figure in figures
    ]
    return table(("signal", "count", "value", "95 %", "covered", "left out"), (1, 2), rows)


def _interval(figure: SignalFigure) -> str:
    if figure.ci95 is None:
        return NOTHING
    return " to ".join(inert(in_unit(end, figure.unit)) for end in figure.ci95)


def _funnel(standing: Standing) -> str:
    way = " → ".join(f"{number(getattr(standing.funnel, step))} {label}" for step, label in STEPS.items())
    beside = [(step, getattr(standing.funnel, step)) for step in ASIDE]
    aside = ", ".join(f"{number(count)} {step.replace('_', ' ')}" for step, count in beside if count)
    return f"{way}; {aside}." if aside else f"{way}."


def _repeats(standing: Standing) -> Iterator[str]:
    found = [(k, span) for k, span in standing.pass_hat_k.items() if span.lower is not None and span.upper is not None]
    if len(found) < 2:
        return
    spans = (f"^{k} {span.lower:.4f} to {span.upper:.4f} ({plural(span.tasks, 'task')})" for k, span in found)
    yield f"**pass^k.** {inert('; '.join(spans))}."


def _fired(checks: Sequence[Check], deciding: str | None) -> Iterator[str]:
    fired = [check for check in checks if check.fired]
    if not fired:
        return
    rows = [
        (
            named(check.name),
            "yes" if check.proven else "no",
            *(inert(in_unit(end, check.unit)) for end in (check.observed, check.best)),
            "unbounded" if check.worst_unbounded else inert(in_unit(check.worst, check.unit)),
            inert(in_unit(check.limit, check.unit)),
            "as above" if check.name == deciding else inert(check.reason, CELL_CHARS),
        )
        for check in fired
    ]
    yield "\n".join(table(("fired", "proven", "observed", "best", "worst", "limit", "why"), (2, 3, 4, 5), rows))


def _revised(standing: Standing) -> str:
    change = standing.change
    if change.revised is None:
        return ""
    return f" This date was decided before: {change.revised} at first, {plural(change.revisions, 'entry', 'entries')}."


def _subject(standing: Standing) -> str:
    subject = standing.subject
    return " · ".join(named(name) for name in (subject.product, suite_name(subject.suite), subject.environment))


def _scope(standing: Standing) -> str:
    version = f"dataset version {named(standing.dataset_version)}" if standing.dataset_version else "no dataset version"
    runs = ", ".join(named(run) for run in standing.runs[:NAMED_RUNS])
    more = f" and {len(standing.runs) - NAMED_RUNS} more" if len(standing.runs) > NAMED_RUNS else ""
    baseline = f"baseline {named(standing.baseline)}" if standing.baseline is not None else "no baseline"
    model = f"model {named(standing.model)}" if standing.model is not None else "no model named"
    policy = f"policy {named(standing.policy_name)} {named(standing.policy_version)}"
    return (
        f"{_subject(standing)}, decided for {standing.day} as of {instant(standing.as_of)};"
        f" {plural(standing.tasks, 'task')}, window of {plural(standing.window_days, 'day')}, {version},"
        f" {inert(standing.workflow)}, {baseline}, {model}; {policy} ({named(short_hash(standing.policy_hash))});"
        f" {plural(len(standing.runs), 'run')}{': ' if runs else ''}{runs}{more}."
    )


def _not_counted(standing: Standing) -> Iterator[str]:
    for voided in standing.excluded[:NAMED_VOIDED]:
        why, owner = inert(voided.reason, CELL_CHARS), inert(voided.owner, CELL_CHARS)
        yield f"Run {named(voided.run_id)}: {why} ({owner}, {voided.day})."
    if len(standing.excluded) > NAMED_VOIDED:
        yield f"{plural(len(standing.excluded) - NAMED_VOIDED, 'more run')}."
