"""All that lies below a folder, in memory that does not grow, and without following a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack import reading, scratch
from metspack.errors import SourceError
from metspack.media import Stamp
from metspack.uris import shown

DEEPEST = 100
"""Folders within folders that are read."""

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
)
_AGAIN = "Wait until nothing else writes there, make sure that you may read all of it, and start again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder: its names below the root, and a file's stamp (None for a folder)."""

    path: tuple[str, ...]
    stamp: Stamp | None


def entries(root: Path, below: tuple[str, ...] = ()) -> Generator[Entry, None, None]:
    """Yield every file and folder below ``root``, or below one folder there, each folder before its content.

    In no order otherwise; a name that is not UTF-8 has surrogates, as ``os.fsdecode`` gives it. ``root``
    may itself be a link. Raises SourceError for a folder that cannot be read, for anything that is
    neither file nor folder (a symbolic link above all), and for folders nested deeper than ``DEEPEST``.
    """
    ahead = scratch.opened()
    try:
        with scratch.explained(f"the folders of {root}"):
            ahead.execute("CREATE TABLE folder (id INTEGER PRIMARY KEY, path BLOB NOT NULL)")
            ahead.execute("BEGIN")
            ahead.execute("INSERT INTO folder VALUES (1, ?)", (os.fsencode("/".join(below)),))
            last = 0
            while row := ahead.execute(_NEXT, (last,)).fetchone():
                last, path = row
                for entry in _listed(root, tuple(os.fsdecode(path).split("/")) if path else ()):
                    if entry.stamp is None:
                        ahead.execute(
                            "INSERT INTO folder (path) VALUES (?)", (os.fsencode("/".join(entry.path)),)
                        )
                    yield entry
    finally:
        ahead.close()


_NEXT = "SELECT id, path FROM folder WHERE id > ? ORDER BY id LIMIT 1"


def _listed(root: Path, folder: tuple[str, ...]) -> Iterator[Entry]:
    where = f"{root}: the folder {shown('/'.join(folder))}" if folder else str(root)
    if len(folder) > DEEPEST:
        raise SourceError(
            f"{root}: has folders nested more than {DEEPEST} deep, such as {shown('/'.join(folder))}",
            hint="No archive needs that; look at how the folder was made.",
        )
    try:
        descriptor = reading.opened_folder(root, folder)
        try:
            with os.scandir(descriptor) as found:
                for each in found:
                    yield _entry(root, (*folder, each.name), each.stat(follow_symlinks=False))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SourceError(f"{where} cannot be read: {error.strerror or error}", hint=_AGAIN) from error


def _entry(root: Path, path: tuple[str, ...], status: os.stat_result) -> Entry:
    if stat.S_ISDIR(status.st_mode):
        return Entry(path=path, stamp=None)
    if stat.S_ISREG(status.st_mode):
        return Entry(path=path, stamp=Stamp.of_status(status))
    kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
    raise SourceError(
        f"{root}: {shown('/'.join(path))} is {kind}; expected files and folders only",
        hint="Links are never followed: put the file itself in its place, or take it away.",
    )
