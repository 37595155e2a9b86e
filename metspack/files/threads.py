"""Threads that hash and write the bytes of a large file while further ones are read.

They run in parallel, as hashing and writing release Python's lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Self

from metspack import processes
from metspack.digests import Hashers
from metspack.model import Digest

LARGE = 4 << 20
"""The least size in bytes of a file whose digests and writing have threads of their own."""

_AHEAD = 4  # blocks that may wait for a thread: they are all that is held of a file
_LOOK = 0.1  # seconds between two looks whether a thread has ended


class BlockThread:
    """A thread that calls a function with blocks of bytes, in their order; a context manager.

    Blocks must not change once they are put. An error of the function ends the thread, and is raised by
    ``put`` or ``finish``; leaving the context by an exception waits for the thread and drops its error. A
    thread whose object is deleted ends. With one core, or without a free thread, ``put`` calls the function.
    """

    __slots__ = ("_behind", "_blocks", "_done", "_take", "_thread")

    def __init__(self, take: Callable[[bytes], object]) -> None:
        # Queues of this kind are never left locked, neither by a signal nor while an object is deleted.
        self._blocks: SimpleQueue[bytes | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._behind = 0
        self._take = take
        self._thread: threading.Thread | None = None
        if processes.cores() > 1:
            thread = threading.Thread(target=_take_all, args=(take, self._blocks, self._done), daemon=True)
            with suppress(RuntimeError):  # as many as the system lets this user have
                thread.start()
                self._thread = thread

    def put(self, block: bytes) -> None:
        """Hand on the next bytes; waits while the thread is too far behind."""
        if self._thread is None:
            self._take(block)
            return
        while self._behind >= _AHEAD or not self._done.empty():
            self._behind -= 1
            _raise(self._done.get())
        self._blocks.put(block)
        self._behind += 1

    def finish(self) -> None:
        """Wait until all bytes were taken; the thread ends."""
        _raise(self._end())

    def _end(self) -> BaseException | None:
        """Wait for the end of the thread; return the error that ended it, or None."""
        thread, self._thread = self._thread, None  # it reports its end once
        if thread is None:
            return None
        self._blocks.put(None)
        error = None
        try:
            while (done := self._done.get()) is not _ENDED:
                error = error or done
        except BaseException:
            # A signal ended the waiting, and what the thread writes to is closed next.
            while thread.is_alive():
                time.sleep(_LOOK)
            raise
        return error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        error = self._end()
        if kind is None:
            _raise(error)

    def __del__(self) -> None:
        self._blocks.put(None)


_ENDED = BaseException("a thread has ended")


def _raise(error: BaseException | None) -> None:
    if error is not None:
        raise error


def _take_all(
    take: Callable[[bytes], object],
    blocks: SimpleQueue[bytes | None],
    done: SimpleQueue[BaseException | None],
) -> None:
    try:
        while (block := blocks.get()) is not None:
            take(block)
            del block  # else it would be held while the next is waited for
            done.put(None)
    except BaseException as error:  # noqa: BLE001 -- for whoever put the block
        done.put(error)
    finally:
        done.put(_ENDED)


class ThreadedHashers(Hashers):
    """Several digests over one stream of bytes, each in a thread after ``LARGE`` bytes.

    Blocks must not change once they are given. The result is that of ``Hashers``.
    """

    __slots__ = ("_threads",)

    def __init__(self, algorithms: Iterable[str]) -> None:
        super().__init__(algorithms)
        self._threads: tuple[BlockThread, ...] = ()

    def update(self, block: bytes) -> None:
        """Add the next bytes, which may be hashed later."""
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
