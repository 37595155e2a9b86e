"""Check SIARD archives: the zip file, metadata.xml, and every cell that names a LOB."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from metspack import safexml, sizes
from metspack.checking import grouping
from metspack.checking.archives import forms
from metspack.checking.archives.cells import Cells, Routes
from metspack.checking.archives.forms import ArchiveForm, CompressedError, Entries
from metspack.checking.archives.mapping import Mapping
from metspack.checking.archives.packagefiles import Files
from metspack.checking.catalogue import PUT_MARK, Batch, Catalogue, Mark, Row, is_marked
from metspack.checking.codes import Code
from metspack.checking.files import splitlobs
from metspack.checking.files.listed import source_of
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.zipreader import ZipContainer
from metspack.digests import Hashers
from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.paths import folded_name, path_of, shown
from metspack.files.reading import DigestRequest, Hashed
from metspack.layouts.names import ARCHIVE_BYTES
from metspack.limits import Budgets
from metspack.locations.listedsearch import ListedSearch
from metspack.locations.splitparts import FIRST_SUFFIXES
from metspack.mets import REPRESENTATIONS_FOLDER
from metspack.model import Digest, Extent, Finding, ZipExtent
from metspack.packages.metsfiles import is_of_lob
from metspack.processes import Moved
from metspack.siard import entries as siard_entries
from metspack.siard import metadata as siard_metadata
from metspack.siard import tables
from metspack.siard.metadata import Metadata, Table
from metspack.sizes import counted

_ROOTS = ("content/", "header/")
_CONTENT = "content/"
_IS_NAMED = "SELECT 1 FROM cell WHERE path = ? AND archive = ?"
_FOLDED = """
SELECT f.other, f.path,
    (SELECT min(o.path) FROM mark o WHERE o.mark = f.mark AND o.other = f.other AND o.path < f.path)
FROM mark f WHERE f.mark = ? ORDER BY f.path
"""


def name_findings(catalogue: Catalogue, container: Entries, archive: str) -> Iterator[Finding]:
    """Yield findings on root entries unknown to SIARD, and on names that differ only in form.

    The form is letter case or Unicode normalisation. Memory is flat: only names that are not their own folded
    form are kept, on disk.
    """
    catalogue.unmark(Mark.FOLDED_ENTRY)
    batch = Batch(catalogue.put_many)
    strange, first = 0, ""
    for name in container.names():
        if not name.startswith(_ROOTS):
            strange, first = strange + 1, first or name
        raw = name.encode("utf-8", "surrogateescape")
        folded = folded_name(raw)
        if folded != raw:
            batch.add(PUT_MARK, Mark.FOLDED_ENTRY, raw, folded, None)
    batch.flush()
    if strange:
        yield Code.ENTRY_OUT_OF_PLACE.at(archive, 0, first, found=first, count=f"{strange:,}")
    for folded, raw, other in catalogue.rows(_FOLDED, Mark.FOLDED_ENTRY):
        is_there = container.extent(folded.decode("utf-8", "surrogateescape")) is not None
        for each in filter(None, (folded if is_there else None, other)):
            yield Code.NAMES_COLLIDE.at(archive, 0, raw, other=each)


def unnamed(
    catalogue: Catalogue, container: Entries, form: ArchiveForm, metadata: Metadata
) -> Iterator[Finding]:
    """Yield findings on entries in content/ of no table or cell, once all cells are catalogued."""
    tables = {
        f"{table.path.removesuffix('.xml')}{end}" for table in metadata.tables for end in (".xml", ".xsd")
    }
    # The entries of an unpacked archive are files of the package.
    folder = form.path + b"/" if form.is_unpacked else b""
    count, first = 0, ""
    for name in container.names(_CONTENT):
        path = folder + name.encode("utf-8", "surrogateescape")
        is_other = name.endswith("/") or name in tables
        if not is_other and not catalogue.has(_IS_NAMED, path, form.path):
            count, first = count + 1, first or name
    if count:
        yield Code.ENTRY_OF_NOTHING.at(form.path, 0, first, found=first, count=f"{count:,}")


# A cell may agree with METS or with the file: a difference between these has its finding.
_LENGTHS = f"""
SELECT archive, place, path, length, coalesce(held, bytes) FROM (
    SELECT id, archive, place, path, length, bytes,
        (SELECT d.size FROM disk d WHERE d.path = c.path AND d.kind = 'f') AS held FROM (
        SELECT c.id, c.archive, c.place, c.path, c.length, coalesce(c.size,
            (SELECT min(e.size) FROM entry e WHERE e.path = c.path),
            (SELECT d.size FROM disk d WHERE d.path = c.path AND d.kind = 'f')) AS bytes FROM cell c
    ) c WHERE {sizes.impossible_sql("length", "bytes")}
) WHERE held IS NULL OR {sizes.impossible_sql("length", "held")} ORDER BY id
"""  # noqa: S608 -- names of columns
_AGAINST_METS = f"""
SELECT c.archive, c.place, c.path, c.algorithm, c.digest, e.digest, m.path, e.line
FROM cell c JOIN entry e ON e.path = c.path AND e.algorithm = c.algorithm JOIN mets m ON m.id = e.mets
WHERE NOT c.inside AND e.digest <> c.digest AND NOT {is_marked(Mark.SAMPLED, "c.path")} ORDER BY c.id
"""  # noqa: S608 -- constants
_NOTES = "SELECT words FROM noted WHERE archive = ?"
_TWICE = """
SELECT e.archive, e.place, e.path, o.place FROM (
    SELECT path, inside, archive, min(id) AS first FROM cell
    GROUP BY path, inside, archive HAVING count(*) > 1
) t CROSS JOIN cell e ON e.path = t.path AND e.inside = t.inside AND e.archive = t.archive AND e.id > t.first
JOIN cell o ON o.id = t.first ORDER BY e.id
"""
# One query shows whether any differ, which is rare; only then the reasons are searched.
_ANY_OTHER = """
SELECT EXISTS (
    SELECT 1 FROM cell c JOIN entry e ON e.path = c.path WHERE NOT c.inside AND e.xml_id <> c.place)
"""
# Entries with other IDs than the cells of their file. Ten of a file stand for all: joined with all its
# cells they would be a product.
_OF_OTHERS = """
SELECT * FROM (
    SELECT e.*, row_number() OVER (PARTITION BY e.path ORDER BY e.size, e.id) AS number FROM entry e
    WHERE e.path IN (SELECT path FROM cell WHERE NOT inside) AND e.xml_id IS NOT NULL AND {0}
    AND NOT EXISTS (SELECT 1 FROM cell o WHERE o.path = e.path AND o.place IN (e.xml_id, e.groupid))
) WHERE number <= 10
"""
_OTHER_ROW = f"""
WITH another AS MATERIALIZED ({_OF_OTHERS.format("1")}), wrong AS MATERIALIZED (
    SELECT c.* FROM cell c WHERE NOT c.inside AND c.path IN (SELECT path FROM another)
    AND EXISTS (
        SELECT 1 FROM entry o WHERE (o.xml_id = c.place OR o.groupid = c.place) AND o.path IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM entry o WHERE o.xml_id = c.place AND o.path = c.path)
    AND NOT EXISTS (
        SELECT 1 FROM cell o WHERE o.id = c.id - 1 AND o.place = c.place AND o.archive = c.archive)
)
SELECT c.archive, c.place, c.path,
    CASE WHEN substr(e.xml_id, 1, length(e.groupid) + 2) = e.groupid || '.p' THEN e.groupid ELSE e.xml_id END,
    m.path, e.line
FROM wrong c JOIN another e ON e.path = c.path JOIN mets m ON m.id = e.mets
WHERE e.xml_id <> c.place AND e.groupid IS NOT c.place ORDER BY c.id, e.size, e.id
"""  # noqa: S608 -- constants
_OF_LOBS = """e.element = 'file' AND e.xml_id GLOB '*s[0-9]*.t[0-9]*.c[0-9]*.r[0-9]*'
    AND NOT EXISTS (SELECT 1 FROM entry o WHERE o.mets = e.mets AND o.xml_id = e.xml_id AND o.id <> e.id)"""
_OF_NO_CELL = f"""
WITH another AS MATERIALIZED ({_OF_OTHERS.format(_OF_LOBS)}), named AS MATERIALIZED (
    SELECT DISTINCT x.archive FROM cell x WHERE NOT x.inside
    AND EXISTS (SELECT 1 FROM entry o WHERE o.xml_id = x.place AND o.path = x.path)
)
SELECT c.archive, count(*), min(c.id) FROM cell c JOIN another e ON e.path = c.path
WHERE NOT c.inside AND e.xml_id <> c.place AND e.groupid IS NOT c.place
AND (rtrim(e.xml_id, '0123456789') = rtrim(c.place, '0123456789') OR c.archive IN (SELECT archive FROM named))
AND NOT EXISTS (SELECT 1 FROM entry o WHERE o.xml_id = c.place OR o.groupid = c.place)
GROUP BY c.archive ORDER BY c.archive
"""  # noqa: S608 -- constants
_OF_CELL = """
SELECT c.place, c.path, e.xml_id, m.path, e.line FROM cell c JOIN entry e ON e.path = c.path
JOIN mets m ON m.id = e.mets WHERE c.id = ? AND e.element = 'file' ORDER BY e.id
"""
_WHOLES = " ".join(
    f"WHEN substr(d.path, -{len(suffix)}) = CAST('{suffix}' AS BLOB) "
    f"THEN substr(d.path, 1, length(d.path) - {len(suffix)})"
    for suffix in FIRST_SUFFIXES
)
_IDS_OF_TWO = """
WITH matching AS MATERIALIZED (
    SELECT c.archive, c.place, c.path, count(*) AS number FROM cell c
    JOIN entry e ON e.xml_id = c.place AND e.path = c.path WHERE NOT c.inside GROUP BY c.id
)
SELECT o.archive, c.archive, sum(c.number * o.number), min(c.place) FROM matching c
JOIN matching o ON o.place = c.place AND o.path <> c.path AND c.archive < o.archive
GROUP BY o.archive, c.archive ORDER BY o.archive, c.archive
"""
_LISTED_APART = """
SELECT m.path, min(e.line), p.whole, count(*) FROM piece p JOIN entry e ON e.path = p.path
JOIN mets m ON m.id = e.mets
WHERE p.origin = 1 AND p.whole NOT GLOB '/*' AND e.element = 'file' AND e.groupid IS NULL
AND NOT EXISTS (SELECT 1 FROM mptr n WHERE n.part = e.xml_id) AND (SELECT count(*) FROM (
    SELECT 1 FROM piece o WHERE o.whole = p.whole AND o.origin = 1 LIMIT 2)) > 1
GROUP BY p.whole ORDER BY p.whole
"""
_BESIDE = f"""
SELECT c.archive, c.place, c.path, d.path FROM disk d CROSS JOIN cell c ON NOT c.inside
AND c.path = CASE {_WHOLES} END
WHERE d.kind = 'f' AND NOT EXISTS (SELECT 1 FROM cell o WHERE o.path = d.path AND NOT o.inside) ORDER BY c.id
"""  # noqa: S608 -- suffixes of parts
# A group holds LOBs if cells name one of its files; a METS with the archive holds other files too.
_UNNAMED = """
SELECT e.path, e.xml_id FROM entry e JOIN mets m ON m.id = e.mets
JOIN disk d ON d.path = e.path AND d.kind = 'f'
WHERE e.element = 'file'
AND (m.segment OR (m.parent IS NOT NULL AND e.xml_id GLOB '*s[0-9]*.t[0-9]*.c[0-9]*.r[0-9]*')
    OR (e.mets, e.grp) IN (SELECT f.mets, f.grp FROM cell c JOIN entry f ON f.path = c.path
        JOIN mets n ON n.id = f.mets AND n.parent IS NOT NULL
        WHERE NOT c.inside AND f.mets NOT IN (SELECT mets FROM entry WHERE filed IS NOT NULL)))
AND NOT EXISTS (SELECT 1 FROM cell c WHERE c.path = e.path AND NOT c.inside)
AND NOT EXISTS (SELECT 1 FROM section g WHERE g.id = e.grp AND g.is_other)
AND NOT EXISTS (SELECT 1 FROM mets o WHERE o.path = e.path) ORDER BY e.id
"""
# Only a parent IP needs an archive: it has children other than the METS of its representations (CSIP).
_WITHOUT_ARCHIVE = f"""
SELECT m.path, m.line FROM mets m WHERE m.id = 1 AND m.ok AND EXISTS (SELECT 1 FROM mets c WHERE c.parent = 1
    AND lower(CAST(substr(c.folder, length(m.folder) + 1, {len(REPRESENTATIONS_FOLDER) + 1}) AS TEXT))
    <> '{REPRESENTATIONS_FOLDER}/')
"""  # noqa: S608 -- the name of a folder
_PUT_DIGEST = """
INSERT INTO statement (source, path, boundary, algorithm, digest) VALUES ('archive', ?, ?, ?, ?)
"""
_PUT_LOBS = "UPDATE holding SET lobs = ?, lost = ?, inline = ? WHERE archive = ?"
_IN_ENTRY = """
SELECT place, length, algorithm, digest FROM cell WHERE path = ? AND inside AND archive = ?
"""


def findings(
    catalogue: Catalogue,
    places: CheckedTree,
    root: Path,
    progress: Moved,
    budgets: Budgets,
    *,
    whole: bool,
    sampled: bool = False,
) -> Iterator[Finding]:
    """Yield the findings on the SIARD archives that METS documents list, and on their cells.

    The cells go into the catalogue. With ``whole`` the bytes of every entry are read; with ``sampled`` only
    in archives of the sample.
    """
    listed = list(forms.listed(catalogue))
    files = Files(catalogue, root, places.agreement)
    if len({files.prefix(form.path) for form in listed}) < len(listed):
        places.agreement.put_all_back()  # LOBs of two archives may have one ID
    complete = read = 0
    for form in listed:
        if forms.is_there(catalogue, form):
            read_whole = whole and (not sampled or catalogue.is_marked(Mark.SAMPLED, form.files[0]))
            archive = _ArchiveCheck(catalogue, places, files, form, budgets=budgets, whole=read_whole)
            yield from archive.findings(progress)
            read += 1
            complete += archive.complete
    _put_back(catalogue, places.agreement, are_all_named=read > 0)
    for path, line in () if listed else catalogue.rows(_WITHOUT_ARCHIVE):
        yield Code.NO_SIARD.at(path, line)
    if catalogue.has("SELECT 1 FROM cell"):
        catalogue.put("CREATE INDEX IF NOT EXISTS entry_name ON entry (xml_id, path)")
        yield from _of_cells(catalogue, places, budgets.findings)
        for name, other, count, first in catalogue.rows(_IDS_OF_TWO) if len(listed) > 1 else ():
            facts = {"found": shown(other), "other": first, "count": f"{count:,}"}
            yield Code.IDS_OF_TWO_ARCHIVES.at(name, 0, first, **facts)
    if not whole or sampled:
        # Hashing shows which of the two is wrong; without it they are compared with each other.
        yield from _against_mets(catalogue)
    if read and complete == read:
        yield from _unnamed(catalogue, places)


def _unnamed(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Yield the findings on LOBs that no cell names, once all cells are in the catalogue."""
    if not catalogue.has(_UNNAMED):
        return
    places.agreement.put_all_back()  # below which folders there are others is reported
    together = grouping.FindingGroups()
    unnamed = grouping.make_folder_without_lookup(
        catalogue, "SELECT 1 FROM cell WHERE path > ? AND path < ? AND NOT inside"
    )
    for path, identifier in catalogue.rows(_UNNAMED):
        rule = Code.LOB_IN_NO_CELL
        finding = (rule.error_at if is_of_lob(identifier) else rule.at)(shown(path), 0, identifier or "")
        yield from together.take(unnamed(path), finding)
    yield from together.release()


_UNNAMED_IDS = """
SELECT e.xml_id FROM entry e JOIN mets m ON m.id = e.mets WHERE m.parent IS NOT NULL AND e.element = 'file'
AND e.path IS NOT NULL AND e.xml_id GLOB '*s[0-9]*.t[0-9]*.c[0-9]*'
AND NOT EXISTS (SELECT 1 FROM cell c WHERE c.path = e.path AND NOT c.inside)
"""


def _put_back(catalogue: Catalogue, agreement: Agreement, *, are_all_named: bool) -> None:
    """Put back agreed segments with files that single cells name, or that no cell names.

    A segment with a LOB ID that another METS lists too is put back as well.
    """
    agreement.put_named_back("cell")
    if are_all_named:
        agreement.put_unnamed_back()
    if agreement.held and (found := {name for (name,) in catalogue.rows(_UNNAMED_IDS)}):
        agreement.put_matching_back(found)


def _of_cells(catalogue: Catalogue, places: CheckedTree, most: int) -> Iterator[Finding]:
    """Yield the findings on the cells of all archives in the catalogue; ``most`` singly."""
    for name, place, path, length, size in catalogue.rows(_LENGTHS):
        yield Code.LENGTH_DIFFERS.at(
            name, 0, place, file=path, expected=f"{length:,}", found=counted(size, "byte")
        )
    yield from grouping.each_counted(catalogue, _TWICE, most, _lob_in_two_cells)
    if catalogue.number(_ANY_OTHER):
        places.agreement.put_all_back()  # the IDs of all cells are looked up
        catalogue.put("CREATE INDEX IF NOT EXISTS cell_place ON cell (place, path)")
        for name, place, path, other, mets, line in catalogue.rows(_OTHER_ROW):
            facts = {"file": shown(path), "found": other, "source": source_of(mets, line)}
            yield Code.CELL_OF_ANOTHER_LOB.at(name, 0, place, **facts)
        for name, count, first in catalogue.rows(_OF_NO_CELL):
            place, path, identifier, mets, line = catalogue.row(_OF_CELL, first) or ("", b"", "", b"", 0)
            facts = {"file": shown(path), "found": identifier, "source": source_of(mets, line)}
            yield Code.ID_OF_ANOTHER_CELL.at(name, 0, place, count=f"{count:,}", **facts)
    for mets, line, lob, count in catalogue.rows(_LISTED_APART):
        yield Code.PARTS_LISTED_APART.at(mets, line, lob, count=count)
    for name, place, path, part in catalogue.rows(_BESIDE):
        yield Code.PARTS_BESIDE_WHOLE.at(name, 0, place, file=path, found=part)


def _lob_in_two_cells(name: bytes, place: str, path: bytes, other: str) -> Finding:
    return Code.LOB_IN_TWO_CELLS.at(name, 0, place, file=path, other=other)


def _against_mets(catalogue: Catalogue) -> Iterator[Finding]:
    for name, place, path, algorithm, found, expected, mets, line in catalogue.rows(_AGAINST_METS):
        source = source_of(mets, line)
        facts = {"algorithm": algorithm, "found": found, "expected": expected, "source": source}
        yield Code.CELL_AGAINST_METS.at(name, 0, place, file=path, **facts)


class _ArchiveCheck:
    """The check of one archive; ``complete`` once all its cells are in the catalogue."""

    def __init__(
        self,
        catalogue: Catalogue,
        places: CheckedTree,
        files: Files,
        form: ArchiveForm,
        *,
        budgets: Budgets,
        whole: bool,
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._files = files
        self._form = form
        self._path = form.path
        self._budgets = budgets
        self._name = shown(form.path)
        self._whole = whole
        self._mapping = Mapping(catalogue, files, form.path)
        self._wrapping = ""
        self._reported: set[str] = set()
        name = self._name.rpartition("/")[2]
        self._notes = {words for (words,) in catalogue.rows(_NOTES, name)}
        self._routes = Routes(form.path)
        self._lobs = self._lost = self._inline = 0
        self.complete = False

    def findings(self, progress: Moved) -> Iterator[Finding]:
        try:
            container = forms.opened(
                self._form, self._catalogue, self._places, self._budgets, whole=self._whole
            )
        except CompressedError as error:
            found = self._places.held(self._form.files[0])[0].shown
            yield Code.ARCHIVE_PACKED.at(self._name, found=found, reason=error.message)
            return
        except (SourceError, OSError) as error:
            yield Code.CONTAINER.at(self._name, reason=self._reason(error))
            return
        with closing(container):
            if not self._form.is_unpacked and ARCHIVE_BYTES.fullmatch(self._path) is None:
                yield Code.ARCHIVE_NAME.at(self._name)
            yield from self._mapping.read(self._places)
            # The entries may be in one folder, which name_findings reports.
            self._wrapping = siard_entries.wrapping_root(container) or ""
            entries = siard_entries.WrappedTree(container, self._wrapping) if self._wrapping else container
            metadata = yield from self._metadata(entries)
            if metadata is not None:
                yield from self._of_metadata(entries, metadata)
            if self._whole:
                yield from name_findings(self._catalogue, container, self._name)
            if self._whole and isinstance(container, ZipContainer):  # else its files are the package's
                yield from self._entries(container, progress)
                yield from splitlobs.inside(self._catalogue, self._path, entries, progress)

    def _of_metadata(self, entries: Entries, metadata: Metadata) -> Iterator[Finding]:
        self.complete = True
        self._keep_holding(metadata)
        yield from self._content_digests(entries, metadata)
        yield from forms.versions(self._catalogue, self._form, entries, metadata.version)
        if metadata.empty_digests:
            yield Code.ARCHIVE_DIGEST_EMPTY.at(self._name, 0, siard_metadata.NAME)
        for table in metadata.tables:
            yield from self._table(entries, metadata, table)
        if self.complete:
            yield from unnamed(self._catalogue, entries, self._form, metadata)
        if (routes := self._routes.of_archive(metadata)).routes:
            self._catalogue.routes.append(routes)
        self._catalogue.put(_PUT_LOBS, self._lobs, self._lost, self._inline, self._path)

    def _keep_holding(self, metadata: Metadata) -> None:
        """Put the archive's content as stated in its metadata into the catalogue, for the report."""
        rows = [each.rows for each in metadata.tables if each.rows is not None]
        self._catalogue.put(
            "INSERT INTO holding VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, 0)",
            self._path,
            metadata.version,
            *(metadata.dbname, metadata.data_owner, metadata.origin_timespan, metadata.archival_date),
            *(metadata.schemas, len(metadata.tables)),
            sum(rows) if len(rows) == len(metadata.tables) else None,
        )

    def _metadata(self, container: Entries) -> Generator[Finding, None, Metadata | None]:
        extent = container.extent(siard_metadata.NAME)
        if extent is None:
            ending = f"/{siard_metadata.NAME}"
            near = next((name for name in container.names() if name.endswith(ending)), "")
            facts = {"expected": siard_metadata.NAME, "nearest": near}
            yield Code.NO_METADATA.at(self._name, 0, siard_metadata.NAME, **facts)
            return None
        if extent.size > self._budgets.metadata:
            most = f"{self._budgets.metadata:,} (--budget metadata=N)"
            reason = f"{siard_metadata.NAME} has {extent.size:,} bytes, more than {most}"
        else:
            try:
                data = b"".join(container.contents(extent))
            except SourceError as error:
                yield self._damaged(extent, error)
                return None
            try:
                return siard_metadata.read(data, elements=self._budgets.elements)
            except safexml.XmlError as error:
                reason = f"line {error.line}: {error.message}"
            except SourceError as error:
                reason = error.message
        yield Code.METADATA.at(self._name, 0, siard_metadata.NAME, reason=reason)
        return None

    def _damaged(self, extent: ZipExtent, error: SourceError) -> Finding:
        self._reported.add(extent.name)
        return Code.ENTRY.at(self._name, 0, extent.name, reason=self._reason(error))

    def _reason(self, error: Exception) -> str:
        """Return the message of an error without the package's present location."""
        where = str(self._places.location(self._form.files[0]))
        return str(error).removeprefix(f"{where}: ").replace(where, self._name)

    def _content_digests(self, container: Entries, metadata: Metadata) -> Iterator[Finding]:
        """Keep the messageDigests, which cover all bytes before the first entry of header/."""
        # A folder around an archive means that it was unpacked and packed anew.
        is_remade = self._form.is_unpacked or bool(self._wrapping)
        if self._whole:
            unread = metadata.unread_digests
            if unread or (is_remade and metadata.digests):
                reason = f"it is {unread[0]!r}" if unread else "it is of the zip file that was unpacked"
                yield Code.ARCHIVE_DIGEST_OPEN.at(self._name, 0, siard_metadata.NAME, reason=reason)
        if is_remade:
            return
        extents = (container.extent(name) for name in container.names("header/"))
        boundary = min((extent.offset for extent in extents if extent is not None), default=0)
        for digest in metadata.digests:
            if self._form.files[0] != self._form.path:  # it was cut
                splitlobs.put_archive(self._catalogue, self._path, self._form.files, boundary, digest)
            else:
                self._catalogue.put(_PUT_DIGEST, self._path, boundary, digest.algorithm, digest.value)

    def _table(self, container: Entries, metadata: Metadata, table: Table) -> Iterator[Finding]:
        extent = container.extent(table.path)
        if extent is None:
            is_noted = table.missing_note in self._notes
            self.complete = self.complete and is_noted
            code = Code.NO_TABLE_ACCEPTED if is_noted else Code.NO_TABLE
            yield code.at(self._name, 0, table.path, expected=table.path, table=table.name)
            return
        damage: list[SourceError] = []
        tally = tables.Tally()
        runs = tables.cell_runs(_watch(container.contents(extent), damage), table, self._budgets, tally)
        proof = partial(self._is_proven, container) if self._whole else None
        prefix = self._files.prefix(self._path)
        finder = ListedSearch(self._files, container, self._path, prefix, self._mapping.of, proof=proof)
        given = self._catalogue, finder, self._form, metadata, table
        reader = Cells(*given, files=self._files, routes=self._routes, notes=self._notes)
        try:
            for run in runs:
                self._lobs += len(run)
                yield from reader.take_run(run)
        except SourceError as error:
            self.complete = False
            if damage:
                yield self._damaged(extent, error)
            else:
                yield Code.TABLE.at(self._name, 0, table.path, reason=error.message)
        else:
            if expected := table.other_count(tally.rows):
                facts = {"found": f"{tally.rows:,}", "expected": expected}
                yield Code.ROWS_DIFFER.at(self._name, 0, table.path, **facts)
        self._lost += reader.lost
        self._inline += tally.inline
        if tally.both:
            facts = {"count": f"{tally.both:,}", "other": tally.first_of_both}
            yield Code.CELL_WITH_BOTH.at(self._name, 0, table.path, **facts)
        yield from reader.ended()

    def _is_proven(self, container: Entries, extents: Sequence[Extent], digest: Digest) -> bool:
        """Return whether bytes have a digest; False for unreadable ones."""
        hashers = Hashers((digest.algorithm,))
        try:
            for extent in extents:
                if isinstance(extent, ZipExtent):
                    hashers.take(container.contents(extent))
                else:
                    with self._places.content(path_of(extent.path)) as content:
                        hashers.take(content.chunks())
        except (SourceError, OSError):
            return False
        return hashers.digest(digest.algorithm) == digest

    def _entries(self, container: ZipContainer, progress: Moved) -> Iterator[Finding]:
        """Read every entry in the order of the file, and compare the entries that cells name."""
        for record in container.records():
            if record.is_directory or record.extent.name in self._reported:
                continue
            written = record.extent.name.removeprefix(self._wrapping)
            name = written.encode("utf-8", "surrogateescape")
            claims = self._catalogue.all(_IN_ENTRY, name, self._path)
            request = DigestRequest(
                algorithms=tuple(dict.fromkeys(algorithm for _, _, algorithm, _ in claims if algorithm)),
                as_text=any(length != record.extent.size for _, length, _, _ in claims),
            )
            try:
                hashed = reading.hash_blocks(container.contents(record.extent), request, progress)
            except SourceError as error:
                yield self._damaged(record.extent, error)
                continue
            for claim in claims:
                yield from self._claimed(record.extent, claim, hashed)

    def _claimed(self, extent: ZipExtent, claim: Row, hashed: Hashed) -> Iterator[Finding]:
        place, length, algorithm, expected = claim
        if algorithm is not None and (found := hashed.digests[algorithm]) != expected:
            facts = {"algorithm": algorithm, "expected": expected, "found": found, "file": extent.name}
            others = "no other checksum for this file is recorded in the package"
            source = f"cell {place}"
            yield Code.CELL_DIGEST_DIFFERS.at(self._name, 0, place, **facts, source=source, others=others)
        undecided = length is not None and sizes.is_possible(length, extent.size)
        if undecided and hashed.text is not None and hashed.text.unit(length) is None:
            facts = {"file": extent.name, "expected": f"{length:,}", "found": str(hashed.text)}
            yield Code.LENGTH_DIFFERS.at(self._name, 0, place, **facts)


def _watch(blocks: Iterable[bytes], damage: list[SourceError]) -> Iterator[bytes]:
    """Pass blocks on and keep the error that ends them, as opposed to one of the document."""
    try:
        yield from blocks
    except SourceError as error:
        damage.append(error)
        raise
