"""Packages whose METS lies in a subfolder and leads up into the package: ``metadata/mets.xml``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from metspack import uris
from metspack.checking.opening import PackageToCheck
from metspack.errors import MetspackError
from metspack.mets import is_mets_name, reader
from metspack.model import Budgets
from metspack.packages.files import FolderTree

_UP = b"../"


def widened(package: PackageToCheck, granted: Sequence[Path], budgets: Budgets) -> PackageToCheck:
    """Return the package with the folder that its METS leads up into, if a granted root holds that folder.

    Only the files that a METS lists make a folder the package's: METS of other packages, and links, do not.
    """
    if package.mets is None or package.holder.is_packed or package.top is not None:
        return package
    root = os.path.realpath(package.root)
    above = [each for each in map(os.path.realpath, granted) if root.startswith(f"{each.rstrip('/')}/")]
    if not above or not (steps := _steps_up(package, budgets)):
        return package
    folder = Path(root).parents[steps - 1] if steps <= len(Path(root).parents) else None
    if folder is None or not any(folder.is_relative_to(each) for each in above):
        return package
    within = os.path.relpath(root, folder)
    return replace(package, root=folder, holder=FolderTree(folder), mets=f"{within}/{package.mets}")


def _steps_up(package: PackageToCheck, budgets: Budgets) -> int:
    """Return how many folders up from its METS's the files lie that it lists; 0 when it cannot be read."""
    path = os.fsencode(package.mets or "")
    own = path.count(b"/")
    try:
        with package.holder.content(path) as content:
            if not _holds(content.blocks(), _UP):
                return 0
            facts = reader.read(content.blocks(), budgets)
            return max((_climb(fact) - own for fact in facts if isinstance(fact, reader.File)), default=0)
    except (OSError, MetspackError):
        return 0  # what is wrong with it is told where it is checked


def _climb(file: reader.File) -> int:
    href = file.href or ""
    if _UP.decode() not in href or is_mets_name(href):
        return 0
    try:
        reference = uris.parsed(href)
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
