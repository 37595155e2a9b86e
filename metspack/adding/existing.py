"""Facts of an existing package that additions have to repeat: dialect, OBJID, digests, agents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from metspack import safexml
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import reading
from metspack.mets import dialects, is_mets_name
from metspack.mets.dialects.interface import Dialect, ExistingPackage

_MADE_BY = "metspack"
_PACKED = re.compile(r".*\.(?:zip|tar)", re.IGNORECASE | re.DOTALL)
_UNPACKED = "Only packages in folders can be added to: take the IPs out of their zip or tar files."
_BUILD = "metspack build makes a package of the archive by itself."


@dataclass(slots=True)
class _Agent:
    """An agent of a METS header."""

    attributes: dict[str, str]
    name: str = ""
    note: str = ""

    @property
    def is_organisation(self) -> bool:
        return self.attributes.get("TYPE") == "ORGANIZATION"

    @property
    def role(self) -> str:
        return self.attributes.get("OTHERROLE") or self.attributes.get("ROLE", "")


@dataclass(slots=True)
class _ParentHeader:
    """Header, agents and references of the parent's METS; ``child`` is the first to the METS of a child."""

    root: dict[str, str] = field(default_factory=dict)
    header: dict[str, str] = field(default_factory=dict)
    agents: list[_Agent] = field(default_factory=list)
    checksum: str = ""
    labels: set[str] = field(default_factory=set)
    href: str = ""
    child: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetspackPackage(ExistingPackage):
    """A package that metspack made, with its dialect and the paths of its SIARD archives."""

    dialect: str
    checksum: str
    archives: tuple[str, ...]

    def options(self, options: BuildOptions, representation: str | None) -> BuildOptions:
        """Return the options for building an addition to the package.

        ``representation`` is the name of the new one, None for the next number. Raises ``ConfigError`` for
        one that exists already, and for dialects without representations.
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

    Raises ``SourceError`` when there is none, when another tool made it, when its IPs are packed and when it
    has no archive.
    """
    if not root.is_dir():
        raise SourceError(
            f"{root} is not a folder", hint=f"Name the folder that metspack build made. {_UNPACKED}"
        )
    if packed := sorted(name for name in os.listdir(root) if _PACKED.fullmatch(name)):
        raise TargetError(f"{root} holds packed IPs: {packed[0]}", hint=_UNPACKED)
    dialect, folder, name = _found(root)
    kind = dialects.named(dialect)
    said = _read_header(root, (*((folder,) if folder else ()), name))
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
        if path.suffix.lower() == ".siard" and path.is_file():
            yield str(path.relative_to(root))


class _HeaderReader:
    """Expat handlers that gather the facts of a METS header."""

    def __init__(self) -> None:
        self.said = _ParentHeader()
        self._open: list[str] = []
        self._starts = {
            "mets:metsHdr": self._header,
            "mets:agent": self._agent,
            "mets:structMap": self._map,
            "mets:file": self._file,
            "mets:FLocat": self._location,
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        if len(self._open) == 1:
            self.said.root = attributes if name == "mets:mets" else {}
        elif (handle := self._starts.get(name)) is not None:
            handle(attributes)

    def text(self, content: str) -> None:
        if self._open[-1] == "mets:name":
            self.said.agents[-1].name += content
        elif self._open[-1] == "mets:note":
            self.said.agents[-1].note += content

    def end(self, _name: str) -> None:
        self._open.pop()

    def _header(self, attributes: dict[str, str]) -> None:
        self.said.header = attributes

    def _agent(self, attributes: dict[str, str]) -> None:
        self.said.agents.append(_Agent(attributes))

    def _map(self, attributes: dict[str, str]) -> None:
        self.said.labels.add(attributes.get("LABEL", ""))

    def _file(self, attributes: dict[str, str]) -> None:
        self.said.checksum = self.said.checksum or attributes.get("CHECKSUMTYPE", "")

    def _location(self, attributes: dict[str, str]) -> None:
        href = attributes.get("xlink:href", "")
        self.said.href = self.said.href or href
        if "/" in href and is_mets_name(href) and not href.startswith("representations/"):
            self.said.child = self.said.child or href


def _read_header(root: Path, names: tuple[str, ...]) -> _ParentHeader:
    handlers, parser = _HeaderReader(), safexml.expat_parser()
    parser.StartElementHandler = handlers.start
    parser.CharacterDataHandler = handlers.text
    parser.EndElementHandler = handlers.end
    with reading.opening(root, names) as descriptor:
        safexml.feed(parser, reading.chunks(descriptor, size=reading.BLOCK))
    return handlers.said
