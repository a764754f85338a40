"""One run directory → one Run: the harness's ledger, the trial evidence records and the manifest put together."""

import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from evalbench.ledger import Defect, Plan, PlannedTask, PlanSource, Run, RunState, Trial
from evalbench.readers.defects import bounded
from evalbench.readers.evalbench import EvalbenchLedger, looks_like_evalbench, read_evalbench
from evalbench.readers.join import join_trials
from evalbench.readers.manifest import Manifest, read_manifest
from evalbench.readers.snapshot import NoRunState, NotARun, ReadOptions, Snapshot
from evalbench.readers.trial_records import RecordLedger, looks_like_records, read_trial_records

READER_VERSION = "2"
"""Raised whenever the same files would give other facts."""

UNKNOWN = "unknown"
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Run times in between are believed. Beyond, windows and the end of the day may leave the calendar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """What was read of one directory; None where the directory has no such files."""

    format: str
    harness: EvalbenchLedger | None
    records: RecordLedger | None
    manifest: Manifest

    @property
    def run_time(self) -> datetime | None:
        """run.yaml's, else the harness's, else the latest record's end. Never a file's time."""
        return self.configured_time or (self.records.ended if self.records else None)

    @property
    def configured_time(self) -> datetime | None:
        """The run time somebody configured: what a run's age is counted from."""
        return self.manifest.run_time or (self.harness.run_time if self.harness else None)

    @property
    def complete(self) -> bool:
        """Everything that is there says it is finished. A manifest alone is only an intention."""
        done = [self.harness.has_summary] if self.harness else []
        done += [self.records.complete] if self.records else []
        return bool(done) and all(done)

    @property
    def silent(self) -> bool:
        """Nothing that names a run or a trial could be read, run.yaml aside."""
        harness, records = self.harness, self.records
        named = harness is not None and (harness.job_id or harness.run_time or harness.trials or harness.unattached)
        return not named and (records is None or not records.trials)


def read_run(snapshot: Snapshot, options: ReadOptions, format_name: str = "evalbench") -> Run | NotARun:
    """The Run of a directory, or why there is none now.

    Unfinished directories are in progress until they are `options.grace` old (by the configured run time, else by
    their newest file), then abandoned: a Run whose missing trials count as missing. Without any readable and
    plausible run time a directory is quarantined (`no_run_time`), never dated by its files; `unreadable` when no
    record could be read, `manifest_invalid` when a broken run.yaml is all there is.
    """
    sources = _read(snapshot, options, format_name)
    run_id = _run_id(snapshot, sources)
    began = _began(sources, snapshot, options)
    if not sources.complete and options.now - began < options.grace:
        message = "The run is not finished and within its grace period; it is read again when its files change."
        return replace(_not_a_run(sources, "in_progress", "in_progress", message, run_id), began=began)
    trouble = _trouble(sources)
    if trouble is not None:
        reason, message = trouble
        return _not_a_run(sources, "quarantined", reason, message, run_id)
    return _run(snapshot, sources, run_id)


def _began(sources: _Sources, snapshot: Snapshot, options: ReadOptions) -> datetime:
    """From when a run's age counts. A configured time that is still to come would keep it in progress until then."""
    configured = sources.configured_time
    return configured if configured is not None and configured <= options.now else snapshot.newest_mtime


def _read(snapshot: Snapshot, options: ReadOptions, format_name: str) -> _Sources:
    return _Sources(
        format=format_name,
        harness=read_evalbench(snapshot, options) if looks_like_evalbench(snapshot.files) else None,
        records=read_trial_records(snapshot, options) if looks_like_records(snapshot.files) else None,
        manifest=read_manifest(snapshot, options) or Manifest(),
    )


def _trouble(sources: _Sources) -> tuple[str, str] | None:
    if sources.silent and not sources.manifest.readable:
        return (
            "manifest_invalid",
            f"{sources.manifest.defects[0].message} Nothing else in the directory tells of a run.",
        )
    if sources.silent and sources.records and sources.records.defects and sources.manifest.plan is None:
        return "unreadable", f"No record could be read: {sources.records.defects[0].message}"
    if sources.run_time is None:
        message = "No readable run time: give one as run_time in run.yaml; the times of files are not used."
        return "no_run_time", " ".join((message, *_run_time_defects(sources.manifest)))
    if not EARLIEST <= sources.run_time < LATEST:
        said = f"The run time {sources.run_time.isoformat()} is not between {EARLIEST.year} and {LATEST.year}"
        message = f"{said}: give the true one as run_time in run.yaml."
        return "no_run_time", message
    return None


def _run_time_defects(manifest: Manifest) -> list[str]:
    """Why run.yaml, which is there, gives no run time."""
    if not manifest.readable:
        return [defect.message for defect in manifest.defects[:1]]
    return [d.message for d in manifest.defects if d.ref is not None and d.ref.field == "run_time"][:1]


def _not_a_run(sources: _Sources, disposition: NoRunState, reason: str, message: str, run_id: str) -> NotARun:
    return NotARun(
        disposition=disposition,
        reason=reason,
        message=message,
        format=sources.format,
        run_id=run_id,
        run_time=sources.run_time,
    )


def _run(snapshot: Snapshot, sources: _Sources, run_id: str) -> Run:
    manifest, records = sources.manifest, sources.records or RecordLedger()
    harness = sources.harness or EvalbenchLedger()
    trials, contradictions = join_trials(harness.trials, records.trials)
    run_time = sources.run_time
    if run_time is None:
        raise ValueError("a run needs a run time; read_run quarantines the directory without one")
    return Run(
        run_id=run_id,
        run_key=snapshot.run_key,
        path=snapshot.path,
        format=sources.format,
        state=RunState.COMPLETE if sources.complete else RunState.ABANDONED,
        content=snapshot.content,
        reader_version=READER_VERSION,
        run_time=run_time,
        candidate=manifest.candidate or records.candidate or _candidate(harness),
        product=manifest.product or harness.product or UNKNOWN,
        environment=manifest.environment or records.environment or "offline",
        dataset=manifest.dataset or harness.dataset,
        dataset_named=manifest.dataset is not None,
        dataset_version=manifest.dataset_version,
        baseline=manifest.baseline,
        requester=manifest.requester or harness.requester,
        model=manifest.model or harness.model,
        generator=harness.generator,
        generator_class=harness.generator_class,
        agent_version=harness.agent_version,
        eval_group=harness.eval_group,
        workflow=manifest.workflow,
        labels=manifest.labels,
        scorers=dict(sorted(harness.scorers.items())),
        plan=manifest.plan or harness.planned or _observed(trials),
        summary=harness.summary,
        unattached=harness.unattached,
        defects=bounded(
            (*manifest.defects, *harness.defects, *records.defects, *contradictions, *_disagreements(sources))
        ),
        trials=trials,
    )


def _run_id(snapshot: Snapshot, sources: _Sources) -> str:
    return (
        sources.manifest.run_id
        or (sources.harness and sources.harness.job_id)
        or (sources.records and sources.records.run_id)
        or posixpath.basename(snapshot.path)
        or snapshot.run_key
    )


def _candidate(harness: EvalbenchLedger) -> str:
    return f"{harness.generator or UNKNOWN}/{harness.agent_version or UNKNOWN}"


def _observed(trials: tuple[Trial, ...]) -> Plan:
    counts = Counter(trial.task_id for trial in trials)
    return Plan(
        source=PlanSource.OBSERVED,
        tasks=tuple(PlannedTask(task_id=task, trials=number) for task, number in sorted(counts.items())),
    )


def _disagreements(sources: _Sources) -> Iterator[Defect]:
    """Where records and manifest, or records and harness, name the run differently. The first named is used."""
    manifest, records, harness = sources.manifest, sources.records, sources.harness
    if records is None:
        return
    job_id = harness.job_id if harness else None
    for field, first, second in (
        ("run_id", manifest.run_id or job_id, records.run_id),
        ("candidate", manifest.candidate, records.candidate),
        ("environment", manifest.environment, records.environment),
    ):
        if first and second and first != second:
            message = f"{field}: the records say {second!r}; {first!r} is used."
            yield Defect(code="records_contradict_run", message=message)
