"""The digest of a run: its numbers, its names, and a few redacted words of why. What a summary is written from.

Policy-free and bounded: the same facts and verdicts give the same digest, whatever the run's size. Transcripts never
enter. Texts a run wrote stand under `why` and `where` only; everything else is a number, a name or a code.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evalbench.canonical import canonical_json, sha256_json
from evalbench.general_score import general_score
from evalbench.ledger import Defect, EvidenceRef, OutcomeState, Run, ScoredRun
from evalbench.summaries.personal import excerpt, label
from evalbench.summaries.recorded import (
    MAX_SAID,
    Figures,
    grader_rows,
    judge_failures,
    judge_health,
    metric_rows,
    missing_count,
    number,
    outcome_state,
    recorded_signals,
)
from evalbench.summaries.worst import MAX_TASKS, HarmedTask, harm_totals, harmed_tasks

DEFAULT_BUDGET = 12_000
"""Characters of a digest's text unless the caller says otherwise: no sample comes near it."""

LEAST_BUDGET = 8_000
"""What the worst names need without a single row of a list; a smaller budget may be exceeded up to here."""

MOST = {"tasks": MAX_TASKS, "metrics": 60, "judge_failures": 20, "judge_health": 20, "graders": 10, "defects": 20}
"""Rows of each list at most; what a budget cuts, it cuts from their ends."""

Digest = Mapping[str, object]
"""JSON types only; money, scores and rates are decimal texts, so that no digit is lost."""

_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPED = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>{}&`"})


def digest_of(scored: ScoredRun, budget: int = DEFAULT_BUDGET) -> Digest:
    """The digest of a scored run, its text at most `budget` (or LEAST_BUDGET) characters long.

    What doesn't fit is cut from the ends of the lists, one row at a time and always where most is left, and `left_out`
    counts it.
    """
    harmed = harmed_tasks(scored)
    lists: dict[str, Sequence[Figures]] = {
        "tasks": [task.row() for task in harmed[:MAX_TASKS]],
        "metrics": metric_rows(scored),
        "judge_failures": judge_failures(scored.verdicts),
        "judge_health": judge_health(scored),
        "graders": grader_rows(scored.run.trials),
        "defects": _defects(scored.run),
    }
    totals = {name: len(rows) for name, rows in lists.items()} | {"tasks": len(harmed)}
    kept = {name: list(rows[: MOST[name]]) for name, rows in lists.items()}
    head = _head(scored, harmed)
    _cut(kept, budget - len(digest_text(_whole(head, kept, totals))))
    return _whole(head, kept, totals)


def digest_text(digest: Digest) -> str:
    """The digest as canonical JSON in which no string holds `<`, `>`, `&`, a brace or a backtick.

    It is the same JSON to a reader of JSON. As text it can't close the block it stands in, and holds no `{{` or `{%`.
    """
    return _IN_QUOTES.sub(lambda quoted: quoted[0].translate(_ESCAPED), canonical_json(digest))


def digest_hash(digest: Digest) -> str:
    """sha256 of a digest; names the summary written from it."""
    return sha256_json(digest)


def _whole(head: Figures, kept: Mapping[str, Sequence[Figures]], totals: Mapping[str, int]) -> Digest:
    return {**head, **kept, "left_out": {name: totals[name] - len(rows) for name, rows in kept.items()}}


def _cut(kept: Mapping[str, list[Figures]], spare: int) -> None:
    """Drop last rows until `spare` characters are not negative, or no row is left."""
    sizes = {name: [len(digest_text(row)) + 1 for row in rows] for name, rows in kept.items()}
    while spare < 0 and any(sizes.values()):
        name = max(sizes, key=lambda name: (sum(sizes[name]), name))
        spare += sizes[name].pop() - _NEW_DIGIT
        kept[name].pop()


_NEW_DIGIT = 1
"""A count of rows left out may grow by a digit with each."""


def _head(scored: ScoredRun, harmed: Sequence[HarmedTask]) -> Figures:
    run, trials = scored.run, scored.run.trials
    score = general_score(scored.verdicts)
    states = Counter(outcome_state(trial) for trial in trials)
    return {
        "run": _identity(run),
        "trials": {
            "planned": run.plan.trials,
            "plan": run.plan.source.value,
            "recorded": len(trials),
            "not_recorded": missing_count(run),
            "status": _counts(t.status.value if t.status is not None else "unrecorded" for t in trials),
            "declared_complete": sum(1 for trial in trials if trial.declared_complete is True),
            "outcomes": {state.value: states[state] for state in OutcomeState},
        },
        "signals": recorded_signals(run),
        "general_score": {"value": number(score.value), "missing": list(score.missing)},
        "harm": harm_totals(harmed),
    }


def _identity(run: Run) -> dict[str, str | None]:
    texts = {
        "run_id": run.run_id,
        "candidate": run.candidate,
        "model": run.model,
        "product": run.product,
        "dataset": run.dataset,
        "environment": run.environment,
        "run_date": run.run_date.isoformat(),
        "state": run.state.value,
        "format": run.format,
    }
    return {name: label(text) if text is not None else None for name, text in texts.items()}


def _counts(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _defects(run: Run) -> list[Figures]:
    """How often each code, the most frequent first, with the first place it was found at."""
    counts = Counter(defect.code for defect in run.defects)
    first: dict[str, Defect] = {}
    for defect in sorted(run.defects, key=_defect_order):
        first.setdefault(defect.code, defect)
    return [
        {
            "code": label(code),
            "count": count,
            "where": _where(first[code].ref),
            "why": excerpt(first[code].message, MAX_SAID) or None,
        }
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def _defect_order(defect: Defect) -> tuple[object, ...]:
    ref = defect.ref or EvidenceRef(file="")
    return (ref.file, ref.row or 0, ref.field or "", defect.message)


def _where(ref: EvidenceRef | None) -> str | None:
    if ref is None:
        return None
    return label(ref.file if ref.row is None else f"{ref.file} row {ref.row}")
