"""Read and write notes in METS on the source of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from metspack.errors import MetspackError
from metspack.files import reading
from metspack.limits import Budgets
from metspack.mets import CSIP_METS, PLAIN_METS, REPRESENTATIONS_FOLDER, reader

SOURCE = "SOURCE OF THE ARCHIVE"
"""The role of the agent whose notes are on the source of an archive, which each names."""


def history(document: Iterable[bytes], archive: str, budgets: Budgets | None = None) -> tuple[str, ...]:
    """Return the notes of a METS on the source of the archive with that name.

    An unreadable METS has no notes.
    """
    found: list[str] = []
    with suppress(OSError, MetspackError):
        for fact in reader.read(document, budgets):
            if isinstance(fact, reader.Agent) and fact.role == SOURCE:
                found += (words for each in fact.notes for name, words in [note(each)] if name == archive)
            elif isinstance(fact, reader.File | reader.StructMap):
                break
    return tuple(found)


def history_beside(archive: Path) -> tuple[str, ...]:
    """Return the notes on an archive's source in the METS of the package that it is in."""
    folder = archive.resolve().parent
    found = history(_document(folder, PLAIN_METS), archive.name)
    if not found and len(folder.parents) > _DATA_DEPTH and folder.parents[1].name == REPRESENTATIONS_FOLDER:
        found = history(_document(folder.parents[_DATA_DEPTH - 1], CSIP_METS), archive.name)
    return found


_DATA_DEPTH = 3  # levels from a package's folder down to the data of a representation


def _document(root: Path, name: str) -> Iterator[bytes]:
    with reading.opening(root, (name,)) as descriptor:
        yield from reading.chunks(descriptor, size=reading.BLOCK)


def note(text: str) -> tuple[str, str]:
    """Return the archive's name and the words of a note by ``noted``."""
    archive, _, words = text.strip().partition(": ")
    return archive, words


def noted(archive: str, words: str) -> str:
    """Return a note on an archive."""
    return f"{archive}: {words}"
