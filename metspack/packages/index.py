"""Index a package's METS documents: read each once into tables of a temporary database.

Millions of LOBs take no more memory than ten. An error about one LOB affects only that LOB; an unreadable
child is a fault of the package, and LOBs of the others can be restored.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from metspack import safexml
from metspack.containers.ipreader import stem_of_pack
from metspack.digests import Hashers
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, tempdb
from metspack.files.paths import Names, path_of
from metspack.layouts.names import SEGMENT, SIARD
from metspack.limits import Budgets
from metspack.mets import PLAIN_METS, is_mets_name, links, reader
from metspack.mets.fastreader import Run, condensed
from metspack.mets.links import folder_of_objid
from metspack.model import Digest
from metspack.packages.delivery import ByObjid, DeliveredPackage
from metspack.packages.files import PackageFiles
from metspack.packages.lobs import HeldSegment, NamedMets, StatedFixity, place_of
from metspack.packages.metsfiles import (
    TO_DATA,
    PlainRun,
    archive_of,
    digest_of,
    is_auxiliary,
    is_of_lob,
    is_representation,
    located,
    plain_files,
    puid_of,
    size_of,
    split_lob,
)
from metspack.siard import metadata
from metspack.sources.lobfolder import cell_key


def unreadable_mets(path: str, error: OSError | MetspackError) -> SourceError:
    """Return the error for an unreadable METS."""
    if isinstance(error, OSError):
        return SourceError(
            f"{path} cannot be read: {error.strerror or error}",
            hint="The package is not complete, or you may not read it; metspack check says what is missing.",
        )
    at = f" line {error.line}, column {error.column}" if isinstance(error, safexml.XmlError) else ""
    hint = error.hint or "The METS is damaged; get another copy of it."
    return SourceError(f"{path}{at}: {error.message}", hint=hint)


_WHAT = "the index of the package"
_BATCH = 2_000
_ONE_BY_ONE = {"format_registry", "format_key"}
_NEVER_LOBS = (SIARD, metadata.NAME.rpartition("/")[2], PLAIN_METS)  # words in names of other files
_READ_INTO = ("entry", "whole", "mptr", "mapped")  # the tables that documents are read into
SCHEMA = """
CREATE TABLE mets (
    id INTEGER PRIMARY KEY, path TEXT, objid TEXT, called TEXT, first_entry INTEGER, last_entry INTEGER
);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, mets INTEGER, kind TEXT, xml_id TEXT, lob TEXT, part INTEGER, groupid TEXT,
    seq TEXT, size INTEGER, algorithm TEXT, digest TEXT, media TEXT, puid TEXT, path TEXT, refused TEXT,
    child INTEGER, line INTEGER
);
CREATE INDEX entry_child ON entry (mets) WHERE child;
CREATE TABLE here (xml_id TEXT PRIMARY KEY, entry INTEGER) WITHOUT ROWID;
CREATE TABLE whole (
    id INTEGER PRIMARY KEY, mets INTEGER, lob TEXT, size INTEGER, algorithm TEXT, digest TEXT, media TEXT,
    line INTEGER
);
CREATE INDEX whole_lob ON whole (lob);
CREATE TABLE mptr (
    id INTEGER PRIMARY KEY, mets INTEGER, href TEXT, url INTEGER, objid INTEGER, up INTEGER,
    down INTEGER, div INTEGER, line INTEGER
);
CREATE INDEX mptr_div ON mptr (mets, div, url);
CREATE TABLE mapped (
    id INTEGER PRIMARY KEY, mets INTEGER, lob TEXT, part TEXT, child TEXT, place TEXT, line INTEGER
);
CREATE INDEX mapped_part ON mapped (part)
"""
# The LOBs that more than one entry describes.
_SEVERAL = """
INSERT INTO several SELECT lob FROM entry WHERE lob IS NOT NULL GROUP BY lob HAVING count(*) > 1
UNION SELECT lob FROM whole WHERE lob IS NOT NULL
"""
_ARE_ALL_NAMED = """
SELECT (SELECT count(*) FROM named) = (SELECT count(lob) FROM entry) + (SELECT count(lob) FROM whole)
"""
# The kinds of files in a run: of no LOB, each a LOB, each a part.
_NO_LOBS, _LOBS, _PARTS = range(3)
_FILES = tempdb.BulkInsert(
    """entry (mets, kind, algorithm, path, xml_id, lob, part, size, digest, groupid, seq, child, line,
    media)""",
    """?3, 'file', ?4, ?5 || ?{0}, ?{1}, CASE ?6 WHEN 1 THEN ?{1} WHEN 2 THEN ?{4} END, ?6 = 2,
    ?{2}, ?{3}, ?{4}, ?{5}, ?7, ?1 + {row} * ?2, ?{6}""",
    per_row=7,
    counts=1,
)
_DOWN = (
    "SELECT m.href, m.url, m.objid, m.down, m.line, (SELECT o.href FROM mptr o WHERE o.mets = m.mets "
    "AND o.div = m.div AND o.url = NOT m.url ORDER BY o.id LIMIT 1), e.path, e.refused, e.id, e.size, "
    "e.algorithm, e.digest, e.line "
    "FROM mptr m LEFT JOIN here h ON h.xml_id = m.href LEFT JOIN entry e ON e.id = h.entry "
    "WHERE m.mets = ? AND NOT m.up ORDER BY m.id"
)
_HERE = (
    "INSERT INTO here SELECT xml_id, min(id) FROM entry "
    "WHERE id > ? AND mets = ? AND kind = 'file' AND xml_id IS NOT NULL GROUP BY xml_id"
)
_AT = (
    "SELECT size, algorithm, digest, line FROM entry "
    "WHERE path = ? AND mets = ? AND kind = 'file' ORDER BY id LIMIT 1"
)
_AT_INDEX = "CREATE INDEX IF NOT EXISTS entry_file ON entry (mets, path) WHERE kind = 'file'"
_READ = (
    "UPDATE mets SET objid = ?, first_entry = ? + 1, last_entry = (SELECT coalesce(max(id), 0) FROM entry) "
    "WHERE id = ?"
)
_IS_CHILD = "UPDATE entry SET lob = CASE mets WHEN 1 THEN lob END, child = 0 WHERE id = ?"
_NO_CHILDREN = "UPDATE entry SET lob = NULL WHERE mets = 1 AND child"
_NO_LOBS_HERE = (
    "UPDATE entry SET lob = NULL "
    "WHERE id <= (SELECT last_entry FROM mets WHERE id = 1) AND +mets = 1 AND lob IS NOT NULL"
)
_LABELLED = 2  # as a child by its fileGrp; 1 by its name alone
_LISTED = (
    "SELECT id, xml_id, path, child, size, algorithm, digest, line FROM entry "
    "WHERE mets = ? AND child AND path IS NOT NULL ORDER BY id"
)

Row = tuple[Any, ...]

_UNSTATED = (None, None, None, 0)  # no size, algorithm and digest, and no line that states them


class Index(tempdb.Scratch):
    """The METS documents of a package: the one called ``name`` at ``root``, and all that it leads to.

    The table ``mets`` has a row for each document, ``mptr`` for each link to another, ``entry`` for each
    ``file`` and ``mdRef`` with a location (``kind``: ``file``, ``mdRef``, or ``archive`` for a SIARD archive
    that is not a LOB), ``whole`` for each split LOB in the parent's list, ``mapped`` for each part in a
    SPLITLOB structMap. Paths begin at ``root``.

    ``packed`` is the packed file or other place of the first METS, if not ``root``; children may also be in
    the ``roots``, or among the IPs ``merged``. ``faults`` are about children that are unreadable, or whose
    METS has another size or digest than in the parent's; they are left out. Raises ``SourceError`` if the
    first METS is unreadable or that of a child, ``TargetError`` when the temporary disk is full. For one
    thread.
    """

    schema = SCHEMA
    """The tables of the database."""

    def __init__(
        self,
        root: Path,
        name: str,
        budgets: Budgets | None = None,
        packed: DeliveredPackage | None = None,
        roots: Sequence[Path] = (),
        *,
        merged: Sequence[Path] = (),
    ) -> None:
        self._root = root
        self.budgets = budgets or Budgets()
        with tempdb.explained(_WHAT):
            super().__init__("BEGIN", schema=self.schema)
        self.add_function("bare", lambda text: text and links.bare(text))
        self.add_function("position", _position)
        self._waiting: dict[str, list[Row]] = {}
        self._before = dict.fromkeys(_READ_INTO, 0)
        self._archives: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._archive_digests: dict[tuple[str, ...], Digest] = {}
        self.files = PackageFiles(root, self.budgets)
        self._has_roots = bool(roots or merged)
        self._by_objid = ByObjid(root, roots, self.files.packs, self.budgets, packed, others=merged)
        for each in self._by_objid.in_pack:
            self.files.mount_found((each.folder,), each.path, each.within)
        if packed is not None:
            within = packed.within if packed.is_packed else None
            self.files.mount_found((name.partition("/")[0],), packed.path, within)
        self.segments: list[HeldSegment] = []
        """The readable children, in the order in which the METS documents name them."""
        self.objid = ""
        self.faults: list[SourceError] = []
        try:
            self._follow(name)
            self.prepare_search()
        except BaseException:
            self.close()
            raise

    def prepare_search(self) -> None:
        """Prepare the looking up of LOBs by their ids."""
        self.execute("CREATE INDEX entry_lob ON entry (lob) WHERE lob IS NOT NULL")
        self.execute("CREATE INDEX mapped_lob ON mapped (lob)")
        if self.row("SELECT 1 FROM mapped") is not None:  # parts are looked for by their IDs
            self.execute("CREATE INDEX entry_id ON entry (xml_id)")
        self.execute("CREATE TABLE named (lob TEXT PRIMARY KEY) WITHOUT ROWID")
        self.execute("CREATE TABLE several (lob TEXT PRIMARY KEY) WITHOUT ROWID")
        self.execute(_SEVERAL)

    def enter(self, path: tuple[str, ...], called: str = "") -> int:
        """Insert a document before it is read, with its name in another; return its number."""
        for table in _READ_INTO:
            (self._before[table],) = self.row(f"SELECT coalesce(max(id), 0) FROM {table}") or (0,)  # noqa: S608
        return self.execute("INSERT INTO mets (path, called) VALUES (?, ?)", "/".join(path), called or None)

    def read(self, number: int, path: tuple[str, ...], blocks: Iterable[bytes]) -> str:
        """Read the document that ``enter`` numbered into the tables; return its OBJID, or "".

        Raises as ``blocks`` and ``reader.read``; after an error ``forget`` removes the facts read so far.
        """
        document = Document(number, path[:-1])
        for each in condensed(blocks, self.budgets):
            if not isinstance(each, Run):
                self._take(document, each)
            elif not self.take_run(document, each):
                for fact in each.facts():
                    self._take(document, fact)
        self.flush()
        self.execute(_READ, document.objid, self._before["entry"], number)
        return document.objid

    def forget(self, number: int) -> None:
        """Remove the facts of the last document; its row in ``mets`` stays."""
        self._waiting.clear()
        for table, before in self._before.items():
            self.execute(f"DELETE FROM {table} WHERE id > ?", before)  # noqa: S608 -- a constant
        self.execute(
            "UPDATE mets SET objid = NULL, first_entry = NULL, last_entry = NULL WHERE id = ?", number
        )

    def execute(self, statement: str, *values: object) -> int:
        """Execute a statement; return the number of the row that it inserted."""
        with tempdb.explained(_WHAT):
            return self._database.execute(statement, values).lastrowid or 0

    def put_columns(
        self, statement: tempdb.BulkInsert, shared: tuple[Any, ...], columns: Sequence[Sequence[Any] | None]
    ) -> None:
        """Insert rows given as columns, with the same ``shared`` values in all of them."""
        with tempdb.explained(_WHAT):
            statement.run_columns(self._database, shared, columns)

    def flush(self) -> None:
        """Insert the rows that ``_put`` collected."""
        for table in tuple(self._waiting):
            self._flush(table)

    def _put(self, table: str, *values: object) -> None:
        """Collect a row for a table: the values of all columns but ``id``."""
        waiting = self._waiting.setdefault(table, [])
        waiting.append(values)
        if len(waiting) >= _BATCH:
            self._flush(table)

    def _flush(self, table: str) -> None:
        if rows := self._waiting.pop(table, []):
            sql = f"INSERT INTO {table} VALUES (NULL{', ?' * len(rows[0])})"  # noqa: S608 -- a constant
            with tempdb.explained(_WHAT):
                self._database.executemany(sql, rows)

    def _take(self, document: Document, fact: reader.Fact) -> None:
        if isinstance(fact, reader.File):
            self.take_file(document, fact)
        elif isinstance(fact, reader.Fptr):
            document.pointed = fact.fileid.strip()
        elif isinstance(fact, links.Mptr):
            self._mptr(document, fact)
        elif isinstance(fact, reader.Root):
            document.objid = (fact.objid or "").strip()

    def take_run(self, document: Document, run: Run) -> bool:
        """Insert all facts of a run; return False if each must be inserted by ``_take``."""
        fact = run.fact
        if isinstance(fact, reader.Fptr):
            document.pointed = run.columns["fileid"][-1].strip()
            return True
        if not isinstance(fact, reader.File):
            return False
        # A file with a GROUPID and a SEQ is a part; only METS below the first have parts.
        is_below = document.number > 1
        files = plain_run(run, groups=not is_below or "seq" in run.columns)
        if files is None:
            return False
        is_lob = not is_auxiliary(fact.groups, None)
        is_child = links.is_of_children(fact.groups)
        folder = "".join(f"{each}/" for each in document.folder)
        self._flush("entry")
        media: Sequence[str | None] = run.columns.get("mimetype") or [fact.mimetype] * run.count
        kind = _NO_LOBS
        if is_lob:
            kind = _PARTS if is_below and files.groups is not None else _LOBS
        shared = (files.line, files.step, document.number, files.algorithm, folder, kind, is_child)
        self.put_columns(_FILES, shared, (*files.columns, media))
        return True

    def _mptr(self, document: Document, fact: links.Mptr) -> None:
        href = fact.href and fact.href.strip()  # XML Schema, whiteSpace of anyURI
        if fact.is_of_part:
            # The fptr to the LOB comes before the divs of its parts (METS: a div's fptr, then its divs).
            lob = split_lob(fact) or document.pointed
            self._put("mapped", document.number, lob, fact.contentids, href, fact.order, fact.line)
            return
        by = fact.named_by
        kind = (by is links.By.LOCATION, by is links.By.OBJID)
        leads = fact.is_upward, fact.is_childward
        self._put("mptr", document.number, href, *kind, *leads, fact.div, fact.line)

    def take_file(self, document: Document, fact: reader.File) -> None:
        """Insert one file."""
        if fact.id is not None and fact.id != fact.id.strip():  # XML Schema, whiteSpace of ID
            fact = replace(fact, id=fact.id.strip())
        size, digest = size_of(fact), digest_of(fact)
        stated = size, digest and digest.algorithm, digest and digest.value, fact.mimetype
        if links.SPLIT_LOBS in fact.groups and fact.href is None:
            self._put("whole", document.number, fact.id, *stated, fact.line)
            self._flush("whole")  # few, and queried for the parts that come after
            return
        if fact.href is None:
            return
        path, refused = located(document.folder, fact.href)
        kind = self._kind(document, fact, path, digest)
        is_lob = kind == "file" and not is_auxiliary(fact.groups, path)
        lob = fact.id or f"{document.objid} line {fact.line}" if is_lob else None
        is_part = is_lob and document.number > 1 and fact.groupid is not None and self._is_part(fact)
        by_name = document.number == 1 and path is not None and is_mets_name(path[-1])
        is_labelled = links.is_of_children(fact.groups)
        child = (_LABELLED if is_labelled else int(by_name)) if kind == "file" else 0
        self._put(
            "entry",
            document.number,
            kind,
            fact.id,
            fact.groupid if is_part else lob,
            is_part,
            fact.groupid,
            fact.seq,
            *stated,
            puid_of(fact),
            None if path is None else "/".join(path),
            refused,
            child,
            fact.line,
        )

    def _kind(
        self, document: Document, fact: reader.File, path: tuple[str, ...] | None, digest: Digest | None
    ) -> str:
        """Return the kind of an entry: ``file``, ``mdRef``, or ``archive``; record an archive."""
        if fact.element != "file":
            return fact.element
        # In a child, an archive in the group of a segment is a LOB.
        in_segment = document.number > 1 and is_of_lob(fact.id, fact.groups)
        if path is None or in_segment or (archive := archive_of(path)) is None:
            return "file"
        self._archives.setdefault(archive, path if path[-1] != "metadata.xml" else archive)
        if digest is not None:
            self._archive_digests.setdefault(path, digest)
        return "archive"

    def _is_part(self, fact: reader.File) -> bool:
        # Other tools use GROUPID for other groups; a part also has a SEQ, a whole or an entry in the map.
        return (
            fact.seq is not None
            or self.row("SELECT 1 FROM whole WHERE lob = ?", fact.groupid) is not None
            or self.row("SELECT 1 FROM mapped WHERE part = ?", fact.id) is not None
        )

    @property
    def archives(self) -> tuple[tuple[str, ...], ...]:
        """The SIARD archives that the METS documents list, as names from the root.

        Each is a file, the first listed of the pieces of one, or the folder of an unpacked one.
        """
        return tuple(self._archives.values())

    def digests_of(self, archive: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Digest]]:
        """Yield the files of one of ``archives`` with a digest in METS, each with the digest."""
        whole = archive_of(archive) or archive
        for path, digest in self._archive_digests.items():
            if archive_of(path) == whole:
                yield path, digest

    def divided(self, data: Names) -> Mapping[Names, tuple[int, Names]]:
        """Return folders elsewhere that belong below an archive's folder, with their places.

        ``data``, the archive's folder, and the places are names from a root; the keys are names from
        ``data``. A folder of LOBs belongs there if it is in another root, or in the representation of the
        same name of another IP (AIP1). If ``data`` is packed, it is included.
        """
        is_data = is_representation(data)
        found: dict[Names, tuple[int, Names]] = {}
        for folder in self._folders_of_lobs if is_data or len(self.files.roots) > 1 else ():
            root, names = self.files.spot(folder)
            if is_data and folder[1:TO_DATA] == data[-3:]:
                if root or folder[:TO_DATA] != data:
                    found.setdefault(folder[TO_DATA:], (root, names))
            elif root and folder[: len(data)] == data:
                found.setdefault(folder[len(data) :], (root, names))
        is_packed = self.files.held(path_of(data))[0].is_packed
        return found | {(): self.files.spot(data)} if is_packed else found

    @cached_property
    def _folders_of_lobs(self) -> Iterable[Names]:
        sql = "SELECT path FROM entry WHERE lob IS NOT NULL AND path IS NOT NULL"
        return dict.fromkeys(tuple(path.split("/")[:-1]) for (path,) in self.rows(sql))

    def prefix(self, archive: tuple[str, ...]) -> str:
        """Return the prefix of the ids of an archive's LOBs, or ""."""
        found = links.prefix((archive_of(archive) or archive)[-1])
        return found if self.holds_any(*links.bounds(found)) else ""

    def holds_any(self, first: str, beyond: str) -> bool:
        """Return whether METS lists a LOB with an id from ``first`` to before ``beyond``."""
        sql = "SELECT 1 FROM entry WHERE lob >= ? AND lob < ? LIMIT 1"
        return self.row(sql, first, beyond) is not None

    def holds(self, lob: str) -> bool:
        """Return whether the METS documents list a LOB with this id."""
        sql = "SELECT 1 FROM entry WHERE lob = ?1 UNION ALL SELECT 1 FROM whole WHERE lob = ?1"
        return self.row(sql, lob) is not None

    def note_named(self, lobs: Iterable[str]) -> None:
        """Record that cells name LOBs, by their ids in METS."""
        with tempdb.explained(_WHAT):
            self._database.executemany("INSERT OR IGNORE INTO named VALUES (?)", zip(lobs))

    def are_all_named(self) -> bool:
        """Return whether ``note_named`` recorded every LOB; False if any is in parts."""
        return self.row(_ARE_ALL_NAMED) == (1,)

    def is_listed_twice(self) -> bool:
        """Return whether METS lists one file for two LOBs or parts of them."""
        sql = "SELECT 1 FROM entry WHERE lob NOTNULL AND path NOTNULL GROUP BY path HAVING count(*) > 1"
        return self.row(sql) is not None

    def lob_at(self, path: tuple[str, ...]) -> str | None:
        """Return the id of the LOB that is, in whole or part, in the file at a path, or None."""
        # Made on first use: only packages whose ids are not those of cells need it.
        self.execute("CREATE INDEX IF NOT EXISTS entry_path ON entry (path) WHERE lob IS NOT NULL")
        row = self.row("SELECT lob FROM entry WHERE path = ? AND lob IS NOT NULL", "/".join(path))
        return None if row is None else str(row[0])

    def weight(self) -> tuple[int, int]:
        """Return the number of files of LOBs in the METS documents, and their bytes."""
        sql = "SELECT count(*), coalesce(sum(size), 0) FROM entry WHERE lob IS NOT NULL"
        files, size = self.row(sql) or (0, 0)
        return files, size

    def close(self) -> None:
        """Drop the database."""
        self.files.close()
        super().close()

    def _follow(self, name: str) -> None:
        """Read the METS called ``name``, those that it names, and so on, each once."""
        first = tuple(name.split("/"))
        ahead = deque([NamedMets(path=first)])
        seen = {first}
        while ahead:
            named = ahead.popleft()
            number = self.enter(named.path, named.called)
            if not self._read_named(number, named):
                continue
            for child in self._children(number, named.path):
                if child.path not in seen:
                    seen.add(child.path)
                    ahead.append(child)
        # The first METS lists the LOBs itself where it is the only one.
        self.execute(_NO_LOBS_HERE if len(seen) > 1 or self.faults else _NO_CHILDREN)

    def _read_named(self, number: int, named: NamedMets) -> bool:
        """Read one METS; return False, after recording a fault, for an unreadable one but the first."""
        path = named.path
        try:
            if (stem := stem_of_pack(path[-1])) is not None:
                named = self._packed(number, named, stem)
                path = named.path
            with self.files.document(path) as content:
                hashers = Hashers(named.fixity.algorithms)
                objid = self.read(number, path, reading.blocks(hashers.pass_on(content.chunks())))
            named.check(hashers)
        except (OSError, MetspackError) as error:
            self.forget(number)
            if number == 1:
                # The whole path identifies the package.
                raise unreadable_mets(str(self._root.joinpath(*path)), error) from None
            fault = unreadable_mets("/".join(path), error)
            self.faults.append(SourceError(f"{fault.message}{self._damaged()}", hint=fault.hint))
            return False
        if number == 1:
            self.objid = objid
        elif not is_representation(path):
            self.segments.append(HeldSegment(objid=objid, mets=path))
        return True

    def _packed(self, number: int, named: NamedMets, stem: str) -> NamedMets:
        """Return the METS in a zip or tar file that METS names in its place (SIARD 2.2 L_7.1-1).

        Raises ``SourceError`` unless the file has its size and digest in that METS.
        """
        hashers = Hashers(named.fixity.algorithms)
        with self.files.content("/".join(named.path).encode("utf-8", "surrogateescape")) as content:
            hashers.take(content.chunks())
        named.check(hashers)
        path = self.files.mets_in((*named.path[:-1], stem))
        self.execute("UPDATE mets SET path = ? WHERE id = ?", "/".join(path), number)
        return NamedMets(path=path, called=named.called)

    def _children(self, number: int, path: tuple[str, ...]) -> Iterator[NamedMets]:
        """Yield the METS of each child that a METS names."""
        name = "/".join(path)
        down = False
        self.execute("DELETE FROM here")
        if self.row("SELECT 1 FROM mptr WHERE mets = ? AND NOT up", number) is not None:
            self.execute(_HERE, self._before["entry"], number)
        for href, url, by_objid, childward, line, beside, listed, why, entry, *stated in list(
            self.rows(_DOWN, number)
        ):
            child: NamedMets | None = None
            refused = why
            if entry is not None:
                child = None if listed is None else _child(listed, href, name, stated)
                self.execute(_IS_CHILD, entry)
            elif url and href:
                place, refused = located(path[:-1], href)
                child = None if place is None else self._by_url(number, name, place, beside)
            elif beside is not None or (number > 1 and not childward):
                continue  # the OBJID to a location, or a link to the parent without a label
            elif by_objid and href:
                found = self._by_objid.find(href, self.objid)
                refused = f"but no package beside it has this OBJID{self._damaged()}"
                place = None if found is None else self._mounted((self._called(found, href),), found)
                child = None if place is None else _child("/".join(place), href, name, _UNSTATED)
            if child is not None:
                down = down or not is_representation(child.path)
                yield self._reached(child)
            else:
                reason = refused or "but that METS has no file with this ID, which would give its location"
                self.faults.append(
                    SourceError(
                        f"{name} line {line} names the child {href or 'nothing'}, {reason}",
                        hint="metspack check shows more about the links of the package.",
                    )
                )
        for listed_child in self._listed_children(number, path):
            down = down or not is_representation(listed_child.path)
            yield listed_child
        if number == 1 and not down:
            self._check_is_no_child(name)

    def _listed_children(self, number: int, path: tuple[str, ...]) -> Iterator[NamedMets]:
        """Yield the METS of children and representations that are listed without an mptr."""
        for entry, xml_id, listed, label, *stated in list(self.rows(_LISTED, number)):
            place = tuple(listed.split("/"))
            is_inside = is_representation(place) and place[:-3] == path[:-1]
            if label == _LABELLED or is_inside or self._is_child(place):
                self.execute("UPDATE entry SET lob = NULL WHERE id = ?", entry)
                yield _child(listed, xml_id, "/".join(path), stated)

    def _is_child(self, path: Names) -> bool:
        """Return whether a METS without an mptr to it is a child's.

        Its folder has the name of a segment, its mptr names the parent, or it lists LOBs of a database. An
        unreadable one counts as a child's, so that it becomes a fault.
        """
        if SEGMENT.fullmatch(path[-2] if len(path) > 1 else ""):
            return True
        with suppress(OSError, MetspackError), self.files.document(path) as content:
            found = condensed(content.blocks())
            return any(self._is_of_child(each.fact if isinstance(each, Run) else each) for each in found)
        return True

    def _is_of_child(self, fact: reader.Fact) -> bool:
        if isinstance(fact, reader.File):
            return place_of(fact.id or "") is not None
        return isinstance(fact, links.Mptr) and links.are_same(fact.href or "", self.objid)

    def _reached(self, child: NamedMets) -> NamedMets:
        """Return a child; if its place is empty, with the path of its METS in one of the roots."""
        *folder, name = child.path
        is_searched = self._has_roots and folder and child.called and stem_of_pack(name) is None
        if not is_searched or is_representation(child.path) or links.are_same(child.called, self.objid):
            return child
        if self.files.is_there(path_of(folder)):
            return child  # a mount would hide the folder's contents
        with suppress(OSError, MetspackError), self.files.document(child.path):
            return child  # packed in its place
        found = self._by_objid.find(child.called, self.objid)
        return child if found is None else replace(child, path=self._mounted(child.path[:-1], found))

    def _damaged(self) -> str:
        """Return words on unreadable packed files, in which children may be, or ""."""
        return "".join(f"; {path}: {fault}" for path, fault in sorted(self._by_objid.damaged.items()))

    def _called(self, found: DeliveredPackage, objid: str) -> str:
        return found.folder if found.path.parent == self._root else folder_of_objid(objid).replace("/", "+")

    def _mounted(self, names: Names, found: DeliveredPackage) -> Names:
        """Return the path of a package's METS; mount the package at ``names`` unless it is there."""
        mets = tuple((found.mets or "").split("/"))
        if found.is_packed or found.path != self._root.joinpath(*names):
            self.files.mount_found(names, found.path, found.within if found.is_packed else None)
        return *names, *mets

    def document(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of the METS at a path; raises as ``PackageFiles.document`` does."""
        with self.files.document(tuple(name.split("/"))) as content:
            yield from content.chunks()

    def _by_url(self, number: int, name: str, place: tuple[str, ...], objid: str | None) -> NamedMets:
        """Return the child that a METS locates by its path, with the fixity in that METS.

        ``objid`` is its name there; a representation has the name of its package.
        """
        listed = "/".join(place)
        if is_representation(place):
            row = self.row("SELECT coalesce(called, objid) FROM mets WHERE id = ?", number)
            objid = str(row[0]) if row else None
        self.execute(_AT_INDEX)
        return _child(listed, objid, name, self.row(_AT, listed, number) or _UNSTATED)

    def _check_is_no_child(self, name: str) -> None:
        row = self.row("SELECT href, line FROM mptr WHERE mets = 1 AND up")
        if row is not None:
            raise SourceError(
                f"{self._root / name} is the METS of a child IP: line {row[1]} names its parent, {row[0]}",
                hint="Name the folder of the parent IP; it knows all its children.",
            )


def _child(listed: str, called: str | None, by: str, stated: Sequence[Any]) -> NamedMets:
    """Return a child at a path, with the facts about it in the METS ``by``.

    ``stated`` are size, algorithm, digest, and the line in that METS.
    """
    size, algorithm, value, line = stated
    digest = None if algorithm is None else Digest(algorithm=algorithm, value=value)
    fixity = StatedFixity(size=size, digest=digest, by=f"{by} line {line}")
    return NamedMets(path=tuple(listed.split("/")), called=called or "", fixity=fixity)


def _position(lob: str) -> bytes | None:
    """Return bytes that sort LOBs by schema, table, row and cell, or None for an id of no place."""
    if (place := place_of(lob)) is None:
        return None
    return struct.pack(">3Q", place.schema, place.table, place.row) + cell_key(place.cell)


def plain_run(run: Run, *, groups: bool) -> PlainRun | None:
    """Return the columns of a run, or None if its files must be inserted one by one.

    That is necessary for files with further facts, archives, metadata and METS. Without ``groups`` a GROUPID
    is such a fact.
    """
    needs_rows = not _ONE_BY_ONE.isdisjoint(run.columns) or ("groupid" in run.columns and not groups)
    if needs_rows or (files := plain_files(run)) is None:
        return None
    names = "\n".join(run.columns["href"]).lower()
    if any(each in names for each in _NEVER_LOBS) or not all(map(str.strip, run.columns["id"])):
        return None
    return files


@dataclass(slots=True)
class Document:
    """The state while one METS is read: its OBJID, and the file of the last ``fptr``."""

    number: int
    folder: tuple[str, ...]
    objid: str = ""
    pointed: str | None = None
