"""Processes that race each other, and processes that die.

They are forked from a server that has imported the package and done nothing else: one costs milliseconds, and inherits
nothing from the tests.
"""

import multiprocessing
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

Work = Callable[[], object]

DURABLE = frozenset({"os.link", "os.rename", "os.remove"})
"""Calls after which other processes see another lake."""
FSYNC = "os.fsync"
EVERY = DURABLE | {"open", "os.mkdir", FSYNC}
SECONDS = 120
LANES = 4
"""Most of the time is spent waiting for the disk."""
WAITS_S = 1.0
"""After this, whoever isn't done is taken to wait for a lock."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "pytest",
        "pyarrow.dataset",
        "evalbench.nightly",
        "evalbench.cli.pipeline_verbs",
        "evalbench.cli.query",
        "evalbench.sinks.bigquery.warehouse",
    ]
)
_ASKING = Lock()
"""Starting a process asks how others ended, and of two threads that ask this at once one gets no answer."""


@dataclass(frozen=True, slots=True)
class Started:
    """A process at work."""

    process: BaseProcess
    answer: Connection

    def result(self) -> Any:
        """What its work returned. Raises AssertionError, with its traceback, when it failed or was killed."""
        sent = self._sent()
        assert sent is not None, f"no answer; the process ended with {self._end()}"
        done, value = sent
        assert done, value
        return value

    def was_killed(self) -> bool:
        """Whether it ended by SIGKILL; False when its work was done. Raises AssertionError for every other end."""
        sent = self._sent()
        killed = sent is None and self._end() == -signal.SIGKILL
        assert killed or (sent is not None and sent[0]), sent or self._end()
        return killed

    def _sent(self) -> tuple[bool, Any] | None:
        """Whether its work was done, and what it returned or why not; None when it ended before."""
        try:
            sent: tuple[bool, Any] | None = self.answer.recv() if self.answer.poll(SECONDS) else None
        except EOFError:
            sent = None
        self.answer.close()
        return sent

    def _end(self) -> int | None:
        """Its exit code, once it has ended."""
        wait([self.process.sentinel], SECONDS)
        with _ASKING:
            self.process.join(0)
            return self.process.exitcode


def start(work: Work, barrier: Barrier | None = None) -> Started:
    """Do some work in a process of its own; with a barrier, once all that share it are there."""
    ours, theirs = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_work, args=(work, barrier, theirs), daemon=True)
    with _ASKING:
        process.start()
    theirs.close()
    return Started(process, ours)


def together(*works: Work) -> list[Any]:
    """Do all of this at the same moment, each in a process of its own; what each returned."""
    barrier = FORKS.Barrier(len(works))
    started = [start(work, barrier) for work in works]
    return [each.result() for each in started]


def until(stop: Event, work: Work, pause_s: float = 0) -> list[Any]:
    """Do the same work over and over until told to stop, at least once; every answer."""
    answers = [work()]
    while not stop.wait(pause_s):
        answers.append(work())
    return answers


def _work(work: Work, barrier: Barrier | None, answer: Connection) -> None:
    try:
        if barrier is not None:
            barrier.wait(SECONDS)
        sent = (True, work())
    except BaseException:  # noqa: BLE001 - whatever it was, the test that waits for the answer tells it
        sent = (False, traceback.format_exc())
    answer.send(sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A point in a process's work: its n-th call, from 1, of one of these kinds below a folder.

    after: not right before the call but right after it.
    """

    below: Path
    number: int
    after: bool = False
    kinds: frozenset[str] = DURABLE


def dies(cut: Cut, work: Work) -> bool:
    """Whether a process that did this work was killed there; it was not when it made fewer calls."""
    return start(partial(_cut, cut, _kill, work)).was_killed()


def overtaken(cut: Cut, work: Work, other: Work) -> list[Any]:
    """Hold a process there until another one's work is done, or waits for the first one's; what both returned."""
    reached, go_on = FORKS.Event(), FORKS.Event()
    first = start(partial(_cut, cut, partial(_hold, reached, go_on), work))
    assert reached.wait(SECONDS), "it made fewer calls"
    second = start(other)
    wait([second.answer], WAITS_S)
    go_on.set()
    return [first.result(), second.result()]


def each_cut(
    folder: Path,
    made: Sequence[str],
    end: Callable[[Path, Cut], None],
    *,
    sides: Sequence[bool] = (False, True),
    kinds: frozenset[str] = DURABLE,
) -> None:
    """Try every point before and after these calls, each in a lake of its own below a folder, some at the same time."""

    def one(number: int, after: bool) -> None:
        lake = folder / f"{number}-{after}"
        end(lake, Cut(below=lake, number=number, after=after, kinds=kinds))
        shutil.rmtree(lake)

    with ThreadPoolExecutor(LANES) as lanes:
        ended = {
            (number, after): lanes.submit(one, number, after)
            for number, after in product(range(1, len(made) + 1), sides)
        }
    for (number, after), done in ended.items():
        if (error := done.exception()) is not None:
            raise AssertionError(f"{'after' if after else 'before'} {made[number - 1]}") from error


def calls(below: Path, work: Work, kinds: frozenset[str] = DURABLE) -> list[str]:
    """The calls a process makes below a folder to do this work, in order: `os.rename trends/…/part-0.parquet`."""
    found: list[str] = start(partial(_listen, below, kinds, work)).result()
    return found


def _listen(below: Path, kinds: frozenset[str], work: Work) -> list[str]:
    found: list[str] = []
    _hear(below, kinds, lambda call: found.append(call) if call is not None else None)
    work()
    return list(found)


def _cut(cut: Cut, there: Callable[[], None], work: Work) -> object:
    left, done = cut.number, False

    def hear(call: str | None) -> None:
        nonlocal left, done
        reached = left == 0 and cut.after
        left -= call is not None
        if not done and (reached or (left == 0 and not cut.after)):
            done = True
            there()

    _hear(cut.below, cut.kinds, hear)
    answer = work()
    hear(None)
    return answer


def _kill() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("survived SIGKILL")


def _hold(reached: Event, go_on: Event) -> None:
    reached.set()
    assert go_on.wait(SECONDS), "never told to go on"


def _hear(below: Path, kinds: frozenset[str], tell: Callable[[str | None], None]) -> None:
    """Be told of every call of this process, before it is made: those of these kinds below a folder by name."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "os.kill":
            tell(_call(below, event, arguments) if event in kinds else None)

    sync = os.fsync

    def fsync(handle: int) -> None:
        sys.audit(FSYNC, str(below))  # of this call alone Python tells nothing by itself
        sync(handle)

    os.fsync = fsync  # type: ignore[assignment]
    sys.addaudithook(hook)


def _call(below: Path, event: str, arguments: tuple[Any, ...]) -> str | None:
    """What changes something below the folder, None for everything else."""
    target = arguments[1] if event in ("os.link", "os.rename") else arguments[0]
    if not isinstance(target, str | Path) or not Path(target).is_relative_to(below):
        return None
    if event == "open" and not int(arguments[2]) & (os.O_WRONLY | os.O_RDWR):
        return None
    if event == "os.mkdir" and Path(target).exists():
        return None
    return f"{event} {Path(target).relative_to(below).as_posix()}"
