"""Search for the LOB of a cell at its candidate places, on disk or in a package.

The statement's place with a fitting size ends the search; otherwise every candidate is looked at, in the
fixed order, and digests decide among several. ``disksearch`` looks on disk, ``listedsearch`` among the files
that a package lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from metspack.errors import SourceError
from metspack.files.paths import Names
from metspack.locations import Convention, splitparts
from metspack.locations.candidates import Candidate, Candidates
from metspack.model import Extent, LobCell

SpotT = TypeVar("SpotT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A file, an entry, or parts that may be a LOB: the candidate, its names, the extents in order."""

    candidate: Candidate
    names: Names
    extents: tuple[Extent, ...]
    is_whole: bool

    @property
    def size(self) -> int:
        """The bytes of all extents."""
        return sum(each.size for each in self.extents)


@dataclass(frozen=True, slots=True)
class Tried:
    """A place that was searched: its problem, or the size of a misfit; without both it was empty.

    ``where`` is the place for messages; ``names`` are empty for a place that may not be read.
    """

    candidate: Candidate
    where: str
    spot: Any = None
    names: Names = ()
    problem: SourceError | None = None
    size: int | None = None


class LobPlaces(Protocol[SpotT]):
    """The places where the LOB of one cell may be; a spot is where its names are looked up."""

    def spots(self, candidate: Candidate) -> Iterator[tuple[SpotT, Names] | Tried]:
        """Yield the spots that a candidate means, each with the names there; refused ones as tried."""

    def look(self, spot: SpotT) -> splitparts.Look:
        """Return the look-up of a file or an entry by its names."""

    def wholes(self, spot: SpotT, names: Names) -> Sequence[Extent]:
        """Return the files or entries with exactly these names; raises ``SourceError`` for others."""

    def confirmed(self, hits: Sequence[Hit]) -> Iterator[Hit]:
        """Yield the hits that digests confirm for the cell, the surest first."""

    def have_same_bytes(self, one: Hit, other: Hit) -> bool:
        """Return whether two hits are certain to have the same bytes."""

    def identity(self, extent: Extent) -> object:
        """Return the identity of an extent's bytes: the same for one file found in two ways."""

    def shown(self, spot: SpotT, names: Names, extent: Extent | None = None, /) -> str:
        """Return a place, or that of an extent there, for messages."""


class Search(Generic[SpotT]):
    """One search for one cell's LOB; ``hit`` fills the other attributes.

    ``refusals`` are the errors of references that give no place, ``tried`` all places that were searched,
    ``empty`` those without a file, ``misfits`` files of other sizes. ``rivals`` are other hits than the one
    returned, with other bytes; it ``is_decided`` if the rules or digests chose the hit.
    """

    def __init__(self, places: LobPlaces[SpotT], candidates: Candidates, cell: LobCell) -> None:
        self.refusals: list[SourceError] = []
        self.tried: list[Tried] = []
        self.empty: list[Tried] = []
        self.misfits: list[Hit] = []
        self.rivals: list[Hit] = []
        self.is_decided = True
        self._places = places
        self._candidates = candidates
        self._cell = cell

    def hit(self) -> Hit | None:
        """Return the hit that is the cell's LOB, the first one with ``rivals``, or None."""
        hits: list[Hit] = []
        for each in self._candidates.of(self._cell.file, self.refusals):
            if hits and each.convention is Convention.RENAMED:
                continue  # a renamed folder counts only where the folder of this archive does not exist
            for place in self._places.spots(each):
                if isinstance(place, Tried):
                    self.tried.append(place)
                elif here := self._fitting(each, *place):  # several where its folder is packed as well
                    if each.stated:
                        return self._decided(here)
                    hits += here
        return self._decided(hits) if hits else self._unusually_numbered()

    def _fitting(self, candidate: Candidate, spot: SpotT, names: Names, *, wide: bool = False) -> list[Hit]:
        """Return the fitting hits at a place; record others as misfits, and the place as tried.

        These are files or entries, or else the parts of one.
        """
        try:
            wholes = () if wide else self._places.wholes(spot, names)
            found = [Hit(candidate=candidate, names=names, extents=(each,), is_whole=True) for each in wholes]
            look = self._places.look(spot)
            if not found and (parts := splitparts.found(look, names, self.fits, wide=wide)):
                found.append(Hit(candidate=candidate, names=names, extents=parts, is_whole=False))
        except SourceError as problem:
            self.tried.append(Tried(candidate, self._places.shown(spot, names), spot, names, problem))
            return []
        if not found:
            self.empty.append(Tried(candidate, self._places.shown(spot, names), spot, names))
            self.tried += () if wide else self.empty[-1:]
        fitting: list[Hit] = []
        for each in found:
            if self.fits(each.size):
                fitting.append(each)
            else:
                self.misfits.append(each)
                where = self._places.shown(spot, names, each.extents[0])
                self.tried.append(Tried(candidate, where, spot, names, size=each.size))
        return fitting

    def fits(self, size: int) -> bool:
        """Return whether a number of bytes may be that of the cell's LOB."""
        return self._candidates.fits(size, self._cell.length)

    def _decided(self, hits: list[Hit]) -> Hit:
        """Return the hit that is the LOB, or the first of several that differ, with its rivals."""
        by_identity: dict[tuple[object, ...], Hit] = {}
        for hit in hits:
            by_identity.setdefault(tuple(map(self._places.identity, hit.extents)), hit)
        first, *others = different = list(by_identity.values())
        if not others:
            return first
        if (confirmed := next(self._places.confirmed(different), None)) is not None:
            return confirmed
        self.is_decided = False
        unlike = (each for each in others if not self._places.have_same_bytes(first, each))
        self.rivals = others if self._cell.digest is not None else list(unlike)
        return first

    def _unusually_numbered(self) -> Hit | None:
        """Return parts whose numbers have an unusual number of digits, or None."""
        empty, self.empty = self.empty, []
        for each in empty:
            if found := self._fitting(each.candidate, each.spot, each.names, wide=True):
                return found[0]
        return None

    def look_for_later_parts(self, is_meant: Callable[[Candidate], bool] = lambda _: True) -> None:
        """Note the first empty place of a meant candidate that has parts without the first."""
        for each in (tried for tried in self.empty if is_meant(tried.candidate)):
            try:
                splitparts.check_no_later_part(self._places.look(each.spot), each.names)
            except SourceError as problem:
                self.tried.append(replace(each, problem=problem))
                return
