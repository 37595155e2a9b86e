"""The public API: the commands as functions that return values."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from metspack import clock, optionfields
from metspack.building import build as building_build
from metspack.building import convert as building_convert
from metspack.building.draft import Draft, draft_plan
from metspack.building.inplace import Described, describe_in_place
from metspack.building.options import BuildOptions, Built, Fault, PackageOptions, StyleWord
from metspack.checking import Checking, CheckSummary, Level, PackageResult, Profile, explained
from metspack.checking.links.graph import Graph
from metspack.checking.options import CheckOptions
from metspack.errors import (
    ConfigError,
    LobNotFoundError,
    MetspackError,
    OptionsRefutedError,
    PlanError,
    SourceError,
    SourceNotFoundError,
    SourceUnfinishedError,
    TargetError,
    TargetExistsError,
    TargetUnfinishedError,
)
from metspack.files import writing
from metspack.files.journal import StagingTerms, Status
from metspack.files.journal import status as run_status
from metspack.files.reading import Closable, StrPath, as_path, as_paths, as_place, as_places
from metspack.files.staging import check_vacant
from metspack.inspecting.verification import Verdict
from metspack.layouts.names import FolderStyle, stem_of
from metspack.limits import Budgets, Limits
from metspack.merging.merge import Merged, merge_ips
from metspack.mets import dialects
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.csip.terms import Agents
from metspack.model import Digest, Explanation, Finding, FindingPlace, LinkMode, PlannedSegment, Severity
from metspack.packages import cells
from metspack.packages.listing import EntryFile, LobEntry, LobListing, segment_weight
from metspack.packages.lobs import HeldSegment
from metspack.packages.package import Package as PackageReader
from metspack.planning.division import Split
from metspack.progress import Progress, Silent
from metspack.reporting.formats import CheckReport
from metspack.reporting.inspection import InspectionReport, inspect_source
from metspack.reporting.linkgraph import LinkReport
from metspack.resources import __version__
from metspack.restoring import joining
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import Restored, RestoreOptions, restore_files
from metspack.restoring.shards.writing import Shard, ShardFile
from metspack.restoring.shards.writing import shards as related_shards
from metspack.restoring.siard import Into, restore_archive
from metspack.sizes import parsed_range
from metspack.sources import opening
from metspack.sources.archive import Grants
from metspack.system import os

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
    "OptionsRefutedError",
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

_Options = TypeVar("_Options", PackageOptions, BuildOptions)
_Given = TypeVar("_Given", PackageOptions, BuildOptions, CheckOptions, RestoreOptions)
_Result = TypeVar("_Result", Built, Described, Merged, Restored)
IntoWord = Literal["inside", "folder"]


def plan(source: StrPath, options: BuildOptions | None = None, *, progress: Progress | None = None) -> Draft:
    """Return the segments that ``build`` would make of a source's LOBs with the same options.

    Iterate over it for the segments. Raises ``SourceError``, ``PlanError`` and ``ConfigError``.
    """
    return draft_plan(as_place(source), _stated(_given(options, BuildOptions)), progress)


def build(
    source: StrPath,
    target: StrPath,
    options: BuildOptions | None = None,
    *,
    restart: bool = False,
    discard_on_interrupt: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Build the package of a source of LOBs at a new ``target``; see ``metspack build -h``.

    ``source`` is an archive in any form, or a folder of LOBs. The same call resumes the work that a stopped
    call left beside ``target`` (``status`` reports it), unless it is to ``restart``;
    ``discard_on_interrupt`` removes it when interrupted. Raises ``SourceError``, ``PlanError``,
    ``TargetError``, also when ``target`` exists, and ``ConfigError``; then ``target`` is unchanged.
    """
    terms = StagingTerms(restart=restart, discards=discard_on_interrupt)
    options = replace(_stated(_given(options, BuildOptions)), terms=terms)
    return _logged(building_build.build(as_place(source), as_place(target), options, progress))


def convert(
    path: StrPath,
    target: StrPath,
    options: BuildOptions | None = None,
    *,
    roots: StrPath | Sequence[StrPath] = (),
    restart: bool = False,
    discard_on_interrupt: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Build the package at ``path`` anew at a new ``target``; see ``metspack convert -h``.

    ``path`` is the folder or the METS file of a package, or a folder with a .siard and its LOBs but no METS
    (``grants`` apply only there). Name and OBJID are kept unless given. Children that are not in their places
    are looked for in the ``roots``, by OBJID. Resumes and raises as ``build`` does.
    """
    terms = StagingTerms(restart=restart, discards=discard_on_interrupt)
    options = replace(_stated(_given(options, BuildOptions)), terms=terms)
    places = as_path(path), as_path(target)
    return _logged(building_convert.convert_package(*places, options, progress, roots=as_places(roots)))


def describe(
    folder: StrPath, options: PackageOptions | None = None, *, progress: Progress | None = None
) -> Described:
    """Write only METS files and manifests into a folder whose LOBs are already in segments.

    The folder holds one archive and the segments. Raises ``SourceError``, ``TargetError`` and
    ``ConfigError``; then the folder is as it was.
    """
    options = _stated(_given(options, PackageOptions))
    return _logged(describe_in_place(as_path(folder), options, progress))


def merge(
    paths: StrPath | Sequence[StrPath],
    target: StrPath,
    options: PackageOptions | None = None,
    *,
    jobs: int | None = 1,
    restart: bool = False,
    discard_on_interrupt: bool = False,
    progress: Progress | None = None,
    roots: StrPath | Sequence[StrPath] = (),
) -> Merged:
    """Put a parent and all its children (IPs, or folders that hold them) together at ``target``.

    The dialect is always csip; ``jobs`` processes copy files, as many as help when None.
    Children that are not among them are looked for in the ``roots``, by OBJID. Raises as ``build`` does; then
    ``target`` is unchanged.
    """
    options = _stated(replace(_given(options, PackageOptions), dialect=dialects.for_merging()))
    terms = StagingTerms(restart=restart, discards=discard_on_interrupt)
    jobs = optionfields.whole("jobs", jobs)
    if not (places := as_paths(paths)):
        raise ConfigError("there is no package to merge", hint="Name the parent and its children.")
    made = merge_ips(
        places, as_path(target), options, progress, jobs=jobs, roots=as_paths(roots), terms=terms
    )
    return _logged(made)


def check(
    path: StrPath | Sequence[StrPath],
    options: CheckOptions | None = None,
    *,
    progress: Progress | None = None,
) -> CheckReport:
    """Return the report of a check of packages: folders, METS files, zip or tar files.

    It is an iterator of findings, and has ``ok``. Nothing is read before the first of them is requested.
    Raises ``ConfigError`` for an option that cannot be used, and without a package to check.
    """
    created = clock.now(os.environ) if "SOURCE_DATE_EPOCH" in os.environ else ""
    return CheckReport(_named(path), _given(options, CheckOptions), created=created, progress=progress)


def _named(path: StrPath | Sequence[StrPath]) -> tuple[Path, ...]:
    if not (paths := as_places(path)):
        raise ConfigError("there is no package to check", hint="Name one at least.")
    return paths


class Reportable(Protocol):
    """A result that can be written as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as data for JSON."""


def report(result: Reportable, target: StrPath | Sequence[StrPath], *, with_provenance: bool = True) -> None:
    """Write the report of a check to each ``target``; other results only as ``.json``.

    The form follows from the name's ending: .html, .json, .jsonl, .txt, .csv, or .xml for JUnit. An earlier
    report of the same form is replaced, another file never. With ``with_provenance`` .html and .txt state
    when, where and by whom the package was checked, and its path. The facts of the package in .html, .txt and
    .xml are gathered while it is checked: after a check that has begun already the package is read once more.
    Raises ``ConfigError`` for any other ending and for a report inside the package, and ``TargetError`` where
    the report cannot be written.
    """
    targets = as_paths(target)
    if isinstance(result, CheckReport):
        result.write(targets, clock.now(os.environ) if with_provenance else "")
        return
    for each in targets:
        if each.suffix.lower() != ".json":
            raise ConfigError(
                f"{each} is not the name of a JSON file, and only the report of a check has other forms",
                hint="End the name with .json.",
            )
    block = f"{json.dumps(result.to_json(), indent=2)}\n".encode()
    for each in targets:
        check_vacant(each)
        with writing.open_whole(each) as file:
            file.write(block)


def explain(code: str) -> Explanation:
    """Return what the code of a finding (``L001``) or a requirement of E-ARK (``CSIP60``) means.

    Raises ``ConfigError`` for one that does not exist. A finding explains itself: ``title``, ``remedy``.
    """
    return explained(code)


def links(
    path: StrPath | Sequence[StrPath],
    *,
    roots: StrPath | Sequence[StrPath] = (),
    budgets: Budgets | None = None,
) -> LinkReport:
    """Return the links between parents and children of packages; reads METS files only.

    Children are also looked for in ``roots``, by their OBJID. Raises as ``check`` does.
    """
    return LinkReport.of(_named(path), as_places(roots), budgets)


def inspect(
    source: StrPath,
    *,
    grants: Grants | None = None,
    verify: bool = False,
    accepted: Fault | Collection[str] = frozenset(),
    jobs: int | None = 1,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> InspectionReport:
    """Return the contents of a source: its tables, and each column's LOBs, places and sizes.

    ``verify`` reads every LOB and compares it with its cell. ``ok`` is False when a LOB is not found, a table
    is missing, or verifying finds a fault, of which ``faults`` has the first 10,000. Raises ``SourceError``
    and ``ConfigError``.
    """
    accepted = PackageOptions(accepted=accepted).accepted
    jobs = optionfields.whole("jobs", jobs)
    with opening.opened(as_place(source), budgets, grants or Grants()) as opened:
        taken = accepted if verify else None
        return inspect_source(opened, taken, jobs, progress or Silent())


def restore(
    path: StrPath,
    target: StrPath,
    options: RestoreOptions | None = None,
    *,
    restart: bool = False,
    discard_on_interrupt: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Write the LOBs of the package at ``path`` as whole, proven files into a new folder.

    The same call resumes the work that a stopped call left beside ``target``, unless ``restart`` removes it.
    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then ``target`` is unchanged.
    """
    options = _given(options, RestoreOptions)
    terms = StagingTerms(restart=restart, discards=discard_on_interrupt)
    return _logged(restore_files(as_place(path), as_path(target), options, progress, terms))


def restore_siard(
    path: StrPath,
    target: StrPath,
    into: Into | IntoWord = Into.INSIDE,
    *,
    archive: str | None = None,
    lob_folder_style: FolderStyle | StyleWord = FolderStyle.DILCIS,
    roots: StrPath | Sequence[StrPath] = (),
    budgets: Budgets | None = None,
    restart: bool = False,
    discard_on_interrupt: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Write the archive of the package at ``path`` with its LOBs, each proven on the way.

    ``target`` is the .siard file or a new folder for it; with ``Into.FOLDER`` a folder for it and its LOBs.
    ``archive`` names one of several archives, ``lob_folder_style`` is how it leads to that folder of LOBs,
    ``roots`` are as ``convert`` has them.
    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then ``target`` is unchanged.
    """
    options = RestoreOptions(
        archive=archive,
        lob_folder_style=lob_folder_style,
        budgets=budgets or Budgets(),
        roots=roots,
    )
    place = optionfields.chosen("into", Into, into)
    terms = StagingTerms(restart=restart, discards=discard_on_interrupt)
    return _logged(restore_archive(as_place(path), as_path(target), place, options, progress, terms=terms))


def restore_dry_run(
    path: StrPath,
    options: RestoreOptions | None = None,
    into: Into | IntoWord | None = None,
    *,
    progress: Progress | None = None,
) -> DryRun:
    """Return an iterator of all that prevents restoring the LOBs of the package at ``path``.

    Every LOB is located, joined and proven as ``restore`` has it, with ``into`` as ``restore_siard`` has it.
    Nothing is written. Reading it raises ``SourceError`` when the package cannot be read at all.
    """
    place = None if into is None else optionfields.chosen("into", Into, into)
    return DryRun(as_place(path), _given(options, RestoreOptions), place, progress)


def status(path: StrPath) -> Status:
    """Return the state of the run that makes the target ``path``, or whose ``.partial`` it is.

    Nothing is changed. Raises ``SourceNotFoundError`` where there is neither, ``SourceError`` where no run
    is, and ``TargetUnfinishedError`` for a journal that is damaged.
    """
    return run_status(as_path(path))


def cat(
    path: StrPath,
    lob: str,
    ranges: Sequence[str] = (),
    *,
    verify: bool = True,
    roots: StrPath | Sequence[StrPath] = (),
    budgets: Budgets | None = None,
) -> Iterator[bytes]:
    """Yield the bytes of a LOB of the package at ``path``, or of ``ranges`` of it, in blocks.

    ``lob`` is its ID, ``s0.t2.c4.r14``; ranges are written ``2100-3599``, ``2100-`` or ``-500``. With
    ``verify``, only proven bytes of ranges are yielded; the bytes of a whole LOB are proven once the iterator
    has ended without an error. Raises ``SourceError`` and ``ConfigError``; warns as ``open_lob`` does.
    """
    wanted = [parsed_range(each) for each in ranges]
    with PackageReader(as_place(path), budgets, as_places(roots)) as package:
        yield from joining.extract(package, optionfields.checked("lob", str, lob), wanted, verify=verify)


def list_lobs(
    path: StrPath,
    *,
    table: str = "",
    column: str = "",
    key: str | Sequence[str] = (),
    roots: StrPath | Sequence[StrPath] = (),
    budgets: Budgets | None = None,
) -> Iterator[LobEntry]:
    """Yield the LOBs of the package at ``path``, each with its cell, files, size and digests.

    ``table`` and ``column`` leave out all others; they are names, or numbers as in IDs (``s0.t2``, ``c4``).
    ``key`` leaves out all rows but that with this primary key, a text for each of its columns. No LOB is
    opened. Raises ``ConfigError`` for a table, column or key that does not exist, and ``SourceError`` at the
    end for an archive that cannot be read.
    """
    with Package(path, budgets, roots=roots) as package:
        yield from package.lobs(table=table, column=column, key=key)


def shards(
    path: StrPath,
    lob: str | None = None,
    *,
    base: str = "",
    roots: StrPath | Sequence[StrPath] = (),
    budgets: Budgets | None = None,
) -> Iterator[Shard]:
    """Yield for each LOB of the package at ``path``, or for one, the byte ranges of its files.

    ``base`` is put before the URLs, which are relative to the package. Raises ``SourceError`` for a LOB whose
    parts, files or relations differ from METS, before its shard.
    """
    with PackageReader(as_place(path), budgets, as_places(roots)) as package:
        wanted = None if lob is None else optionfields.checked("lob", str, lob)
        yield from related_shards(package, wanted, base=base)


def open_lob(
    path: StrPath,
    lob: str,
    *,
    verify: bool = True,
    roots: StrPath | Sequence[StrPath] = (),
    budgets: Budgets | None = None,
) -> BufferedReader:
    """Return a LOB of the package at ``path`` as a seekable binary file over all its parts.

    ``lob`` is its ID, ``s0.t2.c4.r14``. With ``verify``, each part that is read is proven by its digest
    before any of it is returned; a LOB that stayed in the archive is proven whole. Opening and reading raise
    ``SourceError``. A Python warning is issued for a LOB that the parent's map does not name, or that no
    digest proves.
    """
    with PackageReader(as_place(path), budgets, as_places(roots)) as package:
        return joining.open_lob(package, optionfields.checked("lob", str, lob), verify=verify)


class Package(Closable):
    """A package to walk: its archives, segments and LOBs; a context manager, for one thread.

    ``path`` is its folder, the METS file of its parent, or a zip or tar file. Its METS files are read at the
    first access; no LOB is. Children that are not in their places are looked for in the ``roots``. Raises
    ``SourceError`` when there is no package there.
    """

    def __init__(
        self, path: StrPath, budgets: Budgets | None = None, *, roots: StrPath | Sequence[StrPath] = ()
    ) -> None:
        self.path = as_place(path)
        self._budgets = budgets
        self._reader = PackageReader(self.path, budgets, as_places(roots))

    def __repr__(self) -> str:
        return f"Package({str(self.path)!r})"

    def close(self) -> None:
        """Release the package and the facts read from it."""
        self._reader.close()

    @property
    def objid(self) -> str:
        """The parent's OBJID."""
        return self._reader.objid

    @property
    def name(self) -> str:
        """The name of the package: that of its archive, or else of its folder."""
        found = self._reader.archives
        return stem_of(found[0][-1]) if found else self._reader.root.resolve().name

    @cached_property
    def archives(self) -> tuple[ArchiveSummary, ...]:
        """The archives in it. Raises ``SourceError`` when one cannot be read."""
        found = []
        for names in self._reader.archives:
            with cells.opened_archive(self._reader, names, self._budgets) as archive:
                stated = archive.metadata
            found.append(
                ArchiveSummary(
                    path="/".join(names),
                    siard_version=stated.version,
                    database=stated.dbname,
                    owner=stated.data_owner,
                    timespan=stated.origin_timespan,
                    tables=tuple(each.label for each in stated.tables),
                )
            )
        return tuple(found)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The children that could be read, in the order in which the parent names them."""
        held = enumerate(self._reader.segments)
        return tuple(Segment(self._reader, number, each, self._budgets) for number, each in held)

    @property
    def faults(self) -> tuple[SourceError, ...]:
        """The errors of children that could not be read, and so are not among the segments."""
        return self._reader.faults

    def lobs(self, *, table: str = "", column: str = "", key: str | Sequence[str] = ()) -> Iterator[LobEntry]:
        """Yield the LOBs as ``list_lobs`` does; their files name their segments."""
        keys = (key,) if isinstance(key, str) else key
        return LobListing(self._reader, table=table, column=column, key=keys, budgets=self._budgets)

    def open_lob(self, lob: str, *, verify: bool = True) -> BufferedReader:
        """Return a LOB as a binary file, as ``open_lob`` does."""
        return joining.open_lob(self._reader, optionfields.checked("lob", str, lob), verify=verify)

    def check(self, options: CheckOptions | None = None, *, progress: Progress | None = None) -> CheckReport:
        """Return the report of a check, as ``check`` does."""
        return check(self.path, options, progress=progress)


@dataclass(frozen=True, kw_only=True)
class ArchiveSummary:
    """An archive in a package: its path there and its metadata; ``tables`` are table names."""

    path: str
    siard_version: str
    database: str
    owner: str
    timespan: str
    tables: tuple[str, ...]


class Segment:
    """A child of a package: its number from 0 in the parent's order, its OBJID and its LOBs."""

    def __init__(
        self, reader: PackageReader, number: int, held: HeldSegment, budgets: Budgets | None
    ) -> None:
        self.number = number
        self._reader = reader
        self._held = held
        self._budgets = budgets

    def __repr__(self) -> str:
        return f"Segment({self.number}, {self.objid!r})"

    @property
    def objid(self) -> str:
        """The OBJID of its METS."""
        return self._held.objid

    @property
    def path(self) -> str:
        """Its folder, or its zip or tar file without the suffix, as the package's METS has it."""
        return "/".join(self._held.folder)

    @property
    def files(self) -> int:
        """The files of LOBs that it lists: LOBs and parts of LOBs."""
        return segment_weight(self._reader, self._held)[0]

    @property
    def bytes(self) -> int:
        """The bytes of these files as METS gives them."""
        return segment_weight(self._reader, self._held)[1]

    def lobs(self) -> Iterator[LobEntry]:
        """Yield the LOBs with files in the segment; ``Package.lobs`` yields those of all at once."""
        return LobListing(self._reader, segment=self._held, budgets=self._budgets)


def _logged(result: _Result) -> _Result:
    """Return a result whose warnings are logged as ``metspack``, at WARNING."""
    for each in result.warnings:
        logging.getLogger("metspack").warning("%s", each)
    return result


def _given(options: _Given | None, kind: type[_Given]) -> _Given:
    return kind() if options is None else optionfields.checked("options", kind, options)


def _stated(options: _Options) -> _Options:
    """Return options with a time; raises ``ConfigError`` for one that is no time."""
    is_dated = options.is_dated or bool(options.created) or "SOURCE_DATE_EPOCH" in os.environ
    created = clock.parsed(options.created) if options.created else clock.now(os.environ)
    return replace(options, created=created, is_dated=is_dated)
