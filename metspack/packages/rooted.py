"""Identify a package by its METS, and root it at the folder that holds all listed files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from metspack import uris
from metspack.containers.ipreader import OpenPacks, stem_of_pack
from metspack.errors import MetspackError
from metspack.files.byteranges import FileBelow
from metspack.limits import Budgets
from metspack.mets import is_mets_name, reader
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import PackageTree, PackedTree
from metspack.system import os

NO_PACKAGE = "no package"
"""The kind of an entry that is no package."""


def identity(each: DeliveredPackage, packs: OpenPacks, budgets: Budgets) -> reader.Identity:
    """Return a package's identity, with its form in ``kind``; for other entries only a kind."""
    if not each.is_package:
        return reader.Identity(kind=NO_PACKAGE if each.source or each.other else "")
    tree = each.tree(packs)
    if each.mets is None:
        with suppress(OSError, MetspackError), closing(tree.walk()) as items:
            if all(item.kind == "d" for item in items):
                return reader.Identity(kind=NO_PACKAGE)
        return reader.Identity(kind="no METS")
    mets = each.mets
    if each.top is not None:
        tree, mets = top_tree(each, each.top, packs), mets.rpartition("/")[2]
    here = reader.Identity()
    for _ in range(2):  # a read that failed may succeed in the check, which then has no finding
        with suppress(OSError, MetspackError), tree.content(os.fsencode(mets)) as content:
            here = reader.identity(content.blocks(), mets.rpartition("/")[2], budgets)
            break
    form = ", in a bag" if each.is_bag else ""
    if each.is_packed:
        stem = stem_of_pack(each.path.name) or ""
        form += f", in a {each.path.name[len(stem) + 1 :].lower()} file"
    return replace(here, kind=f"{here.kind or 'unreadable METS'}{form}")


def top_tree(each: DeliveredPackage, top: DeliveredPackage, packs: OpenPacks) -> PackageTree:
    """Return the files of the packed IP at the top of several IPs in a folder."""
    return PackedTree(packs, FileBelow(root=each.path, segments=(top.path.name,)), os.fsencode(top.within))


_UP = b"../"


def widened(
    package: DeliveredPackage, granted: Sequence[Path], packs: OpenPacks, budgets: Budgets
) -> DeliveredPackage:
    """Return the package rooted at the folder that its METS leads up into, if a root has it.

    Only the files that a METS lists make a folder the package's: METS of other packages, and links, do not.
    """
    if package.mets is None or package.is_packed or package.top is not None:
        return package
    root = os.path.realpath(package.path)
    above = [each for each in map(os.path.realpath, granted) if root.startswith(f"{each.rstrip('/')}/")]
    if not above or not (steps := _steps_up(package, packs, budgets)):
        return package
    folder = Path(root).parents[steps - 1] if steps <= len(Path(root).parents) else None
    if folder is None or not any(folder.is_relative_to(each) for each in above):
        return package
    within = os.path.relpath(root, folder)
    return replace(package, path=folder, mets=f"{within}/{package.mets}")


def _steps_up(package: DeliveredPackage, packs: OpenPacks, budgets: Budgets) -> int:
    """Return how many folders above its METS the listed files lie; 0 for an unreadable METS."""
    path = os.fsencode(package.mets or "")
    depth = path.count(b"/")
    try:
        with package.tree(packs).content(path) as content:
            if not _holds(content.blocks(), _UP):
                return 0
            facts = reader.read(content.blocks(), budgets)
            return max((_climb(fact) - depth for fact in facts if isinstance(fact, reader.File)), default=0)
    except (OSError, MetspackError):
        return 0  # the check of the package reports its faults


def _climb(file: reader.File) -> int:
    href = file.href or ""
    if _UP.decode() not in href or is_mets_name(href):
        return 0
    try:
        reference = uris.located(href)
    except uris.ReferenceRefused:
        return 0
    if reference.kind is not uris.Kind.RELATIVE:
        return 0
    return uris.collapsed(reference.segments).count("..")


def _holds(data: Iterator[bytes], mark: bytes) -> bool:
    before = b""
    for block in data:
        before = before[1 - len(mark) :] + block
        if mark in before:
            return True
    return False
