"""One lake behind many requests: opened when it is needed, asked in a few threads of the page's own.

However slow a lake is, the server's other applications keep their threads, and pages from memory keep theirs.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from evalbench.errors import StorageError, UsageError
from evalbench.web.kept import Kept
from evalbench.web.store import NoLakeError, Store, View

Made = TypeVar("Made")

THREADS = 4
"""Of each kind: those that answer from memory, and those that read the lake."""
PATIENCE_S = 2.0
"""After this a page says that the lake is being read, instead of saying nothing."""
READ_WITHIN_S = 30.0
"""After this a page that reads the lake says that it didn't answer."""
CHARTS_KEPT = 400


class FirstReadError(StorageError):
    """The lake is being read for the first time, and that takes long."""


class Site:
    """One lake, opened when the first page is asked for, and the threads that answer."""

    def __init__(
        self, open_store: Callable[[], Store], once_read: Callable[[View], object], read_within_s: float = READ_WITHIN_S
    ) -> None:
        """once_read: done with the first rows, in a thread that nobody waits for; if it fails, nothing is lost."""
        self._open_store, self._once_read, self._read_within_s = open_store, once_read, read_within_s
        self._memory = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="evalbench-page")
        self._readers = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="evalbench-reads")
        self._reading = asyncio.Semaphore(THREADS)
        self._lock = Lock()
        self._store: Store | None = None
        self._first: Future[View] | None = None
        self._began = 0.0
        self._known = False
        self.charts: Kept[tuple[object, ...], str] = Kept(CHARTS_KEPT)

    async def run(self, work: Callable[[], Made]) -> Made:
        """What the work returns, done in one of the page's threads. For what is made from memory alone."""
        return await asyncio.wrap_future(self._memory.submit(work))

    async def read(self, work: Callable[[], Made]) -> Made:
        """As `run`, for work that reads the lake. Raises StorageError when it takes too long.

        A read that hangs keeps its thread, and nothing waits behind it for longer than a read may take.
        """
        try:
            async with asyncio.timeout(self._read_within_s):
                await self._reading.acquire()
                # Shielded: its place is free again when the read is over, not when nobody waits for it any more.
                return await asyncio.shield(asyncio.create_task(self._read(work)))
        except TimeoutError as error:
            raise StorageError(f"the lake didn't answer within {self._read_within_s:g} s; try again") from error

    async def view(self) -> View:
        """The lake as it is now. Raises FirstReadError while it is read for the first time and that takes long."""
        if self._known:
            return await self.run(self._view)
        if self._first is None:
            self._first, self._began = self._memory.submit(self._view), time.monotonic()
        first = self._first
        done, _ = await asyncio.wait([asyncio.wrap_future(first)], timeout=PATIENCE_S)
        if not done:
            passed = f"{time.monotonic() - self._began:.0f} s so far"
            raise FirstReadError(f"The lake is being read for the first time since this server started, {passed}.")
        if self._first is first:
            self._first = None  # kept, it would keep the first rows for ever
            self._known = first.exception() is None
            if self._known:
                self._aside(first.result())
        return first.result()

    def close(self) -> None:
        """Let go of threads and lake; a read that hangs isn't waited for."""
        for threads in (self._memory, self._readers):
            threads.shutdown(wait=False, cancel_futures=True)
        if self._store is not None:
            self._store.close()

    async def _read(self, work: Callable[[], Made]) -> Made:
        try:
            return await asyncio.wrap_future(self._readers.submit(work))
        finally:
            self._reading.release()

    def _aside(self, view: View) -> None:
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evalbench-aside")
        thread.submit(self._once_read, view)
        thread.shutdown(wait=False)

    def _view(self) -> View:
        try:
            with self._lock:
                if self._store is None:
                    self._store = self._open_store()
            return self._store.view()
        except NoLakeError:
            raise
        except UsageError as error:
            raise StorageError(str(error)) from error
