"""Convert a package to other limits, another layout or dialect, without restoring it.

The LOBs are read from their segments. METS, if the package has any, proves each part, each whole and the
archive while they are read; the cell proves each LOB in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from metspack.building import build, draft
from metspack.building.build import BuildOptions, Built
from metspack.digests import is_manifest
from metspack.errors import ConfigError, SourceError
from metspack.files.staging import check_target
from metspack.layouts.names import is_archive
from metspack.mets import dialects, is_mets_name
from metspack.mets.reader import head
from metspack.model import Notice
from metspack.packages import delivery
from metspack.packages import package as packages_package
from metspack.packages import source as packages_source
from metspack.packages.source import Packaged
from metspack.progress import Progress, Silent
from metspack.sizes import counted
from metspack.sources import opening
from metspack.sources.archive import Archive, Grants
from metspack.system import os

_SEVERAL = (
    "Only a package of one archive can be converted. Restore each and build a package of it: metspack "
    "restore OUT --siard --archive NAME -o NAME.siard, then metspack build."
)


def convert_package(
    path: Path,
    target: Path,
    options: BuildOptions,
    progress: Progress | None = None,
    *,
    roots: Sequence[Path] = (),
) -> Built:
    """Build the package at ``path`` anew at ``target``, which must not exist.

    ``path`` is a package's folder or the METS of its parent, or a folder without METS that holds a .siard
    file and its LOBs, as other tools write them; a package whose parent METS is missing is refused. Name and
    OBJID stay, and profile, types and agents from one E-ARK package to another, unless the options give
    others; ``build`` decides everything else, so that the options of the
    first build give the same bytes again. Children that are missing from their places are searched for in
    the ``roots``.
    Raises the errors of ``build.build``, and resumes as that does; the old package stays unchanged.
    """
    progress = progress or Silent()
    check_target(target, path)
    progress.stage("Reading METS", None)
    with _opened(path, options, roots) as source:
        if isinstance(source, Archive):
            source.check_complete(options.accepted)
        if isinstance(source, Archive) and not isinstance(source, packages_source.PackagedArchive):
            return build.build_from(source, target, options, progress, command="convert")
        named = replace(
            _with_stated(options, source.package),
            name=source.stem if options.name is None else options.name,
            objid=(source.package.objid or None) if options.objid is None else options.objid,
        )
        source.prove(progress)
        return build.build_from(
            source,
            target,
            named,
            progress,
            command="convert",
            identity=packages_package.identity(source.package, opening.identity(source)),
            remarks=lambda: _words(source),
        )


def objid_of(path: Path, options: BuildOptions) -> str:
    """Return the OBJID that ``convert_package`` keeps or gives, "" when the package lacks one.

    Raises ``SourceError`` and ``ConfigError``.
    """
    if options.objid is not None:
        return options.objid
    with _opened(path, options) as source:
        if isinstance(source, Archive) and not isinstance(source, packages_source.PackagedArchive):
            return draft.objid_of(source.path, options)
        return source.package.objid


def _with_stated(options: BuildOptions, package: packages_package.Package) -> BuildOptions:
    """Return options, completed by the terms and agents that an E-ARK package states."""
    dialect = dialects.named(options.dialect)
    if not dialects.facts(options.dialect).merges or PurePosixPath(package.mets).name != dialect.mets:
        return options
    header = head(package.index.document(package.mets), options.budgets)
    adopted = dialect.adopted(options.dialect_options, package.root, (), None, header)
    profile = options.mets_profile or adopted.profile
    return replace(options, mets_profile=profile, dialect_options=adopted.options)


@contextmanager
def _opened(path: Path, options: BuildOptions, roots: Sequence[Path] = ()) -> Iterator[Packaged | Archive]:
    if path.is_dir() and delivery.only_package(path, options.budgets) is None:
        _check_never_had_mets(path)
        with Archive(_archive(path), options.budgets, options.grants) as archive:
            yield archive
    else:
        if options.grants != Grants():
            raise ConfigError(
                "the LOBs of a package with METS all lie in it; no other folder can be granted",
                hint="Leave --lob-root, --map-drive and --mapping out.",
            )
        with packages_source.opened(path, options.budgets, hint=_SEVERAL, roots=roots) as source:
            yield source


def _check_never_had_mets(folder: Path) -> None:
    """Raise ``SourceError`` for a package without the parent METS that would prove its bytes."""
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            found = Path(place, name)
            is_manifest_here = place == str(folder) and is_manifest(name)
            listed = next(delivery.mets_listed(found), "") if is_manifest_here else ""
            if not (listed or is_mets_name(name)):
                continue
            what = f"{found}, which lists {listed}" if listed else f"{found}"
            raise SourceError(
                f"{folder} holds no mets.xml, but {what}: the parent METS is missing",
                hint="Get it from another copy of the package; without it, changed and missing files "
                "cannot be noticed. metspack build makes a package of the .siard, verified by cells only.",
            )


def _archive(folder: Path) -> Path:
    """Return the only archive in a folder without METS; raises ``SourceError``."""
    found = sorted(each for each in folder.iterdir() if is_archive(each.name) and each.is_file())
    if len(found) == 1:
        return found[0]
    names = f": {', '.join(each.name for each in found[:3])}" if found else ""
    raise SourceError(
        f"{folder} holds no mets.xml, and {counted(len(found), '.siard file')}{names}; "
        "expected one of either",
        hint="Name a package's folder, or one with a single .siard and the folders of its LOBs.",
    )


def _words(source: Packaged) -> Iterator[Notice]:
    if left := source.unnamed_count():
        yield Notice("lob-unnamed", f"{counted(left, 'LOB')} that METS lists and no cell names: left out")
    yield from source.remarks()
