"""Search for the LOB of a cell among the archive's entries and the package's files.

The candidate places are those of ``metspack.locations``: the statement's place with a fitting size ends the
search; otherwise all others follow in a fixed order, independent of earlier cells. Files are looked up in the
catalogue and in the archive's directory: a file is opened only to decide between two candidates. Places
outside the package are left out. The mapping.txt beside an archive states where the folders of its segments
are stored (SIARD 2.2, S_8.1.2-0).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metspack import uris
from metspack.checking.archives.forms import Entries
from metspack.checking.archives.packagefiles import Files
from metspack.checking.catalogue import Catalogue, folder_of, shown
from metspack.checking.codes import Code, Rule
from metspack.checking.mets.documents import of_opening
from metspack.checking.tree import CheckedTree
from metspack.errors import MetspackError, SourceError
from metspack.locations import Convention, splitparts
from metspack.locations.candidates import PLAIN_NAME, Candidate, Candidates, renamed
from metspack.locations.mappingtxt import NAME, LineRefused, parsed_line
from metspack.locations.splitparts import Names
from metspack.locations.statement import LocationError, Place, local_texts
from metspack.model import CellRun, Digest, Extent, FileExtent, Finding, LobCell, ZipExtent
from metspack.packages.files import path_of
from metspack.siard.metadata import Metadata, Table
from metspack.uris import PLAIN, ReferenceRefused, Repair

_SHOWN = 80


class Mapping:
    """The mapping.txt beside an archive: by the path of a segment's folder, where it may be stored."""

    def __init__(self, catalogue: Catalogue, files: Files, siard: bytes) -> None:
        self._catalogue = catalogue
        self._files = files
        self._path = folder_of(siard) + NAME.encode()
        self._base = tuple(shown(self._path).split("/")[:-1])
        self._targets: dict[Names, tuple[str, tuple[Names, ...]]] = {}

    def of(self, names: Names) -> Iterator[Names]:
        """Yield the other places in the package of a file that should be at these names."""
        for length in range(len(names) - 1, 0, -1) if self._targets else ():
            if (found := self._targets.get(names[:length])) is not None:
                yield from ((*target, *names[length:]) for target in found[1])
                return

    def read(self, places: CheckedTree) -> Iterator[Finding]:
        """Read the file; yield the findings on it.

        Targets outside the package are never opened. A missing mapping.txt has no finding; the inventory
        reports a link in its place.
        """
        if not self._catalogue.is_file(self._path):
            return
        is_used = False
        try:
            with places.content(self._path) as content:
                for number, line in enumerate(content.lines(), start=1):
                    is_used = is_used or bool(line.strip())
                    yield from self._take(number, line)
        except (OSError, MetspackError) as error:
            yield of_opening(self._path, error)
            return
        if not is_used:
            yield Code.MAPPING_EMPTY.at(self._path)

    def _take(self, number: int, line: bytes) -> Iterator[Finding]:
        where, reason = (shown(self._path), number), ""
        try:
            stated = parsed_line(line)
        except LineRefused as refused:
            stated, reason = None, refused.message
        if stated is not None:
            folder, target = (*self._base, *stated[0]), stated[1]
            found = self._found(folder, target)
            if self._targets.setdefault(folder, (target, found))[0] != target:
                reason = "another line maps the folder elsewhere"
            elif not self._is_folder(folder):
                facts = {"expected": "/".join(folder), "href": target}
                if found:
                    yield Code.SEGMENT_MAPPED.at(*where, **facts, found="/".join(found[0]))
                else:
                    yield Code.SEGMENT_AWAY.at(*where, **facts)
        if reason:
            text = line.decode("utf-8-sig", "surrogateescape").strip()
            yield Code.MAPPING_LINE.at(*where, found=text[:_SHOWN], reason=reason)

    def _found(self, folder: Names, target: str) -> tuple[Names, ...]:
        """Return the folders in the package that a URI means.

        The standard's example repeats the segment's folder below the URI; its text does not.
        """
        try:
            reference = uris.parsed(target)
        except uris.ReferenceRefused:
            return ()  # it names a host, or no file
        absolute = reference.kind is not uris.Kind.RELATIVE
        place = Place(
            inside=False, absolute=absolute, drive=reference.drive, segments=tuple(reference.segments)
        )
        within = self._files.names(self._base, place)
        if within is None:
            return ()
        return tuple(each for each in ((*within, *folder), within) if self._is_folder(each))

    def _is_folder(self, names: Sequence[str]) -> bool:
        return bool(names) and self._catalogue.is_folder(path_of(tuple(names)))


_FOLDERS_KEPT = 4096
NO_SLASH = "no slash at the end of a lobFolder"
"""Tolerated like a ``Repair``: RFC 3986 (5.2.3) would drop the folder's last name."""

Proof = Callable[[Sequence[Extent], Digest], bool]
"""Returns whether the bytes of a whole LOB, or of its parts in order, have a digest."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The reason why a cell has no LOB; ``pieces`` are parts of it that exist nevertheless."""

    code: Rule
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

    def unslashed(self, candidate: Candidate) -> bool:
        """Return whether a lobFolder that leads to a place outside was written without its slash."""
        if candidate.place.inside or self.candidates.is_inside:
            return False
        levels = self.candidates.levels
        folders = (levels.database or "", *local_texts(levels))
        return any(each and not each.endswith(("/", "\\", ".")) for each in map(str.strip, folders))


class Finder:
    """The search for the LOBs of one archive, which has the path ``path`` in the package.

    ``proof`` compares bytes with a digest; without it no bytes are read.
    """

    def __init__(
        self, files: Files, container: Entries, path: bytes, mapping: Mapping, proof: Proof | None = None
    ) -> None:
        self.mapping = mapping
        self.prefix = files.prefix(path)
        self.proof = proof
        self.files = files
        self.container = container
        self.base = tuple(shown(folder_of(path)).split("/")[:-1])
        self.siard = shown(path).rpartition("/")[2]
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
            way = None if column.way is None else column.candidates.by_way(column.way)
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
            column.tolerated = tolerated(column, probe)

    def find(self, column: ColumnSearch, cell: LobCell) -> LobFiles | Lost:
        """Return a cell's LOB, or the reason why it was not found; the next cells use the result."""
        return _CellSearch(self, column, cell).outcome()

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
        if not all(map(column.candidates.fits, sizes, run.lengths)):
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
        yield from () if names is None else self.mapping.of(names)

    def _is_sole(self, column: ColumnSearch, file: str) -> bool:
        """Return whether all other places that a plain cell may mean have empty folders."""
        folder = file[: file.rfind("/") + 1]
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


def tolerated(column: ColumnSearch, candidate: Candidate) -> tuple[str, ...]:
    """Return the repaired faults of the references to a candidate, as words for messages.

    Faults that the convention implies (backslashes, ``file:``) are left out.
    """
    implied = {Repair.PSEUDO_ABSOLUTE}
    if candidate.convention is Convention.J:
        implied.add(Repair.BACKSLASH)
    words = tuple(each.value for each in candidate.repairs if each not in implied)
    return (*words, NO_SLASH) if column.unslashed(candidate) else words


@dataclass(frozen=True, slots=True, kw_only=True)
class _LobCandidate:
    """A file or a chain of parts that may be the cell's LOB, and the location that led to it."""

    candidate: Candidate
    names: Names
    extents: tuple[Extent, ...]


class _CellSearch:
    """The search for one cell's LOB through all the places where it may be; used once."""

    def __init__(self, finder: Finder, column: ColumnSearch, cell: LobCell) -> None:
        self._finder = finder
        self._column = column
        self._cell = cell
        self._refusals: list[SourceError] = []
        self._misfits: list[_LobCandidate] = []
        self._tried: list[tuple[Candidate, Names | None]] = []
        self._problem: Lost | None = None
        self._pieces: dict[bytes, int] = {}
        self._rival: _LobCandidate | None = None
        self._is_decided = True

    def outcome(self) -> LobFiles | Lost:
        hit = self._hit() or self._unusually_numbered() or next(iter(self._misfits), None)
        if hit is None:
            return self._lost()
        if self._is_decided and not hit.candidate.stated:
            self._column.way = hit.candidate.way
            self._finder.learn(self._column)
        path, (paths, sizes) = path_of(hit.names), zip(*_pieces(hit), strict=True)
        return LobFiles(
            convention=hit.candidate.convention,
            inside=hit.candidate.place.inside,
            tolerated=tolerated(self._column, hit.candidate),
            paths=paths,
            sizes=sizes,
            split=None if paths[0] == path else path,
            rival=None if self._rival is None else path_of(self._rival.names),
        )

    def _hit(self) -> _LobCandidate | None:
        hits: list[_LobCandidate] = []
        for each in self._column.candidates.of(self._cell.file, self._refusals):
            if hits and each.convention is Convention.RENAMED:
                continue  # a renamed folder counts only where this archive's folder is missing
            fitting = self._hits(each)
            if each.stated and (first := next(fitting, None)) is not None:
                return first
            hits += fitting
        return self._decided(hits) if hits else None

    def _hits(self, candidate: Candidate) -> Iterator[_LobCandidate]:
        """Yield the files that exist and fit at the places that a candidate means."""
        for names in self._places(candidate):
            self._tried.append((candidate, names))
            if names is None:
                continue
            hit = self._at(candidate, names)
            if hit is not None and self._fits(sum(each.size for each in hit.extents)):
                yield hit
            elif hit is not None:
                self._misfits.append(hit)

    def _unusually_numbered(self) -> _LobCandidate | None:
        """Return parts whose numbers have an unusual number of digits, or None."""
        for candidate, names in self._tried:
            if names is not None and (hit := self._at(candidate, names, wide=True)) is not None:
                return hit
        return None

    def _places(self, candidate: Candidate) -> Iterator[Names | None]:
        """Yield the names of each place that a candidate means, None for one outside the package."""
        place, files = candidate.place, self._finder.files
        if candidate.renamed is None:
            yield from self._finder.places(place, candidate.convention)
            return
        names = files.names(self._finder.base, place)
        if names is not None and (at := len(names) - len(place.segments) + candidate.renamed) >= 0:
            siblings = files.lob_folders(names[:at], self._finder.siard)
            for name in renamed(names[at], siblings, self._finder.siard):
                yield (*names[:at], name, *names[at + 1 :])

    def _fits(self, size: int) -> bool:
        return self._column.candidates.fits(size, self._cell.length)

    def _at(self, candidate: Candidate, names: Names, *, wide: bool = False) -> _LobCandidate | None:
        """Return the whole or the parts at a place, or None when neither is complete."""
        look = self._look(inside=candidate.place.inside)
        whole = None if wide else look(names)
        try:
            extents = splitparts.found(look, names, self._fits, wide=wide) if whole is None else (whole,)
        except SourceError as problem:
            self._problem = self._problem or self._in_pieces(problem, names)
            return None
        if not extents:
            return None
        # The file may be in another package, where METS lists it.
        there = whole.path if isinstance(whole, FileExtent) else names
        return _LobCandidate(candidate=candidate, names=there, extents=extents)

    def _look(self, *, inside: bool) -> splitparts.Look:
        self._pieces = {}
        return self._entry if inside else self._file

    def _in_pieces(self, problem: SourceError, names: Names) -> Lost:
        code = Code.PART_TWICE if isinstance(problem, splitparts.TooMany) else Code.PART_LOST
        pieces = tuple(self._pieces.items())
        return Lost(code=code, expected=path_of(names), reason=str(problem), pieces=pieces)

    def _entry(self, names: Names) -> Extent | None:
        return self._finder.container.extent("/".join(names))

    def _file(self, names: Names) -> Extent | None:
        found = self._finder.files.file(path_of(names))
        if found is None:
            return None
        path, size = found
        self._pieces[path] = size
        there = tuple(path.decode("utf-8", "surrogateescape").split("/"))
        return FileExtent(root=0, path=there, size=size, modified=0, inode=0, device=0)

    def _decided(self, hits: list[_LobCandidate]) -> _LobCandidate:
        """Return the hit that the digests or METS confirm for the cell, or the first one."""
        first, *others = hits
        others = [each for each in others if _pieces(each) != _pieces(first)]
        if not others:
            return first
        if (hit := next(self._confirmed(hits), None)) is not None:
            return hit
        self._is_decided = False  # the next cell's LOB may be at another place
        if self._cell.digest is None:
            self._rival = next((each for each in others if not self._have_same_bytes(first, each)), None)
        return first

    def _confirmed(self, hits: list[_LobCandidate]) -> Iterator[_LobCandidate]:
        """Yield the hits by METS's digest or ID, then those by their bytes."""
        files, proof, digest = self._finder.files, self._finder.proof, self._cell.digest
        lob = self._finder.prefix + self._cell.place.id
        for each in (hit for hit in hits if not hit.candidate.place.inside):
            path = path_of(each.names)
            if files.is_named(path, lob) if digest is None else files.is_listed(path, digest):
                yield each
        if digest is not None and proof is not None:
            yield from (each for each in hits if proof(each.extents, digest))

    def _have_same_bytes(self, one: _LobCandidate, other: _LobCandidate) -> bool:
        """Return whether METS or the zip show the same bytes for two hits."""
        if one.candidate.place.inside != other.candidate.place.inside:
            return False
        if not one.candidate.place.inside:
            return self._finder.files.have_one_digest(path_of(one.names), path_of(other.names))
        return [_checksum(each) for each in one.extents] == [_checksum(each) for each in other.extents]

    def _lost(self) -> Lost:
        tried = [each for each in self._tried if not each[0].convention.is_guess]
        problem = self._problem or self._parts_left(tried)
        if problem is not None:
            return problem
        for each in self._refusals:
            # The text is no reference, as opposed to one that leads out of the archive.
            is_none = isinstance(each, ReferenceRefused) and each.rule not in {"leaves-root", "drive"}
            if is_none or isinstance(each, LocationError):
                return Lost(code=Code.LOCATION, reason=each.message)
        expected = self._expected(tried)
        if expected is None:
            return Lost(code=Code.LOB_OUTSIDE)
        candidate, names = expected
        code = Code.ENTRY_MISSING if candidate.place.inside else Code.LOB_MISSING
        return Lost(code=code, expected=path_of(names))

    def _expected(self, tried: Sequence[tuple[Candidate, Names | None]]) -> tuple[Candidate, Names] | None:
        """Return the expected place of the LOB: that of others of its column, or the likeliest."""
        first = True
        likeliest = None
        for candidate, names in tried:
            if names is not None and candidate.way == self._column.way:
                return candidate, names
            # If the statement leads out of the package, a file is likelier than an entry.
            if likeliest is None and names is not None and (first or not candidate.place.inside):
                likeliest = candidate, names
            first = False
        return likeliest

    def _parts_left(self, tried: Sequence[tuple[Candidate, Names | None]]) -> Lost | None:
        """Return the finding for later parts without the first, or None without such parts."""
        for candidate, names in tried:
            if names is not None:
                try:
                    splitparts.check_no_later_part(self._look(inside=candidate.place.inside), names)
                except SourceError as problem:
                    return self._in_pieces(problem, names)
        return None


def _pieces(hit: _LobCandidate) -> tuple[tuple[bytes, int], ...]:
    return tuple(map(_piece, hit.extents))


def _checksum(extent: Extent) -> tuple[int, int] | None:
    return (extent.size, extent.crc) if isinstance(extent, ZipExtent) else None


def _piece(extent: Extent) -> tuple[bytes, int]:
    if isinstance(extent, FileExtent):
        return path_of(extent.path), extent.size
    return extent.name.encode("utf-8", "surrogateescape"), extent.size
