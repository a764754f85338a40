"""`evalbench score` and `evalbench doctor`: one run directory, nothing written."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from evalbench.cli.inputs import settings_from
from evalbench.cli.render_run import doctor_page, score_page
from evalbench.cli.terminal import emit_json, emit_page
from evalbench.doctor import defect_document, diagnose, document
from evalbench.errors import UsageError
from evalbench.intake import locate, read_options, take
from evalbench.ledger import ScoredRun
from evalbench.readers.registry import read_directory, recognise
from evalbench.readers.snapshot import NotARun, Snapshot
from evalbench.report import run_document
from evalbench.rulebook import read_rules
from evalbench.scoring import score_run
from evalbench.settings import Settings
from evalbench.storage import open_storage
from evalbench.words import listed

SHOWN_RUNS = 3


def score_verb(directory: str, overrides: Mapping[str, object], *, as_json: bool) -> int:
    """Score one run and print it. Raises UsageError where there is no run to score."""
    settings = settings_from(overrides)
    _, read = _read(directory, settings)
    if isinstance(read, NotARun):
        raise UsageError(
            f"{directory}: {read.disposition} ({read.reason}): {read.message.rstrip('.')}; see `evalbench doctor`"
        )
    rules = read_rules(settings)
    suite = rules.routing.suite_of(read.run)
    thresholds = rules.policy(read.run.product, suite).pass_thresholds
    answer: dict[str, object] = {
        **run_document(read, suite, thresholds),
        "defect_list": [defect_document(defect) for defect in read.run.defects],
        "rows_without_verdict": sum(1 for v in read.verdicts if v.source == "harness" and v.value is None),
    }
    if as_json:
        emit_json(answer)
    else:
        emit_page(*score_page(answer))
    return 0


def doctor_verb(directory: str, overrides: Mapping[str, object], *, as_json: bool) -> int:
    """Diagnose one directory and print it. Raises UsageError where it can't be read at all."""
    snapshot, read = _read(directory, settings_from(overrides))
    answer = document(diagnose(snapshot, read))
    if as_json:
        emit_json(answer)
    else:
        emit_page(*doctor_page(answer))
    return 0


def _runs_in(directory: str, settings: Settings) -> list[str]:
    """Children that look like run directories."""
    children = open_storage(directory, settings).list_run_directories()
    return [child.path for child in children if child.ignored is None and recognise(child.files) is not None]


def _read(directory: str, settings: Settings) -> tuple[Snapshot, ScoredRun | NotARun]:
    """The directory's bytes and what they say now: no grace, an unfinished run is read as far as it got."""
    storage, name = locate(directory, settings)
    taken = take(storage, name, settings.max_run_bytes)
    if isinstance(taken, NotARun):
        raise UsageError(f"{directory}: {taken.reason}: {taken.message}")
    snapshot = taken.snapshot
    read = read_directory(snapshot, replace(read_options(settings), grace=timedelta(0)))
    if isinstance(read, NotARun) and read.disposition == "ignored" and (runs := _runs_in(directory, settings)):
        one = f"{directory} is a folder of runs ({listed(runs, SHOWN_RUNS)}); give one of them"
        raise UsageError(f"{one}, or all of them to `evalbench run`")
    return snapshot, read if isinstance(read, NotARun) else score_run(read)
