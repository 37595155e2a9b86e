from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from bench.measuring import (
    FailedError,
    Run,
    alternated,
    calls,
    counted,
    counting,
    measured,
    syncs,
)

_SUMMARY = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000600           3       200           read
 40.00    0.000400           4       100         7 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           3       300{errors} total
"""


@pytest.mark.parametrize("errors", ["         7", "          "])
def test_the_totals_of_a_summary_are_read(errors: str) -> None:
    assert counted(_SUMMARY.format(errors=errors)) == (300, 0.001)


def test_a_command_that_fails_tells_why() -> None:
    with pytest.raises(FailedError, match="ended with 3: no"):
        measured([sys.executable, "-c", "import sys; print('no', file=sys.stderr); sys.exit(3)"])


def test_memory_of_all_processes_is_seen() -> None:
    script = "import time, subprocess, sys; held = b'x' * 50_000_000;"
    child = f"{script} time.sleep(0.3)"
    parent = f"{script} subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    run = measured([sys.executable, "-c", parent], watched=True)
    assert run.memory > 100_000_000
    assert 50_000_000 < run.largest < 100_000_000
    assert run.wall >= 0.3


def test_both_take_turns_and_each_begins_once() -> None:
    order: list[tuple[str, bool]] = []

    def runner(name: str, wall: float) -> Callable[..., Run]:
        def run(*, watched: bool) -> Run:
            order.append((name, watched))
            return Run(wall=wall, processor=0.0, memory=7 * watched, largest=5 * watched)

        return run

    ours, theirs = alternated(runner("a", 2.0), runner("b", 1.0), 2)
    assert order == [("a", True), ("b", True), ("a", False), ("b", False), ("b", False), ("a", False)]
    assert ours == [Run(wall=2.0, processor=0.0, memory=7, largest=5)] * 2
    assert [run.wall for run in theirs] == [1.0, 1.0]
    order.clear()
    assert [len(each) for each in alternated(runner("a", 2.0), runner("b", 1.0), 0)] == [1, 1]


@pytest.mark.skipif(counting() is not None, reason=f"needs strace: {counting()}")
def test_system_calls_are_counted() -> None:
    few, many = (
        calls([sys.executable, "-c", f"import os\nfor _ in range({n}): os.stat('/')"]) for n in (10, 510)
    )
    assert many - few == pytest.approx(500, abs=50)


@pytest.mark.skipif(counting() is not None, reason=f"needs strace: {counting()}")
def test_calls_that_wait_for_the_disk_are_counted_with_their_time() -> None:
    script = "import os, tempfile\nwith tempfile.TemporaryFile() as file:\n for _ in range(7): os.fsync(file)"
    found = syncs([sys.executable, "-c", script])
    assert found.calls == 7
    assert 0 <= found.seconds <= found.wall
    assert syncs(["true"]).calls == 0
