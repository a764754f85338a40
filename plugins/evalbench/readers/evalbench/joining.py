"""Trials out of rows: numbered so that row order doesn't matter, and each with its own scores.

Rows with one id are told apart by the cells both files share. Twins that remain alike are never guessed at: scores
that agree among them belong to each, scores that differ stay unattached, since a verdict on the wrong trial is worse
than none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from evalbench.ledger import ComparatorRow, Trial
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.model import EvalRow, ScoreRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """trials sorted by (task_id, trial), pairs unique; unattached rows in a stable order."""

    trials: tuple[Trial, ...]
    unattached: tuple[ComparatorRow, ...]


@dataclass(slots=True)
class _Open:
    """A trial that is still collecting its scores."""

    source: EvalRow
    rows: list[ComparatorRow] = field(default_factory=list)


def join(
    evals: Sequence[EvalRow],
    scores: Sequence[ScoreRow],
    split_id: Callable[[str], tuple[str, int]],
    log: DefectLog,
) -> Joined:
    """Attach every score row. split_id: (task id, trial) of an id that only the scores name."""
    by_id: dict[str, list[_Open]] = defaultdict(list)
    for source in evals:
        by_id[source.raw_id].append(_Open(source))
    named: dict[str, list[ScoreRow]] = defaultdict(list)
    unattached: list[ComparatorRow] = []
    for score in scores:
        if score.raw_id:
            named[score.raw_id].append(score)
        else:
            unattached.append(score.row)
    for raw_id in sorted(named):
        if raw_id not in by_id:
            by_id[raw_id].append(_Open(_from_scores(raw_id, named[raw_id], split_id, log)))
        unattached += _attach(raw_id, by_id[raw_id], named[raw_id], log)
    opened = [trial for raw_id in sorted(by_id) for trial in by_id[raw_id]]
    return Joined(trials=_numbered(opened, log), unattached=tuple(sorted(unattached, key=_row_order)))


def _from_scores(
    raw_id: str, scores: Sequence[ScoreRow], split_id: Callable[[str], tuple[str, int]], log: DefectLog
) -> EvalRow:
    """A trial that only its scores witness: it ran, and nothing else is known of it."""
    task_id, number = split_id(raw_id)
    first = min((score.row for score in scores), key=_row_order)
    log.add("scores_without_evals", "no row of evals.csv has this id", first.ref, task_id=task_id, trial=number)
    unknown = "no_evals_row"
    trial = Trial(task_id=task_id, trial=number, calls_reason=unknown, expected_reason=unknown, ref=first.ref)
    return EvalRow(raw_id=raw_id, trial=trial, content="")


def _attach(raw_id: str, twins: list[_Open], scores: list[ScoreRow], log: DefectLog) -> list[ComparatorRow]:
    """Gives each twin its rows; returns those that could belong to several."""
    if len(twins) == 1:
        for score in scores:
            twins[0].rows.append(_completed(score, twins[0].source))
        _report_repeated(twins[0], log)
        return []
    task_id = twins[0].source.trial.task_id
    log.add("repeated_id", f"{len(twins)} rows of evals.csv have one id", twins[0].source.trial.ref, task_id=task_id)
    groups: dict[tuple[str, frozenset[int]], list[ScoreRow]] = defaultdict(list)
    for score in scores:
        fitting = frozenset(index for index, twin in enumerate(twins) if _fits(score, twin.source))
        groups[score.row.comparator, fitting].append(score)
    left: list[ComparatorRow] = []
    for (_, fitting), found in groups.items():
        one_each = len(found) == len(fitting) and len({score.content for score in found}) == 1
        if len(fitting) == 1 or one_each:
            for index, score in zip(_cycle(fitting, len(found)), found, strict=True):
                twins[index].rows.append(_completed(score, twins[index].source))
        else:
            left += [score.row for score in found]
    if left:
        said = f"{len(left)} score rows of repeated id {raw_id!r} differ and could belong to any of its trials"
        log.add("ambiguous_scores", f"{said}; they are kept, attached to none", left[0].ref, task_id=task_id)
    return left


def _cycle(fitting: frozenset[int], count: int) -> list[int]:
    ordered = sorted(fitting)
    return ordered if len(ordered) == count else ordered * count


def _fits(score: ScoreRow, source: EvalRow) -> bool:
    return all(source.joins[name] == text for name, text in score.joins.items() if name in source.joins)


def _report_repeated(trial: _Open, log: DefectLog) -> None:
    names = [row.comparator for row in trial.rows]
    for name in sorted({name for name in names if names.count(name) > 1}):
        source = trial.source.trial
        said = f"{names.count(name)} rows of {name} for one trial; all are kept"
        log.add("repeated_score", said, source.ref, task_id=source.task_id, trial=source.trial)


def _completed(score: ScoreRow, source: EvalRow) -> ComparatorRow:
    """The row with what only evals.csv says about its query."""
    known = [text for text in (score.row.golden_error, source.golden_error) if text is not None]
    golden_error = max(known, key=bool, default=None)
    return replace(score.row, golden_error=golden_error, generated_empty=source.generated_empty)


def _numbered(opened: Iterable[_Open], log: DefectLog) -> tuple[Trial, ...]:
    by_task: dict[str, list[_Open]] = defaultdict(list)
    for trial in opened:
        by_task[trial.source.trial.task_id].append(trial)
    return tuple(
        replace(trial.source.trial, trial=number, comparators=tuple(sorted(trial.rows, key=_row_order)))
        for task_id in sorted(by_task)
        for number, trial in _with_numbers(by_task[task_id], log)
    )


def _with_numbers(trials: list[_Open], log: DefectLog) -> list[tuple[int, _Open]]:
    """The numbers the file gives, where they tell trials apart; else ranks by content: row order means nothing."""
    ordered = sorted(trials, key=lambda trial: (trial.source.trial.trial, trial.source.content))
    stated = [trial.source.trial.trial for trial in ordered]
    if len(set(stated)) == len(stated):
        return list(zip(stated, ordered, strict=True))
    first = ordered[0].source.trial
    said = f"{len(ordered)} trials of one task share a number; they are numbered by content"
    log.add("trials_renumbered", said, first.ref, task_id=first.task_id)
    return list(enumerate(ordered))


def _row_order(row: ComparatorRow) -> tuple[str, Decimal, str, str, str, int]:
    place = row.ref.row if row.ref and row.ref.row else 0
    score = row.score if row.score is not None else Decimal(-1)
    return (row.comparator, score, row.score_text, row.error, row.log, place)
