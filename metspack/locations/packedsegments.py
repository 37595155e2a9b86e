"""Segments packed as zip or tar files: find LOBs among their entries, and read them in place.

SIARD 2.2 L_7.1-1 packs ``seg_0/`` as ``seg_0.zip`` in its place, recommendation 0.16 a whole
``Northwind_lobseg_0`` as one file, and SIARD 2.2 G_3.4-3 lets a file URI lead into ``sip.zip/``.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from metspack.containers import zipreader
from metspack.containers.ipreader import SUFFIXES, OpenPacks, PackedError, PackFile, unpacked_name
from metspack.errors import SourceError
from metspack.files import held, reading
from metspack.files.byteranges import FileBelow, HeldMedium, Medium
from metspack.files.paths import Names
from metspack.limits import Budgets
from metspack.locations.grantedroots import KINDS, Obstacle, mode_of
from metspack.model import ZipExtent
from metspack.system import os

_REMEMBERED = 4096
_LONGEST = 255
"""The most characters of a name that is looked up: no file system has longer names."""
_HINT = "A packed segment is read only from a regular file that is reached without symbolic links."
_CHANGED = "Wait until nothing else writes to it and start again."


@dataclass(frozen=True, slots=True, kw_only=True)
class _PackCandidate:
    """A packed file in place of a folder, whose entries may all be below ``folder`` in it.

    ``taken`` is the number of names of a path that it replaces; ``obstacle`` is its type unless it is a
    regular file, or "".
    """

    path: Names
    taken: int
    folder: str
    obstacle: str = ""


class Packed:
    """The packed segments below the granted roots, opened on first use; for one thread.

    Each gets a number when it is first opened, from 1 on: the ``archive`` of its entries' extents. Memory
    grows with packed files and folders, never with LOBs; a few are open at a time.
    """

    def __init__(self, roots: Sequence[Path], budgets: Budgets) -> None:
        self._roots = tuple(roots)
        self._packs = OpenPacks(budgets)
        self._held: list[HeldMedium] = []
        self._numbers: dict[tuple[int, Names], int] = {}
        self._refused: dict[tuple[int, Names], tuple[str, str]] = {}
        self._level = lru_cache(_REMEMBERED)(self._find_level)
        # LOBs come in order: the folder of the last one is almost always that of the next.
        self._candidates = lru_cache(1)(self._find_candidates)

    @property
    def held(self) -> tuple[HeldMedium, ...]:
        """The packed files opened so far, by number from 1, in the form for another process."""
        return tuple(self._held)

    def has_candidates(self, root: int, names: Names) -> bool:
        """Return whether a packed file takes the place of a folder of a path."""
        return bool(self._candidates(root, names[:-1]))

    def entries(self, root: int, names: Names) -> list[ZipExtent]:
        """Return all entries of packed files for a path below a root.

        A packed file has the name of a folder of the path (``sip.zip``, in any letter case), or that name and
        ``.zip`` or ``.tar``. The rest of the path is looked up at the root of the packed file, below a folder
        of its name without the suffix, and below the one folder that holds all entries. The deepest folder
        comes first. Raises ``Obstacle`` for an unreadable packed file if no other has an entry.
        """
        found: list[ZipExtent] = []
        obstacle: Obstacle | None = None
        for each in self._candidates(root, names[:-1]):
            try:
                number, pack = self._pack(root, each)
            except Obstacle as refused:
                obstacle = obstacle or refused
                continue
            rest = names[each.taken :]
            found += [
                replace(extent, archive=number)
                for inside in dict.fromkeys((rest, (each.folder, *rest), (os.fsdecode(pack.top), *rest)))
                if (extent := pack.extent("/".join(inside))) is not None
            ]
        if obstacle is not None and not found:
            raise obstacle
        return found

    def shown(self, extent: ZipExtent) -> str:
        """Return the place of an entry of a packed segment, for messages."""
        return f"in {self._held[extent.archive - 1].paths[0]}: {extent.name}"

    def contents(self, extent: ZipExtent) -> Iterator[bytes]:
        """Yield an entry's bytes, proven when the iterator has ended.

        Raises ``Obstacle`` when they cannot be read, or the packed file has changed since it was found.
        """
        held = self._held[extent.archive - 1]
        where = str(held.paths[0])
        try:
            with Medium(held.paths) as medium:
                if medium.stamps != held.stamps:
                    raise _changed(where)
                yield from zipreader.contents(medium, extent, what=where)
        except OSError as error:
            raise Obstacle(f"{where}: cannot be opened: {error.strerror}", hint=_HINT) from None
        except SourceError as error:
            raise Obstacle(error.message, hint=error.hint) from None

    def close(self) -> None:
        """Close all packed segments; later calls open them again."""
        self._packs.close()

    # --- Packed files that a path may lead into -------------------------------------------------------

    def _find_candidates(self, root: int, folder: Names) -> tuple[_PackCandidate, ...]:
        """Return the packed files in place of a folder or one above it, the deepest first."""
        found: list[_PackCandidate] = []
        for length in range(1, len(folder) + 1):
            if len(folder[length - 1]) > _LONGEST:
                break
            candidates, is_folder = self._level(root, folder[:length])
            found[:0] = candidates
            if not is_folder:
                break
        return tuple(found)

    def _find_level(self, root: int, path: Names) -> tuple[list[_PackCandidate], bool]:
        """Return the packed files that can replace a folder, and whether the folder exists."""
        *above, name = path
        stem = unpacked_name(os.fsencode(name)) or b""
        try:
            folder = reading.opened_folder(self._roots[root], above)
        except OSError:  # opening the LOB's file reports the reason
            return [], False
        with held(folder):
            mode = mode_of(name, folder)
            given = [(name, os.fsdecode(stem), mode)] if stem else []
            beside = [name + os.fsdecode(suffix) for suffix in SUFFIXES]
            given += [(each, name, mode_of(each, folder)) for each in beside]
        found = [_candidate((*above, file), len(path), inside, kind) for file, inside, kind in given]
        return list(filter(None, found)), mode is not None and stat.S_ISDIR(mode)

    # --- Open packed files ------------------------------------------------------------------------------

    def _pack(self, root: int, found: _PackCandidate) -> tuple[int, PackFile]:
        """Return a packed file's number and its open entries; raises ``Obstacle``."""
        key = (root, found.path)
        number = self._numbers.get(key)
        if key in self._refused:  # a damaged file is read once, not for every LOB
            message, hint = self._refused[key]
            raise Obstacle(message, hint=hint)
        try:
            pack = self._opened(FileBelow(root=self._roots[root], segments=found.path), found.obstacle)
            if number is not None and pack.held.stamps != self._held[number - 1].stamps:
                raise _changed(str(self._held[number - 1].paths[0]))
        except Obstacle as refused:
            self._refused[key] = refused.message, refused.hint
            raise
        if number is None:
            self._held.append(pack.held)
            number = self._numbers[key] = len(self._held)
        return number, pack

    def _opened(self, path: FileBelow, obstacle: str) -> PackFile:
        if obstacle:
            raise Obstacle(f"the packed segment {str(path)!r} is {obstacle}", hint=_HINT)
        try:
            return self._packs.opened(path)
        except PackedError as error:
            what = f"{path} " if isinstance(error.__cause__, OSError) else f"{path}: "
            causes = error.__cause__, error.__cause__ and error.__cause__.__cause__
            hint = _HINT if any(isinstance(each, OSError) for each in causes) else error.hint
            raise Obstacle(f"the packed segment {what}{error.message}", hint=hint) from None


def _candidate(path: Names, taken: int, folder: str, mode: int | None) -> _PackCandidate | None:
    """Return the candidate of a file with that mode, or None for a folder or a missing file."""
    if mode is None or stat.S_ISDIR(mode):
        return None
    kind = "" if stat.S_ISREG(mode) else KINDS.get(stat.S_IFMT(mode), "something else")
    return _PackCandidate(path=path, taken=taken, folder=folder, obstacle=kind)


def _changed(where: str) -> Obstacle:
    return Obstacle(f"the packed segment {where} was changed since it was found", hint=_CHANGED)
