"""What a Python program calls to make and check packages: the commands as functions that print nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from metspack import building, checking, clock, converting, drafting, inplace, layouts
from metspack.adding.added import added
from metspack.building import Built
from metspack.checking import Checking, Level, Profile, grammar, sampling, schema
from metspack.copying import accepted
from metspack.identity import PackageOptions
from metspack.inplace import Described
from metspack.layouts import FolderStyle
from metspack.layouts.lobseg import LAYOUT
from metspack.merging.merged import Merged, merged
from metspack.mets import dialects
from metspack.mets.dialects.interface import DialectOptions, Software
from metspack.model import Budgets, Limits, Segment
from metspack.planning import DEFAULT_PRESET, PRESETS, Division, Split
from metspack.progress import Progress
from metspack.siard.archive import Grants
from metspack.version import __version__

_SOFTWARE = Software(name="metspack", version=f"metspack {__version__}")


def plan(
    source: Path,
    limits: Limits | None = None,
    *,
    layout: str | None = None,
    split: Split = Split.FILL,
    min_size: int | None = None,
    name: str | None = None,
    dialect: str = dialects.DEFAULT,
    base: Path | None = None,
    grants: Grants | None = None,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Iterator[Segment]:
    """Yield the segments that a source's LOBs divide into; the recommendation's limits when none are given.

    The arguments mean what they mean to ``build``. Raises ``SourceError``, ``PlanError`` and ``ConfigError``.
    """
    options = drafting.DraftOptions(
        division=Division(
            limits=limits or PRESETS[DEFAULT_PRESET], layout=layouts.named(layout or LAYOUT.name), split=split
        ),
        dialect=dialect,
        by_dialect=layout is None,
        name=name,
        base=base,
        grants=grants or Grants(),
        min_size=min_size,
        budgets=budgets or Budgets(),
    )
    yield from drafting.drafted(source, options, progress).segments


def build(
    source: Path,
    target: Path,
    *,
    limits: Limits | None = None,
    layout: str | None = None,
    split: Split = Split.FILL,
    lob_folder_style: FolderStyle = FolderStyle.DILCIS,
    min_size: int | None = None,
    plan: Path | None = None,
    name: str | None = None,
    objid: str | None = None,
    base: Path | None = None,
    grants: Grants | None = None,
    add_digests: bool = False,
    mapping_uri: str | None = None,
    lob_manifest: bool = False,
    pack: str | None = None,
    accept: Collection[str] = (),
    checksum: str | None = None,
    agents: Sequence[str] = (),
    dialect: str = dialects.DEFAULT,
    dialect_options: DialectOptions | None = None,
    created: datetime | None = None,
    jobs: int = 1,
    identify: bool = False,
    verify: bool = False,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Built:
    """Build the package of a source of LOBs at ``target``, which must not exist; see ``metspack build -h``.

    ``source`` is an archive in any form, a folder of LOBs, or a list of them (CSV) with the folder ``base``
    that its paths begin in. ``grants`` are the folders that LOBs may lie in beside that of the archive;
    ``pack``, zip or tar, makes each IP one file; None leaves folders.
    ``layout`` is ``lobseg`` or ``siard22``, as the dialect has it when None; ``dialect`` is of
    ``metspack.mets.dialects``, and ``dialect_options`` what it alone takes, such as ``CsipOptions``;
    ``checksum`` is the dialect's when None; ``min_size`` is bytes; ``identify`` tells the formats of LOBs by
    their bytes. ``plan`` is a plan file, whose layout, limits, split and min_size are then taken instead of
    those given. ``created`` (with a time zone) is the only time written; SOURCE_DATE_EPOCH or the clock when
    None. With more than one of ``jobs`` the calling module must be importable
    (``if __name__ == "__main__"``).
    Raises ``SourceError``, ``PlanError``, ``TargetError`` and ``ConfigError``.
    """
    options = _build_options(
        created=created,
        limits=limits,
        layout=layout,
        split=split,
        lob_folder_style=lob_folder_style,
        min_size=min_size,
        plan=plan,
        name=name,
        objid=objid,
        base=base,
        grants=grants,
        add_digests=add_digests,
        mapping_uri=mapping_uri,
        lob_manifest=lob_manifest,
        pack=pack,
        accept=accept,
        checksum=checksum,
        agents=agents,
        dialect=dialect,
        dialect_options=dialect_options,
        jobs=jobs,
        identify=identify,
        verify=verify,
        budgets=budgets,
    )
    return building.build(source, target, options, progress)


def add(
    path: Path,
    source: Path,
    *,
    limits: Limits | None = None,
    layout: str | None = None,
    split: Split = Split.FILL,
    lob_folder_style: FolderStyle = FolderStyle.DILCIS,
    min_size: int | None = None,
    name: str | None = None,
    representation: str | None = None,
    grants: Grants | None = None,
    add_digests: bool = False,
    accept: Collection[str] = (),
    created: datetime | None = None,
    jobs: int = 1,
    identify: bool = False,
    verify: bool = False,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Built:
    """Add a further archive to the package in the folder ``path``; see ``metspack add -h``.

    ``representation`` is the name of the new one in dialects that have such. Dialect, digests and agents are
    the package's; the other arguments mean what they mean to ``build``. Raises as ``build`` does; after an
    error or an interruption the package is as it was, after a kill the same call ends what was begun.
    """
    options = _build_options(
        created=created,
        limits=limits,
        layout=layout,
        split=split,
        lob_folder_style=lob_folder_style,
        min_size=min_size,
        name=name,
        grants=grants,
        add_digests=add_digests,
        accept=accept,
        checksum=None,
        agents=(),
        jobs=jobs,
        identify=identify,
        verify=verify,
        budgets=budgets,
    )
    return added(path, source, options, representation, progress)


def convert(
    path: Path,
    target: Path,
    *,
    limits: Limits | None = None,
    layout: str | None = None,
    split: Split = Split.FILL,
    lob_folder_style: FolderStyle = FolderStyle.DILCIS,
    min_size: int | None = None,
    name: str | None = None,
    objid: str | None = None,
    grants: Grants | None = None,
    add_digests: bool = False,
    mapping_uri: str | None = None,
    lob_manifest: bool = False,
    pack: str | None = None,
    accept: Collection[str] = (),
    checksum: str | None = None,
    agents: Sequence[str] = (),
    dialect: str = dialects.DEFAULT,
    dialect_options: DialectOptions | None = None,
    created: datetime | None = None,
    jobs: int = 1,
    identify: bool = False,
    verify: bool = False,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Built:
    """Build the package at ``path`` anew at ``target``, which must not exist; see ``metspack convert -h``.

    ``path`` is a package's folder, its METS, or a folder with a .siard and its LOBs and without METS, for
    which alone ``grants`` are of use. Name and OBJID are those it has unless given; the arguments mean what
    they mean to ``build``. Raises as ``build`` does.
    """
    options = _build_options(
        created=created,
        limits=limits,
        layout=layout,
        split=split,
        lob_folder_style=lob_folder_style,
        min_size=min_size,
        name=name,
        objid=objid,
        grants=grants,
        add_digests=add_digests,
        mapping_uri=mapping_uri,
        lob_manifest=lob_manifest,
        pack=pack,
        accept=accept,
        checksum=checksum,
        agents=agents,
        dialect=dialect,
        dialect_options=dialect_options,
        jobs=jobs,
        identify=identify,
        verify=verify,
        budgets=budgets,
    )
    return converting.converted(path, target, options, progress)


def _build_options(
    *,
    created: datetime | None,
    limits: Limits | None,
    layout: str | None,
    grants: Grants | None,
    accept: Collection[str],
    checksum: str | None,
    agents: Sequence[str],
    budgets: Budgets | None,
    dialect: str = dialects.DEFAULT,
    dialect_options: DialectOptions | None = None,
    **others: Any,
) -> building.BuildOptions:
    """Return the options of a build; ``others`` are passed on as they are."""
    return building.BuildOptions(
        created=_created(created),
        software=_SOFTWARE,
        limits=limits or PRESETS[DEFAULT_PRESET],
        layout=None if layout is None else layouts.named(layout).name,
        grants=grants or Grants(),
        accepted=accepted(accept),
        checksum=checksum or dialects.facts(dialect).checksum,
        agents=tuple(agents),
        budgets=budgets or Budgets(),
        dialect=dialect,
        dialect_options=dialect_options,
        **others,
    )


def describe(
    folder: Path,
    *,
    name: str | None = None,
    objid: str | None = None,
    grants: Grants | None = None,
    accept: Collection[str] = (),
    checksum: str = "MD5",
    agents: Sequence[str] = (),
    created: datetime | None = None,
    identify: bool = False,
    verify: bool = False,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Described:
    """Write METS files and manifests into a folder whose LOBs lie in segments already, and nothing else.

    The folder holds one archive and the segments; the arguments mean what they mean to ``build``.
    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then the folder is as it was.
    """
    options = PackageOptions(
        created=_created(created),
        software=_SOFTWARE,
        name=name,
        objid=objid,
        grants=grants or Grants(),
        accepted=accepted(accept),
        checksum=checksum,
        agents=tuple(agents),
        identify=identify,
        verify=verify,
        budgets=budgets or Budgets(),
    )
    return inplace.described(folder, options, progress)


def merge(
    paths: Sequence[Path],
    target: Path,
    *,
    objid: str | None = None,
    dialect_options: DialectOptions | None = None,
    checksum: str | None = None,
    agents: Sequence[str] = (),
    created: datetime | None = None,
    verify: bool = False,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Merged:
    """Put a parent and all its children (IPs, or folders that hold them) together at ``target``.

    The arguments mean what they mean to ``build``, which raises the same; then nothing is left there.
    """
    (dialect, *_) = dialects.that_merge()
    options = PackageOptions(
        created=_created(created),
        software=_SOFTWARE,
        objid=objid,
        checksum=checksum or dialects.facts(dialect).checksum,
        agents=tuple(agents),
        dialect=dialect,
        dialect_options=dialect_options,
        verify=verify,
        budgets=budgets or Budgets(),
    )
    return merged(paths, target, options, progress)


def check(
    path: Path | Sequence[Path],
    level: Level = Level.FULL,
    *,
    roots: Sequence[Path] = (),
    sample: str | None = None,
    seed: int = sampling.SEED,
    schema_dir: Path | None = None,
    strict_schema: bool = False,
    jobs: int = 1,
    profile: Profile = Profile.AUTO,
) -> Checking:
    """Return an iterator of what is wrong with packages: folders, METS files, zip or tar files.

    ``roots`` are further folders in which children may lie, found by their OBJID. ``sample`` is the share
    (``1%``) or number (``250``) of files to hash, chosen by ``seed``; ``summary.sampled`` says of how many.
    METS is judged by the schemas in ``schema_dir`` if given, and by xmlschema too with ``strict_schema``.
    ``profile`` is which of the E-ARK standards each is held against, by itself those that it says it follows
    (docs/rules.md). ``jobs`` processes hash files; with more than one the calling module must be importable.
    Raises ``ConfigError`` when one of these cannot be had.
    """
    judged_by = None if schema_dir is None else grammar.of_folder(schema_dir)
    if strict_schema:
        schema.check_second_engine(judged_by)
    return checking.check(
        path,
        level,
        roots=roots,
        sample=None if sample is None else sampling.parsed(sample, seed),
        grammar=judged_by,
        strict=strict_schema,
        jobs=jobs,
        profile=profile,
    )


def _created(given: datetime | None) -> str:
    return clock.now(os.environ) if given is None else clock.written(given)
