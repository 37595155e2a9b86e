# ruff: noqa: RUF001 -- the vocabulary has dashes of two kinds
"""Requirements of CSIP, SIP and CITS SIARD as values, versions and vocabularies; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum, unique
from functools import partialmethod
from typing import Any


@unique
class Standard(Enum):
    """The standards whose requirements are checked, by their usual names."""

    CSIP = "CSIP 2.2.0"
    SIP = "E-ARK SIP 2.2.0"
    SIARD = "CITS SIARD 1.0"


@unique
class Version(Enum):
    """The versions of CSIP and E-ARK SIP that differ, the oldest first; CITS SIARD has one."""

    V2_0_4 = "2.0.4"
    V2_1_0 = "2.1.0"
    V2_2_0 = "2.2.0"
    V2_3_0 = "2.3.0"
    """That of SIP alone, which belongs to CSIP 2.2.0."""

    @property
    def number(self) -> tuple[int, ...]:
        """Return its number, to be compared."""
        return tuple(map(int, self.value.split(".")))


NEWEST = Version.V2_2_0
"""The version for a METS that declares a newer version, or no version."""


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
    """A permission, or a reference to another text, which no package can break."""
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True, slots=True)
class Demand:
    """An attribute that each element at a place needs; ``id`` is that of the requirement.

    It has one of the ``values``, or any value if these are empty.
    """

    id: str
    place: str
    attribute: str
    values: Collection[str]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement: its place (``where``, the XPath that the standard prints) and its demand.

    ``note`` is the checked reading of an ambiguous text, or the reason why it is not checked.
    ``codes`` are those of findings that report a broken requirement under another code. ``demand`` is the
    attribute that each element at ``where`` needs, if that is all.
    """

    standard: Standard
    id: str
    need: Need
    where: str
    says: str
    state: State
    note: str = ""
    codes: tuple[str, ...] = ()
    demand: Demand | None = None


_OF_FILES = {
    "xlink:href": ("F001", "F014"),
    "SIZE": ("F002", "F009", "F012", "F015"),
    "CHECKSUM": ("F003", "F008", "F011"),
    "CHECKSUMTYPE": ("F007",),
}
_ALSO_REPORTED: dict[str, dict[str, tuple[str, ...]]] = {
    "mdRef": _OF_FILES | {"MIMETYPE": ("M040",), "MDTYPE": ("M041",)},
    "file": _OF_FILES | {"ID": ("M004",)},
    "structMap[@LABEL='CSIP']": {"ID": ("M004",)},
    "FLocat": _OF_FILES,
    "mptr": {"xlink:href": ("L002",)},
    **{each: {"ID": ("M004",)} for each in ("dmdSec", "digiprovMD", "rightsMD", "fileSec", "fileGrp")},
}
"""The codes of findings on a file that differs from an attribute, or on a bad attribute."""


class RequirementTable:
    """The requirements of one version of a standard, in its order.

    ``must``, ``must_not``, ``should`` and ``may`` add one that separate code checks, or that of ``codes``.
    ``ids`` are those of requirements whose numbers differ between versions, by what they are about.
    """

    def __init__(self, standard: Standard, version: Version = Version.V2_0_4) -> None:
        self.standard = standard
        self.version = version
        self.rows: dict[str, Requirement] = {}
        self.ids: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The standard's usual name with the version."""
        return self.standard.value.replace(NEWEST.value, self.version.value)

    def _add(  # noqa: PLR0917 -- a row of the table
        self, need: Need, state: State, id_: str, says: str, where: str = "", note: str = "", **more: Any
    ) -> None:
        self.rows[id_] = Requirement(self.standard, id_, need, where, says, state, note, **more)

    must = partialmethod(_add, Need.MUST, State.CHECKED)
    must_not = partialmethod(_add, Need.MUST_NOT, State.CHECKED)
    should = partialmethod(_add, Need.SHOULD, State.CHECKED)
    may = partialmethod(_add, Need.MAY, State.CHECKED)
    free = partialmethod(_add, Need.MAY, State.NOT_APPLICABLE)
    """Add one that no package can break."""
    left = partialmethod(_add, Need.SHOULD, State.NOT_CHECKABLE)
    """Add one that cannot be checked, and why; ``codes`` report an impossible value."""
    left_must = partialmethod(_add, Need.MUST, State.NOT_CHECKABLE)

    def has(self, id_: str, says: str, where: str, note: str = "") -> None:
        """Add one that its XPath checks: each such element has the attribute, or the value."""
        before, _, after = where.rpartition("@")
        attribute, _, value = after.rstrip("']").partition("='")
        demand = Demand(id_, before[:-1], attribute, (value,) if value else ())
        codes = _ALSO_REPORTED.get(demand.place.rpartition("/")[2], {}).get(attribute, ())
        self.must(id_, says, where, note, codes=codes, demand=demand)

    def refers(
        self, id_: str, standard: str, what: str, section: str, *, need: Need = Need.SHOULD, when: str = ""
    ) -> None:
        """Add one that refers to another standard, whose requirements check it."""
        note = f"Checked by the requirements of {standard} on {section}{when}."
        self._add(need, State.CHECKED, id_, f"The {what} meets {standard}", f"mets/{section}", note)

    def silent(self, standard: str) -> None:
        """Add the sections of METS that the standard leaves undefined."""
        for number, name in enumerate(("structLink", "behaviorSec"), 1):
            self.free(f"REF_METS_{number}", f"{standard} says nothing about {name}", f"mets/{name}")

    def next(self, version: Version) -> RequirementTable:
        """Return the table of the next version, to be changed where it differs."""
        made = RequirementTable(self.standard, version)
        made.rows |= self.rows
        made.ids |= self.ids
        return made

    def change(self, *ids: str, **changes: Any) -> None:
        """Give requirements other values, such as their strength ``need``."""
        for id_ in ids:
            self.rows[id_] = replace(self.rows[id_], **changes)

    def end(self, *ids: str) -> None:
        """Take out requirements that the version no longer has."""
        for id_ in ids:
            del self.rows[id_]


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

RECORD_STATUS = frozenset(("NEW", "SUPPLEMENT", "REPLACEMENT", "TEST", "VERSION", "DELETE", "OTHER"))
"""The values that RECORDSTATUS may have in a SIP (SIP3)."""

RECORD_IDS = {
    "SUBMISSIONAGREEMENT": "SIP5",
    "PREVIOUSSUBMISSIONAGREEMENT": "SIP6",
    "REFERENCECODE": "SIP7",
    "PREVIOUSREFERENCECODE": "SIP8",
}
"""The TYPE of each altRecordID that E-ARK SIP defines, with its requirement."""

ONCE = frozenset(("SIP5", "SIP7"))
"""The requirements that allow one altRecordID (0..1); there may be several of the others."""

USES = frozenset(("Documentation", "Schemas", "Representations", "Metadata"))
"""The vocabulary of fileGrp/@USE and of the divisions of the structMap."""

_LONGEST = 100
_NEAR = 0.75


def quoted(value: str | None) -> str:
    """Return a value for messages: quoted, cut when long, ``none`` for an absent one."""
    if value is None:
        return "none"
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")


def none_but(attribute: str, wanted: str, seen: Iterable[str]) -> str:
    """Return ``none`` with the nearest of the values seen: ``none, but USE 'documentation'``."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only where something is wrong

    folded = {each.casefold(): each for each in seen if each}
    near = get_close_matches(wanted.casefold(), folded, 1, _NEAR)
    near = near or [each for each in folded if wanted.casefold() in re.split(r"\W+", each)]
    return f"none, but {attribute} {quoted(folded[near[0]])}" if near else "none"
