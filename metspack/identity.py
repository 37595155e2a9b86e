"""What a package is called and what describes it, be it built or described in place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from metspack import descriptive, identification, identifiers
from metspack.errors import ConfigError
from metspack.identification import Registry
from metspack.layouts import Layout, lobseg, siard22
from metspack.mets.dialects import csip, csip_terms, recommendation
from metspack.mets.dialects.csip import Csip
from metspack.mets.dialects.csip_terms import Agents, Terms
from metspack.mets.dialects.interface import Dialect, Software
from metspack.mets.dialects.recommendation import Recommendation
from metspack.model import Budgets
from metspack.siard import markup
from metspack.siard.archive import Archive, Grants
from metspack.siard.metadata import Metadata
from metspack.version import __version__

DIALECTS = (recommendation.NAME, csip.NAME)
"""The dialects by name; the first is the one to take when nothing else is asked for."""

CHECKSUMS = {recommendation.NAME: "MD5", csip.NAME: "SHA-256"}
"""The algorithm of a dialect's METS when nothing else is asked for."""

SOFTWARE = Software(name="metspack", version=f"metspack {__version__}")
"""The agent that every package names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsipOptions:
    """What the CSIP dialect is to say: see ``csip_terms`` for the terms, and ``Csip`` for the paths."""

    profile: str = csip_terms.PROFILES[0]
    package_type: str = csip_terms.PACKAGE_TYPES[0]
    content_type: str = csip_terms.CITS_SIARD
    link_style: str = csip_terms.LINK_STYLES[0]
    representation: str = csip_terms.REPRESENTATION
    agents: Agents = field(default_factory=Agents)
    descriptive: Path | None = None
    documentation: Path | None = None
    schemas: Path | None = None
    roda_ancestors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOptions:
    """How a package is named, described and proven.

    ``created`` is the only time written, as xs:dateTime (2026-05-01T12:00:00Z); the functions of the public
    API take SOURCE_DATE_EPOCH or the clock when it is empty. ``grants`` are the folders that LOBs may lie in
    beside that of the archive. ``accepted`` is of ``copying.ACCEPTABLE``; ``identify`` tells formats of LOBs
    by their bytes; ``verify`` reads every byte once more at the end. ``dialect`` is of ``DIALECTS``;
    ``checksum``, ``mets_profile`` and the rest of ``csip`` are as the dialect has them when None.
    """

    created: str = ""
    software: Software = SOFTWARE
    name: str | None = None
    objid: str | None = None
    grants: Grants = field(default_factory=Grants)
    accepted: frozenset[str] = frozenset()
    checksum: str | None = None
    agents: tuple[str, ...] = ()
    mets_profile: str | None = None
    href_style: str = "relative"
    dialect: str = recommendation.NAME
    csip: CsipOptions = field(default_factory=CsipOptions)
    identify: bool = False
    verify: bool = False
    check_message_digest: bool = True
    budgets: Budgets = field(default_factory=Budgets)

    @property
    def algorithm(self) -> str:
        """The algorithm of the digests in METS: that of ``checksum``, or the dialect's."""
        return self.checksum or CHECKSUMS[self.dialect]


def name(options: PackageOptions, stem: str, planned: str | None = None) -> str:
    """Return the package's name: that of its plan or the given one, else one made from the source's stem.

    Raises ``ConfigError`` for one that cannot be, or that is not the plan's.
    """
    chosen = None if options.name is None else identifiers.given_name(options.name)
    if planned is None:
        return chosen or identifiers.package_name(stem)
    if chosen is not None and chosen != planned:
        raise ConfigError(
            f"the plan names the package {planned}, --name says {chosen}",
            hint="Leave --name out, or plan again with it.",
        )
    return identifiers.given_name(planned)


def objid(options: PackageOptions, name: str, archive: Archive | None) -> str:
    """Return the parent's OBJID: the given one, else that of name and metadata; "" without an archive.

    Raises ``ConfigError`` for one that cannot be.
    """
    if options.objid is not None:
        return identifiers.given_objid(options.objid)
    if archive is None:
        return ""
    document = markup.document(archive.metadata_document, depth=archive.budgets.depth)
    return identifiers.package_objid(name, document)


def layout(dialect: str, given: Layout | None, archive: Archive | None) -> Layout:
    """Return the layout of a source's segments: the given one, or else what dialect and SIARD version ask."""
    if given is not None:
        return given
    return siard22.LAYOUT if is_for_siard22(dialect, archive) else lobseg.LAYOUT


def is_for_siard22(dialect: str, archive: Archive | None) -> bool:
    """Return whether a package should have the layout of SIARD 2.2 (CITS SIARD, SIARD_22b)."""
    return dialect == csip.NAME and archive is not None and archive.metadata.version == "2.2"


def dialect(options: PackageOptions, name: str, objid: str, archive: Archive | None) -> Dialect:
    """Return the dialect that describes the package of an archive, or of LOBs that belong to none.

    ``objid`` is the parent's, "" while it is not known. Raises ``ConfigError`` for what the dialect cannot
    say: now, not after an hour of copying.
    """
    metadata = None if archive is None else archive.metadata
    chosen: Dialect
    if options.dialect == csip.NAME:
        _check_hrefs(options.href_style)
        chosen = _csip(options, name, metadata)
    else:
        chosen = Recommendation(
            version=None if metadata is None else metadata.version,
            created=options.created,
            checksum_type=options.algorithm,
            software=options.software,
            agents=options.agents,
            profile=recommendation.PROFILE if options.mets_profile is None else options.mets_profile,
            href_style=options.href_style,
            registry=_registry(options),
        )
    chosen.check(objid)
    return chosen


def _registry(options: PackageOptions) -> Registry | None:
    return identification.registry() if options.identify else None


def _check_hrefs(style: str) -> None:
    if style != recommendation.HREF_STYLES[0]:
        raise ConfigError(
            f"the dialect {csip.NAME} does not know the hrefs {style} (CSIP76: relative locations)",
            hint="Leave --href out.",
        )


def _csip(options: PackageOptions, name: str, metadata: Metadata | None) -> Csip:
    wanted = options.csip
    return Csip(
        terms=Terms(
            version=None if metadata is None else metadata.version,
            profile=wanted.profile,
            package_type=wanted.package_type,
            content_type=wanted.content_type,
            link_style=wanted.link_style,
            representation=wanted.representation,
            mets_profile=options.mets_profile,
        ),
        agents=replace(wanted.agents, packagers=options.agents),
        description=descriptive.description(name, metadata),
        created=options.created,
        checksum_type=options.algorithm,
        software=options.software,
        registry=_registry(options),
        descriptive=None if wanted.descriptive is None else descriptive.given(wanted.descriptive),
        documentation=wanted.documentation,
        schemas=wanted.schemas,
        roda_ancestors=wanted.roda_ancestors,
    )
