"""Leave out files that a ledger has as verified, and note the others in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Protocol

from metspack.checking.catalogue import PUT_MARK, Catalogue, Mark
from metspack.checking.options import LedgerFigures
from metspack.checking.tree import CheckedTree
from metspack.files import reading
from metspack.packages.files import PackedTree
from metspack.system import os

FileStamp = tuple[int, int, int]
"""Size in bytes, time of change in nanoseconds and inode of a file."""

_FILES_AT_ONCE = 1_000
_FACTS = "CREATE TABLE verified_fact (path BLOB, fact TEXT, PRIMARY KEY (path, fact)) WITHOUT ROWID"
_PUT_FACT = "INSERT OR IGNORE INTO verified_fact VALUES (?, ?)"
# All present statements on a file are among the verified ones, and there is at least one.
_PUT_TAKEN = f"""
INSERT INTO mark SELECT '{Mark.TAKEN}', r.path, NULL, r.note FROM mark r WHERE r.mark = '{Mark.REMEMBERED}'
AND EXISTS (SELECT 1 FROM ({{0}}) s WHERE s.path = r.path)
AND NOT EXISTS (SELECT 1 FROM ({{0}}) s WHERE s.path = r.path AND NOT EXISTS (
    SELECT 1 FROM verified_fact f WHERE f.path = r.path AND f.fact = s.fact))
"""  # noqa: S608 -- constants
_PUT_DONE = "INSERT OR IGNORE INTO mark (mark, path) SELECT ?, path FROM mark WHERE mark = ?"
_HAS_FACT = "SELECT 1 FROM verified_fact WHERE path = ? AND fact = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedFile:
    """A file whose bytes agreed: its stamp before the reading, and its verified facts as texts."""

    path: bytes
    stamp: FileStamp
    facts: tuple[str, ...]


class Remembering(Protocol):
    """A memory of verified files and the times, beyond one check."""

    @property
    def figures(self) -> LedgerFigures:
        """Return how many files were read and taken so far."""

    def begin(self, objid: str, package: str) -> None:
        """Begin with a package, by its OBJID and path."""

    def not_due(self) -> Iterator[tuple[VerifiedFile, str]]:
        """Yield the files verified recently, in the order of paths, with the time of each."""

    def take(self, taken: Iterable[tuple[bytes, str]]) -> None:
        """Note the files that were not read, with the time of each."""

    def note(
        self, verified: Sequence[VerifiedFile], differing: Sequence[bytes] = (), *, read: int = 0
    ) -> None:
        """Note files that agree, files that do not (``differing``), and how many were ``read``."""

    def end(self) -> None:
        """End the check, which is complete."""


class LedgerUse:
    """The use of a ledger by the check of a package; without one each method returns at once.

    ``stated`` is a query that yields the ``path`` and the ``fact`` of each statement on a file.
    """

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, ledger: Remembering | None, stated: str
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._ledger = ledger
        self._stated = stated
        self._stamps: dict[bytes, FileStamp] = {}
        self._last: VerifiedFile | None = None

    @property
    def is_kept(self) -> bool:
        """Return whether there is a ledger."""
        return self._ledger is not None

    def leave_out(self) -> None:
        """Leave out unchanged files with all stated facts verified in the ledger."""
        if self._ledger is None:
            return
        self._catalogue.put(_FACTS)
        candidates = self._ledger.not_due()
        while some := list(islice(candidates, _FILES_AT_ONCE)):
            stamps = self._stamps_of([file.path for file, _ in some])
            same = [(file, time) for file, time in some if stamps.get(file.path) == file.stamp]
            remembered = ((Mark.REMEMBERED, file.path, None, time) for file, time in same)
            self._catalogue.put_many(PUT_MARK, remembered)
            self._catalogue.put_many(
                _PUT_FACT, [(file.path, fact) for file, _ in same for fact in file.facts]
            )
        self._catalogue.put(_PUT_TAKEN.format(self._stated))
        self._catalogue.put(_PUT_DONE, Mark.DONE, Mark.TAKEN)

    def is_taken(self, parts: Sequence[bytes], facts: Sequence[str]) -> bool:
        """Return whether a whole with ``facts`` and its parts are verified; if not, unmark them."""
        if self._ledger is None:
            return False
        if all(self._catalogue.is_marked(Mark.TAKEN, path) for path in parts) and all(
            self._catalogue.row(_HAS_FACT, parts[-1], fact) for fact in facts
        ):
            return True
        for path in parts:
            self._catalogue.put("DELETE FROM mark WHERE mark = ? AND path = ?", Mark.TAKEN, path)
        return False

    def end(self) -> None:
        """Note the files that were taken from the ledger, and that the check is complete."""
        if self._ledger is not None:
            sql = "SELECT path, note FROM mark WHERE mark = ?"
            self._ledger.take(self._catalogue.rows(sql, Mark.TAKEN))
            self._ledger.end()

    def look_at(self, paths: Iterable[bytes]) -> None:
        """Keep the stamps of files before they are read."""
        if self._ledger is not None:
            self._stamps |= self._stamps_of(paths)

    def note(self, files: Mapping[bytes, tuple[str, ...]], read: int) -> None:
        """Note files that were read; a file that agrees has its facts."""
        if self._ledger is None:
            return
        verified, differing = list[VerifiedFile](), list[bytes]()
        for path, facts in files.items():
            stamp = self._stamps.pop(path, None)
            if facts and stamp is not None:
                verified.append(VerifiedFile(path=path, stamp=stamp, facts=facts))
            else:
                differing.append(path)
        self._last = verified[-1] if verified and not differing else None
        self._ledger.note(verified, differing, read=read)

    def note_whole(self, facts: tuple[str, ...]) -> None:
        """Note the verified facts of a whole with its last part."""
        if self._ledger is not None and (last := self._last) is not None:
            self._ledger.note([replace(last, facts=(*last.facts, *facts))])

    def _stamps_of(self, paths: Iterable[bytes]) -> dict[bytes, FileStamp]:
        """Return the stamps of files; a packed file has the stamp of its zip or tar file."""
        found: dict[bytes, FileStamp] = {}
        files = ((*self._file_of(path), path) for path in paths)
        for (root, folder), group in groupby(files, key=itemgetter(0, 1)):
            some = list(group)
            with suppress(OSError):  # the reader reports it
                statuses = reading.statuses(root, folder, map(itemgetter(2), some))
                stamps = zip(map(itemgetter(3), some), statuses, strict=True)
                found |= {path: status[:3] for path, status in stamps if status is not None}
        return found

    def _file_of(self, path: bytes) -> tuple[Path, tuple[str, ...], str]:
        """Return the file that holds the bytes: root, folder below it, and name."""
        place = self._places.below(path)
        if place is None:
            tree, _ = self._places.held(path)
            place = tree.file if isinstance(tree, PackedTree) else None
        if place is None:
            return Path(), (), ""
        if not place.segments:
            whole = Path(os.path.realpath(place.root))  # the path was given, and may be a link
            return whole.parent, (), whole.name
        return place.root, place.segments[:-1], place.segments[-1]
