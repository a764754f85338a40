"""`evalbench score` and `evalbench doctor`: one run directory, nothing written."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from evalbench.cli.inputs import settings_from
from evalbench.cli.render_run import doctor_page, score_page
from evalbench.cli.terminal import emit_json, emit_page
from evalbench.doctor import defect_document, diagnose, document
from evalbench.errors import UsageError
from evalbench.intake import locate, read_options, take_snapshot
from evalbench.ledger import ScoredRun
from evalbench.readers.registry import read_directory
from evalbench.readers.snapshot import NotARun, Snapshot
from evalbench.report import run_document
from evalbench.rulebook import read_rules
from evalbench.scoring import score_run
from evalbench.settings import Settings


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
    defects = [defect_document(defect) for defect in read.run.defects]
    answer: dict[str, object] = {**run_document(read, suite, thresholds), "defect_list": defects}
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


def _read(directory: str, settings: Settings) -> tuple[Snapshot, ScoredRun | NotARun]:
    """The directory's bytes and what they say now: no grace, an unfinished run is read as far as it got."""
    storage, name = locate(directory)
    snapshot = take_snapshot(storage, name, settings.max_run_bytes)
    if isinstance(snapshot, NotARun):
        raise UsageError(f"{directory}: {snapshot.reason}: {snapshot.message}")
    read = read_directory(snapshot, replace(read_options(settings), grace=timedelta(0)))
    return snapshot, read if isinstance(read, NotARun) else score_run(read)
