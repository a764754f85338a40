"""The verbs: discover, score, summarize, decide, publish, enforce. Plain functions; `run` chains them.

Between verbs only the lake remembers: a plan, one result per run directory, facts, the report. So each verb may run in
a process of its own, and may be repeated.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from multiprocessing import get_context

from evalbench.accounting import (
    TASK_LOST,
    Accounting,
    Change,
    DirectoryState,
    Disposition,
    Written,
    account,
    hold_back,
    settle,
)
from evalbench.delivery import Delivery, deliver, warehouse_of
from evalbench.errors import GateHeldError, PipelineError, UsageError
from evalbench.gate.wording import listed
from evalbench.intake import Intake
from evalbench.lake.commits import read_commits
from evalbench.lake.index import Index, IndexEntry, compact, merged, read_index, updated, write_segment
from evalbench.lake.plans import (
    Plan,
    in_range,
    new_plan_id,
    plan_id_of,
    read_result,
    read_results,
    remember_days,
    write_plan,
    write_result,
)
from evalbench.lake.reports import write_report
from evalbench.lake.texts import owe, owed
from evalbench.lake.verdicts import read_scored
from evalbench.lake.written import read_written, write_written
from evalbench.publishing import Execution, publish_date, publish_operations, rules_hash, texts_hash, unpublished
from evalbench.readers.registry import recognise
from evalbench.readers.snapshot import run_key_of
from evalbench.report import Document, changes_document, is_provisional, plain, summaries_document
from evalbench.retention import Retention
from evalbench.rulebook import read_rules
from evalbench.settings import FailOnHold, Settings
from evalbench.sinks.parquet import Published
from evalbench.standing import Latest, Load, Standing, changed_days, loader
from evalbench.storage import Storage, lake_of
from evalbench.subjects import Rules
from evalbench.summaries.access import NOBODY, Login
from evalbench.writing import MODEL_MODES, Writer

NAMED = 10
"""Lost directories an error names."""
UNFINISHED_FOR = timedelta(days=1)
"""Age from which on a write that isn't finished never will be: its writer was killed."""

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and how much there is."""


def discover(
    settings: Settings,
    *,
    since: date | None = None,
    until: date | None = None,
    own: date | None = None,
    plan_id: str | None = None,
) -> Plan:
    """List the runs root, see what is new or changed by its listing alone, and store the plan.

    since, until: inclusive dates. With either, files of new directories are opened to date them, since no other dates
    may be touched. own: see `Plan`. Raises UsageError for dates in the wrong order and for a root that is itself a run
    directory, PipelineError for one that isn't there, or holds no run although the lake knows some.
    """
    _check_range(since, until)
    intake = Intake.of(settings)
    index, stored = read_index(intake.lake), frozenset(intake.lake.paths("facts"))
    children = intake.runs.list_run_directories()
    entries = tuple(intake.look_at(child, index.get(run_key_of(child.path)), stored) for child in children)
    _check_root(intake, entries)
    runs_known = any(not entry.forgotten for entry in index.values())
    if runs_known and all(entry.disposition is Disposition.IGNORED for entry in entries):
        raise PipelineError(
            f"{intake.runs}: no run directory here, yet {intake.lake} knows runs;"
            " check the runs path, or take a new lake if the runs are gone on purpose"
        )
    name = plan_id_of(plan_id) if plan_id is not None else new_plan_id()
    plan = Plan(plan_id=name, since=since, until=until, own=own, entries=entries, gone=_gone(index, entries))
    plan = replace(plan, entries=tuple(intake.runs.at_once(lambda entry: _left_out(intake, plan, entry), entries)))
    plan = replace(plan, owed=() if plan.ranged else _owed(intake.lake, plan))
    write_plan(intake.lake, plan)
    return plan


def score(settings: Settings, plan: Plan, run_key: str) -> DirectoryState:
    """Read one planned run directory into facts and verdicts; what became of it, also stored for `decide`."""
    return Scorer.of(settings, plan).score(run_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """Scores run directories of one plan.

    index: what was known when it began. asks: whether a model is to write the summaries, which are owed until it has.
    """

    plan: Plan
    intake: Intake
    index: Index
    asks: bool

    @classmethod
    def of(cls, settings: Settings, plan: Plan) -> "Scorer":
        """The scorer of a plan."""
        intake = Intake.of(settings)
        return cls(plan=plan, intake=intake, index=read_index(intake.lake), asks=settings.summaries in MODEL_MODES)

    def score(self, run_key: str) -> DirectoryState:
        """See `score`."""
        state = self.intake.score(self.plan.entry(run_key), self.index.get(run_key), self.plan.covers)
        if self.asks and state.disposition is Disposition.SCORED:
            owe(self.intake.lake, run_key)
        write_result(self.intake.lake, self.plan.plan_id, state)
        return state


def summarize(
    settings: Settings, plan: Plan, run_keys: Sequence[str], login: Login = NOBODY
) -> Iterator[tuple[str, Written | None]]:
    """Write the summaries of these scored runs, unless they are written already: (run key, what became of it).

    None for a run without facts. `summary_workers` at a time; advisory: no decision reads them. Raises UsageError when
    the writer that was asked for can't be had.
    """
    writer = Writer.of(settings, login)
    owed_before = {entry.run_key: entry for entry in plan.owed_entries}

    def one(run_key: str) -> tuple[str, Written | None]:
        result = owed_before.get(run_key) or read_result(writer.lake, plan.plan_id, run_key)
        if result is None or result.facts is None:
            return run_key, None
        written = writer.write(read_scored(writer.lake, result.facts))
        write_written(writer.lake, plan.plan_id, run_key, written)
        return run_key, written

    with ThreadPoolExecutor(settings.summary_workers) as pool:
        yield from pool.map(one, run_keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What was decided, and on which facts.

    states: what became of each listed entry. entries: what this execution adds to the index. days: the dates it
    decides. changed: those whose evidence it changes. candidates: which subjects its report shows, and must (strict).
    report: the JSON document.
    """

    plan: Plan
    states: tuple[DirectoryState, ...]
    accounting: Accounting
    entries: tuple[IndexEntry, ...]
    rules: Rules
    load: Load
    days: tuple[date, ...]
    changed: frozenset[date]
    candidates: tuple[str, ...]
    report: Document
    strict: bool


def decide(
    settings: Settings,
    plan: Plan,
    *,
    candidates: Iterable[str] = (),
    baseline: str | None = None,
    everything: bool = False,
) -> Gate:
    """Account for every listed entry, then decide every subject on this execution's dates.

    Those are: in a range every date of it, and every other one whose evidence this execution changes; in a sweep every
    date that isn't published as it should be, and every one from the plan's own on; with `everything` every date in
    range. candidates: which subjects the report shows. baseline: instead of routing's. Raises AccountingError when the
    sum is wrong, UsageError for a candidate or a baseline nobody ran. Nothing is published.
    """
    intake, rules = Intake.of(settings), read_rules(settings, baseline)
    lake, index = intake.lake, read_index(intake.lake)
    results = settle(plan.entries, read_results(lake, plan))
    settled = tuple(intake.identified(state, index.get(state.run_key)) for state in results)
    entries = updated(index, (*settled, *plan.gone), intake.reading, plan)
    load = loader(lake, store=True)
    before = Standing.of(index, rules, settings.now(), load)
    standing = Standing.of(merged((*index.values(), *entries)), rules, settings.now(), load)
    states = _dated_late(hold_back(settled, standing.duplicates), before)
    accounting = account(states, (entry.path for entry in plan.entries))
    in_scope = {day for day in standing.days if plan.covers(day)}
    if not everything:
        in_scope = _days(lake, plan, before, standing)
    days = tuple(sorted(in_scope)) if plan.ranged else remember_days(lake, plan.plan_id, in_scope)
    names, strict = tuple(candidates), everything or plan.ranged or bool(days)
    return Gate(
        plan=plan,
        states=states,
        accounting=accounting,
        entries=tuple(entries),
        rules=rules,
        load=load,
        days=days,
        changed=changed_days(before, standing),
        candidates=names,
        report=standing.report(days, names, accounting, states, strict=strict),
        strict=strict,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What was published. dates: those of which partitions were written or removed. partitions, logged: by path.

    delivery: what BigQuery was told of it, None where no dataset follows the lake. report: the decisions of this
    execution as they were published.
    """

    dates: tuple[date, ...]
    partitions: Published
    logged: Published
    delivery: Delivery | None
    report: Document


def publish(settings: Settings, gate: Gate) -> Publication:
    """Add to the index, then make the partitions of every date what they should be, then BigQuery; the report last.

    In a range, dates out of it are touched only where their evidence changed. Every step may be interrupted, and any
    number of publishers may be at work: the next one repeats what isn't right, and writes nothing that is.
    """
    lake, plan = lake_of(settings), gate.plan
    execution = Execution(plan_id=plan.plan_id, now=settings.now(), settings=settings)
    write_segment(lake, gate.entries)
    latest = Latest(lake, gate.rules, execution.now, gate.load)
    others = _others(lake, gate, latest(), settings)
    partitions, logged, dates = Published(), Published(), []
    for day in (*gate.days, *sorted(others - frozenset(gate.days))):
        replaced, added = publish_date(lake, day, latest, execution)
        partitions, logged = partitions + replaced, logged + added
        if replaced.written or replaced.removed:
            dates.append(day)
    report = latest().report(gate.days, gate.candidates, gate.accounting, gate.states, strict=gate.strict)
    summaries = read_written(lake, plan.plan_id, (*(entry.run_key for entry in plan.to_score), *plan.owed))
    report["summaries"] = summaries_document(summaries, settings.summaries.value)
    report["changes"] = changes_document((*gate.states, *plan.gone))
    publish_operations(lake, execution, gate.states, plan.gone, gate.rules)
    compact(lake)
    lake.remove_unfinished(UNFINISHED_FOR)
    Retention.of(settings).clean(lake)
    warehouse = warehouse_of(settings)
    delivery = deliver(lake, warehouse, news=bool(gate.entries)) if warehouse is not None else None
    if delivery is not None:
        report["bigquery"] = plain({"dataset": settings.bigquery_dataset, **asdict(delivery)})
    write_report(lake, plan.plan_id, report)
    return Publication(
        dates=tuple(sorted(dates)), partitions=partitions, logged=logged, delivery=delivery, report=report
    )


def enforce(settings: Settings, report: Document, *, backfill: bool = False) -> str:
    """Fail where the report holds a release; else what there was to hold, in a sentence.

    A day that is not over by the clock holds nothing yet. Raises PipelineError when run directories were lost on the
    way, GateHeldError naming each held subject and the check that decided, unless `fail_on_hold` says otherwise.
    """
    _raise_if_lost(report)
    today = settings.now().date()
    found = _entries(report)
    held = [entry for entry in found if entry["decision"] != "PASS"]
    here = [_held(entry) for entry in held if not is_provisional(date.fromisoformat(str(entry["date"])), today)]
    off = settings.fail_on_hold is FailOnHold.NEVER or (settings.fail_on_hold is FailOnHold.AUTO and backfill)
    if here and not off:
        raise GateHeldError(f"{len(here)} held: {'; '.join(here)}")
    if not found:
        return "nothing was decided, so nothing is permitted that wasn't before"
    if not held:
        return f"no release is held: {len(found)} decisions, all PASS"
    if here:
        return f"{len(here)} held, not enforced (fail_on_hold={settings.fail_on_hold}): {'; '.join(here)}"
    return f"{len(held)} of {len(found)} decisions hold, all of them about a day that is not over"


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
    login: Login = NOBODY,
    progress: Progress | None = None,
) -> Document:
    """The whole pipeline without Airflow; the report. `enforce` is the caller's: an exit code says the same.

    Raises PipelineError when a run directory was lost; everything else is published by then.
    """
    tell = progress or (lambda _step, _done, _total: None)
    read_rules(settings, baseline)
    Writer.of(settings, login)
    if (warehouse := warehouse_of(settings)) is not None:
        warehouse.reach()
    plan = discover(settings, since=since, until=until)
    for done, _ in enumerate(_score_all(settings, plan, jobs), start=1):
        tell("score", done, len(plan.to_score))
    keys = [*(entry.run_key for entry in plan.to_score), *plan.owed]
    for done, _ in enumerate(summarize(settings, plan, keys, login), start=1):
        tell("summarize", done, len(keys))
    published = publish(settings, decide(settings, plan, candidates=candidates, baseline=baseline, everything=True))
    _raise_if_lost(published.report)
    return published.report


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
    lake = lake_of(settings)
    if not lake.is_there():
        raise UsageError(f"{lake}: no such lake; `evalbench run RUNS --lake {lake}` makes one")
    rules = read_rules(settings, baseline)
    standing = Latest(lake, rules, settings.now(), loader(lake, store=False))()
    return standing.report([day for day in standing.days if in_range(day, since, until)], candidates)


def _check_range(since: date | None, until: date | None) -> None:
    if since is not None and until is not None and since > until:
        raise UsageError(f"since {since} is after until {until}; give the earlier date first")


def _left_out(intake: Intake, plan: Plan, entry: DirectoryState) -> DirectoryState:
    """The entry, out of range where it would be decided on a date that isn't asked for."""
    if not plan.ranged or entry.disposition not in (Disposition.PLANNED, Disposition.UNCHANGED):
        return entry
    dated = entry if entry.disposition is Disposition.UNCHANGED else intake.dated(entry)
    if dated.run_date is None or plan.covers(dated.run_date):
        return dated
    return replace(dated, disposition=Disposition.OUT_OF_RANGE)


def _gone(index: Index, entries: Iterable[DirectoryState]) -> tuple[DirectoryState, ...]:
    """Known directories that are listed no more, told once."""
    here = {entry.run_key for entry in entries}
    missing = (
        entry
        for entry in index.values()
        if entry.run_key not in here and not entry.forgotten and entry.disposition is not Disposition.DELETED
    )
    return tuple(
        DirectoryState(
            path=entry.path or "",
            run_key=entry.run_key,
            disposition=Disposition.DELETED,
            reason=entry.reason if entry.identity is not None else None,
            message="The directory is gone; what was known of it stays.",
            format=entry.format,
            content=entry.content,
            facts=entry.standing.facts if entry.standing is not None else None,
            run_id=entry.run_id,
            run_time=entry.run_time,
            identity=entry.identity,
            seen=entry.seen,
        )
        for entry in missing
    )


def _dated_late(states: Collection[DirectoryState], before: Standing) -> tuple[DirectoryState, ...]:
    """A new directory on a date that had runs already is late.

    Those that are news of this execution don't count: a first attempt may have added them to the index.
    """
    news = {state.run_key for state in states if state.change is Change.NEW}
    old = {day for day, entries in before.by_day.items() if any(entry.run_key not in news for entry in entries)}
    return tuple(
        replace(state, change=Change.LATE) if state.run_key in news and state.run_date in old else state
        for state in states
    )


def _days(lake: Storage, plan: Plan, before: Standing, after: Standing) -> set[date]:
    """The dates an execution decides."""
    if plan.ranged:
        return {day for day in after.days if plan.covers(day)} | changed_days(before, after)
    found = unpublished(after, read_commits(lake), lake.sizes("trends"), rules_hash(after.rules), None)
    return {*found, *(day for day in after.days if plan.own is not None and day >= plan.own)}


def _others(lake: Storage, gate: Gate, standing: Standing, settings: Settings) -> frozenset[date]:
    """Dates that this execution doesn't decide, and whose partitions are not what they should be.

    A range leaves them as they are, but for evidence they lack; where it was given a policy or a baseline, which are
    not theirs, only for evidence that it changed itself.
    """
    plan = gate.plan
    if plan.ranged and gate.rules.given:
        return gate.changed
    rules, texts = (None, None) if plan.ranged else (rules_hash(gate.rules), texts_hash(settings))
    owed_days = {entry.run_date for entry in plan.owed_entries if entry.run_date is not None}
    return unpublished(standing, read_commits(lake), lake.sizes("trends"), rules, texts) | owed_days


def _owed(lake: Storage, plan: Plan) -> tuple[str, ...]:
    """Unchanged runs whose summary couldn't be had so far, or was never asked for."""
    waiting = owed(lake)
    return tuple(
        entry.run_key
        for entry in plan.entries
        if entry.run_key in waiting and entry.disposition is Disposition.UNCHANGED and entry.facts is not None
    )


def _score_all(settings: Settings, plan: Plan, jobs: int) -> Iterable[DirectoryState]:
    """Score what the plan says, in any order. A worker that dies loses its run; accounting will name it."""
    entries = plan.to_score
    if jobs <= 1 or len(entries) <= 1:
        scorer = Scorer.of(settings, plan)
        yield from (scorer.score(entry.run_key) for entry in entries)
        return
    with ProcessPoolExecutor(min(jobs, len(entries)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(score, settings, plan, entry.run_key) for entry in entries]
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
