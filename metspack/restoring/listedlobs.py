"""What METS says of LOBs, asked for by the files that hold them, and what of it proves their bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from metspack import scratch
from metspack.digests import OCTETS
from metspack.errors import SourceError
from metspack.mediatypes import DEFAULT
from metspack.mets import prefixes
from metspack.model import Digest, Extent, FileExtent, LobCell, LobPlace, LobRef, Proofs, ZipExtent
from metspack.packages.files import open_part
from metspack.restoring.held import HeldLob, Part
from metspack.restoring.kinds import Kinds
from metspack.restoring.package import Package
from metspack.restoring.selection import Selection
from metspack.siard.archive import extension_of
from metspack.sizes import counted
from metspack.uris import shown

_PLACE = re.compile(r"s([0-9]{1,18})\.t([0-9]{1,18})\.(c[0-9]{1,18}(?:\.[ua][0-9]{1,18})*)\.r([0-9]{1,18})")
_SUFFIX = re.compile(r"(?:\.(?:[0-9]+|z)|_part[0-9]{3,18})$")
ANOTHER = "Get the package from another copy; metspack check tells what else is wrong with it."
KEEPING = "what is known of the LOBs"


class ListedLobs:
    """What METS says of LOBs, by the files that hold them; remembers which were asked for.

    Those are meant whose ids begin with ``prefix`` and then a place; with None there are none.
    """

    def __init__(self, package: Package, prefix: str | None = "") -> None:
        self.package = package
        self.prefix = prefix or ""
        self._lists_none = prefix is None
        self.unproven = 0
        self.unmapped = 0
        self.doubt = ""
        self.kinds = Kinds(package)
        self._asked = scratch.opened()
        self._asked.execute("CREATE TABLE lob (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._asked.execute("BEGIN")

    def held(self, about: str, lob: str, files: tuple[tuple[str, ...] | None, ...]) -> HeldLob:
        """Return what METS says of the LOB that lies in some files, one after the other.

        ``lob`` is its id by its cell, ``about`` names the LOB in errors. Raises ``SourceError`` when METS
        lists no such LOB, or another one under this id.
        """
        first = files[0]
        found = None if first is None else self.package.index.lob_at(first)
        if found is None:
            for fault in self.package.faults:
                raise SourceError(
                    f"{about} is in no METS that could be read: {fault.message}", hint=fault.hint
                )
            raise SourceError(
                f"{about} is listed by no METS of the package",
                hint="Nothing proves its bytes; metspack build makes a new package of such an archive.",
            )
        held = self.package.lob(found)
        named = tuple(part.path for part in held.parts)
        if named != files:
            raise SourceError(
                f"{about}: its cell means {counted(len(files), 'file')}, but METS lists {found} as "
                f"{counted(len(named), 'file')}, {shown('/'.join(named[0]))} first",
                hint=ANOTHER,
            )
        if found != lob and self.package.index.holds(lob):
            raise SourceError(
                f"LOB {lob}: its cell names {shown('/'.join(named[0]))}, which METS lists as {found}, "
                f"and {lob} elsewhere",
                hint=ANOTHER,
            )
        self.take(found)
        return held

    def take(self, lob: str) -> None:
        """Note that a LOB was asked for."""
        with scratch.explained(KEEPING):
            self._asked.execute("INSERT OR IGNORE INTO lob VALUES (?)", (lob,))

    def others(self, selection: Selection) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists, are selected, and were not asked for."""
        for place in self.ids():
            lob = self.prefix + place
            row = self._asked.execute("SELECT 1 FROM lob WHERE id = ?", (lob,)).fetchone()
            if row is None and selection.takes(place):
                yield lob

    def ids(self) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists, without what they begin with."""
        others = {each for path in self.package.archives if (each := self.package.index.prefix(path))}
        for lob in () if self._lists_none else self.package.ids():
            own, place = prefixes.parted(lob)
            if own == self.prefix or (not self.prefix and own not in others):
                yield place if own in others else lob

    def proofs(self, held: HeldLob) -> Proofs:
        """Return what METS says of a LOB's bytes, as far as it can be computed."""
        if held.doubt:
            self.unmapped += 1
            self.doubt = self.doubt or held.doubt
        known = [self._known(part.digest) for part in held.parts]
        if not held.is_split:
            return Proofs(whole=known[0])
        # That every part is proven, and the map names them all, proves a whole that METS has no digest of.
        whole = None if held.digest is None and held.is_mapped and all(known) else self._known(held.digest)
        return Proofs(whole=whole, extents=tuple(known))

    def _known(self, digest: Digest | None) -> Digest | None:
        if digest is not None and digest.algorithm in OCTETS:
            return digest
        self.unproven += 1
        return None

    def reference(self, held: HeldLob, root: int, entries: Entries) -> LobRef:
        """Return a LOB that METS alone knows; its files begin in the granted root with that number.

        ``entries`` gives those of packed segments by a file's names below that root.
        """
        place = place_of(held.id.removeprefix(self.prefix))
        name = held.parts[0].name
        extension = extension_of(_SUFFIX.sub("", name) if held.is_split else name)
        return LobRef(
            cell=LobCell(place=place, file=name, length=None, digest=None),
            size=held.size,
            extension=extension,
            media_type=held.media_type or DEFAULT,
            extents=tuple(_extent(self.package.root, held.id, part, root, entries) for part in held.parts),
            proofs=self.proofs(held),
            recorded=self.kinds.recorded(held),
        )

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what could not be proven by METS."""
        if self.kinds.unread:
            yield self.kinds.unread
        if self.doubt:
            yield self.doubt
        if self.unmapped > 1:
            yield f"{counted(self.unmapped - 1, 'more split LOB')} that no SPLITLOB structMap names"
        if self.unproven:
            yield (
                f"{counted(self.unproven, 'digest')} that METS does not give, or by an algorithm that cannot "
                "be computed here: those bytes are proven by their cells alone"
            )

    def close(self) -> None:
        """Close the package, and forget what was asked for."""
        self._asked.close()
        self.package.close()


def place_of(lob: str) -> LobPlace:
    """Return the place that an id names; raises ``SourceError`` when it names none."""
    found = _PLACE.fullmatch(lob)
    if found is None or not int(found[4]):
        raise SourceError(
            f"LOB {lob[:200]!r}: its id names no place in a database, so that it has none in a restored tree",
            hint="Ids are as s0.t2.c4.r1; metspack cat gives back a LOB with any id.",
        )
    return LobPlace(schema=int(found[1]), table=int(found[2]), cell=found[3], row=int(found[4]))


Entries = Callable[[tuple[str, ...]], list[ZipExtent]]


def _extent(root: Path, lob: str, part: Part, number: int, entries: Entries) -> Extent:
    try:
        with open_part(root, part) as medium:
            size, stamp = medium.size, medium.stamps[0]
    except (OSError, SourceError) as error:
        why = error.message if isinstance(error, SourceError) else f"{error.strerror} ({part.source})"
        raise SourceError(f"LOB {lob}: {part.name} cannot be opened: {why}", hint=ANOTHER) from None
    check_size(lob, part, size)
    inside = part.inside
    if inside is not None and inside.entry is not None:
        return next(each for each in entries(part.path) if replace(each, archive=0) == inside.entry)
    return FileExtent(
        root=number,
        path=part.path if inside is None else inside.file,
        size=size,
        modified=stamp.modified,
        inode=stamp.inode,
        device=stamp.device,
        offset=None if inside is None else inside.offset,
    )


def check_size(lob: str, part: Part, size: int) -> None:
    """Raise ``SourceError`` unless a part of a LOB has the size that METS says."""
    if size != part.size:
        raise SourceError(
            f"LOB {lob}: {part.name} has {size:,} bytes; expected {part.size:,} ({part.source})",
            hint=ANOTHER,
        )
