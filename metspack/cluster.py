"""Work on a cluster of Dask: the check of its workers, their tasks and their results.

A worker gets paths and offsets, never bytes, and each attempt at a task writes into a separate folder. Only
this process accepts a result, once: so a task that is done twice, after a worker died or was slow, gives the
same result.
"""

from __future__ import annotations

import re
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from metspack.errors import ConfigError, MetspackError, TargetError, check_available
from metspack.processes import Executor, Moved, Pool, Result, Stopped, Task, Work
from metspack.progress import Credit
from metspack.resources import __version__
from metspack.sizes import counted
from metspack.system import os

if TYPE_CHECKING:
    from concurrent.futures import Future

FORMS = "tcp://HOST:PORT or local:N"
"""The forms of a cluster's address."""

_ADDRESS = re.compile(r"tcp://(?:[^\s/:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
_ANSWER = 10.0  # seconds in which a scheduler answers
_PATIENCE = 60.0  # seconds for which a cluster may be without any worker: they may be starting again
_TRIES = 3  # to fetch a result, or to reach a worker
_ENDING = 10.0  # seconds in which a worker notices that its task is no longer wanted
_RETRY_AFTER = 1.0  # seconds before workers are checked again after one could not be reached
_POLL = 0.1  # seconds between two checks for results
_LIST_EVERY = 3.0  # seconds between two requests for the list of workers
_REPORTED = 1 << 18  # bytes that a worker moves before it checks whether they are still wanted
_PAUSE = 0.5  # seconds between two progress reports of a worker
_CRITICAL = 50  # logging.CRITICAL, whose module is slow to import
_NAMED = 5  # workers that a message names
_AGAIN = "Start it again (dask scheduler, dask worker) and run the same command again."


SharedPath = tuple[str, tuple[int, ...]]
"""A path that every worker must see, and its stamp: inode, and size and time of a file."""


def shared_path(path: Path) -> SharedPath:
    """Return a path with the stamp that this process finds there; raises ``OSError``."""
    return (full := os.path.abspath(path)), _stamp(full)


def _stamp(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    # The number of a device differs from machine to machine, and a folder changes while it is worked in.
    return (found.st_ino,) if os.path.isdir(path) else (found.st_ino, found.st_size, found.st_mtime_ns)


_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTerms:
    """The versions that a worker must have, and the paths that it must see.

    ``address`` is the cluster's. ``wanted`` is a file that exists as long as the work is wanted; where it is
    "", Dask's state of the task counts. A worker checks ``paths`` once for each ``run``.
    """

    address: str
    version: str = __version__
    python: str = _PYTHON
    wanted: str = ""
    run: str = ""
    paths: tuple[SharedPath, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWork(Generic[Task, Result]):
    """The functions that workers call for a task, and this process for its result.

    Workers call ``work``, a function of a module; None stands for the submitted function. This process calls
    the others: ``finished`` returns the result of a task that an earlier run finished, or None; ``accept``
    makes the result from a worker's value and name, once for each task; where it ``doubts`` a value, it does
    the task itself. ``stop`` removes the file ``wanted``, which stops the workers; ``clear`` removes the
    files that they left.
    """

    work: Work[Task, Any] | None = None
    finished: Callable[[Task], Result | None] = lambda _task: None
    accept: Callable[[Task, Any, str], Result] = lambda _task, made, _worker: made
    doubts: Callable[[Any], bool] = lambda _made: False
    wanted: Path | None = None
    stop: Callable[[], None] = lambda: None
    clear: Callable[[], None] = lambda: None


class _TaskEnd(NamedTuple):
    """The end of a task on a worker: its result and bytes, or an error."""

    worker: str
    result: Any = None
    moved: int = 0
    error: MetspackError | None = None


class _NoAnswerError(TargetError):
    """The scheduler has not answered in time."""


def unique_name() -> str:
    """Return a unique name for a run or an attempt; no output contains it."""
    return os.urandom(8).hex()


def connect(
    address: str | None, credit: Credit = lambda _workers: None
) -> AbstractContextManager[Cluster | None]:
    """Return a context manager that gives the cluster, or None without an address.

    ``credit`` is called with the bytes done by each worker. Raises ``ConfigError`` for an invalid address and
    where Dask is not installed, ``TargetError`` where no scheduler answers.
    """
    if address is not None:
        check_available("--cluster")
    return nullcontext() if address is None else closing(Cluster(address, credit))


class Cluster:
    """A Dask scheduler that answers, with its workers; ``local:N`` starts one here.

    Raises ``ConfigError`` and ``TargetError``.
    """

    def __init__(self, address: str, credit: Credit = lambda _workers: None) -> None:
        if not _ADDRESS.fullmatch(address) and not _LOCAL.fullmatch(address):
            raise ConfigError(
                f"--cluster {address!r} is not {FORMS}",
                hint="Name a Dask scheduler as tcp://HOST:PORT, or local:4 for four workers on this machine.",
            )
        self.address = address
        self.moved: Counter[str] = Counter()  # by worker, in tasks that were accepted
        self.credit = credit
        self._local: Any = None
        self.client: Any = None
        try:
            with _quiet():
                self._connect(_library())
            self.check(WorkerTerms(address=address))
        except BaseException:
            self.close()
            raise

    def _connect(self, distributed: Any) -> None:
        try:
            if (local := _LOCAL.fullmatch(self.address)) is not None:
                self._local = distributed.LocalCluster(
                    n_workers=int(local[1]),
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=None,
                    silence_logs=_CRITICAL,
                )
            self.client = distributed.Client(
                self._local or self.address, timeout=_ANSWER, set_as_default=False, name="metspack"
            )
            self.jobs = len(self.call(self.client.ncores))
        except (OSError, ValueError, RuntimeError) as error:
            raise TargetError(
                f"no Dask scheduler answers at {self.address} within {_ANSWER:.0f} seconds",
                hint="Start one (dask scheduler), or name the address that it printed.",
            ) from error

    def check(self, terms: WorkerTerms) -> None:
        """Raise ``TargetError`` unless there are workers and all of them are fit."""
        answers = self._answers(terms)
        for _ in range(1, _TRIES):
            if any(isinstance(answer, OSError) for answer in answers.values()):
                time.sleep(_RETRY_AFTER)  # in which the scheduler notices who is dead
                answers = self._answers(terms)
        if not answers:
            raise TargetError(
                f"the cluster at {self.address} has no workers",
                hint="Start some on machines that see the same files: "
                f"dask worker {self.address} --nthreads 1",
            )
        if unfit := [_answer_fault(worker, answer) for worker, answer in sorted(answers.items()) if answer]:
            raise _refusal(self.address, unfit)

    def _answers(self, terms: WorkerTerms) -> dict[str, str | Exception]:
        """Return each worker's answer: why it is unfit, "" when it is fit, or an error."""
        try:
            with _quiet():
                return dict(self.call(self.client.run, _worker_fault, terms, on_error="return"))
        except _NoAnswerError:
            raise TargetError(
                f"the workers at {self.address} do not all answer within {counted(int(_PATIENCE), 'second')}",
                hint="End the one that stands still, and run the same command again.",
            ) from None

    def call(self, function: Callable[..., Any], *given: object, **named: object) -> Any:
        """Call a function of the client and return its result, within ``_PATIENCE`` seconds.

        Raises ``TargetError`` when the scheduler is gone or does not answer.
        """
        from concurrent.futures import CancelledError  # noqa: PLC0415 -- heavy, though Dask has loaded it

        pending = self.begin(_call(function, *given, **named))
        try:
            return pending.result(_PATIENCE)
        except (CancelledError, OSError, RuntimeError, ValueError) as error:
            kind = TargetError if pending.done() else _NoAnswerError
            pending.cancel()
            raise self.lost_scheduler(kind) from error

    def begin(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Begin a coroutine in the client's loop, and return its future."""
        import asyncio  # noqa: PLC0415 -- heavy, though Dask has loaded it

        return asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)

    def lost_scheduler(self, kind: type[TargetError] = TargetError) -> TargetError:
        """Return the error for a scheduler that no longer answers."""
        return kind(f"the Dask scheduler at {self.address} no longer answers", hint=_AGAIN)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        with _quiet():
            for each in filter(None, (self.client, self._local)):
                with suppress(Exception):  # its errors no longer matter
                    each.close(timeout=_ENDING)
        self.client = self._local = None


class ClusterExecutor(Executor):
    """The executor of a cluster's workers; ``opening`` opens their pool."""

    _least = 1

    def __init__(self, cluster: Cluster, opening: Callable[[], ClusterPool[Any, Any]]) -> None:
        self._cluster = cluster
        self._opening = opening

    def useful(self, wanted: int | None, *, files: int, size: int) -> int:  # noqa: ARG002 -- all workers help
        """Return the number of workers, at least 2: with 1 this process would do the work."""
        return max(2, self._cluster.jobs)

    def of_large(self, jobs: int) -> int:
        """Return the number for large files: all, as each worker is one process."""
        return jobs

    def prepare(self, work: Callable[..., object], wanted: int | None, *, files: int) -> None:
        """Return at once: the workers run already."""

    def _open(self, jobs: int) -> Pool:  # noqa: ARG002 -- all workers are in one pool
        return self._opening()


@dataclass(slots=True)
class _Submitted:
    """A submitted task: Dask's future, ``given``, and the future of its fetched ``end``.

    ``moved`` are the bytes that its ``worker`` has done so far.
    """

    key: str
    task: Any
    work: Work[Any, Any]
    given: Any
    end: Future[_TaskEnd]
    worker: str = ""
    moved: int = 0


class ClusterPool(Generic[Task, Result]):
    """The workers of a cluster, each checked to be fit for the work; a ``processes.Pool``.

    They must see ``paths``. Raises ``TargetError`` for an unfit worker.
    """

    def __init__(
        self, cluster: Cluster, remote: RemoteWork[Task, Result], paths: Sequence[SharedPath]
    ) -> None:
        wanted, run = str(remote.wanted or ""), f"metspack-{unique_name()}"
        self._terms = WorkerTerms(address=cluster.address, wanted=wanted, run=run, paths=tuple(paths))
        cluster.check(self._terms)
        self._cluster = cluster
        self._client = cluster.client
        self._remote = remote
        self._numbers = count()
        self.waiting: dict[Future[Result], _Submitted] = {}
        self._moved = self._shown = 0
        self._changed = threading.Event()
        self._requested = self._seen = time.monotonic()
        self.jobs = cluster.jobs
        self._client.subscribe_topic(run, self._take_report)

    def submit(self, work: Work[Task, Result], task: Task, /) -> Future[Result]:
        """Submit a task, unless an earlier run finished it."""
        from concurrent.futures import Future  # noqa: PLC0415 -- heavy, though Dask has loaded it

        future = Future[Result]()
        if (result := self._remote.finished(task)) is not None:
            future.set_result(result)
            return future
        key = f"{self._terms.run}-{next(self._numbers)}"
        remote = self._remote.work or work
        with _quiet():
            try:
                given = self._client.submit(_run, self._terms, remote, task, key, key=key, pure=False)
            except (OSError, RuntimeError) as error:
                raise self._cluster.lost_scheduler() from error
        # Ends are fetched at once: what a worker that dies later had done is here by then.
        end = self._cluster.begin(_fetch(self._client, given))
        end.add_done_callback(lambda _: self._changed.set())
        self.waiting[future] = _Submitted(key, task, work, given, end)
        return future

    def count(self, moved: Moved) -> None:
        """Accept finished tasks, and report the bytes moved since the last call."""
        for future, submitted in list(self.waiting.items()):
            if submitted.given.status == "cancelled" or submitted.end.cancelled():
                raise self._cluster.lost_scheduler()
            if submitted.end.done():
                self._take(future, submitted)
        # Bytes that two workers moved, as the first one died, are reported once.
        shares, done = self._cluster.moved.copy(), self._moved
        for submitted in self.waiting.values():
            if submitted.moved:
                shares[submitted.worker] += submitted.moved
                done += submitted.moved
        if done > self._shown:
            self._cluster.credit(dict(sorted(shares.items())))
            moved(done - self._shown)
            self._shown = done

    def wait(self) -> None:
        """Wait a moment for a result; raises ``TargetError`` without a scheduler or workers.

        Workers may be away for ``_PATIENCE``.
        """
        if self._client.status not in {"running", "connecting"}:
            raise self._cluster.lost_scheduler()
        if (now := time.monotonic()) - self._requested >= _LIST_EVERY:
            self._requested = now
            with _quiet():
                if self._cluster.call(self._client.ncores):
                    self._seen = now
            if now - self._seen > _PATIENCE:
                raise TargetError(
                    f"the cluster at {self._cluster.address} has had no workers for {_PATIENCE:.0f} seconds",
                    hint=_AGAIN,
                )
        self._changed.wait(_POLL)
        self._changed.clear()

    def shutdown(self) -> None:
        """Stop the submitted tasks, and remove their unfinished results."""
        self._remote.stop()
        left = [submitted.given for submitted in self.waiting.values()]
        self.waiting.clear()
        is_noticed = self._terms.wanted and self._client.status == "running"
        latest = time.monotonic() + _ENDING if is_noticed else 0
        with _quiet(), suppress(Exception):  # an unwanted task must not make the end fail
            while time.monotonic() < latest and not all(each.done() for each in left):
                time.sleep(_POLL)
            self._cluster.call(self._client.cancel, left, force=True)
            self._client.unsubscribe_topic(self._terms.run)
        self._remote.clear()

    def _take(self, future: Future[Result], submitted: _Submitted) -> None:
        """Take the fetched end of a task, or the error of fetching it."""
        outcome = submitted.end.exception() or submitted.end.result()
        if isinstance(outcome, BaseException) and submitted.given.status != "error":
            raise self._cluster.lost_scheduler() from outcome
        # Else Dask would do the task again if its worker died.
        submitted.given.release()
        del self.waiting[future]
        self._changed.set()
        if isinstance(outcome, BaseException):
            future.set_exception(_failure(outcome))
        elif outcome.error is not None:
            future.set_exception(outcome.error)
        elif self._remote.doubts(outcome.result):
            future.set_result(submitted.work(submitted.task, self._add))
        else:
            future.set_result(self._remote.accept(submitted.task, outcome.result, outcome.worker))
            self._add(outcome.moved)
            self._cluster.moved[outcome.worker] += outcome.moved

    def _add(self, moved: int) -> None:
        self._moved += moved

    def _take_report(self, event: Any) -> None:
        """Take a worker's progress report; called in a thread of Dask's."""
        _when, report = event
        for submitted in list(self.waiting.values()):
            if submitted.key == report["key"] and report["bytes"] > submitted.moved:
                submitted.worker, submitted.moved = report["worker"], report["bytes"]


async def _call(function: Callable[..., Any], *given: object, **named: object) -> Any:
    """Call a function of the client in the client's loop, and return its result."""
    return await function(*given, **named)


async def _fetch(client: Any, given: Any) -> _TaskEnd:
    """Fetch the end of a task from its worker; raises the error of the last try."""
    import asyncio  # noqa: PLC0415 -- heavy, though Dask has loaded it

    ended = asyncio.Event()
    given.add_done_callback(lambda _: client.loop.add_callback(ended.set))
    await ended.wait()
    tries = 0
    while True:
        try:
            # Dask takes a worker that stands still for dead, but leaves earlier requests to it unanswered.
            end: _TaskEnd = await asyncio.wait_for(client.gather(given, asynchronous=True), _PATIENCE)
        except Exception:
            if given.status == "error" or tries == _TRIES:
                raise
            tries += given.done()  # otherwise another worker does the task
        else:
            return end


def _failure(error: Any) -> Exception:
    """Return the exception for a task that ended without a result from a worker."""
    if type(error).__name__ == "KilledWorker":
        return TargetError(
            f"workers of the cluster died again and again at one task, the last one {error.last_worker.name}",
            hint="Their machines may be out of memory: see Dask's log there.",
        )
    return error if isinstance(error, Exception) else RuntimeError(str(error))


def _answer_fault(worker: str, answer: str | Exception) -> str:
    """Return why a worker is unfit, from its answer."""
    if isinstance(answer, OSError):
        return f"{worker} does not answer: {answer}"
    if isinstance(answer, Exception):
        return f"{worker} has no metspack {__version__}: {answer}"
    return answer


def _refusal(address: str, unfit: Sequence[str]) -> TargetError:
    first, *others = unfit
    more = f", and {counted(len(others), 'other worker')} of no use" if others else ""
    return TargetError(
        f"the cluster at {address} cannot be used: {first}{more}",
        hint="All workers need the same metspack and Python as this command, one thread each (dask worker "
        "--nthreads 1), and all files of the command under the same paths.",
        details=others[:_NAMED],
    )


# --- On a worker ---


_checked_runs: set[str] = set()  # the runs whose shared paths this worker has checked


def _worker_fault(terms: WorkerTerms, dask_worker: Any) -> str:
    """Return the reason why this worker is unfit, or ""."""
    name, threads = dask_worker.name, dask_worker.state.nthreads
    if threads != 1:
        return f"worker {name} has {threads} threads, expected one in a process"
    if __version__ != terms.version:
        return f"worker {name} has metspack {__version__}, expected {terms.version}"
    if terms.python != _PYTHON:
        return f"worker {name} runs Python {_PYTHON}, expected {terms.python}"
    if terms.wanted and not os.path.lexists(terms.wanted):
        return f"worker {name} does not see the target's folder: {terms.wanted} is not there"
    if terms.run not in _checked_runs:
        if unseen := next(filter(None, (_path_fault(name, *each) for each in terms.paths)), ""):
            return unseen
        _checked_runs.add(terms.run)
    return ""


def _path_fault(name: str, path: str, stamp: tuple[int, ...]) -> str:
    """Return why this worker does not see a shared path as its client does, or ""."""
    try:
        is_same = _stamp(path) == stamp
    except OSError as error:
        return f"worker {name} does not see {path}: {error.strerror or error}"
    return "" if is_same else f"worker {name} sees something else at {path} than this machine does"


def _run(terms: WorkerTerms, work: Work[Any, Any], task: Any, key: str) -> _TaskEnd:
    """Do a task on a worker; errors of the work are returned, with the worker's name."""
    import distributed  # noqa: PLC0415 -- as everywhere: this is a worker

    worker = distributed.get_worker()
    name = str(worker.name)
    if unfit := _worker_fault(terms, worker):
        return _TaskEnd(name, error=_refusal(terms.address, [unfit]))
    done = unreported = 0
    reported = time.monotonic()

    def moved(amount: int) -> None:
        nonlocal done, unreported, reported
        done += amount
        unreported += amount
        if unreported < _REPORTED:
            return
        unreported = 0
        if not (os.path.lexists(terms.wanted) if terms.wanted else _is_wanted(worker, key)):
            raise Stopped
        if (now := time.monotonic()) - reported > _PAUSE:
            reported = now
            worker.log_event(terms.run, {"key": key, "worker": name, "bytes": done})

    try:
        result = work(task, moved)
    except MetspackError as error:
        message = f"{error.message} (worker {name})"
        return _TaskEnd(name, error=type(error)(message, hint=error.hint, details=error.details))
    return _TaskEnd(name, result, done)


def _is_wanted(worker: Any, key: str) -> bool:
    """Return whether Dask still wants the result of this worker's task."""
    state = worker.state.tasks.get(key)
    return state is not None and state.state != "cancelled"


# --- Dask itself ---


def _library() -> Any:
    try:
        import logging  # noqa: PLC0415 -- the library's alone

        import distributed  # noqa: PLC0415 -- large and optional: for those who ask for a cluster
    except ImportError:
        raise ConfigError(
            "distributed, through which work goes to a cluster, is not installed",
            hint="pip install 'metspack[cluster]', or leave --cluster out.",
        ) from None
    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in {"asyncio", "distributed", "tornado"}:
            logging.getLogger(name).setLevel(_CRITICAL)  # what matters of it is raised here
    return distributed


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress Dask's warnings: this module checks and reports what matters of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
