"""Checking a package from what lies on disk; shares nothing with what builds one."""

from metspack.checking.codes import Code, Rule
from metspack.checking.looking import Level
from metspack.checking.package import Checking, Explanation, Summary, check, explained, ordered, weight

__all__ = [
    "Checking",
    "Code",
    "Explanation",
    "Level",
    "Rule",
    "Summary",
    "check",
    "explained",
    "ordered",
    "weight",
]
