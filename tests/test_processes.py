"""Work shared by processes: order, progress, and how workers begin and end."""

import concurrent.futures
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack import processes
from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError
from metspack.processes import BlockThread, ThreadedHashers
from tests.laws import law


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


BLOCKS = st.lists(st.binary(max_size=40), max_size=12)
ALGORITHMS = ("MD5", "SHA-256", "CRC32")


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """More cores than one, and files of sixteen bytes that are large."""
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(processes, "LARGE", 16)


def left(before: Collection[threading.Thread]) -> list[threading.Thread]:
    """Return the threads that began after ``before`` was listed and do not end."""
    begun = [each for each in threading.enumerate() if each not in before]
    for each in begun:
        each.join(0.2)
    return [each for each in begun if each.is_alive()]


@pytest.mark.usefixtures("many_cores")
@given(steps=st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(["digest", "copy"])), max_size=15))
@law(150, HealthCheck.function_scoped_fixture)
def test_digests_in_threads_are_those_of_one_thread(steps: list[bytes | str]) -> None:
    plain, threaded = Hashers(ALGORITHMS), ThreadedHashers(ALGORITHMS)
    for step in steps:
        if isinstance(step, bytes):
            plain.update(step)
            threaded.update(step)
            continue
        found = threaded if step == "digest" else threaded.copy()
        assert [found.digest(name) for name in ALGORITHMS] == [plain.digest(name) for name in ALGORITHMS]
    assert threaded.size == plain.size
    assert [threaded.digest(name) for name in ALGORITHMS] == [plain.digest(name) for name in ALGORITHMS]


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_digests_around_the_size_from_which_there_are_threads(beyond: int) -> None:
    plain, threaded = Hashers(ALGORITHMS), ThreadedHashers(ALGORITHMS)
    for block in (b"a" * (processes.LARGE + beyond), b"b", b"c" * 3):
        plain.update(block)
        threaded.update(block)
    assert [threaded.digest(name) for name in ALGORITHMS] == [plain.digest(name) for name in ALGORITHMS]


@pytest.mark.usefixtures("many_cores")
def test_few_bytes_start_no_thread_and_digests_that_are_given_up_leave_none() -> None:
    before = threading.enumerate()
    hashers = ThreadedHashers(ALGORITHMS)
    hashers.update(b"a" * 15)
    assert threading.enumerate() == before
    hashers.update(b"a")
    hashers.update(b"b" * 99)
    assert len(threading.enumerate()) == len(before) + len(ALGORITHMS)
    del hashers
    assert not left(before)


@pytest.mark.parametrize("cores", [1, 4])
@given(blocks=BLOCKS)
@law(100, HealthCheck.function_scoped_fixture)
def test_a_thread_takes_all_blocks_in_order(
    monkeypatch: pytest.MonkeyPatch, cores: int, blocks: list[bytes]
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: cores)
    taken: list[bytes] = []
    with BlockThread(taken.append) as thread:
        for block in blocks:
            thread.put(block)
    assert taken == blocks


@pytest.mark.parametrize("cores", [1, 4])
@given(blocks=BLOCKS, at=st.integers(0, 12))
@law(100, HealthCheck.function_scoped_fixture)
def test_an_error_at_any_block_is_raised_and_nothing_is_taken_after_it(
    monkeypatch: pytest.MonkeyPatch, cores: int, blocks: list[bytes], at: int
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: cores)
    taken: list[bytes] = []

    def take(block: bytes) -> None:
        if len(taken) == at:
            raise TargetError("the disk is full")
        taken.append(block)

    def put_all() -> None:
        with BlockThread(take) as thread:
            for block in blocks:
                thread.put(block)

    before = threading.enumerate()
    if at < len(blocks):
        with pytest.raises(TargetError, match="the disk is full"):
            put_all()
    else:
        put_all()
    assert taken == blocks[:at]
    assert not left(before)


def test_a_few_blocks_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    behind: list[int] = []
    taken: list[bytes] = []
    put = 0

    def take(block: bytes) -> None:
        time.sleep(0.001)
        behind.append(put - len(taken))
        taken.append(block)

    with BlockThread(take) as thread:
        for put in range(1, 50):  # noqa: B007 -- counted for the thread
            thread.put(b"")
    assert len(taken) == 49
    assert 1 < max(behind) <= processes._AHEAD + 1


def test_the_error_that_ends_the_block_goes_before_that_of_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)

    def take(_block: bytes) -> None:
        raise TargetError("the disk is full")

    def put_one() -> None:
        with BlockThread(take) as thread:
            thread.put(b"")
            raise SourceError("it cannot be read")

    with pytest.raises(SourceError):
        put_one()


def test_a_signal_while_the_end_is_waited_for_comes_through_once_the_thread_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    taken: list[bytes] = []

    def take(block: bytes) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        taken.append(block)

    def put_one() -> None:
        with BlockThread(take) as thread:
            thread.put(b"last")

    with pytest.raises(KeyboardInterrupt):
        put_one()
    assert taken == [b"last"]


def test_where_no_thread_is_to_be_had_blocks_are_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    taken: list[bytes] = []
    with BlockThread(taken.append) as thread:
        thread.put(b"a")
        assert taken == [b"a"]


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= processes.cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processes.cores() == os.cpu_count()


def process_id(_task: int, _moved: processes.Moved) -> int:
    """Work that tells which process does it."""
    return os.getpid()


def test_one_task_alone_is_done_without_a_further_process() -> None:
    assert list(processes.results(process_id, iter([1]), 2, lambda _: None)) == [os.getpid()]
    assert os.getpid() not in processes.results(process_id, iter([1, 2]), 2, lambda _: None)


def pids(workers: processes.Workers) -> set[int]:
    """Return the processes that do some work."""
    return set(workers.results(own_pid, range(8), lambda _: None))


def test_kept_processes_do_the_next_work_and_end_with_the_block() -> None:
    with processes.keeping():
        with processes.Workers(2) as first:
            found = pids(first)
            assert os.getpid() not in found
        with processes.Workers(2) as second:
            assert pids(second) & found
        assert processes._kept
    assert not processes._kept
    with processes.Workers(2) as other:
        assert not pids(other) & found


def test_processes_apart_are_none_that_were_kept_and_are_not_kept() -> None:
    with processes.keeping():
        with processes.Workers(2) as first:
            found = pids(first)
        (kept,) = processes._kept
        with processes.Workers(1, is_apart=True) as apart:
            begun = apart.begin(own_pid, iter(range(3)), lambda _: None, is_growing=True)
            assert not set(begun.results()) & {*found, os.getpid()}
        assert processes._kept == [kept]


def own_pid(_task: int, _moved: Callable[[int], None]) -> int:
    return os.getpid()


def test_work_that_is_not_taken_to_its_end_leaves_no_process() -> None:
    with processes.keeping():
        workers = processes.Workers(2)
        with closing(workers.results(own_pid, range(100), lambda _: None)) as taken:
            next(taken)
        workers.close()
        assert not processes._kept


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
