"""Options of packages, built or described in place: name, OBJID, dialect, digests, agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from metspack.containers.zipreader import ZipContainer
from metspack.digests import ReplacedDigest
from metspack.errors import ConfigError
from metspack.layouts import Layout
from metspack.mets import dialects, ids
from metspack.mets.dialects.interface import HREF_STYLES, Dialect, DialectOptions, PackageFacts, Software
from metspack.model import Budgets, Digest
from metspack.progress import Progress
from metspack.resources import __version__
from metspack.siard import metadata, offsets, upgrade
from metspack.sources import opening, pronom
from metspack.sources.archive import Archive, Grants
from metspack.sources.opening import Source, SourceFacts

SOFTWARE = Software(name="metspack", version=f"metspack {__version__}")
"""The agent that every package names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOptions:
    """Options of a package: its name, its description and its proofs.

    ``created`` is the only time written, as xs:dateTime (2026-05-01T12:00:00Z); the functions of the public
    API take SOURCE_DATE_EPOCH or the clock when it is empty. ``grants`` are the folders that LOBs may lie in
    beside that of the archive. ``accepted`` is of ``lobstream.ACCEPTABLE``; ``identify`` identifies formats
    of LOBs by their bytes; ``verify`` reads every byte once more at the end. ``require_message_digest``
    refuses an archive whose messageDigest is not found right. ``dialect`` is of
    ``dialects.DIALECTS``; ``checksum``, ``mets_profile`` and ``dialect_options``, those that it alone takes,
    are as it has them when None.
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
    href_style: str = HREF_STYLES[0]
    dialect: str = dialects.DEFAULT
    dialect_options: DialectOptions | None = None
    identify: bool = False
    verify: bool = False
    check_message_digest: bool = True
    require_message_digest: bool = False
    budgets: Budgets = field(default_factory=Budgets)

    @property
    def algorithm(self) -> str:
        """The algorithm of the digests in METS: that of ``checksum``, or the dialect's."""
        return self.checksum or dialects.facts(self.dialect).checksum


def name(options: PackageOptions, stem: str, planned: str | None = None) -> str:
    """Return the package's name: that of its plan or the given one, else one made from the source's stem.

    Raises ``ConfigError`` for one that cannot be, or that is not the plan's.
    """
    chosen = None if options.name is None else ids.given_name(options.name)
    if planned is None:
        return chosen or ids.package_name(stem)
    if chosen is not None and chosen != planned:
        raise ConfigError(
            f"the plan names the package {planned}, --name says {chosen}",
            hint="Leave --name out, or plan again with it.",
        )
    return ids.given_name(planned)


def objid(options: PackageOptions, name: str, archive: Archive | None, *, is_packed: bool = False) -> str:
    """Return the parent's OBJID: the given one, else that of name and metadata; "" without an archive.

    ``is_packed`` says that IPs are made zip or tar files, for which a dialect may have another default.
    Raises ``ConfigError`` for one that cannot be.
    """
    if options.objid is not None:
        return ids.given_objid(options.objid)
    if archive is None:
        return ""
    document = offsets.document(archive.metadata_document, depth=archive.budgets.depth)
    made = ids.package_objid(name, document)
    if not is_packed:
        return made
    return dialects.named(options.dialect).packed_objid(made, options.dialect_options)


def source_facts(options: PackageOptions, source: Source, progress: Progress) -> SourceFacts:
    """Return the facts of a source that becomes a package, its messageDigest compared as the options have it.

    Raises ``SourceError`` when it is required to be right and is not, ``ConfigError`` for options that
    contradict each other.
    """
    if options.require_message_digest and not options.check_message_digest:
        raise ConfigError(
            "--require-message-digest cannot be combined with --no-message-digest-check",
            hint="Leave one of the two out.",
        )
    facts = opening.source_facts(source, progress, compares=options.check_message_digest)
    if options.require_message_digest:
        facts.check(source.path)
    return facts


def history(
    archive: Archive | None, made_of: SourceFacts, written: ZipContainer, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the notes on what an archive was made of, ``written`` being what it has become.

    Notes that came with it stay, and name the messageDigest that it has now. ``names`` are new notes on its
    name.
    """
    before = () if archive is None else archive.history
    digests: tuple[Digest, ...] = ()
    if (before or made_of.digests) and (extent := written.extent(metadata.NAME)) is not None:
        digests = metadata.read(b"".join(written.contents(extent))).digests
    parsed = ((words, ReplacedDigest.parsed(words)) for words in before)
    known = (words if each is None else each.renewed(digests).words() for words, each in parsed)
    return (*known, *names, *(each.words() for each in made_of.replaced(digests)))


def written_version(archive: Archive | None, asked: str | None) -> str | None:
    """Return the version of SIARD that a package's archive is written in; None without an archive.

    ``asked`` is the version of an upgrade, None for the archive's own. Raises ``ConfigError`` for an upgrade
    that there is none of: 1.0 alone becomes another version, 2.2.
    """
    if archive is None:
        if asked is not None:
            raise ConfigError(
                "--siard-version requires a SIARD archive, and the source is not one",
                hint="Leave --siard-version out.",
            )
        return None
    found = archive.metadata.version
    if asked is None:
        return found
    if found != upgrade.SOURCE:
        raise ConfigError(
            f"--siard-version {asked} rewrites an archive of SIARD {upgrade.SOURCE}, and this one is of "
            f"SIARD {found}",
            hint="Leave --siard-version out: archives of later versions can have LOBs outside as they are.",
        )
    return asked


def layout(dialect: str, given: Layout | None, version: str | None) -> Layout:
    """Return the layout of segments: the given one, or else what dialect and version of SIARD ask for."""
    return given or dialects.named(dialect).layout(version)


def dialect(
    options: PackageOptions,
    name: str,
    objid: str,
    archive: Archive | None,
    version: str | None = None,
    *,
    trusted: str = "",
) -> Dialect:
    """Return the dialect that describes the package of an archive, or of LOBs that belong to none.

    ``objid`` is the parent's, "" while it is not known; ``version`` is that of SIARD in which the archive is
    written, None for its own; ``trusted`` is as in ``PackageFacts``. Raises ``ConfigError`` for what the
    dialect cannot say: now, not after an hour of copying.
    """
    package = PackageFacts(
        name=name,
        metadata=None
        if archive is None
        else replace(archive.metadata, version=version or archive.metadata.version),
        created=options.created,
        checksum_type=options.algorithm,
        software=options.software,
        agents=options.agents,
        mets_profile=options.mets_profile,
        href_style=options.href_style,
        registry=pronom.registry() if options.identify else None,
        trusted=trusted,
        options=options.dialect_options,
    )
    chosen = dialects.named(options.dialect).of(package)
    chosen.check(objid)
    return chosen
