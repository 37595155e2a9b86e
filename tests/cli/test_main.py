"""The command line itself: exit codes, signals, pipes, and what a fault of ours looks like."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from metspack import cli
from metspack.building import build
from metspack.cli import commands, console
from metspack.errors import ConfigError, MetspackError, PlanError, SourceError, TargetError
from tests import siards
from tests.cli.conftest import Commands, Outcome, Program
from tests.packages import forge
from tests.trees import names

INTERRUPTED = (
    "error: interrupted; nothing unfinished was left behind\n"
    "hint: Run the same command again to start over.\n"
)
LARGE = 48
"""LOBs of 8 MiB in the archive that takes long to build."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An archive of some 400 MB."""
    path = tmp_path_factory.mktemp("large") / "Large.siard"
    lob = siards.Lob(data=bytes(8 << 20), attributes="")
    siards.packed(path, siards.parts([lob] * LARGE))
    yield path
    path.unlink()


def test_no_command_shows_the_help_and_is_a_usage_error(metspack: Commands) -> None:
    outcome = metspack()
    assert outcome.code == 2
    assert "inspect" in outcome.out + outcome.err


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let a build fail with this."""

    def raising(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(build, "build", raising)


@pytest.mark.parametrize(
    ("kind", "code"),
    [(ConfigError, 2), (SourceError, 3), (PlanError, 3), (TargetError, 4), (MetspackError, 70)],
)
def test_every_error_has_its_exit_code(
    metspack: Commands, monkeypatch: pytest.MonkeyPatch, kind: type[MetspackError], code: int
) -> None:
    failing(monkeypatch, kind("it\u009b failed [bold]:bomb:", hint="do [that]"))
    outcome = metspack("build", "x", "-o", "y")
    assert outcome == Outcome(code=code, out="", err="error: it\\x9b failed [bold]:bomb:\nhint: do [that]\n")


def test_a_fault_of_ours_has_a_traceback(metspack: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ZeroDivisionError("ours"))
    outcome = metspack("build", "x", "-o", "y")
    assert (outcome.code, outcome.out) == (70, "")
    assert "ZeroDivisionError: ours" in outcome.err
    assert "error: this is a fault of metspack, not of your archive\nhint: Report it" in outcome.err


def test_a_system_error_names_the_command(metspack: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, OSError(errno.EIO, "it fails"))
    outcome = metspack("build", "x", "-o", "a b")
    command = "metspack build x -o 'a b'"
    assert outcome.code == 4
    assert outcome.err.startswith(
        f"error: cannot read or write a file of the command {command}: it fails\nhint: "
    )


def test_main_exits_with_the_code(monkeypatch: pytest.MonkeyPatch, signals: None) -> None:
    del signals
    monkeypatch.setattr(sys, "argv", ["metspack", "explain", "nonsense"])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert leaving.value.code == 2


HEAVY = {"pydantic", "lxml", "jinja2", "sqlite3", "multiprocessing", "concurrent"}
COMMANDS = {name.stem for name in Path(commands.__file__).parent.glob("*.py") if name.stem != "__init__"}
COMPLETING = {"_METSPACK_COMPLETE": "complete_bash", "COMP_WORDS": "metspack explain L00", "COMP_CWORD": "2"}
LOADING = """
import json, sys
from metspack import cli
sys.argv = ["metspack", *sys.argv[1:]]
cli._run()
print(json.dumps(list(sys.modules)), file=sys.stderr)
"""


def loaded(program: Program, folder: Path, *arguments: str, **environment: str) -> set[str]:
    """Return the modules that a call has loaded when it ends."""
    words = (sys.executable, "-c", LOADING, *arguments)
    done = program.run(*words, cwd=folder, env=program.environment | environment)
    assert (done.code, bool(done.out)) == (0, True), done
    return set(json.loads(done.err.splitlines()[-1]))


@pytest.mark.parametrize(
    ("arguments", "environment", "own"),
    [
        (["explain", "csip66"], {}, {"explain"}),
        ([], COMPLETING | {"COMP_WORDS": "metspack build --lay"}, {"build"}),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else None,
)
def test_short_calls_load_their_own_command_and_nothing_heavy(
    program: Program, tmp_path: Path, arguments: list[str], environment: dict[str, str], own: set[str]
) -> None:
    found = loaded(program, tmp_path, *arguments, **environment)
    assert not found & (HEAVY | {"rich"})
    assert {name for name in COMMANDS if f"metspack.cli.commands.{name}" in found} == own


@pytest.mark.parametrize("command", ["", "check"])
def test_help_loads_nothing_heavy_but_rich(program: Program, tmp_path: Path, command: str) -> None:
    found = loaded(program, tmp_path, *command.split(), "--help")
    assert not found & HEAVY
    own = {name for name in COMMANDS if f"metspack.cli.commands.{name}" in found}
    assert own == (set(command.split()[:1]) or COMMANDS)


def test_a_check_loads_neither_rich_nor_the_reports(program: Program, tmp_path: Path) -> None:
    out = forge.forge(tmp_path / "out")
    found = loaded(program, tmp_path, "check", str(out), "--max-per-code", "3")
    assert not found & {"jinja2", "rich", "multiprocessing", "concurrent", "tomllib"}
    assert {name for name in COMMANDS if f"metspack.cli.commands.{name}" in found} == {"check"}
    unneeded = {
        *("checking.eark.standards", "checking.eark.faults", "checking.eark.package", "checking.eark.siard"),
        *("containers.tarreader", "files.writing", "layouts.lobseg", "layouts.siard22"),
        *("reporting.csv", "reporting.html", "reporting.json", "reporting.junit"),
    }
    assert not {name for name in unneeded if f"metspack.{name}" in found}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal(metspack: Commands, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    def interrupted(*_arguments: object) -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except Exception as error:
            raise AssertionError from error
        finally:
            os.kill(os.getpid(), signal.SIGINT)  # a second one does not disturb the cleaning up
            time.sleep(0.01)

    monkeypatch.setattr(build, "build", interrupted)
    code = 143 if number == signal.SIGTERM else 130
    assert metspack("build", "x", "-o", "y") == Outcome(code=code, out="", err=INTERRUPTED)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_ignored_where_the_caller_ignored_it(
    metspack: Commands, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    signal.signal(number, signal.SIG_IGN)  # as nohup does

    def built(*_arguments: object) -> None:
        os.kill(os.getpid(), number)
        raise SourceError("went on")

    monkeypatch.setattr(build, "build", built)
    assert metspack("build", "x", "-o", "y").code == 3


def _begun(folder: Path) -> bool:
    return any((folder / "out.partial").glob("package/*_lobseg_*/content"))


def _planning(folder: Path) -> bool:
    return (folder / "out.partial").is_dir()


def _group(leader: int) -> list[int]:
    """Return the running processes of a session without its leader and zombies."""
    found = subprocess.run(
        ["ps", "-o", "pid=,stat=", "-s", str(leader)], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    running = [int(number) for number, state in map(str.split, found) if not state.startswith("Z")]
    return [each for each in running if each != leader]


def _gone(leader: int) -> bool:
    return not _group(leader)


def _until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "everybody", "jobs", "when"),
    [
        (signal.SIGINT, True, "4", _begun),
        (signal.SIGINT, True, "4", _planning),
        (signal.SIGTERM, False, "1", _begun),
        (signal.SIGHUP, False, "4", _begun),
    ],
)
def test_an_interrupted_build_resumes_or_leaves_no_files(
    program: Program,
    large: Path,
    tmp_path: Path,
    *,
    number: signal.Signals,
    everybody: bool,
    jobs: str,
    when: Callable[[Path], bool],
) -> None:
    run = program.start("build", large, "-o", "out", "--max-files", "4", "-j", jobs, cwd=tmp_path)
    _until(lambda: when(tmp_path))
    # Ctrl-C reaches every process of the terminal; a service manager may tell the first one alone.
    (os.killpg if everybody else os.kill)(run.pid, number)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, out) == (143 if number == signal.SIGTERM else 130, "")
    if names(tmp_path):
        assert names(tmp_path) == {"out.partial"}
        assert "out.partial keeps what is done: the plan, and " in err
        assert "hint: To go on, run the same command again: metspack build " in err
        again = program("build", large, "-o", "out", "--max-files", "4", "-q", cwd=tmp_path)
        assert (again.code, names(tmp_path)) == (0, {"out"})
    else:
        assert err == INTERRUPTED
    _until(lambda: _gone(run.pid), 5)


@pytest.mark.slow
def test_a_killed_worker_ends_the_build(program: Program, large: Path, tmp_path: Path) -> None:
    run = program.start("build", large, "-o", "out", "--max-files", "1", "-j", "2", cwd=tmp_path)
    _until(lambda: _begun(tmp_path))
    workers = [each for each in _group(run.pid) if b"spawn_main" in _command(each)]
    assert workers
    os.kill(workers[0], signal.SIGKILL)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, out) == (4, "")
    assert err.startswith("error: a worker process was killed\nhint: ")
    assert names(tmp_path) <= {"out.partial"}
    _until(lambda: _gone(run.pid), 5)


def _command(number: int) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{number}/cmdline").read_bytes()
    return b""


@pytest.mark.slow
def test_workers_end_with_their_parent(program: Program, large: Path, tmp_path: Path) -> None:
    run = program.start("build", large, "-o", "out", "--max-files", "1", "-j", "2", cwd=tmp_path)
    _until(lambda: _begun(tmp_path))
    run.kill()
    run.communicate(timeout=30)
    _until(lambda: _gone(run.pid), 10)
    assert names(tmp_path) == {"out.partial"}  # a kill cannot be cleaned up after, and nothing is published
    again = program("build", large, "-o", "out", cwd=tmp_path)
    assert again.code == 6
    assert "not the same: limits: bytes=4000000000, files=1 then" in again.err
    assert program("build", large, "-o", "out", "--max-files", "1", "-q", cwd=tmp_path).code == 0
    assert names(tmp_path) == {"out"}


@pytest.mark.slow
def test_an_interrupted_check_ends_workers_and_reports(program: Program, tmp_path: Path) -> None:
    out = forge.forge(tmp_path / "out")
    for each in forge.LOBS:  # minutes of hashing, and no room taken
        os.truncate(out / f"Northwind_lobseg_{each.segment}" / each.path, 20 << 30)
    run = program.start("check", out, "--level", "fixity", "-j", "2", "--json", cwd=tmp_path)
    _until(lambda: len([each for each in _group(run.pid) if b"spawn_main" in _command(each)]) == 2)
    os.kill(run.pid, signal.SIGINT)
    printed, err = run.communicate(timeout=30)
    assert (run.returncode, err) == (130, INTERRUPTED)
    assert json.loads(printed)["is_complete"] is False
    _until(lambda: _gone(run.pid), 5)


@pytest.mark.parametrize("segments", ["2", "100000"])
def test_a_reader_that_leaves_early_is_no_error(program: Program, tmp_path: Path, segments: str) -> None:
    siards.siard(tmp_path / "Small.siard", *([b"x"] * 3000))
    read, write = os.pipe()
    os.close(read)
    words = ("plan", "Small.siard", "--max-files", segments)
    done = program.run(*program.command, *words, cwd=tmp_path, stdout=write)
    os.close(write)
    assert (done.code, done.err) == (141, "")


def test_a_full_disk_under_the_output_is_reported(program: Program, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    siards.siard(tmp_path / "Small.siard", b"x")
    with open("/dev/full", "wb") as full:
        done = program.run(*program.command, "plan", "Small.siard", cwd=tmp_path, stdout=full)
    assert done.code == 4
    assert done.err == (
        "error: cannot write the result: No space left on device\n"
        "hint: Free space where the output goes, or send it elsewhere.\n"
    )


def test_an_output_that_cannot_hold_a_letter_gets_its_code(program: Program, tmp_path: Path) -> None:
    siards.packed(tmp_path / "Small.siard", siards.parts([], dbname="čeština"))
    outcome = program("inspect", "Small.siard", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (outcome.code, outcome.err) == (0, "")
    assert "database  \\u010de\\u0161tina" in outcome.out


def test_a_name_that_is_no_text_can_be_shown(program: Program, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.siard")
    siards.siard(tmp_path / name, b"x")
    outcome = program("plan", name, cwd=tmp_path)
    assert outcome.code == 0
    assert outcome.err.startswith("warning: renamed 'caf\\udce9' to caf_ (allowed: ")
    assert outcome.out.startswith("caf\\udce9.siard: SIARD 2.2")


def test_progress_is_plain_lines_where_there_is_no_terminal(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_EVERY", -1)
    outcome = metspack("build", northwind, "-o", tmp_path / "out", "-j", "1", "--max-files", "4")
    assert outcome.code == 0
    assert re.search(
        r"^Placing \(stage 3 of 5\): [0-9,]+ bytes.* at [0-9.]+ MB/s, [0-9,]+ LOBs/s, [0-9]+ %, "
        r"elapsed [0-9]+:[0-9]{2}:[0-9]{2}$",
        outcome.err,
        re.MULTILINE,
    )
    assert re.search(
        r"^Checking the new package \(stage 5 of 5\): [0-9,]+ bytes.* MB/s, [0-9]+ %, elapsed .*[0-9]$",
        outcome.err,
        re.MULTILINE,
    )
    assert re.search(r"^Checking the new .* 100 %, ", outcome.err, re.MULTILINE)


def test_progress_bar(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_is_terminal", lambda _stream: True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # so that Rich takes it for a terminal too
    outcome = metspack("build", northwind, "-o", tmp_path / "out", "-j", "1")
    assert outcome.code == 0
    assert "stage 3 of 5: Placing" in outcome.err
    assert "elapsed 0:00:0" in outcome.err
    assert "\x1b[?25h" in outcome.err, "the cursor is shown again"


class Unwilling(io.TextIOWrapper):
    """A stdout that fails in a way of its own."""

    def __init__(self, error: OSError, file: BinaryIO) -> None:
        super().__init__(file, encoding="utf-8")
        self.error = error

    def write(self, _text: str) -> int:
        raise self.error

    def flush(self) -> None:
        """Flush an empty buffer."""


@pytest.mark.parametrize(
    "failure",
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (OSError(errno.EIO, "Input/output error"), 4, "error: cannot write the result: Input/output error\n"),
    ],
    ids=["broken pipe", "other"],
)
def test_an_output_that_fails(
    metspack: Commands,
    northwind: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: tuple[OSError, int, str],
) -> None:
    error, code, err = failure
    for options in ((), ("--json",)):
        with (tmp_path / "stdout").open("wb") as file, monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", Unwilling(error, file))
            outcome = metspack("plan", northwind, *options)
        assert (outcome.code, outcome.err[: len(err)]) == (code, err)


def test_no_output_at_all(metspack: Commands, northwind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    outcome = metspack("plan", northwind)
    assert (outcome.code, outcome.err.splitlines()[0]) == (
        4,
        "error: cannot write the result: stdout is closed",
    )
    assert metspack("plan", northwind, "-q").code == 0


def test_an_interruption_takes_the_bar_away_before_the_cleaning_up(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        arguments[-1].stage("Placing", 10)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        finally:
            console.info("cleaning up")

    monkeypatch.setattr(build, "build", interrupted)
    monkeypatch.setattr(console, "_is_terminal", lambda _stream: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    outcome = metspack("build", "x.siard", "-o", tmp_path / "out")
    assert outcome.code == 130
    shown, _, after = outcome.err.partition("interrupted: what is unfinished is being removed\n")
    assert "stage 3 of 5: Placing" in shown
    assert "cleaning up" in after
    assert "Placing" not in after


SWALLOWING = """
import os, signal, time
from metspack.cli import app, main
def left_to_its_end():
    try:
        yield
    finally:
        os.kill(os.getpid(), signal.SIGINT)
def command(**_):
    next(left_to_its_end())
    time.sleep(30)
    return 0
app.command = command
main()
"""


def test_an_interruption_that_python_swallows_comes_again(program: Program) -> None:
    done = program.python(SWALLOWING)
    assert done.code == 130
    assert done.err.startswith("error: interrupted; ")
    assert "ignored" not in done.err
