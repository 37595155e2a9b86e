"""What a package is called and what describes it, be it built or described in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from metspack import identifiers
from metspack.mets.dialects import recommendation
from metspack.mets.dialects.interface import Dialect, Software
from metspack.mets.dialects.recommendation import Recommendation
from metspack.model import Budgets
from metspack.siard import markup
from metspack.siard.archive import Archive, Grants


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOptions:
    """How a package is named, described and proven. ``created`` is the one clock value, as xs:dateTime.

    ``accepted`` is of ``copying.ACCEPTABLE``; ``verify`` reads every byte once more at the end.
    """

    created: str
    software: Software
    name: str | None = None
    objid: str | None = None
    grants: Grants = field(default_factory=Grants)
    accepted: frozenset[str] = frozenset()
    checksum: str = "MD5"
    agents: tuple[str, ...] = ()
    mets_profile: str = recommendation.PROFILE
    href_style: str = "relative"
    verify: bool = False
    check_message_digest: bool = True
    budgets: Budgets = field(default_factory=Budgets)


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


def dialect(options: PackageOptions, archive: Archive | None) -> Dialect:
    """Return the dialect that describes the package of an archive, or of LOBs that belong to none.

    Raises ``ConfigError`` for what it cannot say: now, not after an hour of copying.
    """
    chosen = Recommendation(
        version=None if archive is None else archive.metadata.version,
        created=options.created,
        checksum_type=options.checksum,
        software=options.software,
        agents=options.agents,
        profile=options.mets_profile,
        href_style=options.href_style,
    )
    chosen.check()
    return chosen
