"""`evalbench forget`: purge a run from everything derived from it."""

import sys
from collections.abc import Mapping
from dataclasses import asdict

import typer

from evalbench.cli.inputs import settings_from
from evalbench.cli.terminal import emit, emit_json
from evalbench.cli.words import clean
from evalbench.errors import UsageError
from evalbench.forgetting import forget
from evalbench.report import plain


def forget_verb(run_id: str, overrides: Mapping[str, object], *, yes: bool, as_json: bool) -> int:
    """Purge one run, after asking. Raises UsageError where nobody can be asked, and for a run nobody knows."""
    settings = settings_from(overrides)
    lake = settings.require_lake()
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("forgetting can't be undone and nobody is here to ask; pass --yes")
        typer.confirm(
            f"Purge {clean(run_id)} from everything in {clean(lake)}? This can't be undone", abort=True, err=True
        )
    done = forget(settings, run_id)
    if as_json:
        emit_json({key: plain(value) for key, value in asdict(done).items()})
        return 0
    dates = ", ".join(day.isoformat() for day in done.dates) or "none"
    emit(
        f"{clean(run_id)} is forgotten: {done.directories} run directories, {done.removed} files removed,"
        f" {done.rewritten} rewritten, dates published again: {dates}\n"
        "Delete its directory under the runs root, too: until then it isn't read, unless it is renamed.\n"
    )
    return 0
