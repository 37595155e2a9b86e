"""Check of the manifests at a package's root: their form, and their agreement with METS.

The manifest.txt beside an archive, with the digests of the LOBs outside it (SIARD 2.2, S_8.1.3-0), is read
into the catalogue beside them and compared as they are.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import accumulate, chain
from operator import eq, lt

from metspack.checking import grouping
from metspack.checking.archives import forms
from metspack.checking.catalogue import (
    APART,
    DEEPEST,
    IN_OUTERMOST,
    OF_BAG,
    Batch,
    Catalogue,
    Row,
    fault,
    folder_of,
    shown,
)
from metspack.checking.codes import Code
from metspack.checking.files.listed import source_of
from metspack.checking.mets.documents import of_opening
from metspack.checking.opening import CheckedTree
from metspack.checking.segments import ManifestStretch, Unsettled
from metspack.containers.ipreader import Content, cut, stretches
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, OCTETS, Hashers, Seal, algorithm_name
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.files.byteranges import Below
from metspack.files.tempdb import BulkInsert
from metspack.mets import METS_NAMES, is_mets_name
from metspack.model import Digest, Finding
from metspack.packages.files import FolderTree, PackedTree, path_of
from metspack.sizes import counted
from metspack.values import regex

_LINE = regex(rb"(\\?)([0-9A-Fa-f]++)( [ *])(.+)", re.DOTALL)
_TAGGED = regex(rb"(\\?)([A-Za-z0-9-]++) ?\((.+)\) ?= ([0-9A-Fa-f]+)", re.DOTALL)  # BSD; md5sum --tag
# No line with one of these in it is certain to be plain; each other path is valid as it stands.
_NOT_PLAIN = (b"\r", b"\0", b"//", b"/.", b"/\n", b"  /", b"  .")
_SOME_LINES = BulkInsert("listed", "(?1, ?{0}, CAST(?{1} AS TEXT), ?{2})", shared=1, own=3)
_PLAIN_LINES = BulkInsert(
    "listed", "(?3, ?{0}, CAST(?{1} AS TEXT), ?1 + {row} * ?2)", shared=3, own=2, counts=True
)
_PUT_LINE = "INSERT INTO listed VALUES (?, ?, ?, ?)"
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_OUT_OF_ORDER = "a path out of order"
_SHOWN = 80

_NOT_THERE = """
FROM listed l CROSS JOIN manifest m ON m.id = l.manifest
WHERE NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = l.path AND d.kind <> 'd')
AND l.path NOT IN unfetched AND l.path NOT IN lost_mets
AND NOT EXISTS (SELECT 1 FROM entry e CROSS JOIN gone g ON g.entry = e.id WHERE e.path = l.path)
"""
_NOT_NAMED = f"""
SELECT d.path FROM manifest m CROSS JOIN disk d
WHERE m.id = ? AND d.kind = 'f'
AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.path = d.path AND l.manifest = m.id)
AND NOT EXISTS (SELECT 1 FROM manifest o WHERE o.path = d.path)
AND NOT EXISTS (SELECT 1 FROM pack k WHERE k.path = d.path)
AND NOT EXISTS (SELECT 1 FROM renamed r JOIN listed l ON l.path = r.path AND l.manifest = m.id
    WHERE r.other = d.path)
AND NOT EXISTS (
    SELECT 1 FROM meant k JOIN listed l ON l.manifest = m.id
        AND l.path = CAST(k.was || substr(d.path, length(k.folder) + 1) AS BLOB)
    WHERE k.folder = (SELECT max(o.folder) FROM meant o WHERE o.folder <= d.path)
    AND substr(d.path, 1, length(k.folder)) = k.folder
)
AND NOT EXISTS (
    SELECT 1 FROM listed l JOIN pack k ON k.path = l.path WHERE l.manifest = m.id AND k.folder =
        (SELECT max(o.folder) FROM pack o WHERE o.folder <= d.path)
    AND substr(d.path, 1, length(k.folder)) = k.folder
)
AND NOT {IN_OUTERMOST.format("d.path")} ORDER BY d.path
"""  # noqa: S608 -- a constant
_NAMED_BELOW = "SELECT 1 FROM listed WHERE manifest = ? AND path > ? AND path < ?"
_AGAINST_METS = """
SELECT f.name, l.line, l.path, l.digest, f.algorithm, e.digest, m.path, e.line
FROM manifest f JOIN listed l ON l.manifest = f.id
JOIN entry e ON e.path = l.path AND e.algorithm = f.algorithm JOIN mets m ON m.id = e.mets
WHERE e.digest <> l.digest AND NOT EXISTS (SELECT 1 FROM mets c WHERE c.path = l.path)
AND l.path NOT IN sampled ORDER BY l.rowid
"""


def _not_named(catalogue: Catalogue, manifest: int) -> Iterator[Row]:
    catalogue.keep_outermost(path for (path,) in catalogue.rows(APART))
    return catalogue.rows(_NOT_NAMED, manifest)


_BAGS = "the bag's "
_OF_BAG = f"SELECT id, name FROM manifest WHERE {OF_BAG}"  # noqa: S608 -- a constant

_CHILD_ALONE = """
SELECT 1 FROM mptr WHERE mets = 1 AND up AND NOT EXISTS (SELECT 1 FROM mets WHERE parent = 1)
"""


def missing(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield a finding for each missing manifest; a child checked alone need not have one."""
    if catalogue.row(_CHILD_ALONE) is not None or catalogue.row(_OF_BAG) is not None:
        return
    for name in map(MANIFESTS.__getitem__, MANIFEST_ALGORITHMS):
        if catalogue.row("SELECT 1 FROM disk WHERE path = ?", path_of((name,))) is None:
            yield Code.MANIFEST_MISSING.at(name, expected=name)


def read(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Put the package's manifests into the catalogue; yield the findings on their form.

    Those of a bag around the package, or of a folder that is a bag itself, are put in beside them.
    """
    bag = _bag_of(places)
    if bag is not None:
        if places.agreement is not None:
            raise Unsettled  # its manifests speak of each file
        yield from _Bag(catalogue, *bag).findings()
        if not bag[1]:
            return  # what is of these names at the root is the bag's
    for algorithm, name in MANIFESTS.items():
        path = path_of((name,))
        kind = catalogue.row("SELECT kind FROM disk WHERE path = ?", path)
        if kind is None:
            continue
        sql = "INSERT INTO manifest (name, path, algorithm, read) VALUES (?, ?, ?, 0)"
        number = catalogue.put(sql, name, path, algorithm)
        try:
            manifest = _Manifest(catalogue, number, name, algorithm)
            place = places.below(path)
            if places.agreement is not None and place is not None:
                yield from manifest.findings_between(place, places.agreement.stretches(algorithm))
            else:
                with places.content(path) as content:
                    yield from manifest.findings(content)
            catalogue.put("UPDATE manifest SET read = 1 WHERE id = ?", number)
        except (OSError, MetspackError) as error:
            if kind[0] in {"f", "d"}:
                yield of_opening(path, error)


def against_seal(places: CheckedTree, top: bytes, expected: Seal) -> Iterator[Finding]:
    """Yield that the package has another seal; ``top`` is its METS, or the file that this is packed in."""
    missing: list[str] = []
    files: list[tuple[str, str]] = []
    for path in (*(os.fsencode(MANIFESTS[each]) for each in MANIFEST_ALGORITHMS), top):
        hashers = Hashers(("SHA-256",))
        try:
            with places.content(path) as content:
                for block in content.chunks():
                    hashers.update(block)
        except (OSError, MetspackError) as error:
            if not isinstance(error, FileNotFoundError):
                yield of_opening(path, error)
            missing.append(shown(path))
            continue
        files.append((os.fsdecode(path), hashers.digest("SHA-256").value))
    found = Seal.of(files)
    if found.value != expected.value:
        others = [each for each in found.differing(expected) if each not in missing]
        reason = "; ".join(
            [f"{each} cannot be read" for each in missing]
            + [f"{each} is another file" for each in others]
            + ([] if expected.lines or missing else ["only a seal's file tells which file differs"])
        )
        yield Code.SEAL_DIFFERS.at(shown(top), found=found.value, expected=expected.value, reason=reason)


class _Manifest:
    """Reads one manifest into the catalogue."""

    def __init__(self, catalogue: Catalogue, number: int, name: str, algorithm: str) -> None:
        self._catalogue = catalogue
        self._batch = Batch(catalogue)
        self._number = number
        self._name = name
        self._algorithm = algorithm
        self._plain = re.compile(rb"^([0-9a-f]{%d})  ([^\n]+)\n" % (2 * OCTETS[algorithm]), re.MULTILINE)
        self._line = 1
        self._last = b""
        self._digest = ""  # of the last line, if it was not as we write them
        self._forms: dict[str, tuple[int, int]] = {}

    def findings(self, content: Content) -> Iterator[Finding]:
        """Yield the findings on the form of all lines."""
        yield from self._take(content.blocks())
        yield from self._ended()

    def findings_between(
        self, place: Below, agreed: Iterable[tuple[bytes, ManifestStretch]]
    ) -> Iterator[Finding]:
        """Yield the findings on the lines between those of agreed segments, of which only the METS's is kept.

        Raises ``Unsettled`` when one of the segments stands out of order.
        """
        with reading.opening(place.root, place.segments) as descriptor:
            at = 0
            for mets, stretch in agreed:
                yield from self._take(reading.blocks(reading.chunks(descriptor, at, stretch.start)))
                if stretch.start < at or stretch.first <= self._last:
                    raise Unsettled
                if stretch.digest:
                    line = self._line + stretch.mets
                    self._batch.add(_PUT_LINE, self._number, mets, stretch.digest, line)
                self._line += stretch.lines
                self._last, self._digest = stretch.last, ""
                at = stretch.stop
            yield from self._take(reading.blocks(reading.chunks(descriptor, at)))
        yield from self._ended()

    def _take(self, blocks: Iterable[bytes]) -> Iterator[Finding]:
        for stretch in stretches(blocks):
            taken = self._take_plain(self._line, stretch)
            if not taken:
                for line in cut(stretch):
                    yield from self._take_line(self._line + taken, line)
                    taken += 1
            self._line += taken

    def _ended(self) -> Iterator[Finding]:
        self._batch.flush()
        for reason, (count, first) in self._forms.items():
            yield Code.MANIFEST_FORM.at(self._name, first, reason=reason, count=count)

    def _note_form(self, number: int, reason: str, more: int = 1) -> None:
        count, first = self._forms.get(reason, (0, number))
        self._forms[reason] = (count + more, first)

    def _take_plain(self, number: int, stretch: bytes) -> int:
        """Keep lines that are as we write them; returns how many, none when one may not be so."""
        # One that does not begin so is not searched: it may be a single line of any length.
        found = self._plain.findall(stretch) if self._plain.match(stretch) else []
        if not found or len(found) != stretch.count(b"\n") or any(each in stretch for each in _NOT_PLAIN):
            return 0
        if not stretch.endswith(b"\n"):
            return 0
        values, paths = zip(*found, strict=True)
        self._batch.flush()
        *before, last = accumulate(paths, max, initial=self._last)
        if any(map(eq, paths, before)):
            rows = zip(paths, values, range(number, number + len(paths)), strict=True)
            further = [row for row in rows if self._is_further(row[2], row[0], row[1].decode())]
            self._catalogue.insert(_SOME_LINES, (self._number,), further)
            return len(paths)
        are_out = list(map(lt, paths, before))
        if count := sum(are_out):
            self._note_form(number + are_out.index(True), _OUT_OF_ORDER, count)
        self._last, self._digest = last, "" if are_out[-1] else values[-1].decode()
        self._catalogue.insert_columns(_PLAIN_LINES, (number, 1, self._number), (paths, values))
        return len(paths)

    def _take_line(self, number: int, line: bytes) -> Iterator[Finding]:
        if not line.endswith(b"\n"):
            self._note_form(number, "no line feed at the end")
        line = line.removesuffix(b"\n")
        if line.endswith(b"\r"):
            self._note_form(number, "a carriage return before the line feed")
            line = line.removesuffix(b"\r")
        found = _LINE.fullmatch(self._untagged(number, line))
        reason = "expected a digest, two spaces and a path"
        if found is not None:
            reason, path = _path(found[4], escaped=bool(found[1]))
            digits = 2 * OCTETS[self._algorithm]
            if len(found[2]) != digits:
                reason = f"the digest has {len(found[2])} digits, {self._algorithm} has {digits}"
            if not reason:
                self._keep_line(number, found[2], found[3], found[4], path)
                return
        yield Code.MANIFEST_LINE.at(self._name, number, found=shown(line[:_SHOWN]), reason=reason)

    def _untagged(self, number: int, line: bytes) -> bytes:
        """Return a line as md5sum writes it that BSD's md5 wrote, if its algorithm is the manifest's."""
        found = _TAGGED.fullmatch(line)
        if found is None or algorithm_name(found[2].decode("ascii")) != self._algorithm:
            return line
        self._note_form(number, "lines as BSD writes them, with the algorithm's name")
        return found[1] + found[4] + b"  " + found[3]

    def _keep_line(self, number: int, digest: bytes, mark: bytes, written: bytes, path: bytes) -> None:
        text = digest.decode("ascii")
        if text != text.lower():
            self._note_form(number, "upper-case digits")
        if mark != b"  ":
            self._note_form(number, "an asterisk before the path")
        if written.startswith(b"./"):
            self._note_form(number, "./ before the path")
        if self._is_further(number, path, text.lower()):
            self._batch.add(_PUT_LINE, self._number, path, text.lower(), number)

    def _is_further(self, number: int, path: bytes, digest: str) -> bool:
        """Note where a line stands; return whether it says anything that the line before does not."""
        if path < self._last:
            self._note_form(number, _OUT_OF_ORDER)
            self._digest = ""
            return True
        if path == self._last:
            self._note_form(number, "a path twice")
        before, self._last, self._digest = (self._last, self._digest), path, digest
        return before != (path, digest)


def _path(written: bytes, *, escaped: bool = False) -> tuple[str, bytes]:
    """Return the reason why a path is not valid, empty if it is, and the path."""
    if escaped:
        # md5sum writes such names with a backslash before the digest.
        written = re.sub(rb"\\[\\nr]", lambda found: _ESCAPES[found[0]], written)
    path = written.removeprefix(b"./")
    names = path.split(b"/")
    if path.startswith(b"/"):
        return "the path is absolute", path
    if any(name in {b"", b".", b".."} for name in names):
        return "the path has an empty, '.' or '..' segment", path
    if b"\0" in path:
        return "the path has a NUL character", path
    return "", path


def findings(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield manifest lines whose file is missing, and files that a manifest does not name.

    A folder that is missing, or that no line leads into, is said once in each manifest. What METS has as
    missing or renamed is said there.
    """
    together = grouping.FindingGroups()
    absent, come = grouping.absent(catalogue), grouping.come(catalogue)
    is_told = grouping.lost_with_mets(catalogue)
    lost = grouping.AlikeRows(
        catalogue, "m.name, l.line, l.path", _NOT_THERE, number="l.rowid", path="l.path", alike="m.name = ?5"
    )
    for name, line, path in lost:
        folder = absent(path)
        is_of_bag = name.startswith(_BAGS)
        code = Code.BAG_FILE_MISSING if is_of_bag else Code.MANIFEST_FILE_MISSING
        if is_told(folder) or together.count(folder, code.id, name):
            together.count(folder, code.id, name, lost.alike(folder, name))
            continue
        if is_of_bag:
            manifest = f"{name.removeprefix(_BAGS)} line {line}"
            finding = Code.BAG_FILE_MISSING.at(shown(path), manifest=manifest)
        else:
            finding = Code.MANIFEST_FILE_MISSING.at(name, line, shown(path), expected=shown(path))
        yield from together.take(folder, finding, name)
    for number, name in catalogue.all(
        "SELECT id, name FROM manifest WHERE read AND path IS NOT NULL ORDER BY id"
    ):
        unnamed = grouping.without(catalogue, _NAMED_BELOW, number)
        for (path,) in _not_named(catalogue, number):
            finding = Code.MANIFEST_INCOMPLETE.at(shown(path), manifest=name)
            yield from together.take(unnamed(path) or come(path), finding, name)
    for number, name in catalogue.all(f"{_OF_BAG} AND read ORDER BY id"):
        for path in _payload_besides(catalogue, number):
            finding = Code.BAG_INCOMPLETE.at(shown(path), manifest=name.removeprefix(_BAGS))
            yield from together.take(come(path), finding, name)
    yield from together.release()


def against_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield manifest lines whose digest is not that of the METS, by the same algorithm."""
    for name, line, path, found, algorithm, expected, mets, mets_line in catalogue.rows(_AGAINST_METS):
        source = source_of(mets, mets_line)
        yield Code.MANIFEST_AGAINST_METS.at(
            name, line, shown(path), algorithm=algorithm, found=found, expected=expected, source=source
        )


# --- The manifest.txt beside an archive ---------------------------------------------------------------

_LOB_MANIFEST = b"manifest.txt"
_LOB_LINE = regex(rb"(\\?)([0-9A-Fa-f]+) [ *](?:\./|/)*(.+?)\r?\n?", re.DOTALL)
_ALGORITHMS = {
    2 * octets: name
    for name, octets in OCTETS.items()
    if name in {"MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512"}
}
_IS_FILE = "SELECT 1 FROM disk WHERE path = ? AND kind = 'f'"
# Without a path: the package's own manifests have to list this file as any other.
_PUT_MANIFEST = "INSERT INTO manifest (name, path, algorithm, read) VALUES (?, NULL, ?, 0)"
_UNLISTED = """
SELECT count(DISTINCT c.path), min(c.path) FROM cell c
WHERE NOT c.inside AND c.archive >= ?1 AND c.archive < ?2
AND NOT instr(substr(c.archive, length(?1) + 1), CAST('/' AS BLOB))
AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.path = c.path AND l.manifest IN (
    SELECT id FROM manifest WHERE name = ?3 AND path IS NULL))
"""


def _lob_manifests(catalogue: Catalogue) -> list[bytes]:
    """Return the paths of the files of this name beside the archives that METS documents list."""
    folders = {folder_of(form.path) for form in forms.listed(catalogue)}
    return [
        path
        for folder in sorted(folders)
        if catalogue.row(_IS_FILE, path := folder + _LOB_MANIFEST) is not None
    ]


def read_lob_manifests(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Put the lines of such files into the catalogue; yield the findings on those that are none."""
    for path in _lob_manifests(catalogue):
        try:
            with places.content(path) as content:
                yield from _read_lob_manifest(catalogue, path, content)
        except (OSError, MetspackError) as error:
            yield of_opening(path, error)


def _read_lob_manifest(catalogue: Catalogue, path: bytes, content: Content) -> Iterator[Finding]:
    numbers: dict[str, int] = {}
    batch = Batch(catalogue)
    strange, first, line_of_first = 0, b"", 0
    for number, line in enumerate(content.lines(), start=1):
        found = _LOB_LINE.fullmatch(line)
        algorithm = None if found is None else _ALGORITHMS.get(len(found[2]))
        if found is None or algorithm is None:
            if line.strip():
                strange, first, line_of_first = strange + 1, first or line, line_of_first or number
            continue
        if algorithm not in numbers:
            numbers[algorithm] = catalogue.put(_PUT_MANIFEST, shown(path), algorithm)
        file = re.sub(rb"\\[\\nr]", lambda mark: _ESCAPES[mark[0]], found[3]) if found[1] else found[3]
        digest = found[2].decode("ascii").lower()
        batch.add(_PUT_LINE, numbers[algorithm], folder_of(path) + file, digest, number)
    batch.flush()
    if strange:
        facts = {"found": shown(first.strip()[:_SHOWN]), "count": f"{strange:,}"}
        yield Code.LOB_MANIFEST_LINE.at(shown(path), line_of_first, **facts)


def incomplete_lob_manifests(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield a finding for each such file that lacks LOBs, once the cells are in the catalogue."""
    for path in _lob_manifests(catalogue):
        folder = folder_of(path)
        after = folder[:-1] + b"0" if folder else b"\xff"  # what comes behind a slash
        count, first = catalogue.row(_UNLISTED, folder, after, shown(path)) or (0, b"")
        if count:
            yield Code.LOB_MANIFEST_INCOMPLETE.at(
                shown(path), 0, shown(first), found=shown(first), count=f"{count:,}"
            )


# --- Bags (BagIt) -------------------------------------------------------------------------------------

_BAG_NAME, _PAYLOAD = b"bagit.txt", b"data/"
_BAG_MANIFEST = regex(r"(tag)?manifest-([a-z0-9-]+)\.txt", re.IGNORECASE)
_BAG_LINE = regex(rb"([0-9A-Fa-f]+)[ \t]+\*?(?:\./)*([^\r\n]+?)[\r\n]*", re.DOTALL)
_ENCODED = regex(rb"%(0A|0D|25)", re.IGNORECASE)
_FETCH = "fetch.txt"
_FETCH_LINE = regex(rb"(\S+)[ \t]+(?:[0-9]+|-)[ \t]+([^\r\n]+?)[\r\n]*", re.DOTALL)
_OXUM = regex(rb"Payload-Oxum:[ \t]*([0-9]{1,99})\.([0-9]{1,99})[ \t\r]*", re.IGNORECASE)
_DECLARED = regex(rb"Tag-File-Character-Encoding:[ \t]*(.*)", re.IGNORECASE | re.DOTALL)
_AS_THEY_STAND = frozenset({"ascii", "utf-8", "utf-8-sig"})  # names need not be what is declared
# Python calls more a codec: those of bytes, and its own ways to write text.
_CODEC = regex(r"ascii|utf-(8|16|32)\b.*|(big5|cp|euc|gb|hp|hz|iso|johab|koi8|kz|mac|ptcp|shift|tis).*")
_IN_A_BAGS = f"SELECT 1 FROM listed l JOIN manifest ON manifest.id = l.manifest WHERE {OF_BAG}"  # noqa: S608
# What is missing or not named is told one by one.
_IS_TOLD = f"""
SELECT 1 WHERE EXISTS (
    {_IN_A_BAGS} AND NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = l.path AND d.kind = 'f')
) OR (EXISTS ({_IN_A_BAGS}) AND EXISTS (
    SELECT 1 FROM disk d WHERE d.kind = 'f' AND d.path >= ? AND d.path < ?
    AND NOT EXISTS ({_IN_A_BAGS} AND l.path = d.path)
))
"""  # noqa: S608 -- a constant
_PAYLOAD_SIZE = (
    "SELECT coalesce(sum(size), 0), count(*) FROM disk WHERE kind = 'f' AND path >= ? AND path < ?"
)


_BagTree = FolderTree | PackedTree


def is_payload(places: CheckedTree) -> bool:
    """Return whether a package is the whole payload of a bag, whose folder has not the package's name."""
    bag = _bag_of(places)
    return bag is not None and bag[1] == _PAYLOAD


def _bag_of(places: CheckedTree) -> tuple[_BagTree, bytes] | None:
    """Return the bag that a package is, or in whose payload it is, and what is cut off paths then."""
    base = places.base
    if not isinstance(base, FolderTree | PackedTree):
        return None
    if base.is_there(_BAG_NAME):
        return base, b""
    for tree, above in base.around():
        if above.startswith(_PAYLOAD) and tree.is_there(_BAG_NAME):
            return tree, above
    return None


def _payload_besides(catalogue: Catalogue, number: int) -> Iterator[bytes]:
    """Yield the files of the payload that a manifest of the bag does not name."""
    is_bag = catalogue.row(_IS_FILE, _BAG_NAME) is not None
    for (path,) in _not_named(catalogue, number):
        if not is_bag or path.startswith(_PAYLOAD):
            yield path


class _Bag:
    """A bag: its payload manifests go to the catalogue, the files about it are compared at once.

    ``above`` is what is cut off the paths in it to get those in the package. Of several packages in a bag
    the first tells of the bag itself, and of the files that are in no package.
    """

    def __init__(self, catalogue: Catalogue, tree: _BagTree, above: bytes) -> None:
        self._catalogue = catalogue
        self._tree = tree
        self._above = above
        self._is_alone = above in {b"", _PAYLOAD}
        self._tells = self._is_alone or self._is_first()
        self._packages: dict[bytes, bool] = {}
        self._together = grouping.FindingGroups()
        self._encoding, self._codec = "", ""  # as declared, and the codec of one that must be decoded

    def _is_first(self) -> bool:
        with closing(self._tree.walk()) as items:
            found = (each.name for each in items if each.name.startswith(_PAYLOAD))
            return min(filter(is_mets_name, found), default=self._above).startswith(self._above)

    def _is_in_a_package(self, path: bytes) -> bool:
        """Whether a file of the payload is in any package: each tells of its own."""
        at, ahead = b"/".join(path.split(b"/")[: DEEPEST + 1]), []
        while (at := at.rpartition(b"/")[0]) and at not in self._packages:
            ahead.append(at)
        is_inside = self._packages.get(at, False)
        for folder in reversed(ahead):
            is_inside |= any(self._tree.is_there(folder + b"/" + each.encode()) for each in METS_NAMES)
            self._packages[folder] = is_inside
        return is_inside

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the bag itself."""
        names = self._tree.names_at_top()
        kinds = [(name, found) for name in names if (found := _BAG_MANIFEST.fullmatch(name)) is not None]
        known = [(name, found[1], algorithm_name(found[2])) for name, found in kinds]
        if self._tells and not any(tag is None for _, tag, _ in known):
            yield Code.BAG_WITHOUT_MANIFEST.at(self._shown(_BAG_NAME.decode()))
        yield from self._of(_BAG_NAME.decode(), self._declaration())
        for name, tag, algorithm in known:
            if algorithm is not None and (tag is None or self._tells):
                yield from self._of(name, self._manifest(name, algorithm, is_of_tags=tag is not None))
        yield from self._together.release()
        if _FETCH in names:
            yield from self._of(_FETCH, self._unfetched())
        if self._is_alone and "bag-info.txt" in names:
            yield from self._of("bag-info.txt", self._information("bag-info.txt"))

    def _of(self, name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
        """Yield the findings on a file about the bag, or that it cannot be read."""
        try:
            yield from findings
        except OSError as error:
            yield Code.UNREADABLE.at(self._shown(name), reason=fault(error))
        except UnicodeError:  # its own words differ between versions of Python
            yield Code.UNREADABLE.at(self._shown(name), reason=f"not in {self._encoding}, as bagit.txt says")
        except MetspackError as error:
            yield Code.UNREADABLE.at(self._shown(name), reason=str(error))

    def _shown(self, name: str) -> str:
        return "../" * self._above.count(b"/") + name

    def _manifest(self, name: str, algorithm: str, *, is_of_tags: bool) -> Iterator[Finding]:
        number = 0 if is_of_tags else self._catalogue.put(_PUT_MANIFEST, f"{_BAGS}{name}", algorithm)
        batch = Batch(self._catalogue)
        strange, first = 0, b""
        with self._tree.content(name.encode()) as content:
            for line_number, line in enumerate(_bag_lines(content, self._codec), start=1):
                found = _BAG_LINE.fullmatch(line)
                digits = 2 * OCTETS[algorithm]
                reason, path = ("no line", b"") if found is None else _path(self._meant(found[2]))
                is_in_place = is_of_tags != path.startswith(_PAYLOAD)
                if found is None or reason or len(found[1]) != digits or not is_in_place:
                    if line.strip():
                        strange, first = strange + 1, first or line
                    continue
                digest = found[1].decode().lower()
                if is_of_tags or not path.startswith(self._above):
                    if is_of_tags or (self._tells and not self._is_in_a_package(path)):
                        folder = b"/".join(path.split(b"/")[:2]) if path.count(b"/") > 1 else None
                        for fault_of in self._at_once(name, path, Digest(algorithm=algorithm, value=digest)):
                            yield from self._together.take(folder, fault_of, name)
                else:
                    batch.add(_PUT_LINE, number, path.removeprefix(self._above), digest, line_number)
        batch.flush()
        self._catalogue.put("UPDATE manifest SET read = 1 WHERE id = ?", number)
        if strange:
            facts = {"found": shown(first.strip()[:_SHOWN]), "count": f"{strange:,}", "manifest": name}
            yield Code.BAG_LINE.at(self._shown(name), **facts)

    def _declaration(self) -> Iterator[Finding]:
        """Take the encoding of the other files about the bag; yield that it is none of text."""
        with self._tree.content(_BAG_NAME) as content:
            lines = ((line, _DECLARED.fullmatch(line.strip())) for line in content.lines())
            line, declared = next((each for each in lines if each[1]), (b"", None))
        if declared is None:
            return
        self._encoding = declared[1].decode("utf-8", "replace")
        try:
            codec = codecs.lookup(self._encoding).name
        except (LookupError, ValueError):
            codec = ""
        if _CODEC.fullmatch(codec):
            self._codec = "" if codec in _AS_THEY_STAND else codec
        elif self._tells:
            facts = {"found": shown(line.strip()[:_SHOWN]), "count": "1", "manifest": _BAG_NAME.decode()}
            yield Code.BAG_LINE.at(self._shown(_BAG_NAME.decode()), **facts)

    def _meant(self, written: bytes) -> bytes:
        """Return the path that is written: before version 1.0 a per cent sign stands for itself."""
        path = written.removeprefix(b"./")
        is_so = b"%" in path and not path.startswith(b"/") and b".." not in path and self._tree.is_there(path)
        return path if is_so else _ENCODED.sub(lambda mark: bytes((int(mark[1], 16),)), path)

    def _at_once(self, manifest: str, path: bytes, expected: Digest) -> Iterator[Finding]:
        hashers = Hashers((expected.algorithm,))
        where = self._shown(shown(path))
        try:
            with self._tree.content(path) as content:
                for block in content.chunks():
                    hashers.update(block)
        except FileNotFoundError:
            yield Code.BAG_FILE_MISSING.at(where, manifest=manifest)
            return
        except (OSError, MetspackError) as error:
            yield Code.UNREADABLE.at(where, reason=str(error))
            return
        if (found := hashers.digest(expected.algorithm)) != expected:
            facts = {"expected": f"{expected.algorithm} {expected.value}", "found": found.value}
            yield Code.BAG_DIFFERS.at(where, manifest=manifest, **facts)

    def _unfetched(self) -> Iterator[Finding]:
        """Yield that files of the payload are still to be fetched, which are not lost then."""
        self._catalogue.settle()
        strange, fault, count, first = 0, b"", 0, ("", "")
        with self._tree.content(_FETCH.encode()) as content:
            for line in filter(bytes.strip, _bag_lines(content, self._codec)):
                found = _FETCH_LINE.fullmatch(line)
                reason, path = ("no line", b"") if found is None else _path(self._meant(found[2]))
                if found is None or reason or not path.startswith(_PAYLOAD):
                    strange, fault = strange + 1, fault or line
                    continue
                inner = path.removeprefix(self._above)
                if path.startswith(self._above) and self._catalogue.row(_IS_FILE, inner) is None:
                    self._catalogue.put("INSERT OR IGNORE INTO unfetched VALUES (?)", inner)
                    count, first = count + 1, first if count else (shown(inner), shown(found[1]))
        if count:
            facts = {"count": f"{count:,}", "expected": first[0], "url": first[1]}
            yield Code.NOT_FETCHED.at(self._shown(_FETCH), **facts)
        if strange:
            facts = {"found": shown(fault.strip()[:_SHOWN]), "count": f"{strange:,}", "manifest": _FETCH}
            yield Code.BAG_LINE.at(self._shown(_FETCH), **facts)

    def _information(self, name: str) -> Iterator[Finding]:
        """Yield that there are more or fewer files, or bytes, than bag-info.txt says (Payload-Oxum)."""
        if self._catalogue.row("SELECT 1 FROM pack") is not None:
            return  # what is in these stands beside them
        with self._tree.content(name.encode()) as content:
            stated = [found for line in _bag_lines(content, self._codec) if (found := _OXUM.fullmatch(line))]
        self._catalogue.settle()
        span = (b"", b"\xff") if self._above else (_PAYLOAD, _PAYLOAD[:-1] + b"0")
        if self._catalogue.row(_IS_TOLD, *span) is not None:
            return
        size, count = self._catalogue.row(_PAYLOAD_SIZE, *span) or (0, 0)
        for each in stated:
            if (int(each[1]), int(each[2])) != (size, count):
                facts = {
                    "expected": f"{counted(int(each[2]), 'file')} of {counted(int(each[1]), 'byte')}",
                    "found": f"{counted(count, 'file')} of {counted(size, 'byte')}",
                }
                yield Code.BAG_DIFFERS.at(self._shown(name), manifest=name, **facts)


def _bag_lines(content: Content, codec: str) -> Iterator[bytes]:
    """Yield the lines of a file about a bag, which may end as on any system; a mark of UTF-8 is left out.

    Raises ``UnicodeError`` for one that is not in the encoding of ``codec``, if there is one.
    """
    blocks = content.blocks()
    if codec:
        first = next(blocks, b"")
        # Without a mark UTF-16 is big-endian (RFC 2781, 4.3), and begins with a character of ASCII.
        codec += "-be" if codec in {"utf-16", "utf-32"} and first.startswith(b"\0") else ""
        blocks = (each.encode() for each in codecs.iterdecode(chain((first,), blocks), codec))
    for number, line in enumerate(chain.from_iterable(map(cut, stretches(blocks)))):
        yield from (line.removeprefix(codecs.BOM_UTF8) if number == 0 else line).splitlines()
