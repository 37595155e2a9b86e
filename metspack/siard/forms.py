"""Open a SIARD archive in any form: a zip file, its parts, or a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metspack.containers.zipreader import ZipContainer
from metspack.errors import SourceError
from metspack.files.byteranges import FileBelow, FileRange
from metspack.layouts.names import METS_NAMES, PART, is_archive, part_suffix
from metspack.limits import Budgets
from metspack.siard import entries, metadata
from metspack.siard.entries import AnyTree, FolderEntries, WrappedTree
from metspack.system import quoted

UNPACKED_ROOT = 1
"""The number of an unpacked archive's folder among the roots: 0 is the folder that holds it."""

_WRAPPED = "A SIARD archive has its metadata there (SIARD 2.2 P_4.2-5)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An opened archive: its entries, its name, and the folders that its LOBs may be in.

    ``container`` is None for an unpacked archive. ``prefix`` is the folder that wraps all entries in the zip
    or in the folder, ``my_archive/``, or "" without one. ``name`` is that of the .siard file or of the
    unpacked archive's folder. ``roots`` are the folder that holds it and, at ``UNPACKED_ROOT``, the folder of
    an unpacked archive. ``size`` is in bytes.
    """

    tree: AnyTree
    container: ZipContainer | None
    prefix: str
    name: str
    roots: tuple[Path, ...]
    size: int


def is_unpacked(path: Path) -> bool:
    """Return whether a folder is an unpacked archive, or has exactly one folder that is."""
    return (path / metadata.NAME).is_file() or sum(
        each.is_file() for each in path.glob(f"*/{metadata.NAME}")
    ) == 1


def opened(path: Path, budgets: Budgets, at: FileRange | None = None) -> Opened:
    """Return the archive at ``path``: a .siard file, one of its parts, or a folder.

    The name of the whole stands for its parts too. ``at`` is the range of an archive in a packed file; then
    ``path`` is the archive's path once unpacked. Raises ``SourceError`` without an archive, and as
    ``ZipContainer`` and ``FolderEntries`` do.
    """
    tree: ZipContainer | FolderEntries
    if at is None and path.is_dir():
        if not is_unpacked(path):
            raise SourceError(
                f"{path} is a folder, expected a .siard file or an unpacked archive", hint=_inside(path)
            )
        tree, whole = FolderEntries(path, index=UNPACKED_ROOT), path.resolve()
    else:
        whole, parts = _pieces(path) if at is None else (path, (at,))
        tree = ZipContainer.opened(whole if parts else path, budgets, parts)
    try:
        prefix = _root(tree, path)
    except BaseException:
        tree.close()
        raise
    return Opened(
        tree=WrappedTree(tree, prefix) if prefix else tree,
        container=tree if isinstance(tree, ZipContainer) else None,
        prefix=prefix,
        name=whole.name,
        roots=(whole.parent,) if isinstance(tree, ZipContainer) else (whole.parent, path),
        size=tree.size,
    )


def _root(tree: AnyTree, path: Path) -> str:
    """Return the folder that wraps the archive's entries, or ""."""
    if tree.extent(metadata.NAME) is not None:
        return ""
    root = entries.wrapping_root(tree)
    if root is None:
        raise SourceError(
            f"{path} is a zip archive without {metadata.NAME}, so it is not a SIARD archive", hint=_WRAPPED
        )
    return root


def _inside(folder: Path) -> str:
    entries_there = sorted(folder.iterdir())
    found = [each for each in entries_there if is_archive(each.name) and each.is_file()]
    if any((each / name).is_file() for each in (folder, *entries_there) for name in METS_NAMES):
        at = quoted(str(folder))
        problem = (
            f"It is a package, which has METS: metspack convert {at} -o NEW divides it anew, "
            f"metspack list {at} shows its LOBs"
        )
        return problem + (f", metspack inspect {quoted(str(found[0]))} its archive." if found else ".")
    if found:
        return (
            f"It holds {', '.join(each.name for each in found[:3])}: name the file, {found[0]}; or, where "
            "the LOBs lie in segments already, describe the folder with --keep-segments --in-place."
        )
    return f"It holds neither {metadata.NAME} nor a .siard file."


def _pieces(path: Path) -> tuple[Path, tuple[Path | FileBelow | FileRange, ...]]:
    """Return the path of the whole archive, and its parts, if it has any (SIARD 2.2 S_8.2-0).

    The part that a person names may be a link, the other parts may not.
    """
    named = PART.fullmatch(path.name)
    whole = path if named is None else path.with_name(named[1])
    if named is None and (path.exists() or not _piece(path, 1).exists()):
        return path, ()
    if named is not None and whole.exists():
        raise SourceError(
            f"{whole} is there whole, and so is its part {path.name}",
            hint=f"Remove the parts if {whole.name} is complete, else move it away and name its first part.",
        )
    numbers = sorted(
        int(found[2])
        for each in whole.parent.iterdir()
        if (found := PART.fullmatch(each.name)) is not None and found[1] == whole.name
    )
    for expected, number in enumerate(numbers, start=1):
        if number != expected:
            name = _piece(whole, number).name
            what = "is there twice" if number < expected else f"is missing; found {name}"
            raise SourceError(
                f"{whole} was cut into parts, and {_piece(whole, min(expected, number)).name} {what}",
                hint="All parts lie beside one another, numbered from 001 without a gap (SIARD 2.2 S_8.2-0).",
            )
    return whole, tuple(_trusted(_piece(whole, number), path) for number in numbers)


def _trusted(part: Path, named: Path) -> Path | FileBelow:
    if part.name == named.name:
        return named
    if part.is_symlink():
        raise SourceError(
            f"{part} is a symbolic link; expected a part of the archive itself",
            hint="Put the part itself in its place; a link is followed only to the file that is named.",
        )
    return FileBelow(root=part.parent, segments=(part.name,))


def _piece(whole: Path, number: int) -> Path:
    return whole.with_name(f"{whole.name}{part_suffix(number)}")
