"""Where LOBs are looked for: the archive's entries, the granted roots, the packed segments there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from metspack import digests
from metspack.model import Digest, Extent, ZipExtent
from metspack.siard import parts
from metspack.siard.granted import Granted, Obstacle, Spot
from metspack.siard.packed import Packed
from metspack.siard.parts import Names

COMPARED = "SHA-256"
"""The digest by which files and entries are told apart that may be the same."""


class Tree(Protocol):
    """The archive's own entries: where the one with a name lies, and its bytes (``trees``)."""

    def extent(self, name: str) -> Extent | None:
        """Return where the entry with exactly this name lies, None when there is none."""

    def contents(self, extent: ZipExtent) -> Iterator[bytes]:
        """Yield an entry's bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All the places together; ``siard`` is the archive's file name."""

    tree: Tree | None
    granted: Granted
    packed: Packed
    siard: str

    def blocks(self, extent: Extent) -> Iterator[bytes]:
        """Yield the bytes of an entry, of the archive or of a packed segment, or of a file."""
        if not isinstance(extent, ZipExtent):
            return self.granted.blocks(extent)
        if extent.archive:
            return self.packed.contents(extent)
        return iter(()) if self.tree is None else self.tree.contents(extent)

    def digest(self, extents: Iterable[Extent], algorithm: str) -> Digest:
        """Return the digest of all bytes of the extents, one after the other."""
        hashers = digests.Hashers([algorithm])
        for extent in extents:
            for block in self.blocks(extent):
                hashers.update(block)
        return hashers.digest(algorithm)

    def entry(self, names: Names) -> Extent | None:
        """Return the archive's entry with these names."""
        return None if self.tree is None else self.tree.extent("/".join(names))

    def at(self, spot: Spot) -> list[Extent]:
        """Return all that is at a spot: the file, and the entries of packed segments that lie there.

        Raises ``Obstacle`` when nothing is, and something stands in its way.
        """
        file = self.granted.file(spot)
        if file is None:
            return self._packed(spot)
        if self.packed.is_near(spot.root, spot.path):
            with suppress(Obstacle):  # the file is there, whatever a zip file beside its folder is
                return [file, *self._packed(spot)]
        return [file]

    def _packed(self, spot: Spot) -> list[Extent]:
        places = self.granted.places(spot)
        return [entry for each in places for entry in self.packed.entries(each.root, each.path)]

    def one_at(self, root: int, names: Names) -> Extent | None:
        """Return what is at these names below a root; raises ``TooMany`` for several that differ."""
        found = self.at(Spot(root=root, path=names))
        if len(found) > 1 and len({self.digest((each,), COMPARED) for each in found}) > 1:
            raise parts.twice([repr(self.where(each)) for each in found])
        return found[0] if found else None

    def beside(self, spot: Spot, suffixes: Iterable[str]) -> list[str]:
        """Return the names that are there beside a spot: its own, with one of the suffixes."""
        *folder, last = spot.path
        names = [last + each for each in suffixes]
        found = self.granted.beside(spot, names)
        if self.packed.is_near(spot.root, spot.path):
            with suppress(Obstacle):
                found += [each for each in names if self.packed.entries(spot.root, (*folder, each))]
        return list(dict.fromkeys(found))

    def where(self, extent: Extent) -> str:
        """Return where the bytes of a file or of an entry lie, for people to read."""
        if not isinstance(extent, ZipExtent):
            return self.granted.shown(Spot(root=extent.root, path=extent.path))
        return self.packed.shown(extent) if extent.archive else extent.name
