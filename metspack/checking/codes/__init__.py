"""Catalogue of the check's finding codes, each declared once.

A code is a letter (L links, F fixity, S segments, P paths, M METS, Z SIARD archive, N names, X XML) and three
digits. It is never renumbered or reused, because programs and people remember it.
"""

from __future__ import annotations

from metspack.checking.codes import paths
from metspack.checking.codes.archives import Archives
from metspack.checking.codes.fixity import FixityCodes, Segments
from metspack.checking.codes.links import LinkCodes
from metspack.checking.codes.mets import MetsCodes, Xml
from metspack.checking.codes.paths import NameCodes, Paths
from metspack.checking.codes.rule import Rule
from metspack.locations import Convention
from metspack.model import Finding

__all__ = ["ALL_CODES", "Code", "Rule", "reported_id"]


class Code(LinkCodes, FixityCodes, Segments, Paths, MetsCodes, Archives, NameCodes, Xml):
    """All finding codes as attributes; ``Code.named("L001")`` finds one by its code."""

    @staticmethod
    def named(id_: str) -> Rule:
        """Return the code with this letter and number in any case; raises ``KeyError`` if unknown."""
        return _BY_ID[id_.strip().upper()]

    @staticmethod
    def of_convention(convention: Convention) -> Rule | None:
        """Return the code for LOBs found by a location convention, or None for the statement's own."""
        return None if convention is Convention.C else _BY_ID[paths.id_of(convention)]


ALL_CODES = tuple(
    each for letter in Code.__bases__ for each in vars(letter).values() if isinstance(each, Rule)
)
"""All codes, letter by letter, in the order of their declarations."""

RETIRED = ("M011", "M018", "S030", "S031", "S032", "Z042", "Z043", "Z044", "Z045", "Z046")
"""Codes that earlier versions had: no other finding gets one of them."""

_BY_ID = {code.id: code for code in ALL_CODES}
_OF_REQUIREMENTS = {
    Code.REQUIREMENT_BROKEN.id,
    Code.RECOMMENDATION_NOT_FOLLOWED.id,
    Code.OPTION_INCOMPLETE.id,
}


def reported_id(finding: Finding) -> str:
    """Return the id by which a finding is grouped, limited and counted: its code or requirement.

    Only the codes of requirements are grouped by requirement.
    """
    return (finding.code in _OF_REQUIREMENTS and finding.requirement) or finding.code


def standard_of(finding: Finding) -> str:
    """Return the version of the standard that a finding is on, or ""."""
    return dict(finding.facts).get("standard", "") if finding.code in _OF_REQUIREMENTS else ""
