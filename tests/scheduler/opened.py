"""Which files below a folder any process opens: the kernel's own word, through inotify. Linux only."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IN_OPEN = 0x20
IN_ISDIR = 0x40000000
EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name behind it


@contextmanager
def opened_files(root: Path) -> Iterator[list[str]]:
    """Watch the files in the folders right below `root`; on leaving, the list holds each opening as `folder/file`."""
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.inotify_init1(os.O_NONBLOCK)
    assert queue >= 0, os.strerror(ctypes.get_errno())
    watched = {libc.inotify_add_watch(queue, os.fsencode(one), IN_OPEN): one.name for one in sorted(root.iterdir())}
    assert min(watched, default=0) >= 0, os.strerror(ctypes.get_errno())
    found: list[str] = []
    try:
        yield found
        found.extend(f"{watched[watch]}/{name}" for watch, name in _events(queue))
    finally:
        os.close(queue)


def _events(queue: int) -> Iterator[tuple[int, str]]:
    """(watch, file name) of each opening since the last look; listings of the folder itself are none."""
    while True:
        try:
            data = os.read(queue, 1 << 20)
        except BlockingIOError:
            return
        while data:
            watch, mask, _, length = EVENT.unpack_from(data)
            name, data = data[EVENT.size : EVENT.size + length], data[EVENT.size + length :]
            assert watch >= 0, "the kernel's queue of openings overflowed: some are lost"
            if not mask & IN_ISDIR:
                yield watch, name.rstrip(b"\0").decode()
