# ruff: noqa: RUF001 -- the vocabulary has dashes of two kinds
"""Requirements of CSIP, E-ARK SIP and CITS SIARD as values, and the vocabularies of CSIP; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, unique
from functools import cached_property


@unique
class Standard(Enum):
    """The standards whose requirements are known, by the name that people use."""

    CSIP = "CSIP 2.2.0"
    SIP = "E-ARK SIP 2.2.0"
    SIARD = "CITS SIARD 1.0"


@unique
class Need(Enum):
    """The strength of a requirement (RFC 2119)."""

    MUST = "MUST"
    MUST_NOT = "MUST NOT"
    SHOULD = "SHOULD"
    MAY = "MAY"


@unique
class State(Enum):
    """The state of a requirement: checked or not."""

    CHECKED = "checked"
    NOT_APPLICABLE = "not applicable"
    """It permits something, or says where something else is said: nothing can break it."""
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True)
class Requirement:
    """One requirement: its place (``where``, the XPath that the standard prints) and its demand.

    ``note`` is the reading that is checked where the standard leaves several, or why it is not checked.
    ``codes`` are the codes of findings that tell of it where these are not the requirement's own.
    """

    standard: Standard
    id: str
    need: Need
    where: str
    says: str
    state: State
    note: str = ""
    codes: tuple[str, ...] = ()
    is_literal: bool = False

    @cached_property
    def demand(self) -> Demand | None:
        """What each element at ``where`` needs, when that is all there is to the requirement."""
        return _demand(self.where) if self.is_literal else None


@dataclass(frozen=True, slots=True)
class Demand:
    """An attribute that each element at a place needs; ``value`` is None where any will do."""

    place: str
    attribute: str
    value: str | None


_PRESENT = re.compile(r"(.*)/@([\w:]+)")
_VALUED = re.compile(r"(.*)\[@([\w:]+)='([^']*)'\]")


def _demand(where: str) -> Demand:
    if found := _PRESENT.fullmatch(where):
        return Demand(found[1], found[2], None)
    found = _VALUED.fullmatch(where)
    if found is None:
        raise ValueError(f"{where} asks for no attribute")
    return Demand(found[1], found[2], found[3])


class RequirementTable:
    """The requirements of one standard, in its order."""

    def __init__(self, standard: Standard) -> None:
        self.standard = standard
        self.rows: list[Requirement] = []

    def has(self, id_: str, where: str, says: str, need: Need = Need.MUST, note: str = "") -> None:
        """Add one that is checked by its XPath alone: each such element has the attribute (or the value)."""
        added = Requirement(self.standard, id_, need, where, says, State.CHECKED, note, is_literal=True)
        self.rows.append(added)

    def seen(
        self, id_: str, where: str, says: str, need: Need = Need.MUST, note: str = "", *codes: str
    ) -> None:
        """Add one that is checked by code of its own, or by that of the ``codes``."""
        self.rows.append(Requirement(self.standard, id_, need, where, says, State.CHECKED, note, codes))

    def free(self, id_: str, where: str, says: str, need: Need = Need.MAY, note: str = "") -> None:
        """Add one that nothing can break."""
        self.rows.append(Requirement(self.standard, id_, need, where, says, State.NOT_APPLICABLE, note))

    def left(self, id_: str, where: str, says: str, why: str, need: Need = Need.SHOULD) -> None:
        """Add one that cannot be checked, and why."""
        self.rows.append(Requirement(self.standard, id_, need, where, says, State.NOT_CHECKABLE, why))


CONTENT_CATEGORIES = frozenset(
    (
        "Textual works – Print",
        "Textual works – Digital",
        "Textual works – Electronic Serials",
        "Digital Musical Composition (score-based representations)",
        "Musical Scores - Print",
        "Musical Scores - Digital",
        "Photographs – Print",
        "Photographs – Digital",
        "Other Graphic Images – Print",
        "Other Graphic Images – Digital",
        "Microforms",
        "Audio – On Tangible Medium (digital or analog)",
        "Audio – Media-independent (digital)",
        "Motion Pictures – Digital and Physical Media",
        "Video – File-based and Physical Media",
        "Software",
        "Software and Video Games",
        "Email",
        "Datasets",
        "Geospatial Data",
        "Geographic Information System (GIS) - Vector Data",
        "GIS Raster and Georeferenced Images",
        "GIS Vector and Raster Combined",
        "Non-GIS Cartographic",
        "2D and 3D Computer Aided Design",
        "Design (schematics, architectural drawings) - Print",
        "Scanned 3D Objects (output from photogrammetry scanning)",
        "Databases",
        "Websites",
        "Web Archives",
        "Collection",
        "Event",
        "Image",
        "Interactive resource",
        "Moving image",
        "Sound",
        "Still image",
        "Text",
        "Physical object",
        "Service",
        "Mixed",
        "Other",
    )
)

STATUS = frozenset(("CURRENT", "SUPERSEDED"))
