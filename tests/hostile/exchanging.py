"""Folders that are exchanged for others while commands read and write them.

``python -m tests.hostile.exchanging [SECONDS]``: in the source, the package and the targets of ``rounds``,
folders are exchanged for links to folders with the same names and other bytes. Nothing behind the links may
be read, written or removed: each file there keeps its bytes and the time when it was last read.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from tests.conftest import CHECKOUT
from tests.windows.commands import rounds

PLACES = (
    "source/Northwind_lobseg_1",
    "package/Northwind_lobseg_1",
    "out-*.partial/package/Northwind_lobseg_1",
    "lobs-*.partial/package/content",
)
"""Patterns of the folders to be exchanged."""
_GOLDEN = CHECKOUT / "samples" / "northwind" / "golden" / "Northwind"
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
_LONG_AGO = (1, 2)  # read before it was changed: then each reading is noted, also with relatime
_HERE = -100  # AT_FDCWD
_PAUSE = 0.001


def prepare(folder: Path) -> None:
    """Make what ``rounds`` read; a source is a package without METS and manifests."""
    shutil.copy(_GOLDEN.parents[1] / "Northwind.siard", folder)
    for name in ("package", "whole"):
        shutil.copytree(_GOLDEN, folder / name)
    shutil.copytree(_GOLDEN, folder / "source", ignore=shutil.ignore_patterns("mets.xml", "manifest-*"))


def fill(outside: Path) -> None:
    """Make what the links lead to: all files of a segment, with other bytes, unread."""
    segment = _GOLDEN / "Northwind_lobseg_1"
    for path in files_in(segment):
        names = path.relative_to(segment).parts
        for below in filter(None, (names, names[1:])):  # as below ``content`` of a restored package
            place = outside.joinpath(*below)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"s" * path.stat().st_size)
    (outside / "probe").write_bytes(b"probe")
    for path in files_in(outside):
        os.utime(path, _LONG_AGO)


def files_in(folder: Path) -> Iterator[Path]:
    return (each for each in sorted(folder.rglob("*")) if each.is_file())


def state(outside: Path) -> dict[str, tuple[int, ...]]:
    """Return what lies there, with size, and times of the last change and the last reading."""
    found: dict[str, tuple[int, ...]] = {}
    for path in sorted(outside.rglob("*")):
        status = path.stat()
        times = (status.st_size, status.st_mtime_ns, status.st_atime_ns) if path.is_file() else ()
        found[str(path.relative_to(outside))] = times
    return found


def notes_readings(outside: Path) -> bool:
    """Return whether the file system notes that a file was read."""
    (outside / "probe").read_bytes()
    is_noted = (outside / "probe").stat().st_atime > _LONG_AGO[1]
    (outside / "probe").unlink()
    return is_noted


def places(folder: Path) -> Iterator[Path]:
    """Yield without end the places that are there."""
    while True:
        for each in PLACES:
            yield from folder.glob(each)


def exchange(folder: Path, outside: Path) -> None:
    """Exchange folders for links and back, until this process is ended."""
    library = ctypes.CDLL(None, use_errno=True)
    link = folder / "link"
    link.symlink_to(outside)
    for number, place in enumerate(places(folder)):
        names = (_HERE, os.fsencode(link), _HERE, os.fsencode(place), _EXCHANGE)
        while not library.renameat2(*names) and not link.is_symlink():
            time.sleep(_PAUSE)
        time.sleep(_PAUSE)
        if not link.is_symlink():  # the folder that the link was put into has another name by now
            link.rename(folder / f"left-{number}")
            link.symlink_to(outside)


def run(folder: Path, seconds: float) -> tuple[dict[str, int], list[str]]:
    """Exchange folders while commands run; return how these ended, and the changes outside."""
    outside = folder / "outside"
    outside.mkdir()
    prepare(folder)
    fill(outside)
    if not notes_readings(outside):
        return {}, []
    before = state(outside)
    attacker = get_context("spawn").Process(target=exchange, args=(folder, outside))
    attacker.start()
    try:
        ended = rounds(folder, seconds)
    finally:
        attacker.kill()
        attacker.join()
    after = state(outside)
    return ended, sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def main() -> int:
    """Run it, and print what came."""
    with tempfile.TemporaryDirectory() as name:
        ended, others = run(Path(name), float(sys.argv[1]) if len(sys.argv) > 1 else 60)
    for words, count in sorted(ended.items()):
        print(f"{count:6,} {words}")
    print(f"{len(others)} files outside were read, written or removed", *others[:10])
    return bool(others or not ended)


if __name__ == "__main__":
    sys.exit(main())
