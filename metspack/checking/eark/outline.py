"""The outline of a METS document, for the requirements of E-ARK's standards."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field

KEPT = 10_000
"""The most groups, sections and divisions that are kept of a document."""

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
        """Return the first name of its USE: ``Documentation``, ``Schemas``, ``Representations``."""
        return self.use.partition("/")[0]

    @property
    def representation(self) -> str:
        """Return the folder of the representation that its USE names, or ""."""
        kind, _, below = self.use.partition("/")
        return below.partition("/")[0] if kind == REPRESENTATIONS else ""


TypedFile = tuple[str, str, str, int, str]
"""A file whose first bytes can be compared with its media type: requirement, href, type, line, ID."""


@dataclass(slots=True, kw_only=True)
class Outline:
    """The outline of a METS document: root attributes, file groups, and structMap's names.

    ``is_package`` is false for the METS of a representation. ``is_complete`` is false when there were
    more groups, sections or divisions than are kept; then an absent one is not reported.
    ``descriptive`` are the IDs of sections that are not superseded, ``administrative`` those of each
    amdSec with its own; ``divided`` the labels of divisions in the structMap of CSIP, with their lines,
    ``unpointed`` those of them without an mptr, with whether they have an ID; ``marked`` counts the files
    by the content that they state. ``outside`` are the IDs of groups whose files are outside the package;
    ``typed`` are metadata files, documentation and schemas with their media types; ``labels`` are the
    first labels of all divisions, and ``unlike`` those of top divisions that differ from the OBJID, with
    their lines. ``references`` are the section of each mdRef by its line and location; a line on which files
    or divisions begin too has an empty section besides. ``identified`` are the requirements on the IDs of
    divisions by line and ID.
    """

    is_package: bool = True
    root: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    groups: list[StatedFileGroup] = field(default_factory=list)
    has_files: bool = False
    descriptive: set[str] = field(default_factory=set)
    administrative: list[tuple[str, set[str]]] = field(default_factory=list)
    has_provenance: bool = False
    divided: dict[str, int] = field(default_factory=dict)
    unpointed: dict[str, bool] = field(default_factory=dict)
    marked: dict[str, int] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    typed: list[TypedFile] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    unlike: list[tuple[int, str]] = field(default_factory=list)
    references: dict[int, dict[str, str]] = field(default_factory=dict)
    identified: dict[tuple[int, str], str] = field(default_factory=dict)
    is_complete: bool = True

    def has_room(self, kept: Sized) -> bool:
        """Return whether one more may be kept beside ``kept``; if not, the outline is not complete."""
        if len(kept) >= KEPT:
            self.is_complete = False
        return len(kept) < KEPT

    @property
    def content(self) -> str:
        """Return its content information type."""
        return self.root.get("csip:CONTENTINFORMATIONTYPE", "")

    @property
    def other(self) -> str:
        """Return its other content information type, which CITS SIARD uses for the content."""
        return self.root.get("csip:OTHERCONTENTINFORMATIONTYPE", "")

    @property
    def representations(self) -> frozenset[str]:
        """Return the folders of the representations with a division."""
        return frozenset(label.split("/")[1] for label in self.divided if "/" in label)

    def group_of(self, representation: str) -> StatedFileGroup | None:
        """Return a representation's group, or the first of its folders' groups, or None."""
        groups = [each for each in self.groups if each.representation == representation]
        exact = (each for each in groups if each.use == f"{REPRESENTATIONS}/{representation}")
        return next(exact, groups[0] if groups else None)

    def of_kind(self, kind: str) -> list[StatedFileGroup]:
        """Return the groups of one kind."""
        return [each for each in self.groups if each.kind == kind]
