"""What an mptr is for: which way it leads and how it names what it means, in every style; pure.

Three styles are about, and what RODA reads: the recommendation (0.16) names a child by the ID of a file
entry and the parent by its OBJID; E-ARK AIP (listings 2 and 3) names both by OBJID in structMaps of their
own; CSIP's text on large packages (2018) by ``urn:<NID>:<OBJID>``; representations are named by location.
"""

from __future__ import annotations

from enum import Enum, unique

from metspack.mets.reader import Mptr

SPLIT = "SPLITLOB"
"""The TYPE of the structMap that says in which children the parts of LOBs are."""

_PARENT = ("parent", "godfather")
_ANCESTORS = ("roda structural map", "ancestors")
_IDENTIFIERS = {"URN", "HANDLE", "PURL", "DOI"}
_OTHER_IDENTIFIERS = {"UUID", "URN", "IDENTIFIER"}


@unique
class By(Enum):
    """How an mptr names a package."""

    FILE = "file ID"
    """The ID of a file entry of the same METS, which says where the child is (recommendation 0.16)."""
    OBJID = "OBJID"
    """The other package's OBJID, with or without a URN prefix; it says nothing of where that is."""
    LOCATION = "location"
    """A URL."""


def named_by(mptr: Mptr) -> By:
    """Return how an mptr names what it means."""
    loctype = (mptr.loctype or "").strip().upper()
    if loctype == "URL":
        return By.LOCATION
    other = (mptr.otherloctype or "").strip().upper()
    href = (mptr.href or "").strip().casefold()
    if loctype in _IDENTIFIERS or other in _OTHER_IDENTIFIERS or href.startswith("urn:"):
        return By.OBJID
    return By.FILE


def _labels(mptr: Mptr) -> tuple[str, ...]:
    return tuple(
        each.casefold() for each in (mptr.structmap_label, mptr.structmap_type, *mptr.div_labels) if each
    )


def is_ancestor(mptr: Mptr) -> bool:
    """Whether an mptr names one of the packages above, not always the one right above (RODA)."""
    return any(label in _ANCESTORS for label in _labels(mptr))


def is_upward(mptr: Mptr) -> bool:
    """Whether an mptr is labelled as leading to the parent or one above it."""
    return is_ancestor(mptr) or any(word in label for label in _labels(mptr) for word in _PARENT)


def is_childward(mptr: Mptr) -> bool:
    """Whether an mptr is labelled as leading to a child, in a structMap that should name every child.

    That of split LOBs names those alone that hold parts.
    """
    return (
        mptr.structmap_type != SPLIT
        and not is_upward(mptr)
        and any("child" in label for label in _labels(mptr))
    )
