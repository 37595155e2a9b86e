"""The check of a package from what lies on disk; shares nothing with what builds one."""

from metspack.checking.codes import ALL_CODES, Code, Rule
from metspack.checking.eark.profiles import Profile
from metspack.checking.options import Level
from metspack.checking.run import (
    Checked,
    Checking,
    CheckSummary,
    Explanation,
    Observer,
    check,
    explained,
    weight,
)

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
