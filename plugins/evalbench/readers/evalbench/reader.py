"""One EvalBench result directory → EvalbenchLedger. Never raises for what a file holds."""

from collections.abc import Collection, Iterable
from datetime import datetime

from evalbench.ledger import EvidenceRef
from evalbench.readers.csv_table import Table, read_table
from evalbench.readers.evalbench import evals_agent, evals_nl2sql
from evalbench.readers.evalbench.configs import RunConfig, read_configs
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.joining import join
from evalbench.readers.evalbench.model import EvalbenchLedger, EvalRow, ScoreRow
from evalbench.readers.evalbench.planned import read_plan
from evalbench.readers.evalbench.scorer_types import ScorerTypes, scorer_types
from evalbench.readers.evalbench.scores import read_scores
from evalbench.readers.evalbench.summary import is_complete, read_summary
from evalbench.readers.moments import to_utc
from evalbench.readers.snapshot import ReadOptions, Snapshot

CONFIGS, EVALS, SCORES, LEGACY_SCORES, SUMMARY = "configs.csv", "evals.csv", "scores.csv", "results.csv", "summary.csv"
_MARKS = frozenset({CONFIGS, EVALS, SCORES, LEGACY_SCORES, SUMMARY, "setup_execution.log", "teardown_execution.log"})
_REQUIRED = {
    CONFIGS: ("config", "value"),
    SCORES: ("comparator", "id", "score"),
    LEGACY_SCORES: ("comparator", "id", "score"),
    SUMMARY: ("metric_name",),
}


def looks_like_evalbench(names: Collection[str]) -> bool:
    """Whether a directory's listing holds any file that only the harness's runs have, the log of a crashed one too."""
    return not _MARKS.isdisjoint(names)


def read_evalbench(snapshot: Snapshot, options: ReadOptions) -> EvalbenchLedger:
    """Everything the directory says. What can't be understood is None with a reason, and a located defect."""
    log = DefectLog()
    tables = {name: _table(snapshot, name, log) for name in (CONFIGS, EVALS, SUMMARY)}
    scores_table = _scores_table(snapshot, log)
    config = read_configs(tables[CONFIGS], log)
    settings: dict[str, object] = {**config.scorers, **evals_agent.configured_scorers(tables[EVALS])}
    types = scorer_types(settings)
    scores = read_scores(scores_table, config, types, log)
    evals, sql = _evals(tables[EVALS], scores, config, options, log)
    joined = join(evals, scores, evals_nl2sql.split_trial_id if sql else _whole_id, log)
    dated = (tables[CONFIGS], tables[SUMMARY], tables[EVALS])
    return EvalbenchLedger(
        job_id=_job_id((*dated, scores_table), log),
        run_time=_run_time(dated, options.timezone, log),
        product=config.product,
        requester=config.requester,
        dataset=config.dataset,
        generator=config.generator,
        generator_class=config.generator_class,
        agent_version=config.agent_version,
        model=config.model or _only_model(evals),
        eval_group=config.eval_group,
        scorers=_redacted(types, config),
        trials=joined.trials,
        unattached=joined.unattached,
        summary=read_summary(tables[SUMMARY], config.redactor),
        has_summary=is_complete(tables[SUMMARY]),
        planned=read_plan(snapshot.files, config, log),
        defects=log.finish(),
    )


def _table(snapshot: Snapshot, name: str, log: DefectLog) -> Table:
    """The file's records; an absent file is an empty table."""
    if name not in snapshot.files:
        return Table(file=name)
    table = read_table(name, snapshot.files[name])
    log.extend(table.defects)
    for column in _REQUIRED.get(name, ()):
        if table.columns and not table.has(column):
            log.add("missing_column", f"has no column {column!r}; what it holds is unavailable", EvidenceRef(file=name))
    return table


def _scores_table(snapshot: Snapshot, log: DefectLog) -> Table:
    if SCORES not in snapshot.files:
        return _table(snapshot, LEGACY_SCORES, log)
    if LEGACY_SCORES in snapshot.files:
        said = f"is the old name of {SCORES}, which is there too; it is not read"
        log.add("legacy_scores_ignored", said, EvidenceRef(file=LEGACY_SCORES))
    return _table(snapshot, SCORES, log)


def _evals(
    table: Table, scores: list[ScoreRow], config: RunConfig, options: ReadOptions, log: DefectLog
) -> tuple[list[EvalRow], bool]:
    """(rows of evals.csv, whether this is an NL2SQL run)."""
    if table.has(evals_agent.ID):
        return evals_agent.read_agent_rows(table, config, options, log), False
    if table.has(evals_nl2sql.ID):
        return evals_nl2sql.read_sql_rows(table, config, log), True
    if table.columns:
        said = "has neither column 'eval_id' nor 'id': no trial was recorded"
        log.add("missing_column", said, EvidenceRef(file=EVALS))
    named = [score.raw_id for score in scores if score.raw_id]
    return [], bool(named) and all(evals_nl2sql.split_trial_id(raw_id)[0] != raw_id for raw_id in named)


def _whole_id(raw_id: str) -> tuple[str, int]:
    return raw_id, 0


def _job_id(tables: Iterable[Table], log: DefectLog) -> str | None:
    """The job's id from the first file that states one; others that differ are reported."""
    stated: list[tuple[str, EvidenceRef]] = []
    for table in tables:
        found = {row.text("job_id"): table.ref(row, "job_id") for row in reversed(table.rows) if row.text("job_id")}
        stated += sorted(found.items(), key=lambda item: item[0])
    for job_id, ref in stated:
        if job_id != stated[0][0]:
            log.add("conflicting_job_id", f"job_id {job_id!r} where others say {stated[0][0]!r}", ref)
    return stated[0][0] if stated else None


def _run_time(tables: Iterable[Table], timezone: str, log: DefectLog) -> datetime | None:
    """The first readable run_time, file by file."""
    for table in tables:
        for text in sorted({row.text("run_time") for row in table.rows} - {""}):
            if moment := to_utc(text, timezone):
                return moment
            ref = EvidenceRef(file=table.file, field="run_time")
            log.add("run_time_unreadable", f"run_time {text[:40]!r} is not a time", ref)
    return None


def _only_model(evals: Iterable[EvalRow]) -> str | None:
    """The model the statistics name, when they all name the same."""
    models = {model for row in evals for model in row.models}
    return models.pop() if len(models) == 1 else None


def _redacted(types: ScorerTypes, config: RunConfig) -> dict[str, str | None]:
    return {config.redactor.text(name): kind for name, kind in sorted(types.configured.items())}
