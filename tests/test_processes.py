"""Work shared by processes: order, progress, and how workers begin and end."""

import errno
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import pytest

from metspack import processes
from metspack.errors import TargetError


def moved_in_turn(sizes: tuple[int, ...], moved: processes.Moved) -> int:
    """Work that moves as many bytes as its task says."""
    for size in sizes:
        moved(size)
    return sum(sizes)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_with_all_bytes_counted(jobs: int) -> None:
    amounts: list[int] = []
    tasks = [(number,) * 3 for number in range(7)]
    assert list(processes.results(moved_in_turn, tasks, jobs, amounts.append)) == [3 * n for n in range(7)]
    assert sum(amounts) == 63


def test_only_as_many_processes_as_are_of_use() -> None:
    assert processes.useful(None, files=1_999, size=99_999_999) == 1
    assert processes.useful(None, files=2_000, size=0) == (os.cpu_count() or 1)
    assert processes.useful(None, files=1, size=100_000_000) == (os.cpu_count() or 1)
    assert processes.useful(3, files=1, size=1) == 3


def counted(most: int) -> Iterator[int]:
    """Work that yields numbers, and fails at one that it cannot reach."""
    for number in range(most):
        if number == 100:
            raise ValueError("a hundred is too many")
        yield number


def ended_from_outside() -> Iterator[int]:
    """Work that the system puts an end to."""
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


Begin = Callable[..., processes.Ahead[int]]


@pytest.fixture
def begin() -> Iterator[Begin]:
    with processes.ahead(1) as begin:
        yield begin


def test_a_process_ahead_is_taken_from_as_far_as_it_has_come(begin: Begin) -> None:
    got: list[int] = []
    ahead = begin(counted, 9)
    while len(got) < 5:
        got += ahead.ready_results()
    assert [*got, *ahead.remaining_results()] == list(range(9))
    assert list(ahead.ready_results()) == list(ahead.remaining_results()) == []


def test_an_error_ahead_is_raised_where_it_is_taken(begin: Begin) -> None:
    got: list[int] = []
    ahead = begin(counted, 101)
    while len(got) < 100:
        got += ahead.ready_results()
    assert not list(ahead.ready_results())  # which has nothing to do with what went wrong
    with pytest.raises(ValueError, match="too many"):
        list(ahead.remaining_results())
    assert got == list(range(100))


def test_a_process_ahead_is_kept_unless_it_is_left_early() -> None:
    with processes.keep():
        with processes.ahead(1) as begin:
            both = [begin(counted, 9), begin(counted, 3)]  # the second when the first is done
            assert [list(each.remaining_results()) for each in both] == [list(range(9)), [0, 1, 2]]
        assert multiprocessing.active_children()
        with processes.ahead(1) as begin:
            assert next(begin(itertools.count).remaining_results()) == 0
        assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_signal_at_any_moment_ends_the_work_and_its_processes() -> None:
    """Raise from a handler at any point of the main thread: locks are released, waits end."""

    class Left(Exception):  # noqa: N818 -- as a handler raises it
        pass

    def leave(*_: object) -> None:
        raise Left

    before = signal.signal(signal.SIGALRM, leave)
    try:
        for seconds in (0.001, 0.01, 0.05, 0.2, 2.0):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            with pytest.raises(Left):
                list(processes.results(moved_in_turn, itertools.repeat((1,)), 2, lambda _: None))
            assert not multiprocessing.active_children()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def refused(*_: object, **__: object) -> None:
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def full(*_: object, **__: object) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("what", "fails"),
    [
        ("multiprocessing.context.SpawnProcess.start", refused),
        ("multiprocessing.resource_tracker.ensure_running", refused),
        ("multiprocessing.context.SpawnContext.Pipe", refused),
        ("threading.Thread.start", full),
    ],
)
def test_no_process_starts(monkeypatch: pytest.MonkeyPatch, what: str, fails: Callable[..., None]) -> None:
    monkeypatch.setattr(what, fails)
    with pytest.raises(TargetError) as caught:
        list(processes.results(moved_in_turn, itertools.repeat((1,), 9), 2, lambda _: None))
    assert caught.value.message.startswith("no further process can be started on this machine: ")
    assert "-j 1" in caught.value.hint
    assert not multiprocessing.active_children()


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= processes.cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processes.cores() == os.cpu_count()


def own_pid(_task: int, _moved: processes.Moved) -> int:
    """Return the process that does the work."""
    return os.getpid()


def test_one_task_is_done_without_a_further_process() -> None:
    assert list(processes.results(own_pid, iter([1]), 2, lambda _: None)) == [os.getpid()]
    assert os.getpid() not in processes.results(own_pid, iter([1, 2]), 2, lambda _: None)


def pids() -> set[int]:
    """Return the processes that do some work."""
    return set(processes.results(own_pid, range(8), 2, lambda _: None))


@pytest.mark.slow
def test_kept_processes_do_the_next_work_and_end_with_the_block() -> None:
    with processes.keep():
        found = pids()
        assert os.getpid() not in found
        assert pids() & found
        assert processes._kept.pools
    assert not processes._kept.pools
    assert not multiprocessing.active_children()
    assert not pids() & found


def test_work_that_is_not_taken_to_its_end_leaves_no_process() -> None:
    with processes.keep():
        with closing(processes.results(own_pid, range(100), 2, lambda _: None)) as taken:
            next(taken)
        assert not processes._kept.pools
        assert not multiprocessing.active_children()


def test_work_that_was_begun_and_is_not_wanted_leaves_no_process() -> None:
    with closing(processes.HERE.begin(own_pid, range(100), 2, lambda _: None)) as begun:
        begun.submit_more()
        while not multiprocessing.active_children():
            time.sleep(0.01)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_who_takes_results_slowly_holds_a_few() -> None:
    given: list[int] = []

    def tasks() -> Iterator[int]:
        for each in range(200):
            given.append(each)
            yield each

    for taken, _ in enumerate(processes.results(own_pid, tasks(), 2, lambda _: None), 1):
        assert len(given) - taken <= 12
        time.sleep(0.002)
    assert len(given) == 200


def ended_as_it_sends(number: int, _moved: processes.Moved) -> int:
    """Work of a process that is killed with half of its result sent."""

    def send_half(_connection: Connection, block: bytes) -> None:
        os.write(_connection.fileno(), block[: len(block) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    if number:
        Connection._send = send_half  # type: ignore[attr-defined]
    return number


@pytest.mark.slow
def test_a_process_that_is_killed_as_it_sends_is_reported() -> None:
    found = processes.results(ended_as_it_sends, [0, 1, 0], 2, lambda _: None)
    with pytest.raises(TargetError, match="worker process was killed"):
        list(found)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_process_that_ends_before_it_opens_its_pipe_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context, held = multiprocessing.get_context("spawn"), list[Connection]()

    def begin(_pool: object, _number: int) -> tuple[Connection, Any]:
        pipe, theirs = context.Pipe()
        held.append(theirs)  # as Windows does for a process that has not begun
        process = context.Process(target=int)
        process.start()
        return pipe, process

    monkeypatch.setattr(processes.Processes, "_start", begin)
    with pytest.raises(TargetError, match="worker process was killed"):
        list(processes.results(moved_in_turn, [(1,), (2,)], 2, lambda _: None))


@pytest.mark.parametrize("is_before_the_end", [True, False])
def test_an_idle_process_that_is_killed_keeps_no_other(*, is_before_the_end: bool) -> None:
    with processes.keep():
        assert list(processes.results(process_id_soon, range(9), 3, lambda _: None))
        idle = multiprocessing.active_children()
        assert len(idle) == 3
        idle[0].kill()
        idle[0].join()
        if is_before_the_end:
            with pytest.raises(TargetError, match="worker process was killed"):
                list(processes.results(process_id_soon, range(9), 3, lambda _: None))
    assert not any(each.is_alive() for each in idle)


def process_id_soon(_task: int, _moved: processes.Moved) -> int:
    """Work that gives others time to do some as well."""
    time.sleep(0.02)
    return os.getpid()


class Unsent:
    """A result that cannot be sent to another process."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("it stays where it is")


def unsent(_task: object, _moved: processes.Moved) -> Unsent:
    return Unsent()


def test_what_cannot_be_sent_is_an_error_where_it_is_waited_for() -> None:
    with pytest.raises(TypeError, match="it stays where it is"):
        list(processes.results(unsent, [1, 2], 2, lambda _: None))
    assert not multiprocessing.active_children()


def failing(_task: int, _moved: processes.Moved) -> NoReturn:
    raise KeyError("no such thing")


def test_a_fault_in_a_process_says_where_it_was() -> None:
    with pytest.raises(KeyError) as raised:
        list(processes.results(failing, [1, 2], 2, lambda _: None))
    (note,) = raised.value.__notes__
    assert "in failing" in note


def half_sent() -> Iterator[int]:
    yield 1
    yield ended_as_it_sends(1, lambda _: None)


@pytest.mark.slow
@pytest.mark.parametrize("work", [ended_from_outside, half_sent])
def test_a_process_ahead_that_is_killed_is_reported(begin: Begin, work: Callable[[], Iterator[int]]) -> None:
    ahead = begin(work)
    with pytest.raises(TargetError, match="worker process was killed"):
        list(ahead.remaining_results())
