"""The two streams. What a verb answers goes to stdout, once and whole; everything said on the way goes to stderr."""

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from evalbench.cli.words import clean
from evalbench.errors import PipelineError

UNBOUNDED = 1_000_000
NOT_PRINTABLE = re.compile("[^\\n -~]+")


def emit(text: str) -> None:
    """Write an answer to stdout. A reader that went away (`| head`) is no failure of the verb.

    Raises PipelineError when stdout can't take it (a full disk).
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go(sys.stdout)
    except OSError as error:
        _let_go(sys.stdout)
        raise PipelineError(f"stdout can't be written ({error.strerror}); the verb itself had finished") from error


def emit_json(document: object) -> None:
    """Write one JSON document, in ASCII so that no locale and no terminal can spoil it."""
    emit(json.dumps(document, indent=2, allow_nan=False) + "\n")


def ascii_json(text: str) -> str:
    """JSON text with everything but printable ASCII and line ends escaped."""
    return NOT_PRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def emit_data(text: str) -> None:
    """Write data byte for byte; on a terminal, lines without control characters."""
    emit("".join(f"{clean(line)}\n" for line in text.splitlines()) if sys.stdout.isatty() else text)


def emit_page(*parts: RenderableType) -> None:
    """Write for people: styled on a terminal, plain elsewhere. Tables never fold where stdout is no terminal."""
    console = _console()
    narrow = console.width
    with console.capture() as captured:
        for part in parts:
            console.width = _width(console, part, narrow)
            whole = isinstance(part, Text) and bool(part.no_wrap)
            console.print(part, no_wrap=whole or None, overflow="ignore" if whole else None, crop=False)
    emit("".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1]))


def fits(part: RenderableType) -> bool:
    """Whether nothing has to fold; always, where stdout is no terminal."""
    console = _console()
    return not sys.stdout.isatty() or _natural_width(console, part) <= console.width


def say(line: str) -> None:
    """One line to stderr."""
    try:
        sys.stderr.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")
        sys.stderr.flush()
    except OSError:
        _let_go(sys.stderr)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr while a verb works, if that is a terminal; call it with step, done and total."""
    console = Console(stderr=True)
    shape = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*shape, console=console, disable=not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=total)
            progress.update(tasks[step], completed=done)

        yield tell


def _console() -> Console:
    """Markup and emoji codes are off: text from runs is text. Without any terminal the width is COLUMNS, else 80."""
    is_terminal = sys.stdout.isatty()
    return Console(file=io.StringIO(), force_terminal=is_terminal, markup=False, emoji=False, highlight=False)


def _width(console: Console, part: RenderableType, narrow: int) -> int:
    """The usual width, and more for a table with a header that would fold where nobody looks."""
    inner = part.renderable if isinstance(part, Padding) else part
    if sys.stdout.isatty() or not (isinstance(inner, Table) and inner.show_header):
        return narrow
    return max(narrow, _natural_width(console, part))


def _natural_width(console: Console, part: RenderableType) -> int:
    return console.measure(part, options=console.options.update(max_width=UNBOUNDED)).maximum


def _let_go(stream: TextIO) -> None:
    """The interpreter flushes the stream once more when it ends: give it somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
