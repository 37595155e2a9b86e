"""Find LOBs that several cells share: each is placed once, and all its cells name it.

Layouts with a folder for each column are an exception: there (SIARD 2.2 L_7.1-0) a file is below the
column that names it and has the cell's numbers in its name, so that each column gets one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from itertools import groupby, repeat
from string import digits
from typing import Any, NamedTuple

from metspack.files import tempdb
from metspack.model import CellRun, Digest, LobRun, Notice
from metspack.sizes import counted

_ENTRY = struct.Struct(">cIQ")
_WHAT = "the LOBs that cells share"
_SAME = "SELECT cell FROM named WHERE bytes = ? AND facts = ?"
_AT_ONCE = 1_000
_NAMES = ("utf-8", "surrogateescape")
_HOLDERS = 10_000  # zip files and folders whose last named place stays in memory
_BEFORE, _BEHIND = (-1, ""), (1 << 64, "")
_FIRST = """
SELECT first FROM (
    SELECT last, first FROM again WHERE stem = ?1 AND row <= ?2 ORDER BY row DESC LIMIT 1
) WHERE last >= ?2
"""
_FIRSTS = """
SELECT max(row, ?2), min(last, ?3), first FROM again WHERE stem = ?1 AND last >= ?2 AND row BETWEEN
    coalesce((SELECT max(row) FROM again WHERE stem = ?1 AND row <= ?2), ?2) AND ?3
"""
_SHARED = "SELECT row FROM value WHERE stem = ? AND row BETWEEN ? AND ?"
_PUT_VALUE = "INSERT OR IGNORE INTO value (stem, row) VALUES (?, ?)"
_STORE = "UPDATE value SET file = ?, algorithm = ?, digest = ? WHERE stem = ? AND row = ?"
_OTHER = "SELECT cell FROM named WHERE bytes = ? AND facts <> ? LIMIT 1"


_Place = tuple[int, str]
"""The start of bytes: the offset in a zip file and "", or a file name's length and the name."""


class _Holder(NamedTuple):
    """A zip file by its number, or a folder by its root and names."""

    number: int
    folders: tuple[str, ...] | None

    @property
    def key(self) -> bytes:
        """The holder as bytes."""
        return f"{self.number}/{'z' if self.folders is None else '/'.join(self.folders)}".encode(*_NAMES)

    def places(self, starts: Sequence[Any]) -> list[_Place]:
        """Return the places of LOBs from their offsets in a zip file, or names in a folder."""
        return [(each, "") for each in starts] if self.folders is None else list(map(_place_of_file, starts))

    def bytes(self, place: _Place) -> bytes:
        """Return a key for the bytes at a place."""
        offset, name = place
        if self.folders is None:
            # Entries come in their order on disk, and keys that grow are the fastest to keep.
            return _ENTRY.pack(b"z", self.number, offset)
        return f"f{self.number}/{'/'.join(self.folders)}/{name}".encode(*_NAMES)


def _place_of_file(name: str) -> _Place:
    return len(name), name


def _sort_key(place: _Place) -> bytes:
    """Return bytes that sort in the order of places."""
    return place[0].to_bytes(8) + place[1].encode(*_NAMES)


def _stem_and_row(cell: str) -> tuple[str, int]:
    """Return the identifier of a cell's LOB without its row, and the row."""
    stem = cell.rstrip(digits)
    return stem, int(cell[len(stem) :])


def _statement(container: str, length: int | None, algorithm: str | None, value: str | None) -> str:
    """Return the facts that a cell states on a LOB, as one key."""
    return f"{container} {length} {algorithm} {value}"


def _bounds(run: CellRun) -> tuple[str, int, int]:
    """Return the stem of some cells' identifiers, and the first and the last of their rows."""
    return run.id_stem, min(run.rows, default=0), max(run.rows, default=0)


class Sharing(tempdb.Scratch):
    """Finds cells that name the same bytes, remembered on disk; a context manager.

    Two cells share a file when they name the same bytes with the same length and digest, in one
    ``container``; where these differ, each LOB is placed and proven separately. Without ``shares`` cells
    share no LOB: in a source without an archive each file is a LOB. ``count`` is the number of cells that
    share an earlier cell's LOB, ``copies`` that of cells with a separate file for it.
    """

    def __init__(self, *, shares: bool = True) -> None:
        self._shares = shares
        self._last: dict[_Holder, _Place] = {}
        self._waiting: list[tuple[bytes, str, str]] = []
        self._again: list[tuple[str, int, int, str]] = []  # stem, first and last row, first cell
        self._has_stretches = False  # a look-up has to unfold the stored stretches
        self.count = 0
        self.copies = 0
        self._shared = self._copied = ("", "")
        super().__init__(
            "CREATE TABLE named (bytes BLOB, facts TEXT, cell TEXT, PRIMARY KEY(bytes, facts)) WITHOUT ROWID",
            "CREATE TABLE stretch (holder BLOB, first BLOB, last BLOB, run TEXT)",
            "CREATE INDEX stretch_place ON stretch (holder, first)",
            "CREATE TABLE again (stem TEXT, row INTEGER, last INTEGER, first TEXT, PRIMARY KEY (stem, row))"
            " WITHOUT ROWID",
            "CREATE TABLE value (stem TEXT, row INTEGER, file, algorithm, digest, PRIMARY KEY (stem, row))"
            " WITHOUT ROWID",
            "BEGIN",
        )

    def firsts(self, run: LobRun, container: str) -> Iterator[LobRun]:
        """Yield the LOBs that need placing, a run undivided if all of it is new."""
        if len(run) > 1 and self._are_new(run, container):
            yield run
            return
        start = 0
        for are_first, group in groupby(self.are_first(run, container)):
            stop = start + len([*group])
            if are_first:
                yield run[start:stop]
            start = stop

    def are_first(self, run: LobRun, container: str) -> Iterator[bool]:
        """Yield for each LOB whether it needs placing: it shares no earlier cell's LOB."""
        shared, stem = run.shared, run.id_stem
        holder = _Holder(shared.source, shared.folders)
        firsts: dict[tuple[Any, ...], str] = {}
        columns = zip(run.starts, run.stated_lengths, run.digests or repeat(None, len(run)), strict=True)
        for row, bytes_named in zip(run.rows, columns, strict=True):
            if bytes_named in firsts:
                self._share(stem, row, firsts[bytes_named])
                yield False
                continue
            start, length, digest = bytes_named
            (place,) = holder.places((start,))
            facts = _statement(container, length, shared.digest, digest)
            first = self._first_of(holder, place, facts, stem, row)
            if first is not None:
                firsts[bytes_named] = first
            yield first is None

    def _are_new(self, run: LobRun, container: str) -> bool:
        """Store a run if its LOBs are distinct and behind all named ones; return whether it did."""
        shared = run.shared
        holder = _Holder(shared.source, shared.folders)
        starts = run.starts
        key = None if holder.folders is None else _place_of_file
        first, last = holder.places((min(starts, key=key), max(starts, key=key)))
        if first <= self._before(holder) or len(set(starts)) < len(starts):
            return False
        self._last[holder] = last
        self._has_stretches = True
        facts = (container, run.id_stem, shared.digest)
        columns = [list(column) for column in (starts, run.rows, run.stated_lengths, run.digests)]
        stretch = holder.key, _sort_key(first), _sort_key(last), json.dumps((holder, facts, columns))
        with tempdb.explained(_WHAT):
            self._database.execute("INSERT INTO stretch VALUES (?, ?, ?, ?)", stretch)
        return True

    def _before(self, holder: _Holder) -> _Place:
        """Return the last named place of a holder; one behind all places if it was forgotten."""
        return self._last.get(holder, _BEFORE if len(self._last) < _HOLDERS else _BEHIND)

    def _unfold(self, holder: _Holder, place: _Place) -> None:
        """Unfold the stretches that may include a place into a row for each LOB."""
        at = _sort_key(place)
        which = "FROM stretch WHERE holder = ? AND first <= ? AND last >= ?"
        for (stretch,) in self.all(f"SELECT run {which}", holder.key, at, at):
            (number, folders), (container, stem, algorithm), columns = json.loads(stretch)
            stored = _Holder(number, None if folders is None else tuple(folders))
            places, rows, lengths, digests = columns
            values = digests or repeat(None, len(rows))
            self._database.executemany(
                "INSERT INTO named VALUES (?, ?, ?)",
                (
                    (stored.bytes(each), _statement(container, length, algorithm, value), f"{stem}{row}")
                    for each, row, length, value in zip(
                        stored.places(places), rows, lengths, values, strict=True
                    )
                ),
            )
        self._database.execute(f"DELETE {which}", (holder.key, at, at))

    def _first_of(self, holder: _Holder, place: _Place, facts: str, stem: str, row: int) -> str | None:
        """Return the earlier cell that has the LOB of a cell, or None for a LOB to place.

        The cell is given by the place of its bytes, the facts that it states on them, its stem and its row.
        """
        key = holder.bytes(place)
        cell = f"{stem}{row}"
        if place > self._before(holder):
            self._last[holder] = place  # behind all named places there: no look-up is needed
            self._waiting.append((key, facts, cell))
            if len(self._waiting) == _AT_ONCE:
                self._flush()
            return None
        self._flush()
        with tempdb.explained(_WHAT):
            if self._has_stretches:
                self._unfold(holder, place)
            taken = self._database.execute("INSERT OR IGNORE INTO named VALUES (?, ?, ?)", (key, facts, cell))
            is_new = bool(taken.rowcount)
            found = self._database.execute(_OTHER if is_new else _SAME, (key, facts)).fetchone()
            if found is None:
                return None
            (first,) = found
            if is_new or not self._shares:
                self._copied = self._copied if self.copies else (first, cell)
                self.copies += 1
                return None
            self._database.execute(_PUT_VALUE, _stem_and_row(first))
        self._share(stem, row, first)
        return str(first)

    def _share(self, stem: str, row: int, first: str) -> None:
        """Note that the cell in a row shares the LOB of the cell ``first``."""
        self._shared = self._shared if self.count else (first, f"{stem}{row}")
        self.count += 1
        if self._again:
            before, start, last, same = self._again[-1]
            if last == row - 1 and same == first and before == stem:
                self._again[-1] = before, start, row, same
                return
            if len(self._again) == _AT_ONCE:
                self._flush()
        self._again.append((stem, row, row, first))

    def _flush(self) -> None:
        with tempdb.explained(_WHAT):
            self._database.executemany("INSERT INTO named VALUES (?, ?, ?)", self._waiting)
            self._database.executemany("INSERT INTO again VALUES (?, ?, ?, ?)", self._again)
        self._waiting.clear()
        self._again.clear()

    def first(self, cell: str) -> str | None:
        """Return the cell whose file a cell shares, or None for a cell with a separate file."""
        if not self.count:
            return None
        self._flush()
        row = self._database.execute(_FIRST, _stem_and_row(cell)).fetchone()
        return None if row is None else str(row[0])

    def concerns(self, run: CellRun) -> bool:
        """Return whether one of some cells shares a file, or has the file that others share."""
        return bool(self._shared_rows(run)) or any(self.firsts_of(run))

    def firsts_of(self, run: CellRun) -> list[str | None]:
        """Return the result of ``first`` for each cell of a run."""
        if not self.count:
            return [None] * len(run)
        self._flush()
        firsts: dict[int, str] = {}
        for row, last, first in self._database.execute(_FIRSTS, _bounds(run)).fetchall():
            firsts.update(dict.fromkeys(range(row, last + 1), first))
        return list(map(firsts.get, run.rows))

    def _shared_rows(self, run: CellRun) -> set[int]:
        """Return the rows of a run whose cells have a file that others share."""
        if not self.count:
            return set()
        found = self._database.execute(_SHARED, _bounds(run)).fetchall()
        return {row for (row,) in found}.intersection(run.rows)

    def store(self, cell: str, file: str, digest: Digest | None) -> None:
        """Store the new ``file`` and digest of a cell for the cells that share its LOB."""
        if self.count:
            facts = (digest.algorithm, digest.value) if digest else (None, None)
            self._database.execute(_STORE, (file, *facts, *_stem_and_row(cell)))

    def store_files(self, run: CellRun, files: Sequence[str], digests: Sequence[Digest | None] = ()) -> None:
        """Store the new ``file`` of each cell of a run, and the new digests, if any."""
        if files and (shared := self._shared_rows(run)):
            for number, row in enumerate(run.rows):
                if row in shared:
                    self.store(f"{run.id_stem}{row}", files[number], digests[number] if digests else None)

    def stored(self, first: str) -> tuple[str, Digest | None]:
        """Return the stored file and digest of a cell that others share."""
        file, algorithm, value = self._database.execute(
            "SELECT file, algorithm, digest FROM value WHERE stem = ? AND row = ?", _stem_and_row(first)
        ).fetchone()
        return file, Digest(algorithm=algorithm, value=value) if algorithm else None

    def words(self) -> Iterator[Notice]:
        """Yield warnings about cells that name the LOB of another cell."""
        if self.count:
            first, other = self._shared
            cells = f"{counted(self.count, 'cell')} with a LOB that another cell names too"
            yield Notice("lob-shared", f"{cells}: {other} names that of {first}, for example")
        if self.copies:
            first, other = self._copied
            yield Notice(
                "lob-copied",
                f"{counted(self.copies, 'LOB')} placed as a separate file, though another cell names the "
                f"same bytes: {other} and {first}, for example; what is made from the package keeps both",
            )
