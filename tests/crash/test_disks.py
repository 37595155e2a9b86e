"""Workers killed at random, and disks that are full, small or read-only."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests import siards
from tests.conftest import CHECKOUT
from tests.crash.runner import tree
from tests.laws import seed
from tests.mounts import mounted

pytestmark = pytest.mark.slow

Making = Callable[[Path], list[str | Path]]

_WORKERS_KILLED = 15
_ENVIRONMENT = {
    **{name: os.environ[name] for name in ("PATH", "HOME", "VIRTUAL_ENV") if name in os.environ},
    "SOURCE_DATE_EPOCH": "1700000000",
    "XDG_CONFIG_HOME": "/nowhere",
}


def started(arguments: Sequence[str | Path], *before: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-m", "metspack", *map(str, arguments)],
        cwd=CHECKOUT,
        env=_ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ran(arguments: Sequence[str | Path], *before: str) -> tuple[int, str]:
    with started(arguments, *before) as process:
        _, err = process.communicate(timeout=60)
    return process.returncode, err


def build(archive: Path, target: Path) -> list[str | Path]:
    return ["build", archive, "-o", target, "--max-files", "2", "--quiet"]


def restore(package: Path, target: Path) -> list[str | Path]:
    return ["restore", package, "-o", target, "--quiet"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    return siards.packed(
        folder / "First.siard", siards.parts(siards.lobs(*(bytes([n]) * 700 for n in range(9))))
    )


@pytest.fixture(scope="module")
def package(archive: Path) -> Path:
    target = archive.with_name("package")
    assert ran(build(archive, target)) == (0, "")
    return target


def test_killed_beside_its_workers_it_leaves_no_words_of_python(archive: Path, tmp_path: Path) -> None:
    package = tmp_path / "out.partial" / "package"
    with started([*build(archive, tmp_path / "out"), "-j", "2"]) as process:
        while process.poll() is None and not any(package.glob("*_lobseg_*")):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGKILL, "")


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the worker processes that a command has by now."""
    try:
        lists = Path(f"/proc/{process.pid}/task").glob("*/children")  # a thread starts each
        children = [each for found in lists for each in found.read_text("ascii").split()]
        return [int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
    except (FileNotFoundError, ProcessLookupError):
        return []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which tells what started what")
def test_whenever_a_worker_is_killed_that_is_reported_or_all_is_done(tmp_path: Path) -> None:
    """Its command ends soon, in one of both ways, without words of Python's."""
    lobs = (b"%d" % number * 200 for number in range(200))
    archive, package = tmp_path / "Many.siard", tmp_path / "package"
    siards.packed(archive, siards.parts(siards.lobs(*lobs)))
    assert ran(build(archive, package)) == (0, "")
    assert ran(restore(package, tmp_path / "restored")) == (0, "")
    target = tmp_path / "out"
    made = {"build": tree(package), "restore": tree(tmp_path / "restored")}
    check: list[str | Path] = ["check", package, "--quiet"]
    commands = build(archive, target), restore(package, target), check
    chance = random.Random(seed())  # noqa: S311 -- a sample
    ended = Counter[int]()
    for number in range(_WORKERS_KILLED):
        words = commands[number % 3]
        with started([*words, "-j", "3"]) as process:
            while process.poll() is None and not workers_of(process):
                time.sleep(0.001)
            time.sleep(chance.uniform(0.0, 0.6))
            for each in chance.sample(found := workers_of(process), min(len(found), 1 + number % 2)):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            _, err = process.communicate(timeout=60)
        ended[process.returncode] += 1
        if process.returncode:
            assert err.startswith("error: a worker process was killed\nhint: "), err
        else:
            assert err == ""
        if target.exists():
            assert tree(target) == made[str(words[0])]
            shutil.rmtree(target)
        shutil.rmtree(tmp_path / "out.partial", ignore_errors=True)
    assert ended.keys() <= {0, 4}
    assert not list(tmp_path.glob(".*"))


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    with mounted(tmp_path / "disk", request.param) as folder:
        yield folder


def refused(ended: tuple[int, str], folder: Path, words: str) -> None:
    code, err = ended
    assert code == 4
    assert words in err
    assert str(folder) in err
    assert "hint: " in err
    assert "Traceback" not in err
    assert "fault of metspack" not in err
    assert not (folder / "out").exists()


@pytest.fixture(params=["build", "restore"])
def making(request: pytest.FixtureRequest, archive: Path, package: Path) -> Making:
    """A command that makes a target: its words."""
    return partial(build, archive) if request.param == "build" else partial(restore, package)


@pytest.mark.parametrize("disk", ["size=64k"], indirect=True)
def test_a_disk_without_room(disk: Path, making: Making) -> None:
    refused(ran(making(disk / "out")), disk, "free space")


@pytest.mark.parametrize("disk", ["size=8m,nr_inodes=6"], indirect=True)
def test_a_disk_without_inodes(disk: Path, making: Making) -> None:
    refused(ran(making(disk / "out")), disk, "inodes")


@pytest.mark.parametrize("disk", ["size=8m"], indirect=True)
def test_a_disk_that_is_full_already(disk: Path, making: Making, tmp_path: Path) -> None:
    other = disk / "other"
    with other.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    refused(ran(making(disk / "out")), disk, "space")
    other.unlink()
    assert ran(making(disk / "out")) == ran(making(tmp_path / "golden")) == (0, "")
    assert tree(disk / "out") == tree(tmp_path / "golden")
    assert os.listdir(disk) == ["out"]


@pytest.mark.parametrize("disk", ["size=8m"], indirect=True)
def test_a_disk_that_is_read_only(disk: Path, making: Making) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    refused(ran(making(disk / "out")), disk, "Read-only file system")


def test_files_that_may_not_grow(tmp_path: Path, making: Making) -> None:
    # A compiled module that is cut off at the limit would break every later run.
    limited = ("sh", "-c", 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 1; exec "$@"', "sh")
    refused(ran(making(tmp_path / "out"), *limited), tmp_path, "File too large")
    assert ran(making(tmp_path / "out")) == ran(making(tmp_path / "golden")) == (0, "")
    assert tree(tmp_path / "out") == tree(tmp_path / "golden")
    assert sorted(os.listdir(tmp_path)) == ["golden", "out"]
