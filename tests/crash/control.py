"""The preloaded shim: its build, its input and its output."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
COUNT, FAIL_ONCE, FAIL_FROM_NOW, SHORT_WRITE, KILL_BEFORE, KILL_AFTER, SIGNAL = range(7)


class NoCompilerError(Exception):
    """A missing C compiler, without which the harness cannot run."""


def build(folder: Path) -> Path:
    """Compile the shim into a folder, and return its path; raises ``NoCompilerError``."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoCompilerError("there is no C compiler (cc), with which the shim is built")
    shim = folder / "shim.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wno-nonnull-compare", "-o", shim, SOURCE, "-ldl"], check=True
    )
    return shim


class Control(ctypes.Structure):
    """The memory that processes of a run share; ``struct control`` of shim.c."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("leader", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("at", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("fired", ctypes.c_int32),
        ("process", ctypes.c_int32),
        ("operation", ctypes.c_char * 32),
        ("path", ctypes.c_char * 1024),
        ("root", ctypes.c_char * 256),
    )

    kind: int
    number: int
    leader: int
    at: int
    count: int
    fired: int
    process: int
    operation: bytes
    path: bytes
    root: bytes

    @classmethod
    def mapped(cls, path: Path, root: Path) -> Control:
        """Return the control at a path, for calls that touch a file below ``root``."""
        with path.open("r+b") as file:
            file.truncate(ctypes.sizeof(cls))
            control = cls.from_buffer(mmap.mmap(file.fileno(), 0))
        control.root = os.fsencode(root)
        return control

    def arm(self, fault: Fault, at: int) -> None:
        """Disturb the call of this number (from 1) of the next run."""
        self.count, self.fired, self.process, self.operation, self.path = 0, 0, 0, b"", b""
        self.kind, self.number, self.at = fault.kind, fault.number, at


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a call."""

    name: str
    kind: int
    number: int = 0

    @property
    def is_kill(self) -> bool:
        """True if the process is killed."""
        return self.kind in {KILL_BEFORE, KILL_AFTER}

    @property
    def is_stop(self) -> bool:
        """True if a signal ends the run."""
        return self.is_kill or self.kind == SIGNAL

    def fits(self, operation: str) -> bool:
        """True if such a call can have this fault."""
        if self.number == errno.EINTR:
            return operation != "seek"  # it never waits
        return self.kind != SHORT_WRITE or operation == "write"


UNDISTURBED = Fault("nothing", COUNT)
KILLED = Fault("kill -9 before", KILL_BEFORE)
_ERRORS = ("EIO", "ENOSPC", "EACCES", "EMFILE", "ENOENT")
FAULTS = (
    *(Fault(f"{name} once", FAIL_ONCE, getattr(errno, name)) for name in _ERRORS),
    *(Fault(f"{name} from then on", FAIL_FROM_NOW, getattr(errno, name)) for name in _ERRORS),
    Fault("EINTR once", FAIL_ONCE, errno.EINTR),  # for ever it would be retried for ever, as it should be
    Fault("short write", SHORT_WRITE),
    KILLED,
    Fault("kill -9 after", KILL_AFTER),
    Fault("SIGINT", SIGNAL, signal.SIGINT),
    Fault("SIGTERM", SIGNAL, signal.SIGTERM),
)
