"""Notes on the source of an archive in METS, and IPs side by side found by OBJID."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from metspack import uris
from metspack.containers.ipreader import unpacked_name
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.mets import CSIP_METS, PLAIN_METS, REPRESENTATIONS_FOLDER, reader
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
