"""The check of a package from the files on disk; shares no code with the packages' writers.

Names are loaded when they are first used: a code is explained without loading a check's modules.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from metspack.errors import ConfigError
from metspack.model import Explanation, Finding, explain_by

if TYPE_CHECKING:
    from metspack.checking.checks import Checking, check
    from metspack.checking.codes import ALL_CODES, Code, Rule, reported_id, standard_of
    from metspack.checking.eark.profiles import Profile
    from metspack.checking.eark.requirements import Requirement
    from metspack.checking.options import Level
    from metspack.checking.results import Checked, CheckSummary, Observer, PackageResult

__all__ = [
    "ALL_CODES",
    "CheckSummary",
    "Checked",
    "Checking",
    "Code",
    "Explanation",
    "Level",
    "Observer",
    "PackageResult",
    "Profile",
    "Rule",
    "check",
    "explained",
    "reported_id",
    "standard_of",
]

_HOMES = {
    "checks": ("Checking", "check"),
    "codes": ("ALL_CODES", "Code", "Rule", "standard_of", "reported_id"),
    "eark.profiles": ("Profile",),
    "options": ("Level",),
    "results": ("CheckSummary", "Checked", "Observer", "PackageResult"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_CODES = (
    "Codes are a letter and three digits, such as L001 (docs/findings.md lists them); requirements of E-ARK "
    "are such as CSIP66, SIP2 and SIARD_3 (docs/rules.md)."
)


@cache
def explained(code: str, standard: str = "") -> Explanation:
    """Return the meaning and the remedy of a finding code or of a requirement of E-ARK.

    ``standard`` is a version of a standard as findings name it, or "" for the assumed one. Raises
    ``ConfigError`` for an unknown code.
    """
    from metspack.checking.codes import Code  # noqa: PLC0415 -- not for whom a module below this one will do

    try:
        rule = Code.named(code)
    except KeyError:
        return _explained_requirement(code, standard)
    return Explanation(
        code=rule.id,
        title=rule.title,
        severity=rule.severity,
        meaning=rule.why,
        clause=rule.clause,
        remedy=rule.remedy,
    )


def _explained_finding(finding: Finding) -> Explanation:
    from metspack.checking.codes import reported_id, standard_of  # noqa: PLC0415

    return explained(reported_id(finding), standard_of(finding))


explain_by(_explained_finding)


def _explained_requirement(code: str, standard: str) -> Explanation:
    from metspack.checking.codes import ALL_CODES  # noqa: PLC0415
    from metspack.checking.eark.faults import CODES, examples, named, of_version  # noqa: PLC0415 -- its tables are large

    requirement = named(code)
    if requirement is None:
        letter = code.strip()[:1].upper() if code.strip()[1:].isdecimal() else ""
        ids = sorted(each.id for each in ALL_CODES if each.id[:1] == letter)
        hint = f"Codes with this letter are {', '.join(ids)}." if ids else _CODES
        raise ConfigError(f"there is no code {code!r}", hint=hint)
    usual, requirement = requirement, of_version(requirement.id, standard) or requirement
    is_usual = requirement.says == usual.says
    return Explanation(
        code=requirement.id,
        title=requirement.says,
        severity=CODES[requirement.need].severity,
        meaning=_meaning(requirement) if standard else f"{_meaning(requirement)}{_elsewhere(requirement)}",
        clause=f"{standard or requirement.standard.value}, {requirement.where or requirement.id}",
        remedy=CODES[requirement.need].remedy,
        example=examples().get(requirement.id, "") if is_usual else "",
    )


def _meaning(requirement: Requirement) -> str:
    text = f"{requirement.need.value}; {requirement.state.value}."
    if requirement.note:
        text += f" {requirement.note}"
    if requirement.codes:
        text += f" Also reported under {', '.join(requirement.codes)}."
    return text


def _elsewhere(requirement: Requirement) -> str:
    """Return paragraphs on versions with another requirement of this number, or without."""
    from metspack.checking.eark.faults import others  # noqa: PLC0415

    return "".join(
        f"\n\n{name}: {f'{row.says} ({row.need.value}).' if row else 'no such requirement.'}"
        for name, row in others(requirement).items()
    )
