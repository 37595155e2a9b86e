"""List the data files of the IPs to be merged from METS, each with a unique place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import Any

from metspack.building.segments import json_line
from metspack.digests import OCTETS, Hashers
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, writing
from metspack.files.byteranges import FileBelow
from metspack.files.paths import Names
from metspack.layouts.names import SIARD
from metspack.mediatypes import DEFAULT
from metspack.merging.representation import ANOTHER, MergedIp
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER
from metspack.model import LONGEST, SMALL, Columnar, Digest
from metspack.packages.files import FolderTree, Location, open_file
from metspack.packages.index import Index
from metspack.packages.lobs import StatedFixity
from metspack.uris import shown

DATA = "data"
"""The folder of a representation's data."""

_EXAMPLES = 3
_OF_EVERY_IP = frozenset({"schemas", CSIP_METS})
_ABOUT = ("documentation", "about-this-package.txt")
_DUBLIN_CORE = ("metadata", "descriptive", "dublin-core.xml")
_PRESERVATION = ("metadata", "preservation")
# The data files listed in the METS documents: "ip" is the IP's number, "path" is below data.
_DATA_TABLE = "CREATE TABLE data (n INTEGER PRIMARY KEY, entry INTEGER, ip INTEGER, path TEXT, xml_id TEXT)"
_ABOVE, _DATA = f"/{REPRESENTATIONS_FOLDER}/", f"/{DATA}/"


def data_path(folder: str) -> str:
    """Return SQL for an entry's path below data of the IP in ``folder``, or NULL for others."""
    rest = f"substr(path, length({folder}) + {len(_ABOVE) + 1})"  # begins with the representation's name
    return f"""CASE WHEN substr(path, 1, length({folder}) + {len(_ABOVE)}) = {folder} || '{_ABOVE}'
    AND substr({rest} || '/', instr({rest}, '/'), {len(_DATA)}) = '{_DATA}'
    AND substr(path, -{len(CSIP_METS) + 1}) <> '/{CSIP_METS}'
    THEN substr({rest}, instr({rest}, '/') + {len(_DATA)}) END"""


# The entries of one METS are consecutive: a query for each METS reads every entry once in all.
_OF_METS = """mets = ?1 AND id >= (SELECT first_entry FROM mets WHERE id = ?1)
AND id <= (SELECT last_entry FROM mets WHERE id = ?1)"""
_PUT = f"""INSERT INTO data (entry, ip, path, xml_id)
SELECT id, ?3, {data_path("?2")}, coalesce(xml_id, '') FROM entry WHERE {_OF_METS} ORDER BY id"""  # noqa: S608
_REFUSED = f"""SELECT (SELECT path FROM mets WHERE id = ?1), line, refused FROM entry
WHERE {_OF_METS} AND refused IS NOT NULL ORDER BY id LIMIT 1"""  # noqa: S608
_TWICE = "SELECT {0} FROM data GROUP BY {0} HAVING count(*) > 1 LIMIT 1"
_IPS_WITH = "SELECT min(ip), max(ip) FROM data WHERE {0} = ?"
_VIEW = f"""CREATE VIEW data_file AS SELECT n, ip, m.path AS mets, e.algorithm, CASE WHEN e.groupid <> ''
    AND e.seq GLOB '[0-9]*' AND e.seq NOT GLOB '*[^0-9]*' THEN e.groupid ELSE '' END AS part_of,
    d.path AS path, d.xml_id, coalesce(nullif(e.media, ''), '{DEFAULT}'), e.size AS size, e.digest,
    CAST(e.seq AS INTEGER) AS seq, e.line AS line
FROM data d JOIN entry e ON e.id = d.entry JOIN mets m ON m.id = e.mets"""  # noqa: S608
_IN_ORDER = "SELECT * FROM data_file ORDER BY n"
# The parts of a LOB follow its first part: then the whole can be hashed while they are read.
_ORDERED = """SELECT * FROM data_file ORDER BY CASE part_of WHEN '' THEN n
ELSE min(n) OVER (PARTITION BY part_of) END, CASE part_of WHEN '' THEN 0 ELSE seq END, n"""
_PARTS = "SELECT 1 FROM data_file WHERE part_of <> '' LIMIT 1"
_ARCHIVES = f"SELECT * FROM data_file WHERE path LIKE '%{SIARD}' ORDER BY n LIMIT 2"  # noqa: S608
_COMPUTABLE = ", ".join(f"'{each}'" for each in OCTETS)
_WITHOUT_DIGEST = f"""SELECT mets, line, path FROM data_file
WHERE algorithm IS NULL OR algorithm NOT IN ({_COMPUTABLE}) ORDER BY n LIMIT 1"""  # noqa: S608
_UNLISTED = """SELECT g.key FROM json_each(?2) g
WHERE NOT EXISTS (SELECT 1 FROM data d WHERE d.path = g.value AND d.ip = ?1) ORDER BY g.key LIMIT 1"""
# Other files that the parent lists in its folder.
_BESIDE = f"""SELECT path, size, algorithm, digest FROM entry
WHERE mets IN (SELECT value FROM json_each(?1)) AND substr(path, 1, length(?2) + 1) = ?2 || '/'
AND {data_path("?2")} IS NULL ORDER BY path, id"""  # noqa: S608
# Children for whose METS the METS above states no digest.
_UNPROVEN = f"""SELECT id FROM mets WHERE id > 1 AND path NOT IN (
    SELECT path FROM entry WHERE kind = 'file' AND path LIKE '%/{CSIP_METS}'
    AND algorithm IN ({_COMPUTABLE}))"""  # noqa: S608


def proven_blocks(place: Location, what: str, stated: StatedFixity, *takers: Hashers) -> Iterator[bytes]:
    """Yield the bytes of a file and update ``takers``, whose first is compared with ``stated``.

    Raises ``SourceError``, also after the last block when the bytes contradict METS.
    """
    try:
        with open_file(place) as medium:
            for block in medium.chunks():
                for each in takers:
                    each.update(block)
                yield block
    except (OSError, SourceError) as error:
        why = error.message if isinstance(error, MetspackError) else error.strerror or error
        raise SourceError(f"{what} cannot be read: {why}", hint=ANOTHER) from None
    if (difference := stated.difference(takers[0])) is not None:
        found, expected = difference
        raise SourceError(f"{what} has {found}, but {stated.by} says {expected}", hint=ANOTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRun(Columnar):
    """Consecutive files in one folder of an IP's data and one METS, as columns of one length.

    They are at most ``LONGEST``. ``data`` are the names of the data folder below ``root``; ``places`` are
    those of packed files in the file ``root``. ``algorithm`` is that of their digests. METS states at most
    ``SMALL`` bytes for all of them, or more for all.
    """

    root: Path
    data: Names
    mets: str
    algorithm: str
    part_of: str
    paths: Sequence[str]
    ids: Sequence[str]
    media_types: Sequence[str]
    sizes: Sequence[int | None]
    digests: Sequence[str]
    sequences: Sequence[int]
    lines: Sequence[int]
    places: Sequence[Location]

    OF_EACH = ("paths", "ids", "media_types", "sizes", "digests", "sequences", "lines", "places")

    @property
    def are_small(self) -> bool:
        """True if all are whole files of at most ``SMALL`` bytes."""
        return not self.part_of and self.sizes[0] is not None and self.sizes[0] <= SMALL

    def each(self) -> Iterator[DataRun]:
        """Yield the files as runs of one."""
        return (self[number : number + 1] for number in range(len(self)))

    @property
    def place(self) -> Location:
        """The place of the first file's bytes."""
        names = (*self.data, *self.paths[0].split("/"))
        return self.places[0] if self.places else FileBelow(root=self.root, segments=names)

    @property
    def shown(self) -> Path:
        """The path of the first file, for people."""
        return self.root.joinpath(*self.data, *self.paths[0].split("/"))

    @property
    def stated(self) -> StatedFixity:
        """The fixity of the first file in METS."""
        digest = Digest(algorithm=self.algorithm, value=self.digests[0])
        return StatedFixity(size=self.sizes[0], digest=digest, by=f"{self.mets} line {self.lines[0]}")

    def blocks(self, *takers: Hashers) -> Iterator[bytes]:
        """Yield the bytes of the first file as ``proven_blocks`` does."""
        return proven_blocks(self.place, str(self.shown), self.stated, *takers)

    def small_contents(self) -> Iterator[bytes | memoryview | None]:
        """Yield the bytes of each file, or None for one larger than METS states.

        The bytes are valid until the next ones are requested.
        """
        if not self.places:
            folder = (*self.data, *self.paths[0].split("/")[:-1])
            names = [each.rpartition("/")[2] for each in self.paths]
            buffer = memoryview(bytearray(SMALL + 1))
            yield from reading.small_files(self.root, folder, names, repeat(None), buffer)
        for place in self.places:
            try:
                with open_file(place) as medium:
                    yield b"".join(medium.chunks()) if medium.size <= SMALL else None
            except (OSError, SourceError):
                yield None


class DataFiles:
    """All data files of IPs, the parent being the first, as METS in the index list them.

    Raises ``SourceError`` when two files have the same path or ID (AIP2), or when one has no digest or is
    missing from METS. ``unproven`` are METS of children whose digest is missing from the METS above them.
    """

    def __init__(self, index: Index, ips: Sequence[MergedIp]) -> None:
        self.index = index
        self._ips = ips
        self.left_out = 0
        self.examples: tuple[str, ...] = ()
        index.execute(_DATA_TABLE)
        index.execute(_VIEW)
        for number, each in enumerate(ips):
            for mets in () if each.is_list else each.documents:
                if (refused := index.row(_REFUSED, mets)) is not None:
                    path, line, why = refused
                    raise SourceError(f"{path} line {line}: {why}", hint="Correct the METS.")
                index.execute(_PUT, mets, each.folder, number)
        # A condition in the INSERT would evaluate its long expression twice.
        index.execute("DELETE FROM data WHERE path IS NULL")
        self._check_each_once()
        if (bare := index.row(_WITHOUT_DIGEST)) is not None:
            raise SourceError(
                f"{bare[0]} line {bare[1]}: {shown(bare[2])} has no digest that can be compared",
                hint="Without one its bytes cannot be verified: rewrite the METS with digests.",
            )
        for number, each in enumerate(ips):
            if not each.is_list:
                self._compare(number, each)
        unproven = {number for (number,) in index.rows(_UNPROVEN)}
        self.unproven = [each.path / CSIP_METS for each in ips if each.documents[0] in unproven]

    @property
    def representation(self) -> str | None:
        """The representation's name in all IPs, or None without a representation."""
        return next((each.representations[0] for each in self._ips if each.representations), None)

    def runs(self) -> Iterator[DataRun]:
        """Yield the files in the order of IPs and of their METS, the parts of a LOB together."""
        return self._runs(_IN_ORDER if self.index.row(_PARTS) is None else _ORDERED)

    def _runs(self, sql: str) -> Iterator[DataRun]:
        rows = self.index.rows(sql)
        while batch := list(islice(rows, LONGEST)):
            for _, together in groupby(batch, _shared_values):
                files = list(together)
                _, number, mets, algorithm, part_of, *_ = files[0]
                columns = [*zip(*files, strict=True)][5:]
                ip = self._ips[number]
                root = ip.path
                data: Names = (REPRESENTATIONS_FOLDER, self.representation or "", DATA)
                places: list[Location] = []
                if isinstance(ip.tree, FolderTree):
                    root, data = ip.tree.root, (*ip.tree.names, *data)
                else:
                    places = [self.place(ip, (*data, *path.split("/"))) for path in columns[0]]
                yield DataRun(
                    root=root,
                    data=data,
                    mets=mets,
                    algorithm=algorithm,
                    part_of=part_of,
                    **dict(zip(DataRun.OF_EACH, (*columns, places), strict=True)),
                )

    def paths(self) -> Iterator[str]:
        """Yield the paths of the files and of the parent's documents, in no order."""
        yield from (path for (path,) in self.index.rows("SELECT path FROM data_file"))
        yield from ("/".join(names) for names, _ in self.documents())

    def archives(self) -> list[DataRun]:
        """Return the first SIARD archives among the files, two at the most."""
        return [each for run in self._runs(_ARCHIVES) for each in run.each()]

    def amounts(self) -> tuple[int, int]:
        """Return the number of files, and the sum of their bytes."""
        files, size = self.index.row("SELECT count(*), coalesce(sum(size), 0) FROM data_file") or (0, 0)
        return files, size

    def documents(self) -> Iterator[tuple[Names, StatedFixity]]:
        """Yield the parent's documentation and description, as names from its folder."""
        before = None
        parent = self._ips[0]
        by = str(parent.path / CSIP_METS)
        for path, size, algorithm, value in self.index.rows(
            _BESIDE, json.dumps(parent.documents), parent.folder
        ):
            names = tuple(path.removeprefix(f"{parent.folder}/").split("/"))
            if names != before and names[-1] != CSIP_METS and _is_kept(names):
                digest = None if algorithm is None else Digest(algorithm=algorithm, value=value or "")
                yield names, StatedFixity(size=size, digest=digest, by=by)
            before = names

    def place(self, ip: MergedIp, names: Names) -> Location:
        """Return the place of a file's bytes, by its names from its IP's folder."""
        return self.index.files.place((*ip.folder.split("/"), *names))

    def _check_each_once(self) -> None:
        for what, column, clause in (
            ("the path", "path", "AIP2: sub-paths are unique across the containers"),
            ("the ID", "xml_id", "IDs are unique in the METS of a representation"),
        ):
            self.index.execute(f"CREATE INDEX data_{column} ON data ({column}, ip)")
            if (twice := self.index.row(_TWICE.format(column))) is not None:
                both = self.index.row(_IPS_WITH.format(column), *twice) or ()
                one, other = (self._ips[number] for number in both)
                raise SourceError(
                    f"{one.path} and {other.path} both have {what} {shown(*twice)} in "
                    f"{REPRESENTATIONS_FOLDER}/{self.representation}/{DATA}",
                    hint=f"Nothing is overwritten ({clause}). Are they parts of one representation?",
                )

    def _compare(self, number: int, ip: MergedIp) -> None:
        """Compare the files of an IP with those listed; count those that are left out."""
        with closing(ip.files()) as found:
            for folder, names in found:
                if _is_data(folder):
                    self._check_listed(number, folder, names)
                    continue
                for path in ((*folder, name) for name in names):
                    if not (_is_made_anew(path) or (number == 0 and _is_kept(path))):
                        self.left_out += 1
                        if len(self.examples) < _EXAMPLES:
                            self.examples += (str(ip.path.joinpath(*path)),)

    def _check_listed(self, number: int, folder: Names, names: Sequence[str]) -> None:
        stated = json.dumps(["/".join((*folder[3:], name)) for name in names])
        if (row := self.index.row(_UNLISTED, number, stated)) is not None:
            raise SourceError(
                f"{self._ips[number].path} holds {shown('/'.join((*folder, names[row[0]])))}, "
                "which its METS do not list",
                hint="Its bytes cannot be verified: find out what it is, then remove it or list it.",
            )


def _is_data(folder: Names) -> bool:
    """Return whether a folder is in the data of a representation."""
    return folder[:1] == (REPRESENTATIONS_FOLDER,) and folder[2:3] == (DATA,)


def _is_kept(path: Names) -> bool:
    """Return whether a file of the parent is kept: documentation, or a given description."""
    if path[:2] == _DUBLIN_CORE[:2]:
        return path != _DUBLIN_CORE
    return path[:1] == _ABOUT[:1] and path != _ABOUT


def _is_made_anew(path: Names) -> bool:
    """Return whether a file is of a kind that every package has and a merge writes anew."""
    inner = path[2:] if path[:1] == (REPRESENTATIONS_FOLDER,) else path
    return (
        path[0] in _OF_EVERY_IP
        or inner[:2] == _PRESERVATION
        or inner[-1] == CSIP_METS
        or (path in {_ABOUT, _DUBLIN_CORE})
    )


def _shared_values(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values that the files of a run share, from a row of ``data_file``."""
    size, folder = row[8], row[5].rpartition("/")[0]
    return *row[1:5], folder, size is not None and size <= SMALL


class Wholes:
    """Writer of notes on split LOBs: the digests of the wholes, and their parts.

    The parts come LOB by LOB, in their order, and are all in the package ``objid``. ``checksum`` is the
    algorithm of the digests.
    """

    def __init__(self, lobs: writing.NewFile, parts: writing.NewFile, objid: str, checksum: str) -> None:
        self._lobs = lobs
        self._parts = parts
        self._objid = objid
        self._checksum = checksum
        self._lob = self._media = ""
        self._hashers = Hashers(())

    def start_part(self, file: DataRun) -> Hashers:
        """Begin the next part; return the hashers of its LOB, for its bytes."""
        if file.part_of != self._lob:
            self.end()
            self._lob, self._media = file.part_of, file.media_types[0]
            self._hashers = Hashers((self._checksum,))
        self._parts.write(json_line(file.part_of, file.ids[0], self._objid))
        return self._hashers

    def end(self) -> None:
        """Write the note on the last LOB, with size and digest, after its last part."""
        if self._lob:
            digest = self._hashers.digest(self._checksum).value
            self._lobs.write(json_line(self._lob, self._hashers.size, self._media, digest))
