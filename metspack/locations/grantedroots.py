"""Granted roots: the folders that LOBs may be read from; only files below them are opened.

Each file is opened by ``reading.opened`` below one granted root, so no link is followed. Where a path
is absolute, or climbs above the .siard's folder, its components are compared with the real paths of
the roots before anything is opened.
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
"""Segment folders, as steps from the .siard's folder, and their URIs (SIARD 2.2 S_8.1.2-0)."""

_ABSENT = {errno.ENOENT, errno.ENAMETOOLONG, errno.ENOTDIR}
_LISTED = 100_000
_REMEMBERED = 64
_FEW = 4  # listings kept to look for names that are equal when folded
_FOLDERS = 4096
_PATIENCE = 64  # failed look-ups in a folder before it is listed
_NAMES = 200_000
_WALKED = 256  # folders below one root, and names in all of them, among which a LOB is looked for
_WALKED_NAMES = 20_000


class PlaceRefused(SourceError):  # noqa: N818 -- a refusal, not a fault
    """A place that is not read: outside every granted root, or not a file."""


class Obstacle(PlaceRefused):
    """A folder, link or device in a file's place or on its path, or a file that is not readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A path below a granted root: the root's number and the names."""

    root: int
    path: tuple[str, ...]


class Granted:
    """The granted roots: the .siard's folder, the granted ones, then those of drives.

    ``roots`` are all of them, in the order in which ``FileExtent.root`` counts. Raises ValueError without
    any. ``divided`` are folders below the .siard's that are elsewhere, in part or as a whole.
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
        # Failed look-ups by folder, and the names in folders with many.
        self._vain: Counter[tuple[int, tuple[str, ...]]] = Counter()
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
        """Yield the places that the mapping file gives for a relative place outside.

        The example of S_8.1.2-0 repeats the segment folder below the URI, its text does not: both are there.
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
        """Yield the spot of these names in each root that was granted beside the .siard's folder."""
        return (Spot(root=number, path=names) for number in self._further)

    def spot(self, place: Place) -> Spot:
        """Return the spot of a place outside; raises ``PlaceRefused`` if no granted root holds it."""
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
        """Return a spot as a path, for people to read."""
        return str(self.roots[spot.root].joinpath(*spot.path))

    def file(self, spot: Spot) -> FileExtent | None:
        """Return the file at a spot, or None without one; raises ``Obstacle`` for anything else."""
        return next((found for each in self.places(spot) if (found := self._file(each)) is not None), None)

    def places(self, spot: Spot) -> Iterator[Spot]:
        """Yield a spot, then the spot that replaces it when a folder on its path is divided."""
        yield spot
        for length in range(len(spot.path) - 1, -1, -1) if self._divided and spot.root == 0 else ():
            if (moved := self._divided.get(spot.path[:length])) is not None:
                yield Spot(root=moved.root, path=(*moved.path, *spot.path[length:]))
                break

    def _file(self, spot: Spot) -> FileExtent | None:
        """Return the file at this very spot as ``file`` does.

        Folders are assumed to stay the same while LOBs are looked for: one that is absent, or was listed
        after many vain look-ups, is never looked into again.
        """
        folder = (spot.root, spot.path[:-1])
        if folder in self._vain:
            inside = self._inside.get(folder)
            if self._is_absent(*folder) or (inside is not None and folded(spot.path[-1]) not in inside):
                return None
        try:
            with reading.opening(self.roots[spot.root], spot.path) as descriptor:
                found = os.fstat(descriptor)
        except OSError as error:
            what = self._in_the_way(spot)
            if error.errno in _ABSENT and what is None:
                self._note_vain(folder)
                return None
            raise self._obstacle(spot, what or f"cannot be opened: {error.strerror}") from None
        except SourceError:
            raise self._obstacle(spot, self._in_the_way(spot) or "is no longer what it was") from None
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
        """Return the statuses of files with these names in the folder of a spot, or None.

        None when one of them is not a regular file, when its name with a suffix exists as well, or when the
        folder is divided or cannot be read.
        """
        if len(list(self.places(spot))) > 1:
            return None
        folder = self.roots[spot.root], spot.path[:-1]
        with suppress(OSError):
            found = [each for each in reading.statuses(*folder, names) if each is not None]
            is_plain = len(found) == len(names) and not self._are_beside(spot, names, suffixes)
            return found if is_plain else None
        return None

    def _are_beside(self, spot: Spot, names: Sequence[str], suffixes: tuple[str, ...]) -> bool:
        """Return whether one of the names with a suffix exists in the folder of a spot."""
        folder = spot.path[:-1]
        if not self._may_hold(spot.root, folder, suffixes):  # one look at the folder for all names in it
            return False
        wanted = [name + each for name in names for each in suffixes]
        return bool(reading.names_there(self.roots[spot.root], folder, wanted))

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
        """Return whether a folder below a root does not exist, nor anything else in its place."""
        try:
            with self._folder(root, path):
                return False
        except OSError as error:
            found = error.errno in _ABSENT and bool(path)
            return found and self._in_the_way(Spot(root=root, path=path)) is None

    def _note_vain(self, folder: tuple[int, tuple[str, ...]]) -> None:
        """Record a failed look-up in a folder; list the folder after many."""
        if len(self._vain) >= _FOLDERS:
            self._vain.clear()
        self._vain[folder] += 1
        if not self._is_absent(*folder) and self._vain[folder] == _PATIENCE:
            room = _NAMES - sum(map(len, self._inside.values()))
            listed = self._list(*folder)
            # A part of a folder's names cannot prove that a name is missing.
            if len(listed) < min(room, _LISTED):
                self._inside[folder] = frozenset(map(folded, listed))

    def _folder(self, root: int, path: tuple[str, ...]) -> AbstractContextManager[int]:
        return held(reading.opened_folder(self.roots[root], path))

    def _list(self, root: int, path: tuple[str, ...]) -> list[str]:
        """Return the names in a folder, some of a very large one, or an empty list on error."""
        found: list[str] = []
        with suppress(OSError), self._folder(root, path) as folder, os.scandir(folder) as entries:
            found = sorted(entry.name for entry in islice(entries, _LISTED))
        return found

    def folders(self) -> Iterator[Spot]:
        """Yield the folders in and below each root, upper ones first, up to a limit per root.

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
        """Return the LOB folders in a folder, apart from those of other archives in it.

        ``siard`` is this archive's file name.
        """
        # A folder may be packed as a zip file in its place.
        listed = dict.fromkeys(name.removesuffix(".zip") for name in self._list(root, path))
        return lob_folders(listed, filter(is_archive, listed), siard)

    def respelled(self, spot: Spot) -> str | None:
        """Return an existing path that equals a spot's when folded, or None without one.

        It differs from the spot's path only in letter case or Unicode normalisation.
        """
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
        """Yield a file's bytes; raises ``Obstacle`` when they are unreadable or have changed."""
        try:
            yield from siard_entries.contents(self.roots[extent.root], extent)
        except SourceError as error:
            raise Obstacle(error.message, hint=error.hint) from None

    def _obstacle(self, spot: Spot, what: str) -> Obstacle:
        return Obstacle(
            f"{shown(self.shown(spot))} {what}",
            hint="A LOB is read only from a regular file that is reached without symbolic links.",
        )

    def _in_the_way(self, spot: Spot) -> str | None:
        """Return words on the link, device or folder at a spot or on its path, or None."""
        # Usually the folder exists and lacks the name: one look is enough.
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
"""Names of the types of files other than regular ones, by the type in the mode."""


def mode_of(name: str, folder: int) -> int | None:
    """Return the mode of a name in an open folder, no link followed, or None without one."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return None


def folded(name: str) -> str:
    """Return the common form of names that differ only in case or Unicode normalisation."""
    return name.lower() if name.isascii() else normalize("NFC", normalize("NFC", name).casefold())


def difference(name: str, other: str) -> str:
    """Return the difference of two names that are equal when folded, in words for people."""
    return "Unicode normalisation" if normalize("NFC", name) == normalize("NFC", other) else "letter case"


def _ungranted(text: str) -> PlaceRefused:
    return PlaceRefused(
        f"{shown(text)} is outside every granted folder",
        hint="If its LOBs are to be read, grant the folder that holds them: --lob-root DIR.",
    )
