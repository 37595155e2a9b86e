"""LOBs as METS lists them: parts, sizes, digests and places; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from metspack.digests import OCTETS, Hashers
from metspack.errors import SourceError
from metspack.model import Digest, LobPlace
from metspack.sizes import counted

ANOTHER = "Get the package from another copy; metspack check shows what else is wrong with it."
UNKNOWN = -1
"""The size of a part that METS does not state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPart:
    """A file with a LOB or a part of one; ``path`` are the names from the package's root.

    ``id`` is its ``file/@ID``, ``seq`` its SEQ as written, or None. ``digest`` may be by an algorithm that
    cannot be computed here. ``mets`` and ``line`` are the place of its entry, ``segment`` is the OBJID of
    that METS. ``puid`` is its format's id in PRONOM, or None.
    """

    id: str
    seq: str | None
    path: tuple[str, ...]
    size: int
    digest: Digest | None
    media_type: str | None
    mets: str
    line: int
    segment: str
    puid: str | None = None

    @property
    def name(self) -> str:
        """The path with ``/`` between the names."""
        return "/".join(self.path)

    @property
    def source(self) -> str:
        """The place of its entry, for messages: ``Northwind_lobseg_0/mets.xml line 12``."""
        return f"{self.mets} line {self.line}"

    def about(self, lob: str) -> str:
        """Return the words on this part of a LOB, for messages."""
        return f"LOB {lob}: {self.name}" if self.id == lob else f"LOB {lob}: its part {self.id}, {self.name},"

    def check_size(self, lob: str, size: int) -> None:
        """Raise ``SourceError`` if METS states another size of the part than ``size``."""
        if self.size not in {size, UNKNOWN}:
            raise SourceError(
                f"{self.about(lob)} has {size:,} bytes; expected {self.size:,} ({self.source})", hint=ANOTHER
            )


class ListedFile(NamedTuple):
    """A LOB that is exactly one file, listed once and with a size, as most are.

    ``path`` has ``/`` between the names; ``algorithm`` and ``digest`` are None without a digest. ``segment``
    is the OBJID of the METS that lists it.
    """

    lob: str
    path: str
    size: int
    algorithm: str | None
    digest: str | None
    media_type: str | None
    segment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLob:
    """A LOB of a package: its parts in order, or its one file, its size in bytes and its digest.

    ``source`` is the place that states size and digest: of a split LOB in the parent's METS. ``is_mapped`` is
    False for a split LOB without parts in the parent's SPLITLOB structMap.
    """

    id: str
    parts: tuple[HeldPart, ...]
    size: int
    digest: Digest | None
    media_type: str | None
    source: str
    is_mapped: bool = True

    @property
    def doubt(self) -> str:
        """A warning about a LOB that can be restored nevertheless, or ""."""
        if self.is_mapped:
            return ""
        return (
            f"LOB {self.id}: the parent METS has no SPLITLOB structMap of it; the order of its "
            f"{counted(len(self.parts), 'part')} is that of their SEQ, and only their sizes or the name of "
            f"the last one show that none is missing ({self.source})"
        )

    @property
    def is_split(self) -> bool:
        """True if it is in parts."""
        return len(self.parts) > 1 or self.parts[0].id != self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSegment:
    """A child that the package's METS documents name: its OBJID, and the path of its METS."""

    objid: str
    mets: tuple[str, ...]

    @property
    def folder(self) -> tuple[str, ...]:
        """The names from the package's root to its folder."""
        return self.mets[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWhole:
    """A split LOB as the parent METS describes it (``fileGrp USE="split LOB"``)."""

    size: int | None
    digest: Digest | None
    media_type: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """A part in the parent's SPLITLOB structMap: its id, its child's OBJID, and its ORDER."""

    part: str
    child: str
    order: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A disagreement about a LOB or, if ``part`` is not empty, a part: expected and found value."""

    lob: str
    part: str = ""
    what: str
    expected: str
    found: str

    @property
    def message(self) -> str:
        """The disagreement as one sentence."""
        about = ", ".join(each for each in (f"LOB {self.lob}" if self.lob else "", self.part) if each)
        text = f"{self.what}: expected {self.expected}; found {self.found}"
        return f"{about}: {text}" if about else text


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFixity:
    """Size and digest of a file in METS, or None; ``by`` is the place in METS."""

    size: int | None = None
    digest: Digest | None = None
    by: str = ""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithm of the digest, if it can be computed."""
        return (self.digest.algorithm,) if self.digest is not None and self.digest.algorithm in OCTETS else ()

    def difference(self, hashers: Hashers) -> tuple[str, str] | None:
        """Return the value found and the value expected, in words, or None if the bytes agree.

        A digest by an algorithm that cannot be computed is ignored.
        """
        if self.size is not None and hashers.size != self.size:
            return f"{hashers.size:,} bytes", f"{self.size:,}"
        if self.digest is None or not self.algorithms:
            return None
        found = hashers.digest(self.digest.algorithm)
        if found == self.digest:
            return None
        return f"the {found.algorithm} digest {found.value}", self.digest.value


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMets:
    """A METS that another refers to: its path, its OBJID there, and its size and digest."""

    path: tuple[str, ...]
    called: str = ""
    fixity: StatedFixity = StatedFixity()

    def check(self, hashers: Hashers) -> None:
        """Raise ``SourceError`` if the bytes differ from the stated size or digest."""
        if (difference := self.fixity.difference(hashers)) is not None:
            found, expected = difference
            raise SourceError(
                f"this METS has {found}; expected {expected} ({self.fixity.by})",
                hint="It was changed or belongs to another package, so nothing in it is used: get another "
                "copy.",
            )


_N = "[0-9]{1,18}"
_PLACE = re.compile(rf"s({_N})\.t({_N})\.(c{_N}(?:\.[ua]{_N})*)\.r({_N})")


def place_of(lob: str) -> LobPlace | None:
    """Return the place in a database of an id without prefix, or None for any other id."""
    found = _PLACE.fullmatch(lob)
    if found is None:
        return None
    return LobPlace(schema=int(found[1]), table=int(found[2]), cell=found[3], row=int(found[4]))


def needed_place(lob: str) -> LobPlace:
    """Return the place in a database of an id; raises ``SourceError`` for any other id."""
    place = place_of(lob)
    if place is None or not place.row:
        raise SourceError(
            f"LOB {lob[:200]!r}: its id is not a place in a database, so it has no path in a restored tree",
            hint="Such ids are like s0.t2.c4.r1; metspack cat reads a LOB with any id.",
        )
    return place
