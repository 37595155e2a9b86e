"""metspack: parent and child packages for SIARD archives with large objects.

This module is the public API, and only it. Names are loaded when they are first used, so that the
command line and worker processes load no more than they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metspack.api import build, check, plan
    from metspack.building import Built
    from metspack.checking import Level
    from metspack.errors import ConfigError, MetspackError, PlanError, SourceError, TargetError
    from metspack.model import Finding, Limits, Segment, Severity
    from metspack.version import __version__

__all__ = [
    "Built",
    "ConfigError",
    "Finding",
    "Level",
    "Limits",
    "MetspackError",
    "PlanError",
    "Segment",
    "Severity",
    "SourceError",
    "TargetError",
    "__version__",
    "build",
    "check",
    "plan",
]

_HOMES = {
    "api": ("build", "check", "plan"),
    "building": ("Built",),
    "checking": ("Level",),
    "errors": ("ConfigError", "MetspackError", "PlanError", "SourceError", "TargetError"),
    "model": ("Finding", "Limits", "Segment", "Severity"),
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("metspack.version").__version__
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"metspack.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
