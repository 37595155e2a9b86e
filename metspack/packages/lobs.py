"""LOBs as METS lists them: parts, sizes, digests, places; and the selection of some; pure."""

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
    """A file that holds a LOB or a part of one; ``path`` are the names from the package's root.

    ``id`` is its ``file/@ID`` and ``seq`` its SEQ as written (None: the file is the whole LOB, or has no
    SEQ). ``digest`` may have an algorithm of METS that cannot be computed here. ``mets`` and ``line`` are
    the place of its entry, ``segment`` the OBJID of that METS. ``puid`` is its format's id in PRONOM, or
    None.
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
        """The path as people and METS write it."""
        return "/".join(self.path)

    @property
    def source(self) -> str:
        """The place in METS of the part, for messages: ``Northwind_lobseg_0/mets.xml line 12``."""
        return f"{self.mets} line {self.line}"

    def about(self, lob: str) -> str:
        """Return the name of the part of a LOB, for messages."""
        return f"LOB {lob}: {self.name}" if self.id == lob else f"LOB {lob}: its part {self.id}, {self.name},"

    def check_size(self, lob: str, size: int) -> None:
        """Raise ``SourceError`` unless the part of a LOB has the size that METS states, if any."""
        if self.size not in {size, UNKNOWN}:
            raise SourceError(
                f"{self.about(lob)} has {size:,} bytes; expected {self.size:,} ({self.source})", hint=ANOTHER
            )


class ListedFile(NamedTuple):
    """A LOB that is exactly one file, which METS lists once, with a size: the usual case.

    ``path`` has a ``/`` between each two names; ``algorithm`` and ``digest`` are None without a digest.
    ``segment`` is the OBJID of the METS that lists it.
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
    """A LOB of a package: its parts in order (one: it is not split), its size in bytes and its digest.

    ``source`` is the place of its size and digest: the parent METS for a split LOB. ``is_mapped`` is False
    for a split LOB without a part in the parent's SPLITLOB structMap.
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
        """A warning about a LOB that can be restored despite it, "" without one."""
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
    """A child that the package's METS documents name: its OBJID, its METS and the folder that holds it."""

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
    """A part as the parent's SPLITLOB structMap names it: its id, its child's OBJID, its place (ORDER)."""

    part: str
    child: str
    order: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A disagreement about a LOB: the value expected and the value found; ``part`` may be empty."""

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
    """Size and digest of a file as METS states them, or None; ``by`` is the place in METS."""

    size: int | None = None
    digest: Digest | None = None
    by: str = ""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithm by which the digest can be compared, if there is one."""
        return (self.digest.algorithm,) if self.digest is not None and self.digest.algorithm in OCTETS else ()

    def difference(self, hashers: Hashers) -> tuple[str, str] | None:
        """Return in words the value found and the value expected, None when the bytes agree.

        A digest by an algorithm that cannot be computed is not compared.
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
    """Return the place in a database that an id without a prefix is; None for any other id."""
    found = _PLACE.fullmatch(lob)
    if found is None:
        return None
    return LobPlace(schema=int(found[1]), table=int(found[2]), cell=found[3], row=int(found[4]))


def needed_place(lob: str) -> LobPlace:
    """Return the place that an id is; raises ``SourceError`` for any other id."""
    place = place_of(lob)
    if place is None or not place.row:
        raise SourceError(
            f"LOB {lob[:200]!r}: its id is not a place in a database, so it has no path in a restored tree",
            hint="Such ids are like s0.t2.c4.r1; metspack cat reads a LOB with any id.",
        )
    return place
