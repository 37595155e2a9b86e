"""Run a command in a fork of this warm process, disturb one call, and judge the result.

The process is started with the shim preloaded (``__main__``). Laws of every disturbed run: the target is
absent or complete, what is only read is as it was, there is no traceback, no hang, no process left, only
documented files beside the target, and a message that names a path and what to do; then the same
command gives the bytes that an undisturbed one gives.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import metspack.cli
from metspack.files import mirrors
from metspack.stores import client, ranges
from tests.crash import foldered
from tests.crash.commands import Command, Place
from tests.crash.control import FAIL_FROM_NOW, KILLED, SIGNAL, UNDISTURBED, Control, Fault
from tests.crash.power import Drop, Recording

_TIMEOUT = 20.0
_GRACE = 3.0  # seconds for workers to end after their parent
_FINE, _FINDINGS, _TARGET, _STOPPED = 0, 1, 4, 6
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SUBREAPER = 36  # prctl: orphans become children of this process
_OF_COMMAND = re.compile(r" of the command .*")  # which names what was given, not what has failed
_PATH = re.compile(r"/|\w\.(?:xml|siard|txt|json|html|bin)\b")
_OURS = re.compile(r'File "[^"]*/metspack/[a-z_/]*\.py"')
_OF_WORKERS = "Exception ignored in: <Finalize object, dead>\n"  # multiprocessing's own clean-up at the end
_KEPT = ("metspack-build-", "metspack-stores-kept-")  # what a build into a store goes on from
_LEFT = re.compile(r".*\.partial")

Tree = Mapping[str, str]
"""The files and folders below a folder, and the digest of each file."""


def tree(root: Path, essence: Callable[[bytes], bytes] = bytes) -> dict[str, str]:
    """Return the tree below a folder; ``essence`` selects the bytes of a file that count."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), root)] = ""
        for name in files:
            path = Path(folder, name)
            found[os.path.relpath(path, root)] = hashlib.sha256(essence(path.read_bytes())).hexdigest()
    return found


def seen(found: Tree) -> dict[str, str]:
    """Return the finished files; names of unfinished ones say so."""
    return {name: what for name, what in found.items() if not _LEFT.fullmatch(name.split("/")[0])}


def stamps(root: Path) -> list[tuple[str, int, int, int]]:
    """Return what changes when anything is written below a folder."""
    return sorted(
        (str(path), found.st_ino, found.st_size, found.st_mtime_ns)
        for path in (root, *root.rglob("*"))
        for found in (path.lstat(),)
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run: its exit code, negative for a signal; None for one that had to be killed."""

    code: int | None
    out: str
    err: str
    has_ended: bool


class Bench:
    """A folder in which one command is run again and again from the same state."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder = folder
        self.command = command
        self.place = Place(folder / "place")
        for each in (self.place.given, self.place.made, self.place.temporary):
            each.mkdir(parents=True)
        self.control = Control.mapped(Path(os.environ["CRASH_CONTROL"]), self.place.root)
        self._environment = {
            "HOME": str(folder),
            "NO_COLOR": "1",
            "PATH": os.environ["PATH"],
            "SOURCE_DATE_EPOCH": "1700000000",
            "SQLITE_TMPDIR": str(self.place.temporary),
            "TMPDIR": str(self.place.temporary),
            "XDG_CONFIG_HOME": str(self.place.root / "config"),
        }
        if command.is_stored:
            setattr(client, "store", foldered.store)  # noqa: B010 -- no other command has a store
        self.begun: Tree = {}
        self._golden_files: Mapping[str, bytes] = {}
        command.give(self.place, self._run_fine)
        shutil.copytree(self.place.made, folder / "before")
        self.stamps = stamps(self.place.given)
        self.before = self.made()
        self.begun = self.begun or self.before

    def _run_fine(self, arguments: Sequence[str | Path], *, until: float | None = None) -> None:
        if until is not None:
            self.begun = self.made()
            shutil.copytree(self.place.made, self.folder / "before")
        ended = self.run(arguments, UNDISTURBED, 0)
        assert ended.code == 0, f"{arguments}: {ended}"
        if until is not None:
            self.reset()
            shutil.rmtree(self.folder / "before")
            ended = self.run(arguments, KILLED, int(self.control.count * until))
            assert ended.code == -signal.SIGKILL, f"{arguments}: {ended}"

    def made(self) -> dict[str, str]:
        """Return the files in the folder of the target."""
        return tree(self.place.made, self.command.essence)

    def reset(self) -> None:
        """Make all as it was before the command was run."""
        for each in (self.place.made, self.place.temporary):
            shutil.rmtree(each)
        shutil.copytree(self.folder / "before", self.place.made)
        self.place.temporary.mkdir()

    def warm_up(self) -> None:
        """Run the command in this process, and in no other: a fork has from it what is compiled once."""
        self.reset()
        words = [str(each) for each in self.command.arguments(self.place)]
        with _restored(self._environment):
            os.chdir(self.place.root)
            sys.argv = ["metspack", *words, *(["-j", "1"] if "-j" in words else [])]
            with suppress(SystemExit):
                metspack.cli.main()
            mirrors.forget_all()
            ranges._threads.cache_clear()  # a fork has none of its threads

    @cached_property
    def golden(self) -> tuple[Tree, str]:
        """The files and the output of an undisturbed run."""
        self.reset()
        ended = self.run_command()
        assert ended.code == 0, ended
        files = (each for each in self.place.made.iterdir() if each.is_file())
        self._golden_files = {each.name: each.read_bytes() for each in files}
        return self.made(), ended.out

    def is_right(self, visible: Tree) -> bool:
        """Return whether files made one by one are right so far."""
        allowed, files = self.command.is_right, self._golden_files
        return allowed is not None and all(
            name in files and allowed((self.place.made / name).read_bytes(), files[name]) for name in visible
        )

    def run_command(self, fault: Fault = UNDISTURBED, at: int = 0, **named: Path) -> Ended:
        """Run the command, and disturb one of its calls."""
        return self.run(self.command.arguments(self.place), fault, at, **named)

    def run(self, arguments: Sequence[str | Path], fault: Fault, at: int, **named: Path) -> Ended:
        """Run metspack in a fork; a ``log`` records its calls, ``modules`` its imports."""
        self.control.arm(fault, at)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            self._become(arguments, named)
        self.control.leader = child
        code = _waited(child, _TIMEOUT)
        has_ended = _has_ended()
        out, err = (
            (self.folder / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")
        )
        return Ended(code=code, out=out, err=err, has_ended=has_ended)

    def _become(self, arguments: Sequence[str | Path], named: Mapping[str, Path]) -> None:
        """Be the command: this process ends as the program does, with all that Python does at its end."""
        os.setsid()
        self.control.leader = os.getpid()
        kept = {name: os.environ[name] for name in ("LD_PRELOAD", "CRASH_CONTROL")}
        variables = {f"CRASH_{name.upper()}": str(path) for name, path in named.items()}
        os.environ.clear()
        os.environ.update(self._environment, **kept, **variables, CRASH_ACTIVE="1", PYTHONWARNINGS="error")
        os.chdir(self.place.temporary.parent)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in enumerate(("out", "err"), start=1):
            os.dup2(os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["metspack", *map(str, arguments)]
        ctypes.CDLL(None).crash_begin()
        raise Forked


@contextmanager
def _restored(environment: Mapping[str, str]) -> Iterator[None]:
    """Run the block with an environment and without output; then restore the process."""
    kept, folder, words = dict(os.environ), Path.cwd(), sys.argv
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    outputs = {number: os.dup(number) for number in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in outputs:
            os.dup2(nowhere, number)
        os.environ.clear()
        os.environ.update(environment)
        yield
    finally:
        sys.stdout.flush()
        for number, output in outputs.items():
            os.dup2(output, number)
            os.close(output)
        os.close(nowhere)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.environ.clear()
        os.environ.update(kept)
        os.chdir(folder)
        sys.argv = words
        gc.enable()


class Forked(BaseException):
    """This is the fork: let go of everything, and run the command line."""


def be_reaper() -> None:
    """Let processes whose parent has ended become children of this one."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _waited(child: int, seconds: float) -> int | None:
    """Return the exit code of a child, negative for a signal, or None after a time-out."""
    waited, pause = 0.0, 0.001  # not the clock's: this process and the child may be stopped together
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if waited > seconds:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        waited += pause
        pause = min(0.01, pause * 1.2)


def _has_ended() -> bool:
    """Return whether no process is left of a run; those that are left are killed."""
    waited = 0.0
    while True:
        try:
            found, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not found:
            if waited > _GRACE:
                for each in _children():
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)
                return False
            time.sleep(0.005)
            waited += 0.005


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(each) for each in file.read().split()]


@dataclass(frozen=True, slots=True)
class Trial:
    """One disturbed run, and which laws it broke."""

    command: str
    fault: str
    at: int
    operation: str
    path: str
    code: int | None
    err: str
    violations: tuple[str, ...]


def tried(bench: Bench, fault: Fault, at: int) -> Trial:
    """Disturb one call of a command, and judge."""
    golden, golden_out = bench.golden
    bench.reset()
    ended = bench.run_command(fault, at)
    control = bench.control
    operation, path, has_fired = control.operation.decode(), control.path.decode(), bool(control.fired)
    path = path.removeprefix(f"{bench.place.root}/")
    is_worker = control.process != control.leader
    after = bench.made()
    broken = [
        *_of_process(ended, fault),
        *_of_words(ended, fault, is_worker=is_worker),
        *_of_files(bench, fault, after, ended),
    ]
    is_as_undisturbed = seen(after) == golden and ended.out == golden_out
    says_less = bench.command.may_say_less and bench.is_right(seen(after))
    if ended.code == _FINE and not is_as_undisturbed and not says_less:
        broken.append(f"exit 0, but not as undisturbed: {_difference(golden, after) or ended.out}")
    if after != bench.before and (bench.command.changes or seen(after) != golden):
        broken += again(bench)
    if not has_fired:
        broken = []
    return Trial(
        command=bench.command.name,
        fault=fault.name,
        at=at,
        operation=operation,
        path=path,
        code=ended.code,
        err=ended.err,
        violations=tuple(broken),
    )


def again(bench: Bench) -> Iterator[str]:
    """Run the same command once more, undisturbed: it makes what it would have made at once."""
    golden, _ = bench.golden
    ended = bench.run_command()
    found = bench.made()
    if bench.command.changes and found == golden:
        return  # it was complete before, and says so
    found = {name: digest for name, digest in found.items() if not name.startswith(".")}
    if ended.code != _FINE or found != golden:
        what = _difference(golden, found)
        yield f"the same command does not give the same bytes: exit {ended.code}: {ended.err.strip()}: {what}"


def _difference(golden: Tree, found: Tree) -> str:
    return ", ".join(sorted(name for name, _ in set(golden.items()) ^ set(found.items())))[:300]


def _of_process(ended: Ended, fault: Fault) -> Iterator[str]:
    if ended.code is None:
        yield "hangs"
    if not ended.has_ended:
        yield "a process is left"
    expected = {_FINE, _FINDINGS, 2, 3, _TARGET, _STOPPED}
    if fault.is_kill:
        expected |= {-signal.SIGKILL}
    elif fault.is_stop:
        expected |= {128 + fault.number}
    if ended.code is not None and ended.code not in expected:
        yield f"exit code {ended.code}"


def _of_words(ended: Ended, fault: Fault, *, is_worker: bool) -> Iterator[str]:
    if _is_traceback(ended.err):
        yield "a traceback"
    if "fault of metspack" in ended.err + ended.out:
        yield "metspack is blamed"
    if ended.code is None or ended.code < 0 or ended.code in {_FINE, _FINDINGS}:
        return
    if "error: " not in ended.err:
        yield "no message"
    if not fault.is_stop and "hint: " not in ended.err:
        yield "no hint"
    if not fault.is_stop and not is_worker and not _PATH.search(_OF_COMMAND.sub("", ended.err)):
        yield f"no path: {ended.err.strip()}"


def _is_traceback(err: str) -> bool:
    """Return whether a traceback was printed, except at the start or end of a worker.

    Nothing of ours runs then, or any more; what it means for the command is told as everything is.
    """
    _, *found = err.replace(_OF_WORKERS, "").split("Traceback (most recent call last):")
    return "Exception ignored" in err.replace(_OF_WORKERS, "") or any(map(_OURS.search, found))


def _of_files(bench: Bench, fault: Fault, after: Tree, ended: Ended) -> Iterator[str]:
    if stamps(bench.place.given) != bench.stamps:
        yield "what is only read was changed"
    cannot_clean_up = fault.is_kill or fault.kind == FAIL_FROM_NOW
    left = [
        name
        for name in os.listdir(bench.place.temporary)
        if not (bench.command.is_stored and ended.code != _FINE and name.startswith(_KEPT))
    ]
    if not cannot_clean_up and left:
        yield f"left in the temporary folder: {left}"
    if bench.command.discards and fault.kind == SIGNAL and any(map(_LEFT.fullmatch, after)):
        yield f"left beside the target: {min(after)}"
    yield from _of_target(bench, after, may_be_in_between=cannot_clean_up)


def _of_target(bench: Bench, after: Tree, *, may_be_in_between: bool) -> Iterator[str]:
    golden, _ = bench.golden
    visible = seen(after)
    if visible in (golden, seen(bench.before), seen(bench.begun)):
        return
    if bench.command.changes and may_be_in_between and any(map(_LEFT.fullmatch, after)):
        return  # the journal beside it is known to check, and the same command goes on
    if bench.command.has_several and all(
        _of_one(visible, name) == _of_one(golden, name) for name in {each.split("/")[0] for each in visible}
    ):
        return
    if bench.is_right(visible):
        return  # each of them is there or not; they tell of what could not be read
    yield f"neither absent nor complete: {_difference(golden, visible)}"


def _of_one(found: Tree, name: str) -> dict[str, str]:
    """Return the files of one of several targets."""
    return {path: what for path, what in found.items() if path.split("/")[0] == name}


def lost(bench: Bench, recording: Recording, name: str, until: int, drop: Drop) -> Trial:
    """Make what a loss of power may leave, and judge what becomes of it."""
    golden, _ = bench.golden
    for each in (bench.place.made, bench.place.temporary):
        shutil.rmtree(each)
    state = bench.folder / "state"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    recording.write(until, drop, state)
    (state / "made").rename(bench.place.made)  # a copy would lose which names are of one file
    bench.place.temporary.mkdir()
    after = bench.made()
    broken = list(_of_target(bench, after, may_be_in_between=True))
    if after != bench.before and (bench.command.changes or seen(after) != golden):
        broken += again(bench)
    return Trial(
        command=bench.command.name,
        fault=f"power lost, {name}",
        at=until,
        operation="",
        path="",
        code=None,
        err="",
        violations=tuple(broken),
    )
