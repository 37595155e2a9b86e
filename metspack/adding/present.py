"""What a package that is there says of itself, as far as what is added to it has to say the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from metspack import reading, safexml
from metspack.building import BuildOptions
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.identity import CsipOptions
from metspack.layouts import siard22
from metspack.mets import reader, tops
from metspack.mets.dialects import csip, csip_terms, recommendation
from metspack.mets.dialects.csip_links import LINK_LABELS
from metspack.mets.dialects.csip_terms import Agents, folder_name
from metspack.mets.dialects.recommendation import HREF_STYLES

_MADE_BY = "metspack"
_RODA = "RODA structural map"
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
class _Said:
    """What the parent's METS says; ``child`` is the first reference to the METS of a child."""

    root: dict[str, str] = field(default_factory=dict)
    header: dict[str, str] = field(default_factory=dict)
    agents: list[_Agent] = field(default_factory=list)
    checksum: str = ""
    labels: set[str] = field(default_factory=set)
    href: str = ""
    child: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A package that metspack made: its folder, its parent's folder in it ("" when it is that), its dialect.

    ``archives`` are the paths of its SIARD archives.
    """

    root: Path
    folder: str
    dialect: str
    objid: str
    archives: tuple[str, ...]
    said: _Said

    def options(self, options: BuildOptions, representation: str | None) -> BuildOptions:
        """Return the options with which something more is built for the package.

        ``representation`` is the name of the new one in the dialect csip, None for the next number.
        Raises ``ConfigError`` for one that is there, or where there are none.
        """
        said = self.said
        shared = replace(options, objid=self.objid, dialect=self.dialect, checksum=said.checksum)
        if self.dialect == recommendation.NAME:
            if representation is not None:
                raise ConfigError(
                    "a package of the recommendation's dialect has no representations",
                    hint="Leave --representation out.",
                )
            return replace(
                shared,
                layout=options.layout or self._layout(),
                agents=tuple(each.name for each in said.agents if each.is_organisation),
                mets_profile=said.root.get("PROFILE"),
                href_style=HREF_STYLES[said.href.startswith("file:")],
            )
        agents = self._agents()
        return replace(
            shared,
            agents=agents.packagers,
            mets_profile=self._profile()[1],
            csip=CsipOptions(
                profile=self._profile()[0],
                package_type=said.header.get("csip:OAISPACKAGETYPE", csip_terms.PACKAGE_TYPES[0]),
                content_type=said.root.get("csip:CONTENTINFORMATIONTYPE", csip_terms.CITS_SIARD),
                link_style=self._link_style(),
                representation=self._representation(representation),
                agents=agents,
                schemas=self.root / self.folder / "schemas",
                roda_ancestors=self._has_ancestors(),
            ),
        )

    def _layout(self) -> str | None:
        """Return the layout of the segments that are there, None where that cannot be told."""
        folder = self.said.child.rpartition("/")[0]
        return siard22.LAYOUT.name if siard22.parsed_folder(folder) is not None else None

    def _profile(self) -> tuple[str, str | None]:
        profile = self.said.root.get("PROFILE", "")
        known = csip_terms.profile_of(profile)
        return (csip_terms.PROFILES[0], profile) if known is None else (known, None)

    def _agents(self) -> Agents:
        named = {each.role: each for each in self.said.agents if each.is_organisation}
        nobody = _Agent({})
        creator, submitter = named.get("ARCHIVIST", nobody), named.get("CREATOR", nobody)
        return Agents(
            submitter=submitter.name,
            submitter_code=submitter.note,
            archival_creator=creator.name,
            archival_creator_code=creator.note,
            preservation=named.get("PRESERVATION", nobody).name,
            packagers=tuple(each.name for each in self.said.agents if each.role == "PACKAGER"),
        )

    def _link_style(self) -> str:
        found = (style for style, label in LINK_LABELS.items() if label(self._type) in self.said.labels)
        return next(found, csip_terms.LINK_STYLES[0])

    @property
    def _type(self) -> str:
        return self.said.header.get("csip:OAISPACKAGETYPE", "")

    def _representation(self, wanted: str | None) -> str:
        taken = {each.name.casefold() for each in (self.root / self.folder / "representations").iterdir()}
        if wanted is None:
            return next(name for n in range(1, len(taken) + 2) if (name := f"rep{n}") not in taken)
        if wanted.casefold() in taken:
            raise ConfigError(
                f"the package has a representation {wanted} already",
                hint="Choose another with --representation, or leave it out to have the next number.",
            )
        return wanted

    def _has_ancestors(self) -> bool:
        child = self.said.child.removeprefix("../").replace("%2B", "+")
        if not child:
            return False
        with reading.opening(self.root, child.split("/")) as descriptor:
            facts = reader.read(reading.chunks(descriptor, size=reading.SMALL))
            return any(isinstance(each, reader.Mptr) and each.structmap_label == _RODA for each in facts)


def present(root: Path) -> Present:
    """Return the package in a folder.

    Raises ``SourceError`` when there is none, when another tool made it, when its IPs are packed and when it
    has no archive.
    """
    if not root.is_dir():
        raise SourceError(
            f"{root} is no folder", hint=f"Name the folder that metspack build made. {_UNPACKED}"
        )
    if packed := sorted(name for name in os.listdir(root) if _PACKED.fullmatch(name)):
        raise TargetError(f"{root} holds packed IPs: {packed[0]}", hint=_UNPACKED)
    if (root / recommendation.METS).is_file():
        folder, name, dialect = "", recommendation.METS, recommendation.NAME
    elif (found := tops.top(root)) is not None:
        (folder, name), dialect = found, csip.NAME
    else:
        raise SourceError(f"{root} holds no package", hint=f"Nothing could be added to it; {_BUILD}")
    said = _said(root, (*((folder,) if folder else ()), name))
    objid = said.root.get("OBJID", "")
    made_by = [each.name for each in said.agents if each.role == "CREATOR" and not each.is_organisation]
    if made_by != [_MADE_BY] or (folder and folder != folder_name(objid)):
        by = (
            f"was made by {made_by[0]}"
            if made_by and made_by[0] != _MADE_BY
            else "is not as metspack made it"
        )
        raise SourceError(f"{root / folder / name} {by}", hint=f"Nothing is added to such packages; {_BUILD}")
    archives = tuple(_archives(root, folder))
    if not archives:
        raise SourceError(
            f"{root} holds no SIARD archive in one file, beside which another could lie",
            hint=f"Nothing is added to such packages; {_BUILD}",
        )
    return Present(root=root, folder=folder, dialect=dialect, objid=objid, archives=archives, said=said)


def _archives(root: Path, folder: str) -> Iterator[str]:
    where = "representations/*/data/*" if folder else "*"
    for path in sorted((root / folder).glob(where)):
        if path.suffix.lower() == ".siard" and path.is_file():
            yield str(path.relative_to(root))


class _Reader:
    """Expat handlers that gather what a METS says."""

    def __init__(self) -> None:
        self.said = _Said()
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
        if href.lower().endswith("/mets.xml") and not href.startswith("representations/"):
            self.said.child = self.said.child or href


def _said(root: Path, names: tuple[str, ...]) -> _Said:
    handlers, parser = _Reader(), safexml.expat_parser()
    parser.StartElementHandler = handlers.start
    parser.CharacterDataHandler = handlers.text
    parser.EndElementHandler = handlers.end
    with reading.opening(root, names) as descriptor:
        safexml.fed(parser, reading.chunks(descriptor, size=reading.SMALL))
    return handlers.said
