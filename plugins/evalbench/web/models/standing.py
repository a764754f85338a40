"""Decisions as standings: each with its figures, what decided it, what came before it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TypeAlias

from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.repeats import Bracket
from evalbench.signals import Funnel
from evalbench.web.models.change import change_of
from evalbench.web.models.checks import NAMED, deciding
from evalbench.web.models.decision_log import LOG_ORDER, not_of_record
from evalbench.web.models.figures import Row, signal_figure, signal_point
from evalbench.web.models.parts import (
    SIGNAL_LABELS,
    DayMark,
    Excluded,
    SignalFigure,
    SignalPoint,
    Standing,
)
from evalbench.web.store import View
from evalbench.web.tables import SUBJECT

DATES_SHOWN = 30
"""Dates of a sparkline."""
_BEFORE = f"""
    before AS (
        SELECT daily.* FROM daily JOIN chosen USING ({SUBJECT})
        WHERE daily.run_date <= chosen.day
        QUALIFY row_number() OVER (PARTITION BY {SUBJECT} ORDER BY daily.run_date DESC) <= {DATES_SHOWN}
    )
"""

_DECIDED = f"SELECT daily.* FROM daily JOIN chosen USING ({SUBJECT}) WHERE run_date = chosen.day"

_Key: TypeAlias = tuple[str, str, str, str]


def standings(view: View, chosen: str, params: Sequence[object]) -> list[Standing]:
    """The standing of each decision that is chosen, sorted by subject.

    chosen: a SELECT of product, suite, environment, candidate and `day` from `daily`, one row per subject.
    """
    asked = f"WITH chosen AS ({chosen}), {_BEFORE}"
    history = _by_subject(view.rows(f"{asked} SELECT * FROM before ORDER BY {SUBJECT}, run_date", params))
    signals = _by_subject(
        view.rows(
            f"{asked} SELECT signals.*, before.decision FROM signals"
            f" JOIN before USING ({SUBJECT}, run_date, policy_hash) ORDER BY {SUBJECT}, run_date, signal",
            params,
        )
    )
    decided = f"WITH chosen AS ({chosen}), decided AS ({_DECIDED})"
    checks = _by_subject(
        view.rows(
            f"{decided} SELECT gate_checks.* FROM gate_checks"
            f" JOIN decided USING ({SUBJECT}, run_date, policy_hash) WHERE check_name = decided_by",
            params,
        )
    )
    evidence = _by_subject(
        view.rows(
            f"{decided} SELECT gate_evidence.* FROM gate_evidence"
            f" JOIN decided USING ({SUBJECT}, run_date, policy_hash)"
            f" WHERE check_name = decided_by AND evidence_number < {NAMED} ORDER BY {SUBJECT}, evidence_number",
            params,
        )
    )
    log = _by_subject(
        view.rows(
            f"{asked} SELECT decision_log.* FROM decision_log JOIN chosen USING ({SUBJECT})"
            f" WHERE run_date = chosen.day ORDER BY {LOG_ORDER}",
            params,
        )
    )
    return [
        standing_of(view, rows, signals[key], next(iter(checks[key]), None), evidence[key], log[key])
        for key, rows in sorted(history.items())
    ]


def subject_of_row(row: Row) -> Subject:
    """The subject of a row."""
    return Subject(
        product=row["product"], suite=row["suite"], environment=row["environment"], candidate=row["candidate"]
    )


def brackets(text: str) -> dict[int, Bracket]:
    """pass^k by k, from its column."""
    found = {int(k): Bracket(**bracket) for k, bracket in json.loads(text).items()}
    return dict(sorted(found.items()))


def _by_subject(rows: Iterable[Row]) -> defaultdict[_Key, list[Row]]:
    found: defaultdict[_Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["product"], row["suite"], row["environment"], row["candidate"]].append(row)
    return found


def standing_of(
    view: View,
    history: Sequence[Row],
    signals: Sequence[Row],
    check: Row | None,
    evidence: Sequence[Row],
    log: Sequence[Row],
) -> Standing:
    """The standing of the last decision of a subject's history.

    history: rows of `daily` by date. signals: of those dates, with the decision beside each. check: the one that
    decided last, None on PASS or where it isn't held; evidence: the first rows behind it. log: of the last date, in
    LOG_ORDER.
    """
    row, day = history[-1], history[-1]["run_date"]
    today = view.as_of.now.date()
    return Standing(
        subject=subject_of_row(row),
        day=day,
        verdict=Verdict(row["decision"]),
        not_of_record=not_of_record(row, today),
        age_days=(today - day).days,
        behind_days=max(0, ((newest_run(view) or day) - day).days),
        policy_name=row["policy_name"],
        policy_version=row["policy_version"],
        policy_hash=row["policy_hash"],
        workflow=row["workflow"],
        model=row["model"],
        dataset_version=row["dataset_version"],
        baseline=row["baseline"],
        window_days=row["window_days"],
        as_of=row["as_of"],
        tasks=row["tasks"],
        runs=tuple(json.loads(row["runs"])),
        deciding=deciding(row, check, evidence),
        flip=row["flip"],
        signals=_figures(row, [found for found in signals if found["run_date"] == day]),
        funnel=Funnel(**{name: row[name] for name in Funnel.__dataclass_fields__}),
        pass_hat_k=brackets(row["pass_hat_k"]),
        change=change_of(row, history[-2] if len(history) > 1 else None, log, view.as_of.left_out),
        marks=marks_of(history, today),
        sparks=sparks(signals),
        attested=tuple(json.loads(row["attested"])),
        excluded=_excluded(row["excluded"]),
    )


def newest_run(view: View) -> date | None:
    """The last date with a run, None without one. Runs that a wrong clock dated in the future make nothing else old."""
    today = view.as_of.now.date()
    asked = "SELECT max(run_date) AS day FROM runs WHERE run_date <= ?"
    found: date | None = view.once(("newest run", today), lambda: view.rows(asked, [today])[0]["day"])
    return found


def marks_of(decisions: Iterable[Row], today: date) -> tuple[DayMark, ...]:
    """Rows of `daily` as marks in their order."""
    return tuple(
        DayMark(day=row["run_date"], decision=Verdict(row["decision"]), not_of_record=not_of_record(row, today))
        for row in decisions
    )


def _figures(decision: Row, signals: Iterable[Row]) -> tuple[SignalFigure, ...]:
    found = {row["signal"]: signal_figure(row, decision["started"]) for row in signals}
    return tuple(found[name] for name in SIGNAL_LABELS if name in found)


def sparks(signals: Iterable[Row]) -> Mapping[str, tuple[SignalPoint, ...]]:
    """Rows of `signals` as series by signal, in the order of the rows."""
    found: dict[str, list[SignalPoint]] = {name: [] for name in SIGNAL_LABELS}
    for row in signals:
        found[row["signal"]].append(signal_point(row))
    return {name: tuple(points) for name, points in found.items()}


def _excluded(text: str | None) -> tuple[Excluded, ...]:
    found = json.loads(text) if text is not None else []
    return tuple(
        Excluded(
            run_id=item["run_id"], reason=item["reason"], owner=item["owner"], day=date.fromisoformat(item["date"])
        )
        for item in found
    )
