"""The check of a package from the files on disk; shares no code with the writers of packages.

Names are loaded when they are first used: a code is explained without what a check loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.checking.codes import ALL_CODES, Code, Rule
    from metspack.checking.eark.profiles import Profile
    from metspack.checking.opening import weight
    from metspack.checking.options import Level
    from metspack.checking.run import Checked, Checking, CheckSummary, Observer, check
    from metspack.model import Severity

__all__ = [
    "ALL_CODES",
    "CheckSummary",
    "Checked",
    "Checking",
    "Code",
    "Explanation",
    "Level",
    "Observer",
    "Profile",
    "Rule",
    "check",
    "explained",
    "weight",
]

_HOMES = {
    "codes": ("ALL_CODES", "Code", "Rule"),
    "eark.profiles": ("Profile",),
    "opening": ("weight",),
    "options": ("Level",),
    "run": ("CheckSummary", "Checked", "Checking", "Observer", "check"),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of a finding code: its meaning, its clause and its remedy."""

    code: str
    title: str
    severity: Severity
    meaning: str
    clause: str
    remedy: str


def explained(code: str) -> Explanation:
    """Return the meaning and the remedy of a finding code; raises ``ConfigError`` if it is unknown."""
    from metspack.checking.codes import Code  # noqa: PLC0415 -- not for whom a module below this one will do

    try:
        rule = Code.named(code)
    except KeyError:
        return _explained_requirement(code)
    return Explanation(
        code=rule.id,
        title=rule.title,
        severity=rule.severity,
        meaning=rule.why,
        clause=rule.clause,
        remedy=rule.remedy,
    )


def _explained_requirement(code: str) -> Explanation:
    from metspack.checking.codes import ALL_CODES  # noqa: PLC0415
    from metspack.checking.eark.faults import CODES, named  # noqa: PLC0415 -- its tables are large

    requirement = named(code)
    if requirement is None:
        letter = code.strip()[:1].upper() if code.strip()[1:].isdecimal() else ""
        alike = sorted(each.id for each in ALL_CODES if each.id[:1] == letter)
        hint = f"Codes with this letter are {', '.join(alike)}." if alike else _CODES
        raise ConfigError(f"there is no code {code!r}", hint=hint)
    return Explanation(
        code=requirement.id,
        title=requirement.says,
        severity=CODES[requirement.need].severity,
        meaning=requirement.note or f"{requirement.need.value}; {requirement.state.value}.",
        clause=f"{requirement.standard.value}, {requirement.where or requirement.id}",
        remedy=CODES[requirement.need].remedy,
    )
