"""List the data files of the IPs to be merged from METS, each with a unique place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, repeat
from pathlib import Path

from metspack.building.segments import json_line
from metspack.digests import OCTETS, Hashers
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, writing
from metspack.files.byteranges import FileBelow
from metspack.files.paths import Names
from metspack.layouts.names import SIARD
from metspack.merging.dataindex import DATA, DataIndex
from metspack.merging.representation import ANOTHER, MergedIp
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER
from metspack.model import SMALL, Columnar, Digest
from metspack.packages.files import FolderTree, Location, open_file
from metspack.packages.lobs import StatedFixity
from metspack.uris import shown

_EXAMPLES = 3
_OF_EVERY_IP = frozenset({"schemas", CSIP_METS})
_ABOUT = ("documentation", "about-this-package.txt")
_DUBLIN_CORE = ("metadata", "descriptive", "dublin-core.xml")
_PRESERVATION = ("metadata", "preservation")
# The METS documents that list data, with the number of their IP.
_DOCUMENTS = "CREATE TABLE document (mets INTEGER PRIMARY KEY, ip INTEGER)"
_LEAVE_OUT = "DELETE FROM {} WHERE mets NOT IN (SELECT mets FROM document)"
_REFUSED = """SELECT m.path, e.line, e.refused FROM document d JOIN mets m ON m.id = d.mets
JOIN entry e ON e.mets = m.id WHERE e.refused IS NOT NULL ORDER BY d.ip, e.id LIMIT 1"""
# The parts of a LOB follow its first part: then the whole can be hashed while they are read.
_IN_ORDER = """SELECT id FROM (
    SELECT id, part_of, sequence, (ip << 40) + id AS place FROM run JOIN document USING (mets)
) ORDER BY CASE part_of WHEN '' THEN place ELSE min(place) OVER (PARTITION BY part_of) END, sequence, place"""
_OF_RUNS = "FROM run r JOIN document d ON d.mets = r.mets JOIN mets m ON m.id = r.mets"
_RUN = f"SELECT d.ip, m.path, r.algorithm, r.part_of, r.columns {_OF_RUNS} WHERE r.id = ?"
_TWICE = "SELECT {0} FROM data GROUP BY {0} HAVING count(*) > 1 LIMIT 1"
_OF_DATA = "FROM data JOIN document USING (mets)"
_IPS_WITH = f"SELECT min(ip), max(ip) {_OF_DATA} WHERE {{0}} = ?"
_ARCHIVES = f"SELECT run, path {_OF_DATA} WHERE path LIKE '%{SIARD}' ORDER BY ip, data.rowid LIMIT 2"
_UNLISTED = f"""SELECT g.key FROM json_each(?2) g
WHERE NOT EXISTS (SELECT 1 {_OF_DATA} WHERE path = g.value AND ip = ?1) ORDER BY g.key LIMIT 1"""  # noqa: S608
_COMPUTABLE = ", ".join(f"'{each}'" for each in OCTETS)
_WITHOUT_DIGEST = f"""SELECT m.path, r.columns {_OF_RUNS}
WHERE r.algorithm IS NULL OR r.algorithm NOT IN ({_COMPUTABLE}) ORDER BY d.ip, r.id LIMIT 1"""
# Other files that the parent lists in its folder.
_BESIDE = """SELECT path, size, algorithm, digest FROM entry
WHERE mets IN (SELECT value FROM json_each(?1)) AND substr(path, 1, length(?2) + 1) = ?2 || '/'
ORDER BY path, id"""
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
    """Consecutive files of an IP's data and one METS, as columns of one length.

    They are at most ``LONGEST``. ``data`` are the names of the data folder below ``root``; ``places`` are
    those of packed files in the file ``root``. ``algorithm`` is that of their digests.
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
        """Yield the bytes of each file, or None for one larger than METS states or than ``SMALL``.

        The bytes are valid until the next ones are requested.
        """
        buffer = memoryview(bytearray(SMALL + 1))
        files = [] if self.places else zip(self.paths, self.sizes, strict=True)
        for (folder, is_small), together in groupby(files, _folder_and_kind):
            names = [path.rpartition("/")[2] for path, _ in together]
            if is_small:
                folders = (*self.data, *filter(None, folder.split("/")))
                yield from reading.small_files(self.root, folders, names, repeat(None), buffer)
            else:
                yield from repeat(None, len(names))
        for place in self.places:
            try:
                with open_file(place) as medium:
                    yield b"".join(medium.chunks()) if medium.size <= SMALL else None
            except (OSError, SourceError):
                yield None


def _folder_and_kind(file: tuple[str, int | None]) -> tuple[str, bool]:
    """Return the folder of a file by path and size, and whether it is small."""
    path, size = file
    return path.rpartition("/")[0], size is not None and size <= SMALL


class DataFiles:
    """All data files of IPs, the parent being the first, as METS in the index list them.

    Raises ``SourceError`` when two files have the same path or ID (AIP2), or when one has no digest or is
    missing from METS. ``unproven`` are METS of children whose digest is missing from the METS above them.
    """

    def __init__(self, index: DataIndex, ips: Sequence[MergedIp]) -> None:
        self.index = index
        self._ips = ips
        self.left_out = 0
        self.examples: tuple[str, ...] = ()
        index.execute(_DOCUMENTS)
        for number, each in enumerate(ips):
            for mets in () if each.is_list else each.documents:
                index.execute("INSERT INTO document VALUES (?, ?)", mets, number)
        if (refused := index.row(_REFUSED)) is not None:
            path, line, why = refused
            raise SourceError(f"{path} line {line}: {why}", hint="Correct the METS.")
        for table in ("run", "data"):
            index.execute(_LEAVE_OUT.format(table))
        self._check_each_once()
        if (bare := index.row(_WITHOUT_DIGEST)) is not None:
            (path, *_), *_, (line, *_) = json.loads(bare[1])
            raise SourceError(
                f"{bare[0]} line {line}: {shown(path)} has no digest that can be compared",
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
        return (self._run(number) for (number,) in self.index.rows(_IN_ORDER))

    def _run(self, number: int) -> DataRun:
        """Return files that the index holds together."""
        ((ip_number, mets, algorithm, part_of, columns),) = self.index.all(_RUN, number)
        ip, files = self._ips[ip_number], json.loads(columns)
        root = ip.path
        data: Names = (REPRESENTATIONS_FOLDER, self.representation or "", DATA)
        places: list[Location] = []
        if isinstance(ip.tree, FolderTree):
            root, data = ip.tree.root, (*ip.tree.names, *data)
        else:
            places = [self.place(ip, (*data, *path.split("/"))) for path in files[0]]
        return DataRun(
            root=root,
            data=data,
            mets=mets,
            algorithm=algorithm,
            part_of=part_of,
            **dict(zip(DataRun.OF_EACH, (*files, places), strict=True)),
        )

    def paths(self) -> Iterator[str]:
        """Yield the paths of the files and of the parent's documents, in no order."""
        yield from (path for (path,) in self.index.rows("SELECT path FROM data"))
        yield from ("/".join(names) for names, _ in self.documents())

    def archives(self) -> list[DataRun]:
        """Return the first SIARD archives among the files, two at the most."""
        found = ((path, self._run(number)) for number, path in self.index.all(_ARCHIVES))
        return [run[(at := run.paths.index(path)) : at + 1] for path, run in found]

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
            self.index.execute(f"CREATE INDEX data_{column} ON data ({column})")
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
                if folder[:1] == (REPRESENTATIONS_FOLDER,) and folder[2:3] == (DATA,):
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
