"""Facts of an existing package that what is added has to repeat: dialect, name, OBJID, agents, digests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from metspack.building.build import BuildOptions
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import reading
from metspack.layouts.names import is_archive
from metspack.mets import REPRESENTATIONS_FOLDER, dialects, is_mets_name, reader
from metspack.mets.dialects.interface import Dialect, ExistingPackage
from metspack.mets.links import By, Mptr

_MADE_BY = "metspack"
_PACKED = re.compile(r".*\.(?:zip|tar)", re.IGNORECASE | re.DOTALL)
_UNPACKED = "Only packages in folders can be added to: take the IPs out of their zip or tar files."
_BUILD = "metspack build makes a package of the archive by itself."


@dataclass(slots=True)
class _ParentHeader:
    """Root, header, agents and structMap labels of the parent's METS, its checksum algorithm and first hrefs.

    ``child`` is the first reference to the METS of a child, ``href`` the first to any file; ``child_objid``
    is what the first mptr to a child names by its OBJID.
    """

    root: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, str] = field(default_factory=dict)
    agents: list[reader.Agent] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    checksum: str = ""
    href: str = ""
    child: str = ""
    child_objid: str = ""

    def add_file(self, checksum: str, href: str) -> None:
        """Keep the checksum algorithm and the href of a file entry, unless an earlier entry gave them."""
        self.checksum = self.checksum or checksum
        self.href = self.href or href
        if "/" in href and is_mets_name(href) and not href.startswith(f"{REPRESENTATIONS_FOLDER}/"):
            self.child = self.child or href


@dataclass(frozen=True, slots=True, kw_only=True)
class MetspackPackage(ExistingPackage):
    """A package that metspack made, with its dialect and the paths of its SIARD archives."""

    dialect: str
    checksum: str
    archives: tuple[str, ...]

    def options(self, options: BuildOptions, representation: str | None) -> BuildOptions:
        """Return the options with which a further archive is built for the package.

        ``representation`` is the name of the new one, None for the next number. Raises ``ConfigError`` for
        one that exists already, or for a dialect without representations.
        """
        given = {} if representation is None else {"representation": representation}
        if not given.keys() <= dialects.facts(self.dialect).options.keys():
            raise ConfigError(
                f"a package of the dialect {self.dialect} has no representations",
                hint="Leave --representation out.",
            )
        inherited = dialects.named(self.dialect).inherited(self, given)
        return replace(
            options,
            objid=self.objid,
            dialect=self.dialect,
            checksum=self.checksum,
            layout=options.layout or inherited.layout,
            agents=inherited.agents,
            mets_profile=inherited.mets_profile,
            href_style=inherited.href_style,
            dialect_options=inherited.options,
        )


def read_package(root: Path) -> MetspackPackage:
    """Return the package in a folder.

    Raises ``SourceError`` when there is none, when another tool made it and when it has no SIARD archive;
    ``TargetError`` when its IPs are packed.
    """
    if not root.is_dir():
        raise SourceError(
            f"{root} is not a folder", hint=f"Name the folder that metspack build made. {_UNPACKED}"
        )
    if packed := sorted(name for name in os.listdir(root) if _PACKED.fullmatch(name)):
        raise TargetError(f"{root} holds packed IPs: {packed[0]}", hint=_UNPACKED)
    dialect, folder, name = _found(root)
    kind = dialects.named(dialect)
    said = _said(root, (*((folder,) if folder else ()), name))
    objid = said.root.get("OBJID", "")
    made_by = [each.name for each in said.agents if each.role == "CREATOR" and not each.is_organisation]
    if made_by != [_MADE_BY] or folder != kind.parent_folder(objid):
        by = (
            f"was made by {made_by[0]}"
            if made_by and made_by[0] != _MADE_BY
            else "is not as metspack made it"
        )
        raise SourceError(f"{root / folder / name} {by}", hint=f"Nothing is added to such packages; {_BUILD}")
    archives = tuple(_archives(root, folder, kind))
    if not archives:
        raise SourceError(
            f"{root} holds no SIARD archive in one file, to which another could be added",
            hint=f"Nothing is added to such packages; {_BUILD}",
        )
    return MetspackPackage(
        root=root,
        folder=folder,
        objid=objid,
        said=said,
        dialect=dialect,
        checksum=said.checksum,
        archives=archives,
    )


def _found(root: Path) -> tuple[str, str, str]:
    """Return the dialect of the package in a folder, and folder and name of its parent's METS."""
    for dialect in dialects.DIALECTS:
        if (found := dialects.named(dialect).find(root)) is not None:
            return (dialect, *found)
    raise SourceError(f"{root} does not hold a package", hint=f"Nothing could be added to it; {_BUILD}")


def _archives(root: Path, folder: str, kind: type[Dialect]) -> Iterator[str]:
    for path in sorted((root / folder).glob(kind.archives)):
        if is_archive(path.name) and path.is_file():
            yield str(path.relative_to(root))


def _said(root: Path, names: tuple[str, ...]) -> _ParentHeader:
    """Return what the METS of a parent says of itself; raises ``XmlError``."""
    said = _ParentHeader()
    with reading.opening(root, names) as descriptor:
        for fact in reader.read(reading.chunks(descriptor, size=reading.BLOCK)):
            if isinstance(fact, reader.Root):
                said.root = fact.attributes
            elif isinstance(fact, reader.MetsHeader):
                said.header = fact.attributes
            elif isinstance(fact, reader.Agent):
                said.agents.append(fact)
            elif isinstance(fact, reader.StructMap):
                said.labels.add(fact.label or "")
            elif isinstance(fact, reader.File) and fact.element == "file":
                said.add_file(fact.checksum_type or "", fact.href or "")
            elif isinstance(fact, Mptr) and fact.is_childward and fact.named_by is not By.LOCATION:
                said.child_objid = said.child_objid or fact.href or ""
    return said
