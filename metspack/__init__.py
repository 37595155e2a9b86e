"""Build, check and read packages for SIARD archives with large objects (LOBs).

``build`` makes the parent and child packages of an archive, ``check`` reports their faults (an iterator of
``Finding``, each with its ``remedy``), ``report`` writes the findings, ``Package`` walks through segments and
LOBs, and ``open_lob`` and ``restore`` give LOBs back. The other functions are named after commands:
``plan``, ``convert``, ``describe``, ``merge``, ``links``, ``inspect``, ``explain``,
``list_lobs``, ``cat``, ``shards``, ``restore_dry_run``, ``restore_siard`` and ``status``.

Functions print nothing. Paths are ``str`` or ``Path``. A failure is a ``MetspackError``, with an ``id`` for
programs, and ``message`` and ``hint`` for people. docs/python.md has examples.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of ``typing`` takes long to load, and signals are answered only then
if TYPE_CHECKING:
    from metspack.api import (
        ArchiveSummary,
        Package,
        Reportable,
        Segment,
        build,
        cat,
        check,
        convert,
        describe,
        explain,
        inspect,
        links,
        list_lobs,
        merge,
        open_lob,
        plan,
        report,
        restore,
        restore_dry_run,
        restore_siard,
        shards,
        status,
    )
    from metspack.building.draft import Draft
    from metspack.building.inplace import Described
    from metspack.building.options import BuildOptions, Built, PackageOptions
    from metspack.checking import Checking, CheckSummary, Level, PackageResult, Profile
    from metspack.checking.links.graph import Graph
    from metspack.checking.options import CheckOptions
    from metspack.errors import (
        ConfigError,
        LobNotFoundError,
        MetspackError,
        PlanError,
        SourceError,
        SourceNotFoundError,
        SourceUnfinishedError,
        TargetError,
        TargetExistsError,
        TargetUnfinishedError,
    )
    from metspack.files.journal import Status
    from metspack.files.reading import StrPath
    from metspack.inspecting.verification import Verdict
    from metspack.layouts import FolderStyle
    from metspack.merging.merge import Merged
    from metspack.mets.dialects.csip.package import CsipOptions
    from metspack.mets.dialects.csip.terms import Agents
    from metspack.model import (
        Budgets,
        Digest,
        Explanation,
        Finding,
        FindingPlace,
        Limits,
        LinkMode,
        PlannedSegment,
        Severity,
    )
    from metspack.packages.listing import EntryFile, LobEntry
    from metspack.planning.division import Split
    from metspack.progress import Progress
    from metspack.reporting.formats import CheckReport
    from metspack.reporting.inspection import InspectionReport
    from metspack.reporting.linkgraph import LinkReport
    from metspack.resources import __version__
    from metspack.restoring.dryrun import DryRun
    from metspack.restoring.files import Restored, RestoreOptions
    from metspack.restoring.shards.writing import Shard, ShardFile
    from metspack.restoring.siard import Into
    from metspack.sources.archive import Grants

__all__ = [
    "Agents",
    "ArchiveSummary",
    "Budgets",
    "BuildOptions",
    "Built",
    "CheckOptions",
    "CheckReport",
    "CheckSummary",
    "Checking",
    "ConfigError",
    "CsipOptions",
    "Described",
    "Digest",
    "Draft",
    "DryRun",
    "EntryFile",
    "Explanation",
    "Finding",
    "FindingPlace",
    "FolderStyle",
    "Grants",
    "Graph",
    "InspectionReport",
    "Into",
    "Level",
    "Limits",
    "LinkMode",
    "LinkReport",
    "LobEntry",
    "LobNotFoundError",
    "Merged",
    "MetspackError",
    "Package",
    "PackageOptions",
    "PackageResult",
    "PlanError",
    "PlannedSegment",
    "Profile",
    "Progress",
    "Reportable",
    "RestoreOptions",
    "Restored",
    "Segment",
    "Severity",
    "Shard",
    "ShardFile",
    "SourceError",
    "SourceNotFoundError",
    "SourceUnfinishedError",
    "Split",
    "Status",
    "StrPath",
    "TargetError",
    "TargetExistsError",
    "TargetUnfinishedError",
    "Verdict",
    "__version__",
    "build",
    "cat",
    "check",
    "convert",
    "describe",
    "explain",
    "inspect",
    "links",
    "list_lobs",
    "merge",
    "open_lob",
    "plan",
    "report",
    "restore",
    "restore_dry_run",
    "restore_siard",
    "shards",
    "status",
]

# Names are loaded when they are first used, so that the command line and worker processes load no more than
# they need. What is quick to load comes first.
_HOMES = (
    *("resources", "errors", "model", "api", "checking", "checking.links.graph", "packages.listing"),
    *("inspecting.verification", "mets.dialects.csip.package", "mets.dialects.csip.terms"),
    *("planning.division", "restoring.shards.writing"),
)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 -- as ``typing``

        for home in _HOMES:
            if hasattr(module := import_module(f"metspack.{home}"), name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
