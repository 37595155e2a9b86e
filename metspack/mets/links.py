"""Links between METS documents (``mptr``): direction, style, and equality of OBJIDs.

Three styles are in use, besides that of RODA: the recommendation (0.16) names a child by the ID of a file
entry and the parent by its OBJID; E-ARK AIP (listings 2 and 3) names both by OBJID in separate structMaps;
CSIP's text on large packages (2018) by ``urn:<NID>:<OBJID>``. Representations are named by their location.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import lru_cache
from typing import Any

from metspack import uris
from metspack.mets import REPRESENTATIONS_FOLDER

SPLITLOB = "SPLITLOB"
"""The TYPE of the structMap that names the children with parts of split LOBs."""

SPLIT_LOBS = "split LOB"
"""The USE of the fileGrp that describes the whole LOBs."""

_PARENT = ("parent", "godfather")
_CHILD = "child"
_CSIP = "csip"
_REPRESENTATIONS = "representations"  # the beginning of a USE (CSIP64) or LABEL (CSIP107) of one
_ANCESTORS = ("roda structural map", "ancestors")
_IDENTIFIERS = {"URN", "HANDLE", "PURL", "DOI"}
_OTHER_IDENTIFIERS = {"UUID", "URN", "IDENTIFIER"}

_PREFIX = re.compile(r"urn:[a-z0-9][a-z0-9.-]{0,31}:", re.IGNORECASE | re.ASCII)
"""The beginning of a URN; CSIP's example (2018) writes ``urn:sa.dk:``, with a dot."""

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def bare(identifier: str) -> str:
    """Return an identifier without ``urn:<NID>:``; two with the same rest name one package.

    Any NID may precede an OBJID (CSIP 2018, handling large packages). Letter case has no meaning in scheme
    and NID (RFC 8141, 3.1) nor in a UUID (RFC 9562, 4), which is returned in lower case; any other rest keeps
    its letters.
    """
    text = identifier.strip()
    while found := _PREFIX.match(text):
        text = text[found.end() :].lstrip()
    return text.lower() if _UUID.fullmatch(text) else text


def folder_of_objid(objid: str) -> str:
    """Return the name of the folder of an IP with an OBJID: ``+`` for ``:`` (E-ARK AIP, AIP21)."""
    return objid.strip().replace(":", "+")


_FOLDERS = {(name,) for name in ("data", "metadata", "documentation", "schemas")}


def target(folder: Sequence[str], reference: uris.Reference) -> tuple[str, ...]:
    """Return the path, as names, to the target of a reference in the METS of ``folder``.

    It is resolved as by ``uris.joined``. But some tools write ``file:///data/...`` in the METS of a
    representation, relative to the representation's folder: so is resolved what begins with the name of one
    of the folders of representations.
    """
    is_inside = folder[-2:-1] == (REPRESENTATIONS_FOLDER,) and reference.segments[:1] in _FOLDERS
    if is_inside and uris.Repair.PSEUDO_ABSOLUTE in reference.repairs:
        return uris.walked(folder, reference.segments)
    return uris.joined(folder, reference)


def are_same(identifier: str, other: str) -> bool:
    """Return whether two OBJIDs, or an OBJID and the href of an ``mptr``, name one package."""
    return bare(identifier) == bare(other)


@unique
class By(Enum):
    """Ways in which an ``mptr`` names a package."""

    FILE = "file ID"
    """The ID of a file entry of the same METS, which locates the child (recommendation 0.16)."""
    OBJID = "OBJID"
    """The other package's OBJID, with or without a URN prefix; it gives no location."""
    LOCATION = "location"
    """A URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mptr:
    """An ``mptr`` and its place: its structMap's TYPE and LABEL, and the LABELs of the divs around it.

    ``order`` is the ORDER of the innermost div; ``div`` is the number of that div in the document, from 1,
    and ``within`` that of the div around it.
    """

    href: str | None
    loctype: str | None
    otherloctype: str | None
    contentids: str | None
    structmap_type: str | None
    structmap_label: str | None
    div_labels: tuple[str, ...]
    line: int
    order: str | None = None
    div: int = 0
    within: int = field(default=0, compare=False)

    @property
    def named_by(self) -> By:
        """The way in which it names a package."""
        loctype = (self.loctype or "").strip().upper()
        if loctype == "URL":
            return By.LOCATION
        other = (self.otherloctype or "").strip().upper()
        href = (self.href or "").strip().casefold()
        if loctype in _IDENTIFIERS or other in _OTHER_IDENTIFIERS or href.startswith("urn:"):
            return By.OBJID
        return By.FILE

    @property
    def is_of_part(self) -> bool:
        """True if it leads to the child with a part of a split LOB."""
        return self._is_of_split and bool((self.contentids or "").strip())

    @property
    def is_misplaced(self) -> bool:
        """True if it is about a part of a split LOB, and its structMap is not, or the reverse.

        The CONTENTIDS of a part is also the LABEL of its div; other CONTENTIDS may be anything.
        """
        named = (self.contentids or "").strip()
        if self._is_of_split:
            return not named
        return bool(named and self.div_labels) and self.order is not None and self.div_labels[-1] == named

    @property
    def _is_of_split(self) -> bool:
        return self.structmap_type == SPLITLOB

    @property
    def is_ancestor(self) -> bool:
        """True if it names one of the packages above, as RODA does, not necessarily the parent."""
        return self._leads_to[0]

    @property
    def is_upward(self) -> bool:
        """True if it is labelled as leading to the parent or one above it."""
        return self._leads_to[1]

    @property
    def is_childward(self) -> bool:
        """True if its labels name a child, in a structMap that should name all children.

        The structMap of split LOBs names only children with parts.
        """
        return not self._is_of_split and self._leads_to[2]

    @property
    def _leads_to(self) -> tuple[bool, bool, bool]:
        return _directions(self.structmap_label, self.structmap_type, *self.div_labels)


@lru_cache(1)  # callers read the properties of one mptr together; its labels may be long
def _directions(*labels: str | None) -> tuple[bool, bool, bool]:
    """Return whether labels name an ancestor, the parent or an ancestor, a child."""
    words = [_words(each) for each in labels if each]
    is_ancestor = any(label in _ANCESTORS for label in words)
    is_upward = is_ancestor or any(word in label for label in words for word in _PARENT)
    return is_ancestor, is_upward, not is_upward and any(_CHILD in label for label in words)


def is_of_children(groups: Iterable[str]) -> bool:
    """Return whether an ID or USE of the fileGrps around a file names children."""
    return any(_CHILD in _words(each) for each in groups)


def div_labels(structmap: str | None, divs: Iterable[tuple[str | None, Any, Any]]) -> tuple[str, ...]:
    """Return those LABELs of the ``divs`` around an ``mptr`` that describe its target.

    Each div is a tuple that begins with its LABEL. In the structMap with the LABEL CSIP the outermost one is
    left out, as it is the OBJID (CSIP86 of 2.0 and 2.1).
    """
    labels = (label for label, *_ in divs)
    if structmap is not None and structmap.strip().casefold() == _CSIP:
        next(labels, None)
    return tuple(label for label in labels if label is not None)


def _words(name: str) -> str:
    """Return a LABEL or USE in lower case, without the name of a representation."""
    text = name.casefold()
    return _REPRESENTATIONS if text.startswith(f"{_REPRESENTATIONS}/") else text


_ID = re.compile(r"(?:([A-Za-z_][A-Za-z0-9_-]*)\.)?(s[0-9]+\.t[0-9]+\.c.+)", re.ASCII | re.DOTALL)


def prefix(archive: str) -> str:
    """Return the prefix that LOBs' ids may have in an archive with this file name."""
    stem = archive.rpartition(".")[0] or archive
    return f"{stem}." if re.match("[A-Za-z_]", stem, re.ASCII) else f"_{stem}."


def split_prefix(lob: str) -> tuple[str, str]:
    """Return the prefix of a LOB's id, or "", and its place; any other id is returned as place."""
    found = _ID.fullmatch(lob)
    if found is None or found[1] is None:
        return "", lob
    return f"{found[1]}.", found[2]


def bounds(prefix: str) -> tuple[str, str]:
    """Return the bounds of the ids with a prefix: the first one, and one after the last."""
    return f"{prefix}s0", f"{prefix}s:"  # ":" follows "9"
