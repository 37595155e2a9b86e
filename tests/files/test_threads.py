"""Threads beside reading and writing: order, errors, signals, and digests that are those of one thread."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Collection

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack import processes
from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError
from metspack.files import threads
from metspack.files.threads import BlockThread, ThreadedHashers
from tests.laws import law

BLOCKS = st.lists(st.binary(max_size=40), max_size=12)
ALGORITHMS = ("MD5", "SHA-256", "CRC32")


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """More cores than one, and files of sixteen bytes that are large."""
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(threads, "LARGE", 16)


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


@pytest.mark.parametrize("cores", [1, 4])
@given(blocks=BLOCKS)
@law(100, HealthCheck.function_scoped_fixture)
def test_blocks_come_in_order(monkeypatch: pytest.MonkeyPatch, cores: int, blocks: list[bytes]) -> None:
    monkeypatch.setattr(processes, "cores", lambda: cores)
    taken: list[bytes] = []
    with BlockThread(taken.append) as thread:
        for block in blocks:
            thread.put(block)
    assert taken == blocks


def test_the_end_may_be_waited_for_before_the_block_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    taken: list[bytes] = []
    with BlockThread(taken.append) as thread:
        thread.put(b"a")
        thread.finish()
        assert taken == [b"a"]
        thread.finish()


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


def test_the_error_of_the_block_precedes_that_of_the_thread(
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


def test_a_signal_is_raised_once_the_thread_has_ended(
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
