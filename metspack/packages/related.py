"""Relate given packages by the links in their METS: parents before children, IPs of one package together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from metspack.containers.ipreader import OpenPacks
from metspack.errors import MetspackError
from metspack.limits import Budgets
from metspack.mets import CSIP_METS
from metspack.mets.links import bare
from metspack.packages import delivery
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.objids import PackageIndex
from metspack.system import os


def put_together(
    packages: Sequence[DeliveredPackage], index: PackageIndex, packs: OpenPacks, budgets: Budgets
) -> Iterator[DeliveredPackage]:
    """Yield packages in their order; the given IPs to which one leads become its members.

    They are read as if they were side by side in one folder, as their METS name each other.
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
                _, located, named = delivery.links_in(content.blocks(), here.folder, budgets)
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


def ordered(packages: Sequence[DeliveredPackage], index: PackageIndex) -> list[DeliveredPackage]:
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
