"""Walk folders in flat memory without following links.

Names come in lots of thousands, which are cheap to send to another process.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from metspack.errors import SourceError
from metspack.files import held, reading, release, tempdb
from metspack.files.paths import names_of
from metspack.files.reading import Stamp
from metspack.system import os
from metspack.uris import shown

_MOST = 4_000  # the most names in a lot
_FOLDERS = "CREATE TABLE folder (id INTEGER PRIMARY KEY, path BLOB NOT NULL)"
_PUT = "INSERT INTO folder (path) VALUES (?)"
_NEXT_FOLDER = "SELECT id, path FROM folder WHERE id > ? ORDER BY id LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """Some entries of the folder with the path ``folder``; each folder has at least one lot.

    ``files`` are the sorted names of files, joined by ``/``; ``sizes`` are their bytes, if requested.
    ``others`` are name and kind of other entries: d (folder), l (symbolic link), s (special file). ``fault``
    is the error that prevents reading the rest of the folder.
    """

    folder: bytes
    files: bytes = b""
    sizes: array[int] = field(default_factory=lambda: array("q"))
    others: tuple[tuple[bytes, str], ...] = ()
    fault: OSError | None = None

    @property
    def names(self) -> list[bytes]:
        """The names of files."""
        return self.files.split(b"/") if self.files else []

    @property
    def prefix(self) -> bytes:
        """The path of the folder with a ``/`` at the end, or "" for the root."""
        return self.folder + b"/" if self.folder else b""

    @property
    def folders(self) -> Iterator[bytes]:
        """The paths of folders."""
        return (self.prefix + name for name, what in self.others if what == "d")


def lots(root: Path, below: tuple[str, ...], folder: bytes, *, sizes: bool) -> Iterator[Lot]:
    """Yield the entries of the folder at the path ``folder``, below ``below`` in a trusted root.

    No link is followed below the root.
    """
    try:
        with (
            held(reading.opened_folder(root, (*below, *names_of(folder)))) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            lot, count = _lot(folder, islice(entries, _MOST), sizes=sizes)
            yield lot
            while count == _MOST:
                lot, count = _lot(folder, islice(entries, _MOST), sizes=sizes)
                if count or lot.fault:
                    yield lot
    except OSError as error:
        yield Lot(folder=folder, fault=error)


def _lot(folder: bytes, entries: Iterator[os.DirEntry[str]], *, sizes: bool) -> tuple[Lot, int]:
    """Return entries as a lot, up to the first that cannot be examined, and their number."""
    files: list[tuple[str, int]] = []
    others: list[tuple[bytes, str]] = []
    fault = None
    try:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append((entry.name, entry.stat(follow_symlinks=False).st_size if sizes else 0))
                continue
            kind = "d" if entry.is_dir(follow_symlinks=False) else "l" if entry.is_symlink() else "s"
            others.append((os.fsencode(entry.name), kind))
    except OSError as error:
        fault = error
    files.sort()
    lot = Lot(
        folder=folder,
        files=os.fsencode("/".join([name for name, _ in files])),
        sizes=array("q", [size for _, size in files] if sizes else ()),
        others=tuple(others),
        fault=fault,
    )
    return lot, len(files) + len(others)


def all_lots(
    root: Path, folder: bytes = b"", *, sizes: bool, leaves_out: Callable[[bytes], bool] = lambda _: False
) -> Generator[Lot, None, None]:
    """Yield the entries of a folder and of all below it, without those that ``leaves_out``."""
    last = 0
    with closing(tempdb.create(_FOLDERS, "BEGIN")) as ahead, tempdb.explained(f"the folders of {root}"):
        ahead.execute(_PUT, (folder,))
        while (row := ahead.execute(_NEXT_FOLDER, (last,)).fetchone()) is not None:
            last, folder = row
            for lot in lots(root, (), folder, sizes=sizes):
                ahead.executemany(_PUT, ((each,) for each in lot.folders if not leaves_out(each)))
                yield lot


DEEPEST = 100
"""The deepest nesting of folders that is read."""

_AGAIN = "Wait until nothing else writes there, make sure that you may read all of it, and start again."


Entry = tuple[tuple[str, ...], Stamp | None]
"""A file or folder: its names below the root, and a file's stamp (None for a folder)."""


def entries(root: Path, below: tuple[str, ...] = ()) -> Generator[Entry, None, None]:
    """Yield every file and folder below ``root``, or below one folder there.

    A folder comes before its content, without further order. Raises SourceError as ``checked_lots`` does.
    """
    with closing(checked_lots(root, below)) as found:
        for lot in found:
            for path in lot.folders:
                yield names_of(path), None
            folder, names = names_of(lot.folder), [os.fsdecode(name) for name in lot.names]
            for name, stamp in zip(names, statuses(root, folder, names) if names else (), strict=True):
                yield (*folder, name), stamp


def checked_lots(
    root: Path, below: tuple[str, ...] = (), *, sizes: bool = False
) -> Generator[Lot, None, None]:
    """Yield the entries of every folder below ``root``, or below one folder there.

    A folder comes before the folders in it, without further order. ``root`` may be a link. Raises SourceError
    for a folder that cannot be read, for a symbolic link or special file, and for folders nested deeper than
    ``DEEPEST``.
    """
    with closing(all_lots(root, os.fsencode("/".join(below)), sizes=sizes)) as found:
        for lot in found:
            folder = names_of(lot.folder)
            if len(folder) > DEEPEST:
                raise SourceError(
                    f"{root}: has folders nested more than {DEEPEST} deep, such as {shown('/'.join(folder))}",
                    hint="No archive needs that; look at how the folder was made.",
                )
            with _explained(root, folder):
                if lot.fault is not None:
                    raise lot.fault
                if other := next((name for name, what in lot.others if what != "d"), None):
                    path = (*folder, os.fsdecode(other))
                    kind = reading.kind(os.lstat(root.joinpath(*path)).st_mode)
                    raise SourceError(
                        f"{root}: {shown('/'.join(path))} is {kind}; expected files and folders only",
                        hint="Links are never followed: put the file itself in its place, or remove it.",
                    )
            yield lot


def statuses(root: Path, folder: tuple[str, ...], names: Sequence[str]) -> Sequence[Stamp]:
    """Return the stamps of files in one folder; raises SourceError as ``checked_lots`` does."""
    with _explained(root, folder):
        found = reading.statuses(root, folder, names)
        stamps = [each for each in found if each is not None]
        if len(stamps) == len(names):
            return stamps
        path = (*folder, names[found.index(None)])
        with _explained(root, path, "file"):
            release(reading.opened(root, path))
        where = f"{root}: {shown('/'.join(path))}"
        raise SourceError(f"{where} was changed while it was read", hint=_AGAIN)


@contextmanager
def _explained(root: Path, path: tuple[str, ...], what: str = "folder") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"{root}: the {what} {shown('/'.join(path))}" if path else str(root)
        raise SourceError(f"{where} cannot be read: {error.strerror or error}", hint=_AGAIN) from error
