"""Results of a check: of each package, of all, and the catalogue that an observer reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metspack.checking.catalogue import Catalogue
from metspack.checking.links.graph import Graph, graph
from metspack.checking.options import LedgerFigures, Sampled
from metspack.checking.tree import CheckedTree
from metspack.layouts.names import ArchiveRoutes
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.rooted import NO_PACKAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageResult:
    """The result of one package: its path as given, OBJID and kind, and its findings' numbers.

    ``is_complete`` is False when its check was interrupted or never begun. ``makers`` (the creators) and
    ``made`` (the date) are from its METS.
    """

    path: str
    objid: str
    kind: str
    errors: int
    warnings: int
    infos: int
    is_complete: bool = True
    makers: tuple[str, ...] = ()
    made: str = ""

    @property
    def is_package(self) -> bool:
        """Return whether it is a package, as opposed to an empty folder or a package's source."""
        return self.kind != NO_PACKAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSummary:
    """The counts of a check: METS documents, listed files, links, hashed bytes, findings.

    ``sampled`` counts the files hashed of a sample, None for all; ``routes`` lead to LOBs outside;
    ``results`` are those of each package, in the order of paths; a finding about several counts for each.
    ``beside`` counts the errors outside all packages, such as an expected package that is missing; ``apart``
    are the paths of all findings outside packages. ``ledger`` has the figures of a check with a ledger.
    """

    packages: int
    files: int
    links: int
    bytes: int
    errors: int
    warnings: int
    infos: int
    sampled: Sampled | None = None
    routes: tuple[ArchiveRoutes, ...] = ()
    results: tuple[PackageResult, ...] = ()
    beside: int = 0
    apart: frozenset[str] = frozenset()
    ledger: LedgerFigures | None = None

    @property
    def unopened(self) -> tuple[str, ...]:
        """Return the archives of SIARD 1.0 with LOBs outside, which SIARD 1.0 does not define."""
        return tuple(each.path for each in self.routes if each.version == "1.0")

    @property
    def findings(self) -> int:
        """Return the number of all findings."""
        return self.errors + self.warnings + self.infos


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A package whose check has ended: its catalogue (open for as long), and its file tree.

    ``is_complete`` is False when the check was interrupted. With ``is_one`` it is the only package;
    otherwise the paths of its findings begin with its path.
    """

    package: DeliveredPackage
    catalogue: Catalogue
    places: CheckedTree
    is_complete: bool
    is_one: bool = True

    @property
    def prefix(self) -> str:
        """Return the beginning of the paths of its findings, without the last ``/``."""
        return "" if self.is_one else self.package.shown

    @property
    def links(self) -> Graph:
        """Return its links, with paths in the package; built from the catalogue at every call."""
        return graph(self.catalogue, self.package.shown)

    @property
    def links_as_given(self) -> Graph:
        """Return its links with the paths that its findings have."""
        return self.links if self.is_one else self.links.renamed(self.as_given)

    def as_given(self, path: str) -> str:
        """Return a path of the package in the form of the findings."""
        if self.is_one or not path:
            return path
        given, path = self.places.as_given(path) or (self.prefix, path)
        return f"{given}/{path}"


Observer = Callable[[Checked], None]
"""Reads the catalogue of a package once its check has ended, for further figures."""
