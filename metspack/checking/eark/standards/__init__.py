"""The versions of the E-ARK standards: one module each, the oldest whole, others by their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metspack.checking.eark import siard
from metspack.checking.eark.requirements import Requirement, RequirementTable, Standard, Version
from metspack.checking.eark.standards import (
    csip_2_0_4,
    csip_2_1_0,
    csip_2_2_0,
    sip_2_0_4,
    sip_2_1_0,
    sip_2_2_0,
    sip_2_3_0,
)

TABLES: Mapping[Standard, Sequence[RequirementTable]] = {
    Standard.CSIP: (csip_2_0_4.TABLE, csip_2_1_0.TABLE, csip_2_2_0.TABLE),
    Standard.SIP: (sip_2_0_4.TABLE, sip_2_1_0.TABLE, sip_2_2_0.TABLE, sip_2_3_0.TABLE),
    Standard.SIARD: (siard.TABLE,),
}
"""The requirements of each version of each standard, the oldest first."""


def table(standard: Standard, version: Version) -> RequirementTable:
    """Return the requirements of a version, or of the one before it."""
    return [each for each in TABLES[standard] if each.version.number <= version.number][-1]


def rows(standard: Standard, last: Version) -> Mapping[str, Requirement]:
    """Return all requirements that versions up to a last one have, each in its latest form."""
    found: dict[str, Requirement] = {}
    for each in TABLES[standard]:
        found |= each.rows if each.version.number <= last.number else {}
    return found
