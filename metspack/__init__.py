"""metspack: parent and child packages for SIARD archives with large objects.

This module is the public API, and only it. Names are loaded when they are first used, so that the
command line and worker processes load no more than they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metspack.api import (
        add,
        build,
        cat,
        check,
        convert,
        describe,
        list_lobs,
        merge,
        open_lob,
        plan,
        restore,
        restore_siard,
        roundtrip,
        shards,
    )
    from metspack.building.build import BuildOptions, Built
    from metspack.building.inplace import Described
    from metspack.building.options import PackageOptions
    from metspack.checking import Level, Profile
    from metspack.checking.options import CheckOptions
    from metspack.errors import ConfigError, MetspackError, PlanError, SourceError, TargetError
    from metspack.layouts import FolderStyle
    from metspack.merging.merge import Merged
    from metspack.mets.dialects.csip.package import CsipOptions
    from metspack.mets.dialects.csip.terms import Agents
    from metspack.model import Budgets, Finding, Limits, LinkMode, Segment, Severity
    from metspack.packages.listing import EntryFile, LobEntry
    from metspack.packages.lobs import Disagreement
    from metspack.planning.division import Split
    from metspack.resources import __version__
    from metspack.restoring.files import Restored, RestoreOptions
    from metspack.restoring.shards.writing import Shard, ShardFile
    from metspack.restoring.siard import Into
    from metspack.sources.archive import Grants

__all__ = [
    "Agents",
    "Budgets",
    "BuildOptions",
    "Built",
    "CheckOptions",
    "ConfigError",
    "CsipOptions",
    "Described",
    "Disagreement",
    "EntryFile",
    "Finding",
    "FolderStyle",
    "Grants",
    "Into",
    "Level",
    "Limits",
    "LinkMode",
    "LobEntry",
    "Merged",
    "MetspackError",
    "PackageOptions",
    "PlanError",
    "Profile",
    "RestoreOptions",
    "Restored",
    "Segment",
    "Severity",
    "Shard",
    "ShardFile",
    "SourceError",
    "Split",
    "TargetError",
    "__version__",
    "add",
    "build",
    "cat",
    "check",
    "convert",
    "describe",
    "list_lobs",
    "merge",
    "open_lob",
    "plan",
    "restore",
    "restore_siard",
    "roundtrip",
    "shards",
]

_HOMES = {
    "api": (
        *("add", "build", "cat", "check", "convert", "describe", "list_lobs", "merge"),
        *("open_lob", "plan", "restore", "restore_siard", "roundtrip", "shards"),
    ),
    "building.build": ("BuildOptions", "Built"),
    "checking": ("Level", "Profile"),
    "checking.options": ("CheckOptions",),
    "errors": ("ConfigError", "MetspackError", "PlanError", "SourceError", "TargetError"),
    "building.options": ("PackageOptions",),
    "building.inplace": ("Described",),
    "layouts": ("FolderStyle",),
    "merging.merge": ("Merged",),
    "mets.dialects.csip.package": ("CsipOptions",),
    "mets.dialects.csip.terms": ("Agents",),
    "model": ("Budgets", "Finding", "Limits", "LinkMode", "Segment", "Severity"),
    "planning.division": ("Split",),
    "packages.listing": ("EntryFile", "LobEntry"),
    "packages.lobs": ("Disagreement",),
    "restoring.shards.writing": ("Shard", "ShardFile"),
    "restoring.siard": ("Into",),
    "restoring.files": ("RestoreOptions", "Restored"),
    "sources.archive": ("Grants",),
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("metspack.resources").__version__
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"metspack.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
