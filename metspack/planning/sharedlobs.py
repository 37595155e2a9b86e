"""LOBs shared by several cells: placed once, and named by each of the cells.

Not so where a layout gives each column its own folder: there (SIARD 2.2 L_7.1-0) a file lies below the
column that names it and has the cell's own numbers in its name, so that each column gets one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from metspack.files import tempdb
from metspack.model import Digest, LobRef, ZipExtent
from metspack.sizes import counted

_ENTRY = struct.Struct(">cIQ")
_WHAT = "what cells name twice"
_SAME = "SELECT cell FROM named WHERE bytes = ? AND said = ?"
_AT_ONCE = 1_000
_HOLDERS = 10_000  # zip files and folders of which is remembered how far they were named
_BEFORE, _BEHIND = (-1, ""), (1 << 64, "")
_OTHER = "SELECT cell FROM named WHERE bytes = ? AND said <> ? LIMIT 1"


class Sharing(tempdb.Scratch):
    """Finds cells that name the same bytes, remembered on disk; a context manager.

    Two cells share a file when they name the same bytes and say the same of them, in one ``container``;
    where they say different things, each LOB is placed and proven on its own. Without ``shares`` none do:
    where no archive is, nothing but its own file tells that a cell has a LOB. ``count`` is the cells
    that share what another named before, ``copies`` those that get a file of their own for it.
    """

    __slots__ = ("_copied", "_last", "_shared", "_shares", "_waiting", "copies", "count")

    def __init__(self, *, shares: bool = True) -> None:
        self._shares = shares
        self._last: dict[tuple[int, tuple[str, ...] | None], tuple[int, str]] = {}
        self._waiting: list[tuple[bytes, str, str]] = []
        self.count = 0
        self.copies = 0
        self._shared = self._copied = ("", "")
        super().__init__(
            "CREATE TABLE named (bytes BLOB, said TEXT, cell TEXT, PRIMARY KEY (bytes, said)) WITHOUT ROWID",
            "CREATE TABLE again (cell TEXT PRIMARY KEY, first TEXT) WITHOUT ROWID",
            "CREATE TABLE value (cell TEXT PRIMARY KEY, file, algorithm, digest) WITHOUT ROWID",
            "BEGIN",
        )

    def is_first(self, lob: LobRef, container: str) -> bool:
        """Return whether a LOB is to be placed: first with its bytes, length and digest, or none share."""
        extent, cell = lob.extents[0], lob.cell
        holder: tuple[int, tuple[str, ...] | None]
        place: tuple[int, str]
        if isinstance(extent, ZipExtent):
            # Entries come in their order on disk, and keys that grow are the fastest to keep.
            key = _ENTRY.pack(b"z", extent.archive, extent.offset)
            holder, place = (extent.archive, None), (extent.offset, "")
        else:
            key = f"f{extent.root}/{'/'.join(extent.path)}".encode("utf-8", "surrogateescape")
            holder, place = (extent.root, extent.path[:-1]), (len(extent.path[-1]), extent.path[-1])
            if extent.offset is not None:  # packed as it is, in one file with others
                key += b"\0%d" % extent.offset
                holder, place = (extent.root, extent.path), (extent.offset, "")
        digest = f"{cell.digest.algorithm} {cell.digest.value}" if cell.digest else ""
        said = f"{container} {cell.length} {digest}"
        if place > self._last.get(holder, _BEFORE if len(self._last) < _HOLDERS else _BEHIND):
            self._last[holder] = place  # behind all that was named there: nothing need be looked up
            self._waiting.append((key, said, lob.place.id))
            if len(self._waiting) == _AT_ONCE:
                self._flush()
            return True
        self._flush()
        with tempdb.explained(_WHAT):
            taken = self._database.execute(
                "INSERT OR IGNORE INTO named VALUES (?, ?, ?)", (key, said, lob.place.id)
            )
            is_new = bool(taken.rowcount)
            found = self._database.execute(_OTHER if is_new else _SAME, (key, said)).fetchone()
            if found is None:
                return True
            (first,) = found
            pair = (first, lob.place.id)
            if is_new or not self._shares:
                self._copied = self._copied if self.copies else pair
                self.copies += 1
                return True
            self._shared = self._shared if self.count else pair
            self.count += 1
            self._database.execute("INSERT INTO again VALUES (?, ?)", (lob.place.id, first))
            self._database.execute("INSERT OR IGNORE INTO value (cell) VALUES (?)", (first,))
        return False

    def _flush(self) -> None:
        with tempdb.explained(_WHAT):
            self._database.executemany("INSERT INTO named VALUES (?, ?, ?)", self._waiting)
        self._waiting.clear()

    def first(self, cell: str) -> str | None:
        """Return the cell whose file a cell shares, None when it has a file of its own."""
        if not self.count:
            return None
        row = self._database.execute("SELECT first FROM again WHERE cell = ?", (cell,)).fetchone()
        return None if row is None else str(row[0])

    def tell(self, cell: str, file: str, digest: Digest | None) -> None:
        """Store the new ``file`` and digest of a cell, for those that share it."""
        if self.count:
            said = (digest.algorithm, digest.value) if digest else (None, None)
            self._database.execute(
                "UPDATE value SET file = ?, algorithm = ?, digest = ? WHERE cell = ?", (file, *said, cell)
            )

    def told(self, first: str) -> tuple[str, Digest | None]:
        """Return the stored file and digest of a cell, which comes before all that share its file."""
        file, algorithm, value = self._database.execute(
            "SELECT file, algorithm, digest FROM value WHERE cell = ?", (first,)
        ).fetchone()
        return file, Digest(algorithm=algorithm, value=value) if algorithm else None

    def words(self) -> Iterator[str]:
        """Yield warnings about cells that name the LOB of another cell."""
        if self.count:
            first, other = self._shared
            cells = f"{counted(self.count, 'cell')} with a LOB that another cell names too"
            yield f"{cells}: {other} names that of {first}, for example"
        if self.copies:
            first, other = self._copied
            yield (
                f"{counted(self.copies, 'LOB')} placed as a separate file, though another cell names the "
                f"same bytes: {other} and {first}, for example; what is made from the package keeps both"
            )
