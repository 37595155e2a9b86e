"""Open a package for reading: its LOBs by id, or in the order of METS or the database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice, repeat
from pathlib import Path

from metspack.errors import LobNotFoundError, SourceError
from metspack.files.journal import not_found
from metspack.files.reading import Closable
from metspack.files.staging import NOT_FOUND
from metspack.layouts.names import SIARD
from metspack.limits import Budgets
from metspack.mets import links
from metspack.model import LONGEST, Digest
from metspack.packages import delivery
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import UNPACK
from metspack.packages.index import Index, Row
from metspack.packages.lobs import (
    UNKNOWN,
    HeldLob,
    HeldPart,
    HeldSegment,
    HeldWhole,
    ListedFile,
    Mapped,
)
from metspack.packages.metsfiles import is_representation
from metspack.packages.splitlobs import chained

_KEPT = 1_000  # parts of LOBs, and errors, in memory
# The condition that the entry of a LOB is one file and its only description.
_IS_ONE_FILE = """
NOT EXISTS (SELECT 1 FROM several s WHERE s.lob = e.lob) AND NOT e.part AND coalesce(e.xml_id, e.lob) = e.lob
AND e.path IS NOT NULL AND e.size IS NOT NULL
"""
_IS_FIRST = """
e.lob IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM several s JOIN entry o ON o.lob = s.lob WHERE s.lob = e.lob AND o.id < e.id
)
"""
_IDS = f"SELECT lob FROM entry e WHERE {_IS_FIRST} {{}} ORDER BY id"  # noqa: S608 -- constants
_BARE = """
SELECT lob FROM whole w WHERE lob IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.lob = w.lob)
AND NOT EXISTS (SELECT 1 FROM whole o WHERE o.lob = w.lob AND o.id < w.id) {} ORDER BY id
"""
_IDS_BY_PLACE = f"""
SELECT lob FROM (SELECT * FROM ({_IDS.format("")}) UNION ALL SELECT * FROM ({_BARE.format("")}))
ORDER BY position(lob)
"""  # noqa: S608 -- constants
_IS_UNNAMED = "AND lob NOT IN (SELECT lob FROM named)"
_OF_PART = """
e.part, e.xml_id, e.seq, e.path, e.size, e.algorithm, e.digest, e.media, e.line, e.refused, m.path,
coalesce(m.called, m.objid, ''), e.puid
"""
_PARTS = f"""
SELECT {_OF_PART} FROM entry e JOIN mets m ON m.id = e.mets WHERE e.lob = ? ORDER BY e.id
"""  # noqa: S608 -- constants
_WHOLES = """
SELECT w.size, w.algorithm, w.digest, w.media, m.path, w.line
FROM whole w JOIN mets m ON m.id = w.mets WHERE w.lob = ? ORDER BY w.id
"""
_MAPPED = """
SELECT p.part, p.child, p.place, m.path, p.line FROM mapped p JOIN mets m ON m.id = p.mets
WHERE p.lob = ? ORDER BY p.id
"""
_OF_LISTED = "e.size, e.algorithm, e.digest, e.media, coalesce(m.called, m.objid, '')"
_WANTED = f"""
SELECT w.value, e.path, {_OF_LISTED} FROM json_each(?) w
LEFT JOIN entry e ON e.lob = w.value AND {_IS_ONE_FILE} LEFT JOIN mets m ON m.id = e.mets ORDER BY w.key
"""  # noqa: S608 -- constants
_LISTED = f"""
SELECT e.lob, CASE WHEN ? AND {_IS_ONE_FILE} THEN e.path END, {_OF_LISTED}
FROM entry e JOIN mets m ON m.id = e.mets WHERE {_IS_FIRST}
"""  # noqa: S608 -- constants
_FROM = _LISTED + "AND e.id >= (SELECT min(id) FROM entry WHERE lob = ?) ORDER BY e.id LIMIT ?"  # noqa: S608 -- constants
_ROWS = """
SELECT count(*), min(row), max(row)
FROM (SELECT CAST(substr(lob, length(?1) + 1) AS INTEGER) row FROM entry WHERE lob >= ?1 AND lob < ?1 || ':')
"""
_BESIDE = """
SELECT * FROM (SELECT DISTINCT lob FROM entry WHERE lob >= ?1 ORDER BY lob LIMIT 200)
UNION ALL SELECT * FROM (SELECT DISTINCT lob FROM entry WHERE lob < ?1 ORDER BY lob DESC LIMIT 200)
"""
_REPAIR = "The METS documents are wrong or files of two packages were mixed; metspack check shows more."


class Package(Closable):
    """A package by its path, or that of the parent's METS; a context manager, for one thread.

    The METS documents are read on first use, each once, into a temporary database. No file outside the folder
    of the parent's METS is opened, except in the ``roots`` for children that are missing there. Raises
    ``SourceError`` for a path without a METS.
    """

    def __init__(self, path: Path, budgets: Budgets | None = None, roots: Sequence[Path] = ()) -> None:
        self._budgets = budgets or Budgets()
        self._roots = tuple(map(delivery.root, roots))
        self.root, self.mets, self._packed = _found(path, self._budgets)
        self._lobs: dict[str, HeldLob | SourceError] = {}
        self._kept = 0

    @cached_property
    def index(self) -> Index:
        """The database of the METS documents, read on first use."""
        return Index(self.root, self.mets, self._budgets, self._packed, self._roots)

    @property
    def objid(self) -> str:
        """The parent's OBJID, or ""."""
        return self.index.objid

    @property
    def segments(self) -> tuple[HeldSegment, ...]:
        """The readable children, in the order in which METS names them."""
        return tuple(self.index.segments)

    @property
    def archives(self) -> tuple[tuple[str, ...], ...]:
        """The SIARD archives in the METS documents: each a file, its first piece, or a folder.

        Each is a tuple of names from the root.
        """
        return self.index.archives

    @property
    def faults(self) -> tuple[SourceError, ...]:
        """The errors about unreadable children; LOBs of the others can be restored."""
        return tuple(self.index.faults)

    def ids(self, *, unnamed: bool = False) -> Iterator[str]:
        """Yield the id of every LOB once, in the order of the children and of their METS.

        With ``unnamed`` only the LOBs that ``Index.note_named`` has not recorded yet.
        """
        if not (unnamed and self.index.are_all_named()):
            for sql in (_IDS, _BARE):
                for (lob,) in self.index.rows(sql.format(_IS_UNNAMED if unnamed else "")):
                    yield lob

    def ids_by_place(self) -> Iterator[str]:
        """Yield the id of every LOB, those of no place first, then by schema, table, row and cell."""
        for (lob,) in self.index.rows(_IDS_BY_PLACE):
            yield lob

    def lobs(self) -> Iterator[HeldLob]:
        """Yield every LOB in the order of ``ids``.

        Raises ``SourceError`` first for an unreadable child, then as ``lob`` does.
        """
        for fault in self.index.faults:
            raise fault
        for lob in self.ids():
            yield self.lob(lob)

    def lob(self, lob: str) -> HeldLob:
        """Return the LOB with this id (``s0.t2.c4.r1``).

        Raises ``SourceError`` for an id that is not in the package, with the nearest id, and for a LOB whose
        parts are incomplete, out of order, or of another size than in METS; see ``splitlobs``.
        """
        # Many cells may name one LOB of many files, whose rows are read once for all.
        if (found := self._lobs.get(lob)) is None:
            try:
                found = self._held(lob)
            except SourceError as error:
                found = error
            weight = len(found.parts) if isinstance(found, HeldLob) else 1
            if self._kept + weight > _KEPT:
                self._lobs.clear()
                self._kept = 0
            self._lobs[lob] = found
            self._kept += weight
        if isinstance(found, HeldLob):
            return found
        raise found.with_traceback(None)  # a traceback keeps the objects of its frames alive

    def _held(self, lob: str) -> HeldLob:
        parts: list[HeldPart] = []
        wholes: list[HeldPart] = []
        for row in self.index.rows(_PARTS, lob):
            (parts if row[0] else wholes).append(self._part(lob, row))
        stated = list(map(_whole, self.index.rows(_WHOLES, lob)))
        if not (parts or stated):
            if not wholes:
                raise self._absent(lob)
            if len(wholes) == 1:
                (part,) = wholes
                return HeldLob(
                    id=lob,
                    parts=(part,),
                    size=part.size,
                    digest=part.digest,
                    media_type=part.media_type,
                    source=part.source,
                )
        _check_once(lob, parts, wholes, stated)
        return self._split(lob, parts, stated)

    def listed_files(self, lobs: Sequence[str]) -> dict[str, ListedFile]:
        """Return, by id, those LOBs that are exactly one file, listed once and with a size.

        ``lob`` returns the others, and all those of packages with packed files.
        """
        if not (lobs and self.index.files.are_unpacked):
            return {}
        # Most packages list LOBs in the order of their cells, so that one range of rows has them.
        rows = self.index.all(_FROM, True, lobs[0], len(lobs))  # noqa: FBT003 -- a value of the query
        if [row[0] for row in rows] != lobs:
            rows = self.index.all(_WANTED, json.dumps(lobs))
        return {row[0]: ListedFile(*row) for row in rows if row[1] is not None}

    def unnamed_rows(self) -> Iterator[list[Row]]:
        """Yield the LOBs of ``ids(unnamed=True)``, many at a time, as rows of ``ListedFile``.

        The path of a LOB that ``listed_files`` leaves out is None.
        """
        rows = chain(
            self.index.rows(f"{_LISTED} {_IS_UNNAMED} ORDER BY e.id", self.index.files.are_unpacked),
            ((lob, *repeat(None, 6)) for (lob,) in self.index.rows(_BARE.format(_IS_UNNAMED))),
        )
        while some := list(islice(rows, LONGEST)):
            yield some

    def _split(self, lob: str, parts: list[HeldPart], stated: list[HeldWhole]) -> HeldLob:
        named = [
            Mapped(part=part or "", child=child or "", order=place, source=f"{mets} line {line}")
            for part, child, place, mets, line in self.index.rows(_MAPPED, lob)
        ]
        whole = stated[0] if stated else _mapped_whole(parts, named)
        if not parts:
            raise self._partless(lob, named, stated[0])
        try:
            ordered = chained(lob, parts, whole, named)
        except SourceError as error:
            raise self._with_faults(error) from None
        media = next((each for each in (whole and whole.media_type, parts[0].media_type) if each), None)
        return HeldLob(
            id=lob,
            parts=ordered,
            size=sum(part.size for part in ordered),
            digest=None if whole is None else whole.digest,
            media_type=media,
            source=whole.source if whole else ordered[0].source,
            is_mapped=bool(named),
        )

    def _part(self, lob: str, row: Row) -> HeldPart:
        _, xml_id, seq, path, size, algorithm, value, media, line, refused, mets, called, puid = row
        if path is None:
            raise SourceError(
                f"LOB {lob}: {mets} line {line}: {refused}",
                hint="Only files in the package are read; metspack check shows more.",
            )
        part = HeldPart(
            id=xml_id or lob,
            seq=seq,
            path=tuple(path.split("/")),
            size=UNKNOWN if size is None else size,
            digest=None if algorithm is None else Digest(algorithm=algorithm, value=value),
            media_type=media,
            mets=mets,
            line=line,
            segment=called,
            puid=puid,
        )
        return self._measured(lob, part) if size is None else part

    def _measured(self, lob: str, part: HeldPart) -> HeldPart:
        """Return a part with the size of its file, which METS does not state."""
        with self.index.files.opened_part(lob, part) as medium:
            return replace(part, size=medium.size)

    def _partless(self, lob: str, named: list[Mapped], stated: HeldWhole) -> SourceError:
        first = named[0] if named else None
        where = f"{first.part}, which {first.source} expects in {first.child}" if first else "the first"
        return self._with_faults(
            SourceError(
                f"LOB {lob}: all its parts are missing, {where}; {stated.source} says that it is split",
                hint="Get the children that hold them from another copy of the package.",
            )
        )

    def _with_faults(self, error: SourceError) -> SourceError:
        """Return an error that also reports the first unreadable child, if there is one."""
        if not self.index.faults:
            return error
        return SourceError(f"{error.message}. Also, {self.index.faults[0].message}", hint=error.hint)

    def _absent(self, lob: str) -> SourceError:
        hint = self._likelier(lob)
        return self._with_faults(LobNotFoundError(f"the package has no LOB {lob[:200]!r}", hint=hint))

    def _likelier(self, lob: str) -> str:
        """Return a hint at the LOBs that an id may stand for."""
        row = self.index.row("SELECT lob FROM entry WHERE xml_id = ? AND lob IS NOT NULL", lob)
        if row is not None:
            return f"{lob} is a part of the LOB {row[0]}."
        stem, _, number = lob.rpartition(".r")
        if number.isdecimal() and (found := self.index.row(_ROWS, f"{stem}.r")) != (0, None, None):
            _, low, high = found or ()
            return f"Its column has LOBs in rows {low:,} to {high:,}."
        # Imported only here, as difflib is slow to import.
        from difflib import get_close_matches  # noqa: PLC0415

        candidates = [each for (each,) in self.index.rows(_BESIDE, lob.lower())]
        if near := get_close_matches(lob.lower(), candidates, n=1):
            return f"Did you mean {near[0]}?"
        if not candidates:
            return "Its METS documents list no LOBs, and no cell of an archive in it has this id."
        return f"Ids are like {candidates[0]}: metspack list shows those of all LOBs."

    def close(self) -> None:
        """Drop the tables of the METS documents."""
        index = self.__dict__.pop("index", None)
        if index is not None:
            index.close()


def _check_once(lob: str, parts: list[HeldPart], wholes: list[HeldPart], stated: list[HeldWhole]) -> None:
    if len(wholes) > 1:
        raise SourceError(
            f"LOB {lob}: it is listed twice: {wholes[0].name} ({wholes[0].source}) and {wholes[1].name} "
            f"({wholes[1].source}); expected once",
            hint=_REPAIR,
        )
    if wholes:
        beside = f"its part {parts[0].id} ({parts[0].source})" if parts else stated[0].source
        raise SourceError(
            f"LOB {lob}: it is listed whole, {wholes[0].name} ({wholes[0].source}), and in parts: {beside}; "
            "expected one of the two",
            hint=_REPAIR,
        )
    if len(stated) > 1:
        raise SourceError(
            f"LOB {lob}: the whole is described twice: {stated[0].source} and {stated[1].source}",
            hint=_REPAIR,
        )


def _whole(row: Row) -> HeldWhole:
    size, algorithm, value, media, mets, line = row
    digest = None if algorithm is None else Digest(algorithm=algorithm, value=value)
    return HeldWhole(size=size, digest=digest, media_type=media, source=f"{mets} line {line}")


def _mapped_whole(parts: list[HeldPart], named: list[Mapped]) -> HeldWhole | None:
    """Return a whole that only the map describes, as CSIP lists real files (CSIP76), or None."""
    if named and all(is_representation(tuple(part.mets.split("/"))) for part in parts):
        return HeldWhole(size=None, digest=None, media_type=None, source=named[0].source)
    return None


def _found(path: Path, budgets: Budgets) -> tuple[Path, str, DeliveredPackage | None]:
    """Return a package's root, the path of its METS, and the packed file that it is in, if any."""
    if not path.exists():
        raise not_found(path, NOT_FOUND)
    is_folder = path.is_dir()
    if (found := delivery.only_package(path, budgets)) is None:
        if is_folder and (refusal := delivery.refusal_of_source(path)) is not None:
            raise refusal
        raise SourceError(
            f"{path} holds no METS, so it is not a package",
            hint="Name the folder that metspack build made." if is_folder else UNPACK,
        )
    is_itself = found.path in {path, path.parent} and not found.is_packed
    if is_itself or not (found.is_packed or delivery.is_beside(found.path.parent, found)):
        return found.path, found.mets or "", None
    # A packed file that a person names keeps its name, which is unique in the folder.
    name = found.folder if is_folder else path.name
    return found.path.parent, f"{name}/{found.mets}", found if found.is_packed else None


def as_id(lob: str) -> str:
    """Return a LOB's id from a command line, with ``?`` for surrogates, which XML cannot have."""
    return lob.encode(errors="replace").decode()


def listed_id(package: Package, lob: str) -> str:
    """Return the id of a LOB in METS; that of ``First.s0.t2.c4.r1`` may lack the name.

    The id is unchanged if METS has the name, or if ids without a name may be of another archive.
    """
    prefix, place = links.split_prefix(lob)
    path = next((each for each in package.archives if prefix and links.prefix(each[-1]) == prefix), None)
    if path is None or package.index.prefix(path):
        return lob
    others = (each for each in package.archives if each != path)
    return place if all(map(package.index.prefix, others)) else lob


def identity(package: Package, source: str) -> str:
    """Return words that change with the package; ``source`` are those of its archive or LOBs."""
    digest = hashlib.sha256(source.encode(errors="surrogateescape"))
    for block in package.index.document(package.mets):
        digest.update(block)
    return f"{package.root.resolve()}, state {digest.hexdigest()[:16]}"


def candidate_cells(package: Package, lob: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the archives that may have the cell of a LOB, with its place there.

    An id with a name is of that archive; one without is of archives whose ids have no names.
    """
    prefix, place = links.split_prefix(lob)
    for path in package.archives:
        if links.prefix(path[-1]) == prefix if prefix else not package.index.prefix(path):
            yield path, place


def selected_archive(
    package: Package, archive: str | None, only: tuple[str, ...], hint: str
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the selected archive, or None, and the ids of ``only`` without its name.

    It is the one named ``archive``, or the one whose name the ids of ``only`` begin with, or the only one.
    Raises ``SourceError`` if there is no such archive, or if several need a selection, with ``hint``.
    """
    found = package.archives
    meant = [
        path
        for path in found
        if (only and all(each.startswith(links.prefix(path[-1])) for each in only))
        or (archive is not None and links.prefix(path[-1]) == links.prefix(f"{archive}{SIARD}"))
    ]
    if archive is not None and not meant:
        names = ", ".join(links.prefix(path[-1]).removesuffix(".") for path in found)
        raise SourceError(
            f"{package.root} holds no archive {archive!r}",
            hint=f"It holds {names}." if found else "It holds no archive.",
        )
    if len(meant or found) > 1:
        listed = ", ".join("/".join(path) for path in found[:3])
        raise SourceError(f"{package.root} holds {len(found):,} archives: {listed}", hint=hint)
    path = next(iter(meant or found), None)
    return path, only if path is None else tuple(each.removeprefix(links.prefix(path[-1])) for each in only)
