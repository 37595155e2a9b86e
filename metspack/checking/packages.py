"""The packages of a check: those at its paths and in deliveries, each once, sets together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from metspack import uris
from metspack.checking.catalogue import fault
from metspack.checking.codes import Code
from metspack.checking.links.objids import ObjidIndex
from metspack.containers.ipreader import OpenPacks, stem_of_pack
from metspack.errors import MetspackError, SourceError
from metspack.files import walking
from metspack.files.byteranges import FileBelow
from metspack.layouts.names import is_archive
from metspack.limits import Budgets
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, is_mets_name, reader
from metspack.mets.links import bare
from metspack.model import Finding
from metspack.packages import delivery
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import PackageTree, PackedTree
from metspack.system import os

NO_PACKAGE = "no package"
"""The kind of an entry that is no package."""


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
    packages = _once([_widened(each, granted, packs, budgets) for each in here if each.is_package])
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
            reason = error.message if isinstance(error, SourceError) else fault(error)
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


def _once(packages: Sequence[DeliveredPackage]) -> list[DeliveredPackage]:
    """Return the packages without repeated ones, and without those in the folder of another."""
    first: dict[tuple[str, str, str | None], DeliveredPackage] = {}
    for each in packages:
        first.setdefault((os.path.realpath(each.path), each.within, each.mets), each)
    whole = {at for at, _, mets in first if mets is not None}
    return [each for (at, _, _), each in first.items() if whole.isdisjoint(map(os.fspath, Path(at).parents))]


def put_together(
    packages: Sequence[DeliveredPackage], index: ObjidIndex, packs: OpenPacks, budgets: Budgets
) -> Iterator[DeliveredPackage]:
    """Yield packages in their order; the IPs under check to which one leads become its members.

    They are checked as if they were side by side in one folder, as their METS name each other.
    """
    given = {each.shown: each for each in packages}
    beside = {(os.path.dirname(os.path.realpath(each.path)), each.folder): each for each in packages}
    taken: set[str] = set()
    for each in packages:
        if each.shown in taken:
            continue
        members = {each.folder: each}
        ahead = [each] if _is_ip(each) else []
        while ahead:
            here = ahead.pop()
            with suppress(OSError, MetspackError), here.tree(packs).content(CSIP_METS.encode()) as content:
                located, named = delivery.downs(content.blocks(), here.folder, budgets)
                at = os.path.dirname(os.path.realpath(here.path))
                children = [beside[at, name] for name in sorted(located) if (at, name) in beside]
                parent = index.of(here)
                for objid in sorted(named):
                    called, _ = index.children(objid, None if parent is None else parent.objid)
                    called = [child for child in called if child.given and child.given not in taken]
                    called.sort(key=lambda child: index.distance(index.number(each), child))
                    children += [given[child.given] for child in called[:1]]
                for child in children:
                    if _is_ip(child) and child.shown not in taken and child.folder not in members:
                        members[child.folder] = child
                        taken.add(child.shown)
                        ahead.append(child)
        several = tuple(members.values()) if len(members) > 1 else ()
        mets = f"{each.folder}/{each.mets}" if several else each.mets
        yield replace(each, mets=mets, members=several, is_packed=each.is_packed and not several)


def _is_ip(each: DeliveredPackage) -> bool:
    """Return whether a package is one IP in a separate folder or file, with CSIP's METS."""
    return each.mets == CSIP_METS and each.top is None and bool(each.folder)


def weight(path: Path | Sequence[Path], *, whole: bool = True) -> int:
    """Return about how many bytes a check of ``path`` reads, to measure its progress.

    ``whole`` is a full check; any other reads only METS files, where these have their usual places.
    """
    if not isinstance(path, Path):
        return sum(weight(each, whole=whole) for each in path)
    if not whole:
        return sum(_sizes_of_mets(path if path.is_dir() else path.parent))
    if stem_of_pack(path.name) is not None and path.is_file():
        return path.stat().st_size
    # The check reports unreadable files; the progress leaves them out.
    lots = walking.all_lots(path if path.is_dir() else path.parent, (), (b"",), sizes=True)
    sizes = chain.from_iterable(zip(each.names, each.sizes, strict=True) for each in lots)
    # An archive is read as a file, and its entries once more.
    return sum(2 * size if is_archive(os.fsdecode(name)) else size for name, size in sizes)


def _sizes_of_mets(root: Path) -> Iterator[int]:
    """Yield the sizes of METS at the top, one folder below, and in representations."""
    waiting = [b""]
    for folder in waiting:
        are_all = not folder or folder.endswith(_REPRESENTATIONS)
        for lot in walking.lots(root, (), folder, sizes=True):
            yield from (size for name, size in zip(lot.names, lot.sizes, strict=True) if is_mets_name(name))
            waiting += (each for each in lot.folders if are_all or each.endswith(_REPRESENTATIONS))


_REPRESENTATIONS = REPRESENTATIONS_FOLDER.encode()
_UP = b"../"


def _widened(
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


def ordered(packages: Sequence[DeliveredPackage], index: ObjidIndex) -> list[DeliveredPackage]:
    """Return the packages with each parent before its children, otherwise by OBJID."""
    indexed = [(each, index.of(each)) for each in packages]
    indexed.sort(key=lambda each: (bare(each[1].objid) if each[1] else "", each[0].path.name, each[0].shown))
    numbers: dict[str, list[int]] = {}
    for number, (_, found) in enumerate(indexed):
        if found is not None and found.objid:
            numbers.setdefault(bare(found.objid), []).append(number)
    parents: list[set[int]] = [set() for _ in indexed]
    for number, (_, found) in enumerate(indexed):
        if found is not None:
            parents[number].update(each for up in found.ups for each in numbers.get(up, ()))
            for down in found.downs:
                for child in numbers.get(down, ()):
                    parents[child].add(number)
    after: dict[int, None] = {}
    for number in range(len(indexed)):
        _put_after(number, parents, after)
    return [indexed[number][0] for number in after]


def _put_after(number: int, parents: Sequence[set[int]], after: dict[int, None]) -> None:
    """Put a package behind its parents, and these behind theirs; a loop stays in the order met."""
    ahead, under_way = [number], set[int]()
    while ahead:
        here = ahead[-1]
        more = [] if here in under_way else sorted(parents[here] - after.keys() - under_way, reverse=True)
        under_way.add(here)
        ahead += more
        if not more:
            after.setdefault(ahead.pop())


def of_copy(each: DeliveredPackage, index: ObjidIndex, first: dict[str, str]) -> Iterator[Finding]:
    """Yield a finding on a package with the OBJID of another; ``first`` maps OBJIDs to these."""
    found = index.of(each)
    if found is not None and found.objid:
        other = first.setdefault(bare(found.objid), each.shown)
        if other != each.shown:
            path = f"{each.shown}/{each.mets}"
            yield Code.PACKAGES_WITH_ONE_OBJID.at(path, found=found.objid, other=other)
