"""The IPs to be merged: those given, the parent among them, and their order (E-ARK AIP)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from pathlib import Path

from metspack import safexml
from metspack.containers.ipreader import Item, OpenPacks
from metspack.digests import Hashers
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, walking
from metspack.files.byteranges import Below, Stretch
from metspack.files.threads import ThreadedHashers
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER
from metspack.mets.links import bare
from metspack.model import Budgets, Digest
from metspack.packages import delivery
from metspack.packages.files import FolderTree, PackageTree, PackedTree, names_of, path_of
from metspack.packages.index import MetsTables
from metspack.packages.lobs import StatedFixity, together
from metspack.packages.metsfiles import located
from metspack.uris import shown

_ANOTHER = "Get it from another copy; metspack check shows what else is wrong with it."

Names = tuple[str, ...]

DATA = "data"
"""The folder of a representation's data."""

_OF_EVERY_IP = frozenset({"schemas", CSIP_METS})
_ABOUT = ("documentation", "about-this-package.txt")
_DUBLIN_CORE = ("metadata", "descriptive", "dublin-core.xml")
_PRESERVATION = ("metadata", "preservation")

_ABOVE = "SELECT href FROM mptr WHERE mets = ? AND up AND href <> '' ORDER BY id"
_BELOW = (
    "SELECT href, url, div FROM mptr WHERE mets = ? AND (down OR NOT (up OR ?)) AND href <> '' ORDER BY id"
)
_BY_ID = (
    "SELECT path, size, algorithm, digest FROM entry "
    "WHERE xml_id = ? AND mets = ? AND path IS NOT NULL ORDER BY id LIMIT 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IpFiles:
    """An IP: ``path`` is its folder, or the zip or tar file with that folder in it, as ``tree`` reads it.

    ``name`` is what METS in other IPs call the folder; ``within`` are the names of that in the file.
    """

    path: Path
    name: str
    tree: PackageTree
    within: Names = ()

    def _inner(self, names: Names) -> bytes:
        return path_of((*self.within, *names))

    def blocks(self, names: Names) -> Iterator[bytes]:
        """Yield the bytes of a file, by its names below the folder; raises ``SourceError``."""
        inner = self._inner(names)
        try:
            is_absent = self.tree.is_packed and not self.tree.is_there(inner)
        except SourceError as error:
            raise _unreadable(self.path, error) from None
        if is_absent:
            raise SourceError(f"{self.path} does not hold {os.fsdecode(inner)}", hint=_ANOTHER)
        try:
            with self.tree.content(inner) as content:
                yield from content.chunks()
        except (OSError, SourceError) as error:
            raise _unreadable(self.path.joinpath(*names), error) from None

    def small_files(
        self, folder: Names, names: Iterable[str], buffer: memoryview
    ) -> Iterator[bytes | memoryview | None]:
        """Yield the bytes of files of a folder, which fit in ``buffer``; None for what ``blocks`` has to see.

        What is yielded is there until the next is asked for.
        """
        if isinstance(self.tree, FolderTree):
            return reading.small_files(self.path, folder, names, repeat(None), buffer)
        return (self._small(self._inner((*folder, name)), len(buffer)) for name in names)

    def _small(self, inner: bytes, beyond: int) -> bytes | None:
        try:
            with self.tree.content(inner) as content:
                return b"".join(content.chunks()) if content.size < beyond else None
        except (OSError, SourceError):
            return None

    def folders(self) -> Iterator[tuple[Names, Sequence[str]]]:
        """Yield the names of all files, with those of their folder; a folder with many comes several times.

        Raises ``SourceError`` for what is neither file nor folder.
        """
        if isinstance(self.tree, FolderTree):
            with closing(walking.listings(self.path, are_stamped=False)) as listings:
                for each in listings:
                    yield each.folder, [name for name, *_ in each.files]
            return
        for paths in together(self._packed_files()):
            for folder, alike in groupby(paths, lambda path: path[:-1]):
                yield folder, [path[-1] for path in alike]

    def _packed_files(self) -> Iterator[Names]:
        with closing(self.tree.walk()) as items:
            for item in items:
                if item.kind != "d":
                    yield self._packed_file(item)

    def _packed_file(self, item: Item) -> Names:
        names = names_of(item.name)
        below = len(self.within)
        if item.kind != "f" or names[:below] != self.within or len(names) == below:
            folder = "/".join(self.within)
            raise SourceError(
                f"{self.path} holds {shown('/'.join(names))}, expected files in the folder {folder} alone",
                hint="An IP that is packed is one folder in one file, without links.",
            )
        return names[below:]

    def representations(self) -> Names:
        """Return the names of the folders below ``representations``."""
        if self.tree.is_packed:
            found = (each for each in self._packed_files() if each[0] == REPRESENTATIONS_FOLDER)
            return tuple(sorted({each[1] for each in found if len(each) > 2}))  # noqa: PLR2004 -- a file in it
        try:
            with os.scandir(self.path / REPRESENTATIONS_FOLDER) as entries:
                return tuple(sorted(each.name for each in entries if each.is_dir(follow_symlinks=False)))
        except FileNotFoundError:
            return ()

    def stretch(self, names: Names) -> Stretch | None:
        """Return where a packed file lies, None for one of its own; raises ``SourceError`` if compressed."""
        found = self.tree.location(self._inner(names))
        if isinstance(found, Below | Stretch):
            return found if isinstance(found, Stretch) else None
        raise SourceError(
            f"{'/'.join(names)} is compressed in {self.path}, or not in it; expected it there as it is",
            hint="Unpack it where it lies and name the folder.",
        )


def ips(path: Path, packs: OpenPacks, budgets: Budgets) -> Iterator[IpFiles]:
    """Yield the IP at a path, or the IPs that a folder holds, sorted by path.

    Raises ``SourceError`` when there is none, and for one that cannot be read.
    """
    is_empty = True
    for each in delivery.delivered(path, packs, budgets, joins=False):
        if each.fault:
            raise SourceError(f"{each.path}: {each.fault}", hint=_ANOTHER)
        if each.mets != CSIP_METS:
            continue
        is_empty = False
        file = Below(root=each.path.parent, segments=(each.path.name,))
        tree = PackedTree(packs, file) if each.is_packed else FolderTree(each.path)
        within = tuple(filter(None, each.within.split("/")))
        yield IpFiles(path=each.path, name=each.folder, tree=tree, within=within)
    if is_empty:
        raise SourceError(
            f"{path} holds no {CSIP_METS}, nor does a folder in it, or a zip or tar file",
            hint="Containers are IPs of the dialect csip: metspack build --dialect csip. Packages of the "
            "other dialect are one folder already.",
        )


def _unreadable(path: Path, error: OSError | MetspackError) -> SourceError:
    """Return the error of a file in a container that cannot be read."""
    why = error.message if isinstance(error, MetspackError) else error.strerror or error
    return SourceError(f"{path} cannot be read: {why}", hint=_ANOTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenIp:
    """An IP that was given, what it is called, and the IPs that its METS names.

    ``number`` is that of its METS in the tables. ``above`` are names of its parent, ``below`` those of its
    children in order, each with the location beside it. ``parent`` is the IP that named it, None for the one
    at the top; ``is_list``: it names children and has no data of the representation.
    """

    ip: IpFiles
    number: int
    objid: str
    representations: tuple[str, ...]
    above: tuple[str, ...]
    below: tuple[tuple[str, str], ...]
    parent: GivenIp | None = None
    is_list: bool = False

    @property
    def folder(self) -> Path:
        """The folder that it is, or the file that it is packed in."""
        return self.ip.path

    @property
    def mets(self) -> Path:
        """Its METS."""
        return self.folder / CSIP_METS


def read_ips(paths: Sequence[Path], packs: OpenPacks, tables: MetsTables) -> tuple[GivenIp, ...]:
    """Read the METS of the IPs in some folders into ``tables``; return the IPs, the parent first.

    Its children are in the order in which its METS names them, those of further parents behind these. Each
    path is that of an IP, a folder or packed, or of a folder that holds IPs side by side. Packed ones stay
    open in ``packs``. Raises ``SourceError`` unless they are one parent with all of its children.
    """
    found: dict[str, GivenIp] = {}
    for ip in (each for path in paths for each in ips(path, packs, tables.budgets)):
        container = _read_ip(ip, tables)
        other = found.setdefault(bare(container.objid), container)
        if other is not container:
            raise SourceError(
                f"{other.folder} and {container.folder} are both {container.objid}",
                hint="Name each container once.",
            )
    parent = _parent(tuple(found.values()))
    result = {bare(parent.objid): parent}
    ahead = [iter(_children(parent, found))]
    while ahead:
        if (child := next(ahead[-1], None)) is None:
            ahead.pop()
        elif (name := bare(child.objid)) not in result:
            result[name] = child
            ahead.append(iter(_children(child, found)))
    if strangers := [each for name, each in found.items() if name not in result]:
        raise SourceError(
            f"{strangers[0].folder} ({strangers[0].objid}) is not a child that {parent.mets} names",
            hint="Leave it out, or get the newest METS of the parent; metspack links shows whose it is.",
        )
    return _with_lists(tuple(result.values()))


def _children(parent: GivenIp, found: Mapping[str, GivenIp]) -> Iterator[GivenIp]:
    """Yield the children that a METS names; raises ``SourceError`` for one that was not given."""
    for objid, href in parent.below:
        if (child := found.get(bare(objid))) is None:
            raise SourceError(
                f"{parent.mets} names the child {objid}, which is not among the containers",
                hint=f"Name it as well{f' (it was made to lie at {shown(href)})' if href else ''}: a "
                "representation is merged from all its parts.",
            )
        yield replace(child, parent=parent)


def said_of_mets(
    tables: MetsTables, child: GivenIp, named: dict[int, dict[str, tuple[str, str]]]
) -> StatedFixity | None:
    """Return what the METS of its parent says of a child's, None when it says nothing.

    ``named`` keeps the children of parents, by the parent's number, from one call to the next.
    """
    if (parent := child.parent) is None:
        return None
    if parent.number not in named:
        named[parent.number] = {bare(each[0]): each for each in reversed(parent.below)}
    found = named[parent.number].get(bare(child.objid))
    if found is None:
        return None
    objid, href = found
    row = tables.row(_BY_ID, objid, parent.number)
    place, _ = located((parent.ip.name,), href)
    if place is not None and (listed := tables.file_at(parent.number, place)) is not None:
        row = ("/".join(place), *listed)
    if row is not None and not row[0].startswith(f"{parent.ip.name}/"):
        return stated(*row[1:4], by=str(parent.mets))
    return None


def _read_ip(ip: IpFiles, tables: MetsTables) -> GivenIp:
    """Read an IP's METS into the tables; return what it says of itself and of other IPs."""
    number, objid = read_mets(tables, ip, (CSIP_METS,))
    if not objid:
        raise SourceError(f"{ip.path / CSIP_METS} has no OBJID", hint=_ANOTHER)
    above = tuple(href for (href,) in tables.rows(_ABOVE, number))
    pointers: dict[int, dict[bool, str]] = {}
    for href, url, div in tables.rows(_BELOW, number, bool(above)):  # a child's own are all labelled
        pointers.setdefault(div, {})[bool(url)] = href
    return GivenIp(
        ip=ip,
        number=number,
        objid=objid,
        representations=ip.representations(),
        above=above,
        # What has a location alone is a representation.
        below=tuple((each[False], each.get(True, "")) for each in pointers.values() if False in each),
    )


def _parent(containers: Sequence[GivenIp]) -> GivenIp:
    parents = [each for each in containers if not each.above]
    if len(parents) == 1:
        return parents[0]
    if not parents:
        raise SourceError(
            f"no parent is among the containers: {containers[0].folder} names {containers[0].above[0]}",
            hint="Name the parent IP as well: it knows all children and, as a rule, holds the archive.",
        )
    raise SourceError(
        f"{parents[0].folder} ({parents[0].objid}) and {parents[1].folder} ({parents[1].objid}) are both "
        "parents; expected the containers of one package",
        hint="Merge each package by itself.",
    )


def _with_lists(containers: Sequence[GivenIp]) -> tuple[GivenIp, ...]:
    """Return the same IPs, those marked that only list others.

    Raises ``SourceError`` unless all others have one representation of the same name, or none (AIP1).
    """
    first = next((each for each in containers if each.representations), None)
    marked = tuple(
        replace(each, is_list=each.parent is not None and bool(each.below) and not _shares(each, first))
        for each in containers
    )
    for each in marked:
        if each.is_list:
            continue
        if len(each.representations) > 1:
            names = ", ".join(each.representations)
            raise SourceError(
                f"{each.folder} has {len(each.representations)} representations ({names}), expected one",
                hint="Only a package of one archive can be merged. Restore each archive and build a package "
                "of it: metspack restore OUT --siard --archive NAME -o NAME.siard, then metspack build.",
            )
        if first is not None and each.representations not in {(), first.representations}:
            raise SourceError(
                f"the representation is called {first.representations[0]} in {first.folder} and "
                f"{each.representations[0]} in {each.folder}",
                hint="The parts of a representation have the same name in all containers (E-ARK AIP, AIP1).",
            )
    return marked


def _shares(each: GivenIp, first: GivenIp | None) -> bool:
    return first is not None and not set(first.representations).isdisjoint(each.representations)


def check_fixity(what: str, said: StatedFixity, hashers: Hashers) -> None:
    """Raise ``SourceError`` when the bytes that were read of a file are not what METS says."""
    if (difference := said.difference(hashers)) is not None:
        found, expected = difference
        raise SourceError(f"{what} has {found}, but {said.by} says {expected}", hint=_ANOTHER)


def read_mets(
    tables: MetsTables, ip: IpFiles, names: Names, hashers: Hashers | None = None
) -> tuple[int, str]:
    """Read a METS of an IP into the tables; return its number there and its OBJID.

    ``hashers`` take its bytes. Raises ``SourceError``.
    """
    takers = () if hashers is None else (hashers.update,)
    path = (ip.name, *names)
    number = tables.enter(path)
    try:
        return number, tables.read(number, path, reading.blocks(ip.blocks(names), *takers))
    except safexml.XmlError as error:
        raise damaged(ip.path.joinpath(*names), error) from None


def stated(size: int | None, algorithm: str | None, value: str | None, *, by: str) -> StatedFixity:
    """Return size and digest from a row of the tables as what ``by`` says."""
    digest = None if algorithm is None else Digest(algorithm=algorithm, value=value or "")
    return StatedFixity(size=size, digest=digest, by=by)


def damaged(path: Path, error: safexml.XmlError) -> SourceError:
    """Return the error of a document in a container that is not XML."""
    return SourceError(
        f"{path} line {error.line}, column {error.column}: {error.message}", hint=error.hint or _ANOTHER
    )


def proven(container: GivenIp, names: Names, said: StatedFixity) -> Iterator[bytes]:
    """Yield the bytes of a file; raises ``SourceError`` after the last when they are not what METS says."""
    hashers = ThreadedHashers(said.algorithms)
    for block in container.ip.blocks(names):
        hashers.update(block)
        yield block
    check_fixity(str(container.folder.joinpath(*names)), said, hashers)


def is_data(path: Names) -> bool:
    """Return whether a file lies among the data of a representation."""
    return path[:1] == (REPRESENTATIONS_FOLDER,) and path[2:3] == (DATA,)


def is_kept(path: Names) -> bool:
    """Return whether a file of the parent is documentation or description that a person wrote: it is kept."""
    if path[:2] == _DUBLIN_CORE[:2]:
        return path != _DUBLIN_CORE
    return path[:1] == _ABOUT[:1] and path != _ABOUT


def is_made_anew(path: Names) -> bool:
    """Return whether a file is one of those that every package has, and that a merged one gets anew."""
    own = path[2:] if path[:1] == (REPRESENTATIONS_FOLDER,) else path
    return (
        path[0] in _OF_EVERY_IP
        or own[:2] == _PRESERVATION
        or own[-1] == CSIP_METS
        or (path in {_ABOUT, _DUBLIN_CORE})
    )
