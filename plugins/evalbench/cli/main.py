"""Entry point: whatever happens becomes an exit code and one line on stderr, never a traceback.

0 all PASS, or a question answered · 1 the pipeline itself failed · 2 usage · 3 any FAIL · 4 no FAIL, but some
INSUFFICIENT_EVIDENCE, or runs in range of which none could be decided · 130 interrupted.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

import typer
from typer.exceptions import TyperException

from evalbench.cli.app import app
from evalbench.cli.terminal import emit_json, say
from evalbench.cli.words import clean
from evalbench.errors import EvalbenchError, UsageError

PIPELINE_FAILED, USAGE, INTERRUPTED = 1, 2, 130
DEBUG = "EVALBENCH_DEBUG"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code. `arguments` default to the process's own."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given or ["--help"], prog_name="evalbench", standalone_mode=False)
    except TyperException as error:
        return _failed(given, "usage", error.format_message(), USAGE, hint="`evalbench --help` lists verbs and options")
    except UsageError as error:
        return _failed(given, "usage", str(error), USAGE)
    except EvalbenchError as error:
        return _failed(given, "pipeline", str(error), PIPELINE_FAILED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        hint = "check path, rights and space"
        return _failed(given, "pipeline", f"{where}{error.strerror or error}", PIPELINE_FAILED, hint=hint)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a bug is a line too, its traceback on demand
        return _unexpected(given, error)
    if code == INTERRUPTED:
        say("evalbench: interrupted; what is written is whole, and the same command goes on from there")
    return int(code or 0)


def _failed(given: Sequence[str], kind: str, message: str, code: int, hint: str | None = None) -> int:
    line = clean(message.strip())
    say(f"evalbench: {line}" + (f" ({hint})" if hint else ""))
    if _wants_json(given):
        emit_json({"error": {"kind": kind, "message": line, "exit_code": code}})
    return code


def _unexpected(given: Sequence[str], error: Exception) -> int:
    if os.environ.get(DEBUG):  # noqa: TID251 - asked before there are settings
        traceback.print_exception(error)
    hint = f"a bug in evalbench; {DEBUG}=1 shows the traceback"
    return _failed(given, "unexpected", f"{type(error).__name__}: {error}", PIPELINE_FAILED, hint=hint)


def _wants_json(given: Sequence[str]) -> bool:
    """Whether stdout was asked to be one JSON document: an error is one then, too."""
    return "--json" in given or "--format=json" in given or ("--format", "json") in pairwise(given)
