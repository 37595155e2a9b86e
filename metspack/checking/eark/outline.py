"""The outline of a METS document: what its requirements need of it, little however large it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KEPT = 10_000
"""Groups, sections and divisions of which more is known than that they are there."""

DOCUMENTATION, SCHEMAS, REPRESENTATIONS = "Documentation", "Schemas", "Representations"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFileGroup:
    """A ``fileGrp`` at the top of the ``fileSec``."""

    id: str
    use: str
    content: str | None
    other: str | None
    line: int

    @property
    def kind(self) -> str:
        """The first name of its USE: ``Documentation``, ``Schemas``, ``Representations``."""
        return self.use.partition("/")[0]

    @property
    def representation(self) -> str:
        """The folder of the representation that it is of, empty when its USE names none."""
        kind, _, below = self.use.partition("/")
        return below.partition("/")[0] if kind == REPRESENTATIONS else ""


@dataclass(slots=True, kw_only=True)
class Outline:
    """A document's own attributes, its groups, and what its structMap names.

    ``is_complete`` is false when there were more groups, sections or divisions than are kept; then nothing
    is concluded from one that is not there. ``descriptive`` are the IDs of sections that are not superseded,
    ``administrative`` those of each amdSec with its own; ``divided`` the labels of divisions in the structMap
    of CSIP, with their lines; ``marked`` counts the files by what they say they hold.
    """

    root: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    header: Mapping[str, str] = field(default_factory=dict)
    groups: list[StatedFileGroup] = field(default_factory=list)
    has_files: bool = False
    descriptive: set[str] = field(default_factory=set)
    administrative: list[tuple[str, set[str]]] = field(default_factory=list)
    has_provenance: bool = False
    divided: dict[str, int] = field(default_factory=dict)
    marked: dict[str, int] = field(default_factory=dict)
    is_complete: bool = True

    @property
    def content(self) -> str:
        """Its content information type."""
        return self.root.get("csip:CONTENTINFORMATIONTYPE", "")

    @property
    def other(self) -> str:
        """What it holds, as CITS SIARD has it."""
        return self.root.get("csip:OTHERCONTENTINFORMATIONTYPE", "")

    @property
    def representations(self) -> frozenset[str]:
        """The folders of the representations that have a division of their own."""
        return frozenset(label.split("/")[1] for label in self.divided if "/" in label)

    def group_of(self, representation: str) -> StatedFileGroup | None:
        """Return the group of a representation itself, else the first of those of its folders."""
        groups = [each for each in self.groups if each.representation == representation]
        own = (each for each in groups if each.use == f"{REPRESENTATIONS}/{representation}")
        return next(own, groups[0] if groups else None)

    def of_kind(self, kind: str) -> list[StatedFileGroup]:
        """Return the groups of one kind."""
        return [each for each in self.groups if each.kind == kind]
