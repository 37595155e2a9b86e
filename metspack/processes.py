"""Worker processes: results in the order of the tasks, whichever was done first.

A task and its result are sent from one process to the other, so both are small. With one process the work
is done in the calling process.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from metspack.errors import TargetError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

_REPORTED = 1 << 18  # bytes a worker moves before it says so, and looks whether it is still wanted
_LOOK = 0.1  # seconds between two looks at what the workers say
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Less than this is read before further processes have started.
_SMALL_FILES, _SMALL_BYTES = 2_000, 100_000_000

Task = TypeVar("Task")
Result = TypeVar("Result")
Moved = Callable[[int], None]
"""A function that is called with the number of bytes done, again and again."""


def useful(wanted: int | None, *, files: int, size: int) -> int:
    """Return the number of processes to use: the one given, else what so many files and bytes justify."""
    if wanted is not None:
        return wanted
    return 1 if files < _SMALL_FILES and size < _SMALL_BYTES else os.cpu_count() or 1


def results(
    work: Callable[[Task, Moved], Result], tasks: Iterable[Task], jobs: int, moved: Moved
) -> Iterator[Result]:
    """Yield what ``work`` makes of the tasks, in their order, with up to ``jobs`` processes.

    ``work`` is a function of a module. The first error, in that order, stops the rest and is raised;
    ``TargetError`` when a process was killed.
    """
    if jobs == 1:
        for task in tasks:
            yield work(task, moved)
        return
    yield from _pooled(work, tasks, jobs, moved)


def _pooled(
    work: Callable[[Task, Moved], Result], tasks: Iterable[Task], jobs: int, moved: Moved
) -> Iterator[Result]:
    # Heavy, and most packages are too small for a second process.
    import multiprocessing  # noqa: PLC0415
    from concurrent.futures import ProcessPoolExecutor, wait  # noqa: PLC0415
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

    # Not forked: the parent has threads (progress) and open databases, which a fork would copy half-way.
    context = multiprocessing.get_context("spawn")
    # Every worker counts for itself: a lock would stay taken for ever when one that holds it is killed.
    counts = context.RawArray("Q", jobs)
    stop = context.RawValue("b", 0)
    shown = 0
    pending: deque[Future[Result]] = deque()
    pool = ProcessPoolExecutor(jobs, context, _begin, (counts, context.Value("I", 0), stop))

    def first() -> Result:
        nonlocal shown
        while True:
            with _undisturbed():  # else a signal may come while a lock of the pool's is held, for ever then
                done, _ = wait((pending[0],), timeout=_LOOK)
            counted = sum(counts)
            moved(counted - shown)
            shown = counted
            if done:
                return pending.popleft().result()

    try:
        for task in tasks:
            with _undisturbed():
                pending.append(pool.submit(_run, work, task))
            if len(pending) > 2 * jobs:
                yield first()
        while pending:
            yield first()
    except BrokenProcessPool as error:
        raise _ended() from error
    finally:
        stop.value = 1
        pool.shutdown(cancel_futures=True)


def _ended() -> TargetError:
    return TargetError(
        "a worker process was killed",
        hint="The machine may be out of memory: try fewer with -j 1.",
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back what ends a process, until the block is left.

    A process that is started meanwhile starts whole, or not at all, and no lock is left taken.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        with _remembered():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _remembered() -> Iterator[None]:
    """Note the signals that end a process, and raise them afterwards.

    A mask alone does not hold them back: another thread may take them, and Python calls the handler in the
    main one whatever the mask.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers are called in the main thread alone
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        for sent in came:
            signal.raise_signal(sent)


class Ahead(Generic[Result]):
    """A process that runs ahead through what ``work`` yields, while its results are read.

    ``work`` is a function of a module and, like what it is given and yields, sent from one process to the
    other. ``rest`` raises what was raised in it, and ``TargetError`` when the process was killed.
    """

    def __init__(self, work: Callable[..., Iterable[Result]], *given: object) -> None:
        import multiprocessing  # noqa: PLC0415 -- heavy

        context = multiprocessing.get_context("spawn")
        self._taken, sent = context.Pipe(duplex=False)
        self._process = context.Process(target=_send, args=(sent, work, given), daemon=True)
        with _undisturbed():
            self._process.start()
        sent.close()
        self._error: Exception | None = None

    def come(self) -> Iterator[Result]:
        """Yield the results that have arrived by now, without waiting for more; raises nothing."""
        while not self._taken.closed and self._taken.poll():
            yield from self._next()

    def rest(self) -> Iterator[Result]:
        """Yield all further results, waiting for them."""
        while not self._taken.closed:
            yield from self._next()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the process, whether it is done or not."""
        self._taken.close()
        self._process.terminate()
        self._process.join()

    def _next(self) -> Iterator[Result]:
        try:
            result, self._error = self._taken.recv()
        except EOFError:
            result, self._error = None, _ended()
        if result is None:
            self._taken.close()
            self._process.join()
        else:
            yield result


def _send(sent: Connection, work: Callable[..., Iterable[Any]], given: tuple[object, ...]) -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    with suppress(BrokenPipeError):  # the parent wants no more, or is gone
        try:
            for each in work(*given):
                sent.send((each, None))
        except Exception as error:  # noqa: BLE001 -- the parent's to deal with
            sent.send((None, error))
        else:
            sent.send((None, None))


class _Stopped(Exception):  # noqa: N818 -- not an error: the parent asked for it
    """The parent no longer wants the result."""


_worker: dict[str, Any] = {}


def _end_with_parent() -> None:
    """End this process when the parent is gone, which may have been killed without a word."""
    import multiprocessing  # noqa: PLC0415 -- heavy, though not here: it began this process

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _begin(counts: Any, seats: Any, stop: Any) -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with seats.get_lock():
        _worker.update(counts=counts, seat=seats.value, stop=stop)
        seats.value += 1


def _run(work: Callable[[Task, Moved], Result], task: Task) -> Result:
    unreported = 0
    counts, seat, stop = _worker["counts"], _worker["seat"], _worker["stop"]

    def report() -> None:
        nonlocal unreported
        counts[seat] += unreported
        unreported = 0
        if stop.value:
            raise _Stopped

    def moved(amount: int) -> None:
        nonlocal unreported
        unreported += amount
        if unreported >= _REPORTED:
            report()

    result = work(task, moved)
    report()
    return result
