"""The check of a package from what lies on disk; shares nothing with what builds one."""

from metspack.checking.codes import ALL_CODES, Code, Rule
from metspack.checking.looking import Level
from metspack.checking.package import (
    Checked,
    Checking,
    CheckSummary,
    Explanation,
    Observer,
    check,
    explained,
    weight,
)
from metspack.checking.rules.profiles import Profile

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
