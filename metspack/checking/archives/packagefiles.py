"""Query the package's files in the catalogue, for the search for LOBs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, lru_cache
from itertools import chain, count, groupby, takewhile
from pathlib import Path

from metspack import sizes, uris
from metspack.checking.catalogue import GONE, Catalogue, Mark, Row
from metspack.checking.files.listed import UnlistedNames
from metspack.checking.held import AgreedColumns, AgreedSegment, paths_of, texts_of
from metspack.checking.segments import Agreement
from metspack.files.paths import Names, folded_name, folder_of, path_of, shown
from metspack.layouts.names import SIARD
from metspack.locations import candidates
from metspack.locations.statement import Place
from metspack.mets import REPRESENTATIONS_FOLDER, links
from metspack.model import CellRun, Digest
from metspack.system import os
from metspack.uris import ReferenceRefused

_OF_FOLDED = f"SELECT path FROM mark WHERE mark = '{Mark.FOLDED}' AND other = ?"  # noqa: S608 -- a constant
_ARCHIVES = "SELECT path FROM disk WHERE kind = 'f' AND lower(CAST(substr(path, -6) AS TEXT)) = ?"
_FOLDERS_KEPT = 64
_KEPT = 4  # stretches of segments
_MOST_PASSED = 10_000  # stretches in which a file was not found
_SHARED = re.compile(rf"(?:^|/)({REPRESENTATIONS_FOLDER}/[^/]+/data/.+)".encode(), re.DOTALL)
_KEY = f"substr(path, instr(path, CAST('/{REPRESENTATIONS_FOLDER}/' AS BLOB)) + 1)"
_IN_DATA = f"CAST(path AS TEXT) GLOB '?*/{REPRESENTATIONS_FOLDER}/*/data/*'"
_PUT_SHARED = f"""
INSERT OR IGNORE INTO mark (mark, path, other)
    SELECT '{Mark.SHARED}', {_KEY}, path FROM disk WHERE kind = 'f' AND {_IN_DATA} ORDER BY path
"""  # noqa: S608 -- the name of a folder
_PUT_LOST_SHARED = f"""
INSERT OR IGNORE INTO mark (mark, path, other)
    SELECT '{Mark.LOST_SHARED}', {_KEY}, path FROM {GONE} WHERE {_IN_DATA} ORDER BY path
"""  # noqa: S608 -- constants
_LOST_SHARED = f"SELECT other FROM mark WHERE mark = '{Mark.LOST_SHARED}' AND path = ?"  # noqa: S608 -- a constant
# A child whose METS is missing, or whose OBJID was found nowhere.
_LOST_CHILD = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM mets WHERE parent IS NOT NULL AND package IS NULL AND size IS NULL)
OR EXISTS (SELECT 1 FROM edge WHERE state = 'missing')
"""
_FILE = "SELECT path, size FROM disk WHERE path = ? AND kind = 'f'"
_ELSEWHERE = f"""
SELECT d.path, d.size FROM mark k JOIN disk d ON d.path = k.other AND d.kind = 'f'
WHERE k.mark = '{Mark.SHARED}' AND k.path = ?
"""  # noqa: S608 -- a constant


def _together(folder: bytes) -> bytes | None:
    """Return the place that ``Mark.SHARED`` has for a representation's folder, or None."""
    at = folder.find(f"/{REPRESENTATIONS_FOLDER}/".encode())
    shared = _SHARED.search(folder + b"x")
    return shared[1][:-1] if shared is not None and 0 < at == shared.start(1) - 1 else None


class _Loaded:
    """Loaded columns of an agreed segment."""

    def __init__(self, folder: bytes, columns: AgreedColumns) -> None:
        self.folder, self.columns = folder, columns
        self.numbers = dict(zip(paths_of(folder, columns), count(), strict=False))
        self.ids = columns.ids.split("\n")
        self._digests: dict[str, list[str]] = {}

    def digests(self, algorithm: str) -> list[str]:
        """Return the digests of all these files by an algorithm; an empty list without such digests."""
        if algorithm in self.columns.digests and algorithm not in self._digests:
            self._digests[algorithm] = texts_of(self.columns.digests[algorithm], algorithm)
        return self._digests.get(algorithm, [])


_Place = tuple[_Loaded, int, list[int]]
"""Successive files of a segment: its loaded columns, the number of the first path, numbers in the columns."""


class AgreedFiles:
    """The files of agreed segments, looked up for cells, which name each once."""

    def __init__(self, agreement: Agreement) -> None:
        self._agreement = agreement
        self._loaded: dict[tuple[bytes, int], _Loaded] = {}
        self._found: dict[bytes, int] = {}  # the stretch found last in each folder
        self._passed = 0
        # The hashes of a segment's paths, once a path was not among them.
        self._names: tuple[bytes, AbstractSet[int]] = b"", frozenset()
        self._puts = -1
        self._last: tuple[Sequence[bytes], list[_Place]] = (), []  # the paths asked about last
        self._shared: dict[bytes, list[bytes]] = {}

    def sizes(self, paths: Sequence[bytes]) -> list[int] | None:
        """Return the bytes of files, or None when one of them is not a file of a segment."""
        if (places := self._places(paths)) is None:
            return None
        return [loaded.columns.sizes[number] for loaded, _, numbers in places for number in numbers]

    def together(self, key: bytes) -> bytes | None:
        """Return a segment's folder by its place in a representation, or None.

        Several segments with the same place are put back.
        """
        self._look_anew()
        found = self._shared.get(key, ())
        if len(found) > 1:
            self._agreement.put_holding_back(*found)
            return None
        return next(iter(found), None)

    def check_apart(self, keys: Iterable[bytes]) -> None:
        """Put back segments with a file that another IP has at its place in a representation."""
        for key in keys if self._agreement.held else ():
            self._look_anew()
            folder = folder_of(key)
            paths = [there + key[len(folder) :] for there in self._shared.get(folder, ())]
            self._agreement.put_holding_back(*(path for path in paths if self.sizes([path]) is not None))

    def _look_anew(self) -> None:
        """Forget the loaded files after a segment was put back."""
        if self._puts != self._agreement.puts:
            self._puts = self._agreement.puts
            self._last = (), []
            self._loaded.clear()
            self._shared.clear()
            for data, inner, _ in self._agreement.data_folders():
                for folder in (data + b"/", *(each + b"/" for each in inner)):
                    if (key := _together(folder)) is not None:
                        self._shared.setdefault(key, []).append(folder)

    def take(
        self, archive: bytes, cells: CellRun, ids: Sequence[str], paths: Sequence[bytes], first: int
    ) -> bool:
        """Compare cells with the files that they name; see ``Files.agree``."""
        if (places := self._places(paths)) is None:
            for path in paths:
                if self._places([path]) is not None:
                    self._agreement.put_holding_back(path)
            return False
        if not all(self._agree(each, cells, ids) for each in places):
            self._agreement.put_holding_back(*paths)
            return False
        kind = archive, bool(cells.lengths), cells.algorithm
        for loaded, start, numbers in places:
            self._agreement.name(loaded.folder, loaded.columns, numbers, first + start, kind)
        return True

    def _agree(self, place: _Place, cells: CellRun, ids: Sequence[str]) -> bool:
        """Return whether cells agree with METS and manifests on files that only they name.

        A length that may count characters is kept, to be compared with the text.
        """
        loaded, start, numbers = place
        some = slice(start, start + len(numbers))
        named = self._agreement.cells(loaded.folder, loaded.columns)
        if any(
            named[number] or loaded.ids[number] != xml_id
            for number, xml_id in zip(numbers, ids[some], strict=False)
        ):
            return False
        if cells.algorithm is not None:
            digests = loaded.digests(cells.algorithm)
            if not digests or [digests[number] for number in numbers] != list(cells.digests[some]):
                return False
        for number, length in zip(numbers, cells.lengths[some], strict=False):
            if length != (size := loaded.columns.sizes[number]):
                if not sizes.is_possible(length, size):
                    return False
                self._agreement.keep_length(loaded.folder, loaded.columns.start + number, length)
        return True

    def may_hold(self, folder: bytes) -> bool:
        """Return whether a folder, which ends with its slash, holds a segment or is in one."""
        inside = self._agreement.holding(folder)
        is_there = inside is not None and folder[:-1] in {inside.folder, *inside.folders}
        return is_there or self._agreement.is_above(folder)

    def _places(self, paths: Sequence[bytes]) -> list[_Place] | None:
        """Return the places of files in segments, or None if one of them is elsewhere."""
        self._look_anew()
        if self._last[0] == paths:
            return self._last[1]
        found: list[_Place] = []
        loaded: _Loaded | None = None
        for start, path in enumerate(paths):
            number = None if loaded is None else loaded.numbers.get(path)
            if number is None:
                if (loaded := self._holding(path)) is None:
                    return None
                number = loaded.numbers[path]
                found.append((loaded, start, []))
            found[-1][2].append(number)
        self._last = list(paths), found
        return found

    def _holding(self, path: bytes) -> _Loaded | None:
        """Return the loaded files that include a path, or None for a path in no segment."""
        for loaded in reversed(self._loaded.values()):
            if path in loaded.numbers:
                return loaded
        segment, folder = self._agreement.holding(path), folder_of(path)[:-1]
        if segment is None or not (
            folder in {segment.folder, segment.data} or self._agreement.is_inside(folder)
        ):
            return None
        return self._searched(path, segment)

    def _searched(self, path: bytes, segment: AgreedSegment) -> _Loaded | None:
        """Search a file behind the last one found, then before it: cells mostly follow METS's order.

        A segment in another order is put back when the search gets too long.
        """
        if self._names[0] == segment.mets and hash(path) not in self._names[1]:
            return None
        folder = segment.folder
        start = self._found.get(folder, 0)
        first = loaded.columns.stop if (loaded := self._loaded.get((folder, start))) is not None else start
        before = takewhile(lambda each: each.start < first, self._agreement.columns(folder))
        for columns in chain(self._agreement.columns(folder, first), before):
            loaded = _Loaded(folder, columns)
            if path in loaded.numbers:
                if len(self._loaded) >= _KEPT:
                    self._loaded.pop(next(iter(self._loaded)))
                self._loaded[folder, columns.start] = loaded
                self._found[folder] = columns.start
                return loaded
            self._passed += 1
            if self._passed > _MOST_PASSED:
                self._agreement.put_back(segment)
                return None
        paths = (paths_of(folder, each) for each in self._agreement.columns(folder))
        self._names = segment.mets, set(map(hash, chain.from_iterable(paths)))
        return None


class Files:
    """The package's files in the catalogue; ``root`` resolves absolute paths into the package."""

    def __init__(self, catalogue: Catalogue, root: Path, agreement: Agreement) -> None:
        self._catalogue = catalogue
        self._agreement, self._agreed = agreement, AgreedFiles(agreement)
        self.lob_folders = lru_cache(_FOLDERS_KEPT)(self._lob_folders)
        self.prefix = cache(self._prefix)
        self._unlisted = UnlistedNames(catalogue)
        self._shared_at = -1  # segments that were put back by then
        forms = {os.path.realpath(root), os.path.abspath(root)}
        self._roots = [tuple(name for name in form.split("/") if name) for form in sorted(forms)]

    def file(self, path: bytes) -> tuple[bytes, int] | None:
        """Return the path and the bytes of the file that a path means, or None without such a file.

        Several packages may share the data of a representation (E-ARK AIP1, AIP2): a file that is missing at
        its path may be in another package, at the same place of the same representation.
        """
        found = self.all_files([path])
        return None if found is None else (found[0][0], found[1][0])

    def all_files(self, paths: Sequence[bytes]) -> tuple[list[bytes], list[int]] | None:
        """Return the paths and the bytes of the files that some paths mean, as ``file`` does.

        The result is None when a file does not exist, or when some are at their paths and others elsewhere:
        then each is searched separately.
        """
        if self._catalogue.swapped:
            paths = list(map(self._where, paths))
        if (sizes := self._agreed.sizes(paths)) is not None:
            return list(paths), sizes
        is_any_here = any(map(self._has, set(map(folder_of, paths))))
        rows = self._rows(_FILE, paths) if is_any_here else []
        shared = [each for each in map(_SHARED.search, paths) if each is not None]
        may_differ = is_any_here and len(paths) > 1
        if not rows and len(shared) == len(paths) and not may_differ:
            keys = [each[1] for each in shared]
            self._put_shared()
            if (found := self._elsewhere(keys)) is not None:
                return found
            self._put_shared()
            rows = self._rows(_ELSEWHERE, keys)
        return ([row[0] for row in rows], [row[1] for row in rows]) if len(rows) == len(paths) else None

    def _elsewhere(self, keys: Sequence[bytes]) -> tuple[list[bytes], list[int]] | None:
        """Return paths and bytes of agreed files by their places in a representation."""
        there: list[bytes] = []
        for folder, group in groupby(keys, folder_of):
            if (found := self._agreed.together(folder)) is None:
                return None
            there += [found + key[len(folder) :] for key in group]
        sizes = self._agreed.sizes(there)
        return None if sizes is None else (there, sizes)

    def _rows(self, sql: str, keys: Sequence[bytes]) -> list[Row]:
        return [row for key in keys if (row := self._catalogue.row(sql, key)) is not None]

    def _put_shared(self) -> None:
        """Put the files of representations into the catalogue by their places there, once."""
        if self._shared_at != self._agreement.puts:
            self._shared_at = self._agreement.puts
            self._catalogue.unmark(Mark.SHARED)
            self._catalogue.put(_PUT_SHARED)
            self._agreed.check_apart(self._catalogue.marked(Mark.SHARED))
            self._put_shared()

    def may_hold(self, folder: bytes) -> bool:
        """Return whether the package may have a file below a folder, which ends with its slash."""
        if self._catalogue.swapped:
            folder = self._where(folder)
        return _SHARED.search(folder + b"x") is not None or self._has(folder)

    def _has(self, folder: bytes) -> bool:
        """Return whether there is a file below a folder, or in a segment with that folder."""
        sql = "SELECT 1 FROM disk WHERE path >= ? AND path < ? LIMIT 1"
        return self._agreed.may_hold(folder) or self._catalogue.has(sql, folder, folder + b"\xff")

    def are_one_place(self, path: bytes, other: bytes) -> bool:
        """Return whether two paths mean one file, also in a representation with divided data."""
        here, there = _SHARED.search(path), _SHARED.search(other)
        return path == other or (here is not None and there is not None and here[1] == there[1])

    def _where(self, path: bytes) -> bytes:
        """Return the path with the folders of swapped children exchanged."""
        at = path.rfind(b"/")
        while at >= 0:
            if (other := self._catalogue.swapped.get(path[: at + 1])) is not None:
                return other + path[at + 1 :]
            at = path.rfind(b"/", 0, at)
        return path

    def _prefix(self, archive: bytes) -> str:
        """Return the beginning of the ids of an archive's LOBs in METS, or "" without one."""
        found = links.prefix(shown(archive).rpartition("/")[2])
        sql = "SELECT 1 FROM entry WHERE xml_id >= ? AND xml_id < ? LIMIT 1"
        first, behind = links.bounds(found)
        is_used = self._catalogue.has(sql, first, behind) or self._agreement.has_stem(first, behind)
        return found if is_used else ""

    def is_listed(self, path: bytes, digest: Digest) -> bool:
        """Return whether a METS gives the file this digest."""
        self._agreement.put_holding_back(path)
        sql = "SELECT 1 FROM entry WHERE path = ? AND algorithm = ? AND digest = ?"
        return self._catalogue.has(sql, path, digest.algorithm, digest.value)

    def is_named(self, path: bytes, lob: str) -> bool:
        """Return whether a METS has the file under a LOB's id."""
        self._agreement.put_holding_back(path)
        sql = "SELECT 1 FROM entry WHERE path = ? AND xml_id = ?"
        return self._catalogue.has(sql, path, lob)

    def have_one_digest(self, path: bytes, other: bytes) -> bool:
        """Return whether two files have the same digest in METS."""
        self._agreement.put_holding_back(path, other)
        sql = """SELECT 1 FROM entry e JOIN entry o ON o.algorithm = e.algorithm AND o.digest = e.digest
            WHERE e.path = ? AND o.path = ?"""
        return self._catalogue.has(sql, path, other)

    def agree(
        self, archive: bytes, cells: CellRun, ids: Sequence[str], paths: Sequence[bytes], first: int
    ) -> bool:
        """Return whether cells agree with their files, which are all in agreed segments.

        ``ids`` and ``paths`` are those of the LOBs, ``first`` is the number of the first cell. If they
        differ, the segments of these files are put back, and the cells are compared one by one.
        """
        return self._agreed.take(archive, cells, ids, paths, first)

    def lost_elsewhere(self, path: bytes) -> bytes | None:
        """Return the missing file of another IP with this path in its representation, or None.

        It is the path itself if a child IP is missing: that IP may hold the file.
        """
        if (shared := _SHARED.search(path)) is None:
            return None
        is_child_lost = self._is_child_lost
        if (row := self._catalogue.row(_LOST_SHARED, shared[1])) is not None:
            return bytes(row[0])
        return path if is_child_lost else None

    @cached_property
    def _is_child_lost(self) -> bool:
        """Return whether a child is missing; mark the missing files of representations."""
        self._catalogue.put(_PUT_LOST_SHARED)
        return self._catalogue.has(_LOST_CHILD)

    def nearest(self, path: bytes) -> str:
        """Return an unlisted file, or one of other letter case or Unicode form, or ""."""
        folded = folder_of(path) + folded_name(path.rpartition(b"/")[2])
        if (found := self.file(folded)) is not None:
            return shown(found[0])
        row = self._catalogue.row(_OF_FOLDED, folded)
        return self._unlisted.nearest(path) if row is None else shown(row[0])

    def names(self, base: Sequence[str], place: Place) -> Names | None:
        """Return the names of a place outside the archive in ``base``, or None outside the package."""
        if place.drive is not None:
            return None
        if place.absolute:
            tails = ((root, place.segments[len(root) :]) for root in self._roots)
            return next((tail for root, tail in tails if tail and (*root, *tail) == place.segments), None)
        try:
            return uris.walked(base, place.segments)
        except ReferenceRefused:
            return None

    def _lob_folders(self, folder: Names, siard: str) -> list[str]:
        """Return the names in a folder that writers give to LOB folders, except other archives'.

        ``siard`` is the archive's file name.
        """
        prefix = path_of((*folder, ""))
        sql = "SELECT path FROM disk WHERE kind = 'd' AND path > ? AND path < ?"
        below = self._catalogue.rows(sql, prefix, prefix + b"\xff")
        here = (shown(path[len(prefix) :]) for (path,) in below if b"/" not in path[len(prefix) :])
        return sorted(candidates.lob_folders(here, self._archives, siard))

    @cached_property
    def _archives(self) -> set[str]:
        return {shown(path).rpartition("/")[2] for (path,) in self._catalogue.rows(_ARCHIVES, SIARD)}
