"""The packages of a check: those at its paths and in deliveries, each once, sets together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from metspack.checking.codes import Code
from metspack.checking.links.objids import ObjidIndex
from metspack.checking.similarity import likeness, nearest
from metspack.containers.ipreader import OpenPacks
from metspack.errors import SourceError
from metspack.files.paths import reason_of
from metspack.limits import Budgets
from metspack.mets.links import bare
from metspack.model import Finding
from metspack.packages import delivery, rooted
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.expected import ExpectedPackages, folder_in
from metspack.system import os


def found(
    paths: Sequence[Path], granted: Sequence[Path], packs: OpenPacks, budgets: Budgets
) -> tuple[DeliveredPackage, ...]:
    """Return the packages at the paths and in the deliveries among them, then other entries.

    Each package comes once. Raises ``SourceError`` if the only path has no package; with several paths such
    a path has a finding.
    """
    here = [each for path in paths for each in _at(path, packs, budgets, is_only=len(paths) == 1)]
    _check_some(here, paths)
    is_only = len(here) == 1
    if not is_only:
        here = [ip for each in here for ip in (each.ips or (each,))]
    packages = _once([rooted.widened(each, granted, packs, budgets) for each in here if each.is_package])
    if not is_only:  # beside others a package has its folder's path, even if its METS was given
        packages = [
            each if each.is_packed or Path(each.shown).is_dir() else replace(each, shown=str(each.path))
            for each in packages
        ]
    # The packages that were left out are inside the others.
    return (*packages, *(each for each in here if not each.is_package))


def _at(path: Path, packs: OpenPacks, budgets: Budgets, *, is_only: bool) -> Iterator[DeliveredPackage]:
    """Yield the package at a path, or all packages and entries of a delivery."""
    try:
        here = delivery.named(path, packs, budgets)
        is_lost = here[0].path == path and here[0].is_package and not here[0].mets
        is_none = path.is_dir() and (is_lost or (is_only and all(each.source for each in here)))
        if is_none and (error := delivery.refusal_of_source(path)) is not None:
            raise error
    except (SourceError, OSError) as error:
        if is_only:
            raise
        here = [DeliveredPackage(path=path, source=path.name)]
        if not isinstance(error, delivery.NoPackageError):
            reason = error.message if isinstance(error, SourceError) else reason_of(error)
            reason = reason.removeprefix(f"{path}: ").removeprefix(f"{path} ")
            here = [DeliveredPackage(path=path, fault=reason)]
    held = Counter(each.path for each in here if not each.source)
    for each in here:
        at = each.place if each.source or held[each.path] > 1 else each.path
        ips = tuple(replace(ip, shown=str(ip.path)) for ip in each.ips)
        yield replace(each, shown=each.shown or str(at), ips=ips)


def _check_some(here: Sequence[DeliveredPackage], paths: Sequence[Path]) -> None:
    """Raise ``SourceError`` if all found entries are sources, or the only path is no package."""
    if here and all(each.source for each in here):
        first = finding(here[0])
        facts = dict(first.facts)
        raise SourceError(f"{first.path} is {facts['reason']}", hint=facts["expected"])
    if len(here) == 1 and not here[0].is_package and [here[0].shown] == [*map(str, paths)]:
        first = finding(here[0])
        raise SourceError(f"{first.path}: {first.message}", hint=Code.named(first.code).remedy)


def finding(each: DeliveredPackage) -> Finding:
    """Return the finding on an entry of a delivery that is no readable package."""
    if each.source:
        error = delivery.about_source(each)
        reason = error.message.removeprefix(f"{each.shown} is ").partition(", expected")[0]
        return Code.NO_PACKAGE.at(each.shown, reason=reason, expected=error.hint or "")
    if each.other:
        rule = Code.NOT_ARRIVED if each.other in delivery.INCOMPLETE else Code.OTHER_ENTRY
        return rule.at(each.shown, found=each.other)
    if each.unread:
        return Code.FORM_NOT_READ.at(each.shown, found=each.unread)
    return Code.PACKAGE_UNREADABLE.at(each.shown, reason=each.fault)


def _once(packages: Sequence[DeliveredPackage]) -> list[DeliveredPackage]:
    """Return the packages without repeated ones, and without those in the folder of another."""
    first: dict[tuple[str, str, str | None], DeliveredPackage] = {}
    for each in packages:
        first.setdefault((os.path.realpath(each.path), each.within, each.mets), each)
    whole = {at for at, _, mets in first if mets is not None}
    return [each for (at, _, _), each in first.items() if whole.isdisjoint(map(os.fspath, Path(at).parents))]


def folders(found: Sequence[DeliveredPackage]) -> Mapping[Path, set[bytes]]:
    """Return the folders of packages by their roots, with other archives below these roots."""
    folders: dict[Path, set[bytes]] = {}
    for each in found:
        if each.is_package:
            folders.setdefault(each.path, set()).add(os.fsencode(each.within))
    for path in (Path(each.shown) for each in found if not each.is_package):
        for pack in folders.keys() & set(path.parents):
            folders[pack].add(os.fsencode(path.relative_to(pack)))
    return folders


def of_copy(each: DeliveredPackage, index: ObjidIndex, first: dict[str, str]) -> Iterator[Finding]:
    """Yield a finding on a package with the OBJID of another; ``first`` maps OBJIDs to these."""
    found = index.of(each)
    if found is not None and found.objid:
        other = first.setdefault(bare(found.objid), each.shown)
        if other != each.shown:
            path = f"{each.shown}/{each.mets}"
            yield Code.PACKAGES_WITH_ONE_OBJID.at(path, found=found.objid, other=other)


_NEAR, _HINTS = 1_000, 100


def against_expected(
    expected: ExpectedPackages, given: Sequence[tuple[str, str, str]], within: Collection[str]
) -> Iterator[tuple[str, Finding]]:
    """Yield the findings on ``given`` packages that are not expected, and on missing ones.

    ``given`` has the path of each package, its OBJID and its folder's name; the path is yielded with the
    finding, "" for a missing package. ``within`` are the OBJIDs and folders of all METS in the packages.
    """
    listed = {name for each in expected.packages for name in (each.name, folder_in(each.name), each.also)}
    names = {path: tuple(dict.fromkeys(filter(None, both))) for path, *both in given}
    strangers = [
        path
        for path, objid, _ in given
        if listed.isdisjoint(names[path]) and (not expected.objid or objid != expected.objid)
    ]
    come = {*chain.from_iterable(names.values()), *within}
    missing = [
        each
        for each in expected.packages
        if come.isdisjoint({each.name, folder_in(each.name), each.also} - {""})
    ]
    here = dict.fromkeys(name for path in strangers[:_NEAR] for name in names[path])
    for number, each in enumerate(missing):
        near = nearest(each.name, here) if number < _HINTS else ""
        like = likeness(each.name, near) if near else ""
        facts = {"expected": each.name, "nearest": near, "likeness": like}
        yield "", Code.PACKAGE_NOT_COME.at(str(expected.path), each.line, **facts)
    there = dict.fromkeys(name for each in missing[:_NEAR] for name in (each.name, each.also) if name)
    for number, path in enumerate(strangers):
        found = (nearest(name, there) for name in names[path]) if number < _HINTS else iter(())
        near = next(filter(None, found), "")
        facts = {"found": " and ".join(map(repr, names[path])), "source": str(expected.path), "nearest": near}
        yield path, Code.PACKAGE_NOT_ANNOUNCED.at(path, **facts)
    for each, first in expected.again:
        facts = {"expected": each.name, "other": f"{first:,}"}
        yield "", Code.PACKAGE_ANNOUNCED_TWICE.at(str(expected.path), each.line, **facts)
