"""Notes on the source of an archive in METS, and IPs side by side found by OBJID."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from metspack import uris
from metspack.containers.ipreader import unpacked_name
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.mets import CSIP_METS, METS_NAMES, PLAIN_METS, REPRESENTATIONS_FOLDER, reader
from metspack.mets.links import are_same, bare
from metspack.model import Budgets

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
                if objid := objid_of(self._blocks((folder, name)), self._budgets):
                    yield (folder, name), objid


def _folders(root: Path) -> Iterator[str]:
    """Yield the names of the folders in a folder, and those that its zip and tar files have once unpacked."""
    with os.scandir(root) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                yield each.name
            elif (stem := stem_of_pack(each.name)) is not None:
                yield stem


def objid_of(document: Iterable[bytes], budgets: Budgets) -> str:
    """Return the OBJID of a METS, "" where there is none or it cannot be read."""
    with suppress(OSError, MetspackError):
        for fact in reader.read(document, budgets):
            return (fact.objid or "").strip() if isinstance(fact, reader.Root) else ""
    return ""
