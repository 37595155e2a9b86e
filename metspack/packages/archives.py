"""Which archive of a package a LOB's id is of: ids are places, or begin with the archive's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metspack.errors import SourceError
from metspack.mets import lobids
from metspack.packages.package import Package

_SEVERAL = 2


def identified(package: Package, lob: str) -> str:
    """Return the id that METS would list a LOB under: for ``First.s0.t2.c4.r1`` that without the name.

    An id remains as it is that names an archive whose LOBs METS cannot be seen to list: its cells tell.
    """
    own, place = lobids.parted(lob)
    path = next((each for each in package.archives if own and name(each) == own), None)
    if path is None or package.index.prefix(path):
        return lob
    others = (each for each in package.archives if each != path)
    return place if all(map(package.index.prefix, others)) else lob


def places(package: Package, lob: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the archives in which the cell of a LOB can be, with its place there.

    With a name it is that archive's; without, it is of those whose LOBs' ids in METS have none.
    """
    own, place = lobids.parted(lob)
    for path in package.archives:
        if name(path) == own if own else not package.index.prefix(path):
            yield path, place


def check_one(package: Package, lob: str, has: Callable[[tuple[str, ...], str], bool]) -> None:
    """Raise ``SourceError`` for an id without a name that is a place in several archives.

    ``has`` tells whether an archive has a cell with that place.
    """
    if len(package.archives) < _SEVERAL or lobids.parted(lob)[0]:
        return
    listed = sum(package.index.holds(own + lob) for own in map(package.index.prefix, package.archives) if own)
    cells = sum(has(*each) for each in places(package, lob))
    if listed + max(cells, package.index.holds(lob)) >= _SEVERAL:
        ids = [f"{name(path)}{lob}" for path in package.archives]
        raise SourceError(
            f"several archives of the package have a LOB {lob}",
            hint=f"Say which is meant: {', '.join(ids[:-1])} or {ids[-1]}.",
        )


def name(path: tuple[str, ...]) -> str:
    """Return what the ids of an archive's LOBs begin with once it is named by them."""
    return lobids.prefix(path[-1])


def chosen(
    package: Package, archive: str | None, only: tuple[str, ...], hint: str
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the archive of this name, or that the ids of ``only`` begin with, or the one that there is.

    With it those ids without the name; None when there is no archive at all. Raises ``SourceError`` when
    there is no such archive, or several and none is meant; ``hint`` says then what to do.
    """
    found = package.archives
    meant = [
        path
        for path in found
        if (only and all(each.startswith(name(path)) for each in only))
        or (archive is not None and name(path) == lobids.prefix(f"{archive}.siard"))
    ]
    if archive is not None and not meant:
        names = ", ".join(name(path).removesuffix(".") for path in found)
        raise SourceError(
            f"{package.root} holds no archive {archive!r}",
            hint=f"There is {names}." if found else "It holds no archive at all.",
        )
    if len(meant or found) > 1:
        listed = ", ".join("/".join(path) for path in found[:3])
        raise SourceError(f"{package.root} holds {len(found):,} archives: {listed}", hint=hint)
    path = next(iter(meant or found), None)
    return path, only if path is None else tuple(each.removeprefix(name(path)) for each in only)
