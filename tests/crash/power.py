"""States that a loss of power may leave: what was not synchronised is there, dropped, torn or out of order.

The shim's log tells what a run did to files. It is done again on inodes and on entries of folders, not on
paths: a file's bytes are safe once the file was synchronised after them, an entry once its folder was (or the
other folder of a renaming, which is one step). Of all else any part may be missing.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

_SECTOR = 512
_EVERYTHING = -1


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes put into a file; ``data`` is None where it is cut to ``offset`` bytes."""

    file: int
    offset: int
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of folders set in one step: folder, name and the new inode, or None."""

    set: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Synced:
    """A file or folder is on disk as it is now; or everything is."""

    what: int


Step = Bytes | Entries | Synced
Drop = Callable[[Step], Step | None]


def records(log: Path) -> Iterator[tuple[str, list[str], bytes]]:
    """Yield the records of a log: what was done, its words, and the bytes that were written."""
    with log.open("rb") as file:
        for line in file:
            what, *words = os.fsdecode(line.rstrip(b"\n")).split("\t")
            yield what, words, file.read(int(words[2])) if what == "write" else b""


class Recording:
    """The files before a run, and its steps."""

    def __init__(self, root: Path) -> None:
        self.steps: list[Step] = []
        self._root = str(root)
        self._given = count(1)
        self._numbers: dict[int, int] = {}  # by inode, which the system gives again once a file is removed
        self._files: dict[int, bytes] = {}
        self._folders: dict[int, dict[str, int]] = {}
        self._top = self._take_over(root)
        self._now = {folder: dict(names) for folder, names in self._folders.items()}

    def _take_over(self, path: Path) -> int:
        number = self._numbers[path.lstat().st_ino] = next(self._given)
        if path.is_dir():
            self._folders[number] = {each.name: self._take_over(each) for each in sorted(path.iterdir())}
        else:
            self._files[number] = path.read_bytes()
        return number

    def read(self, log: Path) -> None:
        """Take the steps of a log."""
        for what, words, data in records(log):
            if what == "write":
                self._write(int(words[0]), int(words[1]), data)
            elif what != "call":
                self._take(what, int(words[0]), words[1], words[2])

    def _write(self, inode: int, offset: int, data: bytes) -> None:
        if inode in self._numbers:
            self.steps.append(Bytes(self._numbers[inode], offset, data))

    def _take(self, what: str, inode: int, one: str, other: str) -> None:
        match what:
            case "create" | "mkdir":
                self._numbers[inode] = number = next(self._given)
                if what == "mkdir":
                    self._now[number] = {}
                self._set((one, number))
            case "link":
                self._set((other, self._at(one)))
            case "rename":
                self._set((other, self._at(one)), (one, None))
            case "unlink" | "rmdir":
                self._set((one, None))
            case "truncate" if inode in self._numbers:
                self.steps.append(Bytes(self._numbers[inode], int(one), None))
            case "sync" if inode in self._numbers:
                self.steps.append(Synced(self._numbers[inode]))
            case "syncfs":
                self.steps.append(Synced(_EVERYTHING))
            case _:
                pass

    def _set(self, *entries: tuple[str, int | None]) -> None:
        found = []
        for path, number in entries:
            folder, _, name = path.rpartition("/")
            where = self._at(folder)
            if where is None:
                return  # outside: what multiprocessing keeps in memory
            found.append((where, name, number))
            if number is None:
                self._now[where].pop(name, None)
            else:
                self._now[where][name] = number
        self.steps.append(Entries(tuple(found)))

    def _at(self, path: str) -> int | None:
        if not (path + "/").startswith(self._root + "/"):
            return None
        found: int | None = self._top
        for name in filter(None, path[len(self._root) :].split("/")):
            found = self._now.get(found or 0, {}).get(name)
        return found

    def write(self, until: int, drop: Drop, folder: Path) -> None:
        """Write the state of the disk after so many steps; ``drop`` decides on unsafe ones."""
        files = {number: bytearray(data) for number, data in self._files.items()}
        folders = {number: dict(names) for number, names in self._folders.items()}
        safe = self._safe(until)
        for number, step in enumerate(self.steps[:until]):
            kept = step if number in safe else drop(step)
            if isinstance(kept, Bytes):
                _put(files.setdefault(kept.file, bytearray()), kept)
            elif isinstance(kept, Entries):
                for where, name, what in kept.set:
                    names = folders.setdefault(where, {})
                    if what is None:
                        names.pop(name, None)
                    else:
                        names[name] = what
        self._make(self._top, folder, files, folders, {})

    def _safe(self, until: int) -> set[int]:
        """Return the steps that are safe: something was synchronised after them."""
        safe, synced, is_all = set(), set[int](), False
        for number in reversed(range(until)):
            match self.steps[number]:
                case Synced(what):
                    synced.add(what)
                    is_all = is_all or what == _EVERYTHING
                case Bytes(file):
                    if is_all or file in synced:
                        safe.add(number)
                case Entries(entries):
                    if is_all or any(where in synced for where, _, _ in entries):
                        safe.add(number)
        return safe

    def _make(
        self,
        number: int,
        folder: Path,
        files: dict[int, bytearray],
        folders: dict[int, dict[str, int]],
        made: dict[int, Path],
    ) -> None:
        for name, what in folders.get(number, {}).items():
            if what in self._now:
                (folder / name).mkdir(exist_ok=True)
                self._make(what, folder / name, files, folders, made)
            elif what in made:
                (folder / name).hardlink_to(made[what])
            else:
                made[what] = folder / name
                made[what].write_bytes(files.get(what, b""))


def _put(file: bytearray, step: Bytes) -> None:
    end = step.offset + len(step.data or b"")
    if step.data is None:
        del file[step.offset :]
    file.extend(bytes(max(0, end - len(file))))
    file[step.offset : end] = step.data or b""


def _dropped(_step: Step) -> None:
    return None


def _kept(step: Step) -> Step:
    return step


def losses(steps: int, chance: random.Random) -> Iterator[tuple[str, int, Drop]]:
    """Yield losses of power without end: a name, after how many steps, and what becomes of unsafe ones."""

    def torn(step: Step) -> Step | None:
        if isinstance(step, Bytes) and step.data and chance.random() < 0.5:
            sectors = len(step.data) // _SECTOR
            return Bytes(step.file, step.offset, step.data[: _SECTOR * chance.randint(0, sectors)])
        return step

    def reordered(step: Step) -> Step | None:
        return torn(step) if chance.random() < 0.5 else None

    ways: tuple[tuple[str, Drop], ...] = (
        ("dropped", _dropped),
        ("torn", torn),
        ("reordered", reordered),
        ("kept", _kept),
    )
    while True:
        for name, drop in ways:
            yield name, chance.randint(0, steps), drop
