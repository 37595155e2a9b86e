"""Threads that hash and write blocks of a large file while the next blocks are read.

They run in parallel, as hashing and writing release Python's lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue

from metspack import processes
from metspack.digests import Hashers
from metspack.model import Digest

LARGE = 4 << 20
"""The least size in bytes of a file that is hashed and written in threads."""

_AHEAD = 4  # the most blocks that wait for a thread


class BlockThread(AbstractContextManager["BlockThread"]):
    """A thread that calls a function with blocks of bytes, in their order; a context manager.

    Blocks must not change once they are put. An error of the function ends the thread; ``put`` or ``finish``
    raises it. Leaving the context by an exception waits for the thread and drops its error. Deleting the
    object ends the thread. On one core, or if no thread can be started, ``put`` calls the function.
    """

    def __init__(self, take: Callable[[bytes], object]) -> None:
        # Neither a signal nor the deletion of an object leaves a SimpleQueue locked.
        self._blocks: SimpleQueue[bytes | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._behind = 0
        self._take = take
        self._thread: threading.Thread | None = None
        if processes.cores() > 1:
            thread = threading.Thread(target=_take_all, args=(take, self._blocks, self._done), daemon=True)
            with suppress(RuntimeError):  # this user has as many threads as the system permits
                thread.start()
                self._thread = thread

    def put(self, block: bytes) -> None:
        """Pass the next bytes to the thread; waits while it is too far behind."""
        if self._thread is None:
            self._take(block)
            return
        while self._behind >= _AHEAD or not self._done.empty():
            self._behind -= 1
            if (error := self._done.get()) is not None:
                raise error
        self._blocks.put(block)
        self._behind += 1

    def finish(self) -> None:
        """Wait until the thread has taken all bytes, and end it."""
        self.__exit__(None)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the thread; raise the error that ended it before, unless the block raised one."""
        thread, self._thread = self._thread, None  # it reports its end once
        if thread is None:
            return
        self._blocks.put(None)
        error = None
        try:
            while (done := self._done.get()) is not _ENDED:
                error = error or done
        except BaseException:
            # After a signal the caller closes what the thread writes to.
            while thread.is_alive():
                time.sleep(0.1)
            raise
        if kind is None and error is not None:
            raise error

    def __del__(self) -> None:
        self._blocks.put(None)


_ENDED = BaseException("a thread has ended")


def _take_all(
    take: Callable[[bytes], object],
    blocks: SimpleQueue[bytes | None],
    done: SimpleQueue[BaseException | None],
) -> None:
    try:
        while (block := blocks.get()) is not None:
            take(block)
            del block  # so that its memory is free while the thread waits for the next
            done.put(None)
    except BaseException as error:  # noqa: BLE001 -- ``put`` or ``finish`` raises it
        done.put(error)
    finally:
        done.put(_ENDED)


class ThreadedHashers(Hashers):
    """``Hashers`` that compute each digest in a thread after the first ``LARGE`` bytes.

    Blocks must not change after ``update``.
    """

    __slots__ = ("_threads",)

    def __init__(self, algorithms: Iterable[str]) -> None:
        super().__init__(algorithms)
        self._threads: tuple[BlockThread, ...] = ()

    def update(self, block: bytes) -> None:
        """Add the next bytes, which a thread may hash later."""
        if self._threads:
            self.size += len(block)
            for each in self._threads:
                each.put(block)
            return
        super().update(block)
        if self.size >= LARGE:
            self._threads = tuple(BlockThread(each.update) for each in self._hashers.values())

    def copy(self) -> Hashers:
        """Return an independent copy, which continues after the bytes so far."""
        self._catch_up()
        return super().copy()

    def digest(self, algorithm: str) -> Digest:
        """Return one digest of the bytes so far; raises KeyError for one that is not computed."""
        self._catch_up()
        return super().digest(algorithm)

    def _catch_up(self) -> None:
        threads, self._threads = self._threads, ()
        for each in threads:
            each.finish()
