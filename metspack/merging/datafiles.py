"""Data files of the IPs to be merged: what METS says of each; no two have the same place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

from metspack.digests import OCTETS, Hashers
from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.files.threads import ThreadedHashers
from metspack.layouts.names import SIARD
from metspack.mediatypes import DEFAULT
from metspack.merging.ips import (
    DATA,
    GivenIp,
    IpFiles,
    Names,
    check_fixity,
    is_data,
    is_kept,
    is_made_anew,
    proven,
    read_mets,
    said_of_mets,
    stated,
)
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER
from metspack.mets.dialects.interface import SplitLob, SplitPart
from metspack.mets.fastreader import Run
from metspack.mets.reader import File
from metspack.model import LONGEST, SMALL, Budgets, Columnar
from metspack.packages.index import AT_INDEX, Document, MetsTables, Row, plain_run
from metspack.packages.lobs import StatedFixity
from metspack.uris import shown

_EXAMPLES = 3
_KEEPING = "the files of the containers"
# The data files among what the METS documents list: "container" counts the IPs, "path" is below data.
_DATA_TABLE = """CREATE TABLE data (n INTEGER PRIMARY KEY, entry INTEGER NOT NULL UNIQUE, container INTEGER,
    path TEXT UNIQUE, xml_id TEXT UNIQUE)"""


_ABOVE_DATA = 4  # an IP's folder, the representations, one of them, its data
_ABOVE, _DATA = f"/{REPRESENTATIONS_FOLDER}/", f"/{DATA}/"


def data_path(folder: str) -> str:
    """Return SQL for the path of an entry below the data folder of the IP in ``folder``, NULL for others."""
    rest = f"substr(path, length({folder}) + {len(_ABOVE) + 1})"  # from the representation's name on
    return f"""CASE WHEN substr(path, 1, length({folder}) + {len(_ABOVE)}) = {folder} || '{_ABOVE}'
    AND substr({rest} || '/', instr({rest}, '/'), {len(_DATA)}) = '{_DATA}'
    AND substr(path, -{len(CSIP_METS) + 1}) <> '/{CSIP_METS}'
    THEN substr({rest}, instr({rest}, '/') + {len(_DATA)}) END"""


# The entries of one METS lie together: of many METS, all of them together are read once.
_OF_METS = """mets = ?1 AND id >= (SELECT first_entry FROM mets WHERE id = ?1)
AND id <= (SELECT last_entry FROM mets WHERE id = ?1)"""
_SELECTED = f"""WITH file AS (
    SELECT id, kind, {data_path("?2")} AS below, coalesce(xml_id, '') AS xml_id FROM entry WHERE {_OF_METS}
) SELECT"""  # noqa: S608
_PUT = f"""INSERT OR IGNORE INTO data (entry, container, path, xml_id) {_SELECTED}
id, ?3, iif(kind = 'run', NULL, below), iif(kind = 'run', NULL, xml_id) FROM file
WHERE below IS NOT NULL ORDER BY id"""
_ADDED = "SELECT path, xml_id FROM data WHERE n > ? AND path IS NOT NULL"
_SECOND = f"""{_SELECTED} below, xml_id FROM file WHERE below IS NOT NULL
AND id NOT IN (SELECT entry FROM data) ORDER BY id LIMIT 1"""  # noqa: S608
_REFUSED = f"SELECT line, refused FROM entry WHERE {_OF_METS} AND refused IS NOT NULL ORDER BY id LIMIT 1"  # noqa: S608
_WITHOUT_DIGEST = f"""SELECT e.line, d.path FROM data d JOIN entry e ON e.id = d.entry
WHERE d.n > ? AND e.mets = ? AND (e.algorithm IS NULL OR e.algorithm NOT IN ({", ".join("?" * len(OCTETS))}))
ORDER BY d.n LIMIT 1"""  # noqa: S608
_VIEW = """CREATE VIEW data_file AS SELECT d.n, d.container, d.path, d.xml_id, e.mets, e.line, e.size,
    e.algorithm, e.digest, e.media, CASE WHEN e.groupid <> '' AND e.seq GLOB '[0-9]*'
    AND e.seq NOT GLOB '*[^0-9]*' THEN e.groupid ELSE '' END AS part_of, CAST(e.seq AS INTEGER) AS seq,
    coalesce(r.files, 1) AS files, r.columns FROM data d JOIN entry e ON e.id = d.entry
LEFT JOIN run r ON r.entry = d.entry"""
_COLUMNS = f"""n, files, columns, container, mets, algorithm, part_of, path, xml_id,
    coalesce(nullif(media, ''), '{DEFAULT}'), size, digest, seq, line"""
_PARTS = "SELECT 1 FROM data_file WHERE part_of <> '' LIMIT 1"
_IN_ORDER = f"SELECT {_COLUMNS} FROM data_file WHERE n > ? ORDER BY n"  # noqa: S608
_NEXT = f"{_IN_ORDER} LIMIT 20"
# The parts of a LOB one after the other, where its first part is: then the whole can be hashed as they go.
_ORDERED = f"""SELECT {_COLUMNS} FROM (
    SELECT *, CASE part_of WHEN '' THEN n ELSE min(n) OVER (PARTITION BY part_of) END AS turn FROM data_file
) WHERE turn > ? ORDER BY turn, CASE part_of WHEN '' THEN 0 ELSE seq END, n"""  # noqa: S608
_ARCHIVES = f"SELECT {_COLUMNS} FROM data_file WHERE path LIKE '%{SIARD}' ORDER BY n LIMIT 2"  # noqa: S608
_UNLISTED = """SELECT g.key FROM json_each(?2) g
WHERE NOT EXISTS (SELECT 1 FROM data d WHERE d.path = g.value AND d.container = ?1) ORDER BY g.key LIMIT 1"""
# What else the parent lists in its own folder.
_BESIDE = f"""SELECT path, size, algorithm, digest FROM entry
WHERE mets IN (?1, ?2) AND substr(path, 1, length(?3)) = ?3 AND {data_path("?4")} IS NULL
ORDER BY path, id"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of an IP's representation; ``path`` is relative to the folder of its data.

    ``part_of`` is the LOB that it is a part of, "" for none, ``sequence`` the part's number.
    """

    ip: IpFiles
    representation: str
    path: str
    id: str
    media_type: str
    said: StatedFixity
    part_of: str = ""
    sequence: int | None = None

    @property
    def names(self) -> Names:
        """Its names from the IP's folder."""
        return (REPRESENTATIONS_FOLDER, self.representation, DATA, *self.path.split("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRun(Columnar):
    """Files one behind the other, in one folder of an IP's data and of one METS: columns of one length.

    At most ``LONGEST``. ``algorithm`` is that of their digests, None where METS has none. All are stated to
    have at most ``SMALL`` bytes, or none is.
    """

    ip: IpFiles
    representation: str
    mets: Path
    algorithm: str | None
    part_of: str
    paths: Sequence[str]
    ids: Sequence[str]
    media_types: Sequence[str]
    sizes: Sequence[int | None]
    digests: Sequence[str]
    sequences: Sequence[int]
    lines: Sequence[int]

    OF_EACH = ("paths", "ids", "media_types", "sizes", "digests", "sequences", "lines")

    def file(self, number: int) -> DataFile:
        """Return one of the files by itself, by its place in the run from 0."""
        by = f"{self.mets} line {self.lines[number]}"
        return DataFile(
            ip=self.ip,
            representation=self.representation,
            path=self.paths[number],
            id=self.ids[number],
            media_type=self.media_types[number],
            said=stated(self.sizes[number], self.algorithm, self.digests[number], by=by),
            part_of=self.part_of,
            sequence=self.sequences[number] if self.part_of else None,
        )


_DIGITS = "0123456789"
_MOST_EXTENTS = 200_000  # runs of files, whose first and last names are held
_Extent = tuple[str, tuple[int, str], tuple[int, str]]


class DoubtfulError(Exception):
    """Files of which many together do not tell enough: they are to be looked at one by one."""


_RUN_TABLE = "CREATE TABLE run (entry INTEGER PRIMARY KEY, files INTEGER, columns TEXT)"
_PUT_RUN = "INSERT INTO run VALUES (?, ?, ?)"
_PUT_PLACE = """INSERT INTO entry (mets, kind, part, size, algorithm, path, child, line)
    VALUES (?, 'run', 0, ?, ?, ?, 0, ?)"""


class DataTables(MetsTables):
    """METS of containers; data files that are written alike are kept together, unless that is not wanted.

    What is noted of each tells whether a path or an ID comes twice, and whether the files on disk are those
    that METS lists. Where one of them is not so, ``DoubtfulError`` is raised: tables in which each file
    stands by itself tell which.
    """

    def __init__(self, budgets: Budgets | None = None, *, together: bool = True) -> None:
        super().__init__(budgets)
        self.are_together = together
        self.files = 0
        self._listed: Counter[str] = Counter()
        # Of each run of paths, and of IDs: what they begin with, the least, the last.
        self._extents: tuple[list[_Extent], list[_Extent]] = [], []
        self.execute(_RUN_TABLE)

    def note(self, container: str, paths: Sequence[str], ids: Sequence[str]) -> None:
        """Note data files of a container, all in one folder, by path and ID."""
        self._listed[container] += sum(map(hash, paths))
        self.files += len(paths)
        stem = ids[0].rstrip(_DIGITS)
        if {each.rstrip(_DIGITS) for each in ids} != {stem}:
            raise DoubtfulError
        folder = paths[0].rpartition("/")[0]
        for extents, above, names in zip(self._extents, (folder, stem), (paths, ids), strict=True):
            if len(set(names)) < len(names) or len(extents) == _MOST_EXTENTS:
                raise DoubtfulError
            ordered = [*zip(map(len, names), names, strict=True)]
            extents.append((above, min(ordered), max(ordered)))

    def check_once(self) -> None:
        """Raise ``DoubtfulError`` unless it is plain that each path and each ID was noted once.

        That is so where those of one folder, or with one beginning, come run by run in their order.
        """
        for extents in self._extents:
            extents.sort()
            if any(one[0] == two[0] and one[2] >= two[1] for one, two in pairwise(extents)):
                raise DoubtfulError

    def see(self, container: str, paths: Iterable[str]) -> None:
        """Take note of data files that a container has."""
        self._listed[container] -= sum(map(hash, paths))

    def check_seen(self, container: str) -> None:
        """Raise ``DoubtfulError`` unless the data files that a container has are those that were noted."""
        if self._listed[container]:
            raise DoubtfulError

    def _take_run(self, document: Document, run: Run) -> bool:
        if not (self.are_together and self._take_data(document, run)):
            return super()._take_run(document, run)
        return True

    def _take_data(self, document: Document, run: Run) -> bool:
        """Keep a run of data files as it is; return False for one of other files."""
        fact = run.fact
        if not isinstance(fact, File) or (files := plain_run(run)) is None:
            return False
        folder = "".join(f"{each}/" for each in document.folder)
        places = [folder + each for each in run.columns["href"]]
        names = places[0].split("/")
        if len(names) <= _ABOVE_DATA or names[1] != REPRESENTATIONS_FOLDER or names[3] != DATA:
            return False
        above = "".join(f"{each}/" for each in names[:_ABOVE_DATA])
        if not all(each.startswith(above) for each in places):
            return False
        media = run.columns.get("mimetype") or [fact.mimetype or ""] * run.count
        paths = [each[len(above) :] for each in places]
        self.flush()
        kinds = [each or DEFAULT for each in media]
        rows = zip(paths, files.ids, kinds, files.sizes, files.digests, run.lines, strict=True)
        while batch := list(islice(rows, LONGEST)):
            for _, alike in groupby(batch, lambda row: (row[0].rpartition("/")[0], row[3] <= SMALL)):
                columns = [*zip(*alike, strict=True)]
                self.note(names[0], columns[0], columns[1])
                path, *_, size, _, line = columns
                place = self.execute(
                    _PUT_PLACE, document.number, sum(size), files.algorithm, above + path[0], line[0]
                )
                self.execute(_PUT_RUN, place, len(path), _packed(columns))
        return True


def _packed(columns: Iterable[Sequence[object]]) -> str:
    """Return columns of values without line feeds and NULs as one text for a database."""
    return "\0".join("\n".join(map(str, each)) for each in columns)


def _unpacked(text: str) -> list[Sequence[Any]]:
    """Return the columns of files, in the order of a ``DataRun``, that were packed; they are no parts."""
    paths, ids, kinds, sizes, digests, lines = (each.split("\n") for each in text.split("\0"))
    return [paths, ids, kinds, [*map(int, sizes)], digests, [0] * len(paths), [*map(int, lines)]]


class DataFiles:
    """All data files of containers, as their METS in the tables list them.

    ``containers`` begin with the parent. Their METS are read by ``read``, which raises ``DoubtfulError`` as
    ``DataTables`` does, and ``SourceError`` when two files have the same path or ID (AIP2), when one has no
    digest or is listed by nobody, and when a METS is not what another says of it. ``count`` files are known.
    """

    def __init__(self, containers: Sequence[GivenIp], tables: DataTables) -> None:
        self._containers = containers
        self._tables = tables
        self._mets: dict[int, Path] = {}  # where the documents lie, by their numbers in the tables
        self._own: list[int] = []  # the numbers of the parent's
        self.left_out = self.count = 0
        self.examples: tuple[str, ...] = ()
        self.unproven: list[Path] = []
        tables.execute(_DATA_TABLE)
        tables.execute(_VIEW)

    def read(self) -> Iterator[None]:
        """Read what the METS of the containers list, and compare it with what these hold; yield after each.

        Nothing else is asked of a container that was not read.
        """
        containers, tables = self._containers, self._tables
        # Made for this alone: it would have every file of every representation.
        tables.execute("CREATE INDEX entry_id ON entry (xml_id, mets)")
        tables.execute(AT_INDEX)
        named: dict[int, dict[str, tuple[str, str]]] = {}
        said = [said_of_mets(tables, each, named) for each in containers]
        listed = [self._listed_below(each) for each in containers]
        tables.execute("DROP INDEX entry_id")
        tables.execute("DROP INDEX entry_file")
        for number, container in enumerate(containers):
            with tempdb.explained(_KEEPING):
                self._take(number, container, said[number], listed[number])
                if not container.is_list:
                    self._find(number, container)
            yield
        if tables.are_together:
            tables.check_once()

    @property
    def representation(self) -> str | None:
        """The representation's name in all containers, None when none has one."""
        return next((each.representations[0] for each in self._containers if each.representations), None)

    def runs(self, after: int = 0) -> Iterator[DataRun]:
        """Yield the files in the order of containers and of their METS, the parts of a LOB together.

        Those up to the number ``after`` are left out, none of which is a part.
        """
        sql = _IN_ORDER if self._tables.row(_PARTS) is None else _ORDERED
        return (run for _, run in self._runs(sql, after))

    def next_runs(self, after: int) -> Iterator[tuple[int, DataRun]]:
        """Yield some of the files behind a number as METS have them, each run with the number of its last."""
        return self._runs(_NEXT, after)

    def _runs(self, sql: str, *values: object) -> Iterator[tuple[int, DataRun]]:
        for batch in _lots(self._tables.rows(sql, *values)):
            for _, alike in groupby(batch, _alike):
                files = list(alike)
                _, _, packed, container, mets, algorithm, part_of, *_ = files[0]
                columns: Sequence[Sequence[Any]] = [*zip(*files, strict=True)][-len(DataRun.OF_EACH) :]
                if packed is not None:
                    columns = _unpacked(packed)
                run = DataRun(
                    ip=self._containers[container].ip,
                    representation=self.representation or "",
                    mets=self._mets[mets],
                    algorithm=algorithm,
                    part_of=part_of,
                    **dict(zip(DataRun.OF_EACH, columns, strict=True)),
                )
                yield files[-1][0], run

    def archives(self) -> list[DataFile]:
        """Return the first SIARD archives among the files, two at the most."""
        return [run.file(number) for _, run in self._runs(_ARCHIVES) for number in range(len(run))]

    def amounts(self) -> tuple[int, int]:
        """Return how many files there are, and their bytes together."""
        sql = "SELECT coalesce(sum(files), 0), coalesce(sum(size), 0) FROM data_file"
        files, size = self._tables.row(sql) or (0, 0)
        return int(files), int(size)

    def documents(self) -> Iterator[tuple[tuple[str, ...], StatedFixity]]:
        """Yield the parent's own documentation and descriptive metadata, as names from its folder."""
        before = None
        folder = self._containers[0].ip.name
        first, last = self._own[0], self._own[-1]
        for path, *said in self._tables.rows(_BESIDE, first, last, f"{folder}/", folder):
            names = tuple(path.split("/"))[1:]
            if names != before and names[-1] != CSIP_METS and is_kept(names):
                yield names, stated(*said, by=str(self._containers[0].mets))
            before = names

    def _listed_below(self, container: GivenIp) -> Row | None:
        """Return what a container's METS says of that of its representation, None for nothing."""
        if not container.representations:
            return None
        below = (REPRESENTATIONS_FOLDER, container.representations[0], CSIP_METS)
        return self._tables.file_at(container.number, (container.ip.name, *below))

    def _take(self, number: int, container: GivenIp, said: StatedFixity | None, listed: Row | None) -> None:
        """Add the data files that a container's METS list; ``said`` is what the parent's says of its own.

        ``listed`` is what its own says of that of its representation.
        """
        if number and (said is None or not said.algorithms):
            self.unproven.append(container.mets)
        self._add(number, container.number, container.mets)
        if said is not None:
            for _ in proven(container, (CSIP_METS,), said):
                pass
        if listed is not None:
            below = (REPRESENTATIONS_FOLDER, container.representations[0], CSIP_METS)
            *row, line = listed
            said = stated(*row, by=f"{container.mets} line {line}")
            hashers = ThreadedHashers(said.algorithms)
            mets = container.folder.joinpath(*below)
            self._add(number, read_mets(self._tables, container.ip, below, hashers)[0], mets)
            check_fixity(str(mets), said, hashers)

    def _add(self, number: int, mets: int, path: Path) -> None:
        """Add the data files that one METS lists, known by its number in the tables and by its path."""
        container = self._containers[number]
        self._mets[mets] = path
        if number == 0:
            self._own.append(mets)
        if container.is_list:
            return
        row = self._tables.row
        if (refused := row(_REFUSED, mets)) is not None:
            raise SourceError(f"{path} line {refused[0]}: {refused[1]}", hint="Correct the METS.")
        folder = container.ip.name
        before = (row("SELECT coalesce(max(n), 0) FROM data") or (0,))[0]
        last = self._tables.execute(_PUT, mets, folder, number)
        if (second := row(_SECOND, mets, folder)) is not None:
            self._refuse_second(container, *second)
        if (bare := row(_WITHOUT_DIGEST, before, mets, *OCTETS)) is not None:
            raise SourceError(
                f"{path} line {bare[0]}: {shown(bare[1])} has no digest that can be compared",
                hint="Without one its bytes cannot be verified: rewrite the METS with digests.",
            )
        if self._tables.are_together:
            for place, identifier in list(self._tables.rows(_ADDED, before)):
                self._tables.note(folder, [place], [identifier])
        self.count = max(last, self._tables.files)

    def _refuse_second(self, container: GivenIp, path: str, identifier: str) -> None:
        other = self._tables.row("SELECT container FROM data WHERE path = ?", path)
        what, clause = f"the path {shown(path)}", "AIP2: sub-paths are unique across the containers"
        if other is None:
            other = self._tables.row("SELECT container FROM data WHERE xml_id = ?", identifier) or (0,)
            what, clause = f"the ID {identifier!r}", "IDs are unique in the METS of a representation"
        first = self._containers[other[0]]
        raise SourceError(
            f"{first.folder} and {container.folder} both have {what} in {REPRESENTATIONS_FOLDER}/"
            f"{container.representations[0]}/{DATA}",
            hint=f"Nothing is overwritten ({clause}). Are they parts of one representation?",
        )

    def _find(self, number: int, container: GivenIp) -> None:
        """Compare the files of a container with those listed; count those that are left out."""
        for folder, names in container.ip.folders():
            if is_data((*folder, "")):
                self._check_listed(number, container, folder, names)
                continue
            for path in [(*folder, name) for name in names]:
                if is_data(path):
                    self._check_listed(number, container, folder, path[-1:])
                elif not (is_made_anew(path) or (number == 0 and is_kept(path))):
                    self.left_out += 1
                    if len(self.examples) < _EXAMPLES:
                        self.examples += (str(container.folder.joinpath(*path)),)
        if self._tables.are_together:
            self._tables.check_seen(container.ip.name)

    def _check_listed(self, number: int, container: GivenIp, folder: Names, names: Sequence[str]) -> None:
        inner = "".join(f"{each}/" for each in folder[3:])
        if self._tables.are_together:
            self._tables.see(container.ip.name, [inner + each for each in names])
            return
        for start in range(0, len(names), LONGEST):
            asked = [inner + name for name in names[start : start + LONGEST]]
            if (row := self._tables.row(_UNLISTED, number, json.dumps(asked))) is not None:
                path = "/".join((*folder[:3], asked[row[0]]))
                raise SourceError(
                    f"{container.folder} holds {shown(path)}, which its METS do not list",
                    hint="Its bytes cannot be verified: find out what it is, then remove it or list it.",
                )


def _lots(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    """Yield rows of ``_COLUMNS`` together, as many as have ``LONGEST`` files."""
    lot: list[Sequence[Any]] = []
    files = 0
    for row in rows:
        if lot and files + row[1] > LONGEST:
            yield lot
            lot, files = [], 0
        lot.append(row)
        files += row[1]
    if lot:
        yield lot


def _alike(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return what the files of a run have in common, of one of the rows of ``_COLUMNS``."""
    size, folder = row[10], (row[7] or "").rpartition("/")[0]
    return *row[2:7], folder, size is not None and size <= SMALL


_KEEPING_SPLIT = "the split LOBs"


class Wholes(tempdb.Scratch):
    """The split LOBs with their digests as wholes, and their parts, kept on disk; a context manager.

    ``objid`` is the package that has all parts. They come LOB by LOB, in their order.
    """

    def __init__(self, objid: str) -> None:
        super().__init__(
            "CREATE TABLE lob (n INTEGER PRIMARY KEY, id TEXT, size INTEGER, media TEXT, checksum TEXT)",
            "CREATE TABLE part (n INTEGER PRIMARY KEY, lob TEXT, id TEXT)",
            "BEGIN",
        )
        self._objid = objid
        self._lob = ""
        self._media = ""
        self._checksum = ""
        self._hashers = Hashers(())

    def start_file(self, file: DataFile, checksum: str) -> Hashers:
        """Begin the next file; return the hashers of the LOB that it is a part of, for its bytes."""
        if not file.part_of:
            self.end()
            return Hashers(())
        if file.part_of != self._lob:
            self.end()
            self._lob, self._media, self._checksum = file.part_of, file.media_type, checksum
            self._hashers = Hashers((checksum,))
        with tempdb.explained(_KEEPING_SPLIT):
            self._database.execute("INSERT INTO part (lob, id) VALUES (?, ?)", (file.part_of, file.id))
        return self._hashers

    def end(self) -> None:
        """Record the LOB that came last with size and digest: all of its parts were hashed."""
        if self._lob:
            value = self._hashers.digest(self._checksum).value
            with tempdb.explained(_KEEPING_SPLIT):
                self._database.execute(
                    "INSERT INTO lob (id, size, media, checksum) VALUES (?, ?, ?, ?)",
                    (self._lob, self._hashers.size, self._media, value),
                )
        self._lob = ""

    def lobs(self) -> Iterator[SplitLob]:
        """Yield the split LOBs in the order in which their parts came."""
        for identifier, size, media, checksum in self._database.execute(
            "SELECT id, size, media, checksum FROM lob ORDER BY n"
        ):
            yield SplitLob(id=identifier, size=size, media_type=media, checksum=checksum)

    def parts(self) -> Iterator[SplitPart]:
        """Yield their parts in the same order."""
        for lob, identifier in self._database.execute("SELECT lob, id FROM part ORDER BY n"):
            yield SplitPart(lob=lob, id=identifier, child=self._objid)
