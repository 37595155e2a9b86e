"""Where the LOB of a cell may be: the statement's rule first, then the conventions found in archives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metspack import location, uris
from metspack.checking.catalogue import path_of
from metspack.errors import SourceError
from metspack.siard.metadata import Metadata, Table

STATEMENT = "the statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place that a convention gives: an entry of the archive, or a path below the package's root."""

    convention: str
    inside: bool
    path: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why the statement gives no place; ``outside`` when it is one outside the package."""

    reason: str
    outside: bool


class Column:
    """The folders above a column's (or nested field's) cells, as metadata.xml has them."""

    def __init__(self, metadata: Metadata, table: Table, cell: str, base: Sequence[str]) -> None:
        chain = table.chain(cell)
        self.label = f"{table.path} {re.sub('a[0-9]+', 'a', cell)}"
        self._base = tuple(base)
        self._database = metadata.lob_folder
        self._lob_folders = [each.lob_folder for each in chain] or [None]
        folders = [each.folder for each in chain if each.folder]
        self._inside_folders = [table.folder_path, *folders]

    def stated(self, file: str) -> Place | Refused:
        """Return the place by the statement's rule, or why it gives none."""
        try:
            found = location.located(self._database, self._lob_folders[0], file, fields=self._lob_folders[1:])
        except uris.ReferenceRefused as error:
            return Refused(reason=error.message, outside=error.rule == "leaves-root")
        except SourceError as error:
            return Refused(reason=error.message, outside=False)
        if found is None or found.absolute:
            return Refused(reason=f"{file!r} is absolute", outside=True)
        if found.inside:
            return Place(convention=STATEMENT, inside=True, path=path_of(found.segments))
        try:
            path = path_of(uris.walked(self._base, found.segments))
        except uris.ReferenceRefused as error:
            return Refused(reason=error.message, outside=True)
        return Place(convention=STATEMENT, inside=False, path=path)

    def others(self, file: str) -> Iterator[Place]:
        """Yield the places by other conventions, in a fixed order (SIARD 2.2 §5.1, and what is in use)."""
        database, chain = self._database, self._lob_folders
        for convention, folders in (
            ("the zip's root and .. for the folder around it", (database, *chain)),
            ("the innermost lobFolder alone", (chain[-1],)),
            ("the cell alone", ()),
            ("the database's lobFolder and the cell", (database,)),
            ("the .siard's folder and the cell", ("..",)),
            ("the column's folder", tuple(self._inside_folders)),
        ):
            place = self._from_zip(convention, [folder for folder in folders if folder], file)
            if place is not None:
                yield place

    def _from_zip(self, convention: str, folders: Sequence[str], file: str) -> Place | None:
        """Return the place of references walked from the zip's root; one step above is the zip's folder."""
        segments: list[str] = []
        try:
            for reference in (uris.parsed(each) for each in (*folders, file)):
                if reference.kind is uris.Kind.DRIVE:
                    return None
                if reference.kind is uris.Kind.ABSOLUTE:
                    # Recommendation 0.16 writes file:/// for the package's own folder.
                    segments = ["..", *reference.segments]
                    convention = "file:/// for the package's folder"
                else:
                    segments += reference.segments
            kept = _collapsed(segments)
            if kept[:1] == ("..",):
                return Place(
                    convention=convention, inside=False, path=path_of(uris.walked(self._base, kept[1:]))
                )
        except uris.ReferenceRefused:
            return None
        return Place(convention=convention, inside=True, path=path_of(kept))


def _collapsed(segments: Sequence[str]) -> tuple[str, ...]:
    names: list[str] = []
    for segment in segments:
        if segment == ".." and names and names[-1] != "..":
            names.pop()
        else:
            names.append(segment)
    return tuple(names)
