"""A signal at any moment ends the program without a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.packages import forge

pytestmark = pytest.mark.slow

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 130}
DELAYS = [number * 0.02 for number in range(15)]
ENDING = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which tells of answered signals")
FURTHER = re.compile(r'File "[^"]*/metspack/(?!(__init__|__main__|cli/__init__)\.py", line \d+, in <module>)')
"""A line of a traceback that is of more than the first modules, as they are loaded."""


def started(program: Program, cwd: Path, *words: str | Path, script: bool) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).with_name("metspack"))] if script else program.command
    return subprocess.Popen(
        [*command, *map(str, words)],
        cwd=cwd,
        # Interrupted within an import, Python leaves a file of its own open, which is a warning and no error.
        env=program.environment | {"PYTHONWARNINGS": "error,ignore::ResourceWarning"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_main(run: subprocess.Popen[str]) -> None:
    """Wait until the program answers SIGTERM, which Python does not by itself: it does first of all."""
    status, end = Path(f"/proc/{run.pid}/status"), time.monotonic() + 60
    while not int(status.read_text().partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < end


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A package that takes minutes to check."""
    out = forge.forge(tmp_path / "out")
    for each in forge.LOBS:
        os.truncate(out / f"Northwind_lobseg_{each.segment}" / each.path, 20 << 30)
    return out


def test_an_import_swallows_no_signal(tmp_path: Path) -> None:
    """The loading of lxml's modules swallows any exception."""
    module = "import os\ntry:\n os.kill(os.getpid(), 15)\nexcept BaseException:\n pass\n"
    (tmp_path / "lossy.py").write_text(module)
    program = (
        "import time; from metspack import cli; cli._answer(cli._interrupt); import lossy; time.sleep(60)"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False)
    assert b"Interrupted" in found.stderr


@linux
@ENDING
def test_a_signal_that_comes_early_ends_the_program_quietly(
    program: Program, endless: Path, tmp_path: Path, number: signal.Signals
) -> None:
    for at, delay in enumerate(DELAYS):
        words = ("check", endless, "-j", "1", "--budget", "holes=99999999999")
        with started(program, tmp_path, *words, script=at % 2 == 0) as run:
            wait_for_main(run)
            time.sleep(delay)
            run.send_signal(number)
            _, err = run.communicate(timeout=60)
        assert run.returncode == CODES[number], (delay, err)
        assert not err or "error: interrupted; " in err, (delay, err)
        assert "Traceback" not in err, (delay, err)


@linux
@ENDING
def test_a_late_signal_ends_the_program(program: Program, tmp_path: Path, number: signal.Signals) -> None:
    for at, delay in enumerate(DELAYS[::3]):
        with started(program, tmp_path, "--version", script=at % 2 == 0) as run:
            wait_for_main(run)
            time.sleep(delay)
            run.send_signal(number)
            out, err = run.communicate(timeout=60)
        assert run.returncode in {CODES[number], 0}, (delay, err)
        assert "Traceback" not in err, (delay, err)
        assert out or run.returncode, delay


@ENDING
def test_before_that_only_python_itself_and_the_first_lines_have_a_traceback(
    program: Program, tmp_path: Path, number: signal.Signals
) -> None:
    for at, delay in enumerate(DELAYS):
        with started(program, tmp_path, "--version", script=at % 2 == 0) as run:
            time.sleep(delay)
            run.send_signal(number)
            _, err = run.communicate(timeout=60)
        assert not FURTHER.search(err), (delay, err)
        if "Traceback" in err:
            # Raised in a callback of Python's imports it is "ignored", and ends with a colon.
            assert err.endswith(("KeyboardInterrupt\n", "KeyboardInterrupt: \n")), (delay, err)
