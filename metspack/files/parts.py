"""Columns in files of a temporary folder, divided by a hash: sets that are compared a part at a time.

What a process has written there another one of this machine may read.
"""

from __future__ import annotations

import marshal
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

_AT_ONCE = 2_000  # values of a column that are written together


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder where SQLite has its temporary files; it is removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="metspack-", dir=os.environ.get("SQLITE_TMPDIR")) as path:
        yield Path(path)


def remove_folder(path: Path) -> None:
    """Remove a folder in a temporary one, if it is there."""
    shutil.rmtree(path, ignore_errors=True)


class ColumnParts:
    """Columns of plain values, divided by the hash of the first one's, which are bytes.

    They are in files of a folder, or in memory without one. After the last values ``end`` writes them.
    """

    def __init__(
        self, name: str, folder: Path | None, *, width: int, number: int = 1, at_once: int = _AT_ONCE
    ) -> None:
        self._paths = [] if folder is None else [folder / f"{name}-{part}" for part in range(number)]
        self._waiting: list[list[list[Any]]] = [[[] for _ in range(width)] for _ in range(number)]
        self._at_once = at_once

    def add(self, *columns: Sequence[Any]) -> None:
        """Add values to each column; raises ``OSError`` when there is no room."""
        number = len(self._waiting)
        if number == 1:
            for kept, more in zip(self._waiting[0], columns, strict=True):
                kept.extend(more)
        else:
            for row in zip(*columns, strict=True):
                for kept, value in zip(self._waiting[crc32(row[0]) % number], row, strict=True):
                    kept.append(value)
        if self._paths:
            self._write(self._at_once)

    def end(self) -> None:
        """Write the values that are in memory, if they belong into files."""
        if self._paths:
            self._write(1)

    def stretches(self, part: int) -> Iterator[list[list[Any]]]:
        """Yield the columns of a part, as many values at a time as were written together."""
        if not self._paths:
            yield self._waiting[part]
        elif self._paths[part].exists():
            with self._paths[part].open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(0)
                while file.tell() < size:
                    yield marshal.load(file)  # noqa: S302 -- written by a process of this command

    def columns(self, part: int) -> list[list[Any]]:
        """Return the columns of a part, in the order in which values were added."""
        found: list[list[Any]] = [[] for _ in self._waiting[part]]
        for each in self.stretches(part):
            for kept, values in zip(found, each, strict=True):
                kept.extend(values)
        return found

    def _write(self, fewest: int) -> None:
        for path, waiting in zip(self._paths, self._waiting, strict=False):
            if len(waiting[0]) >= fewest:
                path.parent.mkdir(exist_ok=True)
                with path.open("ab") as file:
                    marshal.dump(waiting, file)
                for each in waiting:
                    each.clear()


class Slots:
    """Values of ``width`` bytes by their numbers, zeros where there is none; in a file, or in memory."""

    def __init__(self, name: str, width: int, folder: Path | None) -> None:
        self._path = None if folder is None else folder / name
        self._width = width
        self._values: dict[int, bytes] = {}

    def put(self, numbers: Iterable[int], values: Iterable[bytes]) -> None:
        """Put values at their numbers; raises ``OSError`` when there is no room."""
        if self._path is None:
            self._values.update(zip(numbers, values, strict=True))
            return
        self._path.parent.mkdir(exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            for number, value in zip(numbers, values, strict=True):
                os.pwrite(descriptor, value, number * self._width)
        finally:
            os.close(descriptor)

    def get(self, start: int, stop: int) -> bytes:
        """Return the values from one number to another, one behind the other."""
        if self._path is None:
            none = bytes(self._width)
            return b"".join([self._values.get(number, none) for number in range(start, stop)])
        with self._path.open("rb") as file:
            file.seek(start * self._width)
            return file.read((stop - start) * self._width).ljust((stop - start) * self._width, b"\0")
