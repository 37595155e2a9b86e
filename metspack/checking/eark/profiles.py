"""The E-ARK standards that a METS document is checked against: claimed or chosen ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, unique

from metspack.checking.eark.requirements import NEWEST, Standard, Version
from metspack.mets import elements

_EARK = re.compile(r"https?://(\w+)\.dilcis\.eu/profile/.+", re.IGNORECASE)
_VERSION = re.compile(r".+-v(\d{1,3})-(\d{1,3})-(\d{1,3})\.xml", re.IGNORECASE)
_CSIP_SITE, _SIP_SITE, _SIARD_SITE = "earkcsip", "earksip", "citssiard"
_VERSIONS = {_CSIP_SITE: [each for each in Version if each.number <= NEWEST.number], _SIP_SITE: list(Version)}
_SIP_PROFILE = f"https://{_SIP_SITE}.dilcis.eu/profile/E-ARK-SIP"

SIP_PROFILES = frozenset(
    (f"{_SIP_PROFILE}.xml", *(f"{_SIP_PROFILE}-v{each.value.replace('.', '-')}.xml" for each in Version))
)
"""The addresses of SIP's METS profile: that of each version, and that of the newest."""


@unique
class Profile(Enum):
    """The E-ARK standards that packages are checked against."""

    AUTO = "auto"
    """Each METS against the standards that it claims."""
    RECOMMENDATION = "recommendation"
    """The recommendation only, without the E-ARK standards."""
    CSIP = "csip"
    SIP = "sip"
    CITS_SIARD = "cits-siard"


_FORCED = {
    Profile.RECOMMENDATION: frozenset[Standard](),
    Profile.CSIP: frozenset({Standard.CSIP}),
    Profile.SIP: frozenset({Standard.CSIP, Standard.SIP}),
    Profile.CITS_SIARD: frozenset({Standard.CSIP, Standard.SIARD}),
}


@dataclass(slots=True)
class Opening:
    """The attributes of a METS document's root and header."""

    root: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, str] = field(default_factory=dict)

    @property
    def site(self) -> str:
        """Return the site of the E-ARK profile that it names, or ""."""
        found = _EARK.fullmatch(self.root.get("PROFILE", "").strip())
        return found[1].lower() if found else ""

    @property
    def _number(self) -> tuple[int, ...]:
        """Return the number of the version of CSIP or SIP in its profile, empty without one."""
        found = _VERSION.fullmatch(self.root.get("PROFILE", "").strip()) if self.site in _VERSIONS else None
        return () if found is None else tuple(map(int, found.groups()))

    @property
    def version(self) -> Version | None:
        """Return the version of CSIP and SIP in its profile, or the nearest one listed, or None.

        The nearest is the next older one, at most the one that holds without a version.
        """
        if not (number := self._number):
            return None
        older = [each for each in Version if each.number <= min(number, NEWEST.number)]
        exact = [each for each in _VERSIONS[self.site] if each.number == number]
        return [Version.V2_0_4, *older, *exact][-1]

    @property
    def nearness(self) -> str:
        """Return why its profile's version is replaced, for messages; "" for a listed version."""
        version, number = self.version, self._number
        if version is None or version.number == number:
            return ""
        return (
            ", newer than metspack knows" if number > NEWEST.number else ", not a version that metspack knows"
        )

    @property
    def is_csip(self) -> bool:
        """Return whether it has attributes of CSIP or a profile of E-ARK."""
        marked = any(name.startswith("csip:") for each in (self.root, self.header) for name in each)
        return marked or bool(self.site)


def is_eark(profile: str) -> bool:
    """Return whether a profile is one of E-ARK's."""
    return _EARK.fullmatch(profile) is not None


def opening(blocks: Iterable[bytes]) -> Opening:
    """Return the opening of a METS document; raises ``XmlError`` as ``elements.opening`` does."""
    root, header = elements.opening(blocks)
    return Opening(root=root, header=header)


def version_of(found: Opening, package: Opening | None = None) -> tuple[Version | None, str]:
    """Return the version that holds for a METS, if any, and why it replaces the stated one.

    An absent or unlisted version of a representation's METS is that of its ``package``.
    """
    is_listed = found.version is not None and not found.nearness
    stated = found if package is None or is_listed else package
    return stated.version or (found.version and NEWEST), stated.nearness


def of_package(profile: Profile, found: Opening, *, is_laid_out: bool) -> frozenset[Standard]:
    """Return the standards that a package's METS is checked against.

    ``is_laid_out`` is whether the package has a METS.xml, so spelled, and a folder ``representations``. With
    a profile of CSIP the METS does not claim SIP, with any OAIS type.
    """
    if profile is not Profile.AUTO:
        return _FORCED[profile]
    if not (found.is_csip or is_laid_out):
        return frozenset()
    standards = {Standard.CSIP}
    is_sip = found.header.get("csip:OAISPACKAGETYPE") == "SIP" and found.site != _CSIP_SITE
    if is_sip or found.site == _SIP_SITE:
        standards.add(Standard.SIP)
    if _holds_database(found):
        standards.add(Standard.SIARD)
    return frozenset(standards)


def of_representation(profile: Profile, found: Opening, *, is_database: bool) -> frozenset[Standard]:
    """Return the standards for a representation's METS in a package of CSIP.

    ``is_database`` is whether the package states that it is a database. SIP has no requirement on
    representations.
    """
    if profile is not Profile.AUTO:
        return _FORCED[profile] - {Standard.SIP}
    return frozenset(
        {Standard.CSIP, Standard.SIARD} if is_database or _holds_database(found) else {Standard.CSIP}
    )


def _holds_database(found: Opening) -> bool:
    content = found.root.get("csip:CONTENTINFORMATIONTYPE", "")
    return content.lower().startswith(_SIARD_SITE) or found.site == _SIARD_SITE
