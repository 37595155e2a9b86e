"""Terms of E-ARK specifications: profiles, types, roles, and the names of folders; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metspack import uris
from metspack.errors import ConfigError
from metspack.system.winnames import unholdable

PROFILES = ("csip", "cits-siard", "sip")
"""The METS profiles that a package can declare, which differ in values of attributes."""

PACKAGE_TYPES = ("SIP", "AIP", "DIP")
LINK_STYLES = ("aip", "csip-large", "recommendation")
CHILD_LINKS = ("location", "objid")
"""The forms of a parent's links to children: location and fixity, or only the OBJID."""

REPRESENTATION = "rep1"

DATA = "data"
"""The folder of a representation's files."""


DESCRIPTIVE = "metadata/descriptive"
"""The folder of a package's descriptive metadata."""

CITS_SIARD = "citssiard_v1_0"
CONTENT_TYPES = (CITS_SIARD, "SIARD1", "SIARD2", "SIARDDK")
"""The content information types of databases in CSIP's vocabulary."""

LOBS = "SIARD_lobs"
"""The content type of a representation with only LOBs (CITS SIARD §3.8)."""

PROFILE_URLS = {
    "csip": ("https://earkcsip.dilcis.eu/profile/E-ARK-CSIP.xml",) * 2,
    "sip": ("https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml",) * 2,
    "cits-siard": (
        "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-ROOT.xml",
        "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-REPRESENTATION.xml",
    ),
}
"""The PROFILE of a package and of its representations, by the name of the profile."""

CSIP_VERSIONS = ("2.0.4", "2.1.0", "2.2.0")
SIP_VERSIONS = (*CSIP_VERSIONS, "2.3.0")
_FIRST, _NEWEST = SIP_VERSIONS[0], CSIP_VERSIONS[-1]
_WITH_SUBMITTER = SIP_VERSIONS[SIP_VERSIONS.index("2.3.0") :]  # as an OTHERROLE
_STATED = re.compile(
    r"https?://eark(csip|sip)\.dilcis\.eu/profile/[^/]+-v(\d+)-(\d+)-(\d+)\.xml", re.IGNORECASE
)

_SITE = re.compile(r"https?://(\w+)\.dilcis\.eu/profile/.+", re.IGNORECASE)
_SITES = {"earkcsip": "csip", "earksip": "sip", "citssiard": "cits-siard"}

_FOLDER = re.compile(r"(?!.*\.$)[A-Za-z0-9_@(][A-Za-z0-9._~!$&'()+,;=@-]*")
_REPRESENTATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?<!\.)")
_LONGEST = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderAgent:
    """An agent of a METS header; ``code`` is its identification code, "" without one."""

    role: str
    name: str
    type: str = "ORGANIZATION"
    otherrole: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """The agents of a package: who submits it, created the data, preserves it, and made it.

    All are names of organisations, or ""; those ending with ``_code`` are identification codes.
    """

    submitter: str = ""
    submitter_code: str = ""
    archival_creator: str = ""
    archival_creator_code: str = ""
    preservation: str = ""
    packagers: tuple[str, ...] = ()

    def named(self, submitter: tuple[str, str] = ("CREATOR", "")) -> tuple[HeaderAgent, ...]:
        """Return the agents of a METS header, in the roles of the E-ARK SIP profile's example.

        ``submitter`` is the ROLE and OTHERROLE of the submitting agent.
        """
        role, other = submitter
        found = (
            HeaderAgent(role="ARCHIVIST", name=self.archival_creator, code=self.archival_creator_code),
            HeaderAgent(role=role, otherrole=other, name=self.submitter, code=self.submitter_code),
            HeaderAgent(role="PRESERVATION", name=self.preservation),
            *(HeaderAgent(role="OTHER", otherrole="PACKAGER", name=each) for each in self.packagers),
        )
        return tuple(each for each in found if each.name)

    def texts(self) -> tuple[str, ...]:
        """Return all names and codes of the agents."""
        return tuple(text for each in self.named() for text in (each.name, each.code))


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTerms:
    """Terms that options choose; a version "" stands for the newest, or that of the PROFILE."""

    profile: str = PROFILES[0]
    csip_version: str = ""
    sip_version: str = ""
    package_type: str = PACKAGE_TYPES[0]
    content_type: str = CITS_SIARD
    link_style: str = LINK_STYLES[0]
    child_links: str = CHILD_LINKS[0]
    representation: str = REPRESENTATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(GivenTerms):
    """The terms that all METS of a package share.

    ``version`` is that of SIARD, or None without an archive. ``mets_profile`` is a PROFILE in place of that
    of ``profile``.
    """

    version: str | None
    mets_profile: str | None = None

    def check(self, agents: Agents) -> None:
        """Raise ``ConfigError`` for values that the profile forbids, and invalid names or terms."""
        _check_is_one_of("content information type", self.content_type, CONTENT_TYPES)
        _check_is_one_of("profile", self.profile, PROFILES)
        _check_is_one_of("package type", self.package_type, PACKAGE_TYPES)
        _check_is_one_of("link style", self.link_style, LINK_STYLES)
        _check_is_one_of("form of links to children", self.child_links, CHILD_LINKS)
        self._check_versions()
        if not _REPRESENTATION.fullmatch(self.representation) or len(self.representation) > _LONGEST:
            raise ConfigError(
                f"{self.representation!r} is not a name for a representation",
                hint="It is the name of one folder, of letters, digits and . _ -, such as rep1.",
            )
        if self.version is None:
            raise ConfigError(
                "an E-ARK package of a database requires a SIARD archive, and there is none (CSIP114)",
                hint="LOBs alone are packaged by the recommendation's dialect: leave --dialect out.",
            )
        profiles = {self.profile, profile_name(self.package_profile)}
        is_siard = "cits-siard" in profiles and self.package_type == "SIP"
        if ("sip" in profiles or is_siard) and not agents.submitter:
            name, clause = (
                ("cits-siard", "CITS SIARD, REF_SIP_1") if is_siard else ("sip", "E-ARK SIP, SIP15")
            )
            raise ConfigError(
                f"the profile {name} requires a submitting agent in a SIP ({clause}); none is named",
                hint='Say who submits the package: --submitter "National Archives".',
            )
        if "sip" in profiles and self.package_type != "SIP":
            raise ConfigError(
                f"the profile sip does not go with the package type {self.package_type}",
                hint="E-ARK SIP (SIP4) requires SIP: leave --type out, or take another --profile.",
            )
        if "cits-siard" in profiles and self.content_type != CITS_SIARD:
            raise ConfigError(
                f"the profile cits-siard does not go with the content information type {self.content_type}",
                hint=f"CITS SIARD (SIARD_3) requires {CITS_SIARD}: leave --content-type out, or take another "
                "--profile.",
            )
        if not goes_with(self.package_profile, self):
            raise ConfigError(
                f"the METS profile {self.package_profile} is none for a package of type {self.package_type} "
                f"with {self.content_type}: a SIP names that of CSIP, E-ARK SIP or CITS SIARD (SIP2), and "
                f"{CITS_SIARD} one of E-ARK (SIARD_5)",
                hint="Any address goes with --type AIP or DIP and --content-type SIARD1, SIARD2 or SIARDDK.",
            )
        self._check_version()

    def _check_versions(self) -> None:
        """Raise ``ConfigError`` for versions that contradict the profile, the PROFILE or each other."""
        if self.csip_version:
            _check_is_one_of("version of CSIP", self.csip_version, CSIP_VERSIONS)
        if self.sip_version:
            _check_is_one_of("version of E-ARK SIP", self.sip_version, SIP_VERSIONS)
        for name, given, profiles in (
            ("csip", self.csip_version, ("csip", "sip")),
            ("sip", self.sip_version, ("sip",)),
        ):
            if given and self.profile not in profiles:
                raise ConfigError(
                    f"--{name}-version does not go with --profile {self.profile}",
                    hint=f"Add --profile {name}, or leave --{name}-version out.",
                )
        csip = self.csip_version
        if csip and self.sip_version and csip != min(self.sip_version, _NEWEST):
            raise ConfigError(
                f"E-ARK SIP {self.sip_version} does not belong to CSIP {csip}",
                hint="It has the version of CSIP with it: leave --csip-version out.",
            )
        address = self._address
        if address and self.mets_profile not in {None, address}:
            old = ": --sip-version where a validator demands the address without a version that SIP2 has"
            raise ConfigError(
                f"--mets-profile {self.mets_profile} is not the address of the version given, {address}",
                hint=f"Leave one of the two out{old if self.sip_version in CSIP_VERSIONS[:-1] else ''}.",
            )

    def _check_version(self) -> None:
        first = self.version == "1.0"
        if self.version is not None and self.content_type == ("SIARD2" if first else "SIARD1"):
            raise ConfigError(
                f"the archive is of SIARD {self.version}, which is not {self.content_type}",
                hint=f"Say {'SIARD1' if first else 'SIARD2'} or {CITS_SIARD}.",
            )

    @property
    def is_by_objid(self) -> bool:
        """True if a parent names its children only by their OBJIDs."""
        return self.child_links == "objid"

    @property
    def _address(self) -> str:
        """The PROFILE of the chosen version, or "" without one."""
        given = self.sip_version or self.csip_version
        name = f"{'' if self.profile == 'sip' else 'C'}SIP"
        words = f"https://eark{name.lower()}.dilcis.eu/profile/E-ARK-{name}-v{given.replace('.', '-')}.xml"
        return words if given else ""

    @property
    def package_profile(self) -> str:
        """The PROFILE of a package's METS."""
        return self.mets_profile or self._address or PROFILE_URLS[self.profile][0]

    @property
    def representation_profile(self) -> str:
        """The PROFILE of a representation's METS."""
        return self.mets_profile or self._address or PROFILE_URLS[self.profile][1]

    @property
    def submitter_role(self) -> tuple[str, str]:
        """The ROLE and OTHERROLE of the submitting agent (SIP10 and SIP11 of 2.3.0, SIP16 before)."""
        standard, version = stated_version(self.package_profile)
        is_later = standard == "sip" and version in _WITH_SUBMITTER
        return ("OTHER", "SUBMITTER") if is_later else ("CREATOR", "")

    @property
    def is_first(self) -> bool:
        """True if METS follows 2.0.4: one USE for all representations, the OBJID as a LABEL."""
        return stated_version(self.package_profile)[1] == _FIRST

    @property
    def package_use(self) -> str:
        """The USE of the package's group with the representation's METS (CSIP64, CSIP107, CSIP114)."""
        return "Representations" if self.is_first else f"Representations/{self.representation}"

    @property
    def data_use(self) -> str:
        """The USE of the representation's group of data files (CSIP64, CSIP114)."""
        return f"Representations/{self.representation}/data"

    def other_type(self, *, has_archive: bool) -> str:
        """Return a representation's OTHERCONTENTINFORMATIONTYPE, or "" (SIARD_7, SIARD_11, §3.8)."""
        if self.content_type != CITS_SIARD:
            return ""
        return f"SIARD_{self.version}" if has_archive else LOBS


def stated_version(profile: str) -> tuple[str, str]:
    """Return the standard (csip or sip) and version of a profile's address; "" for others."""
    found = _STATED.fullmatch(profile.strip())
    return ("", "") if found is None else (found[1].lower(), ".".join(found.groups()[1:]))


def profile_name(address: str) -> str:
    """Return the profile of an address, or the name of another site of E-ARK, or ""."""
    found = _SITE.fullmatch(address.strip())
    return "" if found is None else _SITES.get(found[1].lower(), found[1])


def goes_with(address: str, terms: GivenTerms) -> bool:
    """Return whether a package's type and content type allow the address of a profile."""
    name = profile_name(address)
    is_for_type = name in PROFILES or terms.package_type != PACKAGE_TYPES[0]
    return is_for_type and bool(name or terms.content_type != CITS_SIARD)


def folder_name(objid: str) -> str:
    """Return the name of an IP's root folder: its OBJID with ``+`` for ``:``.

    The rules are CSIP1, CSIPSTR2 and AIP21. Raises ``ConfigError`` for an OBJID that cannot be the name of a
    folder on every system.
    """
    name = objid.replace(":", "+")
    if not _FOLDER.fullmatch(name) or unholdable(name) or len(name) > _LONGEST - len(".partial"):
        raise ConfigError(
            f"the OBJID {objid!r} cannot be the name of a folder, and an IP's folder is called by it",
            hint="Use letters, digits and . _ - : such as ID.AVID.RA.18005, or leave --id out.",
        )
    return name


def href(segments: Sequence[str]) -> str:
    """Return the reference to a file in a METS; raises ``ReferenceRefused`` as ``uris.quoted``.

    A ``+``, which the names of folders contain (AIP21), is escaped although RFC 3986 does not require it:
    commons-ip decodes references as form data, where it is a space.
    """
    return uris.quoted(segments).replace("+", "%2B")


def _check_is_one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"there is no {what} {value!r}", hint=f"There are {', '.join(allowed)}.")
