from __future__ import annotations

import sys

import pytest

from bench.measuring import (
    FailedError,
    counted,
    measured,
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
