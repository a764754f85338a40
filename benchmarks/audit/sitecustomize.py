"""Python imports this when it starts with this folder on PYTHONPATH: every process of a measured command, workers too.

Each file below AUDIT_ROOT that the process opens through Python becomes a line in AUDIT_LOG: its path. Folders opened
to be listed don't count.
"""

import os
import sys

ROOT = os.path.join(os.environ["AUDIT_ROOT"], "")  # noqa: PTH118 - keeps the closing separator
LOG = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def note(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: see https://docs.python.org/3/library/audit_events.html, event `open`."""
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    flags = arguments[2]
    if isinstance(flags, int) and flags & os.O_DIRECTORY:
        return
    path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 - cheap: a hook runs at every open
    if path.startswith(ROOT):
        os.write(LOG, f"{path}\n".encode())


sys.addaudithook(note)
