"""One lake behind many requests: opened when it is needed, asked in a few threads of the page's own.

However slow a lake is, the server's other applications keep their threads.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from evalbench.errors import StorageError, UsageError
from evalbench.web.kept import Kept
from evalbench.web.store import Store, View

Made = TypeVar("Made")

THREADS = 4
PATIENCE_S = 2.0
"""After this a page says that the lake is being read, instead of saying nothing."""
CHARTS_KEPT = 400


class Site:
    """One lake, opened when the first page is asked for, and the threads that answer."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="evalbench-page")
        self._lock = Lock()
        self._store: Store | None = None
        self._first: Future[View] | None = None
        self.charts: Kept[tuple[object, ...], str] = Kept(CHARTS_KEPT)

    async def run(self, work: Callable[[], Made]) -> Made:
        """What the work returns, done in one of the page's threads."""
        return await asyncio.wrap_future(self._threads.submit(work))

    async def view(self) -> View | None:
        """The lake as it is now; None while it is read for the first time and that takes long."""
        if self._first is None:
            self._first = self._threads.submit(self._view)
        elif self._first.done() and self._first.exception() is None:
            return await self.run(self._view)
        first = self._first
        done, _ = await asyncio.wait([asyncio.wrap_future(first)], timeout=PATIENCE_S)
        if not done:
            return None
        if first.exception() is not None:
            self._first = None
        return first.result()

    def close(self) -> None:
        """Let go of threads and lake."""
        self._threads.shutdown(cancel_futures=True)
        if self._store is not None:
            self._store.close()

    def _view(self) -> View:
        try:
            with self._lock:
                if self._store is None:
                    self._store = self._open_store()
            return self._store.view()
        except UsageError as error:
            raise StorageError(str(error)) from error
