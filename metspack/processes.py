"""Worker processes, and results in the order of the tasks.

A task and its result are sent from one process to the other, so both are small. With one process the work
is done in the calling process.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from metspack.errors import MetspackError, TargetError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext

_REPORTED = 1 << 18  # bytes a worker moves before it reports them, and checks whether it is still wanted
_WAITING = 4  # results for each process from which on there are no further tasks for it
_NO_WORD = "ignore:resource_tracker:UserWarning"
_PIPE = 1 << 20  # bytes of results that wait to be taken
_LOOK = 0.1  # seconds between two looks at the workers' reports
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Less than this is read before further processes have started.
_SMALL_FILES, _SMALL_BYTES = 2_000, 100_000_000


Task = TypeVar("Task")
Result = TypeVar("Result")
Moved = Callable[[int], None]
"""A function that is called with the number of bytes done, again and again."""


def are_many(files: int) -> bool:
    """Return whether so many files are worth processes, however small they are."""
    return files >= _SMALL_FILES


class Pool(Protocol):
    """Workers under way: tasks are given out to them, and each result is waited for."""

    jobs: int

    def start(self, work: Callable[..., object]) -> None:
        """Let the workers get ready for some work."""

    def give_out(self, work: Callable[..., Any], tasks: Iterator[Any], pending: deque[Any]) -> None:
        """Give out tasks until enough wait, and add their futures to ``pending``."""

    def count(self, moved: Moved) -> None:
        """Report the bytes moved since the last call."""

    def awaited(self, future: Any, moved: Moved) -> Any:
        """Wait for a result, and report the bytes moved meanwhile."""

    def close(self) -> None:
        """End the work, finished or not."""


class Workers:
    """Up to ``jobs`` processes that do one kind of work after the other; a context manager.

    They are started when there is work for them, and once.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: Pool | None = None
        self._given: Callable[[], Pool] | None = None
        self._is_busy = False

    def use(self, given: Callable[[], Pool], jobs: int) -> None:
        """Let a pool of ``jobs`` workers do all work; ``given`` opens it once there is some."""
        self._given, self.jobs = given, jobs

    def start(self, work: Callable[..., object]) -> None:
        """Start processes that are soon to do some work."""
        if self.jobs > 1 and self._given is None:
            self._pool = self._pool or self._open()
            self._pool.start(work)

    def begin(
        self,
        work: Callable[[Task, Moved], Result],
        tasks: Iterable[Task],
        moved: Moved,
        *,
        is_growing: bool = False,
    ) -> Underway[Task, Result]:
        """Begin some work, in processes where it is worth them; taking its results completes it.

        With ``is_growing`` it is worth them, and ``tasks`` may pause until the first result is taken.
        """
        tasks = iter(tasks)
        is_worth, pool = is_growing or self._given is not None, None
        begun = list(islice(tasks, 2)) if self.jobs > 1 and not is_worth else []
        if is_worth or len(begun) > 1:  # one task is done sooner than a process has started
            pool = self._pool = self._pool or self._open()
            self._is_busy = True
        underway = Underway(self, pool, work, tasks, moved)
        underway.added.extend(begun)
        return underway

    def results(
        self, work: Callable[[Task, Moved], Result], tasks: Iterable[Task], moved: Moved
    ) -> Generator[Result, None, None]:
        """Yield the results of the tasks, as ``Executor.results`` does."""
        yield from self.begin(work, tasks, moved).results()

    def note_end(self, *, is_done: bool) -> None:
        """Note that the results were taken; unless all were, the processes end."""
        self._is_busy = False
        if not is_done:
            self._end()

    def close(self) -> None:
        """Let the processes go: they end, unless they are kept for further work."""
        if _keepers and not self._is_busy and isinstance(self._pool, _Pool):
            _kept.append(self._pool)
            self._pool = None
        self._end()

    def _open(self) -> Pool:
        if self._given is not None:
            return self._given()
        return _taken(self.jobs) or _Pool(self.jobs)

    def _end(self) -> None:
        """End the processes, busy or not."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Executor:
    """The workers of a command: processes of this machine."""

    def useful(self, wanted: int | None, *, files: int, size: int) -> int:
        """Return the number of processes: ``wanted``, else as many as files and bytes justify."""
        if wanted is not None:
            return wanted
        return 1 if files < _SMALL_FILES and size < _SMALL_BYTES else os.cpu_count() or 1

    def of_large(self, jobs: int) -> int:
        """Return the number of processes for large files: one, with threads, keeps two cores busy."""
        return max(1, jobs // 2)

    def prepare(self, work: Callable[..., object], wanted: int | None, *, files: int) -> None:
        """Start processes for coming work with files, if these are many and ``keeping`` is on."""
        if not are_many(files) or not _keepers:
            return
        jobs = self.useful(wanted, files=files, size=0)
        if jobs > 1 and all(each.jobs < jobs for each in _kept):
            _kept.append(pool := _Pool(jobs))
            pool.start(work)

    def workers(self, jobs: int) -> Workers:
        """Return so many of them; one is this process itself."""
        return Workers(jobs)

    def results(
        self, work: Callable[[Task, Moved], Result], tasks: Iterable[Task], jobs: int, moved: Moved
    ) -> Generator[Result, None, None]:
        """Yield the results of ``work`` in the order of the tasks, with up to ``jobs`` processes.

        ``work`` is a function of a module. The first error, in that order, stops the rest and is raised;
        ``TargetError`` when a process was killed.
        """
        with self.workers(jobs) as workers:
            yield from workers.results(work, tasks, moved)


HERE = Executor()
useful, of_large, prepare, results = HERE.useful, HERE.of_large, HERE.prepare, HERE.results

_kept: list[_Pool] = []
_keepers: list[None] = []


@contextmanager
def keeping() -> Iterator[None]:
    """Keep processes that were started in the block for further work in it, until it ends.

    For one thread of the process.
    """
    _keepers.append(None)
    try:
        yield
    finally:
        _keepers.pop()
        while _kept and not _keepers:
            _kept.pop().close()


def _taken(jobs: int) -> _Pool | None:
    """Return at least ``jobs`` processes that were kept, or None without them."""
    found = next((each for each in _kept if each.jobs >= jobs), None)
    if found is not None:
        _kept.remove(found)
    return found


class Underway(Generic[Task, Result]):
    """Work that was begun; ``is_beside`` where processes do it while this one does other things.

    Tasks that are ``added`` while results are taken are done before those that are left.
    """

    def __init__(
        self,
        workers: Workers,
        pool: Pool | None,
        work: Callable[[Task, Moved], Result],
        tasks: Iterator[Task],
        moved: Moved,
    ) -> None:
        self._workers = workers
        self._pool = pool
        self._work = work
        self.added: deque[Task] = deque()
        # Unlike a generator, a map continues after it has ended for now.
        self._tasks = map(_next, repeat(self.added), repeat(tasks))
        self._moved = moved
        self._pending: deque[Any] = deque()
        self.is_beside = pool is not None

    def look(self) -> None:
        """Give out further tasks without waiting; raises as ``results`` does for a dead process."""
        if self._pool is not None:
            self._pool.give_out(self._work, self._tasks, self._pending)
            self._pool.count(self._moved)

    def results(self) -> Generator[Result, None, None]:
        """Yield the results in the order of the tasks, once."""
        if self._pool is None:
            for task in self._tasks:
                yield self._work(task, self._moved)
            return
        is_done = False
        try:
            while True:
                # Results wait here until they are taken: a slow reader must not make them pile up.
                if len(self._pending) <= _WAITING * self._pool.jobs:
                    self._pool.give_out(self._work, self._tasks, self._pending)
                if not self._pending:
                    break
                yield self._pool.awaited(self._pending.popleft(), self._moved)
            is_done = True
        finally:
            self._workers.note_end(is_done=is_done)


def _next(added: deque[Task], tasks: Iterator[Task]) -> Task:
    return added.popleft() if added else next(tasks)


class _Awaited:
    """A call that was given to a pool: a function and its arguments, and its outcome."""

    __slots__ = ("asked", "error", "is_done", "result")

    def __init__(self, *asked: Any) -> None:
        self.asked = asked
        self.result: Any = None
        self.error: Exception | None = None
        self.is_done = False


class _Seat:
    """A worker process, the pipe to it, and its present call."""

    __slots__ = ("at", "pipe", "process")

    def __init__(self, context: SpawnContext, *facts: object) -> None:
        self.pipe, theirs = context.Pipe()
        try:
            # It has no children of its own, and is ended should this process end without it.
            self.process = context.Process(target=_serve, args=(theirs, *facts), daemon=True)
            self.process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()
        self.at: _Awaited | None = None


class _Pool:
    """Worker processes that are running.

    Each has its pipe, and a thread takes the results of all. They share nothing that a killed process may
    hold, as the processes of Python's pools share queues, which then wait without end.
    """

    def __init__(self, jobs: int) -> None:
        # Heavy, and most packages are too small for a second process.
        import multiprocessing  # noqa: PLC0415

        # Not forked: the parent has threads (progress) and open databases, which a fork would copy half-way.
        self._context = multiprocessing.get_context("spawn")
        _start_tracker()
        # Every worker counts for itself.
        self._counts = self._context.RawArray("Q", jobs)
        self._stop = self._context.RawValue("b", 0)
        self._shown = 0
        self.jobs = jobs
        self._seats: list[_Seat] = []
        self._todo: deque[_Awaited] = deque()
        self._lock = threading.Lock()  # of the seats and of the calls to be done
        self._came = threading.Event()
        self._heard, self._word = self._context.Pipe(duplex=False)  # to the thread: a new seat, the end
        self._thread: threading.Thread | None = None
        self._is_broken = self._is_over = False

    def start(self, work: Callable[..., object]) -> None:
        """Start processes, at most one for each core, and let them get ready for some work."""
        with _undisturbed():
            for _ in range(min(self.jobs, cores())):
                self._add(_Awaited(_get_ready, work))

    def give_out(
        self, work: Callable[[Task, Moved], Result], tasks: Iterator[Task], pending: deque[_Awaited]
    ) -> None:
        """Give out tasks until twice as many wait as there are processes."""
        waiting = sum(not each.is_done for each in pending)
        for task in islice(tasks, max(0, 2 * self.jobs + 1 - waiting)):
            given = _Awaited(_run, work, task)
            with _undisturbed():
                self._add(given)
            pending.append(given)

    def count(self, moved: Moved) -> None:
        """Report the bytes moved since the last call."""
        counted = sum(self._counts)
        moved(counted - self._shown)
        self._shown = counted

    def awaited(self, given: _Awaited, moved: Moved) -> Any:
        """Wait for a result, and report the bytes moved meanwhile."""
        while True:
            self.count(moved)
            if given.is_done:
                break
            if self._is_broken:
                raise _ended()
            with _undisturbed():  # else a signal may come while a lock of the event's is held, for ever then
                self._came.wait(_LOOK)
                self._came.clear()
        if given.error is not None:
            raise given.error
        return given.result

    def close(self) -> None:
        """End the processes, busy or not; it can be repeated where a signal ended it."""
        self._stop.value = 1
        self._is_over = True
        with _undisturbed():
            if self._thread is not None and not self._word.closed:
                self._word.send_bytes(b"over")
                self._thread.join()
            for pipe in (self._heard, self._word, *(each.pipe for each in self._seats)):
                pipe.close()
        for each in self._seats:
            each.process.join()

    def _add(self, given: _Awaited) -> None:
        """Let a process do a call as soon as one is free, or may be started."""
        if self._is_broken:
            raise _ended()
        seat = None
        if len(self._seats) < self.jobs and all(each.at is not None for each in self._seats):
            seat = _Seat(self._context, self._counts, len(self._seats), self._stop)
        with self._lock:
            if seat is not None:
                self._seats.append(seat)
            self._todo.append(given)
            for each in self._seats:
                self._hand_on(each)
        if self._thread is None:
            self._thread = threading.Thread(target=self._take_all, daemon=True)
            self._thread.start()
        elif seat is not None:
            self._word.send_bytes(b"new")

    def _hand_on(self, seat: _Seat) -> None:
        """Give a free process the next call; the lock is held."""
        while seat.at is None and self._todo:
            given = self._todo.popleft()
            try:
                seat.pipe.send(given.asked)
            except OSError:  # it was killed
                self._todo.appendleft(given)
                self._is_broken = True
                return
            except Exception as error:  # noqa: BLE001 -- what cannot be sent, for who waits for it
                given.error, given.is_done = error, True
            else:
                seat.at = given

    def _take_all(self) -> None:
        """Take the results of all processes, in a thread, until one was killed or all is over."""
        from multiprocessing.connection import wait  # noqa: PLC0415 -- as in the constructor

        try:
            while not (self._is_over or self._is_broken):
                with self._lock:
                    seats: dict[Any, _Seat] = {each.pipe: each for each in self._seats}
                for pipe in wait([self._heard, *seats]):
                    if pipe is self._heard:
                        self._heard.recv_bytes()
                    else:
                        self._take(seats[pipe])
                self._came.set()
        finally:
            self._is_broken = True  # should it be by a fault, nothing comes any more
            self._came.set()

    def _take(self, seat: _Seat) -> None:
        try:
            result, error = seat.pipe.recv()
        except (EOFError, OSError):
            self._is_broken = True
            return
        except Exception as fault:  # noqa: BLE001 -- what cannot be read, for who waits for it
            result, error = None, fault
        with self._lock:
            if (given := seat.at) is not None:
                given.result, given.error, given.is_done = result, error, True
            seat.at = None
            self._hand_on(seat)


def _serve(pipe: Connection, counts: Any, seat: int, stop: Any) -> None:
    """Run a worker process: do the calls that come through the pipe, until it is closed."""
    _begin(counts, seat, stop)
    with suppress(EOFError, OSError):  # the parent wants no more, or is gone
        while True:
            outcome = _outcome(*pipe.recv())
            try:
                pipe.send(outcome)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 -- what cannot be sent
                pipe.send((None, error))


def _outcome(function: Callable[..., Any], *given: object) -> tuple[Any, Exception | None]:
    """Call a function; return its result, or its error with the traceback in this process."""
    try:
        return function(*given), None
    except Exception as error:  # noqa: BLE001 -- the parent's to deal with
        if not isinstance(error, (MetspackError, _Stopped)):
            import traceback  # noqa: PLC0415 -- heavy

            error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return None, error


def _start_tracker() -> None:
    """Start Python's process that removes semaphores once all others ended, without warning.

    It would warn of those that a killed process has left, and removes them all the same.
    """
    from multiprocessing import resource_tracker  # noqa: PLC0415 -- heavy

    sys.warnoptions.append(_NO_WORD)  # Python starts it with these
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_NO_WORD)


def _ended() -> TargetError:
    return TargetError(
        "a worker process was killed",
        hint="The machine may be out of memory: try fewer with -j 1.",
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back the signals that end a process, until the block is left.

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
        yield  # handlers are called only in the main thread
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


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


class Ahead(Generic[Result]):
    """A process that computes the results of ``work`` ahead of their reading.

    ``work`` is a function of a module and, like its arguments and results, sent from one process to the
    other. ``rest`` raises the error of ``work``, and ``TargetError`` when the process was killed.
    """

    def __init__(self, work: Callable[..., Iterable[Result]], *given: object) -> None:
        import multiprocessing  # noqa: PLC0415 -- heavy

        context = multiprocessing.get_context("spawn")
        _start_tracker()
        self._taken, sent = context.Pipe(duplex=False)
        if (resize := getattr(fcntl, "F_SETPIPE_SZ", None)) is not None:  # Linux's own are soon full
            with suppress(OSError):
                fcntl.fcntl(self._taken.fileno(), resize, _PIPE)
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
        except (EOFError, OSError):  # the latter in the middle of a result
            result, self._error = None, _ended()
        if result is None:
            self._taken.close()
            self._process.join()
        else:
            yield result


def _send(sent: Connection, work: Callable[..., Iterable[Any]], given: tuple[object, ...]) -> None:
    # Ctrl-C reaches every process of the terminal; only the parent decides on its meaning.
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


def has_parent() -> bool:
    """Return whether the parent process of a worker is alive; True outside a worker."""
    if not _worker:
        return True
    import multiprocessing  # noqa: PLC0415 -- as below

    parent = multiprocessing.parent_process()
    return parent is None or parent.is_alive()


def _end_with_parent() -> None:
    """End this process when the parent is gone, which may have been killed."""
    import multiprocessing  # noqa: PLC0415 -- heavy, though not here: it began this process

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _begin(counts: Any, seat: int, stop: Any) -> None:
    # Ctrl-C reaches every process of the terminal; only the parent decides on its meaning.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker.update(counts=counts, seat=seat, stop=stop)
    if sys.gettrace() is None:  # what measures coverage writes its file when a process has ended
        from multiprocessing import util  # noqa: PLC0415 -- loaded in a worker

        # Nothing is left to be done then, and to take all modules apart takes longer than many a task.
        util.Finalize(None, os._exit, (0,), exitpriority=-100)


def _get_ready(_work: Callable[..., object]) -> None:
    """Do nothing: what the work needs was imported when its name was read."""


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
