"""Search for a cell's LOB in the archive, the granted roots and packed segments, by place."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal
from urllib.parse import quote

from metspack import digests
from metspack.errors import SourceError
from metspack.locations import Convention, errors, splitparts
from metspack.locations.candidates import Candidate, Candidates, renamed
from metspack.locations.errors import Tried
from metspack.locations.grantedroots import Granted, Obstacle, PlaceRefused, Spot, difference
from metspack.locations.packedsegments import Packed
from metspack.locations.splitparts import Names
from metspack.model import Digest, Extent, LobCell, ZipExtent
from metspack.siard.entries import AnyTree
from metspack.siard.metadata import Table
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A file, an entry, or parts that may be a LOB: the candidate, and the extents in order."""

    candidate: Candidate
    extents: tuple[Extent, ...]

    @property
    def size(self) -> int:
        """The bytes of all extents."""
        return sum(each.size for each in self.extents)

    @property
    def identity(self) -> tuple[object, ...]:
        """The identity of the bytes: the same for one file found in two ways."""
        return tuple(
            (each.archive, each.name)
            if isinstance(each, ZipExtent)
            else (each.device, each.inode, each.size, each.modified)
            for each in self.extents
        )


class Search:
    """One search for one cell's LOB."""

    def __init__(self, sources: Sources, table: Table, column: Column, cell: LobCell) -> None:
        self._sources = sources
        self._table = table
        self._column = column
        self._cell = cell
        self._refusals: list[SourceError] = []
        self._misfits: list[Hit] = []
        self._tried: list[Tried] = []
        self._looked: list[tuple[Candidate, Spot | None, Names]] = []

    def hit(self) -> Hit:
        """Return the hit that is the cell's LOB; raises ``LobUnresolved``."""
        hits: list[Hit] = []
        for each in self._column.candidates.of(self._cell.file, self._refusals):
            if hits and each.convention is Convention.RENAMED:
                continue  # a renamed folder counts only where the folder of this archive does not exist
            for here in self._hits(each):
                if each.stated:
                    return self._decided(here)
                hits += here
        return self._decided(hits) if hits else self._proven()

    def _hits(self, candidate: Candidate) -> Iterator[list[Hit]]:
        """Yield the hits at each place of a candidate that has any.

        A place has several hits if its folder exists both unpacked and packed.
        """
        for spot, names in self._places(candidate):
            try:
                found = self._at(spot, names)
            except SourceError as problem:
                self._note(candidate, self._where(spot, names), problem=problem)
                continue
            if not found:
                self._looked.append((candidate, spot, names))
                self._note(candidate, self._where(spot, names))
            fitting = [hit for each in found if (hit := self._fitting(candidate, each)) is not None]
            if fitting:
                yield fitting

    def _fitting(self, candidate: Candidate, extents: tuple[Extent, ...]) -> Hit | None:
        """Return a hit if its size may be the LOB's; otherwise record a misfit and return None."""
        hit = Hit(candidate=candidate, extents=extents)
        if self._fits(hit.size):
            return hit
        self._misfits.append(hit)
        self._note(candidate, self._sources.where(extents[0]), size=hit.size)
        return None

    def _where(self, spot: Spot | None, names: Names) -> str:
        return "/".join(names) if spot is None else self._sources.granted.shown(spot)

    def _note(
        self,
        candidate: Candidate,
        where: str,
        *,
        problem: SourceError | None = None,
        size: int | None = None,
    ) -> None:
        self._tried.append(Tried(convention=candidate.convention, where=where, problem=problem, size=size))

    def _fits(self, size: int) -> bool:
        return self._column.candidates.fits(size, self._cell.length)

    def _places(self, candidate: Candidate) -> Iterator[tuple[Spot | None, Names]]:
        """Yield spots below a granted root with their names, or None with names from the zip's root."""
        place, granted = candidate.place, self._sources.granted
        if place.inside:
            if self._sources.tree is not None:
                yield None, place.segments
            return
        if candidate.convention is Convention.LOB_ROOT:
            spots = granted.further(place.segments)
        else:
            spots = self._spots(candidate)
        for spot in spots:
            yield spot, spot.path

    def _spots(self, candidate: Candidate) -> Iterator[Spot]:
        granted = self._sources.granted
        mapped = () if candidate.place.absolute else granted.mapped(candidate.place)
        for place in (*mapped, candidate.place):
            try:
                spot = granted.spot(place)
            except PlaceRefused as refused:
                self._note(candidate, place.text, problem=refused)
                continue
            if candidate.renamed is None:
                yield spot
            elif place is candidate.place:
                yield from self._renamed(spot, len(place.segments) - candidate.renamed)

    def _renamed(self, spot: Spot, from_end: int) -> Iterator[Spot]:
        """Yield a spot with other names of its LOB folder, at ``from_end`` names from the end."""
        at = len(spot.path) - from_end
        if at < 0:
            return
        siard = self._sources.siard
        siblings = self._sources.granted.lob_folders(spot.root, spot.path[:at], siard)
        for name in renamed(spot.path[at], siblings, siard):
            yield Spot(root=spot.root, path=(*spot.path[:at], name, *spot.path[at + 1 :]))

    def _look(self, spot: Spot | None) -> splitparts.Look:
        return self._sources.entry if spot is None else partial(self._sources.one_at, spot.root)

    def _at(self, spot: Spot | None, names: Names) -> list[tuple[Extent, ...]]:
        """Return the possible LOBs at a place, each whole or as its parts, or an empty list."""
        if spot is None:
            entry = self._sources.entry(names)
            wholes = [] if entry is None else [entry]
        else:
            wholes = self._sources.at(spot)
        if not wholes:
            pieces = splitparts.found(self._look(spot), names, self._fits)
            return [pieces] if pieces else []
        if beside := self._beside(spot, names, wholes):
            wholes = [each for each in wholes if self._has_digest((each,))]
            if not wholes:
                raise splitparts.beside_whole(names, beside)
        return [(each,) for each in wholes]

    def _beside(self, spot: Spot | None, names: Names, wholes: list[Extent]) -> list[str]:
        if spot is not None:
            return self._sources.beside(spot, splitparts.FIRST_SUFFIXES)
        # A fitting entry needs no search for parts beside it: that would cost each cell a look-up more.
        named = () if self._fits(wholes[0].size) else splitparts.FIRST_SUFFIXES
        *folder, last = names
        return [each for each in named if self._sources.entry((*folder, last + each)) is not None]

    def _has_digest(self, extents: tuple[Extent, ...]) -> bool:
        """Return whether the bytes have the cell's digest; False without a digest."""
        digest = self._cell.digest
        return digest is not None and self._sources.digest(extents, digest.algorithm) == digest

    def _decided(self, hits: list[Hit]) -> Hit:
        """Return the hit that is the LOB; raises ``LobUnresolved`` if several differ, undecided."""
        by_identity: dict[tuple[object, ...], Hit] = {}
        for hit in hits:
            by_identity.setdefault(hit.identity, hit)
        different = list(by_identity.values())
        if len(different) == 1:
            return different[0]
        if self._cell.digest is not None:
            for each in different:
                if self._has_digest(each.extents):
                    return each
            raise self._ambiguous(different, "none of them has the cell's digest")
        same_size = len({each.size for each in different}) == 1
        if same_size and len({self._sources.digest(each.extents, COMPARED) for each in different}) == 1:
            return different[0]
        raise self._ambiguous(different, "they differ and the cell has no digest")

    def _ambiguous(self, hits: list[Hit], why: str) -> errors.LobUnresolved:
        return errors.error(
            "ambiguous",
            self._table,
            self._cell,
            f"{len(hits)} files or entries can be its LOB, and {why}",
            tried=[
                f"{each.candidate.convention.letter} {self._sources.where(each.extents[0])!r}: "
                f"{each.size:,} bytes"
                for each in hits
            ],
            hint="Remove those that do not belong to the archive.",
        )

    def _proven(self) -> Hit:
        """Return parts with unusual numbers, or a misfit with the cell's digest.

        Raises ``LobUnresolved``.
        """
        found = self._unusually_numbered()
        if found is not None:
            return found
        for each in self._misfits:
            if self._has_digest(each.extents):
                return each
        raise self._unresolved()

    def _unusually_numbered(self) -> Hit | None:
        """Return parts whose numbers have an unusual number of digits, or None."""
        looked, self._looked = self._looked, []
        for candidate, spot, names in looked:
            try:
                pieces = splitparts.found(self._look(spot), names, self._fits, wide=True)
            except SourceError as problem:
                self._note(candidate, self._where(spot, names), problem=problem)
                continue
            if not pieces:
                self._looked.append((candidate, spot, names))
            elif (hit := self._fitting(candidate, pieces)) is not None:
                return hit
        return None

    def _unresolved(self) -> errors.LobUnresolved:
        for candidate, spot, names in self._looked:
            try:
                splitparts.check_no_later_part(self._look(spot), names)
            except SourceError as problem:
                self._note(candidate, "/".join(names), problem=problem)
                break
        return errors.unresolved(self._table, self._cell, self._tried, self._refusals, self._respelling())

    def _respelling(self) -> str:
        """Return a hint at a name that differs only in case or Unicode normalisation, or "".

        It is searched for the first few LOBs of a column: the others differ as these do.
        """
        self._column.unfound += 1
        if self._column.unfound > _HINTED:
            return ""
        if self._sources.entry(tuple(self._cell.file.split("/"))) is not None:
            return f"An entry has this name, but a cell holds a URI: write {shown(quote(self._cell.file))}."
        for _candidate, spot, names in self._looked:
            other = self._respelled_entry(names) if spot is None else self._respelled_file(spot)
            if other is not None:
                how = difference(other, self._where(spot, names))
                return f"{shown(other)} differs only in {how}: rename it as the cell names it."
        return ""

    def _respelled_file(self, spot: Spot) -> str | None:
        other = self._sources.granted.respelled(spot)
        packed = self._sources.packed
        with suppress(Obstacle):
            for cased in _cased(spot.path) if other is None else ():
                if found := packed.entries(spot.root, cased):
                    return packed.shown(found[0])
        return other

    def _respelled_entry(self, names: Names) -> str | None:
        found = (each for each in _cased(names) if self._sources.entry(each) is not None)
        return next(map("/".join, found), None)


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
