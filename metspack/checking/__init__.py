"""The check of a package from the files on disk; shares no code with the writers of packages."""

from metspack.checking.codes import ALL_CODES, Code, Rule
from metspack.checking.eark.profiles import Profile
from metspack.checking.opening import weight
from metspack.checking.options import Level
from metspack.checking.run import (
    Checked,
    Checking,
    CheckSummary,
    Explanation,
    Observer,
    check,
    explained,
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
