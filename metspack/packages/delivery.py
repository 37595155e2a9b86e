"""Find the packages at a path: in folders at any depth, zip and tar files, and bags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

from metspack import uris
from metspack.containers import zipformat
from metspack.containers.ipreader import SUFFIXES, OpenPacks, PackedError, form_of, stem_of_pack
from metspack.digests import is_manifest
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.files import mirrors, reading
from metspack.files.byteranges import FileBelow
from metspack.files.journal import not_found
from metspack.files.walking import DEEPEST, all_lots
from metspack.layouts.names import ARCHIVE, LOBS, LOBSEG, is_archive, stem_of
from metspack.limits import Budgets
from metspack.mets import (
    CSIP_METS,
    METS_NAMES,
    PLAIN_METS,
    REPRESENTATIONS_FOLDER,
    is_mets_name,
    is_top_mets_name,
    reader,
)
from metspack.mets.fastreader import condensed
from metspack.mets.links import By, Mptr, are_same, bare, folder_of_objid
from metspack.packages.digestlists import LineReader, unmarked
from metspack.packages.files import FolderTree, NoTree, PackageTree, PackedTree
from metspack.system import os, quoted

_BAG, _PAYLOAD = "bagit.txt", "data"
_METADATA = "metadata"
_CONTENT = b"/content"  # a folder of LOBs without METS
_OF_PACKAGES = (b"mets.", *SUFFIXES)  # in the names, in lower case, of METS and packed files
_UNREAD = re.compile(
    r".*?(\.(7z|rar|taz|tbz2?|tgz|tlz|txz|tzst|(tar\.)?(bz2|gz|lz|lz4|lzma|xz|z|zst)))",
    re.DOTALL | re.IGNORECASE,
)
_LINES, _HEAD = 1 << 16, 512
_NAMED = 20  # the most packages among which the one at the top is searched, by reading all their METS


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredPackage:
    """A package in a delivery, or another entry of it.

    A package is a folder ``path``, or in the zip or tar file ``path`` the folder ``within`` it. ``mets`` is
    its METS from there, None for a package without its METS. If IPs side by side in the folder are one
    package, ``top`` is the one at the top, if packed, and ``ips`` are all of them, unless a manifest is
    beside them. ``members`` are IPs in different places that are one package, first the one at the top; each
    is read as if it were beside the others. ``shown`` is its path in messages of a check.

    Of other entries, ``fault`` is the reason why one is unreadable, ``unread`` an unsupported form of file,
    ``source`` an archive, or LOBs, without a METS, from which a package can be made, and ``other`` a
    description of any other.
    """

    path: Path
    mets: str | None = None
    within: str = ""
    shown: str = ""
    top: DeliveredPackage | None = None
    ips: tuple[DeliveredPackage, ...] = ()
    members: tuple[DeliveredPackage, ...] = ()
    is_bag: bool = False
    is_packed: bool = False
    unread: str = ""
    source: str = ""
    fault: str = ""
    other: str = ""

    @property
    def is_package(self) -> bool:
        """True if it is a package, with or without its METS."""
        return not (self.fault or self.unread or self.source or self.other)

    @property
    def place(self) -> Path:
        """Its path, with the path in a zip or tar file."""
        return self.path / self.within / (self.source if self.is_packed else "")

    @property
    def around(self) -> Path:
        """The folder or packed file that contains it; the path of a folder in a packed file."""
        return (self.path / self.within).parent if "/" in self.within else self.path.parent

    @property
    def folder(self) -> str:
        """The name of its folder, once unpacked."""
        if self.within:
            return os.fsencode(self.within).decode("utf-8", "backslashreplace").rpartition("/")[2]
        name = os.path.basename(os.path.realpath(self.path))
        return (self.is_packed and stem_of_pack(name)) or name

    def tree(self, packs: OpenPacks) -> PackageTree:
        """Return its files; with ``members``, an empty tree into which they are mounted."""
        if self.members:
            return NoTree(self.members[0].tree(packs).shown)
        if self.is_packed:
            return PackedTree(packs, FileBelow(root=self.path, segments=()), os.fsencode(self.within))
        return FolderTree(self.path)


def _rooted(folder: str, name: str) -> tuple[str, str]:
    """Return the folder of a METS's package, and the path from there, perhaps in ``metadata/``."""
    *above, last = folder.split("/")
    return ("/".join(above), f"{last}/{name}") if last == _METADATA else (folder, name)


def unread_form(name: str) -> str:
    """Return the suffix of a file whose form is not read, such as .7z, or ""."""
    found = _UNREAD.fullmatch(name)
    return "" if found is None else found[1].lower()


def chosen(names: Iterable[str]) -> str | None:
    """Return the name of the package's METS among the names in a folder, or None."""
    found = sorted(name for name in names if is_mets_name(name) or is_top_mets_name(name))
    found.sort(key=lambda name: METS_NAMES.index(name) if name in METS_NAMES else 2 + is_top_mets_name(name))
    return found[0] if found else None


def named(path: Path, packs: OpenPacks, budgets: Budgets, *, joins: bool = True) -> list[DeliveredPackage]:
    """Return the packages at a path: those in a folder or packed file, or the one of a METS file.

    They are searched at any depth, but not inside packages: everything below a METS belongs to its package.
    No link is followed. A folder or packed file without packages is returned as a package without its METS.
    With ``joins`` IPs side by side are one package. Raises ``SourceError`` for a missing path, and, naming
    its kind, for another file.
    """
    if not path.exists():
        raise not_found(path, _GIVE, "does not exist")
    mirrors.check_finished(path)
    is_packed = path.is_file() and stem_of_pack(path.name) is not None
    if path.is_dir() or is_packed or unread_form(path.name):
        found = list(_Delivery(packs, budgets, joins=joins).at(path))
        if not any(each.is_package for each in found):
            found = [each for each in found if not each.other]
        if any(each.path != path or each.mets or each.within or not each.is_package for each in found):
            return found
        mets = None if is_packed else chosen(os.listdir(path))
        return [DeliveredPackage(path=path, mets=mets, is_packed=is_packed)]
    if is_archive(path.name):
        raise about_archive(path)
    if path.is_file() and not is_mets_name(path.name):
        _check_is_mets(path)
    return [DeliveredPackage(path=path.parent, mets=path.name, shown=str(path))]


_GIVE = "Give a package's folder, its METS file, or a zip or tar file that holds the package."
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<|\xff\xfe<\0|\xfe\xff\0<")
_HTML = re.compile(rb"<!doctype html|<html", re.IGNORECASE)


def _check_is_mets(path: Path) -> None:
    """Raise ``SourceError``, naming its kind, for a file that is certainly no METS."""
    data, root = None, ""
    with suppress(OSError, MetspackError), reading.opening(path.parent, (path.name,)) as descriptor:
        data = next(reading.chunks(descriptor, size=_HEAD), b"")
        try:
            next(reader.read(reading.chunks(descriptor, size=reading.BLOCK)), None)
        except reader.NotMets as error:
            root = f"XML with the root element {error.found}"
    if data is None:
        return  # reading the METS raises the reason
    if form := form_of(data):
        raise SourceError(
            f"{path} is a {form} file, and its name does not end with .{form}",
            hint=f"If it holds a package, rename it to {path.stem}.{form}",
        )
    found = zipformat.kind(data) if data else "an empty file"
    if _XML.match(data):
        found = "an HTML page" if _HTML.search(data) else root
    if found:
        raise SourceError(f"{path} is {found}, expected a METS file", hint=_GIVE)


def only_package(path: Path, budgets: Budgets) -> DeliveredPackage | None:
    """Return the one package at a path, at any depth in a folder, zip or tar file, or None.

    IPs side by side are one package, that of the IP which leads to the others. Raises ``SourceError`` as
    ``named`` does, for several packages, naming them, and for an unreadable path.
    """
    with closing(OpenPacks(budgets)) as packs:
        found = named(path, packs, budgets, joins=False)
        if len(found) == 1 and found[0].is_package:
            (one,) = found
            mets = path / (one.mets or "")
            is_link = not one.is_packed and path == one.path and (mets.is_symlink() or not mets.is_file())
            return None if is_link else one
        walk = _Delivery(packs, budgets, joins=False)
        tops = sorted(
            islice(walk.tops(each for each in found if each.is_package), _NAMED),
            key=lambda each: (each.path, each.within),
        )
        if len(tops) > 1:
            paths = Counter(each.path for each in tops)
            more = " or more" * (len(tops) == _NAMED)
            shown = (walk.shown(each, is_one_of_several=paths[each.path] > 1) for each in tops)
            raise SourceError(
                f"{path} holds {len(tops)} packages{more}: {', '.join(shown)}; expected one",
                hint="Name one of them; one with children beside it has to be in a folder without others.",
            )
    for each in () if tops else found:
        if each.fault:
            raise SourceError(f"{each.path}: {each.fault}", hint=_COPY)
        if each.unread:
            raise SourceError(f"{each.path}: files of the form {each.unread!r} are not read", hint=_UNPACK)
    return tops[0] if tops and tops[0].mets else None


def root(path: Path) -> Path:
    """Return the root for a search at a path: a folder, a packed file, or the folder of a METS file.

    Raises ``ConfigError`` for a missing path.
    """
    if not path.exists():
        raise ConfigError(
            f"the root {path} does not exist", hint="Check the path and that the medium is mounted."
        )
    if path.is_dir() or stem_of_pack(path.name) is not None:
        return path
    return path.parent


class ByObjid:
    """Packages by OBJID: right in a folder, those at ``others``, at any depth in roots; for one thread.

    Packages beside ``packed`` in the same zip or tar file (``in_pack``) come first. If the package is in the
    folder that has its OBJID as name, no other METS is read. ``damaged`` are unreadable or incomplete packed
    files, each with a description.
    """

    def __init__(
        self,
        folder: Path,
        roots: Sequence[Path],
        packs: OpenPacks,
        budgets: Budgets,
        packed: DeliveredPackage | None = None,
        *,
        others: Sequence[Path] = (),
    ) -> None:
        self._walk = walk = _Delivery(packs, budgets, joins=False)
        in_pack = walk.pack(packed.path) if packed is not None and packed.within else ()
        self.in_pack = [each for each in in_pack if packed and each.mets and each.around == packed.around]
        inside = map(walk.below, roots)
        self._ahead = chain(self.in_pack, walk.beside(folder), *map(walk.at, others), *inside)
        self.damaged: dict[Path, str] = {}
        self._called: dict[str, list[DeliveredPackage]] | None = None
        self._found: dict[str, list[DeliveredPackage]] | None = None

    def find(self, objid: str, parent: str) -> DeliveredPackage | None:
        """Return the package with an OBJID, or None; of several, the one that names the parent.

        If no one does, it is the one whose folder has the OBJID as name, or else the first by path.
        """
        if self._called is None:
            self._called = {}
            for each in self._ahead:
                if each.mets:
                    self._called.setdefault(each.folder, []).append(each)
                elif each.fault or each.other in INCOMPLETE:
                    self.damaged[each.path] = each.fault or each.other
        called = self._called.get(folder_of_objid(objid), ())
        found = [each for each in called if are_same(self._walk.objid(each), objid)]
        if not found:
            if self._found is None:
                self._found = {}
                for each in chain.from_iterable(self._called[name] for name in sorted(self._called)):
                    self._found.setdefault(bare(self._walk.objid(each)), []).append(each)
            found = self._found.get(bare(objid), [])
        mine = (
            each for each in found if any(are_same(parent, up) for up, _ in self._walk.links(each)[0] or ())
        )
        return next(mine if len(found) > 1 else iter(found), next(iter(found), None))


class _Delivery:
    """A walk through folders and zip and tar files for packages; for one thread."""

    def __init__(self, packs: OpenPacks, budgets: Budgets, *, joins: bool = True) -> None:
        self._packs = packs
        self._budgets = budgets
        self._joins = joins
        self.links = lru_cache(_MOST_TRIED)(self._read_links)

    def at(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages at a path."""
        return self.folder(path) if path.is_dir() else self.file(path)

    def beside(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages whose folder or packed file is right in a folder."""
        files, folders = _listed(path)
        for name in folders:
            with suppress(OSError):
                if (mets := chosen(_listed(path / name)[0])) is not None:
                    yield DeliveredPackage(path=path / name, mets=mets)
        for name in files:
            if stem_of_pack(name) is not None:
                yield from self.pack(path / name)

    def below(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages at a path, each (even without its METS) before the ones inside it."""
        for each in self.at(path):
            yield each
            if each.is_package and each.is_packed:
                yield from self._inside_pack(each)
            elif each.is_package:
                yield from self._inside_folder(each.path)

    def _inside_pack(self, package: DeliveredPackage) -> Iterator[DeliveredPackage]:
        before = os.fsencode(package.within and f"{package.within}/")
        for item in self._packs.opened(FileBelow(root=package.path, segments=())).items(before):
            folder, _, name = os.fsdecode(item.name[len(before) :]).rpartition("/")
            within, mets = _rooted(folder, name)
            if within and is_mets_name(name):
                within = os.fsdecode(before) + within
                yield DeliveredPackage(path=package.path, mets=mets, within=within, is_packed=True)

    def _inside_folder(self, path: Path) -> Iterator[DeliveredPackage]:
        for lot in all_lots(path, sizes=False, leaves_out=lambda each: each.endswith(_CONTENT)):
            text = lot.files.lower()
            if not any(each in text for each in _OF_PACKAGES):  # most folders have only LOBs
                continue
            folder, names = os.fsdecode(lot.folder), [os.fsdecode(name) for name in lot.names]
            if (name := chosen(names)) is not None and (found := _rooted(folder, name))[0]:
                yield DeliveredPackage(path=path / found[0], mets=found[1])
            for name in names:
                if stem_of_pack(name) is not None:
                    yield from self.pack(path / folder / name)

    def tops(self, found: Iterable[DeliveredPackage]) -> Iterator[DeliveredPackage]:
        """Yield packages except IPs beside their parent; of an IP at the top each of its forms."""
        beside: dict[Path, list[DeliveredPackage]] = {}
        for each in found:
            if each.is_package and each.mets == CSIP_METS:
                beside.setdefault(each.around, []).append(each)
            else:
                yield each
        for ips in beside.values():
            left: Mapping[str, DeliveredPackage] = _by_folder(ips)
            while left:
                here = self._top(left) or min(left)
                yield from (each for each in ips if each.folder == here)
                left = self._unreached(left, here, upward=True)

    def folder(self, path: Path, depth: int = 0) -> Iterator[DeliveredPackage]:
        """Yield the packages in a folder."""
        try:
            files, folders = _listed(path)
            if depth > DEEPEST:
                yield DeliveredPackage(path=path, fault=f"folders nested more than {DEEPEST} deep")
                return
            mets = chosen(files)
            is_lost = mets is None and self._is_named_by_manifest(path, files)
            if mets is None and not is_lost:
                mets = self._in_metadata(path, folders)
        except OSError as error:
            yield DeliveredPackage(path=path, fault=error.strerror or str(error))
            return
        if mets is not None:
            yield DeliveredPackage(path=path, mets=mets)
            return
        if _BAG in files and _PAYLOAD in folders:
            inside = list(self.folder(path / _PAYLOAD, depth + 1))
            yield from (replace(each, is_bag=True) for each in inside if not each.other)
            if inside:
                return
        if is_lost or REPRESENTATIONS_FOLDER in folders:
            yield DeliveredPackage(path=path)
            return
        yield from self._without_mets(path, files, folders, depth)

    def _without_mets(
        self, path: Path, files: Sequence[str], folders: Sequence[str], depth: int
    ) -> Iterator[DeliveredPackage]:
        """Yield the packages and sources in a folder without a METS, or the folder if it lacks one."""
        found = self._side_by_side(path, files, folders, depth)
        lobs = lobs_in(path)
        if lobs:
            found = [each for each in found if not (each.source or each.other)]
        named = filter(None, map(ARCHIVE.fullmatch, sorted({*files, *folders})))
        archives = [each[0] for each in named if int(each[2] or 1) == 1]  # of several parts the first
        whole = [each.path.name for each in found if each.is_package]
        was_one = not whole and (lobs or archives) and any(map(is_manifest, files))
        if was_one or any(_is_of_archive(whole, name) for name in archives):
            yield DeliveredPackage(path=path)
        else:
            yield from found
            if any(each.path == path for each in found):
                return  # IPs side by side are one package with everything in the folder
            yield from (DeliveredPackage(path=path / name, source=name) for name in archives)
            if lobs and not archives:
                yield DeliveredPackage(path=path, source=lobs)

    def _in_metadata(self, path: Path, folders: Sequence[str]) -> str | None:
        names = sorted(os.listdir(path / _METADATA)) if _METADATA in folders else ()
        return next((f"{_METADATA}/{each}" for each in names if is_mets_name(each)), None)

    def _is_named_by_manifest(self, path: Path, files: Sequence[str]) -> bool:
        """Return whether a manifest of a folder without METS lists a METS right in the folder."""
        with suppress(OSError, MetspackError):
            return any(
                "/" not in each for name in filter(is_manifest, files) for each in mets_listed(path / name)
            )
        return False

    def _side_by_side(
        self, path: Path, files: Sequence[str], folders: Sequence[str], depth: int
    ) -> list[DeliveredPackage]:
        """Return the packages in folders and packed files of a folder.

        IPs are one package if one of them leads to all others; with a manifest beside them, links between
        them in any direction suffice.
        """
        found = self._inside(path, files, folders, depth)
        if not self._joins:
            return found
        ips = [each for each in found if is_beside(path, each)]
        has_manifest = any(map(is_manifest, files))
        others = sum(not (each.source or each.other) for each in found)
        if len(ips) < others or len(ips) < (1 if has_manifest else 2):
            return found
        beside = _by_folder(ips)
        here = self._top(beside)
        # An IP may exist twice, packed and in a folder.
        if here is None or len(beside) < len(ips) or self._unreached(beside, here, upward=has_manifest):
            return found
        top = beside[here] if beside[here].is_packed else None
        ips = [] if has_manifest else ips
        return [DeliveredPackage(path=path, mets=f"{here}/{CSIP_METS}", top=top, ips=tuple(ips))]

    def _inside(
        self, path: Path, files: Sequence[str], folders: Sequence[str], depth: int
    ) -> list[DeliveredPackage]:
        """Return the packages in folders and packed files of a folder, each as a separate one."""
        found: list[DeliveredPackage] = []
        for name in sorted({*files, *folders}):
            if ARCHIVE.fullmatch(name):
                continue
            inside = list(self.folder(path / name, depth + 1) if name in folders else self.file(path / name))
            if all(each.other for each in inside):
                seems = _description(path / name, is_folder=name in folders)
                inside = [DeliveredPackage(path=path / name, other=seems)]
            found += inside
        others = sorted({*os.listdir(path)} - {*files, *folders})
        for name in others:
            kind = reading.kind((path / name).lstat().st_mode)
            found.append(DeliveredPackage(path=path / name, other=kind))
        return found

    def file(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages in a zip or tar file, or an entry for a file whose form is not read."""
        if stem_of_pack(path.name) is not None:
            yield from self.pack(path)
        elif form := unread_form(path.name):
            yield DeliveredPackage(path=path, unread=form)

    def pack(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages in a zip or tar file."""
        folders: dict[str, list[str]] = {}
        archives: dict[str, str] = {}
        bags, sealed = set[str](), set[str]()
        try:
            items = self._packs.opened(FileBelow(root=path, segments=())).items(b"")
            for file in (os.fsdecode(each.name) for each in items if each.kind == "f"):
                folder, _, name = file.rpartition("/")
                if is_mets_name(name) or is_top_mets_name(name):
                    folders.setdefault(folder, []).append(name)
                elif is_archive(name):
                    archives.setdefault(folder, name)
                elif is_manifest(name):
                    sealed.add(folder)
                elif name == _BAG:
                    bags.add(f"{folder}/{_PAYLOAD}".lstrip("/"))
        except PackedError as error:
            yield DeliveredPackage(path=path, is_packed=True, fault=error.message)
            return
        above = {each for folder in folders for each in _above(folder)} if folders else archives.keys()
        tops = _tops(folders, {each: name for each, name in archives.items() if each in above | sealed})
        for folder, mets in sorted(tops.items()):
            yield DeliveredPackage(path=path, mets=mets, within=folder, is_packed=True, is_bag=folder in bags)
        for folder, name in sorted(archives.items()) if folders else ():
            if not _is_in(folder, tops):
                yield DeliveredPackage(path=path, within=folder, is_packed=True, source=name)

    def _unreached(
        self, ips: Mapping[str, DeliveredPackage], here: str, *, upward: bool
    ) -> Mapping[str, DeliveredPackage]:
        """Return the IPs side by side that links from the one at the top do not reach.

        With ``upward``, links of IPs up to a reached one count too. Links also lead through a missing IP that
        others name.
        """
        left = dict(ips)
        ahead, named = [(here, left.pop(here))], set[str]()
        parents = set[str]()
        while ahead and left:
            folder, ip = ahead.pop()
            _, located, called = self.links(ip)
            named |= called
            parents |= {folder, bare(self.objid(ip) or folder), *located, *called}
            reached = located & left.keys()
            if reached < left.keys() and named:
                reached |= {each for each in left.keys() - reached if bare(self.objid(left[each])) in named}
            if upward and not reached and not ahead:
                reached = {each for each, below in left.items() if self._links_up_to(below, each, parents)}
            ahead += [(each, left.pop(each)) for each in sorted(reached)]
        return left

    def _top(self, ips: Mapping[str, DeliveredPackage]) -> str | None:
        """Return the folder of the IP without a parent among those side by side, or None.

        One that names children goes before one without any link.
        """
        seen: set[str] = set()
        damaged: str | None = None
        unlinked: str | None = None
        here: str | None
        for first in sorted(ips)[:_MOST_TRIED]:
            here = first
            while here is not None and here not in seen:
                seen.add(here)
                ups, located, named = self.links(ips[here])
                if not ups and (first == min(ips) or self.objid(ips[here])):
                    if ups is not None and (located or named):
                        return here
                    if ups is not None:
                        unlinked = unlinked or here
                    elif damaged is None or here != first:  # preferably one that another names as its parent
                        damaged = here
                here = self._parent(ups or (), here, ips)
        return unlinked or damaged

    def _parent(
        self, ups: Iterable[tuple[str, bool]], folder: str, ips: Mapping[str, DeliveredPackage]
    ) -> str | None:
        """Return the folder of the parent by the locations in links ``ups``, or else by OBJID."""
        for href, _ in ups:
            if (led := _linked_folder(folder, href)) in ips.keys() - {folder}:
                return led
        objids = {bare(href) for href, _ in ups} - {""}
        called = (each for each in sorted(ips) if bare(self.objid(ips[each])) in objids)
        return next(called, None) if objids else None

    def objid(self, ip: DeliveredPackage) -> str:
        """Return the OBJID in an IP's METS, or "" for an unreadable METS or one without OBJID."""
        with suppress(OSError, MetspackError):
            for fact in reader.read(self._blocks(ip), self._budgets):
                return (fact.objid or "").strip() if isinstance(fact, reader.Root) else ""
        return ""

    def shown(self, ip: DeliveredPackage, *, is_one_of_several: bool) -> str:
        """Return path and OBJID of a package, for messages, with its path in a file of several."""
        objid = self.objid(ip) if ip.mets else "no METS"
        place = ip.path / ip.within if is_one_of_several else ip.path
        return f"{place} ({objid})" if objid else str(place)

    def _links_up_to(self, ip: DeliveredPackage, folder: str, parents: set[str]) -> bool:
        """Return whether an IP's METS names one of the ``parents`` (folders, OBJIDs) as its parent."""
        others = parents - {folder, ""}
        return any(
            not is_ancestor and (bare(href) in parents or _linked_folder(folder, href) in others)
            for href, is_ancestor in self.links(ip)[0] or ()
        )

    def _read_links(self, ip: DeliveredPackage) -> Links:
        return links_in(self._blocks(ip), ip.folder, self._budgets)

    def _blocks(self, ip: DeliveredPackage) -> Iterator[bytes]:
        mets = ip.mets or ""
        if not ip.is_packed:
            with reading.opening(ip.path, mets.split("/")) as descriptor:
                yield from reading.chunks(descriptor, size=reading.BLOCK)
            return
        name = os.fsencode(f"{ip.within}/{mets}" if ip.within else mets)
        content = self._packs.opened(FileBelow(root=ip.path, segments=())).content(name)
        yield from () if content is None else content.blocks()


_LOBS = (
    ("header/metadata.xml", "an unpacked archive"),
    ("content/schema*/table*", "LOBs"),
    ("schema*/table*", "LOBs"),
)


def lobs_in(folder: Path) -> str:
    """Return "an unpacked archive" or "LOBs" if a folder has one of them, or ""."""
    return next((what for pattern, what in _LOBS if next(folder.glob(pattern), None)), "")


def _listed(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of the files and of the folders in a folder, sorted."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(path) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                folders.append(each.name)
            elif each.is_file(follow_symlinks=False):
                files.append(each.name)
    return sorted(files), sorted(folders)


_UNFINISHED = re.compile(
    r".*\.(filepart|part|partial|crdownload|download|tmp|(zip|tar)\.[0-9]{3}|z[0-9]{2})", re.IGNORECASE
)
UNFINISHED = "an unfinished upload or a piece of a packed file"
MISNAMED, WITHOUT_METS = "a packed file whose name does not say so", "a packed file without a METS"
INCOMPLETE = {UNFINISHED, MISNAMED, WITHOUT_METS}
"""Descriptions of entries that may be packages which arrived incomplete."""


def _description(path: Path, *, is_folder: bool) -> str:
    """Return a description of an entry of a delivery without a package."""
    if is_folder:
        return "a folder without packages" if any(path.iterdir()) else "an empty folder"
    if _UNFINISHED.fullmatch(path.name):
        return UNFINISHED
    if stem_of_pack(path.name) is not None:
        return WITHOUT_METS
    with suppress(OSError, MetspackError), reading.opening(path.parent, (path.name,)) as descriptor:
        if form_of(next(reading.chunks(descriptor, size=_HEAD), b"")):
            return MISNAMED
    return "another file"


def mets_listed(manifest: Path) -> Iterator[str]:
    """Yield the paths of METS that a manifest lists."""
    with reading.opening(manifest.parent, (manifest.name,)) as descriptor:
        reader = LineReader("", lambda _: False)
        for stretch in reading.stretches(unmarked(reading.chunks(descriptor, size=_LINES))[1]):
            lower, stop = stretch.lower(), 0
            while (at := lower.find(PLAIN_METS.encode(), stop)) >= 0:
                start, stop = lower.rfind(b"\n", 0, at) + 1, lower.find(b"\n", at) + 1 or len(lower)
                path = reader.parsed(stretch[start:stop]).path.decode(errors="replace")
                if is_mets_name(path):
                    yield path


def _tops(folders: Mapping[str, Sequence[str]], archives: Mapping[str, str]) -> dict[str, str | None]:
    """Return the folders of packages, each with its METS, from the folders of METS and archives."""
    found: list[tuple[int, str, str | None]] = []
    for folder, files in folders.items():
        names, mets = folder.split("/"), chosen(files)
        if REPRESENTATIONS_FOLDER in names:
            names, mets = names[: names.index(REPRESENTATIONS_FOLDER)], None
        elif names[-1] == _METADATA:
            names, mets = names[:-1], f"{_METADATA}/{mets}"
        found.append((len(names) if names != [""] else 0, "/".join(names), mets))
    tops: dict[str, str | None] = {}
    for _depth, folder, mets in sorted(found, key=lambda each: (each[0], each[1], each[2] or "~")):
        if not _is_in(folder, tops):
            tops[folder] = mets
    lost: set[str] = set()
    for folder, archive in archives.items():
        if not _is_in(folder, tops):
            below = [each[len(folder) :].lstrip("/") for each in tops if _is_in(each, (folder,))]
            if _is_of_archive(below, archive):
                lost.add(folder)
    return {each: mets for each, mets in tops.items() if not _is_in(each, lost)} | dict.fromkeys(lost)


def _above(folder: str) -> set[str]:
    names = folder.split("/")
    return {"/".join(names[:end]) for end in range(len(names) + 1)}


def _is_in(folder: str, tops: Collection[str]) -> bool:
    """Return whether a folder is one of ``tops`` or is below one."""
    return not _above(folder).isdisjoint(tops)


def _is_of_archive(found: Sequence[str], archive: str) -> bool:
    """Return whether a file is an archive whose segments are among the packages ``found``."""
    return is_archive(archive) and any(name.startswith(f"{stem_of(archive)}_") for name in found)


_MOST_TRIED = 20  # the most IPs from which links up are followed: a parent may be missing
_UNPACK = "Unpack it (tar xzf FILE for .tar.gz), and name the folder."
_COPY = "Get another copy of the file; metspack check shows what else is wrong."


def is_beside(root: Path, each: DeliveredPackage) -> bool:
    """Return whether a package is a CSIP IP right in ``root``, in a folder or a packed file."""
    return each.path.parent == root and each.is_package and each.mets == CSIP_METS and "/" not in each.within


def _by_folder(ips: Iterable[DeliveredPackage]) -> dict[str, DeliveredPackage]:
    """Return IPs side by side by their folders; of one in both forms the unpacked one."""
    return {each.folder: each for each in sorted(ips, key=lambda each: not each.is_packed)}


Links = tuple[Sequence[tuple[str, bool]] | None, set[str], set[str]]
"""Links in the METS of an IP to other METS: up to its parent, and down to children beside it.

The first are OBJIDs or locations, each with whether it may name one above the parent; None for a damaged
METS. Of children there are the folders that it locates, and the bare OBJIDs of those that it names, but for
children located in its folder.
"""


def links_in(document: Iterable[bytes], folder: str, budgets: Budgets) -> Links:
    """Return the links in a METS of an IP in a folder."""
    ups: list[tuple[str, bool]] = []
    located: dict[int, str] = {}
    named: list[tuple[int, str]] = []
    is_damaged = True
    with suppress(OSError, MetspackError):
        for mptr in condensed(document, budgets):
            if not isinstance(mptr, Mptr) or not mptr.href:
                continue
            if mptr.is_upward:
                ups.append((mptr.href, mptr.is_ancestor))
            elif mptr.named_by is By.LOCATION:
                located[mptr.div] = _linked_folder(folder, mptr.href)
            else:
                named.append((mptr.div, bare(mptr.href)))
        is_damaged = False
    beside = {each for each in located.values() if each not in {folder, ""}}
    below = {objid for div, objid in named if located.get(div) != folder}
    return None if is_damaged else ups, beside, below


def _linked_folder(folder: str, href: str) -> str:
    """Return the name of the folder, ``folder`` or one beside it, to which a link leads, or "".

    ``href`` is a location in the METS of ``folder``; "" also stands for a refused one.
    """
    with suppress(uris.ReferenceRefused):
        return next(iter(uris.joined((folder,), uris.located(href))), "")
    return ""


_DEPTH = 4  # the levels below a package's folder down to the METS of segments


class NoPackageError(SourceError):
    """A path has a source in place of a package; the hint has the command to make a package."""


def about_archive(path: Path) -> SourceError:
    """Return the error for an archive in place of a package, with a command in the hint."""
    message = f"{path} is a SIARD archive, expected a package's folder or its METS file"
    if _has_mets(path.parent, 0):
        hint = f"Name the package that holds the archive: {path.parent}"
        return SourceError(message, hint=hint)
    made = _build_command(path.parent, [path.name], sorted(os.listdir(path.parent)))
    hint = f"To make a package of it: {made}; to check the package that holds it, name the package's folder."
    return NoPackageError(message, hint=hint)


def about_source(each: DeliveredPackage) -> NoPackageError:
    """Return the error for a source in a delivery; the hint is how to make a package of it."""
    if each.is_packed:
        made = f"metspack build {quoted(each.source)} -o OUT"
        hint = f"Take it out of {each.path}; to make a package of it: {made}"
        return NoPackageError(f"{each.place} is a SIARD archive", hint=hint)
    is_folder = each.path.is_dir() and not (is_archive(each.path.name) and lobs_in(each.path))
    error = (is_folder and refusal_of_source(each.path)) or about_archive(each.path)
    return NoPackageError(error.message, hint=error.hint)


def refusal_of_source(folder: Path) -> NoPackageError | None:
    """Return the error for a folder with a source in place of a package, or None."""
    names = sorted(os.listdir(folder))
    archives = [name for name in names if ARCHIVE.fullmatch(name)]
    found = archives[:1] or [lobs_in(folder)]
    if not any(found) or any(map(is_manifest, names)) or _has_mets(folder, _DEPTH):
        return None
    hint = f"To make one: {_build_command(folder, archives, names)}"
    return NoPackageError(f"{folder} is not a package: it holds {found[0]} and no METS", hint=hint)


def _build_command(folder: Path, archives: Sequence[str], names: Sequence[str]) -> str:
    """Return the command that makes a package of the archive, or the LOBs, in a folder."""
    if archives and any(LOBSEG.fullmatch(name) or LOBS.fullmatch(name) for name in names):
        return f"metspack build {quoted(str(folder))} --keep-segments --in-place"
    source = folder / archives[0] if archives else folder
    return f"metspack build {quoted(str(source))} -o OUT"


def _has_mets(folder: Path, depth: int) -> bool:
    """Return whether a METS is in a folder, or below it down to a depth."""
    folders = []
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if is_mets_name(each.name):
                return True
            if depth and each.name != "content" and each.is_dir(follow_symlinks=False):
                folders.append(folder / each.name)
    return any(_has_mets(each, depth - 1) for each in folders)
