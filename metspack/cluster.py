"""Work on a cluster of Dask: the check of its workers, their tasks and their results.

A worker gets paths and offsets, never bytes, and each attempt at a task writes into a folder of its own:
only this process accepts a result, once. So the result is the same when a worker dies, when one is slow and
another does its task again, and when a task is done twice.
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
_TRIES = 3  # after which a result that cannot be fetched, or a worker that is not reached, is given up
_ENDING = 10.0  # seconds in which a worker notices that its task is no longer wanted
_REST = 1.0  # seconds before workers are checked again after one could not be reached
_LOOK = 0.1  # seconds between two looks at the results
_ASK = 3.0  # seconds between two requests for the list of workers
_REPORTED = 1 << 18  # bytes that a worker moves before it looks whether they are still wanted
_PAUSE = 0.5  # seconds between two progress reports of a worker
_CRITICAL = 50  # logging.CRITICAL, whose module is slow to import
_NAMED = 5  # workers that a message names
_AGAIN = "Start it again (dask scheduler, dask worker) and run the same command again."


Sight = tuple[str, tuple[int, ...]]
"""A path that every worker must see, and the stamp of its file; of a folder the inode."""


def sight_of(path: Path) -> Sight:
    """Return what this process sees at a path; raises ``OSError``."""
    return (full := os.path.abspath(path)), _stamp(full)


def _stamp(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    # The number of a device differs from machine to machine, and a folder changes while it is worked in.
    is_folder = os.path.isdir(path)
    return (found.st_ino,) if is_folder else (found.st_ino, found.st_size, found.st_mtime_ns)


_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTerms:
    """The versions that a worker must have, and the paths that it must see.

    ``address`` is the cluster's. ``wanted`` is a file that exists while the work is wanted, "" to ask Dask
    instead. ``run`` names the work, and a worker checks ``sights`` once for it.
    """

    address: str
    version: str = __version__
    python: str = _PYTHON
    wanted: str = ""
    run: str = ""
    sights: tuple[Sight, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWork(Generic[Task, Result]):
    """The workers' side of some work, and the treatment of their results.

    Each worker calls ``work``, a function of a module, or for None the function given out. ``known`` returns
    the result of a task that needs no worker, else None. ``accept`` makes the result from the value that a
    worker returned, and gets the worker's name; this process calls it once for each task, or does the task
    itself where it ``doubts`` the value. ``stop`` removes the file ``wanted``, without which workers give up;
    ``clear`` removes the files that they left.
    """

    work: Work[Task, Any] | None = None
    known: Callable[[Task], Result | None] = lambda _task: None
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


class _SilentError(TargetError):
    """The cluster's answer is overdue."""


def unique_name() -> str:
    """Return a unique name for a run or an attempt, which no output shows."""
    return os.urandom(8).hex()


def opened(
    address: str | None, credit: Credit = lambda _workers: None
) -> AbstractContextManager[Cluster | None]:
    """Return what gives a cluster for the length of a block, or None without an address.

    ``credit`` gets the bytes done by each worker. Raises ``ConfigError`` for an invalid address and where
    Dask is not installed, ``TargetError`` where no scheduler answers.
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
            self.jobs = len(self.ask(self.client.ncores))
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
                time.sleep(_REST)  # in which the scheduler notices who is dead
                answers = self._answers(terms)
        if not answers:
            raise TargetError(
                f"the cluster at {self.address} has no workers",
                hint="Start some on machines that see the same files: "
                f"dask worker {self.address} --nthreads 1",
            )
        if unfit := [_fault(worker, answer) for worker, answer in sorted(answers.items()) if answer]:
            raise _refusal(self.address, unfit)

    def _answers(self, terms: WorkerTerms) -> dict[str, str | Exception]:
        """Return each worker's answer: why it is unfit, "" when it is fit, or an error."""
        try:
            with _quiet():
                return dict(self.ask(self.client.run, _unfitness, terms, on_error="return"))
        except _SilentError:
            raise TargetError(
                f"the workers at {self.address} do not all answer within {counted(int(_PATIENCE), 'second')}",
                hint="End the one that stands still, and run the same command again.",
            ) from None

    def ask(self, function: Callable[..., Any], *given: object, **named: object) -> Any:
        """Return the result of a client's function, waiting for ``_PATIENCE`` seconds at most.

        Raises ``TargetError`` when the scheduler is gone or silent.
        """
        from concurrent.futures import CancelledError  # noqa: PLC0415 -- heavy, though Dask has loaded it

        coming = self.begun(_called(function, *given, **named))
        try:
            return coming.result(_PATIENCE)
        except (CancelledError, OSError, RuntimeError, ValueError) as error:
            kind = TargetError if coming.done() else _SilentError
            coming.cancel()
            raise self.gone(kind) from error

    def begun(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Begin a coroutine in the client's loop, and return its future."""
        import asyncio  # noqa: PLC0415 -- heavy, though Dask has loaded it

        return asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)

    def gone(self, kind: type[TargetError] = TargetError) -> TargetError:
        """Return the error of a scheduler that no longer answers."""
        return kind(f"the Dask scheduler at {self.address} no longer answers", hint=_AGAIN)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        with _quiet():
            for each in (self.client, self._local):
                if each is not None:
                    with suppress(Exception):  # its errors no longer matter
                        each.close(timeout=_ENDING)
        self.client = self._local = None


class ClusterExecutor(Executor):
    """A cluster's workers in place of this machine's processes; ``opening`` gives their pool."""

    _least = 1

    def __init__(self, cluster: Cluster, opening: Callable[[], ClusterPool[Any, Any]]) -> None:
        self._cluster = cluster
        self._opening = opening

    def useful(self, wanted: int | None, *, files: int, size: int) -> int:
        """Return the number of workers, at least 2: 1 would stand for this process."""
        del wanted, files, size
        return max(2, self._cluster.jobs)

    def of_large(self, jobs: int) -> int:
        """Return how many to use for large files: all, as each worker is one process."""
        return jobs

    def prepare(self, work: Callable[..., object], wanted: int | None, *, files: int) -> None:
        """Accept the call: the workers run already."""

    def _open(self, jobs: int) -> Pool:
        del jobs
        return self._opening()


@dataclass(slots=True)
class _Errand:
    """A submitted task, Dask's future for it, and the future of its end, fetched at once.

    ``moved`` are the bytes done so far by the ``worker`` that does it.
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

    They must see ``sights``. Raises ``TargetError`` for an unfit worker.
    """

    def __init__(self, cluster: Cluster, remote: RemoteWork[Task, Result], sights: Sequence[Sight]) -> None:
        wanted, run = str(remote.wanted or ""), f"metspack-{unique_name()}"
        self._terms = WorkerTerms(address=cluster.address, wanted=wanted, run=run, sights=tuple(sights))
        cluster.check(self._terms)
        self._cluster = cluster
        self._client = cluster.client
        self._remote = remote
        self._numbers = count()
        self.waiting: dict[Future[Result], _Errand] = {}
        self._moved = self._shown = 0
        self._changed = threading.Event()
        self._requested = self._seen = time.monotonic()
        self.jobs = cluster.jobs
        self._client.subscribe_topic(run, self._hear)

    def submit(self, work: Work[Task, Result], task: Task, /) -> Future[Result]:
        """Give out a task, unless its result is known."""
        from concurrent.futures import Future  # noqa: PLC0415 -- heavy, though Dask has loaded it

        future = Future[Result]()
        if (known := self._remote.known(task)) is not None:
            future.set_result(known)
            return future
        key = f"{self._terms.run}-{next(self._numbers)}"
        remote = self._remote.work or work
        with _quiet():
            try:
                given = self._client.submit(_run, self._terms, remote, task, key, key=key, pure=False)
            except (OSError, RuntimeError) as error:
                raise self._cluster.gone() from error
        # Ends are fetched side by side: a worker that dies later has none that is wanted.
        end = self._cluster.begun(_fetched(self._client, given))
        end.add_done_callback(lambda _: self._changed.set())
        self.waiting[future] = _Errand(key, task, work, given, end)
        return future

    def count(self, moved: Moved) -> None:
        """Accept finished tasks, and report the bytes moved since the last call."""
        for future, errand in list(self.waiting.items()):
            if errand.given.status == "cancelled" or errand.end.cancelled():
                raise self._cluster.gone()
            if errand.end.done():
                self._take(future, errand)
        # Bytes that were moved twice, as a worker died, are reported once.
        shares, done = self._cluster.moved.copy(), self._moved
        for errand in self.waiting.values():
            if errand.moved:
                shares[errand.worker] += errand.moved
                done += errand.moved
        if done > self._shown:
            self._cluster.credit(dict(sorted(shares.items())))
            moved(done - self._shown)
            self._shown = done

    def wait(self) -> None:
        """Wait a moment for a result; raises ``TargetError`` without a scheduler or workers.

        Workers may be away for ``_PATIENCE``.
        """
        if self._client.status not in {"running", "connecting"}:
            raise self._cluster.gone()
        if (now := time.monotonic()) - self._requested >= _ASK:
            self._requested = now
            with _quiet():
                if self._cluster.ask(self._client.ncores):
                    self._seen = now
            if now - self._seen > _PATIENCE:
                raise TargetError(
                    f"the cluster at {self._cluster.address} has had no workers for {_PATIENCE:.0f} seconds",
                    hint=_AGAIN,
                )
        self._changed.wait(_LOOK)
        self._changed.clear()

    def shutdown(self) -> None:
        """Stop the submitted tasks, and remove their unfinished results."""
        self._remote.stop()
        left = [errand.given for errand in self.waiting.values()]
        self.waiting.clear()
        is_noticed = self._terms.wanted and self._client.status == "running"
        latest = time.monotonic() + _ENDING if is_noticed else 0
        with _quiet(), suppress(Exception):  # an unwanted task must not make the end fail
            while time.monotonic() < latest and not all(each.done() for each in left):
                time.sleep(_LOOK)
            self._cluster.ask(self._client.cancel, left, force=True)
            self._client.unsubscribe_topic(self._terms.run)
        self._remote.clear()

    def _take(self, future: Future[Result], errand: _Errand) -> None:
        """Take the end of a task, which was fetched or could not be."""
        outcome = errand.end.exception() or errand.end.result()
        if isinstance(outcome, BaseException) and errand.given.status != "error":
            raise self._cluster.gone() from outcome
        # Dask would do it again if its worker died, as long as the result is wanted.
        errand.given.release()
        del self.waiting[future]
        self._changed.set()
        if isinstance(outcome, BaseException):
            future.set_exception(_failure(outcome))
        elif outcome.error is not None:
            future.set_exception(outcome.error)
        elif self._remote.doubts(outcome.result):
            future.set_result(errand.work(errand.task, self._add))
        else:
            future.set_result(self._remote.accept(errand.task, outcome.result, outcome.worker))
            self._add(outcome.moved)
            self._cluster.moved[outcome.worker] += outcome.moved

    def _add(self, moved: int) -> None:
        self._moved += moved

    def _hear(self, event: Any) -> None:
        """Take a worker's progress report; called in a thread of Dask's."""
        _when, report = event
        for errand in list(self.waiting.values()):
            if errand.key == report["key"] and report["bytes"] > errand.moved:
                errand.worker, errand.moved = report["worker"], report["bytes"]


async def _called(function: Callable[..., Any], *given: object, **named: object) -> Any:
    """Return the result of a client's function, awaited in the client's loop."""
    return await function(*given, **named)


async def _fetched(client: Any, given: Any) -> _TaskEnd:
    """Return the end of a task, fetched from its worker; raises the error of the last try."""
    import asyncio  # noqa: PLC0415 -- heavy, though Dask has loaded it

    ended = asyncio.Event()
    given.add_done_callback(lambda _: client.loop.add_callback(ended.set))
    await ended.wait()
    tries = 0
    while True:
        try:
            # A worker that stands still is taken for dead, but earlier requests to it stay unanswered.
            end: _TaskEnd = await asyncio.wait_for(client.gather(given, asynchronous=True), _PATIENCE)
        except Exception:
            if given.status == "error" or tries == _TRIES:
                raise
            tries += given.done()  # otherwise another worker is at it
        else:
            return end


def _failure(error: Any) -> Exception:
    """Return the exception for an error that no worker could return."""
    if type(error).__name__ == "KilledWorker":
        return TargetError(
            f"workers of the cluster died again and again at one task, the last one {error.last_worker.name}",
            hint="Their machines may be out of memory; what Dask logged there says more.",
        )
    return error if isinstance(error, Exception) else RuntimeError(str(error))


def _fault(worker: str, answer: str | Exception) -> str:
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


_sighted: set[str] = set()  # the runs whose sights this worker has checked


def _unfitness(terms: WorkerTerms, dask_worker: Any) -> str:
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
    if terms.run not in _sighted:
        if unseen := next(filter(None, (_blindness(each, name) for each in terms.sights)), ""):
            return unseen
        _sighted.add(terms.run)
    return ""


def _blindness(sight: Sight, name: str) -> str:
    """Return why this worker lacks a sight, "" when it sees the same as its client."""
    path, stamp = sight
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
    if unfit := _unfitness(terms, worker):
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
        if not (os.path.lexists(terms.wanted) if terms.wanted else _is_held(worker, key)):
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


def _is_held(worker: Any, key: str) -> bool:
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
