"""A check's catalogue, a temporary database of METS, files, cells; nearest names, pure.

Paths are bytes relative to the package's root, with ``/``: names on disk need not be UTF-8, and bytes sort as
manifests do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum, unique
from functools import cached_property, lru_cache
from typing import Any

from metspack.checking.similarity import nearest
from metspack.files import tempdb
from metspack.files.paths import folder_of, shown
from metspack.layouts.names import SEGMENT, ArchiveRoutes
from metspack.mets.links import bare

_SCHEMA = """
PRAGMA page_size = 8192;
CREATE TABLE mets (
    id INTEGER PRIMARY KEY, path BLOB UNIQUE, folder BLOB, parent INTEGER, called TEXT, objid TEXT,
    line INTEGER DEFAULT 0, size INTEGER, done INTEGER, ok INTEGER DEFAULT 0, segment INTEGER,
    key TEXT, found TEXT, named_by TEXT, type TEXT, pointed INTEGER DEFAULT 0,
    leads INTEGER DEFAULT 0, package_type TEXT, package BLOB, bare TEXT, depth INTEGER DEFAULT 0,
    jump INTEGER, agreed INTEGER, agreed_bytes INTEGER, algorithm TEXT
);
CREATE INDEX mets_bare ON mets (bare) WHERE bare IS NOT NULL;
CREATE INDEX mets_bad ON mets (folder) WHERE ok = 0;
CREATE TABLE mark (mark TEXT, path BLOB, other BLOB, note TEXT, PRIMARY KEY (mark, path)) WITHOUT ROWID;
CREATE INDEX mark_other ON mark (mark, other, path) WHERE other IS NOT NULL;
CREATE INDEX mets_parent ON mets (parent, key);
CREATE INDEX mets_objid ON mets (objid, package) WHERE objid IS NOT NULL;
CREATE INDEX mets_sibling ON mets (objid, package, parent) WHERE objid IS NOT NULL;
CREATE INDEX mets_type ON mets (parent, type);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, mets INTEGER, element TEXT, xml_id TEXT, groupid TEXT, grp INTEGER, line INTEGER,
    size INTEGER, algorithm TEXT, digest TEXT, seq TEXT, href TEXT, path BLOB, pseudo INTEGER,
    named INTEGER, filed INTEGER, mdtype TEXT, mimetype TEXT, differs TEXT
);
CREATE INDEX entry_archive ON entry (mets, path) WHERE filed IS NOT NULL;
CREATE INDEX entry_id ON entry (mets, xml_id);
CREATE INDEX entry_path ON entry (path, size);
CREATE INDEX entry_group ON entry (groupid) WHERE groupid IS NOT NULL;
CREATE INDEX entry_filed ON entry (mets, filed) WHERE filed IS NOT NULL;
CREATE INDEX entry_metadata ON entry (path) WHERE element = 'mdRef';
CREATE INDEX entry_differs ON entry (differs) WHERE differs IS NOT NULL;
CREATE INDEX entry_outside ON entry (mets) WHERE differs = 'outside';
CREATE TABLE mptr (
    id INTEGER PRIMARY KEY, mets INTEGER, href TEXT, url INTEGER, up INTEGER, map INTEGER, part TEXT,
    line INTEGER, named_by TEXT, ancestor INTEGER, childward INTEGER, div INTEGER, sibling TEXT, lob TEXT,
    place TEXT, child TEXT, outside INTEGER, holder INTEGER, entry INTEGER
);
CREATE INDEX mptr_part ON mptr (part) WHERE part IS NOT NULL;
CREATE INDEX mptr_lob ON mptr (lob) WHERE lob IS NOT NULL;
CREATE INDEX mptr_href ON mptr (mets, href);
CREATE INDEX mptr_whole ON mptr (mets, href) WHERE part IS NULL;
CREATE INDEX mptr_map ON mptr (mets, href, map) WHERE part IS NULL;
CREATE INDEX mptr_down ON mptr (mets) WHERE NOT up;
CREATE INDEX mptr_div ON mptr (mets, div, named_by);
CREATE TABLE edge (
    id INTEGER PRIMARY KEY, parent INTEGER, child INTEGER, mptr INTEGER, href TEXT, line INTEGER, state TEXT,
    code TEXT, map INTEGER, div INTEGER
);
CREATE INDEX edge_parent ON edge (parent, child, map, div);
CREATE INDEX edge_child ON edge (child, parent);
CREATE INDEX edge_mptr ON edge (mptr);
CREATE INDEX edge_href ON edge (parent, href) WHERE child IS NOT NULL;
CREATE TABLE fault (path TEXT, code TEXT, PRIMARY KEY (path, code)) WITHOUT ROWID;
CREATE TABLE statement (
    source TEXT, document BLOB, mets INTEGER, xml_id TEXT, path BLOB, line INTEGER, size INTEGER,
    algorithm TEXT, digest TEXT, boundary INTEGER
);
CREATE INDEX statement_archive ON statement (path) WHERE source = 'archive';
CREATE INDEX statement_path ON statement (path) WHERE source = 'PREMIS';
CREATE INDEX statement_id ON statement (mets, xml_id) WHERE source = 'PREMIS';
CREATE INDEX statement_only ON statement (path) WHERE source = 'PREMIS only';
CREATE INDEX statement_read ON statement (path) WHERE source = 'read';
CREATE INDEX statement_lost ON statement (path) WHERE source = 'cell';
CREATE INDEX statement_whole ON statement (xml_id) WHERE source = 'whole';
CREATE VIEW object AS SELECT rowid AS id, document, mets, xml_id, path, line, size, algorithm, digest
    FROM statement WHERE source = 'PREMIS';
CREATE TABLE technical (
    xml_id TEXT, algorithm TEXT, line INTEGER, smallest INTEGER, largest INTEGER, first TEXT, last TEXT,
    PRIMARY KEY (xml_id, algorithm)
) WITHOUT ROWID;
CREATE TABLE fptr (mets INTEGER, fileid TEXT, line INTEGER, div INTEGER);
CREATE INDEX fptr_div ON fptr (mets, div) WHERE div IS NOT NULL;
CREATE INDEX fptr_beside ON fptr (mets, fileid, div) WHERE div IS NOT NULL;
CREATE INDEX fptr_id ON fptr (mets, fileid) WHERE div IS NULL;
CREATE TABLE ident (
    id INTEGER PRIMARY KEY, mets INTEGER, xml_id TEXT, element TEXT, line INTEGER
);
CREATE INDEX ident_id ON ident (mets, xml_id);
CREATE TABLE disk (path BLOB, kind TEXT, size INTEGER, PRIMARY KEY (path, kind)) WITHOUT ROWID;
CREATE INDEX disk_folder ON disk (path) WHERE kind = 'd';
CREATE TABLE piece (
    whole TEXT, origin INTEGER, position INTEGER, path BLOB, PRIMARY KEY (whole, origin, position)
) WITHOUT ROWID;
CREATE TABLE manifest (
    id INTEGER PRIMARY KEY, name TEXT, path BLOB, algorithm TEXT, read INTEGER, agreed INTEGER DEFAULT 0,
    agreed_bytes INTEGER DEFAULT 0
);
CREATE INDEX manifest_path ON manifest (path);
CREATE TABLE listed (manifest INTEGER, path BLOB, digest TEXT, line INTEGER);
CREATE INDEX listed_path ON listed (path, manifest);
CREATE TABLE section (
    id INTEGER PRIMARY KEY, mets INTEGER, outer INTEGER, name TEXT, is_child INTEGER, is_whole INTEGER,
    is_other INTEGER, UNIQUE (mets, outer, name)
);
CREATE TABLE noted (archive TEXT, words TEXT);
CREATE TABLE cell (
    id INTEGER PRIMARY KEY, archive BLOB, place TEXT, inside INTEGER, path BLOB, size INTEGER,
    length INTEGER, algorithm TEXT, digest TEXT
);
CREATE INDEX cell_path ON cell (path);
CREATE TABLE holding (
    archive BLOB, version TEXT, dbname TEXT, owner TEXT, timespan TEXT, archived TEXT, schemas INTEGER,
    tables INTEGER, rows INTEGER, lobs INTEGER, lost INTEGER, inline INTEGER, agreed_bytes INTEGER
);
CREATE INDEX holding_archive ON holding (archive);
CREATE TABLE wrong (
    path BLOB, code TEXT, place TEXT, source TEXT, algorithm TEXT, expected TEXT, found TEXT, others TEXT,
    likeness TEXT
);
CREATE INDEX wrong_path ON wrong (path);
CREATE INDEX wrong_digests ON wrong (expected, found, algorithm, code, path);
"""
"""Creates the tables of a check.

They are METS (``mets``, files as ``entry`` in a ``section``, ``mptr``, ``fptr``, ``ident`` for other
IDs), their links (``edge``, ``fault``), what is there (``disk``), lists (``manifest``, its lines ``listed``),
archives (``holding``, ``cell``, ``noted``), parts of split LOBs (``piece``), other statements on files or on
the LOBs themselves (``statement``; ``technical`` is of one document), digests that differ (``wrong``), and
marks.
"""

_COUNTED = "SELECT count(*) FROM (SELECT 1 FROM ({}) WHERE path = ? LIMIT ?)"
_OF_ONE = "SELECT * FROM ({}) WHERE path = ? ORDER BY rank"
_UNLIKE = """
SELECT path, rank, number, min(line), place, algorithm, digest, length FROM ({}) WHERE path = ?
GROUP BY rank, number, algorithm, digest, length ORDER BY rank, 4, number, algorithm, digest, length
"""


@unique
class Mark(StrEnum):
    """A mark of a path; some marks have another path too."""

    DOCUMENT = "document"
    """A file on disk that is called as METS documents are."""
    EMPTY = "empty"
    """An empty folder, until METS and manifests are read."""
    FOLDED = "folded"
    """A file or folder whose name is not its folded form, which is the other path."""
    FOLDED_ENTRY = "folded entry"
    """An entry of the archive under check whose name is not its folded form, the other path."""
    PACK = "pack"
    """A zip or tar file with an IP, which is mounted in the other path, a folder."""
    LOST_METS = "lost METS"
    """A missing METS that manifests list, and that has its finding."""
    UNFETCHED = "unfetched"
    """A file of a bag that is still to be fetched."""
    MEANT = "meant"
    """A METS that a link means, though it leads elsewhere."""
    MOVED = "moved"
    """The folder to which a link leads; the other is that of the METS which it means."""
    RENAMED = "renamed"
    """A listed file that has the other path; the note is the algorithm that showed it."""
    OUTERMOST = "outermost"
    """One of the folders in question now, each outside all others."""
    SHARED = "shared"
    """A place in a representation, with the path of the file there, in any IP."""
    LOST_SHARED = "lost shared"
    """A missing file's place in a representation, with the path of the file."""
    DISORDERED = "disordered"
    """The ID of a split LOB whose parts have no certain order."""
    SAMPLED = "sampled"
    """A file of the sample."""
    DONE = "done"
    """A file that needs no further reading."""
    REMEMBERED = "remembered"
    """A file that the ledger has as verified, unchanged since; the note is the time."""
    TAKEN = "taken"
    """A remembered file whose statements are all verified; it is left unread."""


PUT_MARK = "INSERT OR IGNORE INTO mark VALUES (?, ?, ?, ?)"
"""Marks a path, with another path or None, and a note or None."""


def is_marked(mark: Mark, path: str) -> str:
    """Return the SQL condition that the path in a column is marked."""
    return f"EXISTS (SELECT 1 FROM mark k WHERE k.mark = '{mark}' AND k.path = {path})"  # noqa: S608 -- constants


IS_GONE = "e.differs IN ('missing', 'unclear', 'renamed')"
"""Holds for an entry whose file is missing; ``differs`` says how an entry deviates.

``missing``; ``unclear`` where the location may mean another file; ``renamed`` where the file has another
path; ``size``; ``reported`` for one with another finding; ``METS`` for a METS, which the check of links
covers; ``outside`` for one outside the package.
"""
GONE = f"""(
SELECT path FROM mark WHERE mark = '{Mark.LOST_METS}' UNION ALL SELECT e.path FROM entry e WHERE {IS_GONE}
)"""  # noqa: S608 -- a constant
"""The paths of all files with a finding because they are missing, some more than once."""
PUT_OBJECT = """INSERT INTO statement
    (source, document, mets, xml_id, path, line, size, algorithm, digest)
    VALUES ('PREMIS', ?, ?, ?, ?, ?, ?, ?, ?)"""
"""Puts in what PREMIS in a document of a METS states of a file."""
OF_BAG = "manifest.path IS NULL AND manifest.name GLOB 'the bag?s *'"
"""The condition for manifests of a bag."""
# An index shows at once whether a path occurs twice; only then each row is examined.
_ANY_PATH_TWICE = "SELECT (SELECT count(path) FROM entry) > (SELECT count(DISTINCT path) FROM entry)"
_PUT_METS = """INSERT INTO mets
    (path, folder, segment, parent, called, done, key, found, named_by, package, depth, jump)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_DEPTHS = """
SELECT p.depth, n.depth, f.id, f.depth FROM mets p
LEFT JOIN mets n ON n.id = p.jump LEFT JOIN mets f ON f.id = n.jump WHERE p.id = ?
"""
_ABOVE = (
    "SELECT m.depth, m.parent, m.jump, j.depth FROM mets m LEFT JOIN mets j ON j.id = m.jump WHERE m.id = ?"
)
_LAST_OUTERMOST = f"SELECT max(path) FROM mark WHERE mark = '{Mark.OUTERMOST}' AND path <= {{0}}"  # noqa: S608
IN_OUTERMOST = f"""EXISTS (SELECT 1 FROM mark o WHERE o.mark = '{Mark.OUTERMOST}'
    AND o.path = ({_LAST_OUTERMOST}) AND substr({{0}}, 1, length(o.path)) = o.path)"""  # noqa: S608 -- constants
"""Holds for a path in one of the kept folders: only the last one before it can hold it."""
DEEPEST = 256
"""The most last names of a lost path that are searched elsewhere, each once."""
_BATCH = 2_000
_NEAR = 500
Row = tuple[Any, ...]
_CACHE = 1000  # KiB: more would gain no time, as the file is in the system's memory
# Lower-case names of the usual characters, which Windows can hold, and which are their folded form.
_USUAL = b"abcdefghijklmnopqrstuvwxyz0123456789._-/"
_UNUSUAL = re.compile(rb"\.(?:/|\Z)|(?:\A|/)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[./]|\Z)")


def outermost(folders: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the folders, of some sorted ones, that are outside all others."""
    last: bytes | None = None
    for folder in folders:
        if last is None or not folder.startswith(last):
            yield (last := folder)


class Catalogue(tempdb.Scratch):
    """All data of a check on one package, in a private temporary database; a context manager."""

    def __init__(self) -> None:
        # One transaction, never ended: the database is discarded without a commit.
        super().__init__("BEGIN", cache=_CACHE, schema=_SCHEMA)
        self._reserved = Counter[str]()
        self.structmap = lru_cache(1_000)(self._structmap_number)
        self.routes: list[ArchiveRoutes] = []
        """The routes of each archive to its LOBs outside, for the report."""
        self.apart: set[bytes] = set()
        """The folders, each with its slash, of packages that were found outside this one."""
        self.above: dict[str, str] = {}
        """The paths of parents that were found outside this package, by their bare OBJIDs."""
        self.swapped: dict[bytes, bytes] = {}
        """The folders of swapped children, each with the folder that holds it; all end with a slash."""

    def number(self, sql: str, *values: object) -> int:
        """Return the one number that a query gives, or 0 without a row."""
        found = self.row(sql, *values)
        return int(found[0]) if found and found[0] is not None else 0

    def has(self, sql: str, *values: object) -> bool:
        """Return whether a query gives a row."""
        return self.row(sql, *values) is not None

    def is_file(self, path: bytes) -> bool:
        """Return whether a file is on disk."""
        return self.has("SELECT 1 FROM disk WHERE path = ? AND kind = 'f'", path)

    def is_folder(self, path: bytes) -> bool:
        """Return whether a folder is on disk."""
        return self.has("SELECT 1 FROM disk WHERE path = ? AND kind = 'd'", path)

    def statements(self, sql: str, path: bytes, most: int) -> list[Row]:
        """Return all statements on one file in a query; of more than ``most``, equal ones once.

        They have a path, a rank, a number, a line, a place, an algorithm, a digest and a length.
        """
        if self.number(_COUNTED.format(sql), path, most + 1) <= most:
            return self.all(_OF_ONE.format(sql), path)
        return self.all(_UNLIKE.format(sql), path)

    def mark(self, mark: Mark, path: bytes, other: bytes | None = None, note: str | None = None) -> None:
        """Mark a path, unless it is marked so."""
        self.put(PUT_MARK, mark, path, other, note)

    def mark_all(self, mark: Mark, paths: Iterable[bytes]) -> None:
        """Mark paths, without any other one."""
        self.put_many(PUT_MARK, ((mark, path, None, None) for path in paths))

    def unmark(self, mark: Mark) -> None:
        """Take a mark from all paths."""
        self.put("DELETE FROM mark WHERE mark = ?", mark)

    def is_marked(self, mark: Mark, path: bytes | str) -> bool:
        """Return whether a path is marked."""
        return self.has("SELECT 1 FROM mark WHERE mark = ? AND path = ?", mark, path)

    def marked(self, mark: Mark) -> Iterator[bytes]:
        """Yield the paths that are marked, in order."""
        return (path for (path,) in self.rows("SELECT path FROM mark WHERE mark = ? ORDER BY path", mark))

    def put_many(self, sql: str, rows: Iterable[Row]) -> None:
        """Run a statement for each row."""
        self._database.executemany(sql, rows)

    def insert(
        self, insertion: tempdb.BulkInsert, shared: Row, columns: Sequence[Sequence[Any] | None]
    ) -> None:
        """Insert rows given as columns, with the ``shared`` values in each."""
        insertion.run_columns(self._database, shared, columns)

    def reserve(self, table: str, count: int) -> int:
        """Reserve numbers for rows of a table, which may be put in later; return the first."""
        self._reserved[table] += count
        return self._reserved[table] - count + 1

    def _structmap_number(self, kind: str | None, label: str | None) -> int:
        """Return the number of structMaps with a TYPE and a LABEL, sections of METS 0."""
        text = f"{kind}\n{label}"
        found = self.number("SELECT id FROM section WHERE mets = 0 AND outer = 0 AND name = ?", text)
        return found or self.put("INSERT INTO section (mets, outer, name) VALUES (0, 0, ?)", text)

    def new_mets(
        self,
        path: bytes,
        parent: int | None,
        called: str | None = None,
        *,
        done: bool = False,
        found: str | None = None,
        named_by: str | None = None,
        package: bytes | None = None,
    ) -> int:
        """Add a METS document to be read, or one that is ``done``; return its id, 1 for the first.

        ``called`` is the OBJID that the parent has for it, ``found`` its place when that is elsewhere,
        ``named_by`` how it is linked when that is no link of parent and child as in the recommendation.
        ``package`` is the folder of the package whose representation has it, or None for a package's own
        METS.
        """
        key = None if called is None else bare(called)
        values = (parent, called, done, key, found, named_by, package, *self._depth_below(parent))
        folder = folder_of(path)
        is_segment = SEGMENT.fullmatch(shown(folder[:-1].rpartition(b"/")[2])) is not None
        return self.put(_PUT_METS, path, folder, is_segment, *values)

    def _depth_below(self, parent: int | None) -> tuple[int, int | None]:
        """Return the depth of a METS below ``parent``, and a METS far above it, for ``is_above``."""
        if (row := self.row(_DEPTHS, parent)) is None:
            return 0, None
        depth, near_depth, far, far_depth = row
        is_longer = far is not None and depth - near_depth == near_depth - far_depth
        return depth + 1, far if is_longer else parent

    def is_above(self, mets: int, other: int) -> bool:
        """Return whether a METS is another one or above it, in a few steps for any length of chain."""
        depth = self.number("SELECT depth FROM mets WHERE id = ?", mets)
        return self.at_depth(other, depth) == mets

    def at_depth(self, mets: int, depth: int) -> int:
        """Return the METS at a depth above one, the topmost at 0, or the METS itself."""
        while (row := self.row(_ABOVE, mets)) is not None and row[0] > depth:
            _, parent, jump, jump_depth = row
            mets = jump if jump_depth >= depth else parent
        return mets

    @cached_property
    def is_any_path_twice(self) -> bool:
        """Return whether METS list any file twice; read once all METS are in and indexed."""
        return bool(self.number(_ANY_PATH_TWICE))

    def keep_outermost(self, folders: Iterable[bytes]) -> None:
        """Mark the outermost of some sorted folders, in place of the ones marked before."""
        self.unmark(Mark.OUTERMOST)
        self.mark_all(Mark.OUTERMOST, outermost(folders))


class Batch:
    """Rows for the catalogue, or for another ``put_many``, inserted a few thousand at a time."""

    def __init__(self, put_many: Callable[[str, Iterable[Row]], object]) -> None:
        self._put_many = put_many
        self._waiting: dict[str, list[Row]] = {}

    def add(self, sql: str, *values: object) -> None:
        """Take one row for a statement."""
        waiting = self._waiting.setdefault(sql, [])
        waiting.append(values)
        if len(waiting) >= _BATCH:
            self._put_many(sql, waiting)
            waiting.clear()

    def flush(self) -> None:
        """Insert the remaining rows."""
        for sql, waiting in self._waiting.items():
            self._put_many(sql, waiting)
            waiting.clear()


def are_usual(names: bytes) -> bool:
    """Return whether names, joined by ``/``, are all free of findings."""
    return not names.translate(None, _USUAL) and not _UNUSUAL.search(names)


def nearest_file(catalogue: Catalogue, path: bytes) -> str:
    """Return the file in the same folder with the name nearest to a missing one's, or ""."""
    folder = folder_of(path)
    names = catalogue.rows(
        "SELECT path FROM disk WHERE path > ? AND path < ? AND kind = 'f' ORDER BY path LIMIT ?",
        folder,
        folder + b"\xff",
        _NEAR,
    )
    return nearest(shown(path), (shown(name) for (name,) in names))
