"""`evalbench report`: decisions as one file, for a release ticket (HTML) or a comment on a pull request (Markdown)."""

import os
from collections.abc import Mapping
from pathlib import Path

from evalbench.cli.inputs import one_of, settings_from
from evalbench.cli.terminal import emit, say
from evalbench.cli.words import clean
from evalbench.errors import UsageError
from evalbench.storage import lake_of
from evalbench.web.note import as_markdown
from evalbench.web.report import Report, Scope, report
from evalbench.web.report_page import as_html
from evalbench.web.store import Store
from evalbench.words import plural

FORMATS = ("html", "md")
STDOUT = "-"


def report_verb(overrides: Mapping[str, object], scope: Scope, output: str, form: str | None) -> int:
    """Write the report of a lake to a file or stdout. Raises UsageError.

    form: None = Markdown for a file that ends in .md, else HTML.
    """
    chosen = one_of(form or ("md" if output.endswith(".md") else "html"), "--format", FORMATS)
    target = None if output == STDOUT else _target(output)
    settings = settings_from(overrides)
    store = Store(lake_of(settings), settings.now)
    try:
        made = report(store.view(), scope)
    finally:
        store.close()
    text = as_markdown(made) if chosen == "md" else as_html(made)
    if target is None:
        emit(text)
    else:
        _write(target, text.encode())
        for line in (*made.caveats, f"{clean(output)}: {_said(made)}"):
            say(f"evalbench: {line}")
    return 0


def _said(made: Report) -> str:
    words = [f"{one.count} {one.verdict}{one.aside}" for one in made.tallies if one.count]
    return f"{plural(len(made.pages), 'decision')}{': ' if words else ''}{', '.join(words)}"


def _target(output: str) -> Path:
    """Where to write: through a link the file behind it; a device or pipe as it is called."""
    path = Path(output)
    if "://" in output or path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--output {output}: expected a file in a local folder that is there, or - for stdout")
    return path if _is_device(path) else path.resolve()


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _write(path: Path, data: bytes) -> None:
    """The whole file or none; a device or pipe is written to, not replaced."""
    if _is_device(path):
        path.write_bytes(data)
        return
    unfinished = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
