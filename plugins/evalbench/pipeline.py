"""The verbs: discover, score, summarize, decide, publish, enforce. Plain functions; `run` chains them.

Between verbs only the lake remembers: a plan, one result per run directory, facts, the report. So each verb may run in
a process of its own, and may be repeated.
"""

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import date
from multiprocessing import get_context

from evalbench.accounting import (
    TASK_LOST,
    Accounting,
    DirectoryState,
    Disposition,
    account,
    hold_back,
    settle,
)
from evalbench.errors import GateHeldError, PipelineError, UsageError
from evalbench.gate.wording import listed
from evalbench.intake import Intake
from evalbench.lake.index import Index, changed_dates, read_index, updated, write_index
from evalbench.lake.plans import (
    Plan,
    in_range,
    new_plan_id,
    plan_id_of,
    read_result,
    read_results,
    write_plan,
    write_result,
)
from evalbench.lake.reports import write_report
from evalbench.lake.verdicts import read_scored
from evalbench.publishing import publish_day, publish_operations
from evalbench.readers.registry import recognise
from evalbench.report import Document, is_provisional
from evalbench.rulebook import read_rules
from evalbench.settings import FailOnHold, Settings
from evalbench.sinks.parquet import Published
from evalbench.standing import Standing
from evalbench.storage import Storage
from evalbench.writing import write_summary

NAMED = 10
"""Lost directories an error names."""

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and how much there is."""


def discover(
    settings: Settings, *, since: date | None = None, until: date | None = None, plan_id: str | None = None
) -> Plan:
    """List the runs root, see what is new, changed or unchanged, and store the plan. since, until: inclusive dates.

    Raises UsageError for dates in the wrong order and for a root that is itself a run directory, PipelineError for one
    that isn't there, or holds no run although the lake knows some.
    """
    _check_range(since, until)
    intake = Intake.of(settings)
    entries = tuple(intake.look_at(listed) for listed in intake.runs.list_run_directories())
    _check_root(intake, entries)
    if read_index(intake.lake) and all(entry.disposition is Disposition.IGNORED for entry in entries):
        raise PipelineError(
            f"{intake.runs}: no run directory here, yet {intake.lake} knows runs;"
            " check the runs path, or take a new lake if the runs are gone on purpose"
        )
    name = plan_id_of(plan_id) if plan_id is not None else new_plan_id()
    plan = Plan(plan_id=name, since=since, until=until, entries=entries)
    plan = replace(plan, entries=tuple(_left_out(plan, entry) for entry in entries))
    write_plan(intake.lake, plan)
    return plan


def score(settings: Settings, plan: Plan, run_key: str) -> DirectoryState:
    """Read one planned run directory into facts and verdicts; what became of it, also stored for `decide`."""
    return _score(settings, plan.plan_id, plan.entry(run_key))


def summarize(settings: Settings, plan: Plan, run_key: str) -> str | None:
    """Write the summary of a scored run, unless it is written already; its state, None for a run without facts.

    Advisory: no decision reads it.
    """
    lake = Storage(settings.require_lake())
    result = read_result(lake, plan.plan_id, run_key)
    if result is None or result.facts is None:
        return None
    return write_summary(lake, read_scored(lake, result.facts), settings.summaries).state


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What was decided, and on which facts. before: the lake's index as published last. report: the JSON document."""

    plan: Plan
    states: tuple[DirectoryState, ...]
    accounting: Accounting
    before: Index
    standing: Standing
    report: Document


def decide(settings: Settings, plan: Plan, *, candidates: Iterable[str] = (), baseline: str | None = None) -> Gate:
    """Account for every listed entry, then decide every subject on every date in range.

    candidates: which subjects the report shows. baseline: instead of routing's. Raises AccountingError when the sum is
    wrong, UsageError for a candidate or a baseline nobody ran. Nothing is published.
    """
    lake = Storage(settings.require_lake())
    rules = read_rules(settings, baseline)
    before = read_index(lake)
    settled = settle(plan.entries, read_results(lake, plan))
    index, duplicates = updated(before, settled)
    states = hold_back(settled, duplicates)
    accounting = account(states, (entry.path for entry in plan.entries))
    standing = Standing.of(lake, index, rules, store=True)
    days = [day for day in standing.days if plan.covers(day)]
    report = standing.report(days, candidates, settings.now().date(), accounting, states)
    return Gate(plan=plan, states=states, accounting=accounting, before=before, standing=standing, report=report)


def publish(settings: Settings, gate: Gate) -> Published:
    """Replace the partitions of every date in range, and of dates whose facts, or whose window's facts, changed.

    Tables first, then the index, so that an interrupted publish is repeated; the report last. What is right already is
    not written.
    """
    lake = Storage(settings.require_lake())
    touched = {day for day in gate.standing.days if gate.plan.covers(day)}
    touched |= changed_dates(gate.before, gate.standing.index)
    published = Published()
    for day in sorted(touched | gate.standing.followers(touched)):
        published += publish_day(lake, gate.standing.on(day), gate.standing.rules.routing, settings.summaries)
    publish_operations(lake, settings.now().date(), gate.plan.plan_id, gate.states, gate.standing.rules.routing)
    write_index(lake, gate.standing.index)
    write_report(lake, gate.plan.plan_id, gate.report)
    return published


def enforce(settings: Settings, report: Document, *, backfill: bool = False, since: date | None = None) -> str:
    """Fail where the report holds a release; else what there was to hold, in a sentence.

    A day that is not over by the clock holds nothing yet. since: decisions about earlier days are told, not enforced: a
    release held last week must not keep tonight red. Raises PipelineError when run directories were lost on the way,
    GateHeldError naming each held subject and the check that decided, unless `fail_on_hold` says otherwise.
    """
    _raise_if_lost(report)
    today = settings.now().date()
    found = [(date.fromisoformat(str(entry["date"])), entry) for entry in _entries(report)]
    held = [(day, entry) for day, entry in found if entry["decision"] != "PASS"]
    here = [_held(entry) for day, entry in held if not is_provisional(day, today) and (since is None or day >= since)]
    off = settings.fail_on_hold is FailOnHold.NEVER or (settings.fail_on_hold is FailOnHold.AUTO and backfill)
    if here and not off:
        raise GateHeldError(f"{len(here)} held: {'; '.join(here)}")
    if not found:
        return "nothing was decided, so nothing is permitted"
    if not held:
        return f"no release is held: {len(found)} decisions, all PASS"
    if here:
        return f"{len(here)} held, not enforced (fail_on_hold={settings.fail_on_hold}): {'; '.join(here)}"
    return f"{len(held)} of {len(found)} decisions hold, all of them about earlier days or a day that is not over"


def _held(entry: Document) -> str:
    subject = f"{entry['product']}/{entry['suite']}/{entry['environment']} {entry['candidate']}"
    return f"{subject} on {entry['date']}: {entry['decision']} by {entry['decided_by']}"


def run(
    settings: Settings,
    *,
    since: date | None = None,
    until: date | None = None,
    candidates: Iterable[str] = (),
    baseline: str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Document:
    """The whole pipeline without Airflow; the report. `enforce` is the caller's: an exit code says the same.

    Raises PipelineError when a run directory was lost; everything else is published by then.
    """
    tell = progress or (lambda _step, _done, _total: None)
    read_rules(settings, baseline)
    plan = discover(settings, since=since, until=until)
    for done, state in enumerate(_score_all(settings, plan, jobs), start=1):
        summarize(settings, plan, state.run_key)
        tell("score", done, len(plan.to_score))
    gate = decide(settings, plan, candidates=candidates, baseline=baseline)
    publish(settings, gate)
    _raise_if_lost(gate.report)
    return gate.report


def decide_standing(
    settings: Settings,
    *,
    since: date | None = None,
    until: date | None = None,
    candidates: Iterable[str] = (),
    baseline: str | None = None,
) -> Document:
    """Decide over what the lake knows, from the index alone; no run directory is read, nothing is written.

    Raises UsageError when there is no such lake, for dates in the wrong order, and for a candidate or a baseline nobody
    ran.
    """
    _check_range(since, until)
    lake = Storage(settings.require_lake())
    if not lake.root.is_dir():
        raise UsageError(f"{lake}: no such lake; `evalbench run RUNS --lake {lake}` makes one")
    standing = Standing.of(lake, read_index(lake), read_rules(settings, baseline), store=False)
    days = [day for day in standing.days if in_range(day, since, until)]
    return standing.report(days, candidates, settings.now().date())


def _check_range(since: date | None, until: date | None) -> None:
    if since is not None and until is not None and since > until:
        raise UsageError(f"since {since} is after until {until}; give the earlier date first")


def _left_out(plan: Plan, entry: DirectoryState) -> DirectoryState:
    """The entry, out of range where it would be decided on a date that isn't asked for."""
    ends_here = entry.disposition not in (Disposition.PLANNED, Disposition.UNCHANGED)
    if ends_here or entry.run_date is None or plan.covers(entry.run_date):
        return entry
    return replace(entry, disposition=Disposition.OUT_OF_RANGE)


def _score(settings: Settings, plan_id: str, entry: DirectoryState) -> DirectoryState:
    intake = Intake.of(settings)
    state = intake.score(entry)
    write_result(intake.lake, plan_id, state)
    return state


def _score_all(settings: Settings, plan: Plan, jobs: int) -> Iterable[DirectoryState]:
    """Score what the plan says, in any order. A worker that dies loses its run; accounting will name it."""
    entries = plan.to_score
    if jobs <= 1 or len(entries) <= 1:
        yield from (_score(settings, plan.plan_id, entry) for entry in entries)
        return
    with ProcessPoolExecutor(min(jobs, len(entries)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_score, settings, plan.plan_id, entry) for entry in entries]
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                continue


def _check_root(intake: Intake, entries: Collection[DirectoryState]) -> None:
    """A root that is a run directory holds no other: what it holds are files a reader knows."""
    ignored = {entry.path for entry in entries if entry.disposition is Disposition.IGNORED}
    if len(ignored) == len(entries) and recognise(ignored) is not None:
        raise UsageError(f"{intake.runs} is a run directory; give the folder that holds it")


def _entries(report: Document) -> list[Document]:
    decisions = report["decisions"]
    return decisions if isinstance(decisions, list) else []


def _raise_if_lost(report: Document) -> None:
    accounting = report["accounting"]
    quarantined = accounting.get("quarantined", {}) if isinstance(accounting, dict) else {}
    if lost := quarantined.get(TASK_LOST, 0):
        raise PipelineError(
            f"{lost} planned run directories left no result ({TASK_LOST}): {_lost_paths(report)}; look at their logs"
        )


def _lost_paths(report: Document) -> str:
    states = report.get("not_scored")
    paths = [str(state["path"]) for state in states if state["reason"] == TASK_LOST] if isinstance(states, list) else []
    return listed(paths, most=NAMED)
