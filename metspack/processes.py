"""Worker processes that do tasks, and return results in the order of the tasks.

Tasks and results pass through pipes, so both are small, or in parts. With one process the caller does the
work.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain, islice, repeat
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from metspack.errors import MetspackError, TargetError
from metspack.system import HeldSignals, begin_processes, let_signals_through, os
from metspack.system import cores as cores  # noqa: PLC0414 -- for others as well

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

_REPORTED = 1 << 18  # bytes a worker moves before it reports them, and checks whether it is still wanted
_WAITING = 4  # results for each process from which on there are no further tasks for it
_SENT = 4  # results that are sent at once
_POLL = 0.1  # seconds between two checks of the results
_PAUSE = 0.01  # seconds until there may be room for them
# Less than this is read before further processes have started.
_SMALL_FILES, _SMALL_BYTES = 2_000, 100_000_000


Task = TypeVar("Task")
Result = TypeVar("Result")
Moved = Callable[[int], None]
"""A function that is called with the number of bytes done, again and again."""
Work = Callable[[Task, Moved], Result]
"""A function of a module that does a task, in this process or another."""


def are_many(files: int) -> bool:
    """Return whether a number of files justifies processes, even if the files are small."""
    return files >= _SMALL_FILES


class Pool(Protocol):
    """Running workers: an executor as in ``concurrent.futures`` that also reports bytes moved."""

    jobs: int

    @property
    def waiting(self) -> Collection[Future[Any]]:
        """The futures whose tasks are not done."""

    def submit(self, work: Work[Any, Any], task: Any, /) -> Future[Any]:
        """Submit a task, a call of ``work``."""

    def count(self, moved: Moved) -> None:
        """Report the bytes moved since the last call."""

    def wait(self) -> None:
        """Wait a moment for a result; raises ``TargetError`` if no result can come."""

    def shutdown(self) -> None:
        """End the work, finished or not."""


class Underway(Generic[Task, Result]):
    """Work in progress; ``is_beside`` if workers do it while this process does other work.

    Tasks in ``added`` are submitted before the remaining ones; it may grow while results are taken.
    """

    def __init__(
        self, work: Work[Task, Result], tasks: Iterator[Task], moved: Moved, pool: Pool | None = None
    ) -> None:
        self._work = work
        self.added: deque[Task] = deque()
        # Unlike a generator, a map continues after it has ended for now.
        self._tasks = map(_next, repeat(self.added), repeat(tasks))
        self._moved = moved
        self._pool = pool
        self._pending: deque[Future[Result]] = deque()
        self._finished: deque[Result] = deque()  # which come before those pending
        self.is_beside = pool is not None

    def submit_more(self) -> None:
        """Submit further tasks without waiting; raises as ``results`` does for a dead process."""
        if self._pool is not None:
            self._submit_tasks(self._pool)
            self._pool.count(self._moved)
            while self._pending and self._pending[0] not in self._pool.waiting:
                self._finished.append(self._pending.popleft().result())  # a future takes more memory

    def results(self) -> Generator[Result, None, None]:
        """Yield the results in the order of the tasks, once."""
        if (pool := self._pool) is None:
            yield from map(self._work, self._tasks, repeat(self._moved))
            return
        with closing(self):
            while True:
                while self._finished:
                    yield self._finished.popleft()
                # Results wait here until they are taken: a slow reader must not make them pile up.
                if len(self._pending) <= _WAITING * pool.jobs:
                    self._submit_tasks(pool)
                if not self._pending:
                    break
                while self._pending[0] in pool.waiting:
                    pool.count(self._moved)
                    pool.wait()
                pool.count(self._moved)
                yield self._pending.popleft().result()
            self._pool = None
            _release(pool)

    def close(self) -> None:
        """End the work, finished or not, and its workers."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _submit_tasks(self, pool: Pool) -> None:
        """Submit tasks until twice as many wait as there are workers."""
        for task in islice(self._tasks, max(0, 2 * pool.jobs + 1 - len(pool.waiting))):
            self._pending.append(pool.submit(self._work, task))


def _next(added: deque[Task], tasks: Iterator[Task]) -> Task:
    return added.popleft() if added else next(tasks)


class Executor:
    """The workers of a command: processes of this machine."""

    _least = 2  # tasks: one is done sooner than a process has started

    def useful(self, wanted: int | None, *, files: int, size: int) -> int:
        """Return the number of processes: ``wanted``, else as many as files and bytes justify."""
        if wanted is not None:
            return wanted
        return 1 if files < _SMALL_FILES and size < _SMALL_BYTES else os.cpu_count() or 1

    def of_large(self, jobs: int) -> int:
        """Return the number of processes for large files: one, with threads, keeps two cores busy."""
        return max(1, jobs // 2)

    def prepare(self, work: Callable[..., object], wanted: int | None, *, files: int) -> None:
        """Start processes for coming work with many files, in a block of ``keep``."""
        if not are_many(files) or not _kept.blocks:
            return
        jobs = self.useful(wanted, files=files, size=0)
        if jobs > 1 and all(each.jobs < jobs for each in _kept.pools):
            _kept.pools.append(pool := Processes(jobs))
            for _ in range(min(jobs, cores())):
                pool.submit(_import_work, work)

    def begin(
        self,
        work: Work[Task, Result],
        tasks: Iterable[Task],
        jobs: int,
        moved: Moved,
        *,
        is_growing: bool = False,
    ) -> Underway[Task, Result]:
        """Begin some work with up to ``jobs`` workers, if they pay; taking its results completes it.

        With ``is_growing`` they always pay, and ``tasks`` may pause until the first result is taken. The
        first error, in the order of the tasks, stops the rest and is raised; ``TargetError`` when a process
        was killed.
        """
        tasks = iter(tasks)
        begun = list(islice(tasks, self._least)) if jobs > 1 and not is_growing else []
        pool = self._open(jobs) if is_growing or len(begun) == self._least else None
        return Underway(work, chain(begun, tasks) if begun else tasks, moved, pool)

    def results(
        self, work: Work[Task, Result], tasks: Iterable[Task], jobs: int, moved: Moved
    ) -> Generator[Result, None, None]:
        """Yield the results of some work, in the order of the tasks, as ``begin`` describes."""
        yield from self.begin(work, tasks, jobs, moved).results()

    def _open(self, jobs: int) -> Pool:
        """Return the workers for some work."""
        return self.open_processes(jobs)

    def open_processes(self, jobs: int) -> Processes:
        """Return at least ``jobs`` processes: kept ones, or else new ones."""
        if (kept := next((each for each in _kept.pools if each.jobs >= jobs), None)) is None:
            return Processes(jobs)
        _kept.pools.remove(kept)
        return kept


HERE = Executor()
useful, of_large, prepare, results = HERE.useful, HERE.of_large, HERE.prepare, HERE.results


class _Kept(threading.local):
    """The processes that a thread keeps, in a number of blocks within each other."""

    def __init__(self) -> None:
        self.pools: list[Processes] = []
        self.blocks = 0


_kept = _Kept()


@contextmanager
def keep() -> Iterator[None]:
    """Keep processes that were started in the block for further work in it, until it ends.

    They are kept for the thread's work alone.
    """
    _kept.blocks += 1
    try:
        yield
    finally:
        _kept.blocks -= 1
        while _kept.pools and not _kept.blocks:
            _kept.pools.pop().shutdown()


def _release(pool: Pool) -> None:
    """End the processes whose work is done, or keep them in a block of ``keep``."""
    if _kept.blocks and isinstance(pool, Processes) and pool.fault is None:
        _kept.pools.append(pool)
    else:
        pool.shutdown()


class Processes:
    """Up to ``jobs`` worker processes of this machine; a ``Pool``.

    Each has a separate pipe, and a thread of this process that sends it one task after the other. A shared
    queue, as in Python's pools, would wait forever once a killed process held its lock; and this process
    shares no lock with its threads, which a signal could leave taken.
    """

    def __init__(self, jobs: int) -> None:
        # Slow to import, and most packages are too small for a second process.
        import multiprocessing  # noqa: PLC0415

        with _starting():
            begin_processes()
            # Not forked: the parent has threads (progress) and open databases, which a fork would copy
            # half-way.
            self._context = multiprocessing.get_context("spawn")
            # Every worker counts for itself.
            self._counts = self._context.RawArray("Q", jobs)
            self._stop = self._context.RawValue("b", 0)
        self._shown = 0
        self.jobs = jobs
        self.waiting: set[Future[Any]] = set()
        self.processes: list[SpawnProcess] = []
        self._begun = 0
        self._threads: list[threading.Thread] = []
        self._todo: SimpleQueue[tuple[Future[Any], tuple[Any, ...], SimpleQueue[Any]] | None] = SimpleQueue()
        self._arrived: SimpleQueue[None] = SimpleQueue()
        self.fault: Exception | None = None  # after which there are no further results

    def submit(
        self, work: Work[Any, Any], task: Any, /, parts: SimpleQueue[Any] | None = None
    ) -> Future[Any]:
        """Submit a task to a process that is free, or to a new one.

        ``parts`` gets the results that it sends before its end.
        """
        if self._begun < min(self.jobs, len(self.waiting) + 1):
            with _starting():
                threading.Thread(target=self._run_worker, args=(self._begun,), daemon=True).start()
            self._begun += 1
        from concurrent.futures import Future  # noqa: PLC0415 -- heavy; loaded while processes start

        self.waiting.add(future := Future[Any]())
        self._todo.put((future, (work, task), parts or SimpleQueue()))
        return future

    def count(self, moved: Moved) -> None:
        """Report the bytes moved since the last call."""
        counted = sum(self._counts)
        moved(counted - self._shown)
        self._shown = counted

    def wait(self) -> None:
        """Wait a moment for a result; raises ``TargetError`` when a process was killed."""
        if self.fault is not None:
            raise self.fault
        with suppress(Empty):
            self._arrived.get(timeout=_POLL)

    def shutdown(self) -> None:
        """End the processes, busy or not; it can be repeated where a signal ended it."""
        self._stop.value = 1
        with suppress(Empty):
            while True:
                self._todo.get_nowait()
        self._todo.put(None)
        for thread in self._threads:
            thread.join()
        for process in self.processes:
            process.join()

    def _run_worker(self, number: int) -> None:
        """Have a process do one task after the other, in a thread, until there are no more."""
        self._threads.append(threading.current_thread())  # here: a signal may end the starting
        worker = None
        while (todo := self._todo.get()) is not None:
            future, call, parts = todo
            try:
                worker = worker or self._start(number)
                result, error = self._answer(*worker, call, parts)
            except (EOFError, OSError):
                self.fault = error = TargetError(
                    "a worker process was killed",
                    hint="The machine may be out of memory: try fewer with -j 1.",
                )
                result = None
            except Exception as fault:  # noqa: BLE001 -- raised where the result is taken
                result, error = None, fault
                self.fault = error if worker is None else self.fault
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
            self.waiting.discard(future)
            self._arrived.put(None)
            # Else they would stay in memory until the next task comes.
            del todo, future, call, parts, result, error
        self._todo.put(None)  # for the next thread
        if worker is not None:
            worker[0].close()

    def _answer(
        self, pipe: Connection, process: SpawnProcess, call: tuple[Any, ...], parts: SimpleQueue[Any]
    ) -> tuple[Any, Exception | None]:
        """Return the result of a process's next task, or its error; raises ``EOFError`` if it ends.

        On Windows the pipe stays open if the process ended before it took its side of the pipe.
        """
        from multiprocessing import connection  # noqa: PLC0415 -- heavy

        pipe.send(call)
        try:
            while pipe in connection.wait([pipe, process.sentinel]):
                is_last, result, error = pipe.recv()
                if is_last:
                    return result, error
                self._put(parts, result)
        except Exception as fault:
            self.fault = fault  # the process may be sending more
            raise
        raise EOFError

    def _put(self, parts: SimpleQueue[Any], some: Any) -> None:
        """Put a part of a task's results into its queue, once there is room or the end."""
        while parts.qsize() >= _WAITING and not self._stop.value:
            time.sleep(_PAUSE)
        parts.put(some)
        self._arrived.put(None)

    def _start(self, number: int) -> tuple[Connection, SpawnProcess]:
        """Start a process; return it with the pipe to it.

        Handlers of signals run in another thread, and the process begins with signals held back: so it starts
        whole.
        """
        with HeldSignals(), _starting():
            pipe, theirs = self._context.Pipe()
            with theirs:
                given = theirs, self._counts, number, self._stop
                # It has no children of its own, and is ended should this process end without it.
                process = self._context.Process(target=_serve, args=given, daemon=True)
                process.start()
        self.processes.append(process)
        return pipe, process


class Here(Generic[Result]):
    """The results of ``work`` like those of ``Ahead``, computed by this process when taken.

    All are ready.
    """

    def __init__(self, work: Callable[..., Iterable[Result]], *given: object) -> None:
        self._results = iter(work(*given))

    def ready_results(self) -> Iterator[Result]:
        """Yield all results."""
        return self._results

    remaining_results = ready_results


class Ahead(Generic[Result]):
    """The results of ``work``, which a process of ``pool`` computes ahead of their reading.

    ``work`` is a function of a module and, like its arguments and results, sent from one process to the
    other. ``remaining_results`` raises the error of ``work``, and ``TargetError`` when the process was
    killed. Results are taken from works in their order, as one may wait for a process.
    """

    def __init__(self, pool: Processes, work: Callable[..., Iterable[Result]], *given: object) -> None:
        self._pool = pool
        self._parts: SimpleQueue[list[Result]] = SimpleQueue()
        self._end = pool.submit(_send_results, (work, given), self._parts)

    def ready_results(self) -> Iterator[Result]:
        """Yield the results that have arrived, without waiting; never raises."""
        while not self._parts.empty():
            yield from self._parts.get()

    def remaining_results(self) -> Iterator[Result]:
        """Yield all further results, waiting for each."""
        while self._end in self._pool.waiting:
            yield from self.ready_results()
            self._pool.wait()
        yield from self.ready_results()
        self._end.result()


@contextmanager
def ahead(jobs: int) -> Iterator[Callable[..., Ahead[Any]]]:
    """Give a function that begins work ahead in one of ``jobs`` processes, for a block.

    The processes end with the block if results are left.
    """
    pool = HERE.open_processes(jobs)
    try:
        yield partial(Ahead, pool)
    finally:
        if pool.waiting:
            for each in pool.processes:
                each.terminate()
            pool.shutdown()
        else:
            _release(pool)


# --- In a worker process ---


def _serve(pipe: Connection, counts: Any, number: int, stop: Any) -> None:
    """Run a worker process: do the tasks that come through the pipe, until it is closed."""
    import multiprocessing  # noqa: PLC0415 -- heavy, though not here: it began this process

    # Ctrl-C reaches every process of the terminal; only the parent decides on its meaning.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    let_signals_through()
    _parent.append(multiprocessing.parent_process())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if sys.gettrace() is None:  # a tool that measures coverage writes its file at the regular end
        from multiprocessing import util  # noqa: PLC0415 -- loaded in a worker

        # Nothing is left to do, and tearing down all modules takes longer than many a task.
        util.Finalize(None, os._exit, (0,), exitpriority=-100)  # noqa: SLF001 -- a function for all
    _pipe.append(pipe)
    unreported = 0

    def moved(amount: int, least: int = _REPORTED) -> None:
        nonlocal unreported
        unreported += amount
        if unreported >= least:
            counts[number] += unreported
            unreported = 0
            if stop.value:
                raise Stopped

    with suppress(EOFError, OSError):  # the parent wants no more, or is gone
        while True:
            outcome = _outcome(moved, *pipe.recv())
            try:
                pipe.send((True, *outcome))
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 -- what cannot be sent
                pipe.send((True, None, error))


def _end_with_parent() -> None:
    """End this process when the parent is gone, which may have been killed."""
    _parent[0].join()
    os._exit(1)  # noqa: SLF001 -- as above


def _outcome(moved: Callable[..., None], work: Work[Any, Any], task: Any) -> tuple[Any, Exception | None]:
    """Do a task; return its result, or its error with the traceback in this process."""
    try:
        result = work(task, moved)
        moved(0, least=0)
    except Exception as error:  # noqa: BLE001 -- raised in the parent
        if not isinstance(error, (MetspackError, Stopped)):
            import traceback  # noqa: PLC0415 -- heavy

            error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return None, error
    return result, None


def _import_work(_work: Callable[..., object], _moved: Moved) -> None:
    """Return at once: receiving the work has imported its module."""


def _send_results(
    begun: tuple[Callable[..., Iterable[Result]], tuple[object, ...]], moved: Callable[..., None]
) -> None:
    """Send the results of some work, some at a time."""
    work, given = begun
    results = iter(work(*given))
    while some := list(islice(results, _SENT)):
        moved(0, least=0)
        _pipe[0].send((False, some, None))


class Stopped(Exception):  # noqa: N818 -- not an error, but a request of the parent
    """The parent no longer wants the result."""


_parent: list[Any] = []  # of a worker
_pipe: list[Any] = []  # from a worker to its parent


# --- In any process ---


def has_parent() -> bool:
    """Return whether the parent process of a worker is alive; True outside a worker."""
    return all(each.is_alive() for each in _parent)


@contextmanager
def _starting() -> Iterator[None]:
    """Raise ``TargetError`` where the system starts no process or thread in the block."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        hint = "It allows no more processes, open files or memory (ulimit -a): use fewer with -j 1."
        raise TargetError(f"no further process can be started on this machine: {error}", hint=hint) from error
