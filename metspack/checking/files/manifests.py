"""Check the manifests at a package's root: their form, and their agreement with METS.

The manifest.txt beside an archive, with the digests of the LOBs outside it (SIARD 2.2, S_8.1.3-0), is read
into the same catalogue and compared in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import eq, lt

from metspack.checking import grouping
from metspack.checking.archives import forms
from metspack.checking.catalogue import IN_OUTERMOST, IS_GONE, OF_BAG, Batch, Catalogue, Mark, Row, is_marked
from metspack.checking.codes import Code
from metspack.checking.files.listed import source_of
from metspack.checking.mets.documents import of_opening
from metspack.checking.segments import Agreement
from metspack.checking.similarity import likeness
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Content
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, OCTETS, Hashers, Seal
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.files.byteranges import FileBelow
from metspack.files.paths import folded_name, folder_of, path_of, shown, span_below
from metspack.files.tempdb import BulkInsert
from metspack.layouts.names import OF_MACOS
from metspack.model import Finding
from metspack.packages.bagit import BAG, PAYLOAD
from metspack.packages.digestlists import ESCAPED, LineReader, is_list, unmarked
from metspack.system import os

# A line with one of these may need its path changed; any other path is valid as it is.
_NOT_PLAIN = (b"\r", b"\0", b"\\", b"//", b"/.", b"/\n", b"  /", b"  .")
_PLAIN_LINES = BulkInsert("listed", "?3, ?{0}, CAST(?{1} AS TEXT), ?1 + {row} * ?2", per_row=2, counts=1)
PUT_LINE = "INSERT INTO listed VALUES (?, ?, ?, ?)"
_OUT_OF_ORDER = "a path out of order"
SHOWN = 80
_MOST_GUESSES, _NEAR = 50, 2_000

AT_ROOT = "SELECT path, kind FROM disk WHERE NOT instr(path, CAST('/' AS BLOB)) ORDER BY path"
PUT_LIST = "INSERT INTO manifest (name, path, algorithm, read) VALUES (?, ?, ?, 0)"
_NOT_THERE = f"""
SELECT m.name, l.line, l.path FROM listed l CROSS JOIN manifest m ON m.id = l.manifest
WHERE NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = l.path AND d.kind <> 'd')
AND NOT {is_marked(Mark.UNFETCHED, "l.path")} AND NOT {is_marked(Mark.LOST_METS, "l.path")}
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = l.path AND {IS_GONE}) ORDER BY l.rowid
"""  # noqa: S608 -- a constant
_NOT_NAMED = f"""
SELECT d.path FROM manifest m CROSS JOIN disk d
WHERE m.id = ? AND d.kind = 'f'
AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.path = d.path AND l.manifest = m.id)
AND NOT EXISTS (SELECT 1 FROM manifest o WHERE o.path = d.path)
AND NOT {is_marked(Mark.PACK, "d.path")}
AND NOT EXISTS (SELECT 1 FROM mark r JOIN listed l ON l.path = r.path AND l.manifest = m.id
    WHERE r.mark = '{Mark.RENAMED}' AND r.other = d.path)
AND NOT EXISTS (
    SELECT 1 FROM mark k JOIN listed l ON l.manifest = m.id
        AND l.path = CAST(k.path || substr(d.path, length(k.other) + 1) AS BLOB)
    WHERE k.mark = '{Mark.MOVED}' AND substr(d.path, 1, length(k.other)) = k.other
    AND k.other = (SELECT max(o.other) FROM mark o WHERE o.mark = '{Mark.MOVED}' AND o.other <= d.path)
)
AND NOT EXISTS (
    SELECT 1 FROM listed l JOIN mark k ON k.path = l.path AND k.mark = '{Mark.PACK}'
    WHERE l.manifest = m.id AND substr(d.path, 1, length(k.other)) = k.other
    AND k.other = (SELECT max(o.other) FROM mark o WHERE o.mark = '{Mark.PACK}' AND o.other <= d.path)
)
AND NOT {IN_OUTERMOST.format("d.path")} ORDER BY d.path
"""  # noqa: S608 -- a constant
_SIZE = "SELECT size FROM disk WHERE path = ? AND kind = 'f'"
_NAMED_BELOW = "SELECT 1 FROM listed WHERE manifest = ? AND path > ? AND path < ?"
_AGAINST_METS = f"""
SELECT f.name, l.line, l.path, l.digest, f.algorithm, e.digest, m.path, e.line
FROM manifest f JOIN listed l ON l.manifest = f.id
JOIN entry e ON e.path = l.path AND e.algorithm = f.algorithm JOIN mets m ON m.id = e.mets
WHERE e.digest <> l.digest AND NOT EXISTS (SELECT 1 FROM mets c WHERE c.path = l.path)
AND NOT {is_marked(Mark.SAMPLED, "l.path")} ORDER BY l.rowid
"""  # noqa: S608 -- constants


def _not_named(catalogue: Catalogue, manifest: int) -> Iterator[Row]:
    catalogue.keep_outermost(sorted(catalogue.apart))
    return catalogue.rows(_NOT_NAMED, manifest)


BAGS = "the bag's "
"""The beginning of the names of a bag's manifests."""
_OF_BAG = f"SELECT id, name FROM manifest WHERE {OF_BAG}"  # noqa: S608 -- a constant

_CHILD_WITHOUT_PARENT = """
SELECT 1 FROM mptr WHERE mets = 1 AND up AND NOT EXISTS (SELECT 1 FROM mets WHERE parent = 1)
"""


def missing(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield a finding for each missing manifest, except in bags and children without parent."""
    if catalogue.has(_CHILD_WITHOUT_PARENT) or catalogue.has(_OF_BAG):
        return
    for name in map(MANIFESTS.__getitem__, MANIFEST_ALGORITHMS):
        if not catalogue.has("SELECT 1 FROM disk WHERE path = ?", path_of((name,))):
            yield Code.MANIFEST_MISSING.at(name, expected=name)


def read(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Put the manifests at the package's root into the catalogue; yield findings on their form."""
    for path, kind in catalogue.all(AT_ROOT):
        is_of_package = (name := os.fsdecode(path)) in MANIFESTS.values()
        if is_of_package or (kind == "f" and is_list(name)):
            try:
                yield from (_read if is_of_package else read_partial)(catalogue, places, path)
            except (OSError, MetspackError) as error:
                if kind in {"f", "d"}:
                    yield of_opening(path, error)


def _read(catalogue: Catalogue, places: CheckedTree, path: bytes) -> Iterator[Finding]:
    reader = LineReader(os.fsdecode(path), places.is_there)
    number = catalogue.put(PUT_LIST, os.fsdecode(path), path, reader.algorithm)
    manifest = Manifest(catalogue, number, os.fsdecode(path), reader)
    if (place := places.below(path)) is not None:
        places.check_holes(path, catalogue.number(_SIZE, path))
        yield from manifest.findings_between(place, places.agreement)
    else:
        with places.content(path) as content:
            yield from manifest.findings(content.blocks())
    catalogue.put("UPDATE manifest SET read = 1 WHERE id = ?", number)


def read_partial(
    catalogue: Catalogue, places: CheckedTree, path: bytes, *, is_only: bool = False
) -> Iterator[Finding]:
    """Put a partial list into the catalogue, if it is one of digests, in any form of line."""
    with places.content(path) as content:
        name = shown(path)
        reader = LineReader(os.fsdecode(path), places.is_there)
        if not reader.fits(content.blocks()):
            if reader.fault:
                reason = f"{reader.fault}: nothing was compared with this list"
                yield Code.UNKNOWN_ALGORITHM.at(name, reason=reason, expected=", ".join(OCTETS))
            return
        number = catalogue.put(PUT_LIST, name, path, reader.algorithm)
        if reader.algorithm not in OCTETS:
            yield not_computed(name, reader.algorithm, is_only=is_only)
            return
        found = Manifest(catalogue, number, name, reader, itself=path).findings(content.blocks())
        yield from (each for each in found if each.code != Code.MANIFEST_FORM.id)


def not_computed(name: str, algorithm: str, *, is_only: bool) -> Finding:
    """Return the finding on digests that are not computed: an error for the only list."""
    rule = Code.UNKNOWN_ALGORITHM.error_at if is_only else Code.UNKNOWN_ALGORITHM.at
    reason = f"digests by {algorithm!r} are not computed: nothing was compared with this list"
    return rule(name, reason=reason, expected=", ".join(OCTETS))


def against_seal(places: CheckedTree, top: bytes, expected: Seal) -> Iterator[Finding]:
    """Yield a finding if the package has another seal; ``top`` is its METS or packed file."""
    missing: list[str] = []
    files: list[tuple[str, str]] = []
    for path in (*(os.fsencode(MANIFESTS[each]) for each in MANIFEST_ALGORITHMS), top):
        try:
            with places.content(path) as content:
                hashers = Hashers(("SHA-256",)).take(content.chunks())
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
        yield Code.SEAL_DIFFERS.at(top, found=found.value, expected=expected.value, reason=reason)


class Manifest:
    """The reading of one manifest into the catalogue."""

    def __init__(
        self, catalogue: Catalogue, number: int, name: str, reader: LineReader, itself: bytes = b""
    ) -> None:
        self._catalogue = catalogue
        self._itself = itself  # a list cannot state a digest of itself that holds
        self._batch = Batch(catalogue.put_many)
        self._number = number
        self._name = name
        self._reader = reader
        digits = 2 * OCTETS[reader.algorithm]
        self._plain = re.compile(rb"^([0-9a-f]{%d})  ([^\n]+)\n" % digits, re.MULTILINE)
        self._line = 1
        self._last = b""
        self._digest = ""  # of the last line; "" behind one out of order
        self._forms: dict[str, tuple[int, int]] = {}

    def findings(self, blocks: Iterable[bytes]) -> Iterator[Finding]:
        """Yield the findings on the form of all lines."""
        forms, blocks = unmarked(blocks)
        for form in forms:
            self._note_form(1, form)
        yield from self._take(blocks)
        yield from self._ended()

    def findings_between(self, place: FileBelow, agreement: Agreement) -> Iterator[Finding]:
        """Yield the findings on the lines outside the stretches of agreed segments.

        Of a stretch only the lines on files that are not held are kept. A segment whose stretch is out of
        order is put back.
        """
        with reading.opening(place.root, place.segments) as descriptor:
            if unmarked(reading.chunks(descriptor, 0, reading.BLOCK))[0]:  # places in it are other ones
                yield from self.findings(reading.blocks(reading.chunks(descriptor)))
                return
            at = 0
            for segment, stretch in agreement.stretches(self._reader.algorithm):
                if stretch.start >= at:
                    yield from self._take(reading.blocks(reading.chunks(descriptor, at, stretch.start)))
                    at = stretch.start
                if stretch.start < at or stretch.first <= self._last:
                    agreement.put_back(segment)
                    continue
                agreement.skip(segment.folder, self._reader.algorithm, self._line)
                for number, path, digest in stretch.others:
                    self._batch.add(PUT_LINE, self._number, path, digest, self._line + number)
                self._line += stretch.lines
                self._last, self._digest = stretch.last, stretch.ending
                at = stretch.stop
            yield from self._take(reading.blocks(reading.chunks(descriptor, at)))
        yield from self._ended()

    def _take(self, blocks: Iterable[bytes]) -> Iterator[Finding]:
        for stretch in reading.stretches(blocks):
            taken = self._take_plain(self._line, stretch)
            if not taken:
                for line in reading.lines((stretch,)):
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
        """Keep lines in metspack's form; return their number, or 0 if one may have another form."""
        # A stretch with another beginning is not searched: it may be a single line of any length.
        found = self._plain.findall(stretch) if self._plain.match(stretch) else []
        if not found or len(found) != stretch.count(b"\n") or any(each in stretch for each in _NOT_PLAIN):
            return 0
        if not stretch.endswith(b"\n"):
            return 0
        values, paths = zip(*found, strict=True)
        *before, last = accumulate(paths, max, initial=self._last)
        if any(map(eq, paths, before)):
            return 0
        self._batch.flush()
        are_out = list(map(lt, paths, before))
        if count := sum(are_out):
            self._note_form(number + are_out.index(True), _OUT_OF_ORDER, count)
        self._last, self._digest = last, "" if are_out[-1] else values[-1].decode()
        self._catalogue.insert(_PLAIN_LINES, (number, 1, self._number), (paths, values))
        return len(paths)

    def _take_line(self, number: int, line: bytes) -> Iterator[Finding]:
        found = self._reader.parsed(line)
        for form in found.forms:
            if form != ESCAPED:  # md5sum writes such names so
                self._note_form(number, form)
        if found.reason:
            text = shown(line.rstrip(b"\r\n")[:SHOWN])
            yield Code.MANIFEST_LINE.at(self._name, number, found=text, reason=found.reason)
        elif (
            found.digest and found.path != self._itself and self._is_further(number, found.path, found.digest)
        ):
            self._batch.add(PUT_LINE, self._number, found.path, found.digest, number)

    def _is_further(self, number: int, path: bytes, digest: str) -> bool:
        """Note the order of a line; return whether it differs from the line before."""
        if path < self._last:
            self._note_form(number, _OUT_OF_ORDER)
            self._digest = ""
            return True
        if path == self._last:
            self._note_form(number, "a path twice")
        before, self._last, self._digest = (self._last, self._digest), path, digest
        return before != (path, digest)


def findings(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield manifest lines whose file is missing, and files that a manifest does not name.

    A missing folder, or one without any line, is reported once for each manifest. Files that METS lists and
    that are missing or renamed have their finding there.
    """
    together = grouping.FindingGroups()
    missing_folder, origin = (
        grouping.make_missing_folder_lookup(catalogue),
        grouping.make_origin_lookup(catalogue),
    )
    is_lost = grouping.make_lost_mets_test(catalogue)
    guesses = 0
    for name, line, path in catalogue.rows(_NOT_THERE):
        folder = missing_folder(path)
        is_of_bag = name.startswith(BAGS)
        code = Code.BAG_FILE_MISSING if is_of_bag else Code.MANIFEST_FILE_MISSING
        if is_lost(folder) or together.count(folder, code.id, name):
            continue
        if is_of_bag:
            manifest = f"{name.removeprefix(BAGS)} line {line}"
            finding = Code.BAG_FILE_MISSING.at(path, manifest=manifest)
        else:
            guesses += 1
            near = _same_name(catalogue, path, folder) if guesses <= _MOST_GUESSES else ""
            hints = {"nearest": near, "likeness": near and likeness(shown(path), near)}
            finding = Code.MANIFEST_FILE_MISSING.at(name, line, path, expected=path, **hints)
        yield from together.take(folder, finding, name)
    for number, name in catalogue.all(
        "SELECT id, name FROM manifest WHERE read AND path IS NOT NULL ORDER BY id"
    ):
        unnamed = grouping.make_folder_without_lookup(catalogue, _NAMED_BELOW, number)
        for (path,) in _not_named(catalogue, number):
            if OF_MACOS.fullmatch(path) and not catalogue.has("SELECT 1 FROM entry WHERE path = ?", path):
                continue  # one finding covers them
            finding = Code.MANIFEST_INCOMPLETE.at(path, manifest=name)
            yield from together.take(unnamed(path) or origin(path), finding, name)
    is_bag = catalogue.is_file(BAG)
    for number, name in catalogue.all(f"{_OF_BAG} AND read ORDER BY id"):
        for (path,) in _not_named(catalogue, number):
            if path.startswith(PAYLOAD) or not is_bag:
                finding = Code.BAG_INCOMPLETE.at(path, manifest=name.removeprefix(BAGS))
                yield from together.take(origin(path), finding, name)
    yield from together.release()


def _same_name(catalogue: Catalogue, path: bytes, absent: bytes | None) -> str:
    """Return a missing path's other spelling in case, Unicode form or encoding, or ""."""
    at = path if absent is None else absent
    kind, above = "" if absent is None else "AND kind = 'd'", folder_of(at)
    meant = {folded_name(at), folded_name(at.decode("latin-1").encode())}
    sql = f"SELECT path FROM disk WHERE path > ? AND path < ? {kind} ORDER BY path LIMIT ?"  # noqa: S608 -- constants
    near = (
        each for (each,) in catalogue.rows(sql, above, above + b"\xff", _NEAR) if folded_name(each) in meant
    )
    found = next(near, b"")
    return shown(found and found + path[len(at) :])


def against_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield manifest lines whose digest differs from the METS's by the same algorithm."""
    for name, line, path, found, algorithm, expected, mets, mets_line in catalogue.rows(_AGAINST_METS):
        source = source_of(mets, mets_line)
        yield Code.MANIFEST_AGAINST_METS.at(
            name, line, path, algorithm=algorithm, found=found, expected=expected, source=source
        )


# --- The manifest.txt beside an archive ---------------------------------------------------------------

_LOB_MANIFEST = b"manifest.txt"
_UNLISTED = """
SELECT count(DISTINCT c.path), min(c.path) FROM cell c
WHERE NOT c.inside AND c.archive >= ?1 AND c.archive < ?2
AND NOT instr(substr(c.archive, length(?1) + 1), CAST('/' AS BLOB))
AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.path = c.path AND l.manifest IN (
    SELECT id FROM manifest WHERE name = ?3 AND path IS NULL))
"""


def _lob_manifests(catalogue: Catalogue) -> list[bytes]:
    """Return the paths of each manifest.txt beside the archives that METS documents list."""
    folders = {folder_of(form.path) for form in forms.listed(catalogue)}
    return list(filter(catalogue.is_file, (folder + _LOB_MANIFEST for folder in sorted(folders))))


def read_lob_manifests(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Put the lines of each manifest.txt into the catalogue; yield findings on the other lines."""
    for path in _lob_manifests(catalogue):
        places.agreement.put_all_back()  # it is to name the LOBs of all cells
        try:
            with places.content(path) as content:
                yield from _read_lob_manifest(catalogue, path, content)
        except (OSError, MetspackError) as error:
            yield of_opening(path, error)


def _read_lob_manifest(catalogue: Catalogue, path: bytes, content: Content) -> Iterator[Finding]:
    numbers: dict[str, int] = {}
    batch = Batch(catalogue.put_many)
    strange, first, line_of_first = 0, b"", 0
    reader = LineReader("", lambda _: True, decode=lambda path: path.lstrip(b"/"))
    for number, line in enumerate(reading.lines(unmarked(content.blocks())[1]), start=1):
        found = reader.parsed(line)
        if found.reason:
            strange, first, line_of_first = strange + 1, first or line, line_of_first or number
        if not found.digest:
            continue
        if found.algorithm not in numbers:
            # It has no path here: the package's manifests must list this file as any other.
            numbers[found.algorithm] = catalogue.put(PUT_LIST, shown(path), None, found.algorithm)
        batch.add(PUT_LINE, numbers[found.algorithm], folder_of(path) + found.path, found.digest, number)
    batch.flush()
    if strange:
        facts = {"found": shown(first.strip()[:SHOWN]), "count": f"{strange:,}"}
        yield Code.LOB_MANIFEST_LINE.at(path, line_of_first, **facts)


def incomplete_lob_manifests(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield a finding for each manifest.txt that lacks LOBs, once the cells are catalogued."""
    for path in _lob_manifests(catalogue):
        count, first = catalogue.row(_UNLISTED, *span_below(folder_of(path)), shown(path)) or (0, b"")
        if count:
            yield Code.LOB_MANIFEST_INCOMPLETE.at(path, 0, first, found=first, count=f"{count:,}")
