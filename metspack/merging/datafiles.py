"""The data files of containers: what METS says of each, and that no two have the same place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metspack import safexml
from metspack.digests import Hashers
from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.mediatypes import DEFAULT
from metspack.merging.ips import REPRESENTATIONS, GivenIp, check_fixity, damaged, facts, said_of_mets
from metspack.mets import CSIP_METS, filetable, reader
from metspack.mets.dialects.interface import SplitLob, SplitPart
from metspack.model import Budgets, Digest, Format
from metspack.packages.formats import PREMIS, SplitFormat, split_formats
from metspack.packages.lobs import StatedFixity
from metspack.packages.metsfiles import digest_of, format_of, located, size_of
from metspack.uris import shown

_DATA = "data"
_KEEPING = "the files of the containers"
_EXAMPLES = 3
_OF_EVERY_IP = frozenset({"schemas", CSIP_METS})
_ABOUT = ("documentation", "about-this-package.txt")
_DUBLIN_CORE = ("metadata", "descriptive", "dublin-core.xml")
_PRESERVATION = ("metadata", "preservation")

_SCHEMA = """
CREATE TABLE file (
    n INTEGER PRIMARY KEY, container INTEGER, path TEXT UNIQUE, id TEXT UNIQUE, part_of TEXT, seq INTEGER,
    size INTEGER, algorithm TEXT, digest TEXT, media TEXT, source TEXT,
    puid TEXT, name TEXT, version TEXT
);
CREATE TABLE document (n INTEGER PRIMARY KEY, path TEXT UNIQUE, size INTEGER, algorithm TEXT, digest TEXT)
"""
_COLUMNS = "container, path, id, part_of, seq, size, algorithm, digest, media, source, puid, name, version"
_PUT = f"INSERT OR IGNORE INTO file ({_COLUMNS}) VALUES ({', '.join('?' * 13)})"  # noqa: S608
# The parts of a LOB one after the other, where its first part is: then the whole can be hashed as they go.
_ORDERED = f"""SELECT {_COLUMNS} FROM (
    SELECT *, CASE part_of WHEN '' THEN n ELSE min(n) OVER (PARTITION BY part_of) END AS turn FROM file
) ORDER BY turn, seq, n"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of the representation's data; ``path`` is relative to that folder.

    ``part_of`` is the LOB that it is a part of, "" for none, ``sequence`` the part's number.
    """

    container: GivenIp
    path: str
    id: str
    media_type: str
    said: StatedFixity
    part_of: str = ""
    sequence: int | None = None
    format: Format | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Its names from the container's folder."""
        return (REPRESENTATIONS, self.container.representations[0], _DATA, *self.path.split("/"))


class DataFiles(tempdb.Scratch):
    """All data files of containers, as their METS list them, kept on disk; a context manager.

    ``containers`` begin with the parent. Raises ``SourceError`` when two files have the same path or ID
    (AIP2), when one has no digest or is listed by nobody, and when a METS is not what another says of it.
    """

    def __init__(self, containers: Sequence[GivenIp], budgets: Budgets) -> None:
        super().__init__(*_SCHEMA.split(";"), "BEGIN")
        self._containers = containers
        self._budgets = budgets
        self.left_out = 0
        self.examples: tuple[str, ...] = ()
        self.unproven: list[str] = []
        self._premis: dict[tuple[str, ...], StatedFixity] = {}
        try:
            with tempdb.explained(_KEEPING):
                for number, container in enumerate(containers):
                    self._take(number, container)
                    self._find(number, container)
        except BaseException:
            self.close()
            raise

    @property
    def representation(self) -> str | None:
        """The representation's name in all containers, None when none has one."""
        return next((each.representations[0] for each in self._containers if each.representations), None)

    def files(self) -> Iterator[DataFile]:
        """Yield the files in the order of containers and of their METS, the parts of a LOB together."""
        rows = self._database.execute(_ORDERED)
        for number, path, identifier, part_of, seq, size, algorithm, value, media, source, *kind in rows:
            yield DataFile(
                container=self._containers[number],
                path=path,
                id=identifier,
                media_type=media,
                said=_said(size, algorithm, value, by=source),
                part_of=part_of,
                sequence=seq,
                format=filetable.format_of(kind),
            )

    def archives(self) -> list[DataFile]:
        """Return the first SIARD archives among the files, two at the most."""
        return [each for each in self.files() if each.path.lower().endswith(".siard")][:2]

    def amounts(self) -> tuple[int, int]:
        """Return how many files there are, and their bytes together."""
        files, size = self._database.execute("SELECT count(*), coalesce(sum(size), 0) FROM file").fetchone()
        return int(files), int(size)

    def documents(self) -> Iterator[tuple[tuple[str, ...], StatedFixity]]:
        """Yield the parent's own documentation and descriptive metadata, as names from its folder."""
        for path, *said in self._database.execute(
            "SELECT path, size, algorithm, digest FROM document ORDER BY path"
        ):
            yield tuple(path.split("/")), _said(*said, by=str(self._containers[0].mets))

    def split_formats(self) -> dict[str, SplitFormat]:
        """Return what the parent's PREMIS says of LOBs that lie in parts: few, for each is a large one."""
        parent = self._containers[0]
        found: dict[str, SplitFormat] = {}
        for names, said in self._premis.items():
            try:
                found |= {each.lob: each for each in split_formats(proven(parent, names, said))}
            except safexml.XmlError as error:
                raise damaged(parent.folder.joinpath(*names), error) from None
        return found

    # --- what METS lists ----------------------------------------------------------------------------------

    def _take(self, number: int, container: GivenIp) -> None:
        """Take what the METS of a container and of its representation list."""
        said = said_of_mets(self._containers[0], container) if number else None
        if number and (said is None or not said.algorithms):
            self.unproven.append(f"{container.mets}: no digest in the METS of the parent proves it")
        listed = self._document(number, (CSIP_METS,), said)
        if not container.representations:
            return
        below = (REPRESENTATIONS, container.representations[0], CSIP_METS)
        if below in listed:
            self._document(number, below, listed[below])

    def _document(
        self, number: int, names: tuple[str, ...], said: StatedFixity | None
    ) -> dict[tuple[str, ...], StatedFixity]:
        """Take the files that one METS lists; returns those that are METS documents."""
        container = self._containers[number]
        hashers = Hashers(said.algorithms if said else ())
        folder = container.ip.name
        documents: dict[tuple[str, ...], StatedFixity] = {}
        mets = container.folder.joinpath(*names)
        for fact in facts(container.ip, names, self._budgets, hashers):
            if not isinstance(fact, reader.File) or not fact.href:
                continue
            path, refused = located((folder, *names[:-1]), fact.href)
            if path is None:
                raise SourceError(f"{mets} line {fact.line}: {refused}", hint="Correct the METS.")
            if path[0] != folder:
                continue
            own = path[1:]
            of_file = StatedFixity(size=size_of(fact), digest=digest_of(fact), by=f"{mets} line {fact.line}")
            if own[-1] == CSIP_METS:
                documents[own] = of_file
            elif own[:1] == (REPRESENTATIONS,) and own[2:3] == (_DATA,):
                self._listed(number, own[3:], fact, of_file)
            elif number == 0 and own[:1] == (REPRESENTATIONS,) and own[2:] == PREMIS:
                self._premis[own] = of_file
            elif number == 0 and _is_kept(own):
                self._database.execute(
                    "INSERT OR IGNORE INTO document (path, size, algorithm, digest) VALUES (?, ?, ?, ?)",
                    ("/".join(own), *_row(of_file)),
                )
        if said is not None:
            check_fixity(str(mets), said, hashers)
        return documents

    def _listed(self, number: int, path: tuple[str, ...], fact: reader.File, said: StatedFixity) -> None:
        container = self._containers[number]
        if not said.algorithms:
            raise SourceError(
                f"{said.by}: {shown('/'.join(path))} has no digest that can be compared",
                hint="Nothing would prove its bytes: have METS written anew with digests, or leave it out.",
            )
        sequence = int(fact.seq) if fact.groupid and fact.seq and fact.seq.isdecimal() else None
        identifier = fact.id or ""
        row = (
            number,
            "/".join(path),
            identifier,
            fact.groupid if sequence is not None else "",
            sequence,
            *_row(said),
            fact.mimetype or DEFAULT,
            said.by,
            *filetable.row_of_format(format_of(fact)),
        )
        if not self._database.execute(_PUT, row).rowcount:
            self._refuse_second(container, "/".join(path), identifier)

    def _refuse_second(self, container: GivenIp, path: str, identifier: str) -> None:
        other = self._database.execute("SELECT container FROM file WHERE path = ?", (path,)).fetchone()
        what, clause = f"the path {shown(path)}", "AIP2: sub-paths are unique across the containers"
        if other is None:
            other = self._database.execute(
                "SELECT container FROM file WHERE id = ?", (identifier,)
            ).fetchone()
            what, clause = f"the ID {identifier!r}", "IDs are unique in the METS of a representation"
        first = self._containers[other[0]]
        raise SourceError(
            f"{first.folder} and {container.folder} both have {what} in {REPRESENTATIONS}/"
            f"{container.representations[0]}/{_DATA}",
            hint=f"Nothing is overwritten ({clause}). Are they parts of one representation?",
        )

    # --- what lies there ----------------------------------------------------------------------------------

    def _find(self, number: int, container: GivenIp) -> None:
        """Compare what lies in a container with what is listed; count what will not be taken over."""
        for path in container.ip.files():
            if path[:1] == (REPRESENTATIONS,) and path[2:3] == (_DATA,):
                self._check_listed(number, container, path)
            elif not (_is_made_anew(path) or (number == 0 and _is_kept(path))):
                self.left_out += 1
                if len(self.examples) < _EXAMPLES:
                    self.examples += (str(container.folder.joinpath(*path)),)

    def _check_listed(self, number: int, container: GivenIp, path: tuple[str, ...]) -> None:
        row = self._database.execute(
            "SELECT 1 FROM file WHERE path = ? AND container = ?", ("/".join(path[3:]), number)
        ).fetchone()
        if row is None:
            raise SourceError(
                f"{container.folder} holds {shown('/'.join(path))}, which its METS do not list",
                hint="Nothing proves its bytes, or that it belongs there: take it away, or find out what it "
                "is.",
            )


def proven(container: GivenIp, names: tuple[str, ...], said: StatedFixity) -> Iterator[bytes]:
    """Yield the bytes of a file; raises ``SourceError`` after the last when they are not what METS says."""
    hashers = Hashers(said.algorithms)
    for block in container.ip.blocks(names):
        hashers.update(block)
        yield block
    check_fixity(str(container.folder.joinpath(*names)), said, hashers)


def _is_kept(path: tuple[str, ...]) -> bool:
    """Return whether a file of the parent is a person's documentation or description, and goes along."""
    if path[:2] == _DUBLIN_CORE[:2]:
        return path != _DUBLIN_CORE
    return path[:1] == _ABOUT[:1] and path != _ABOUT


def _is_made_anew(path: tuple[str, ...]) -> bool:
    own = path[2:] if path[:1] == (REPRESENTATIONS,) else path
    return (
        path[0] in _OF_EVERY_IP
        or own[:2] == _PRESERVATION
        or own[-1] == CSIP_METS
        or (path in {_ABOUT, _DUBLIN_CORE})
    )


def _row(said: StatedFixity) -> tuple[int | None, str | None, str | None]:
    if said.digest is None:
        return said.size, None, None
    return said.size, said.digest.algorithm, said.digest.value


def _said(size: int | None, algorithm: str | None, value: str | None, *, by: str) -> StatedFixity:
    digest = None if algorithm is None else Digest(algorithm=algorithm, value=value or "")
    return StatedFixity(size=size, digest=digest, by=by)


_KEEPING_SPLIT = "the split LOBs"


class Wholes(tempdb.Scratch):
    """The split LOBs with their digests as wholes, and their parts, kept on disk; a context manager.

    ``objid`` is the package that has all parts, ``formats`` what is known of the LOBs. They come LOB by LOB,
    in their order.
    """

    def __init__(self, objid: str, formats: Mapping[str, SplitFormat]) -> None:
        super().__init__(
            "CREATE TABLE lob (n INTEGER PRIMARY KEY, id TEXT, size INTEGER, media TEXT, checksum TEXT)",
            "CREATE TABLE part (n INTEGER PRIMARY KEY, lob TEXT, id TEXT)",
            "BEGIN",
        )
        self._objid = objid
        self._formats = formats
        self._lob = ""
        self._media = ""
        self._checksum = ""
        self._hashers = Hashers(())

    def hashers(self, file: DataFile, checksum: str) -> Hashers:
        """Return what the bytes of the next file are to be given to as well: the whole it is part of."""
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
        """Say that the LOB that came last is whole."""
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
            known = self._formats.get(identifier)
            kind = known.format if known is not None and known.size == str(size) else None
            yield SplitLob(id=identifier, size=size, media_type=media, checksum=checksum, format=kind)

    def parts(self) -> Iterator[SplitPart]:
        """Yield their parts in the same order."""
        for lob, identifier in self._database.execute("SELECT lob, id FROM part ORDER BY n"):
            yield SplitPart(lob=lob, id=identifier, child=self._objid)
