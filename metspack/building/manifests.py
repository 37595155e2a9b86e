"""Manifests of a package, SIARD 2.2's mapping.txt and manifest.txt, and lists of checksums to be trusted."""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from metspack.building import placing
from metspack.digests import (
    MANIFEST_ALGORITHMS,
    MANIFESTS,
    OCTETS,
    Hashers,
    Seal,
    algorithm_name,
    is_manifest,
)
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.files import reading, tempdb, writing
from metspack.files.reading import StrPath, as_path
from metspack.layouts import Layout, siard22
from metspack.locations import mappingtxt
from metspack.mets import dialects, filetable
from metspack.mets import reader as mets_reader
from metspack.mets.dialects.interface import SegmentSpot
from metspack.mets.filetable import PlacedFile
from metspack.model import KnownDigests, LobRef, LobRun
from metspack.packages.metsfiles import located
from metspack.planning import slices
from metspack.planning.assignment import Course
from metspack.sizes import counted
from metspack.sources.lobstream import what
from metspack.uris import shown
from metspack.values import dataclass, regex

NAMES = {algorithm: MANIFESTS[algorithm] for algorithm in MANIFEST_ALGORITHMS}
"""The manifests that are written, by their algorithms."""


def write(
    package: Path, work: Path, segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers], top: str
) -> Seal:
    """Write both manifests from the segments' fragments in ``work`` and the files beside the segments.

    ``segments`` are what all their paths begin with, a folder and its slash or a packed segment's path, and
    their numbers, in any order; no folder lies in another. ``top`` is the parent's METS, or the file that it
    is packed in. Returns the package's seal. Raises ``TargetError``.
    """
    with closing(_Entries(segments, files)) as entries:
        written = [
            _write_manifest(package / manifest, _content(entries, work, algorithm))
            for algorithm, manifest in NAMES.items()
        ]
    return _seal(package, written, files, top)


def size(package: Path) -> int:
    """Return the bytes of both manifests, which were just written."""
    return sum((package / name).stat().st_size for name in NAMES.values())


def _write_manifest(path: Path, blocks: Iterable[bytes]) -> tuple[str, str]:
    """Write a manifest; returns its name and its SHA-256."""
    return path.name, _write_file(path, blocks, ("SHA-256",)).digest("SHA-256").value


def _seal(package: Path, written: list[tuple[str, str]], files: Mapping[str, Hashers], top: str) -> Seal:
    if top in files:
        return Seal.of([*written, (top, files[top].digest("SHA-256").value)])
    with reading.opening(package, top.split("/")) as descriptor:
        hashers = Hashers(("SHA-256",)).take(reading.chunks(descriptor))
    return Seal.of([*written, (top, hashers.digest("SHA-256").value)])


class _Entries(tempdb.Scratch):
    """Segments and files in the order of their paths, which they are yielded in as often as asked."""

    __slots__ = ("_files",)

    def __init__(self, segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers]) -> None:
        super().__init__(
            "CREATE TABLE segment (path BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID", "BEGIN"
        )
        self._files = sorted(((path.encode(), each) for path, each in files.items()), key=itemgetter(0))
        rows = ((path.encode(), number) for path, number in segments)
        with tempdb.explained("the order of the manifests"):
            self._database.executemany("INSERT INTO segment VALUES (?, ?)", rows)

    def __iter__(self) -> Iterator[tuple[bytes, Hashers | int]]:
        rows = tempdb.rows(self._database, "SELECT path, number FROM segment ORDER BY path")
        return heapq.merge(self._files, rows, key=itemgetter(0))


def _content(entries: Iterable[tuple[bytes, Hashers | int]], work: Path, algorithm: str) -> Iterator[bytes]:
    """Yield a manifest in blocks."""
    for path, hashers in entries:
        if not isinstance(hashers, int):
            yield placing.manifest_line(hashers.digest(algorithm).value, path.decode())
            continue
        with reading.buffered(placing.fragment(work, hashers, algorithm)) as fragment:
            yield from iter(partial(fragment.read, reading.CHUNK), b"")


MANIFEST = "manifest.txt"
"""The file with the digest of each LOB file (SIARD 2.2 S_8.1.3-0)."""

_URI = regex(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")


def check(layout: Layout, dialect: str, mapping: str | None, *, manifest: bool, is_packed: bool) -> None:
    """Raise ``ConfigError`` when layout or dialect has no such files, or ``mapping`` is not a URI."""
    if (why := dialects.facts(dialect).no_sidecars) and (mapping is not None or manifest):
        raise ConfigError(
            f"the dialect {dialect} has no {mappingtxt.NAME} and no {MANIFEST}",
            hint=f"{why}: leave --write-mapping and --write-manifest out.",
        )
    if manifest and is_packed:
        raise ConfigError(
            f"{MANIFEST} lists the files of LOBs, which are packed",
            hint="Leave --write-manifest or --pack out: every packed IP has METS with the digests.",
        )
    if (mapping is not None or manifest) and layout is not siard22.LAYOUT:
        raise ConfigError(
            f"{mappingtxt.NAME} and {MANIFEST} are files of SIARD 2.2's layout, not of {layout.name}",
            hint="Say --layout siard22, or leave --write-mapping and --write-manifest out.",
        )
    if mapping is not None and not _URI.fullmatch(mapping):
        raise ConfigError(
            f"{mapping!r} is not a URI that segment folders can lie under",
            hint="As in SIARD 2.2 S_8.1.2-0: file:///srv/store/; spaces and the like are written as %20.",
        )


def write_sidecars(
    package: Path,
    work: Path,
    segments: Callable[[], Iterable[SegmentSpot]],
    *,
    mets: str,
    mapping: str | None,
    manifest: bool,
    checksum: str,
) -> dict[str, Hashers]:
    """Write the files that are asked for; returns the digests of each by its name.

    ``segments`` gives them in the package's order; ``mets`` is the name of their METS, not a LOB. ``mapping``
    is the URI that all segment folders are kept under. The digests of the manifest are MD5 or, where METS
    has them, SHA-256.
    """
    algorithms = filetable.algorithms(checksum)
    files: dict[str, Hashers] = {}
    if mapping is not None:
        target = mapping if mapping.endswith("/") else f"{mapping}/"
        lines = (f"{spot.content}/ {target}\n".encode() for spot in segments())
        files[mappingtxt.NAME] = _write_file(package / mappingtxt.NAME, lines, algorithms)
    if manifest:
        algorithm = "SHA-256" if checksum == "SHA-256" else "MD5"
        lines = (line for spot in segments() for line in _lob_lines(work, spot, mets, algorithm))
        files[MANIFEST] = _write_file(package / MANIFEST, lines, algorithms)
    return files


def placed(name: str, hashers: Hashers, checksum: str) -> PlacedFile:
    """Return such a file as the parent's METS lists it."""
    return filetable.placed_file(f"ID_{name}", name, "text/plain", hashers, checksum)


def _lob_lines(work: Path, spot: SegmentSpot, mets: str, algorithm: str) -> Iterator[bytes]:
    """Yield the lines of a segment's LOB files: digest, a space, ``*`` for binary, path beside the .siard."""
    fragment = placing.fragment(work, spot.number, algorithm)
    with reading.text(fragment) as lines:
        for line in lines:
            digest, _, path = line.rstrip("\n").partition("  ")
            if path.startswith(f"{spot.content}/") and path != f"{spot.ip}/{mets}":
                yield f"{digest} *{path}\n".encode()


def _write_file(path: Path, blocks: Iterable[bytes], algorithms: Sequence[str]) -> Hashers:
    """Write a file of these bytes; returns its digests."""
    hashers = Hashers(algorithms)
    with writing.NewFile(path) as file:
        for block in hashers.passing(blocks):
            file.write(block)
    return hashers


# --- Lists of checksums that are trusted (``--trust-checksums``) ---

CELLS = "siard"
"""The word for the digests in the cells of the archive, in place of the path of a list."""

_ALGORITHMS = {2 * OCTETS[name]: name for name in MANIFESTS}
_LINE = regex(rb"(?P<mark>\\?)(?P<value>[0-9A-Fa-f]+)(?: [ *]|[ \t]+)(?P<path>[^\r\n]+)\r?\n?")
_TAGGED = regex(  # as md5sum --tag and BSD write it
    rb"(?P<mark>\\?)(?P<algorithm>[A-Za-z0-9-]+) ?\((?P<path>[^\r\n]+)\) ?= (?P<value>[0-9A-Fa-f]+)\r?\n?"
)
_PLAIN_LINES = {
    name: regex(rb"^([0-9a-f]{%d})  ([^/\n][^\n]*)\n" % digits, re.MULTILINE)
    for digits, name in _ALGORITHMS.items()
}
_NOT_PLAIN = (b"\r", b"\\", b"%", b"//", b"/.", b"/\n", b"  .")
_ESCAPES = {rb"\\": b"\\", rb"\n": b"\n", rb"\r": b"\r"}
_BAGS_ESCAPES = {b"%0A": b"\n", b"%0D": b"\r", b"%25": b"%"}  # RFC 8493, 2.1.3
_LONGEST = 1 << 16
SPOT_CHECK = "1%"
"""The share of LOBs with trusted checksums that is compared when none is given."""

_SHARE = regex(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%")


def share(text: str) -> Fraction:
    """Return the share that ``1%`` or ``0.5%`` means; raises ``ConfigError``."""
    found = _SHARE.fullmatch(text.strip())
    if found is None or Fraction(found[1]) > 100:  # noqa: PLR2004 -- per cent
        raise ConfigError(
            f"--spot-check {text!r} is not a percentage",
            hint="Write one up to 100%: 1% or 0.5%; 0% for none.",
        )
    return Fraction(found[1]) / 100


def trusted_sources(sources: Sequence[StrPath], spot_check: str | None, *, has_cells: bool) -> str:
    """Return whose checksums are trusted, as PREMIS says it; "" for nobody's.

    ``has_cells``: there is an archive. Raises ``ConfigError`` for a source that is not there.
    """
    if not sources:
        if spot_check is not None:
            raise ConfigError(
                "--spot-check requires --trust-checksums",
                hint="Without it every checksum is computed anyway.",
            )
        return ""
    if CELLS in sources and not has_cells:
        raise ConfigError(
            f"--trust-checksums {CELLS} requires a SIARD archive, and the source is not one",
            hint="Name a list of checksums instead.",
        )
    for each in sources:
        if each != CELLS and not Path(each).is_file():
            raise ConfigError(
                f"--trust-checksums {each} is not a file",
                hint=f"Name a list of checksums, or {CELLS} for the digests in the cells of the archive.",
            )
    text = (spot_check or SPOT_CHECK).strip()
    share(text)
    names = ", ".join("the cells of the archive" if each == CELLS else Path(each).name for each in sources)
    return f"{names}; of the LOBs that have one there {text} were read and compared"


class ChecksumLists(tempdb.Scratch):
    """Checksums that lists have of files, by the files' absolute paths; a context manager.

    A list is what md5sum, sha256sum and the like write, a BagIt manifest, or a METS; its paths begin in its
    own folder. Raises ``ConfigError`` for one that cannot be read, for a line that is not a checksum and a
    path, and for two checksums of a file by one algorithm.
    """

    __slots__ = ()

    def __init__(self, lists: Iterable[Path]) -> None:
        super().__init__("CREATE TABLE unsorted (path BLOB, algorithm TEXT, value TEXT)", "BEGIN")
        try:
            for each in lists:
                self._read(each)
            self._sort()
        except BaseException:
            self.close()
            raise

    def _read(self, path: Path) -> None:
        base = os.fsencode(path.parent.resolve())
        try:
            with reading.buffered(path) as file:
                is_mets = file.read(_LONGEST).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
                file.seek(0)
                if is_mets:
                    self._put(base, _of_mets(iter(lambda: file.read(reading.BLOCK), b"")))
                else:
                    self._read_lines(path, base, file)
        except (OSError, MetspackError) as error:
            if isinstance(error, ConfigError):
                raise
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(
                f"the checksums of {path} cannot be read: {reason}",
                hint="Name a list as md5sum or sha256sum writes it, a BagIt manifest, a METS, or siard.",
            ) from error

    def _read_lines(self, path: Path, base: bytes, file: BinaryIO) -> None:
        number = 1
        while block := file.read(_LONGEST):
            block += file.readline(_LONGEST)
            plain = _plain_lines(block)
            if plain is None:
                lines = block.splitlines(keepends=True)
                self._put(base, _of_lines(path, enumerate(lines, number)))
                number += len(lines)
                continue
            algorithm, found = plain
            number += len(found)
            start = os.path.join(base, b"")
            self._database.executemany(
                "INSERT INTO unsorted VALUES (?, ?, CAST(? AS TEXT))",
                ((start + name, algorithm, value) for value, name in found),
            )

    def _put(self, base: bytes, rows: Iterable[tuple[bytes, str, str]]) -> None:
        self._database.executemany(
            "INSERT INTO unsorted VALUES (?, ?, ?)",
            ((os.path.normpath(os.path.join(base, name)), *digest) for name, *digest in rows),
        )

    def _sort(self) -> None:
        do = self._database.execute
        columns = "path BLOB, algorithm TEXT, value TEXT, PRIMARY KEY (path, algorithm)"
        do(f"CREATE TABLE listed ({columns}) WITHOUT ROWID")
        kept = do("INSERT OR IGNORE INTO listed SELECT * FROM unsorted ORDER BY path, algorithm").rowcount
        (read,) = do("SELECT count(*) FROM unsorted").fetchone()
        two = "SELECT path, algorithm FROM unsorted GROUP BY 1, 2 HAVING count(DISTINCT value) > 1 LIMIT 1"
        for path, algorithm in do(two) if kept < read else ():
            raise ConfigError(
                f"the lists have two {algorithm} checksums of {shown(os.fsdecode(path))}",
                hint="Find out which is right: neither can be trusted.",
            )
        do("DROP TABLE unsorted")
        do("CREATE TABLE used (path BLOB)")
        do("CREATE TABLE asked (number INTEGER PRIMARY KEY, path BLOB)")

    def of(self, paths: Sequence[bytes]) -> list[tuple[int, str, str]]:
        """Return the checksums of files that the source has: number of the file from 0, algorithm, value."""
        database = self._database
        database.execute("DELETE FROM asked")
        database.executemany("INSERT INTO asked VALUES (?, ?)", enumerate(paths))
        database.execute("INSERT INTO used SELECT path FROM asked")
        return database.execute(
            "SELECT number, algorithm, value FROM asked CROSS JOIN listed USING (path)"
        ).fetchall()

    def unused(self) -> tuple[int, str]:
        """Return how many files of the lists were not asked for, and the first of them."""
        sql = "SELECT count(*), min(path) FROM (SELECT path FROM listed EXCEPT SELECT path FROM used)"
        number, first = self._database.execute(sql).fetchone()
        return number, os.fsdecode(first or b"")


def _plain_lines(block: bytes) -> tuple[str, list[tuple[bytes, bytes]]] | None:
    """Return the algorithm and the value and path of each line; None unless all are as md5sum writes most."""
    algorithm = _ALGORITHMS.get(block.find(b" "))
    if algorithm is None or any(each in block for each in _NOT_PLAIN):
        return None
    found: list[tuple[bytes, bytes]] = _PLAIN_LINES[algorithm].findall(block)
    return (algorithm, found) if len(found) == block.count(b"\n") and block.endswith(b"\n") else None


def _of_lines(path: Path, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[bytes, str, str]]:
    """Yield path, algorithm and checksum of each line of a list; lines come with their numbers."""
    is_bags = is_manifest(path.name) and (path.parent / "bagit.txt").exists()
    for number, line in lines:
        if not line.strip():
            continue
        found = _TAGGED.fullmatch(line) or _LINE.fullmatch(line)
        algorithm = found and _ALGORITHMS.get(len(found["value"]))
        named = found and found.groupdict().get("algorithm")
        if not found or not algorithm or (named and algorithm_name(named.decode("ascii")) != algorithm):
            beginning = shown(os.fsdecode(line[:80].rstrip()))
            raise ConfigError(
                f"{path} line {number:,} is not a checksum and a path: {beginning}",
                hint="A list is what md5sum, sha256sum and the like write, a BagIt manifest, or a METS.",
            )
        name = found["path"]
        if found["mark"]:  # names with line ends or backslashes, as md5sum writes them
            name = re.sub(rb"\\[\\nr]", lambda escape: _ESCAPES[escape[0]], name)
        elif is_bags:
            name = re.sub(rb"%(?:0[AaDd]|25)", lambda escape: _BAGS_ESCAPES[escape[0].upper()], name)
        yield name, algorithm, found["value"].decode("ascii").lower()


def _of_mets(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, str, str]]:
    """Yield path, algorithm and checksum of each file that a METS lists with all of them."""
    for fact in mets_reader.read(blocks):
        if not isinstance(fact, mets_reader.File) or fact.element != "file" or not fact.href:
            continue
        names, _refused = located((), fact.href.strip())
        algorithm, value = algorithm_name(fact.checksum_type or ""), (fact.checksum or "").strip().lower()
        if names is not None and algorithm in MANIFESTS and len(value) == 2 * OCTETS[algorithm]:
            yield os.fsencode("/".join(names)), algorithm, value


@dataclass(slots=True, kw_only=True)
class TrustedTotals:
    """Numbers of checksums that were ``taken`` and ``computed``, and of LOBs ``compared`` or ``without`` any.

    ``first`` is the first LOB without one.
    """

    taken: int = 0
    computed: int = 0
    compared: int = 0
    without: int = 0
    first: str = ""

    def note(self, lob: LobRef, known: int, needed: int) -> None:
        """Count a LOB of which so many of the checksums that are needed are known."""
        self.taken += known
        self.computed += needed - known
        if not known:
            self.without += 1
            self.first = self.first or lob.place.id

    def numbers(self) -> dict[str, int]:
        """Return the numbers by their names."""
        return {name: getattr(self, name) for name in ("taken", "computed", "compared", "without")}

    def words(self, sources: Sequence[StrPath], lists: ChecksumLists) -> Iterator[str]:
        """Yield sentences on what was trusted, and on what the lists lack or have besides."""
        yield (
            f"{counted(self.taken, 'checksum')} of LOBs taken from {', '.join(map(str, sources))}, "
            f"{self.computed:,} computed; {counted(self.compared, 'LOB')} read and compared with what was "
            "taken"
        )
        if self.without:
            first = f"the first {self.first}: computed"
            yield f"{counted(self.without, 'LOB')} without a checksum to be trusted, {first}"
        number, name = lists.unused()
        if number:
            yield (
                f"{counted(number, 'file')} in the lists that {'is' if number == 1 else 'are'} no LOB of the "
                f"source, the first {shown(name)}"
            )


class _SpotCheck:
    """Choice of the LOBs that are read and compared: one of each stretch of them, drawn by a seed."""

    def __init__(self, lobs: int, part: Fraction, seed: str) -> None:
        self._lobs, self._seed = lobs, seed
        self._count = -(-lobs * part.numerator // part.denominator)
        self._at = self._due = 0
        self._stretch = self._pick = -1

    def takes(self, *, is_trusted: bool) -> bool:
        """Return whether the next LOB is chosen; one that is not trusted leaves it to the next."""
        number = self._at
        self._at += 1
        if not self._count:
            return False
        stretch = ((number + 1) * self._count - 1) // self._lobs
        if stretch != self._stretch:
            self._stretch = stretch
            first, after = (each * self._lobs // self._count for each in (stretch, stretch + 1))
            drawn = hashlib.sha256(f"{self._seed} {stretch}".encode()).digest()
            self._pick = first + int.from_bytes(drawn[:8], "big") % (after - first)
        self._due += number == self._pick
        if not is_trusted or not self._due:
            return False
        self._due -= 1
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What is trusted: ``lists``, and with ``cells`` the digests in cells.

    A ``share`` of the LOBs is compared; ``algorithms`` are those that each needs, ``roots`` the granted ones.
    """

    lists: ChecksumLists
    cells: bool
    share: Fraction
    algorithms: tuple[str, ...]
    roots: tuple[bytes, ...]

    def write(self, work: Path, course: Course) -> TrustedTotals:
        """Write the known digests of each segment's LOBs beside its slice, in the same order.

        Raises ``SourceError`` when a list contradicts a cell, ``TargetError``.
        """
        totals = TrustedTotals()
        spot = _SpotCheck(course.lobs, self.share, course.fingerprint)
        for number in range(course.segments):
            with writing.NewFile(known_path(work, number)) as file:
                for each in slices.runs(slices.path(work, number)):
                    known = self._known(each, totals, spot)
                    fields = (known.values, sorted(known.compared))
                    file.write(json.dumps(fields, separators=(",", ":")).encode() + b"\n")
        return totals

    def _known(self, each: LobRun | slices.Entry, totals: TrustedTotals, spot: _SpotCheck) -> KnownDigests:
        if isinstance(each, LobRun):
            shared = each.shared
            stated, values = shared.digest, each.digests
            files = (
                [] if shared.folders is None else self._files(shared.holding, shared.folders, each.extents[0])
            )
            return self._taken(each.lob, len(each), (stated, values), files, totals=totals, spot=spot)
        lob, part = each
        if part is not None or len(lob.extents) > 1:
            # Parts have no checksums in lists, and a cell may have that of the last part alone.
            if part is None or part.number == 0:
                spot.takes(is_trusted=False)
                totals.note(lob, 0, len(self.algorithms))
            return placing.NOTHING_KNOWN
        digest, file = lob.cell.digest, placing.whole_file(lob)
        files = [] if file is None else self._files(file.root, file.path[:-1], file.path[-1:])
        said = (None, ()) if digest is None else (digest.algorithm, (digest.value,))
        return self._taken(lambda _number: lob, 1, said, files, totals=totals, spot=spot)

    def _files(self, root: int, folders: Sequence[str], names: Iterable[str]) -> list[bytes]:
        folder = os.path.join(self.roots[root], *map(os.fsencode, folders))
        return [os.path.join(folder, os.fsencode(name)) for name in names]

    def _taken(
        self,
        lob: Callable[[int], LobRef],
        number: int,
        said: tuple[str | None, Sequence[str]],
        files: Sequence[bytes],
        *,
        totals: TrustedTotals,
        spot: _SpotCheck,
    ) -> KnownDigests:
        """Return what is known of so many LOBs; ``said`` are algorithm and digests of their cells."""
        stated, values = said
        columns: dict[str, list[str | None]] = {name: [None] * number for name in self.algorithms}
        if stated is not None:
            columns[stated] = list(values) if self.cells else [None] * number
        for at, name, value in self.lists.of(files) if files else ():
            if name == stated and values[at] != value:
                raise SourceError(
                    f"{what(lob(at))} has the {name} {values[at]} in its cell, but {value} in the list",
                    hint="Leave the list out: then the LOB itself shows which is right.",
                )
            if name in columns:
                columns[name][at] = value
        compared = []
        for at, row in enumerate(zip(*columns.values(), strict=True)):
            known = len(row) - row.count(None)
            if known == len(row):
                totals.taken += known
            else:
                totals.note(lob(at), known, len(row))
            if spot.takes(is_trusted=known > 0):
                compared.append(at)
        totals.compared += len(compared)
        values_known = {name: column for name, column in columns.items() if any(column)}
        return KnownDigests(values=values_known, compared=frozenset(compared))


def known_path(work: Path, number: int) -> Path:
    """Return the path of the known digests of a segment's LOBs."""
    return work / f"known-{number}.jsonl"


def known(work: Path, number: int) -> Iterator[KnownDigests]:
    """Yield what is known of the LOBs of each run of a segment's slice, and of each that goes by itself."""
    with reading.text(known_path(work, number)) as lines:
        for line in lines:
            values, compared = json.loads(line)
            yield KnownDigests(values=values, compared=frozenset(compared))


def write_known(
    sources: Sequence[StrPath],
    spot_check: str | None,
    *,
    algorithms: Iterable[str],
    roots: Iterable[Path],
    planned: tuple[Path, Course],
) -> tuple[TrustedTotals, list[str]]:
    """Write the digests that ``sources`` know of the LOBs beside the slices; returns totals, and warnings.

    ``algorithms`` are those that each LOB needs, ``roots`` the granted folders; ``planned`` is where the
    slices of a plan lie, and the plan. Raises ``ConfigError``,
    ``SourceError`` and ``TargetError``.
    """
    with ChecksumLists([as_path(each) for each in sources if each != CELLS]) as lists:
        trust = Trust(
            lists=lists,
            cells=CELLS in sources,
            share=share(spot_check or SPOT_CHECK),
            algorithms=tuple(dict.fromkeys((*MANIFEST_ALGORITHMS, *algorithms))),
            roots=tuple(os.fsencode(each.resolve()) for each in roots),
        )
        totals = trust.write(*planned)
        return totals, list(totals.words(sources, lists))
