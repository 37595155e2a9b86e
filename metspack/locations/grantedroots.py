"""Granted roots: the folders that LOBs may be read from; only files below them are opened.

``reading.opened`` opens each file below one granted root, and follows no link. An absolute path, or one that
leads above the .siard's folder, is compared with the real paths of the roots before a file is opened.
"""

from __future__ import annotations

import errno
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from unicodedata import normalize

from metspack.errors import SourceError
from metspack.files import held, reading
from metspack.layouts.names import is_archive
from metspack.locations.candidates import lob_folders
from metspack.locations.statement import Place
from metspack.model import FileExtent
from metspack.siard import entries as siard_entries
from metspack.system import os, quoted
from metspack.uris import Kind, Reference, ReferenceRefused, collapsed, shown, walked

Mapped = Mapping[tuple[str, ...], Reference]
"""The URIs of segment folders by their path from the .siard's (SIARD 2.2 S_8.1.2-0)."""

_ABSENT = {errno.ENOENT, errno.ENAMETOOLONG, errno.ENOTDIR}
_LISTED = 100_000
_REMEMBERED = 64
_FEW = 4  # listings kept for the search of names that are equal when folded
_FOLDERS = 4096
_PATIENCE = 64  # failed look-ups in a folder before it is listed
_NAMES = 200_000
_WALKED = 256  # the most folders below one root, and names in them, that ``folders`` walks
_WALKED_NAMES = 20_000


class PlaceRefused(SourceError):  # noqa: N818 -- a refusal, not a fault
    """A place that is not read: it is outside every granted root, or not a file."""


class Obstacle(PlaceRefused):
    """A folder, link or device in a file's place or on its path, or an unreadable file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A path below a granted root: the root's number and the names."""

    root: int
    path: tuple[str, ...]


class Granted:
    """The granted roots: the .siard's folder, further folders, then those of drives.

    ``roots`` are all of them, as ``FileExtent.root`` numbers them. ``divided`` are folders below the .siard's
    whose files are, in part or all, at another spot. Raises ValueError without roots.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        drives: Mapping[str, Path],
        mapping: Mapped,
        divided: Mapping[tuple[str, ...], Spot] = MappingProxyType({}),
    ) -> None:
        if not roots:
            raise ValueError("the folder of the .siard is always granted")
        self.roots = (*roots, *drives.values())
        self._further = range(1, len(roots))
        self._drives = {drive.upper(): len(roots) + n for n, drive in enumerate(drives)}
        self._mapping = mapping
        self._divided = divided
        # The numbers of failed look-ups by folder, and the names in folders with many.
        self._misses: Counter[tuple[int, tuple[str, ...]]] = Counter()
        self._inside: dict[tuple[int, tuple[str, ...]], frozenset[str]] = {}
        self._is_absent = lru_cache(_FOLDERS)(self._find_absent)
        self._may_hold = lru_cache(_FOLDERS)(self._find_suffix)
        self._listed = lru_cache(_FEW)(self._list)
        self.lob_folders = lru_cache(_REMEMBERED)(self._list_lob_folders)
        # A path may be written through a link: both forms name the same root.
        self._real = [
            (path.drive.upper(), path.parts[1:], number)
            for number, root in enumerate(self.roots)
            for path in (Path(os.path.realpath(root)), Path(os.path.abspath(root)))
        ]

    def mapped(self, place: Place) -> Iterator[Place]:
        """Yield the places to which the mapping file moves a relative place outside.

        The example of S_8.1.2-0 repeats the segment folder below the URI, its text does not: both are
        yielded.
        """
        for length in range(len(place.segments) - 1, 0, -1) if self._mapping else ():
            key, rest = place.segments[:length], place.segments[length:]
            if (target := self._mapping.get(key)) is None:
                continue
            for below in ((*target.segments, *key, *rest), (*target.segments, *rest)):
                yield Place(
                    inside=False,
                    absolute=target.kind is not Kind.RELATIVE,
                    drive=target.drive,
                    segments=collapsed(below),
                )
            return

    def further(self, names: tuple[str, ...]) -> Iterator[Spot]:
        """Yield the spot of these names in each further granted root."""
        return (Spot(root=number, path=names) for number in self._further)

    def spot(self, place: Place) -> Spot:
        """Return the spot of a place outside; raises ``PlaceRefused`` outside all granted roots."""
        if place.drive is not None:
            number = self._drives.get(place.drive)
            if number is None and any(drive == place.drive for drive, _, _ in self._real):
                return self._below_a_root(place.segments, place.text, place.drive)  # a drive of this machine
            if number is None:
                kind = "share" if place.drive.startswith("\\\\") else "drive"
                raise PlaceRefused(
                    f"{shown(place.text)} is on {kind} {place.drive}, which is not mapped to a folder",
                    hint=f"Name the folder that the {kind} stands for: "
                    f"--map-drive {quoted(f'{place.drive}=DIR')}.",
                )
            if ".." in place.segments:
                raise _ungranted(place.text)
            return Spot(root=number, path=place.segments)
        if place.absolute:
            return self._below_a_root(place.segments, place.text)
        if place.segments[0] != "..":
            return Spot(root=0, path=place.segments)
        try:
            return self._below_a_root(walked(self._real[0][1], place.segments), place.text)
        except ReferenceRefused:
            raise _ungranted(place.text) from None

    def _below_a_root(self, names: tuple[str, ...], text: str, drive: str | None = None) -> Spot:
        within = [
            (len(real), number)
            for at, real, number in self._real
            if names[: len(real)] == real and drive in {None, at}
        ]
        length, number = max(within, default=(len(names), 0), key=lambda each: each[0])
        if length >= len(names):
            raise _ungranted(text)
        return Spot(root=number, path=names[length:])

    def shown(self, spot: Spot) -> str:
        """Return the path of a spot, for messages."""
        return str(self.roots[spot.root].joinpath(*spot.path))

    def file(self, spot: Spot) -> FileExtent | None:
        """Return the file at a spot, or None; raises ``Obstacle`` for anything but a file."""
        return next((found for each in self.places(spot) if (found := self._file(each)) is not None), None)

    def places(self, spot: Spot) -> Iterator[Spot]:
        """Yield a spot, and the other spot of its files if a folder on its path is divided."""
        yield spot
        for length in range(len(spot.path) - 1, -1, -1) if self._divided and spot.root == 0 else ():
            if (moved := self._divided.get(spot.path[:length])) is not None:
                yield Spot(root=moved.root, path=(*moved.path, *spot.path[length:]))
                break

    def _file(self, spot: Spot) -> FileExtent | None:
        """Return the file at this very spot as ``file`` does.

        Folders are assumed to stay the same while LOBs are looked for: one that is absent, or was listed
        after many failed look-ups, is not read again.
        """
        folder = (spot.root, spot.path[:-1])
        if folder in self._misses:
            inside = self._inside.get(folder)
            if self._is_absent(*folder) or (inside is not None and folded(spot.path[-1]) not in inside):
                return None
        try:
            with reading.opening(self.roots[spot.root], spot.path) as descriptor:
                found = os.fstat(descriptor)
        except OSError as error:
            what = self._obstruction(spot)
            if error.errno in _ABSENT and what is None:
                self._note_miss(folder)
                return None
            raise self._obstacle(spot, what or f"cannot be opened: {error.strerror}") from None
        except SourceError:
            raise self._obstacle(spot, self._obstruction(spot) or "is no longer what it was") from None
        return FileExtent(
            root=spot.root,
            path=spot.path,
            size=found.st_size,
            modified=found.st_mtime_ns,
            inode=found.st_ino,
            device=found.st_dev,
        )

    def files(
        self, spot: Spot, names: Sequence[str], suffixes: tuple[str, ...]
    ) -> list[reading.Stamp] | None:
        """Return the stamps of files with these names in the folder of a spot, or None.

        None if one of them is not a regular file, if one of their names with a suffix exists too, or if the
        folder is divided or unreadable.
        """
        if len(list(self.places(spot))) > 1:
            return None
        folder = self.roots[spot.root], spot.path[:-1]
        with suppress(OSError):
            found = [each for each in reading.statuses(*folder, names) if each is not None]
            if len(found) < len(names):
                return None
            if not self._may_hold(spot.root, spot.path[:-1], suffixes):  # which reads a folder once
                return found
            beside = [name + each for name in names for each in suffixes]
            return None if any(reading.looked_up(*folder, beside)) else found
        return None

    def _find_suffix(self, root: int, path: tuple[str, ...], suffixes: tuple[str, ...]) -> bool:
        """Return whether a folder has a name with one of these suffixes, or cannot be listed."""
        with suppress(OSError), self._folder(root, path) as folder, os.scandir(folder) as entries:
            return any(folded(each.name).endswith(suffixes) for each in entries)
        return True

    def beside(self, spot: Spot, names: Sequence[str]) -> list[str]:
        """Return those of the names that exist in the folder of a spot."""
        found: list[str] = []
        for each in self.places(spot):
            with suppress(OSError), self._folder(each.root, each.path[:-1]) as folder:
                found += [name for name in names if mode_of(name, folder) is not None]
        return found

    def _find_absent(self, root: int, path: tuple[str, ...]) -> bool:
        """Return whether a path below a root is vacant."""
        try:
            with self._folder(root, path):
                return False
        except OSError as error:
            is_absent = error.errno in _ABSENT and bool(path)
            return is_absent and self._obstruction(Spot(root=root, path=path)) is None

    def _note_miss(self, folder: tuple[int, tuple[str, ...]]) -> None:
        """Count a failed look-up in a folder; after many, list the folder."""
        if len(self._misses) >= _FOLDERS:
            self._misses.clear()
        self._misses[folder] += 1
        if not self._is_absent(*folder) and self._misses[folder] == _PATIENCE:
            room = _NAMES - sum(map(len, self._inside.values()))
            listed = self._list(*folder)
            # Only the complete listing of a folder proves that a name is missing.
            if len(listed) < min(room, _LISTED):
                self._inside[folder] = frozenset(map(folded, listed))

    def _folder(self, root: int, path: tuple[str, ...]) -> AbstractContextManager[int]:
        return held(reading.opened_folder(self.roots[root], path))

    def _list(self, root: int, path: tuple[str, ...]) -> list[str]:
        """Return the names in a folder, at most ``_LISTED``, or an empty list after an error."""
        found: list[str] = []
        with suppress(OSError), self._folder(root, path) as folder, os.scandir(folder) as entries:
            found = sorted(entry.name for entry in islice(entries, _LISTED))
        return found

    def folders(self) -> Iterator[Spot]:
        """Yield each root and folders below it, upper ones first, up to a limit for each root.

        No link is followed.
        """
        for root in range(len(self.roots)):
            waiting: list[tuple[str, ...]] = [()]
            room = _WALKED_NAMES
            for path in waiting:  # which grows meanwhile
                yield Spot(root=root, path=path)
                with suppress(OSError), self._folder(root, path) as folder, os.scandir(folder) as entries:
                    some = list(islice(entries, room))
                    room -= len(some)
                    below = sorted((*path, each.name) for each in some if each.is_dir(follow_symlinks=False))
                    waiting += below[: max(_WALKED - len(waiting), 0)]

    def _list_lob_folders(self, root: int, path: tuple[str, ...], siard: str) -> list[str]:
        """Return the LOB folders in a folder, without those of other archives in it.

        ``siard`` is this archive's file name.
        """
        # A zip file may take the place of a folder.
        listed = dict.fromkeys(name.removesuffix(".zip") for name in self._list(root, path))
        return lob_folders(listed, filter(is_archive, listed), siard)

    def respelled(self, spot: Spot) -> str | None:
        """Return an existing path that differs from a spot's only in case or normalisation, or None."""
        path: tuple[str, ...] = ()
        for name in spot.path:
            listed = self._listed(spot.root, path)
            wanted = folded(name)
            cased = (
                name if name in listed else next((each for each in listed if folded(each) == wanted), None)
            )
            if cased is None:
                return None
            path = (*path, cased)
        return None if path == spot.path else self.shown(Spot(root=spot.root, path=path))

    def blocks(self, extent: FileExtent) -> Iterator[bytes]:
        """Yield a file's bytes; raises ``Obstacle`` if they are unreadable or were changed."""
        try:
            yield from siard_entries.contents(self.roots[extent.root], extent)
        except SourceError as error:
            raise Obstacle(error.message, hint=error.hint) from None

    def _obstacle(self, spot: Spot, what: str) -> Obstacle:
        return Obstacle(
            f"{shown(self.shown(spot))} {what}",
            hint="A LOB is read only from a regular file that is reached without symbolic links.",
        )

    def _obstruction(self, spot: Spot) -> str | None:
        """Return words on the link, device or folder that obstructs the path of a spot, or None."""
        # Usually the folder exists and lacks the name, which one look-up shows.
        with suppress(OSError), self._folder(spot.root, spot.path[:-1]) as folder:
            if mode_of(spot.path[-1], folder) is None:
                return None
        for length in range(1, len(spot.path) + 1):
            *before, name = spot.path[:length]
            mode = None
            with suppress(OSError), self._folder(spot.root, tuple(before)) as folder:
                mode = mode_of(name, folder)
            if mode is None or stat.S_ISREG(mode):
                break
            last = length == len(spot.path)
            if last or not stat.S_ISDIR(mode):
                what = KINDS.get(stat.S_IFMT(mode), "something else")
                return f"is {what}" if last else f"lies beyond {shown('/'.join((*before, name)))}, {what}"
        return None


KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}
"""The names of file types other than regular files, by the type in the mode."""


def mode_of(name: str, folder: int) -> int | None:
    """Return the mode of an entry of an open folder (of a link the link's), or None."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return None


def folded(name: str) -> str:
    """Return the form that all names have that differ only in case or Unicode normalisation."""
    return name.lower() if name.isascii() else normalize("NFC", normalize("NFC", name).casefold())


def difference(name: str, other: str) -> str:
    """Return the difference between two names that are equal when ``folded``, in words."""
    return "Unicode normalisation" if normalize("NFC", name) == normalize("NFC", other) else "letter case"


def _ungranted(text: str) -> PlaceRefused:
    return PlaceRefused(
        f"{shown(text)} is outside every granted folder",
        hint="If its LOBs are to be read, grant the folder that holds them: --lob-root DIR.",
    )
