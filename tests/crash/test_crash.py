"""Some calls of every command are disturbed, other ones for each commit; ``just crash`` disturbs more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.crash import control, power
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


@needs_a_compiler
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, which counts the calls as well")
def test_no_call_is_missed(tmp_path: Path) -> None:
    shim, folder = control.build(tmp_path), tmp_path / "place"
    folder.mkdir()
    told = control.Control.mapped(_empty(tmp_path / "control"), folder)
    told.arm(control.UNDISTURBED, 0)
    trace = tmp_path / "trace"
    archive = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
    shutil.copy(archive, folder)
    arguments = ("build", folder / "Northwind.siard", "-o", folder / "out", "--max-files", "4")
    environment = os.environ | {
        "CRASH_ACTIVE": "1",
        "CRASH_CONTROL": str(tmp_path / "control"),
        "CRASH_LOG": str(tmp_path / "log"),
        "SQLITE_TMPDIR": str(folder),
        "TMPDIR": str(folder),
    }
    done = subprocess.run(
        [
            *("strace", "-f", "-y", "-qq", "-e", "trace=%file,%desc", "-E", f"LD_PRELOAD={shim}"),
            *("-o", str(trace), sys.executable, "-m", "metspack", *map(str, arguments)),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("strace may trace nothing here")
    assert done.returncode == 0, done.stderr
    seen, counted = _of_strace(trace, folder), _of_shim(tmp_path / "log")
    assert seen == counted


def _empty(path: Path) -> Path:
    path.write_bytes(bytes(4096))
    return path


# Seeks are not compared: to know where a write goes, the library asks for the place itself.
_NAMES = {
    **dict.fromkeys(("read", "pread64", "readv"), "read"),
    **dict.fromkeys(("write", "pwrite64", "writev"), "write"),
    **dict.fromkeys(("fsync", "fdatasync"), "fsync"),
    **dict.fromkeys(("rename", "renameat", "renameat2"), "rename"),
    **dict.fromkeys(("link", "linkat"), "link"),
    **dict.fromkeys(("mkdir", "mkdirat"), "mkdir"),
    **dict.fromkeys(("statfs", "fstatfs"), "statvfs"),
    **dict.fromkeys(("open", "openat"), "open"),
    "rmdir": "rmdir",
    "unlink": "unlink",
    "unlinkat": "unlink",
    "ftruncate": "truncate",
}


def _of_strace(trace: Path, folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        call = line.split(maxsplit=1)[1].partition("(")[0]
        name = _NAMES.get(call)
        if name is None or str(folder) not in line.split(" = ")[0] or "/log>" in line:
            continue
        if call == "unlinkat" and "AT_REMOVEDIR" in line:
            name = "rmdir"
        found[name] = found.get(name, 0) + 1
    return found


def _of_shim(log: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for what, words, _ in power.records(log):
        name = "open" if words[0] == "create" else words[0]
        if what == "call" and name in _NAMES.values() and words[1].startswith(str(log.parent)):
            found[name] = found.get(name, 0) + 1
    return found


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
