"""Find the IPs of a divided representation by the METS of their parent (E-ARK AIP)."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

from metspack.containers.ipreader import OpenPacks
from metspack.errors import MetspackError, SourceError
from metspack.files.paths import Names, names_of, path_of
from metspack.files.walking import checked_lots
from metspack.limits import Budgets
from metspack.merging.dataindex import DataIndex
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, reader
from metspack.mets.fastreader import condensed
from metspack.mets.links import Mptr, bare
from metspack.model import LONGEST
from metspack.packages import delivery
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import FolderTree, PackageTree, PackedTree
from metspack.packages.index import Index, unreadable_mets
from metspack.packages.metsfiles import is_representation
from metspack.system import os
from metspack.uris import shown

ANOTHER = "Get it from another copy; metspack check shows what else is wrong with it."

_METS = "SELECT id, path, coalesce(called, ''), objid IS NULL FROM mets ORDER BY id"
_NAMING = """SELECT m.path FROM mptr p JOIN mets m ON m.id = p.mets
WHERE NOT p.up AND bare(p.href) = bare(?) ORDER BY p.id LIMIT 1"""
_WITH_CHILDREN = "SELECT DISTINCT mets FROM mptr WHERE down AND NOT url AND href <> ''"


_GivenIp = tuple[DeliveredPackage, str, str]
"""A given IP, its OBJID, and the reference to its parent in its METS, "" at the top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedIp:
    """An IP to be merged: the folder at ``path``, or the zip or tar file there that holds it.

    ``tree`` reads the IP. Paths in the index begin with ``folder``; ``documents`` are the numbers in the
    index of its METS and of that of its representation. ``is_list`` means that the IP names children and has
    no data of the representation.
    """

    path: Path
    tree: PackageTree
    folder: str
    documents: Sequence[int]
    representations: Names
    is_list: bool = False

    def files(self) -> Generator[tuple[Names, Sequence[str]], None, None]:
        """Yield the names on the path of each folder in the IP, with those of some files in it.

        Raises ``SourceError`` for entries that are neither file nor folder, or are beside that folder.
        """
        tree = self.tree
        if isinstance(tree, FolderTree):
            with closing(checked_lots(tree.root, tree.names)) as lots:
                for lot in lots:
                    yield names_of(lot.folder)[len(tree.names) :], list(map(os.fsdecode, lot.names))
        elif isinstance(tree, PackedTree):
            for folder, together in groupby(self._packed_files(tree), key=itemgetter(slice(-1))):
                while some := [names[-1] for names in islice(together, LONGEST)]:
                    yield folder, some

    def _packed_files(self, tree: PackedTree) -> Iterator[Names]:
        """Yield the names of each file in a zip or tar file, from the IP's folder."""
        below = names_of(tree.folder)
        with closing(tree.all_of_file().walk()) as items:
            for item in items:
                names = names_of(item.name)
                if item.kind == "f" and names[: len(below)] == below != names:
                    yield names[len(below) :]
                elif item.kind != "d":
                    raise SourceError(
                        f"{self.path} holds {shown('/'.join(names))}, expected files in the folder "
                        f"{'/'.join(below)} only",
                        hint="An IP that is packed is one folder in one file, without links.",
                    )


@contextmanager
def open_ips(
    paths: Sequence[Path], roots: Sequence[Path], budgets: Budgets
) -> Iterator[tuple[DataIndex, tuple[MergedIp, ...]]]:
    """Yield the index of some IPs, and the IPs, the parent first, for the length of a block.

    Each path is that of an IP, a folder or packed, or of a folder that holds IPs side by side; further
    children may be in the ``roots``. Raises ``SourceError`` unless the IPs are one parent with all of its
    children.
    """
    roots = tuple(map(delivery.root, roots))
    with closing(OpenPacks(budgets)) as packs:
        given = [_given(each, packs, budgets) for path in paths for each in _delivered(path, packs, budgets)]
    parent = _parent(given)
    # The given children count, even where others are in their places beside the parent.
    root = parent.path.parent if parent.is_packed else parent.path
    merged = tuple(dict.fromkeys(ip.path for ip, *_ in given))
    name = f"{parent.folder}/{CSIP_METS}"
    with closing(DataIndex(root, name, budgets, parent, roots, merged=merged)) as index:
        given_paths = {os.path.realpath(ip.path): f"{ip.path} ({objid})" for ip, objid, _ in given}
        yield index, _merged(index, given_paths, roots)


def _delivered(path: Path, packs: OpenPacks, budgets: Budgets) -> list[DeliveredPackage]:
    found = delivery.named(path, packs, budgets, joins=False)
    for each in found:
        if each.fault:
            raise SourceError(f"{each.path}: {each.fault}", hint=ANOTHER)
    ips = [each for each in found if each.mets == CSIP_METS and each.around.name != REPRESENTATIONS_FOLDER]
    if ips:
        return ips
    raise SourceError(
        f"{path} holds no {CSIP_METS}, nor does a folder in it, or a zip or tar file",
        hint="Containers are IPs of the dialect csip: metspack build --dialect csip. Packages of the "
        "other dialect are one folder already.",
    )


def _given(ip: DeliveredPackage, packs: OpenPacks, budgets: Budgets) -> _GivenIp:
    """Return an IP with its OBJID and the reference to its parent, as its METS states them."""
    objid = above = ""
    try:
        with ip.tree(packs).content(CSIP_METS.encode()) as content:
            for fact in condensed(content.blocks(), budgets):
                if isinstance(fact, reader.Root):
                    objid = (fact.objid or "").strip()
                elif isinstance(fact, Mptr) and fact.is_upward:
                    above = above or fact.href or ""
    except (OSError, MetspackError) as error:
        raise unreadable_mets(str(ip.path / CSIP_METS), error) from None
    if not objid:
        raise SourceError(f"{ip.path / CSIP_METS} has no OBJID", hint=ANOTHER)
    return ip, objid, above


def _parent(given: Sequence[_GivenIp]) -> DeliveredPackage:
    """Return the only IP without a parent.

    Raises ``SourceError`` unless exactly one has no parent, and for an IP that is given twice.
    """
    by_objid: dict[str, DeliveredPackage] = {}
    for ip, objid, _ in given:
        if (other := by_objid.setdefault(bare(objid), ip)) is not ip:
            raise SourceError(
                f"{other.path} and {ip.path} are both {objid}", hint="Name each container once."
            )
    parents = [(ip, objid) for ip, objid, above in given if not above]
    if not parents:
        raise SourceError(
            f"no parent is among the containers: {given[0][0].path} names {given[0][2]}",
            hint="Name the parent IP as well: it names all children and, as a rule, holds the archive.",
        )
    if len(parents) > 1:
        shown = " and ".join(f"{ip.path} ({objid})" for ip, objid in parents[:2])
        raise SourceError(
            f"{shown} are both parents; expected the containers of one package",
            hint="Merge each package by itself.",
        )
    return parents[0][0]


def _merged(index: Index, given: Mapping[str, str], roots: Sequence[Path]) -> tuple[MergedIp, ...]:
    """Return the IPs that the index links to: all are ``given`` or in the ``roots``.

    ``given`` has the description of each by its path without links. Raises ``SourceError`` for any other IP,
    and for given ones that no METS names.
    """
    left = dict(given)
    documents: dict[str, list[int]] = {}
    found: list[MergedIp] = []
    places: dict[str, Path] = {}
    for number, path, called, is_unread in index.rows(_METS):
        names = tuple(path.split("/"))
        folder = "/".join(names[:-3] if is_representation(names) else names[:-1])
        numbers = documents.setdefault(folder, [])
        numbers.append(number)
        if is_representation(names):
            continue
        tree, inner = index.files.held(path_of(names[:-1]))
        if isinstance(tree, FolderTree):
            tree = FolderTree(tree.root, (*tree.names, *names_of(inner)))
        place = tree.file.path if isinstance(tree, PackedTree) else Path(tree.shown)
        real = os.path.realpath(place)
        left.pop(real, None)
        if real not in given and not (place.exists() and any(map(place.is_relative_to, roots))):
            (by,) = index.row(_NAMING, called) or (found[0].path / CSIP_METS,)
            raise SourceError(
                f"{_located(str(by), places)} names the child {called or path}, which is not among the "
                "containers",
                hint=f"Name it as well, or the folder that holds it with --root (it was made to lie at "
                f"{shown(path)}): a representation is merged from all its parts.",
            )
        if folder in places:
            raise SourceError(
                f"{place / names[-1]} is a second METS in the folder of an IP",
                hint=f"An IP has one METS, called {CSIP_METS}: leave out the other, also in the METS above.",
            )
        places[folder] = place
        if is_unread:  # its kind and its children are not determined
            raise _fault(index, places)
        ip = MergedIp(path=place, tree=tree, folder=folder, documents=numbers, representations=_below(tree))
        found.append(ip)
    naming = {number for (number,) in index.rows(_WITH_CHILDREN)}
    marked = tuple(_marked(found, naming))
    if index.faults:
        raise _fault(index, places)
    for stranger in left.values():
        raise SourceError(
            f"{stranger} is not a child that {found[0].path / CSIP_METS} names",
            hint="Leave it out, or get the newest METS of the parent; metspack links shows whose it is.",
        )
    return marked


def _fault(index: Index, places: Mapping[str, Path]) -> SourceError:
    """Return the first of the index's faults, with the places of IPs."""
    fault = index.faults[0]
    return SourceError(_located(fault.message, places), hint=fault.hint)


def _located(message: str, places: Mapping[str, Path]) -> str:
    """Return a message with the IPs' places instead of their folders in the index."""
    for folder, place in places.items():
        message = f"{place}/".join(re.split(rf"(?<![^\s(']){re.escape(folder)}/", message))
    return message


def _below(tree: PackageTree) -> Names:
    """Return the names of the representations in an IP, sorted."""
    if isinstance(tree, FolderTree):
        try:
            with os.scandir(tree.root.joinpath(*tree.names, REPRESENTATIONS_FOLDER)) as entries:
                return tuple(sorted(each.name for each in entries if each.is_dir(follow_symlinks=False)))
        except FileNotFoundError:
            return ()
    folders = (names_of(item.name) for item in tree.walk() if item.kind == "d")
    return tuple(each[1] for each in folders if each[:-1] == (REPRESENTATIONS_FOLDER,))


def _marked(ips: Sequence[MergedIp], naming: Collection[int]) -> Iterator[MergedIp]:
    """Yield the IPs; those that only list others have ``is_list``.

    ``naming`` are the METS that name children. Raises ``SourceError`` unless all other IPs have
    at most one representation, all of the same name (AIP1).
    """
    first = next((each for each in ips if each.representations), ips[0])
    for each in ips:
        is_child = each is not ips[0] and each.documents[0] in naming
        if is_child and set(first.representations).isdisjoint(each.representations):
            yield replace(each, is_list=True)
            continue
        if len(each.representations) > 1:
            names = ", ".join(each.representations)
            raise SourceError(
                f"{each.path} has {len(each.representations)} representations ({names}), expected one",
                hint="Only a package of one archive can be merged. Restore each archive and build a package "
                "of it: metspack restore OUT --siard --archive NAME -o NAME.siard, then metspack build.",
            )
        if each.representations not in {(), first.representations}:
            raise SourceError(
                f"the representation is called {first.representations[0]} in {first.path} and "
                f"{each.representations[0]} in {each.path}",
                hint="The parts of a representation have the same name in all containers (E-ARK AIP, AIP1).",
            )
        yield each
