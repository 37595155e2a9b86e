"""A test that hangs fails, and its programs say where they are."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.watching import time_limit

_PROGRAM = """
import time

def wait_for_ever():
    print("begun", flush=True)
    time.sleep(600)

wait_for_ever()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which tells what started what")
def test_the_programs_of_a_test_that_takes_too_long_are_aborted_and_say_where_they_were() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as earlier:
        assert earlier.stdout is not None
        assert earlier.stdout.readline() == b"begun\n"
        with time_limit.limited(5):  # so long may Python take to begin
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == -signal.SIGABRT
        assert "in wait_for_ever" in done.stderr
        assert earlier.poll() is None
        earlier.kill()
