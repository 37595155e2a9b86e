"""Some calls of every command are disturbed, others for each commit; ``just crash``: more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.crash import power
from tests.crash.commands import COMMANDS
from tests.laws import seed

pytestmark = pytest.mark.slow

_EVERY = 1_100
_STATES = 6
_GROUPS = 8  # a process that disturbs several commands imports and compiles once

needs_a_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux",
    reason="needs Linux and a C compiler (cc), with which the shim is built that disturbs calls",
)


def offset() -> int:
    """Return a number that differs with the commit."""
    return int(seed()[:8], 16) if all(each in "0123456789abcdef" for each in seed()) else 0


@needs_a_compiler
@pytest.mark.parametrize("first", range(_GROUPS))
def test_a_disturbed_call_breaks_no_law(first: int) -> None:
    drawn = (f"--every={_EVERY}", f"--offset={offset()}", f"--states={_STATES}", f"--seed={offset()}")
    commands = (f"--command={each.name}" for each in COMMANDS[first::_GROUPS])
    done = subprocess.run(
        (sys.executable, "-m", "tests.crash", "--jobs=1", *commands, *drawn),
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"--offset {offset()}\n{done.stdout}\n{done.stderr}"


def test_what_was_not_synchronised_may_be_lost(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "old").write_bytes(b"old")
    recording = power.Recording(place)
    lines = [
        f"create\t900001\t{place}/new\t\n".encode(),
        b"write\t900001\t0\t3\nnew",
        b"sync\t900001\t\t\n",
        b"write\t900001\t3\t4\nmore",
        f"sync\t{place.stat().st_ino}\t\t\n".encode(),
        f"rename\t0\t{place}/old\t{place}/folder/moved\n".encode(),
    ]
    (tmp_path / "log").write_bytes(b"".join(lines))
    recording.read(tmp_path / "log")

    def left(until: int, drop: power.Drop) -> dict[str, bytes]:
        state = tmp_path / f"{until}{drop.__name__}"
        state.mkdir()
        recording.write(until, drop, state)
        return {
            str(each.relative_to(state)): each.read_bytes() for each in state.rglob("*") if each.is_file()
        }

    def none(_step: power.Step) -> None:
        return None

    def all_(step: power.Step) -> power.Step:
        return step

    assert left(3, none) == {"old": b"old"}
    assert left(6, none) == {"old": b"old", "new": b"new"}
    assert left(6, all_) == {"folder/moved": b"old", "new": b"newmore"}
