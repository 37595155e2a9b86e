"""Make the environment, run everything in it, and print what differs from here: `just windows`.

``python -m tests.windows [--every N] [--only PART] [--match PATTERN]``; ``METSPACK_WINDOWS`` names
the folder of the environment. Archives are those of others that are there (CONTRIBUTING.md). Parts run at
once: a command under Wine waits half of its time for Wine's services.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT
from tests.hostile import exchanging
from tests.packages.cases import cases
from tests.shared_data import shared
from tests.windows import commands, environment, promises
from tests.windows.environment import Environment

HERE = Path(__file__).parent
GOLDEN = CHECKOUT / "samples" / "northwind"
_CLOCK = {"SOURCE_DATE_EPOCH": "1456185600"}
_SECONDS = 1_500
_MEMORY, _ROOM = "/dev/shm", 3 << 30  # noqa: S108 -- a folder of its own is made there
_REAL = {
    "data/siard/dbptk-example.siard": "dbptk",
    "data/siard/sample-datalink-2.2.siard": "datalink",
    "data/siard/sfdbsakila-2.2.siard": "sakila22",
    "data/siard/sfdbsakila-2.1.siard": "sakila21",
    "data/northwind/Northwind.siard": "northwind10",
    "data/siard/sql2008": "sql2008",
}
"""Real archives, where they are, and their names here."""
_OF_BUILD = ("mets.xml", "manifest-*.txt")
_OWN = {
    *("bad/P013__absolute_to_where_it_lies", "warn/P013-S010__documentation_where_it_lies"),
    *("warn/P102__b_cell", "warn/P102__b_column"),
}
"""Packages that state the absolute path of their folder, which has no drive here."""
_NOT_HELD = re.compile(
    r'.*[<>:"\\|?*\x00-\x1f\udc80-\udcff].*|.*[. ]|(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?',
    re.IGNORECASE | re.DOTALL,
)


def main() -> int:
    """Run all; return the number of differences."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="of the packages of the tests, every so many")
    parser.add_argument("--only", choices=[*PARTS, PROMISES])
    parser.add_argument("--match", default="", help="of the promises, those whose name has this pattern")
    given = parser.parse_args()
    cache = os.environ.get("METSPACK_WINDOWS") or Path.home() / ".cache" / "metspack-windows"
    begun = time.monotonic()
    made = environment.make(Path(cache).absolute())
    print(f"environment: {made.folder}, {time.monotonic() - begun:.0f} s")
    with (
        made.started(),
        tempfile.TemporaryDirectory(dir=_in_memory()) as name,
        ThreadPoolExecutor(1 + (os.cpu_count() or 1)) as pool,
    ):
        jobs: list[Future[list[str]]] = []
        for part in [*PARTS, PROMISES] if given.only is None else [given.only]:
            if part == PROMISES:
                jobs.append(pool.submit(promised, made, Path(name), given.match))
                continue
            every = given.every if part == "packages" else 1
            step = every if part == "commands" else 2 * every  # the others are divided in two
            for first in range(0, step, every):
                place, chosen = Path(name) / f"{part}-{first}", slice(first, None, step)
                jobs.append(pool.submit(compared, made, place, part, chosen))
        wrong = [each for job in jobs for each in job.result()]
    print(*wrong, sep="\n")
    print(f"{len(wrong)} wrong, {time.monotonic() - begun:.0f} s")
    return min(len(wrong), 100)


def _in_memory() -> str | None:
    """Return the folder in memory, where syncing takes no time, or None without room."""
    is_there = "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK)
    return _MEMORY if is_there and shutil.disk_usage(_MEMORY).free > _ROOM else None


def compared(made: Environment, folder: Path, part: str, chosen: slice) -> list[str]:
    """Run the commands on the chosen cases of a part here and there; return what differs."""
    notes, begun = [], time.monotonic()
    folder.mkdir()
    for place in (folder / "here", folder / "there"):
        place.mkdir()
        PARTS[part](place, chosen)
        program, target = HERE / "commands.py", place / "notes.json"
        if place.name == "here":
            line = [sys.executable, str(program), str(target), part]
            variables = os.environ | _CLOCK | {"PYTHONPATH": str(CHECKOUT)}
            done = subprocess.run(line, cwd=place, env=variables, capture_output=True, check=False)
        else:
            done = made.run(program, target, part, folder=place, seconds=_SECONDS, more=_CLOCK)
        if not target.exists():
            return [f"{place.name}: {environment.words([done.stdout, done.stderr])}"]
        notes.append(json.loads(target.read_text("utf-8")))
    here, there = notes
    counts = ", ".join(f"{len(found)} {name}" for name, found in here.items())
    print(f"{part}: {counts}, {time.monotonic() - begun:.0f} s", flush=True)
    return [*(_golden(there["trees"]) if part == "commands" else []), *_differences("", here, there)]


def _golden(trees: dict[str, dict[str, str]]) -> list[str]:
    """Return which of the golden packages are other ones there."""
    pairs = {"b1": "Northwind", "b2": "Northwind-full", "b3": "Northwind-csip", "m3": "Northwind-merged"}
    return [
        f"golden {name} is another"
        for made, name in pairs.items()
        if trees[made] != commands.tree(str(GOLDEN / "golden" / name))
    ]


def _differences(where: str, here: Any, there: Any) -> list[str]:
    if isinstance(here, dict) and isinstance(there, dict):
        names = sorted({*here, *there})
        found = [_differences(f"{where}/{name}", here.get(name), there.get(name)) for name in names]
        return [each for some in found for each in some]
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        pairs = enumerate(zip(here, there, strict=True))
        return [each for number, pair in pairs for each in _differences(f"{where}/{number}", *pair)]
    return [] if here == there else [f"{where}:\n  here  {here!r}\n  there {there!r}"]


def _prepare_commands(place: Path, _chosen: slice) -> None:
    for name in ("Northwind.siard", "Northwind-full.siard"):
        shutil.copy(GOLDEN / name, place)
    shutil.copytree(
        GOLDEN / "golden" / "Northwind", place / "kept", ignore=shutil.ignore_patterns(*_OF_BUILD)
    )


def _prepare_archives(place: Path, chosen: slice) -> None:
    for path, name in [*_REAL.items()][chosen]:
        try:
            found = shared(*path.split("/"))
        except pytest.skip.Exception as reason:
            print(f"{name} is left out: {reason}")
            continue
        if found.is_dir():  # an archive with LOBs beside it
            shutil.copytree(found, place, dirs_exist_ok=True)
        else:
            shutil.copy(found, place / f"{name}.siard")


def _prepare_packages(place: Path, chosen: slice) -> None:
    packages = {}
    for case in cases()[chosen]:
        home = place / "packages" / case.id
        if case.is_of_files:
            shutil.copytree(case.folder, home, symlinks=True)
            package = home / "package" / str(case.recipe.get("mets", ""))
        else:
            home.mkdir(parents=True)
            package = case.made(home)
        paths = [package, *(package.with_name(each) for each in case.also)]
        is_held = all(
            (each.is_dir() or each.is_file()) and not each.is_symlink() and not _NOT_HELD.fullmatch(each.name)
            for each in home.rglob("*")
        )
        if is_held and case.id not in _OWN:
            packages[case.id] = {
                "paths": [str(each.relative_to(place)) for each in paths],
                "roots": [str(package.with_name(each).relative_to(place)) for each in case.roots],
                "strict": False,
            }
    (place / "packages.json").write_text(json.dumps(packages), "utf-8")


PARTS: Mapping[str, Callable[[Path, slice], None]] = {
    "packages": _prepare_packages,
    "archives": _prepare_archives,
    "commands": _prepare_commands,
}
"""Parts of the comparison, each with the function that puts its files into a folder."""
PROMISES = "promises"


@contextmanager
def _mounting(folder: Path) -> Iterator[None]:
    """Have a folder with a secret come and go as a mount in place of another."""
    place, ending = folder / "sub", threading.Event()
    place.mkdir(parents=True)
    (place / "f").write_bytes(b"granted")
    mount, unmount = ["mount", "-t", "tmpfs", "none", str(place)], ["umount", "-l", str(place)]

    def come_and_go() -> None:
        while not ending.is_set() and not subprocess.run(mount, capture_output=True, check=False).returncode:
            (place / "f").write_bytes(b"secret!")
            (folder / "is_root").touch()
            time.sleep(0.005)
            subprocess.run(unmount, check=True)
            time.sleep(0.005)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


@contextmanager
def _exchanging(folder: Path) -> Iterator[list[str]]:
    """Have mounts come and go in place of folders of ``rounds``; give the changes in them.

    Root may make them; they come while a file ``begun`` is there.
    """
    changed: list[str] = []
    outside, ending = folder / "outside", threading.Event()
    outside.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "none", outside], capture_output=True, check=False).returncode:
        print("no mounts: nothing is exchanged")
        yield changed
        return
    exchanging.prepare(folder)
    exchanging.fill(outside)
    is_noted = exchanging.notes_readings(outside)
    before, places = exchanging.state(outside), exchanging.places(folder)

    def come_and_go() -> None:
        while not ending.is_set():
            place = next(places) if (folder / "begun").exists() else None
            line = ["mount", "--bind", str(outside), str(place)]
            if place and not subprocess.run(line, capture_output=True, check=False).returncode:
                time.sleep(0.005)
                subprocess.run(["umount", "-l", place], capture_output=True, check=False)
            time.sleep(0.005)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        yield changed
    finally:
        ending.set()
        thread.join()
        after = exchanging.state(outside)
        changed += sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        changed += [] if is_noted else ["this file system does not note readings"]
        subprocess.run(["umount", "-l", outside], check=True)
        for line in Path("/proc/mounts").read_text().splitlines():  # those that were published with a package
            if (place := line.split()[1]).startswith(f"{folder}/"):
                subprocess.run(["umount", "-l", place], check=False)


def promised(made: Environment, folder: Path, match: str) -> list[str]:
    """Run the tests of promises there; return which fail."""
    place, begun = folder / "promises", time.monotonic()
    place.mkdir()
    for name in ("Northwind.siard", "Northwind-full.siard"):
        shutil.copy(GOLDEN / name, place)
    with _mounting(place / "mounted"), _exchanging(place / "exchanged") as changed:
        lines = list(made.lines(HERE / "promises.py", match, folder=place, more=_CLOCK))
    count = sum(re.search(match, each.__name__) is not None for each in promises.tests())
    passed = sum(line.startswith("passed ") for line in lines)
    print(f"promises: {passed} of {count} kept, {time.monotonic() - begun:.0f} s")
    return [*(f"outside: {each}" for each in changed), *["not all promises are kept"] * (passed != count)]


if __name__ == "__main__":
    sys.exit(main())
