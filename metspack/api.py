"""The public API: the commands as functions that print nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from io import BufferedReader
from typing import TypeVar

from metspack import clock
from metspack.adding.add import add_archive
from metspack.building import build as building_build
from metspack.building import convert as building_convert
from metspack.building import draft, inplace
from metspack.building.build import BuildOptions, Built
from metspack.building.inplace import Described
from metspack.building.options import PackageOptions
from metspack.checking import Checking
from metspack.checking.options import CheckOptions
from metspack.containers.ipwriter import FORMS
from metspack.errors import ConfigError
from metspack.files.reading import StrPath, as_path, as_paths
from metspack.layouts import LAYOUTS
from metspack.layouts.interface import FolderStyle
from metspack.merging.merge import Merged, merge_ips
from metspack.mets import dialects
from metspack.model import Budgets, Segment
from metspack.packages.listing import LobEntry, LobListing
from metspack.packages.lobs import Disagreement
from metspack.packages.package import Package
from metspack.progress import Progress
from metspack.restoring import joining
from metspack.restoring.files import Restored, RestoreOptions, restore_files
from metspack.restoring.roundtrip import proven
from metspack.restoring.shards.writing import Shard
from metspack.restoring.shards.writing import shards as related_shards
from metspack.restoring.siard import Into, restore_archive
from metspack.siard.upgrade import TARGET
from metspack.sizes import parsed_range
from metspack.sources.lobstream import ACCEPTABLE

_Options = TypeVar("_Options", PackageOptions, BuildOptions)


def plan(
    source: StrPath, options: BuildOptions | None = None, *, progress: Progress | None = None
) -> Iterator[Segment]:
    """Yield the segments into which ``build`` would divide the LOBs of a source with the same options.

    Raises ``SourceError``, ``PlanError`` and ``ConfigError``.
    """
    options = _stated(options or BuildOptions())
    yield from draft.drafted(as_path(source), options, progress).segments


def build(
    source: StrPath, target: StrPath, options: BuildOptions | None = None, *, progress: Progress | None = None
) -> Built:
    """Build the package of a source of LOBs at ``target``, which must not exist; see ``metspack build -h``.

    ``source`` is an archive in any form, a folder of LOBs, or a list of them (CSV) with paths relative to
    ``base`` of the options. Raises ``SourceError``, ``PlanError``, ``TargetError`` and
    ``ConfigError``; then nothing is left at ``target``.
    """
    return building_build.build(
        as_path(source), as_path(target), _stated(options or BuildOptions()), progress
    )


def add(
    path: StrPath,
    source: StrPath,
    options: BuildOptions | None = None,
    *,
    representation: str | None = None,
    progress: Progress | None = None,
) -> Built:
    """Add a further archive to the package in the folder ``path``; see ``metspack add -h``.

    ``representation`` is the name of the new representation in dialects that have them; None takes the next
    number. Dialect, OBJID, digests, agents and terms are those of the package, whatever the options say.
    Raises as ``build`` does. After an error or an interruption the package is as it was; after a kill the
    same call finishes the addition.
    """
    return add_archive(
        as_path(path), as_path(source), _stated(options or BuildOptions()), representation, progress
    )


def convert(
    path: StrPath, target: StrPath, options: BuildOptions | None = None, *, progress: Progress | None = None
) -> Built:
    """Build the package at ``path`` anew at ``target``, which must not exist; see ``metspack convert -h``.

    ``path`` is the folder or the METS file of a package, or a folder with a .siard and its LOBs but no METS
    (``grants`` apply only there). Name and OBJID are kept unless given. Raises as ``build`` does.
    """
    return building_convert.convert_package(
        as_path(path), as_path(target), _stated(options or BuildOptions()), progress
    )


def describe(
    folder: StrPath, options: PackageOptions | None = None, *, progress: Progress | None = None
) -> Described:
    """Write METS files and manifests, and nothing else, into a folder whose LOBs are already in segments.

    The folder holds one archive and the segments. Raises ``SourceError``, ``TargetError`` and
    ``ConfigError``; then the folder is as it was.
    """
    return inplace.describe_in_place(as_path(folder), _stated(options or PackageOptions()), progress)


def merge(
    paths: StrPath | Sequence[StrPath],
    target: StrPath,
    options: PackageOptions | None = None,
    *,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Merged:
    """Put a parent and all its children (IPs, or folders that hold them) together at ``target``.

    The dialect is csip, whatever the options say; ``jobs`` processes copy files, as many as help when None.
    Raises as ``build`` does; then nothing is left there.
    """
    options = _stated(replace(options or PackageOptions(), dialect=dialects.for_merging()))
    return merge_ips(as_paths(paths), as_path(target), options, progress, jobs=jobs)


def check(path: StrPath | Sequence[StrPath], options: CheckOptions | None = None) -> Checking:
    """Return an iterator of the findings about packages: folders, METS files, zip or tar files.

    Its ``summary`` counts what was checked. Raises ``ConfigError`` for an option that cannot be used, and
    when there is nothing to check.
    """
    options = options or CheckOptions()
    if not (paths := as_paths(path)):
        raise ConfigError("there is no package to check", hint="Name one at least.")
    return Checking(paths, options.looking(), roots=as_paths(options.roots))


def restore(
    path: StrPath, target: StrPath, options: RestoreOptions | None = None, *, progress: Progress | None = None
) -> Restored:
    """Write the LOBs of the package at ``path`` as whole files into a new folder, each proven on the way.

    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then nothing is left at ``target``.
    """
    options = options or RestoreOptions()
    _check("accepted", options.accepted, ACCEPTABLE)
    return restore_files(as_path(path), as_path(target), options, progress)


def restore_siard(
    path: StrPath,
    target: StrPath,
    into: Into = Into.INSIDE,
    *,
    archive: str | None = None,
    lob_folder_style: FolderStyle = FolderStyle.DILCIS,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Write the archive of the package at ``path`` with its LOBs, each proven on the way.

    ``target`` is the .siard file or a new folder for it; with ``Into.FOLDER`` a folder for it and its LOBs.
    ``archive`` names one of several archives, ``lob_folder_style`` is how it leads to that folder of LOBs.
    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then nothing is left at ``target``.
    """
    options = RestoreOptions(archive=archive, lob_folder_style=lob_folder_style, budgets=budgets or Budgets())
    return restore_archive(as_path(path), as_path(target), into, options, progress)


def cat(
    path: StrPath,
    lob: str,
    ranges: Sequence[str] = (),
    *,
    verify: bool = True,
    budgets: Budgets | None = None,
) -> Iterator[bytes]:
    """Yield the bytes of a LOB of the package at ``path`` in blocks, or those of ``ranges`` of it.

    ``lob`` is its ID, ``s0.t2.c4.r14``; ranges are written ``2100-3599``, ``2100-`` or ``-500``. With
    ``verify``, only proven bytes of ranges are yielded; the bytes of a whole LOB are proven once the iterator
    has ended without an error. Raises ``SourceError`` and ``ConfigError``; warns as ``open_lob`` does.
    """
    asked = [parsed_range(each) for each in ranges]
    with Package(as_path(path), budgets) as package:
        yield from joining.extracted(package, lob, asked, verify=verify)


def list_lobs(
    path: StrPath, *, table: str = "", column: str = "", budgets: Budgets | None = None
) -> Iterator[LobEntry]:
    """Yield the LOBs of the package at ``path``: the cell that names each, its files, size and digests.

    ``table`` and ``column`` leave out all others; they are names, or numbers as in IDs (``s0.t2``, ``c4``).
    No LOB is opened. Raises ``ConfigError`` for a table or column that does not exist, and ``SourceError`` at
    the end for an archive that cannot be read.
    """
    with Package(as_path(path), budgets) as package:
        yield from LobListing(package, table=table, column=column, budgets=budgets)


def shards(
    path: StrPath, lob: str | None = None, *, base: str = "", budgets: Budgets | None = None
) -> Iterator[Shard]:
    """Yield for each LOB of the package at ``path``, or for one, the byte ranges of its files.

    ``base`` is put before the URLs, which are relative to the package. Raises ``SourceError`` for a LOB whose
    parts, files or relations are not as METS says, before its shard.
    """
    with Package(as_path(path), budgets) as package:
        yield from related_shards(package, lob, base=base)


def open_lob(
    path: StrPath, lob: str, *, verify: bool = True, budgets: Budgets | None = None
) -> BufferedReader:
    """Return a LOB of the package at ``path`` as a binary file: read-only, seekable, over all its parts.

    ``lob`` is its ID, ``s0.t2.c4.r14``. With ``verify``, each part that is touched is proven by its digest
    before any of it is returned; a LOB that stayed in the archive is proven whole. Opening and reading raise
    ``SourceError``. A Python warning is issued for a LOB that the parent's map does not name, or that no
    digest proves.
    """
    with Package(as_path(path), budgets) as package:
        return joining.open_lob(package, lob, verify=verify)


def roundtrip(
    path: StrPath,
    *,
    budgets: Budgets | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Disagreement]:
    """Yield what prevents the LOBs of the package at ``path`` from being restored as they were.

    Every LOB is joined and hashed by ``jobs`` processes, as many as help when None; nothing is written.
    Raises ``SourceError`` when the parent METS cannot be read.
    """
    with Package(as_path(path), budgets) as package:
        yield from proven(package, progress, budgets, jobs)


def _stated(options: _Options) -> _Options:
    """Return options with a time; raises ``ConfigError`` for unknown values."""
    _check("dialect", [options.dialect], dialects.DIALECTS)
    _check("accepted", options.accepted, ACCEPTABLE)
    if isinstance(options, BuildOptions):
        _check("layout", [options.layout] if options.layout else (), LAYOUTS)
        _check("siard_version", [options.siard_version] if options.siard_version else (), [TARGET])
        _check("pack", [options.pack] if options.pack else (), FORMS)
    created = clock.parsed(options.created) if options.created else clock.now(os.environ)
    return replace(options, created=created)


def _check(option: str, given: Collection[str], known: Collection[str]) -> None:
    for each in given:
        if each not in known:
            raise ConfigError(f"{option} {each!r} is not known", hint=f"Choose one of {', '.join(known)}.")
