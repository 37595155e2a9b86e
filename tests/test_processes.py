"""Work shared by processes: order, progress, and how workers begin and end."""

import concurrent.futures
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from metspack import processes
from metspack.errors import TargetError


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a worker process knows, in this one."""

    class Flag:
        value = 0

    known = {"counts": [0, 0, 0], "seat": 1, "stop": Flag()}
    monkeypatch.setattr(processes, "_worker", known)
    return known


def moved_in_turn(sizes: tuple[int, ...], moved: processes.Moved) -> int:
    """Work that moves as many bytes as its task says."""
    for size in sizes:
        moved(size)
    return sum(sizes)


def test_a_worker_counts_for_itself(worker: dict[str, Any]) -> None:
    assert processes._run(moved_in_turn, (300_000, 7)) == 300_007
    assert processes._run(moved_in_turn, (1,)) == 1
    assert worker["counts"] == [0, 300_008, 0]


def test_a_worker_that_is_no_longer_wanted_ends_its_work(worker: dict[str, Any]) -> None:
    worker["stop"].value = 1
    with pytest.raises(processes._Stopped):
        processes._run(moved_in_turn, (300_000, 7))


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks_with_all_bytes_told(jobs: int) -> None:
    told: list[int] = []
    tasks = [(number,) * 3 for number in range(7)]
    assert list(processes.results(moved_in_turn, tasks, jobs, told.append)) == [3 * n for n in range(7)]
    assert sum(told) == 63


def test_only_as_many_processes_as_are_of_use() -> None:
    assert processes.useful(None, files=1_999, size=99_999_999) == 1
    assert processes.useful(None, files=2_000, size=0) == (os.cpu_count() or 1)
    assert processes.useful(None, files=1, size=100_000_000) == (os.cpu_count() or 1)
    assert processes.useful(3, files=1, size=1) == 3


def test_a_worker_takes_a_seat_and_leaves_ctrl_c_to_its_parent(
    worker: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Seats:
        value = 2

        def get_lock(self) -> threading.Lock:
            return threading.Lock()

    seats = Seats()
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(processes, "_end_with_parent", lambda: None)
    try:
        processes._begin([], seats, None)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert worker == {"counts": [], "seat": 2, "stop": None}
    assert seats.value == 3


def test_a_process_without_a_parent_goes_on() -> None:
    processes._end_with_parent()


def test_a_process_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Parent:
        joined = False

        def join(self) -> None:
            self.joined = True

    parent, codes = Parent(), list[int]()
    monkeypatch.setattr("multiprocessing.parent_process", lambda: parent)
    monkeypatch.setattr("os._exit", codes.append)
    processes._end_with_parent()
    assert (parent.joined, codes) == (True, [1])


def test_signals_wait_while_a_worker_is_started() -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: got.append(number))
    try:
        with processes._undisturbed():
            signal.raise_signal(signal.SIGTERM)
            assert got == []
        assert got == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


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


def test_a_process_ahead_is_taken_from_as_far_as_it_has_come() -> None:
    ahead = processes.Ahead(counted, 9)
    got: list[int] = []
    while len(got) < 5:
        got += ahead.come()
    got += ahead.rest()
    assert got == list(range(9))
    assert list(ahead.come()) == list(ahead.rest()) == []


def test_an_error_ahead_is_raised_where_it_is_taken() -> None:
    got: list[int] = []
    ahead = processes.Ahead(counted, 101)
    while len(got) < 100:
        got += ahead.come()
    while not ahead._taken.closed:
        got += ahead.come()  # which has nothing to do with what went wrong
    with pytest.raises(ValueError, match="too many"):
        list(ahead.rest())
    assert got == list(range(100))


def test_a_process_ahead_that_is_ended_from_outside_is_told() -> None:
    ahead = processes.Ahead(ended_from_outside)
    while not ahead._taken.closed:
        list(ahead.come())
    with pytest.raises(TargetError, match="worker process was killed"):
        list(ahead.rest())


def test_a_process_ahead_that_is_closed_ends() -> None:
    ahead = processes.Ahead(itertools.count)
    assert next(ahead.rest()) == 0
    ahead.close()
    assert not ahead._process.is_alive()


class Pipe(list[tuple[object, object]]):
    """The sending end of a pipe, ``room`` results long."""

    def __init__(self, room: int) -> None:
        self.room = room

    def send(self, said: tuple[object, object]) -> None:
        if len(self) == self.room:
            raise BrokenPipeError
        self.append(said)


def test_what_a_process_ahead_sends_ends_with_nothing_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    whole, failed, unwanted = Pipe(1_000), Pipe(1_000), Pipe(3)
    for pipe, most in ((whole, 2), (failed, 101), (unwanted, 9)):
        processes._send(pipe, counted, (most,))  # type: ignore[arg-type]
    assert whole == [(0, None), (1, None), (None, None)]
    assert len(failed) == 101
    assert isinstance(failed[-1][1], ValueError)
    assert [result for result, _ in unwanted] == [0, 1, 2]


@pytest.mark.parametrize("raised", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_waits_until_the_pool_holds_no_lock(
    monkeypatch: pytest.MonkeyPatch, raised: signal.Signals
) -> None:
    """A handler that raises while the pool waits would leave a lock taken, and the end would hang."""

    class Left(Exception):  # noqa: N818 -- as a handler raises it
        pass

    def leave(*_: object) -> None:
        raise Left

    whole = 0

    def disturbed(*given: Any, **options: Any) -> Any:
        nonlocal whole
        os.kill(
            os.getpid(), raised
        )  # any thread may take it: the mask of this one does not keep Python from it
        time.sleep(0.05)
        whole += 1
        return wait(*given, **options)

    wait = concurrent.futures.wait
    monkeypatch.setattr(concurrent.futures, "wait", disturbed)
    over = threading.Event()
    bystander = threading.Thread(target=over.wait)
    bystander.start()
    before = signal.signal(raised, leave)
    try:
        with pytest.raises(Left):
            list(processes.results(moved_in_turn, [(1,)] * 9, 2, lambda _: None))
    finally:
        signal.signal(raised, before)
        over.set()
        bystander.join()
    assert whole == 1
