"""Read an object by ranges as a file, with read-ahead, and many small objects in parallel."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from metspack.stores import client
from metspack.stores.client import ObStore, StoredObject
from metspack.system import os

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

BLOCK = 1 << 20
"""The bytes of one request while an object is read onward."""

_NEAR = 1 << 16  # the bytes of a request for a range elsewhere
_KEPT = 4  # blocks before the current one
_JOBS = "METSPACK_IO_JOBS"
T = TypeVar("T")
R = TypeVar("R")


def jobs() -> int:
    """Return the most requests in flight at once, for this process and those that it starts."""
    return int(os.environ.get(_JOBS, client.JOBS))


def limit_jobs(number: int) -> None:
    """Set the result of ``jobs``."""
    os.environ[_JOBS] = str(number)


@cache
def _threads(number: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 -- only stores need it

    return ThreadPoolExecutor(number, thread_name_prefix="store")


def in_flight(work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """Yield the results of ``work`` in the tasks' order, up to ``jobs()`` tasks at once."""
    number = jobs()
    waiting: deque[Future[R]] = deque()
    try:
        for task in tasks:
            waiting.append(_threads(number).submit(work, task))
            if len(waiting) > number:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()


class Ranges:
    """The bytes of an object, read by ranges; only a few blocks of it are in memory."""

    def __init__(self, store: ObStore, found: StoredObject) -> None:
        self._read = partial(store.read, found)
        self.size = found.size
        self._blocks: OrderedDict[int, Future[bytes]] = OrderedDict()
        self._near = (0, b"")
        self._next = -1

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``: fewer only at the end. Raises ``StoreError``."""
        stop = min(offset + size, self.size)
        if stop <= offset:
            return b""
        is_onward = offset == self._next
        self._next = stop
        at, near = self._near
        if at <= offset and stop <= at + len(near):
            return near[offset - at : stop - at]
        first, last = offset // BLOCK, (stop - 1) // BLOCK
        if not is_onward and stop - offset <= _NEAR and first not in self._blocks:
            self._near = offset, self._read(offset, offset + _NEAR)
            return self._near[1][: stop - offset]
        ahead = jobs() if is_onward else 0
        for number in range(first, min(last + ahead, (self.size - 1) // BLOCK) + 1):
            if number not in self._blocks:
                start = number * BLOCK
                self._blocks[number] = _threads(jobs()).submit(self._read, start, start + BLOCK)
        pieces = [self._blocks[number].result() for number in range(first, last + 1)]
        kept = range(first - _KEPT, last + ahead + 1)
        for number in [each for each in self._blocks if each not in kept]:
            self._blocks.pop(number).cancel()
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return data[offset - first * BLOCK : stop - first * BLOCK]

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to ``stop`` (to the end when None) in blocks."""
        stop = self.size if stop is None else min(stop, self.size)
        self._next = start
        while start < stop:
            block = self.pread(min(BLOCK - start % BLOCK, stop - start), start)
            yield block
            start += len(block)

    def close(self) -> None:
        """Cancel the requests for blocks ahead."""
        for each in self._blocks.values():
            each.cancel()
        self._blocks.clear()
