"""Rows in files of a temporary folder, divided by a hash: sets that are compared a part at a time.

What a process has written there another one of this machine may read.
"""

from __future__ import annotations

import marshal
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

_AT_ONCE = 2_000  # rows of a part that are written together


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder where SQLite has its temporary files; it is removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="metspack-", dir=os.environ.get("SQLITE_TMPDIR")) as path:
        yield Path(path)


def remove_folder(path: Path) -> None:
    """Remove a folder in a temporary one, if it is there."""
    shutil.rmtree(path, ignore_errors=True)


class RowParts:
    """Rows of plain values, divided by the hash of their first value, which is bytes.

    They are in files of a folder, or in memory without one. After the last row they are written by ``end``.
    """

    def __init__(self, name: str, number: int, folder: Path | None, *, at_once: int = _AT_ONCE) -> None:
        self._paths = [] if folder is None else [folder / f"{name}-{part}" for part in range(number)]
        self._waiting: list[list[tuple[Any, ...]]] = [[] for _ in range(number)]
        self._at_once = at_once

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows; raises ``OSError`` when there is no room."""
        number = len(self._waiting)
        if number == 1:
            self._waiting[0] += rows
        else:
            for row in rows:
                self._waiting[crc32(row[0]) % number].append(row)
        if self._paths:
            self._write(self._at_once)

    def end(self) -> None:
        """Write the rows that are in memory, if they belong into files."""
        if self._paths:
            self._write(1)

    def rows(self, part: int) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a part, in the order in which they were added."""
        return self._read(self._paths[part]) if self._paths else iter(self._waiting[part])

    def _read(self, path: Path) -> Iterator[tuple[Any, ...]]:
        if path.exists():
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(0)
                while file.tell() < size:
                    yield from marshal.load(file)  # noqa: S302 -- written by a process of this command

    def _write(self, fewest: int) -> None:
        for path, waiting in zip(self._paths, self._waiting, strict=True):
            if len(waiting) >= fewest:
                path.parent.mkdir(exist_ok=True)
                with path.open("ab") as file:
                    marshal.dump(waiting, file)
                waiting.clear()


class Slots:
    """Values of ``width`` bytes by their numbers, zeros where there is none; in a file, or in memory."""

    def __init__(self, name: str, width: int, folder: Path | None) -> None:
        self._path = None if folder is None else folder / name
        self._width = width
        self._values: dict[int, bytes] = {}

    def put(self, values: Iterable[tuple[int, bytes]]) -> None:
        """Put values, each with its number; raises ``OSError`` when there is no room."""
        if self._path is None:
            self._values.update(values)
            return
        self._path.parent.mkdir(exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            for number, value in values:
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
