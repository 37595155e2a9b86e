"""Names of restored files, made of table, primary key and column."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from enum import Enum, unique
from typing import Literal

from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.limits import Budgets
from metspack.model import LobRun
from metspack.packages import cells
from metspack.packages.source import Packaged
from metspack.siard import tables
from metspack.siard.metadata import Table
from metspack.siard.tables import RowValues
from metspack.sources import mediatypes
from metspack.sources.archive import Archive
from metspack.sources.lobstream import OpenSources
from metspack.system.winnames import unholdable

_WHAT = "the names of restored files"
_UNSAFE = re.compile(r"[^\w-]|^-")
_HEAD = 8  # bytes that prove any type
_LONGEST_KEY, _LONGEST = 100, 50  # bytes: the whole name stays below the 255 of most file systems


@unique
class FileNames(Enum):
    """The names of restored files: those of the archive, or made of table, primary key and column."""

    ARCHIVE = "archive"
    KEY = "key"


NamesWord = Literal["archive", "key"]


class KeyNames(tempdb.Scratch):
    """Maker of names from table, key and column, such as ``dbo.Categories/7_Picture.jpg``.

    They are unique in any letter case: of two equal names the later one gets the ID of its LOB at the end.
    For a row without a key its number is used (``r7``). The extension is that of the first bytes, else of the
    media type, else the archive's. A context manager, for one thread.
    """

    __slots__ = ("_budgets", "_source", "_table", "_tables")

    def __init__(self, source: Packaged, budgets: Budgets) -> None:
        self._source = source
        self._budgets = budgets
        self._tables = (
            {(each.schema, each.number): each for each in source.tables}
            if isinstance(source, Archive)
            else {}
        )
        self._table = -1, -1
        with tempdb.explained(_WHAT):
            super().__init__(
                "CREATE TABLE taken (name TEXT PRIMARY KEY) WITHOUT ROWID",
                "CREATE TABLE key (row INTEGER PRIMARY KEY, words TEXT)",
                "BEGIN",
            )

    def add_names(self, runs: Iterator[LobRun]) -> Iterator[LobRun]:
        """Yield runs with their files' paths; raises ``SourceError`` for a table with bad keys."""
        for run in runs:
            with tempdb.explained(_WHAT), OpenSources(self._source.byte_sources()) as sources:
                yield replace(run, paths=self._paths(run, sources))

    def _paths(self, run: LobRun, sources: OpenSources) -> list[str]:
        place, ids = run.place, run.ids()
        table = self._tables.get((place.schema, place.table))
        if self._table != (place.schema, place.table):
            self._table = place.schema, place.table
            self._read_keys(table)
        chain = () if table is None else table.chain(place.cell)
        column = _safe("_".join(each.name for each in chain)).rstrip("_") or place.cell.replace(".", "_")
        folder = f"schema{place.schema}.table{place.table}"
        if table is not None:
            schema, name = folder.split(".")
            folder = f"{_safe(table.schema_name) or schema}.{_safe(table.name) or name}"
        paths = []
        for number, row in enumerate(run.rows):
            (key,) = self.row("SELECT words FROM key WHERE row = ?", row) or ("",)
            path = f"{folder}/{key or f'r{row}'}_{column}"
            taken = self._database.execute("INSERT OR IGNORE INTO taken VALUES (?)", (path.casefold(),))
            stem = path if taken.rowcount else f"{path}~{ids[number]}"
            paths.append(f"{stem}.{_extension(run, number, sources)}")
        return paths

    def _read_keys(self, table: Table | None) -> None:
        """Store the key of each row of a table on disk, in place of those of the table before."""
        self.put("DELETE FROM key")
        if table is None or not isinstance(self._source, Archive) or not table.key_numbers:
            return
        start, values = 1, RowValues(table, [*table.key_numbers.values()], self._budgets)
        with cells.naming(self._source):
            blocks = self._source.tree.contents(self._source.document(table))
            for piece, final in tables.pieces(blocks):
                values.feed(piece, final=final)
                words = ((row, _words(values.of(row))) for row in range(start, values.stop))
                self._database.executemany("INSERT INTO key VALUES (?, ?)", words)
                start = values.stop
                values.forget(start)


def _words(key: tuple[str | None, ...]) -> str:
    """Return a key as part of a name, or "" for one without letters and digits."""
    words = _safe("-".join(each or "" for each in key), _LONGEST_KEY)
    return words if any(map(str.isalnum, words)) else ""


def _safe(text: str, longest: int = _LONGEST) -> str:
    """Return a text as part of a name that any file system holds: letters, digits, ``_`` and ``-``."""
    plain = _UNSAFE.sub(_replaced, unicodedata.normalize("NFKC", text))
    cut = plain.encode()[:longest].decode(errors="ignore")
    return f"{cut}_" if unholdable(cut) else cut


def _replaced(sign: re.Match[str]) -> str:
    """Return ``_``, or a combining mark unchanged: in many scripts it is a vowel."""
    is_mark = sign.start() > 0 and unicodedata.category(sign[0]).startswith("M")
    return sign[0] if is_mark else "_"


def _extension(run: LobRun, number: int, sources: OpenSources) -> str:
    head = b""
    with suppress(SourceError, OSError):
        # A fault of the LOB is reported when it is restored.
        for extent in run.lob(number).extents:
            head += next(sources.contents(extent, ""), b"")
            if len(head) >= _HEAD:
                break
    kind = mediatypes.type_of_bytes(head) or mediatypes.essence(run.shared.mets_type)
    return mediatypes.EXTENSIONS.get(kind) or _safe(run.shared.extension) or "bin"
