"""IPs side by side in one folder: finds the METS of the one at the top, which has no parent there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from metspack import uris
from metspack.containers.ipreader import SUFFIXES, OpenPacks
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.files.byteranges import Below
from metspack.mets import CSIP_METS, METS_NAMES, REPRESENTATIONS_FOLDER, reader
from metspack.mets.links import Mptr, are_same, bare
from metspack.model import Budgets

_OWN_FOLDERS = {(name,) for name in ("data", "metadata", "documentation", "schemas")}


@dataclass(frozen=True, slots=True)
class _IpMets:
    """The OBJID of an IP's METS, and the OBJIDs or locations of its parent there."""

    objid: str
    ups: tuple[str, ...]


def top(root: Path, budgets: Budgets | None = None) -> tuple[str, str] | None:
    """Return folder and name of the METS of the IP in ``root`` that has no parent there; None without one.

    The first IP by name is asked for its parent, that one for its own, and so on: of many children few are
    read. None also where the parent that an IP names is not there.
    """
    with os.scandir(root) as entries:
        folders = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    folders = [each for each in folders if _is_file(root, each)]

    def blocks(folder: str) -> Iterator[bytes]:
        with reading.opening(root, (folder, CSIP_METS)) as descriptor:
            yield from reading.chunks(descriptor, size=reading.BLOCK)

    here = _top(folders, blocks, budgets or Budgets())
    return None if here is None else (here, CSIP_METS)


def packed_top(root: Path, packs: OpenPacks, budgets: Budgets | None = None) -> tuple[str, str] | None:
    """Return file and folder of the packed IP in ``root`` that has no parent there, as ``top`` does.

    Only zip and tar files are asked that hold the METS of the folder which they are named after.
    """
    files = dict(_packed_ips(root, packs))

    def blocks(folder: str) -> Iterator[bytes]:
        content = packs.opened(files[folder]).content(_mets(folder))
        yield from () if content is None else content.blocks()

    here = _top(list(files), blocks, budgets or Budgets())
    return None if here is None else (files[here].segments[0], here)


def _packed_ips(root: Path, packs: OpenPacks) -> Iterator[tuple[str, Below]]:
    """Yield the packed IPs in a folder, by their own folders."""
    with os.scandir(root) as entries:
        names = sorted(each.name for each in entries if each.is_file(follow_symlinks=False))
    for name in names:
        folder, suffix = os.path.splitext(name)
        if os.fsencode(suffix.lower()) in SUFFIXES:
            path = Below(root=root, segments=(name,))
            with suppress(MetspackError):
                if packs.opened(path).content(_mets(folder)) is not None:
                    yield folder, path


def _mets(folder: str) -> bytes:
    return os.fsencode(f"{folder}/{CSIP_METS}")


Document = Callable[[str], Iterator[bytes]]
"""Gives the METS of the IP in a folder."""


def _top(folders: list[str], document: Document, budgets: Budgets) -> str | None:
    seen: set[str] = set()
    here = next(iter(folders), None)
    while here is not None and here not in seen:
        seen.add(here)
        ip = _ip(document, here, budgets)
        if ip is None or not ip.ups:
            return here
        here = _located(ip, here, folders) or _named(document, ip, folders, budgets)
    return None


def _is_file(root: Path, folder: str) -> bool:
    with suppress(OSError, MetspackError):
        os.close(reading.opened(root, (folder, CSIP_METS)))
        return True
    return False


def _ip(document: Document, folder: str, budgets: Budgets, *, whole: bool = True) -> _IpMets | None:
    """Return OBJID and links up of an IP, None for an unreadable METS; its OBJID alone unless ``whole``."""
    objid, ups = "", []
    try:
        for fact in reader.read(document(folder), budgets):
            if isinstance(fact, reader.Root):
                objid = (fact.objid or "").strip()
                if not whole:
                    break
            elif isinstance(fact, Mptr) and fact.href and fact.is_upward:
                ups.append(fact.href)
    except (OSError, MetspackError):
        return None
    return _IpMets(objid, tuple(ups))


def _located(ip: _IpMets, folder: str, folders: list[str]) -> str | None:
    """Return the folder beside an IP's own that one of its links up leads to."""
    for href in ip.ups:
        with suppress(uris.ReferenceRefused):
            names = uris.joined((folder,), uris.parsed(href))
            if len(names) > 1 and names[0] in folders and names[0] != folder:
                return names[0]
    return None


def _named(document: Document, ip: _IpMets, folders: list[str], budgets: Budgets) -> str | None:
    """Return the folder of the IP whose OBJID one of an IP's links up has."""
    for folder in folders:
        other = _ip(document, folder, budgets, whole=False)
        if other is not None and other.objid and any(are_same(other.objid, href) for href in ip.ups):
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
                for fact in reader.read(self._blocks((folder, name)), self._budgets):
                    if isinstance(fact, reader.Root):
                        if objid := (fact.objid or "").strip():
                            yield (folder, name), objid
                        break


def _folders(root: Path) -> Iterator[str]:
    """Yield the names of the folders in a folder, and those that its zip and tar files have once unpacked."""
    with os.scandir(root) as entries:
        for each in entries:
            stem, suffix = os.path.splitext(each.name)
            if each.is_dir(follow_symlinks=False):
                yield each.name
            elif os.fsencode(suffix.lower()) in SUFFIXES:
                yield stem
