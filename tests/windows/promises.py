"""Promises about files, tried on Windows: ``python promises.py`` in an empty folder with Northwind.siard.

It imports only metspack, as it runs where the tests do not.
"""

from __future__ import annotations

import _thread
import os
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # an embedded Python does not do so by itself
commands = import_module("commands")

TESTS: list[Callable[[Path], None]] = []


def tests() -> list[Callable[[Path], None]]:
    """Return all tests."""
    return TESTS


def promise(test: Callable[[Path], None]) -> Callable[[Path], None]:
    TESTS.append(test)
    return test


def windows() -> Any:
    """Return the calls of POSIX on Windows; elsewhere they cannot be loaded."""
    return import_module("metspack.system.windows")


def raises(kind: type[Exception], call: Callable[[], object], text: str = "") -> Any:
    """Return the error of a call, which must have the text."""
    try:
        call()
    except kind as error:
        if text in str(error):
            return error
        raise
    raise AssertionError(f"{kind.__name__} was not raised")


def metspack(*words: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    """Run a command as a program."""
    line = [sys.executable, "-m", "metspack", *words]
    variables = os.environ | {"PYTHONIOENCODING": encoding, "SOURCE_DATE_EPOCH": "1456185600"}
    return subprocess.run(line, env=variables, input=b"", capture_output=True, check=False)


@promise
def a_file_is_opened_below_an_open_folder(folder: Path) -> None:
    calls = windows()

    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "f").write_bytes(b"12345")
    top = calls.open(folder, calls.O_RDONLY | calls.O_DIRECTORY)
    below = calls.open("a", calls.O_RDONLY | calls.O_DIRECTORY | calls.O_NOFOLLOW, dir_fd=top)
    inner = calls.open("b", calls.O_RDONLY | calls.O_DIRECTORY | calls.O_NOFOLLOW, dir_fd=below)
    file = calls.open("f", calls.O_RDONLY | calls.O_NOFOLLOW, dir_fd=inner)
    assert calls.pread(file, 3, 1) == b"234"
    assert calls.read(file, 2) == b"12", "the position is kept"
    assert [each.name for each in calls.scandir(below)] == ["b"]
    assert calls.fstat(file).st_size == calls.stat("f", dir_fd=inner).st_size == 5
    for each in (file, inner, below, top):
        calls.close(each)


@promise
def no_name_leads_out_of_an_open_folder(folder: Path) -> None:
    calls = windows()

    (folder / "in" / "deeper").mkdir(parents=True)
    (folder / "secret").write_bytes(b"secret")
    (folder / "in" / "f").write_bytes(b"")
    top = calls.open(folder / "in", calls.O_RDONLY | calls.O_DIRECTORY)
    for name in ("..", "../secret", "..\\secret", "deeper\\..\\..\\secret", "f:stream", "C:", "", "."):
        raises(OSError, partial(calls.open, name, calls.O_RDONLY | calls.O_NOFOLLOW, dir_fd=top))
        raises(OSError, partial(calls.stat, name, dir_fd=top, follow_symlinks=False))
        raises(OSError, partial(calls.unlink, name, dir_fd=top))
    calls.close(top)
    assert (folder / "secret").exists()


@promise
def a_link_is_not_opened(folder: Path) -> None:
    """Wine has no junctions: what says that an open file is one is answered for it."""
    from metspack.files import reading, walking

    calls = windows()

    (folder / "in" / "sub").mkdir(parents=True)
    (folder / "in" / "f").write_bytes(b"1")
    before = calls._tag
    for tag in (0xA0000003, 0xA000000C, 0xA000001D):  # mount point or junction, symbolic link, that of WSL
        calls._tag = lambda _handle, tag=tag: tag
        try:
            raises(OSError, lambda: reading.opened(folder, ("in", "f")), "link")
            raises(OSError, lambda: reading.opened_folder(folder, ("in", "sub")), "link")
            assert reading.statuses(folder / "in", (), ["f"]) == [None]
            assert reading.exists(folder, ("in", "none")), "it may be behind the link"
        finally:
            calls._tag = before
    calls._tag = lambda _handle: 0x80000013  # deduplicated: a file as any other
    try:
        calls.close(reading.opened(folder, ("in", "f")))
    finally:
        calls._tag = before
    assert [each.names for each in walking.checked_lots(folder / "in")] == [[b"f"], []]


@promise
def a_mount_that_comes_and_goes_is_not_entered(folder: Path) -> None:
    """Mounts of Linux are reparse points under Wine; root has one come and go meanwhile."""
    from metspack.files import reading

    place = folder.parent / "mounted"
    ending, read, refused = time.monotonic() + 20, 0, 0
    while (place / "is_root").exists() and time.monotonic() < ending:
        try:
            with reading.opening(place, ("sub", "f")) as descriptor:
                assert b"".join(reading.chunks(descriptor)) == b"granted"
                read += 1
        except OSError as error:
            refused += "link" in str(error)
    print(f"read {read:,} times, refused {refused:,} times")
    assert bool(read) == bool(refused)


@promise
def a_location_in_another_letter_case_leads_nowhere(folder: Path) -> None:
    """Windows finds a file in any letter case by its path; names are as they are listed."""
    from metspack.packages.files import FolderTree

    (folder / "Seg" / "deep").mkdir(parents=True)
    (folder / "Seg" / "deep" / "mets.xml").write_bytes(b"")
    tree = FolderTree(folder)
    for path in (b"Seg", b"Seg/deep", b"Seg/deep/mets.xml", b"Seg//deep/mets.xml"):
        assert tree.is_there(path), path
    for path in (
        b"seg",
        b"seg/deep/mets.xml",
        b"Seg/Deep/mets.xml",
        b"Seg/deep/METS.xml",
        b"Seg\\deep",
        b"no",
    ):
        assert not tree.is_there(path), path
    assert (folder / "seg" / "METS.xml").parent.exists(), "Windows itself finds it"


@promise
def what_comes_in_place_of_a_folder_is_not_entered(folder: Path) -> None:
    """Mounts come and go meanwhile; the process that makes them looks behind them."""
    place = folder.parent / "exchanged"
    (place / "begun").touch()
    try:
        print("exchanged:", commands.rounds(place, 60) if (place / "package").exists() else "nothing")
    finally:
        (place / "begun").unlink()


@promise
def an_open_folder_is_not_replaced(folder: Path) -> None:
    calls = windows()

    (folder / "held").mkdir()
    top = calls.open(folder / "held", calls.O_RDONLY | calls.O_DIRECTORY)
    calls._ATTEMPTS, before = 2, calls._ATTEMPTS
    try:
        raises(OSError, lambda: calls.rename(folder / "held", folder / "other"))
    finally:
        calls._ATTEMPTS = before
        calls.close(top)
    calls.rename(folder / "held", folder / "other")
    assert (folder / "other").is_dir()


@promise
def a_publication_names_the_file_that_another_program_has_open(folder: Path) -> None:
    from metspack import errors

    calls = windows()

    (folder / "made" / "deep").mkdir(parents=True)
    (folder / "made" / "deep" / "f").write_bytes(b"")
    calls._ATTEMPTS, before = 2, calls._ATTEMPTS
    other = calls._handle(calls._name_in(folder / "made" / "deep" / "f", None), None, calls._READ, share=1)

    def refused(*_: str) -> None:
        raise PermissionError(13, "Access denied")  # as Windows says of such a folder, and Wine does not

    try:
        error = raises(
            OSError, lambda: calls._move(refused, *map(calls._absolute, (folder / "made", folder / "target")))
        )
        assert "f open" in str(error), error
        assert "Close it" in errors.hint_of(error)
    finally:
        calls._ATTEMPTS = before
        calls._kernel32.CloseHandle(other)
    calls.rename(folder / "made", folder / "target")


@promise
def locks_are_seen_by_other_holders(folder: Path) -> None:
    from metspack.files import lock
    from metspack.system import fcntl

    calls = windows()

    (folder / "d").mkdir()
    for place, flags in ((folder / "f", calls.O_RDWR | calls.O_CREAT), (folder / "d", calls.O_DIRECTORY)):
        one, two, three = (calls.open(place, flags) for _ in range(3))
        assert lock(one, fcntl.LOCK_SH)
        assert lock(two, fcntl.LOCK_SH)
        assert not lock(three, fcntl.LOCK_EX)
        calls.close(one)
        assert not lock(three, fcntl.LOCK_EX)
        calls.close(two)
        assert lock(three, fcntl.LOCK_EX)
        calls.close(three)


@promise
def a_locked_file_is_read_and_written(folder: Path) -> None:
    from metspack.system import fcntl

    calls = windows()

    path = folder / "journal"
    path.write_bytes(b"line\n")
    one = calls.open(path, calls.O_RDWR | calls.O_APPEND)
    fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    two = calls.open(path, calls.O_RDWR | calls.O_APPEND)
    fcntl.lockf(two, fcntl.LOCK_EX)
    calls.write(two, b"more\n")
    fcntl.lockf(two, fcntl.LOCK_UN)
    assert path.read_bytes() == b"line\nmore\n"
    calls.close(two)
    calls.close(one)


@promise
def names_that_windows_cannot_hold_are_refused(folder: Path) -> None:
    from metspack.errors import TargetError
    from metspack.files import writing

    for name in ("con", "NUL.txt", "a:b", "a.", "a ", "com1", "a?b", "lpt9.siard", "a|b", "a\tb"):
        raises(TargetError, partial(writing.check_names, [f"x/{name}/y"]), "Windows cannot hold")
        raises(TargetError, partial(writing.NewFile, folder / "x" / name))
    raises(TargetError, lambda: writing.check_names(["a/B", "a/b"]), "both")
    writing.check_names(["a/b", "a/c", "console", "nul0", ".hidden"])
    assert not any(folder.iterdir())


@promise
def a_path_of_more_than_260_characters_is_taken(folder: Path) -> None:
    from metspack.files import reading, writing

    deep = folder
    for _ in range(8):
        deep = deep / ("n" * 60)
        writing.make_directory(deep)
    with writing.NewFile(deep / "f") as file:
        file.write(b"123")
    names = (*["n" * 60] * 8, "f")
    with reading.opening(folder, names) as descriptor:
        assert b"".join(reading.chunks(descriptor)) == b"123"
    writing.move(deep / "f", deep / "g")
    writing.remove(folder / names[0])
    assert not any(folder.iterdir())


@promise
def files_and_folders_are_made_and_removed_below_an_open_folder(folder: Path) -> None:
    calls = windows()

    top = calls.open(folder, calls.O_RDONLY | calls.O_DIRECTORY)
    calls.mkdir("a", 0o755, dir_fd=top)
    raises(FileExistsError, lambda: calls.mkdir("a", 0o755, dir_fd=top))
    raises(OSError, lambda: calls.mkdir("..\\b", 0o755, dir_fd=top))
    raises(OSError, lambda: calls.mkdir("con", 0o755, dir_fd=top))
    (folder / "a" / "f").write_bytes(b"")
    raises(OSError, lambda: calls.rmdir("a", dir_fd=top))
    raises(OSError, lambda: calls.unlink("a", dir_fd=top))
    below = calls.open("a", calls.O_RDONLY | calls.O_DIRECTORY, dir_fd=top)
    calls.unlink("f", dir_fd=below)
    raises(FileNotFoundError, lambda: calls.unlink("f", dir_fd=below))
    calls.close(below)
    calls.rmdir("a", dir_fd=top)
    calls.close(top)
    assert not any(folder.iterdir())


@promise
def what_is_removed_does_not_take_what_a_link_leads_to(folder: Path) -> None:
    from metspack.files import writing

    calls = windows()

    (folder / "made" / "link").mkdir(parents=True)
    (folder / "made" / "link" / "f").write_bytes(b"")
    before = calls._tag
    calls._tag = lambda handle: (  # a junction, which Wine has not
        0xA0000003 if calls._path_of(handle).endswith("link") else before(handle)
    )
    try:
        raises(Exception, lambda: writing.remove(folder / "made"), "not empty")  # a junction itself is empty
    finally:
        calls._tag = before
    assert (folder / "made" / "link" / "f").exists()
    writing.remove(folder / "made")
    assert not any(folder.iterdir())


@promise
def two_processes_of_a_build_give_the_same(folder: Path) -> None:
    source = str(folder.parent / "Northwind.siard")
    for jobs in ("1", "2"):
        line = f"build {source} -o {folder / jobs} --max-files 2 -j {jobs}"
        done = commands.run(line)
        if done["code"] == 4:  # a process that Wine did not start whole; the same command goes on
            assert "worker process" in done["err"], done
            done = commands.run(line)
        assert not done["code"], done
    one, two = (sorted(each.read_bytes() for each in (folder / n).rglob("*") if each.is_file()) for n in "12")
    assert one == two


def _console_flags() -> int:
    """Return 1 for a process that ignores Ctrl-C: ``ConsoleFlags`` of its parameters."""
    import ctypes

    facts = (ctypes.c_void_p * 6)()
    windows()._ntdll.NtQueryInformationProcess(ctypes.c_void_p(-1), 0, facts, 48, None)
    parameters = ctypes.c_void_p.from_address((facts[1] or 0) + 0x20)
    return ctypes.c_uint32.from_address((parameters.value or 0) + 0x18).value


@promise
def a_process_that_is_started_ignores_ctrl_c_from_the_first_moment(_folder: Path) -> None:
    from metspack.system import HeldSignals

    program = "import promises; print('ignored', promises._console_flags())"
    line = [sys.executable, "-c", f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); {program}"]
    found = []
    for held in (nullcontext(), HeldSignals()):
        with held:
            done = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        found.append(done.communicate()[0].split()[-1])
    assert found == [b"0", b"1"], found
    assert _console_flags() == 0


@promise
def a_killed_build_is_resumed(folder: Path) -> None:
    line = [
        "build",
        str(folder.parent / "Northwind-full.siard"),
        "-o",
        str(folder / "out"),
        "--max-files",
        "1",
    ]
    variables = os.environ | {"SOURCE_DATE_EPOCH": "1456185600"}
    kills = 0
    for segment in (0, 3):
        begun = folder / "out.partial" / "package" / f"Northwind-full_lobseg_{segment}"
        command = [sys.executable, "-m", "metspack", *line]
        quiet = subprocess.PIPE
        with subprocess.Popen(command, env=variables, stdin=quiet, stdout=quiet, stderr=quiet) as running:
            while running.poll() is None and not begun.exists():
                time.sleep(0.01)
            kills += running.poll() is None
            running.kill()
    assert kills
    assert (folder / "out").exists() != (folder / "out.partial").exists(), "complete or absent"
    done = commands.run(" ".join(line))
    assert not done["code"] or kills < 2, done
    assert not commands.run(f"check {folder / 'out'}")["code"]
    assert not (folder / "out.partial").exists()


@promise
def another_run_at_work_is_seen(folder: Path) -> None:
    from metspack.files import writing
    from metspack.files.journal import journal_of, partial_of

    partial = partial_of(folder / "out")
    partial.mkdir()
    journal = writing.RunJournal(journal_of(partial))
    done = commands.run(f"build {folder.parent / 'Northwind.siard'} -o {folder / 'out'}")
    assert done["code"] == 4, done
    assert "another run is at work" in done["err"], done
    journal.close()


@promise
def a_file_without_holes_has_none(folder: Path) -> None:
    calls = windows()
    (folder / "f").write_bytes(bytes(100_000))
    descriptor = calls.open(folder / "f", calls.O_RDONLY)
    assert calls.lseek(descriptor, 5, calls.SEEK_HOLE) == 100_000
    assert calls.lseek(descriptor, 5, calls.SEEK_DATA) == 5
    calls.close(descriptor)


@promise
def free_space_is_a_number(folder: Path) -> None:
    calls = windows()

    room = calls.statvfs(folder)
    assert room.f_bavail * room.f_frsize > 1 << 20
    assert not room.f_files


@promise
def what_is_written_with_backslashes_and_drives_is_found(folder: Path) -> None:
    source = folder.parent / "Northwind.siard"
    done = commands.run(f"build {source.as_uri()} -o {folder}\\out")
    assert not done["code"], done
    for path in (
        f"{folder}\\out",
        f"{folder}\\out\\mets.xml",
        f"{folder}/out".lower(),
        (folder / "out").as_uri(),
    ):
        assert not commands.run(f"check {path}")["code"], path


@promise
def lobs_of_a_drive_are_found_where_granted(folder: Path) -> None:
    from metspack.locations.grantedroots import Granted
    from metspack.locations.statement import Place

    lobs = folder / "LOBs"
    lobs.mkdir()
    granted = Granted((folder.parent, lobs), {}, {})
    place = Place(inside=False, absolute=True, drive=lobs.drive.upper(), segments=(*lobs.parts[1:], "r.bin"))
    assert granted.spot(place).path[-1] == "r.bin"
    other = Place(inside=False, absolute=True, drive="Q:", segments=("LOBs", "r.bin"))
    raises(Exception, lambda: granted.spot(other), "not mapped")
    above = Place(inside=False, absolute=True, drive=lobs.drive.upper(), segments=("windows", "win.ini"))
    raises(Exception, lambda: granted.spot(above))


_NAME = "\u00f6\u4e2d"


@promise
def any_pipe_takes_any_text(folder: Path) -> None:
    name = folder / "\u00e4\u4e2d.siard"
    name.write_bytes((folder.parent / "Northwind.siard").read_bytes())
    for encoding in ("cp1252", "cp850", "utf-8", "ascii"):
        for words in (
            f"inspect {name}",
            f"plan {name}",
            f"check {name}",
            f"links {name}",
            f"links {folder / 'none'}",
        ):
            done = commands.run(words, encoding)
            assert "Traceback" not in done["err"], done
            assert done["code"] in {0, 2, 3}, done
    name.rename(folder / f"{_NAME}.siard")
    for number, words in enumerate(commands.OF_ANY_TEXT):
        line = words.replace("{}", str(folder / _NAME))
        done = commands.run(line, ("cp1252", "cp850")[number % 2])
        assert "Traceback" not in done["err"], done
        assert done["code"] in {None, 0, 1, 2, 3, 5}, done
    assert any((folder / f"{_NAME}-merged").iterdir())
    done = metspack("links", "nothing\u4e2d", encoding="cp1252")
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.returncode == 3, done


@promise
def what_is_not_there_says_so(folder: Path) -> None:
    source = folder.parent / "Northwind.siard"
    for words in (
        f"build {source} -o {folder / 'o'} --cluster tcp://localhost:1",
        "check s3://bucket/package",
    ):
        done = commands.run(words)
        assert done["code"] == 2, done
        assert "cannot be used by metspack on Windows" in done["err"], done


@promise
def a_signal_ends_a_command(folder: Path) -> None:
    """The signal comes at the first placed LOB; the target keeps finished work, or is gone."""
    for name, code in (("SIGINT", 130), ("SIGTERM", 143), ("SIGBREAK", 130)):
        words = f"build {folder.parent / 'Northwind-full.siard'} -o {folder / name} --max-files 1"
        program = (
            "import sys, threading, _thread, signal, time, os\n"
            "from metspack import cli\n"
            f"sys.argv = ['metspack', *{words.split()!r}]\n"
            "def end():\n"
            f"    while not os.path.exists({str(folder / f'{name}.partial')!r}):\n"
            "        time.sleep(0.01)\n"
            f"    _thread.interrupt_main(signal.{name})\n"
            "threading.Thread(target=end, daemon=True).start()\n"
            "cli.main()\n"
        )
        done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, check=False)
        assert done.returncode == code, (name, done)
        assert b"interrupted" in done.stderr, done.stderr
        assert not (folder / name).exists()


@promise
def what_an_interruption_leaves_open_is_removed(folder: Path) -> None:
    """Ctrl-C comes at any moment while a folder is opened."""
    calls, kept = windows(), folder / "kept"
    top = calls.open(folder, calls.O_DIRECTORY)
    for number in range(200):
        kept.mkdir()
        timer = threading.Timer(number / 20_000, _thread.interrupt_main)
        with suppress(KeyboardInterrupt):
            timer.start()
            while timer.is_alive():
                calls.close(calls.open("kept", calls.O_DIRECTORY | calls.O_NOFOLLOW, dir_fd=top))
                calls.stat("kept", dir_fd=top)
        calls.rmdir("kept", dir_fd=top)
    calls.close(top)


@promise
def closing_the_window_ends_as_sigterm_does(_folder: Path) -> None:
    program = (
        "import ctypes, signal, threading, time, sys\n"
        "from metspack.system import winterms\n"
        "winterms.answer_closing()\n"
        "winterms._PATIENCE = 5\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "threading.Thread(target=winterms._handlers[0], args=(2,), daemon=True).start()\n"
        "time.sleep(4)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, check=False)
    assert done.returncode == 143, done


@promise
def folders_are_exchanged_while_they_are_read(folder: Path) -> None:
    """For some seconds a folder is exchanged for another, which is never read."""
    from metspack.files import reading

    for name, data in (("in", b"granted"), ("other", b"secret!")):
        (folder / name / "sub").mkdir(parents=True)
        (folder / name / "sub" / "f").write_bytes(data)
    ending, exchanged = time.monotonic() + 5, []

    def exchange() -> None:
        while time.monotonic() < ending:
            for one, two in ((folder / "in" / "sub", folder / "x"), (folder / "x", folder / "in" / "sub")):
                try:
                    os.rename(one, two)
                    exchanged.append(1)
                except OSError:
                    time.sleep(0.001)

    thread = threading.Thread(target=exchange)
    thread.start()
    read = 0
    while time.monotonic() < ending:
        try:
            with reading.opening(folder / "in", ("sub", "f")) as descriptor:
                assert b"".join(reading.chunks(descriptor)) == b"granted"
                read += 1
        except OSError:
            pass
    thread.join()
    assert read
    assert exchanged


def main() -> None:
    """Run all tests, each in a folder of its own."""
    only = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    for test in TESTS:
        if not only.search(test.__name__):
            continue
        folder = Path(test.__name__[:40]).absolute()
        folder.mkdir()
        begun = time.monotonic()
        try:
            test(folder)
        except BaseException:  # noqa: BLE001 -- whatever it is, the next is tried
            print(f"FAILED {test.__name__}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"passed {test.__name__} {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
