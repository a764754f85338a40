"""A lake of any size for the page: facts of renamed samples, published by the pipeline's own verbs.

Ten candidates of two products run on every date, so that there are boards, trends, contradictions and silent judges to
show. Directories are left out: two thousand of fifty trials each would be 1.3 GB, and no page reads them.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from hashlib import sha256
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

from evalbench.accounting import DirectoryState, Disposition
from evalbench.intake import Intake
from evalbench.lake.facts import write_facts
from evalbench.lake.index import IndexEntry, Standing, write_segment
from evalbench.lake.verdicts import read_scored, write_verdicts
from evalbench.ledger import Run, Trial
from evalbench.publishing import Execution, publish_date, publish_operations
from evalbench.rulebook import read_rules
from evalbench.scoring import score_run
from evalbench.settings import Settings, load_settings
from evalbench.standing import Latest, loader
from evalbench.storage import lake_of

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "include" / "samples"
SOURCES = ("49e5b728-f934-4e6b-9ced-70b5db228928", "inversion-fast-v2")
CANDIDATES = 10
LAST = date(2026, 11, 30)
NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
PLAN = "benchmark"

_Scored: TypeAlias = tuple[DirectoryState, IndexEntry]


def make_lake(lake: Path, runs: int, trials: int, dates: int, jobs: int = 2) -> Settings:
    """A lake of so many runs of so many trials each, evenly over the dates; the settings it was made with."""
    given = {"runs": str(SAMPLES / "runs"), "lake": str(lake), "routing": str(SAMPLES / "routing.yaml"), "clock": NOW}
    settings = load_settings({}, {**given, "grace_hours": 0})
    days = [LAST - timedelta(days=back) for back in range(dates)]
    per_day = [runs // dates + (position < runs % dates) for position in range(dates)]
    workers = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    with workers as pool:
        scored = [one for found in pool.map(partial(_score, settings, trials), days, per_day) for one in found]
        write_segment(lake_of(settings), [entry for _, entry in scored])
        list(pool.map(partial(_publish, settings), days))
    execution = Execution(plan_id=PLAN, now=NOW, settings=settings)
    publish_operations(lake_of(settings), execution, [state for state, _ in scored], (), read_rules(settings))
    return settings


def publish_again(settings: Settings, name: str) -> None:
    """One more run on the last date, as a night brings it."""
    run = _renamed(_sources(settings, 5)[0], name, LAST, 0)
    write_segment(lake_of(settings), [_stored(settings, run)[1]])
    _publish(settings, LAST)


def _sources(settings: Settings, trials: int) -> list[Run]:
    """The samples with so many trials each, as the pipeline reads them."""
    intake = Intake.of(settings)
    listed = [child for child in intake.runs.list_run_directories() if child.path in SOURCES]
    looked = [intake.look_at(child, None, frozenset()) for child in listed]
    states = [intake.score(child, None, lambda _: True) for child in looked]
    runs = [read_scored(intake.lake, state.facts).run for state in states if state.facts is not None]
    return [replace(run, trials=_grown(run.trials, trials)) for run in runs]


def _grown(trials: Sequence[Trial], wanted: int) -> tuple[Trial, ...]:
    """As many trials as wanted: the first ones, or each again under other numbers."""
    laps = (replace(trial, trial=trial.trial + 100 * lap) for lap in count() for trial in trials)
    return tuple(trial for trial, _ in zip(laps, range(wanted), strict=False))


def _score(settings: Settings, trials: int, day: date, runs: int) -> list[_Scored]:
    """Facts and verdicts of a date's runs."""
    sources = _sources(settings, trials)
    return [
        _stored(settings, _renamed(sources[number % 2], f"run-{day}-{number:04}", day, number % CANDIDATES))
        for number in range(runs)
    ]


def _renamed(run: Run, name: str, day: date, candidate: int) -> Run:
    key = sha256(name.encode()).hexdigest()
    return replace(
        run,
        run_id=name,
        path=name,
        run_key=key[:32],
        content=key,
        run_time=datetime.combine(day, time(3), tzinfo=UTC),
        candidate=f"{run.candidate} {candidate}",
        plan=replace(run.plan, tasks=()),
    )


def _stored(settings: Settings, run: Run) -> _Scored:
    """A run's facts and verdicts in the lake, and what the pipeline says of them."""
    lake = lake_of(settings)
    facts = write_facts(lake, run, Intake.of(settings).reading)
    write_verdicts(lake, facts, score_run(run))
    state = DirectoryState(
        path=run.path,
        run_key=run.run_key,
        disposition=Disposition.SCORED,
        format=run.format,
        content=run.content,
        facts=facts,
        run_id=run.run_id,
        run_time=run.run_time,
        state=run.state,
    )
    standing = Standing(facts=facts, content=run.content, run_id=run.run_id, run_time=run.run_time, state=run.state)
    entry = IndexEntry(
        run_key=run.run_key,
        path=run.path,
        seen=1,
        hint=None,
        reading="",
        disposition=state.disposition,
        plan_id=PLAN,
        format=run.format,
        content=run.content,
        run_id=run.run_id,
        run_time=run.run_time,
        standing=standing,
    )
    return state, entry


def _publish(settings: Settings, day: date) -> None:
    lake, rules = lake_of(settings), read_rules(settings)
    latest = Latest(lake, rules, NOW, loader(lake, store=False))
    publish_date(lake, day, latest, Execution(plan_id=PLAN, now=NOW, settings=settings))
