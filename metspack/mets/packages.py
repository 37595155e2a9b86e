"""IPs that lie side by side, the one at the top of them, and the packages that a delivery holds."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from metspack import uris
from metspack.containers.ipreader import OpenPacks, PackedError, unpacked_name
from metspack.digests import is_manifest
from metspack.errors import MetspackError, SourceError
from metspack.files import mirrors, reading
from metspack.files.byteranges import Below
from metspack.files.walking import DEEPEST
from metspack.layouts.names import ARCHIVE, is_archive, stem_of
from metspack.mets import (
    CSIP_METS,
    METS_NAMES,
    PLAIN_METS,
    REPRESENTATIONS_FOLDER,
    is_mets_name,
    is_top_mets_name,
    reader,
)
from metspack.mets.fastreader import Run, condensed
from metspack.mets.links import By, Mptr, are_same, bare
from metspack.model import Budgets
from metspack.values import dataclass, regex

_OWN_FOLDERS = {(name,) for name in ("data", "metadata", "documentation", "schemas")}


def stem_of_pack(name: str) -> str | None:
    """Return the name of a zip or tar file without its suffix, None for any other file."""
    stem = unpacked_name(os.fsencode(name))
    return None if stem is None else os.fsdecode(stem)


SOURCE = "SOURCE OF THE ARCHIVE"
"""The role of the agent whose notes are on what an archive was made of, with its name before each."""


def history(document: Iterable[bytes], archive: str, budgets: Budgets | None = None) -> tuple[str, ...]:
    """Return what a METS notes on the source of the archive of a name; nothing when it cannot be read."""
    found: list[str] = []
    with suppress(OSError, MetspackError):
        for fact in reader.read(document, budgets):
            if isinstance(fact, reader.Agent) and fact.role == SOURCE:
                found += (words for each in fact.notes for name, words in [note(each)] if name == archive)
            elif isinstance(fact, reader.File | reader.StructMap):
                break
    return tuple(found)


def history_beside(archive: Path) -> tuple[str, ...]:
    """Return what the METS of the package notes on the source of an archive that lies in it."""
    folder = archive.resolve().parent
    found = history(_document(folder, PLAIN_METS), archive.name)
    if not found and len(folder.parents) > _DATA_DEPTH and folder.parents[1].name == REPRESENTATIONS_FOLDER:
        found = history(_document(folder.parents[_DATA_DEPTH - 1], CSIP_METS), archive.name)
    return found


_DATA_DEPTH = 3  # folders that the data of a representation lie below the package's


def _document(root: Path, name: str) -> Iterator[bytes]:
    with reading.opening(root, (name,)) as descriptor:
        yield from reading.chunks(descriptor, size=reading.BLOCK)


def note(text: str) -> tuple[str, str]:
    """Return the archive that a note is on, and what it says; ``noted`` is the other way."""
    archive, _, words = text.strip().partition(": ")
    return archive, words


def noted(archive: str, words: str) -> str:
    """Return a note on an archive."""
    return f"{archive}: {words}"


Document = Callable[[str], Iterator[bytes]]
"""Gives the METS of the IP in a folder."""


_ASKED = 20  # IPs, of which the first may be below a further parent that is lost


def _top(folders: list[str], document: Document, budgets: Budgets) -> str | None:
    seen: set[str] = set()
    damaged: str | None = None
    here: str | None
    for first in folders[:_ASKED]:
        here = first
        while here is not None and here not in seen:
            seen.add(here)
            ups = _ups(document(here), budgets)
            if not ups and (first == folders[0] or _objid(document(here), budgets)):
                if ups is not None:
                    return here
                if damaged is None or here != first:  # better one that another names as its parent
                    damaged = here
            here = _located(ups or (), here, folders) or _named(document, ups or (), folders, budgets)
    return damaged


def _ups(document: Iterable[bytes], budgets: Budgets) -> list[str] | None:
    """Return the OBJIDs or locations of an IP's parent in its METS, None when that cannot be read."""
    with suppress(OSError, MetspackError):
        facts = condensed(document, budgets)
        return [each.href for each in facts if isinstance(each, Mptr) and each.href and each.is_upward]
    return None


def _located(ups: Iterable[str], folder: str, folders: list[str]) -> str | None:
    """Return the folder beside an IP's own that one of its links up leads to."""
    for href in ups:
        with suppress(uris.ReferenceRefused):
            names = uris.joined((folder,), uris.located(href))
            if len(names) > 1 and names[0] in folders and names[0] != folder:
                return names[0]
    return None


def _named(document: Document, ups: Collection[str], folders: list[str], budgets: Budgets) -> str | None:
    """Return the folder of the IP whose OBJID one of the links up of another has."""
    for folder in folders if ups else ():
        objid = _objid(document(folder), budgets)
        if objid and any(are_same(objid, href) for href in ups):
            return folder
    return None


def located(folder: Sequence[str], reference: uris.Reference) -> tuple[str, ...]:
    """Return the names from a root to the target of a reference in a METS in a folder, as ``uris.joined``.

    Some tools write ``file:///data/...`` in the METS of a representation, counted from its own folder; that
    is where such a location leads, if it begins with the name of a folder that representations have.
    """
    in_own = folder[-2:-1] == (REPRESENTATIONS_FOLDER,) and reference.segments[:1] in _OWN_FOLDERS
    if in_own and uris.Repair.PSEUDO_ABSOLUTE in reference.repairs:
        return uris.walked(folder, reference.segments)
    return uris.joined(folder, reference)


def folder_of_objid(objid: str) -> str:
    """Return the name that the folder of an IP with an OBJID has: ``:`` is ``+`` there (E-ARK AIP, AIP21)."""
    return objid.strip().replace(":", "+")


class ByObjid:
    """The IPs side by side in the folder ``root``, packed or not, found by OBJID; for one thread.

    ``blocks`` gives the bytes of a METS by its names from there; it is not asked for other folders' METS
    where the folder called by an OBJID is that IP's.
    """

    def __init__(
        self, root: Path, blocks: Callable[[tuple[str, ...]], Iterable[bytes]], budgets: Budgets
    ) -> None:
        self._root = root
        self._blocks = blocks
        self._budgets = budgets
        self._folders: frozenset[str] | None = None
        self._found: dict[str, tuple[str, ...]] | None = None

    def find(self, objid: str) -> tuple[str, ...] | None:
        """Return folder and name of the METS with an OBJID, None when no IP there has it.

        Of several the one in the folder that is called by the OBJID is taken, or else the first by name.
        """
        called = folder_of_objid(objid)
        if self._folders is None:
            self._folders = frozenset(_folders(self._root))
        if called in self._folders:
            for names, found in self._read(called):
                if are_same(found, objid):
                    return names
        if self._found is None:
            self._found = {}
            for folder in sorted(self._folders):
                for names, found in self._read(folder):
                    self._found.setdefault(bare(found), names)
        return self._found.get(bare(objid))

    def _read(self, folder: str) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the METS in a folder, each with its OBJID."""
        for name in METS_NAMES:
            with suppress(OSError, MetspackError):
                if objid := _objid(self._blocks((folder, name)), self._budgets):
                    yield (folder, name), objid


def _folders(root: Path) -> Iterator[str]:
    """Yield the names of the folders in a folder, and those that its zip and tar files have once unpacked."""
    with os.scandir(root) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                yield each.name
            elif (stem := stem_of_pack(each.name)) is not None:
                yield stem


# --- The packages of a delivery: a folder, zip or tar file that is no package but holds some ---------------

_BAG, _PAYLOAD = "bagit.txt", "data"
_METADATA = "metadata"
_UNREAD = regex(
    r".*?(\.(7z|rar|taz|tbz2?|tgz|tlz|txz|tzst|(tar\.)?(bz2|gz|lz|lz4|lzma|xz|z|zst)))",
    re.DOTALL | re.IGNORECASE,
)
_LINES = 1 << 16
_SEVERAL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredPackage:
    """A package in a delivery: its folder, or the zip or tar file that holds it ``within`` a folder.

    ``mets`` is its METS from there, None for what is a package but for the METS that it lacks. ``top`` is the
    packed IP at the top of those side by side in the folder, which are one package; ``ips`` are all of them,
    if each is a package of its own beside others.
    ``fault`` says why nothing of it can be read; ``unread`` is a form of which nothing is read at all.
    ``source`` is what a package can be made of and what is in none: an archive, or LOBs, without a METS.
    """

    path: Path
    mets: str | None = None
    within: str = ""
    top: str | None = None
    ips: tuple[DeliveredPackage, ...] = ()
    is_bag: bool = False
    is_packed: bool = False
    unread: str = ""
    source: str = ""
    fault: str = ""

    @property
    def folder(self) -> str:
        """The name of its folder, once unpacked."""
        unpacked = stem_of_pack(self.path.name) if self.is_packed else None
        return self.within.rpartition("/")[2] or unpacked or self.path.name


def unread_form(name: str) -> str:
    """Return the form of a file by its name, where packages are not read in it; "" for others."""
    found = _UNREAD.fullmatch(name)
    return "" if found is None else found[1].lower()


def chosen(names: Iterable[str]) -> str | None:
    """Return which of the names of files in one folder is that of the package's METS, None without one."""
    found = sorted(name for name in names if is_mets_name(name) or is_top_mets_name(name))
    found.sort(key=lambda name: METS_NAMES.index(name) if name in METS_NAMES else 2 + is_top_mets_name(name))
    return found[0] if found else None


def delivered(root: Path, packs: OpenPacks, budgets: Budgets | None = None) -> list[DeliveredPackage]:
    """Return the packages in a folder, at any depth, or in a zip or tar file; only itself if it is one.

    In the order of their paths. No link is followed, and nothing in a package is looked at: what lies below
    a METS is that package's. Nothing is returned where there is no package at all.
    """
    mirrors.check_finished(root)
    walk = _Delivery(packs, budgets or Budgets())
    return list(walk.folder(root) if root.is_dir() else walk.file(root))


def parent(path: Path, budgets: Budgets | None = None) -> DeliveredPackage | None:
    """Return the package in a zip or tar file, or in a folder without a METS; None where there is none.

    Of IPs side by side it is the one that names no parent. Raises ``SourceError`` when there are several, at
    any depth, and for a file that cannot be read.
    """
    budgets = budgets or Budgets()
    with closing(OpenPacks(budgets)) as packs:
        walk = _Delivery(packs, budgets)
        found = walk.parents(path) if path.is_dir() else walk.packed_parents(path)
        if len(found) > 1:
            paths = Counter(each.path for each in found)
            shown = (walk.shown(each, is_one_of_several=paths[each.path] > 1) for each in found)
            raise SourceError(
                f"{path} holds {len(found):,} packages: {', '.join(shown)}; expected one",
                hint="Name one of them; one whose children lie beside it, in a folder that holds no other.",
            )
    return found[0] if found else None


class _Delivery:
    """A walk through folders and zip and tar files for packages; for one thread."""

    def __init__(self, packs: OpenPacks, budgets: Budgets) -> None:
        self._packs = packs
        self._budgets = budgets

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
            yield from (replace(each, is_bag=True) for each in inside)
            if inside:
                return
        if is_lost or REPRESENTATIONS_FOLDER in folders:
            yield DeliveredPackage(path=path)
            return
        yield from self._without_mets(path, files, folders, depth)

    def _without_mets(
        self, path: Path, files: Sequence[str], folders: Sequence[str], depth: int
    ) -> Iterator[DeliveredPackage]:
        """Yield what is in a folder that has no METS, packages and sources; or itself, if it lost one."""
        found = self._side_by_side(path, files, folders, depth)
        lobs = lobs_in(path)
        if lobs:
            found = [each for each in found if not each.source]
        archives = [name for name in sorted({*files, *folders}) if _is_source(name)]
        whole = [each.path.name for each in found if not each.source]
        was_one = not whole and (lobs or archives) and any(map(is_manifest, files))
        if was_one or any(_is_of_archive(whole, name) for name in archives):
            yield DeliveredPackage(path=path)
        else:
            yield from found
            if any(each.path == path for each in found):
                return  # side by side they are one package, with all of the folder
            yield from (DeliveredPackage(path=path / name, source=name) for name in archives)
            if lobs and not archives:
                yield DeliveredPackage(path=path, source=lobs)

    def _in_metadata(self, path: Path, folders: Sequence[str]) -> str | None:
        if _METADATA not in folders:
            return None
        mets = next((each for each in sorted(os.listdir(path / _METADATA)) if is_mets_name(each)), None)
        return None if mets is None else f"{_METADATA}/{mets}"

    def _is_named_by_manifest(self, path: Path, files: Sequence[str]) -> bool:
        """Return whether a manifest in a folder names a METS beside itself, which is not there."""
        with suppress(OSError, MetspackError):
            for name in filter(is_manifest, files):
                with reading.opening(path, (name,)) as descriptor:
                    rest = b""
                    for block in reading.chunks(descriptor, size=_LINES):
                        lines, _, rest = (b"\n" + rest + block).rpartition(b"\n")
                        rest = rest[-_LINES:]
                        if any(map(_names_mets, _lines_with(PLAIN_METS.encode(), lines))):
                            return True
                    if _names_mets(rest):
                        return True
        return False

    def _side_by_side(
        self, path: Path, files: Sequence[str], folders: Sequence[str], depth: int
    ) -> list[DeliveredPackage]:
        """Return the packages in folders and packed files of a folder.

        IPs are one package where one of them leads to all the others; under a manifest that lies beside them
        already where each leads to another or is led to.
        """
        found = self._inside(path, files, folders, depth)
        ips = [each for each in found if is_beside(path, each)]
        has_manifest = any(map(is_manifest, files))
        if len(ips) < sum(not each.source for each in found) or len(ips) < (1 if has_manifest else _SEVERAL):
            return found
        beside = _by_folder(ips)
        here = self._top(beside)
        # An IP may lie there twice, packed and not.
        if here is None or len(beside) < len(ips) or self._beyond(beside, here, upward=has_manifest):
            return found
        top = beside[here].path.name if beside[here].is_packed else None
        ips = [] if has_manifest else ips
        return [DeliveredPackage(path=path, mets=f"{here}/{CSIP_METS}", top=top, ips=tuple(ips))]

    def _inside(
        self, path: Path, files: Sequence[str], folders: Sequence[str], depth: int
    ) -> list[DeliveredPackage]:
        """Return the packages in folders and packed files of a folder, each by itself."""
        found: list[DeliveredPackage] = []
        for name in sorted({*files, *folders}):
            if name in folders:
                found += () if is_archive(name) else self.folder(path / name, depth + 1)
            else:
                found += self.file(path / name)
        return found

    def file(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages in a file of a delivery: a zip or tar file, or one that is not read."""
        if stem_of_pack(path.name) is not None:
            yield from self.pack(path)
        elif form := unread_form(path.name):
            yield DeliveredPackage(path=path, unread=form)

    def _names(self, path: Path) -> Iterator[tuple[str, str]]:
        """Yield the files in a zip or tar file, each as the path of its folder and its name."""
        for item in self._packs.opened(Below(root=path, segments=())).items(b""):
            if item.kind == "f":
                folder, _, name = os.fsdecode(item.name).rpartition("/")
                yield folder, name

    def pack(self, path: Path) -> Iterator[DeliveredPackage]:
        """Yield the packages in a zip or tar file."""
        folders: dict[str, list[str]] = {}
        archives: dict[str, str] = {}
        bags, sealed = set[str](), set[str]()
        try:
            for folder, name in self._names(path):
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

    def _beyond(self, ips: Mapping[str, DeliveredPackage], here: str, *, upward: bool) -> Collection[str]:
        """Return the IPs side by side to which no links lead from the one at the top; ``upward`` or back.

        They lead also to an IP below one that is lost, and of which others know.
        """
        left = {folder: partial(self._blocks, each) for folder, each in ips.items()}
        ahead, named = [(here, left.pop(here))], set[str]()
        known = set[str]()
        while ahead and left:
            folder, document = ahead.pop()
            located, called = downs(document(), folder, self._budgets)
            named |= called
            known |= {folder, bare(_objid(document(), self._budgets) or folder), *located, *called}
            reached = located & left.keys()
            if reached < left.keys() and named:
                reached |= {
                    each
                    for each in left.keys() - reached
                    if bare(_objid(left[each](), self._budgets) or "") in named
                }
            if upward and not reached and not ahead:
                reached = {each for each in left if self._is_led_up(left[each](), each, known)}
            ahead += [(each, left.pop(each)) for each in sorted(reached)]
        return left

    def parents(self, root: Path) -> list[DeliveredPackage]:
        """Return the packages in a folder without a METS, at any depth, that name no parent.

        Of an IP that lies there twice, packed and not, both are returned.
        """
        files, folders = _listed(root)
        if chosen(files) or REPRESENTATIONS_FOLDER in folders:
            return []
        found = [each for each in self._inside(root, files, folders, 0) if each.mets]
        beside = _by_folder(each for each in found if is_beside(root, each))
        here = self._top(beside)
        left = beside if here is None else self._beyond(beside, here, upward=False)
        led_to = {id(each) for folder, each in beside.items() if folder not in left}
        top = None if here is None else beside[here]
        return [each for each in found if each is top or (id(each) not in led_to and self._is_parent(each))]

    def _top(self, ips: Mapping[str, DeliveredPackage]) -> str | None:
        """Return the folder of the IP that has no parent among those side by side; None without one."""
        return _top(sorted(ips), lambda folder: self._blocks(ips[folder]), self._budgets)

    def packed_parents(self, path: Path) -> list[DeliveredPackage]:
        """Return the packages in a zip or tar file that name no parent, or the one that there is."""
        if form := unread_form(path.name):
            raise SourceError(
                f"{path}: files of the form {form!r} are not read",
                hint="Unpack it (tar xzf FILE for .tar.gz), and name the folder.",
            )
        found = list(self.pack(path))
        for each in found:
            if each.fault:
                raise SourceError(f"{path}: {each.fault}", hint=_COPY)
        found = [each for each in found if each.mets]
        return found if len(found) == 1 else [each for each in found if self._is_parent(each)]

    def _is_parent(self, ip: DeliveredPackage) -> bool:
        return ip.top is not None or _ups(self._blocks(ip), self._budgets) == []

    def shown(self, ip: DeliveredPackage, *, is_one_of_several: bool) -> str:
        """Return path and OBJID of a package, for people; of several in one file, also the path there."""
        objid = _objid(self._blocks(ip), self._budgets)
        place = ip.path / ip.within if is_one_of_several else ip.path
        return f"{place} ({objid})" if objid else str(place)

    def _is_led_up(self, document: Iterable[bytes], folder: str, known: set[str]) -> bool:
        """Return whether a METS names one of the packages that are known by folder or OBJID as its parent."""
        with suppress(OSError, MetspackError):
            for fact in condensed(document, self._budgets):
                if isinstance(fact, Run) or not isinstance(fact, Mptr):
                    continue
                if not fact.href or not fact.is_upward or fact.is_ancestor:
                    continue
                if bare(fact.href) in known:
                    return True
                with suppress(uris.ReferenceRefused):
                    if _folder_led_to(folder, fact.href) in known - {folder}:
                        return True
        return False

    def _blocks(self, ip: DeliveredPackage) -> Iterator[bytes]:
        mets = ip.mets or ""
        if not ip.is_packed:
            with reading.opening(ip.path, mets.split("/")) as descriptor:
                yield from reading.chunks(descriptor, size=reading.BLOCK)
            return
        name = os.fsencode(f"{ip.within}/{mets}" if ip.within else mets)
        content = self._packs.opened(Below(root=ip.path, segments=())).content(name)
        yield from () if content is None else content.blocks()


_LOBS = (
    ("header/metadata.xml", "an unpacked archive"),
    ("content/schema*/table*", "LOBs"),
    ("schema*/table*", "LOBs"),
)


def _is_source(name: str) -> bool:
    """Return whether a name is that of an archive, or of the first of its parts."""
    found = ARCHIVE.fullmatch(name)
    return found is not None and int(found[2] or 1) == 1


def lobs_in(folder: Path) -> str:
    """Return what lies in a folder as in an unpacked archive, "" for nothing of that."""
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


def _lines_with(word: bytes, lines: bytes) -> Iterator[bytes]:
    """Yield the lines in which a word of small letters occurs, in whatever case, and no others."""
    small, at = lines.lower(), 0
    while (at := small.find(word, at)) >= 0:
        start, stop = small.rfind(b"\n", 0, at) + 1, small.find(b"\n", at)
        stop = len(lines) if stop < 0 else stop
        yield lines[start:stop]
        at = stop


def _names_mets(line: bytes) -> bool:
    """Return whether a line of a manifest is of a METS beside the manifest."""
    path = line.strip().rpartition(b" ")[2].removeprefix(b"*").removeprefix(b"./")
    return b"/" not in path and is_mets_name(path)


def _tops(folders: Mapping[str, Sequence[str]], archives: Mapping[str, str]) -> dict[str, str | None]:
    """Return the folders of packages, each with its METS, from folders that have METS and archives."""
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
    """Return whether a folder is one of others or lies below one."""
    return not _above(folder).isdisjoint(tops)


def _is_of_archive(found: Sequence[str], archive: str) -> bool:
    """Whether a file is an archive of which the packages below are segments."""
    return is_archive(archive) and any(name.startswith(f"{stem_of(archive)}_") for name in found)


_COPY = "Get another copy of the file; metspack check shows what else is wrong."


def is_beside(root: Path, each: DeliveredPackage) -> bool:
    """Whether a package is an IP in a folder right in ``root``, or packed as one, with the METS of CSIP."""
    is_here = each.path.parent == root and not (each.fault or each.unread or each.source or each.is_bag)
    return is_here and each.mets == CSIP_METS and "/" not in each.within


def _by_folder(ips: Iterable[DeliveredPackage]) -> dict[str, DeliveredPackage]:
    """Return IPs side by side by their folders; of one that lies there twice the one that is not packed."""
    return {each.folder: each for each in sorted(ips, key=lambda each: not each.is_packed)}


def downs(document: Iterable[bytes], folder: str, budgets: Budgets) -> tuple[set[str], set[str]]:
    """Return the folders beside its own that a METS leads down to, and the bare OBJIDs that it names there.

    A child that is told to be in the package's own ``folder`` is none of them.
    """
    located: dict[int, str] = {}
    named: list[tuple[int, str]] = []
    with suppress(OSError, MetspackError):
        for fact in condensed(document, budgets):
            if isinstance(fact, Run) or not isinstance(fact, Mptr) or not fact.href or fact.is_upward:
                continue
            if fact.named_by is By.OBJID:
                named.append((fact.div, bare(fact.href)))
            elif fact.named_by is By.LOCATION:
                with suppress(uris.ReferenceRefused):
                    located[fact.div] = _folder_led_to(folder, fact.href)
    beside = {each for each in located.values() if each not in {folder, ""}}
    return beside, {objid for div, objid in named if located.get(div) != folder}


def _folder_led_to(folder: str, href: str) -> str:
    """Return the folder, ``folder`` or one beside it, in which a location of its METS is; "" for that around.

    Raises ``ReferenceRefused``.
    """
    return next(iter(uris.joined((folder,), uris.parsed(href))), "")


def _objid(document: Iterable[bytes], budgets: Budgets) -> str:
    """Return the OBJID of a METS, "" where there is none or it cannot be read."""
    with suppress(OSError, MetspackError):
        for fact in reader.read(document, budgets):
            return (fact.objid or "").strip() if isinstance(fact, reader.Root) else ""
    return ""
