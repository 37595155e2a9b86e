"""Search for the LOB of a cell among an archive's entries and a package's files.

Files are looked up by their paths in the package, and entries in the archive's directory: a file is opened
only to decide between two candidates. Places outside the package are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Protocol

from metspack.errors import SourceError
from metspack.files.paths import Names, path_of
from metspack.locations import Convention, splitparts
from metspack.locations.candidates import PLAIN_NAME, Candidate, Candidates, candidate, renamed
from metspack.locations.search import Hit, Search, Tried
from metspack.locations.statement import LocationError, Place, local_texts
from metspack.model import CellRun, Digest, Extent, FileExtent, LobCell, ZipExtent
from metspack.siard.entries import ArchiveEntries
from metspack.siard.metadata import Metadata, Table
from metspack.uris import PLAIN, ReferenceRefused, Repair

_FOLDERS_KEPT = 4096
NO_SLASH = "no slash at the end of a lobFolder"
"""Tolerated like a ``Repair``: RFC 3986 (5.2.3) would drop the folder's last name."""

Proof = Callable[[Sequence[Extent], Digest], bool]
"""Returns whether the bytes of a whole LOB, or of its parts in order, have a digest."""


class ListedFiles(Protocol):
    """The files of a package by their paths, and the statements of METS on them."""

    def names(self, base: Sequence[str], place: Place) -> Names | None:
        """Return the names of a place outside the archive in ``base``, or None outside the package."""

    def file(self, path: bytes) -> tuple[bytes, int] | None:
        """Return the path and the bytes of the file that a path means, or None without such a file."""

    def all_files(self, paths: Sequence[bytes]) -> tuple[list[bytes], list[int]] | None:
        """Return the paths and bytes of the files that all paths mean, or None."""

    def may_hold(self, folder: bytes) -> bool:
        """Return whether there may be a file below a folder, which ends with its slash."""

    def lob_folders(self, folder: Names, siard: str, /) -> list[str]:
        """Return the names of LOB folders in a folder, except those of other archives."""

    def is_listed(self, path: bytes, digest: Digest) -> bool:
        """Return whether METS gives the file this digest."""

    def is_named(self, path: bytes, lob: str) -> bool:
        """Return whether METS has the file under a LOB's ID."""

    def have_one_digest(self, path: bytes, other: bytes) -> bool:
        """Return whether two files have the same digest in METS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LobFiles:
    """The files or entries of LOBs that were found in one way: of each LOB one, or the parts of one.

    Paths are from the zip's root when ``inside``, otherwise from the package's; ``split`` is that of a split
    LOB's whole.
    """

    convention: Convention
    inside: bool
    tolerated: tuple[str, ...]
    paths: Sequence[bytes]
    sizes: Sequence[int]
    split: bytes | None = None
    rival: bytes | None = None
    """Another place with other bytes where the LOB may be too, or None."""

    @property
    def path(self) -> bytes:
        """The path of the first LOB."""
        return self.paths[0] if self.split is None else self.split


class Loss(Enum):
    """A reason why a cell has no LOB; each has a finding of the same name."""

    LOCATION = auto()
    """The location is invalid."""
    LOB_OUTSIDE = auto()
    """The location leads out of the package."""
    PART_LOST = auto()
    PART_TWICE = auto()
    ENTRY_MISSING = auto()
    LOB_MISSING = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The reason why a cell has no LOB; ``pieces`` are parts of it that exist nevertheless."""

    why: Loss
    expected: bytes = b""
    reason: str = ""
    pieces: tuple[tuple[bytes, int], ...] = ()


class ColumnSearch:
    """The search for the LOBs of one column or field; keeps the way in which the last was found."""

    def __init__(self, metadata: Metadata, table: Table, cell: str) -> None:
        chain = table.chain(cell)
        self.is_described = bool(chain)
        """True if metadata.xml has the column."""
        self.label = f"{table.path} {re.sub('a[0-9]+', 'a', cell)}"
        self.candidates = Candidates.of_field(chain, metadata.lob_folder, table.folder_path)
        self.way: int | None = None
        """``Candidate.way`` of the last LOB that was not found by the statement."""
        self.is_led_out = False
        """True if all places that the statement gives for plain cells are outside the package."""
        self.prefix: bytes | None = None
        """The folder, with its slash, where a plain ``file`` is searched first; empty inside."""
        self.convention = Convention.C
        self.tolerated: tuple[str, ...] = ()
        self.is_sole: dict[str, bool] = {}
        """By the folder in a plain ``file``: whether its LOB can be only below ``prefix``."""

    def tolerated_at(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the repaired faults of the references to a candidate, as words for messages.

        Faults that the convention implies (backslashes, ``file:``) are left out.
        """
        implied = {Repair.PSEUDO_ABSOLUTE}
        if candidate.convention is Convention.J:
            implied.add(Repair.BACKSLASH)
        words = tuple(each.value for each in candidate.repairs if each not in implied)
        return (*words, NO_SLASH) if self._is_unslashed(candidate) else words

    def _is_unslashed(self, candidate: Candidate) -> bool:
        """Return whether a lobFolder that leads to a place outside was written without its slash."""
        if candidate.place.inside or self.candidates.is_inside:
            return False
        levels = self.candidates.levels
        folders = (levels.database or "", *local_texts(levels))
        return any(each and not each.endswith(("/", "\\", ".")) for each in map(str.strip, folders))


class ListedSearch:
    """The search for the LOBs of one archive, with the path ``path`` in the package.

    ``prefix`` begins the IDs of its LOBs in METS. ``mapped`` yields the places to which mapping.txt moves
    one. ``proof`` compares bytes with a digest; without it no bytes are read.
    """

    def __init__(
        self,
        files: ListedFiles,
        container: ArchiveEntries[ZipExtent],
        path: bytes,
        prefix: str,
        mapped: Callable[[Names], Iterator[Names]],
        *,
        proof: Proof | None = None,
    ) -> None:
        self.files = files
        self.container = container
        self.prefix = prefix
        self.proof = proof
        *base, self.siard = path.decode("utf-8", "backslashreplace").split("/")
        self.base = tuple(base)
        self._mapped = mapped
        self._has_entries = lru_cache(_FOLDERS_KEPT)(self._is_populated)

    def column(self, metadata: Metadata, table: Table, cell: str) -> ColumnSearch:
        """Return the column or field of a cell path, with the statement's place for its plain cells."""
        column = ColumnSearch(metadata, table, cell)
        stated = [each for each in column.candidates.of(PLAIN_NAME, []) if each.stated]
        if stated:
            self._learn(column, stated[0])
        column.is_led_out = not any(
            each.place.inside or self.files.names(self.base, each.place) for each in stated
        )
        return column

    def learn(self, column: ColumnSearch) -> None:
        """Take the last LOB's folder as the first place for plain cells if the statement leads out."""
        if column.is_led_out:
            column.prefix = None
            column.is_sole.clear()
            way = None if column.way is None else candidate(column.candidates.levels, column.way)
            # Inside, each cell decides the convention; a renamed folder gives several places.
            if way is not None and not way.place.inside and way.renamed is None:
                # An earlier rule may lead to the same place.
                plain = column.candidates.of(PLAIN_NAME, [])
                self._learn(column, next((each for each in plain if each.place == way.place), way))

    def _learn(self, column: ColumnSearch, probe: Candidate) -> None:
        if probe.place.inside or probe.convention is Convention.LOB_ROOT:
            names: Names | None = probe.place.segments
        else:
            names = self.files.names(self.base, probe.place)
        if names is not None:
            column.prefix = path_of(names)[: -len(PLAIN_NAME)]
            column.convention = probe.convention
            column.tolerated = column.tolerated_at(probe)

    def find(self, column: ColumnSearch, cell: LobCell) -> LobFiles | Lost:
        """Return a cell's LOB, or the reason why it was not found; the next cells use the result."""
        places = _ListedPlaces(self, cell)
        search = Search[bool](places, column.candidates, cell)
        hit = search.hit() or next(iter(search.misfits), None)
        if hit is None:
            return _lost(search, places, column)
        if search.is_decided and not hit.candidate.stated:
            column.way = hit.candidate.way
            self.learn(column)
        path, (paths, sizes) = places.path(hit), zip(*map(_piece, hit.extents), strict=True)
        rival = next(iter(search.rivals), None) if cell.digest is None else None
        return LobFiles(
            convention=hit.candidate.convention,
            inside=hit.candidate.place.inside,
            tolerated=column.tolerated_at(hit.candidate),
            paths=paths,
            sizes=sizes,
            split=None if paths[0] == path else path,
            rival=None if rival is None else places.path(rival),
        )

    def find_all(self, column: ColumnSearch, run: CellRun) -> LobFiles | None:
        """Return the LOBs of cells with plain names, or None to use ``find`` for each.

        They are all whole and found in one way: by the first place for plain cells.
        """
        prefix, files = column.prefix, list(dict.fromkeys(run.files))
        if prefix is None or not all(map(PLAIN.fullmatch, files)):
            return None
        is_inside = column.candidates.is_inside
        named = column.candidates.all_named_in_full
        conventions = [*named(files)] if is_inside else [column.convention]
        folders = {file[: file.rfind("/") + 1] for file in files}
        is_sure = not column.is_led_out or all(self._is_sole(column, each) for each in folders)
        if len(conventions) > 1 or not is_sure:
            return None
        paths = [prefix + file.encode() for file in files]
        if is_inside:
            entries = self.container.columns(files)
            found = None if entries is None else (paths, entries[0])
        else:
            found = self.files.all_files(paths)
        if found is None:
            return None
        if len(files) < len(run):
            at = dict(zip(files, zip(*found, strict=True), strict=True))
            found = [at[name][0] for name in run.files], [at[name][1] for name in run.files]
        paths, sizes = found
        if sizes != list(run.lengths) and not all(map(column.candidates.fits, sizes, run.lengths)):
            return None
        return LobFiles(
            convention=conventions.pop(),
            inside=is_inside,
            paths=paths,
            sizes=sizes,
            tolerated=column.tolerated,
        )

    def places(self, place: Place, convention: Convention) -> Iterator[Names | None]:
        """Yield the names of each place of a candidate, None for a place outside the package."""
        if place.inside or convention is Convention.LOB_ROOT:
            # A check is granted the package beside the folder of the .siard.
            yield place.segments
            return
        names = self.files.names(self.base, place)
        yield names
        yield from () if names is None else self._mapped(names)

    def _is_sole(self, column: ColumnSearch, folder: str) -> bool:
        """Return whether all other places that plain cells with a folder may mean have empty ones."""
        if folder not in column.is_sole:
            if len(column.is_sole) >= _FOLDERS_KEPT:
                column.is_sole.clear()
            column.is_sole[folder] = not any(self._others(column, folder))
        return column.is_sole[folder]

    def _others(self, column: ColumnSearch, folder: str) -> Iterator[bool]:
        here = (column.prefix or b"") + folder.encode()
        for each in column.candidates.of(folder + PLAIN_NAME, []):
            if each.convention is Convention.RENAMED:
                continue
            for names in self.places(each.place, each.convention):
                if names is not None and each.place.inside:
                    yield self._has_entries("/".join((*names[:-1], "")))
                elif names is not None and (there := path_of((*names[:-1], ""))) != here:
                    yield self.files.may_hold(there)

    def _is_populated(self, folder: str) -> bool:
        """Return whether the archive has entries in a folder; at its root only plain files count."""
        return any(folder or "/" not in name for name in self.container.names(folder))


class _ListedPlaces:
    """The places for one cell in a package; a spot is whether they are inside the archive."""

    def __init__(self, finder: ListedSearch, cell: LobCell) -> None:
        self._finder = finder
        self._cell = cell

    def spots(self, candidate: Candidate) -> Iterator[tuple[bool, Names] | Tried]:
        """Yield the spots that a candidate means; see ``LobPlaces``."""
        place, finder = candidate.place, self._finder
        if candidate.renamed is None:
            for names in finder.places(place, candidate.convention):
                yield Tried(candidate, "") if names is None else (place.inside, names)
            return
        found = finder.files.names(finder.base, place)
        if found is not None and (at := len(found) - len(place.segments) + candidate.renamed) >= 0:
            siblings = finder.files.lob_folders(found[:at], finder.siard)
            for name in renamed(found[at], siblings, finder.siard):
                yield False, (*found[:at], name, *found[at + 1 :])

    def look(self, spot: bool) -> splitparts.Look:
        """Return the look-up of entries or files."""
        return self._entry if spot else self._file

    def _entry(self, names: Names) -> Extent | None:
        return self._finder.container.extent("/".join(names))

    def _file(self, names: Names) -> Extent | None:
        found = self._finder.files.file(path_of(names))
        if found is None:
            return None
        path, size = found
        there = tuple(path.decode("utf-8", "surrogateescape").split("/"))
        return FileExtent(root=0, path=there, size=size, modified=0, inode=0, device=0)

    def wholes(self, spot: bool, names: Names) -> Sequence[Extent]:
        """Return the file or entry with these names, if any."""
        return () if (found := self.look(spot)(names)) is None else (found,)

    def path(self, hit: Hit) -> bytes:
        """Return the path of a whole LOB, which may be in another package, or of that of parts."""
        is_file = hit.is_whole and isinstance(hit.extents[0], FileExtent)
        return _piece(hit.extents[0])[0] if is_file else path_of(hit.names)

    def confirmed(self, hits: Sequence[Hit]) -> Iterator[Hit]:
        """Yield the hits by METS's digest or ID, then those by their bytes."""
        files, proof, digest = self._finder.files, self._finder.proof, self._cell.digest
        lob = self._finder.prefix + self._cell.place.id
        for each in (hit for hit in hits if not hit.candidate.place.inside):
            path = self.path(each)
            if files.is_named(path, lob) if digest is None else files.is_listed(path, digest):
                yield each
        if digest is not None and proof is not None:
            yield from (each for each in hits if proof(each.extents, digest))

    def have_same_bytes(self, one: Hit, other: Hit) -> bool:
        """Return whether METS or the zip show the same bytes for two hits."""
        if one.candidate.place.inside != other.candidate.place.inside:
            return False
        if not one.candidate.place.inside:
            return self._finder.files.have_one_digest(self.path(one), self.path(other))
        return [_checksum(each) for each in one.extents] == [_checksum(each) for each in other.extents]

    def identity(self, extent: Extent) -> object:
        """Return path and size."""
        return _piece(extent)

    def shown(self, _spot: bool, names: Names, _extent: Extent | None = None, /) -> str:
        """Return the names as a path."""
        return "/".join(names)

    def pieces(self, tried: Tried, fits: Callable[[int], bool]) -> tuple[tuple[bytes, int], ...]:
        """Return the existing parts of a LOB at a place where another part is missing."""
        found: dict[bytes, int] = {}

        def look(names: Names) -> Extent | None:
            if (extent := self.look(tried.spot)(names)) is not None and not tried.spot:
                found.update((_piece(extent),))
            return extent

        with suppress(SourceError):
            splitparts.found(look, tried.names, fits)
            splitparts.check_no_later_part(look, tried.names)
        return tuple(found.items())


def _lost(search: Search[bool], places: _ListedPlaces, column: ColumnSearch) -> Lost:
    """Return the reason why a search had no result."""
    if not any(each.problem for each in search.tried):
        search.look_for_later_parts(lambda candidate: not candidate.convention.is_guess)
    if (tried := next((each for each in search.tried if each.problem), None)) is not None:
        why = Loss.PART_TWICE if isinstance(tried.problem, splitparts.TooMany) else Loss.PART_LOST
        pieces = places.pieces(tried, search.fits)
        return Lost(why=why, expected=path_of(tried.names), reason=str(tried.problem), pieces=pieces)
    for each in search.refusals:
        # The text is no reference, as opposed to one that leads out of the archive.
        is_none = isinstance(each, ReferenceRefused) and each.rule not in {"leaves-root", "drive"}
        if is_none or isinstance(each, LocationError):
            return Lost(why=Loss.LOCATION, reason=each.message)
    meant = [each for each in search.tried if not each.candidate.convention.is_guess]
    # The likeliest place is that of others of its column, or else the first; if the statement leads out of
    # the package, a file is likelier than an entry.
    likely = [each for each in meant[:1] if each.names]
    likely += (each for each in meant[1:] if each.names and not each.candidate.place.inside)
    of_column = (each for each in meant if each.names and each.candidate.way == column.way)
    if (expected := next(of_column, next(iter(likely), None))) is None:
        return Lost(why=Loss.LOB_OUTSIDE)
    why = Loss.ENTRY_MISSING if expected.candidate.place.inside else Loss.LOB_MISSING
    return Lost(why=why, expected=path_of(expected.names))


def _checksum(extent: Extent) -> tuple[int, int] | None:
    return (extent.size, extent.crc) if isinstance(extent, ZipExtent) else None


def _piece(extent: Extent) -> tuple[bytes, int]:
    if isinstance(extent, FileExtent):
        return path_of(extent.path), extent.size
    return extent.name.encode("utf-8", "surrogateescape"), extent.size
