"""Search for the LOB of a cell on disk: in the archive, the granted roots and packed segments."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal
from urllib.parse import quote

from metspack import digests
from metspack.files.paths import Names
from metspack.locations import Convention, errors, splitparts
from metspack.locations.candidates import Candidate, Candidates, renamed
from metspack.locations.grantedroots import Granted, Obstacle, PlaceRefused, Spot, difference
from metspack.locations.packedsegments import Packed
from metspack.locations.search import Hit, Search, Tried
from metspack.model import Digest, Extent, LobCell, ZipExtent
from metspack.siard.entries import AnyTree
from metspack.siard.metadata import Table
from metspack.sizes import is_possible
from metspack.uris import shown

COMPARED = "SHA-256"
"""The algorithm of the digests that compare files and entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The archive's entries, granted roots and packed segments; ``siard`` is its file name."""

    tree: AnyTree | None
    granted: Granted
    packed: Packed
    siard: str

    def blocks(self, extent: Extent) -> Iterator[bytes]:
        """Yield the bytes of a file, or of an entry of the archive or of a packed segment."""
        if not isinstance(extent, ZipExtent):
            return self.granted.blocks(extent)
        if extent.archive:
            return self.packed.contents(extent)
        return iter(()) if self.tree is None else self.tree.contents(extent)

    def digest(self, extents: Iterable[Extent], algorithm: str) -> Digest:
        """Return the digest of the joined bytes of the extents."""
        hashers = digests.Hashers([algorithm])
        for extent in extents:
            hashers.take(self.blocks(extent))
        return hashers.digest(algorithm)

    def entry(self, names: Names) -> Extent | None:
        """Return the archive's entry with these names, or None without one."""
        return None if self.tree is None else self.tree.extent("/".join(names))

    def at(self, spot: Spot) -> list[Extent]:
        """Return the extents at a spot: the file, and the entries of packed segments.

        Raises ``Obstacle`` for a folder, link or device, and for an unreadable packed segment.
        """
        file = self.granted.file(spot)
        if file is None:
            return self._packed(spot)
        if self.packed.has_candidates(spot.root, spot.path):
            with suppress(Obstacle):  # the file exists: a zip file beside its folder may be unreadable
                return [file, *self._packed(spot)]
        return [file]

    def _packed(self, spot: Spot) -> list[Extent]:
        places = self.granted.places(spot)
        return [entry for each in places for entry in self.packed.entries(each.root, each.path)]

    def one_at(self, root: int, names: Names) -> Extent | None:
        """Return the file or entry at a path below a root, or None.

        Raises ``TooMany`` for several that differ.
        """
        found = self.at(Spot(root=root, path=names))
        if len(found) > 1 and len({self.digest((each,), COMPARED) for each in found}) > 1:
            raise splitparts.twice([repr(self.where(each)) for each in found])
        return found[0] if found else None

    def beside(self, spot: Spot, suffixes: Iterable[str]) -> list[str]:
        """Return those names beside a spot that exist and consist of its name and a suffix."""
        *folder, last = spot.path
        names = [last + each for each in suffixes]
        found = self.granted.beside(spot, names)
        if self.packed.has_candidates(spot.root, spot.path):
            with suppress(Obstacle):
                found += [each for each in names if self.packed.entries(spot.root, (*folder, each))]
        return list(dict.fromkeys(found))

    def where(self, extent: Extent) -> str:
        """Return the place of a file's or an entry's bytes, for messages."""
        if not isinstance(extent, ZipExtent):
            return self.granted.shown(Spot(root=extent.root, path=extent.path))
        return self.packed.shown(extent) if extent.archive else extent.name


_HINTED = 3  # LOBs of a column for which a respelled name is searched


@dataclass(slots=True, kw_only=True)
class Column:
    """A column or field whose LOBs are searched: candidate places, and the results so far.

    ``table`` and ``cell`` are the paths of its table and of its cells (without numbers of array elements);
    ``unfound`` counts the LOBs that were not found.
    """

    table: str
    cell: str
    candidates: Candidates
    unfound: int = 0


def located(sources: Sources, table: Table, column: Column, cell: LobCell) -> Hit:
    """Return the hit that is a cell's LOB; raises ``LobUnresolved``."""
    places = _DiskPlaces(sources, column.candidates, cell)
    search = Search[Spot | None](places, column.candidates, cell)
    hit = search.hit()
    if hit is None:
        hit = next(filter(places.is_confirmed, search.misfits), None)
    if hit is None:
        search.look_for_later_parts()
        hint = _respelling(sources, column, cell, search)
        raise errors.unresolved(table, cell, search.tried, search.refusals, hint)
    if search.rivals:
        raise _ambiguous(sources, table, cell, [hit, *search.rivals])
    return hit


def _ambiguous(sources: Sources, table: Table, cell: LobCell, hits: Sequence[Hit]) -> errors.LobUnresolved:
    has_digest = cell.digest is not None
    why = "none of them has the cell's digest" if has_digest else "they differ and the cell has no digest"
    return errors.error(
        "ambiguous",
        table,
        cell,
        f"{len(hits)} files or entries can be its LOB, and {why}",
        tried=[
            f"{each.candidate.convention.letter} {sources.where(each.extents[0])!r}: {each.size:,} bytes"
            for each in hits
        ],
        hint="Remove those that do not belong to the archive.",
    )


class _DiskPlaces:
    """The places for one cell: spots below the granted roots, and None for the archive."""

    def __init__(self, sources: Sources, candidates: Candidates, cell: LobCell) -> None:
        self._sources = sources
        self._candidates = candidates
        self._cell = cell

    def spots(self, candidate: Candidate) -> Iterator[tuple[Spot | None, Names] | Tried]:
        """Yield the spots that a candidate means; see ``LobPlaces``."""
        place, granted = candidate.place, self._sources.granted
        if place.inside:
            if self._sources.tree is not None:
                yield None, place.segments
            return
        if candidate.convention is Convention.LOB_ROOT:
            yield from ((spot, spot.path) for spot in granted.further(place.segments))
            return
        for each in (*(() if place.absolute else granted.mapped(place)), place):
            try:
                spot = granted.spot(each)
            except PlaceRefused as refused:
                yield Tried(candidate, each.text, problem=refused)
                continue
            if candidate.renamed is None:
                yield spot, spot.path
            elif each is place:
                at = len(spot.path) - len(place.segments) + candidate.renamed
                yield from ((other, other.path) for other in self._renamed(spot, at))

    def _renamed(self, spot: Spot, at: int) -> Iterator[Spot]:
        """Yield a spot with other names of its LOB folder, which is number ``at`` of its names."""
        if at < 0:
            return
        siard = self._sources.siard
        siblings = self._sources.granted.lob_folders(spot.root, spot.path[:at], siard)
        for name in renamed(spot.path[at], siblings, siard):
            yield Spot(root=spot.root, path=(*spot.path[:at], name, *spot.path[at + 1 :]))

    def look(self, spot: Spot | None) -> splitparts.Look:
        """Return the look-up of entries, or of files below a spot's root."""
        return self._sources.entry if spot is None else partial(self._sources.one_at, spot.root)

    def wholes(self, spot: Spot | None, names: Names) -> Sequence[Extent]:
        """Return the whole LOBs at a place.

        With parts beside them only those with the cell's digest count; without any raises ``TooMany``.
        """
        if spot is None:
            entry = self._sources.entry(names)
            found = [] if entry is None else [entry]
        else:
            found = self._sources.at(spot)
        if found and (beside := self._beside(spot, names, found)):
            found = [each for each in found if self.has_digest((each,))]
            if not found:
                raise splitparts.beside_whole(names, beside)
        return found

    def _beside(self, spot: Spot | None, names: Names, wholes: list[Extent]) -> list[str]:
        if spot is not None:
            return self._sources.beside(spot, splitparts.FIRST_SUFFIXES)
        # A fitting entry needs no search for parts beside it: that would cost each cell a look-up more.
        is_fitting = self._candidates.fits(wholes[0].size, self._cell.length)
        *folder, last = names
        named = () if is_fitting else splitparts.FIRST_SUFFIXES
        return [each for each in named if self._sources.entry((*folder, last + each)) is not None]

    def has_digest(self, extents: tuple[Extent, ...]) -> bool:
        """Return whether the bytes have the cell's digest; False without a digest."""
        digest = self._cell.digest
        return digest is not None and self._sources.digest(extents, digest.algorithm) == digest

    def is_confirmed(self, misfit: Hit) -> bool:
        """Return whether the digest confirms a misfit; without one the length may count characters."""
        length = self._cell.length
        if self._cell.digest is None:
            return length is not None and is_possible(length, misfit.size)
        return self.has_digest(misfit.extents)

    def confirmed(self, hits: Sequence[Hit]) -> Iterator[Hit]:
        """Yield the hits whose bytes have the cell's digest."""
        return (each for each in hits if self.has_digest(each.extents))

    def have_same_bytes(self, one: Hit, other: Hit) -> bool:
        """Return whether two hits have the same bytes, which are read."""
        found = (self._sources.digest(each.extents, COMPARED) for each in (one, other))
        return one.size == other.size and len(set(found)) == 1

    def identity(self, extent: Extent) -> object:
        """Return the identity of the bytes: the same for one file found in two ways."""
        if isinstance(extent, ZipExtent):
            return extent.archive, extent.name
        return extent.device, extent.inode, extent.size, extent.modified

    def shown(self, spot: Spot | None, names: Names, extent: Extent | None = None) -> str:
        """Return a place, or that of an extent there, for messages."""
        if extent is not None:
            return self._sources.where(extent)
        return "/".join(names) if spot is None else self._sources.granted.shown(spot)


def _respelling(sources: Sources, column: Column, cell: LobCell, search: Search[Spot | None]) -> str:
    """Return a hint at a name that differs only in case or Unicode normalisation, or "".

    It is searched for the first few LOBs of a column: the others differ as these do.
    """
    column.unfound += 1
    if column.unfound > _HINTED:
        return ""
    if sources.entry(tuple(cell.file.split("/"))) is not None:
        return f"An entry has this name, but a cell holds a URI: write {shown(quote(cell.file))}."
    for each in search.empty:
        other = _respelled(sources, each.spot, each.names)
        if other is not None:
            how = difference(other, each.where)
            return f"{shown(other)} differs only in {how}: rename it as the cell names it."
    return ""


def _respelled(sources: Sources, spot: Spot | None, names: Names) -> str | None:
    if spot is None:
        found = (each for each in _cased(names) if sources.entry(each) is not None)
        return next(map("/".join, found), None)
    other = sources.granted.respelled(spot)
    with suppress(Obstacle):
        for cased in _cased(spot.path) if other is None else ():
            if entries := sources.packed.entries(spot.root, cased):
                return sources.packed.shown(entries[0])
    return other


def _cased(names: Names) -> Iterator[Names]:
    """Yield names in other letter cases and Unicode forms, each to be looked up exactly."""
    forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
    for form in forms:
        *folders, last = (unicodedata.normalize(form, each) for each in names)
        stem, dot, extension = last.rpartition(".")
        lower, upper = f"{stem}{dot}{extension.lower()}", f"{stem}{dot}{extension.upper()}"
        for above in (folders, [each.lower() for each in folders]):
            for name in (last, lower, upper, last.lower(), last.upper()):
                if (cased := (*above, name)) != names:
                    yield cased
