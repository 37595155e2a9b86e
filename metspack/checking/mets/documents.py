"""Read METS documents into the catalogue; yield findings that need only the document."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count, islice, repeat

from metspack import digests, safexml, uris
from metspack.checking.archives import forms
from metspack.checking.catalogue import PUT_OBJECT, Batch, Catalogue, Mark, Row
from metspack.checking.codes import Code
from metspack.checking.eark.folders import Claims
from metspack.checking.mets.entries import FILES, PUT_ENTRY, FileGroups
from metspack.checking.mets.references import References
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Content, PackedError
from metspack.errors import MetspackError, StoreError
from metspack.files import reading
from metspack.files.paths import reason_of, shown
from metspack.files.reading import HolesRefused
from metspack.files.tempdb import BulkInsert
from metspack.layouts.names import SEGMENT_GROUP, FolderStyle
from metspack.mets import is_mets_name, reader, schema
from metspack.mets.fastreader import Run, check_links, condensed
from metspack.mets.links import SPLIT_LOBS, SPLITLOB, By, Mptr, bare
from metspack.mets.notes import SOURCE, note
from metspack.mets.schema import Blocks, Grammar, Validation
from metspack.model import Digest, Finding
from metspack.packages.metsfiles import (
    ARCHIVES,
    has_archive,
    is_auxiliary,
    is_of_lob,
    may_be_children,
    plain_files,
    split_lob,
)
from metspack.stores.client import ObjectChanged
from metspack.uris import Repair

_PUT_FPTR = "INSERT INTO fptr (mets, fileid, line, div) VALUES (?, ?, ?, ?)"
_DELETE_FPTRS = "DELETE FROM fptr WHERE rowid > ? AND div IS NULL"
_BITS = 128
_MANY_LINKS = 2_000  # from so many on, all are counted before the rest is read


class Pointers:
    """The IDs of a document's files and its fptrs' FILEIDs, in order; ``mets`` is its number."""

    def __init__(self, catalogue: Catalogue, mets: int) -> None:
        self._catalogue = catalogue
        self._mets = mets
        self._files = self._pointed = 0
        self._before = catalogue.number("SELECT max(rowid) FROM fptr")

    def add_files(self, identifiers: Iterable[str]) -> None:
        """Take the IDs of files."""
        self._files += sum_of_hashes(list(identifiers))

    def add(self, fileids: Sequence[str], line: int, step: int = 0) -> None:
        """Take the FILEIDs of fptrs: the first line, and the step to each next one."""
        self._pointed += sum_of_hashes(fileids)
        rows = zip(repeat(self._mets), fileids, count(line, step), repeat(None), strict=False)
        self._catalogue.put_many(_PUT_FPTR, rows)

    def end(self) -> None:
        """Note in the catalogue that files and fptrs agree, and drop the fptrs then."""
        if self._pointed and self._files == self._pointed:
            self._catalogue.put("UPDATE mets SET pointed = 1 WHERE id = ?", self._mets)
            self._catalogue.put(_DELETE_FPTRS, self._before)


def sum_of_hashes(texts: Sequence[str]) -> int:
    """Return the sum of the hashes of texts, and their number above its bits."""
    # Python's hash of a text has 64 bits, and a key that each process draws: no document can aim at a sum.
    return (len(texts) << _BITS) + sum(map(hash, texts))


_SIZE = re.compile(r"[0-9]{1,18}")

_TYPES = {"PHYSICAL", "LOGICAL", "LOBPOINTER", SPLITLOB}  # of structMaps, in METS and in the recommendation
_OAIS = "OAISPACKAGETYPE"

_MPTRS = BulkInsert(
    "mptr (mets, url, up, map, part, named_by, ancestor, childward, sibling, lob, place, child,"
    " href, line, div)",
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?{0}, ?{1}, ?{2}",
    per_row=3,
)
# The first entry of the parent stands for all; digests by other algorithms need another reading.
_ALGORITHMS = """
SELECT algorithm FROM manifest UNION
SELECT (SELECT e.algorithm FROM entry e WHERE e.mets = m.parent LIMIT 1) FROM mets m WHERE m.id = ?
"""
_PUT_READ = "INSERT INTO statement (source, path, size, algorithm, digest) VALUES ('read', ?, ?, ?, ?)"
_PUT_PACKAGE_TYPE = "UPDATE mets SET package_type = ? WHERE id = ?"
_PUT_TECHNICAL = """
INSERT INTO technical VALUES (?1, ?4, ?2, ?3, ?3, ?5, ?5) ON CONFLICT DO UPDATE SET
    line = min(line, excluded.line),
    smallest = coalesce(min(smallest, excluded.smallest), smallest, excluded.smallest),
    largest = coalesce(max(largest, excluded.largest), largest, excluded.largest),
    first = coalesce(min(first, excluded.first), first, excluded.first),
    last = coalesce(max(last, excluded.last), last, excluded.last)
"""
# Objects in one section or amdSec with different digests describe several files, or a file and its source.
_OF_SECTION = """
SELECT nullif(algorithm, ''), first, line, CASE WHEN smallest = largest THEN smallest END FROM technical
WHERE xml_id = ? AND first IS last ORDER BY algorithm = '', length(first) DESC
"""
_PUT_IDENT = "INSERT INTO ident (mets, xml_id, element, line) VALUES (?, ?, ?, ?)"


def of_opening(path: bytes, error: OSError | MetspackError) -> Finding:
    """Return the finding on an unreadable file; raise the error of an object store again."""
    if isinstance(error, StoreError | ObjectChanged):  # the package is unread then
        raise error
    if isinstance(error, PackedError):
        return Code.PACKED_DAMAGED.at(path, reason=error.message)
    if isinstance(error, HolesRefused):
        return Code.UNREADABLE.at(path, reason=f"{error.message} (--budget holes=N)")
    if isinstance(error, MetspackError):
        return Code.SPECIAL.at(path)
    if error.errno == errno.EISDIR:
        return Code.DIRECTORY.at(path, expected=path)
    if error.errno == errno.ELOOP:
        return Code.SYMLINK.at(path)
    return Code.UNREADABLE.at(path, reason=reason_of(error))


STRICT_MOST = 64 << 20
"""Bytes of the largest document for the second engine, whose memory is about ten times that."""


def schema_findings(name: str, validation: Validation, blocks: Blocks) -> Iterator[Finding]:
    """Yield the findings on the invalid elements of a document that the validation watched."""
    try:
        for line, place, reason in validation.faults(blocks):
            yield Code.NOT_VALID.at(name, line, place, reason=reason)
    except safexml.XmlError as error:
        # The first reading found it well-formed: a fault without a line is one of libxml2's limits.
        code = Code.NOT_WELL_FORMED if error.line else Code.BUDGET
        yield code.at(name, error.line, reason=error.message)
    if validation.further:
        yield Code.MORE_NOT_VALID.at(name, count=validation.further)


def strict_findings(
    name: str, blocks: Blocks, grammar: Grammar, *, most: int = STRICT_MOST
) -> Iterator[Finding]:
    """Yield the findings of the second engine; one too large for it has a finding too.

    Raises ``ConfigError`` as ``schema.strict_faults`` does.
    """
    faults = schema.strict_faults(blocks, grammar, most=most)
    if faults is None:
        yield Code.SECOND_ENGINE_LEFT_OUT.at(name, expected=f"{most:,}")
        return
    for line, _, reason in islice(faults, schema.SHOWN):
        yield Code.SECOND_ENGINE.at(name, line, reason=reason)
    if count := sum(1 for _ in faults):
        yield Code.MORE_NOT_VALID.at(name, count=f"{count:,}")


class DocumentReader:
    """Reads one METS document into the catalogue, where ``mets.id`` is its number."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, mets: int, path: bytes, claims: Claims
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._claims = claims
        self._mets = mets
        self._path = path
        self._looking = looking = claims.looking
        self._grammar = looking.grammar or schema.project_grammar()
        self._name = shown(path)
        self._batch = Batch(catalogue.put_many)
        self._pointers = Pointers(catalogue, mets)
        self._groups = FileGroups(catalogue, mets)
        self._files = self._links = self._refused = 0
        self._leads = self._is_map_reported = self._has_objects = self._are_objects_new = False
        self._division = 0  # of the last mptr
        self._repairs: dict[
            Repair | None, tuple[int, int, str]
        ] = {}  # None: an absolute path of this computer
        self._is_here_needed = False
        self._objid = ""
        self._fptr: str | None = None  # the FILEID of the last fptr in the structMap

    def findings(self) -> Iterator[Finding]:
        """Read the document and yield the findings on it; its content never raises an error."""
        agreement = self._places.agreement
        segment = agreement.holding(self._path)
        if segment is not None and segment.mets == self._path:
            # The files of a held segment have no findings, and each has its fptr.
            agreement.put_apart(segment, self._mets)
            self._claims.keep(segment)
            sql = "UPDATE mets SET size = ?, ok = 1, pointed = 1 WHERE id = ?"
            self._catalogue.put(sql, segment.size, self._mets)
            self._keep_digests(segment.size, segment.digests)
            for fact in segment.facts:
                yield from self._take(fact)
        else:
            agreement.put_holding_back(self._path)  # if it is a file of a segment
            try:
                with self._places.content(self._path) as content:
                    self._catalogue.put("UPDATE mets SET size = ? WHERE id = ?", content.size, self._mets)
                    yield from self._parse(content)
            except (OSError, MetspackError) as error:
                yield from self._unopened(error)
        self._batch.flush()
        self._pointers.end()
        if self._has_objects:
            self._catalogue.put("DELETE FROM technical")
        self._catalogue.put("UPDATE mets SET leads = ? WHERE id = ?", self._leads, self._mets)
        yield from self._repaired()

    def _unopened(self, error: OSError | MetspackError) -> Iterator[Finding]:
        kind = self._catalogue.row("SELECT kind FROM disk WHERE path = ?", self._path)
        # A link or a special file was reported by the listing.
        if kind is None or kind[0] in {"f", "d"}:
            yield of_opening(self._path, error)
        if isinstance(error, HolesRefused):
            self._catalogue.mark(Mark.DONE, self._path)

    def _parse(self, content: Content) -> Iterator[Finding]:
        stated = {name for (name,) in self._catalogue.all(_ALGORITHMS, self._mets)} & digests.OCTETS.keys()
        hashers = digests.Hashers(stated)
        survey = self._claims.survey(self._path, content)
        validation = Validation(self._grammar)
        budgets = self._looking.budgets
        with References(self._name, budgets) as references:
            try:
                with closing(validation.watched(self._blocks(content, hashers))) as watched:
                    for each in condensed(
                        watched,
                        budgets,
                        sink=None if survey is None else survey.feed,
                        stands=None if survey is None else survey.takes,
                        validated=validation.instead,
                        watch=references.take,
                        has_links=True,
                    ):
                        if isinstance(each, reader.Identified):  # it has no findings, and there are many
                            self._keep_identified(each)
                        else:
                            yield from self._run(each) if isinstance(each, Run) else self._take(each)
            except safexml.XmlError as error:
                yield self._unparsed(error, content)
                if isinstance(error, safexml.BudgetError):
                    # A refused document has no links: a million would be a million findings.
                    self._batch.flush()
                    self._catalogue.put("DELETE FROM mptr WHERE mets = ?", self._mets)
                return
            if found := safexml.unusual_declaration(next(iter(content.chunks()), b"")):
                yield Code.DECLARATION.at(self._name, 1, found=found, expected="XML 1.0 in UTF-8")
            if not self._files:
                yield Code.NO_FILES.at(self._name)
            yield from schema_findings(self._name, validation, content.blocks)
            if self._looking.strict:
                yield from strict_findings(self._name, content.blocks, self._grammar)
            yield from references.findings(content.blocks)
        if survey is not None:
            survey.end()
        self._catalogue.put("UPDATE mets SET ok = 1 WHERE id = ?", self._mets)
        self._keep_digests(hashers.size, {name: hashers.digest(name).value for name in stated})

    def _keep_digests(self, size: int, found: Mapping[str, str]) -> None:
        """Keep the digests of the document's bytes, which are not read again for them."""
        rows = ((self._path, size, name, digest) for name, digest in found.items())
        self._catalogue.put_many(_PUT_READ, rows)

    def _blocks(self, content: Content, hashers: digests.Hashers) -> Iterator[bytes]:
        are_links_counted = False
        for block in reading.blocks(hashers.pass_on(content.chunks())):
            if self._links >= _MANY_LINKS and not are_links_counted:
                check_links(content.blocks, self._looking.budgets)
                are_links_counted = True
            yield block

    def _unparsed(self, error: safexml.XmlError, content: Content) -> Finding:
        if not content.size:
            reason = "it is empty, expected a METS document"
            return Code.NOT_WELL_FORMED.at(self._name, 1, reason=reason)
        if isinstance(error, reader.NotMets):
            facts = {"found": error.found, "expected": f"{{{reader.METS}}}mets"}
            return Code.NOT_METS.at(self._name, error.line, reason=error.message, **facts)
        code = Code.NOT_WELL_FORMED
        if isinstance(error, safexml.DoctypeError):
            code = Code.DTD
        elif isinstance(error, safexml.BudgetError):
            code = Code.BUDGET
        return code.at(self._name, error.line, reason=error.message)

    def _run(self, run: Run) -> Iterator[Finding]:
        """Take a run as a whole if its elements have no findings, otherwise element by element."""
        if isinstance(run.fact, reader.Fptr):
            fileids = [each.strip() for each in run.columns["fileid"]]
            self._fptr = fileids[-1]
            self._pointers.add(fileids, run.line, run.step)
            if run.fact.div and run.fact.div == self._division:
                for fact in run.facts():
                    self._keep_beside(fact)
        elif isinstance(run.fact, Mptr):
            if run.fact.is_misplaced or not uris.are_plain(run.columns["href"], behind_steps=True):
                for fact in run.facts():
                    yield from self._take(fact)
            else:
                self._keep_mptrs(run.fact, run)
        elif has_archive(run.fact, run) or (files := plain_files(run)) is None:
            for fact in run.facts():
                yield from self._take(fact)
        else:
            self._files += run.count
            self._leads |= may_be_children(run.fact, "\n".join(run.columns["href"]))
            if run.fact.element == "file":
                self._pointers.add_files(map(str.strip, run.columns["id"]))
            self._batch.flush()
            folder = self._places.resolved(self._path, uris.parsed("a"))[:-1]
            group = self._groups.number(run.fact.groups)
            first = self._catalogue.reserve("entry", run.count), 1
            shared = files.line, files.step, *first, self._mets, run.fact.element, group, files.algorithm
            self._catalogue.insert(FILES, (*shared, folder), files.columns)

    def _take(self, fact: reader.Fact) -> Iterator[Finding]:
        if isinstance(fact, reader.File):
            yield from self._file(fact)
        elif isinstance(fact, reader.Fptr):
            self._fptr = fact.fileid.strip()
            self._pointers.add([self._fptr], fact.line)
            self._keep_beside(fact)
        elif isinstance(fact, reader.Identified):
            self._keep_identified(fact)
        elif isinstance(fact, reader.StatedObject):
            self._keep_object(fact)
        elif isinstance(fact, Mptr):
            yield from self._mptr(fact)
        elif isinstance(fact, reader.Root):
            yield from self._take_root(fact)
        elif isinstance(fact, reader.StructMap):
            self._fptr = None
            yield from self._structmap(fact)
        elif isinstance(fact, reader.MetsHeader):
            found = (value for name, value in fact.attributes.items() if name.rpartition(":")[2] == _OAIS)
            self._catalogue.put(_PUT_PACKAGE_TYPE, next(found, None), self._mets)
        elif fact.role == SOURCE:
            yield from self._history(fact)

    def _history(self, agent: reader.Agent) -> Iterator[Finding]:
        """Keep METS's notes on archives and sources; yield those on messageDigests and styles."""
        styles: dict[str, str] = {}
        for archive, words in map(note, agent.notes):
            self._catalogue.put("INSERT INTO noted VALUES (?, ?)", archive, words)
            styles.update((archive, each.value) for each in FolderStyle if each.note == words)
            if digests.ReplacedDigest.parsed(words) is not None:
                facts = {"archive": archive, "reason": words}
                yield Code.ARCHIVE_DIGEST_REPLACED.at(self._name, agent.line, **facts)
        if styles:
            facts = {"found": ", ".join(styles), "other": " and ".join(dict.fromkeys(styles.values()))}
            yield Code.LOBS_IN_STYLE.at(self._name, agent.line, **facts)

    def _keep_identified(self, fact: reader.Identified) -> None:
        self._batch.add(_PUT_IDENT, self._mets, fact.id.strip(), fact.element, fact.line)

    def _keep_object(self, fact: reader.StatedObject) -> None:
        """Keep the statements of PREMIS in METS on a file for the file that names the section."""
        self._has_objects = self._are_objects_new = True
        size = int(fact.size) if _SIZE.fullmatch(fact.size) else None
        stated: list[Digest | None] = [
            found
            for name, text in fact.digests
            if (algorithm := digests.algorithm_name(name)) and (found := digests.parsed(text, algorithm))
        ]
        for identifier in fact.ids:
            for each in stated or [None]:
                values = ("", None) if each is None else (each.algorithm, each.value)
                self._batch.add(_PUT_TECHNICAL, identifier, fact.line, size, *values)

    def _technical(self, fact: reader.File, path: bytes | None) -> reader.File:
        """Return a file with the SIZE and CHECKSUM of PREMIS in METS where it lacks them.

        The other PREMIS statements on it are kept and compared like those of metadata files.
        """
        if fact.admid is None or not self._has_objects:
            return fact
        if self._are_objects_new:
            self._batch.flush()
            self._are_objects_new = False
        for identifier in fact.admid.split():
            for algorithm, digest, line, size in self._catalogue.all(_OF_SECTION, identifier):
                left_size, left_digest = size, (algorithm, digest)
                if fact.size is None and size is not None:
                    fact, left_size = replace(fact, size=str(size)), None
                if fact.checksum is None and digest is not None:
                    fact = replace(fact, checksum=digest, checksum_type=algorithm)
                    left_digest = (None, None)
                if left_size is not None or left_digest[1] is not None:
                    stated = (line, left_size, *left_digest)
                    self._batch.add(PUT_OBJECT, self._path, self._mets, fact.id, path, *stated)
        return fact

    def _keep_beside(self, fact: reader.Fact) -> None:
        """Keep an fptr in the division of the last mptr: both name one package."""
        if isinstance(fact, reader.Fptr) and fact.div and fact.div == self._division:
            self._batch.add(_PUT_FPTR, self._mets, fact.fileid.strip(), fact.line, fact.div)

    def _structmap(self, fact: reader.StructMap) -> Iterator[Finding]:
        """Yield a finding on a structMap whose LABEL is a TYPE."""
        self._is_map_reported = False
        label, kind = (fact.label or "").strip(), (fact.type or "").strip()
        if label.upper() in _TYPES and kind and kind.upper() not in _TYPES:
            yield Code.TYPE_AND_LABEL.at(self._name, fact.line, found=label, type=kind)

    def _take_root(self, root: reader.Root) -> Iterator[Finding]:
        self._objid = objid = (root.objid or "").strip()
        sql = "UPDATE mets SET objid = ?, bare = ?, line = ?, type = ? WHERE id = ?"
        self._catalogue.put(sql, objid or None, bare(objid) or None, root.line, root.type, self._mets)
        if not objid:
            yield Code.NO_OBJID.at(self._name, root.line)
        elif objid != root.objid:
            yield Code.OBJID_PADDED.at(self._name, root.line, found=root.objid or "")

    def _mptr(self, mptr: Mptr) -> Iterator[Finding]:
        href = mptr.href or ""
        if not href.strip():
            yield Code.MPTR_WITHOUT_HREF.at(self._name, mptr.line)
            return
        self._division = mptr.div
        self._links += 1
        if mptr.is_misplaced and not self._is_map_reported:
            self._is_map_reported = True
            facts = {
                "found": mptr.structmap_type or "none",
                "part": (mptr.contentids or "").strip() or "none",
            }
            yield Code.MAP_OF_ANOTHER_TYPE.at(self._name, mptr.line, **facts)
        if mptr.named_by is By.LOCATION and not mptr.is_ancestor:
            # The link may lead to a package beside this one, which is searched when the link is followed.
            *_, refused = self._located(href, mptr.line, "", may_leave=True, needed=True)
            if refused is not None:
                yield refused
        elif href != href.strip():
            self._count_repair(Repair.SURROUNDING_SPACE, mptr.line, href)
        self._catalogue.insert(_MPTRS, self._shared(mptr), ([href.strip()], [mptr.line], [mptr.div]))

    def _keep_mptrs(self, mptr: Mptr, run: Run) -> None:
        """Keep an mptr for each of a run, which differ only in their locations and divisions."""
        self._division = run.columns["div"][-1]
        self._links += run.count
        columns = run.columns["href"], run.lines, run.columns["div"]
        self._catalogue.insert(_MPTRS, self._shared(mptr), columns)

    def _shared(self, mptr: Mptr) -> Row:
        """Return an mptr's values that are equal in a run, in the order in which they are kept."""
        by, order = mptr.named_by, (mptr.order or "").strip()
        return (
            self._mets,
            by is By.LOCATION,
            mptr.is_upward,
            self._catalogue.structmap(mptr.structmap_type, mptr.structmap_label),
            mptr.contentids if mptr.is_of_part else None,
            by.value,
            mptr.is_ancestor,
            mptr.is_childward,
            f"{mptr.within} {int(order)}" if _SIZE.fullmatch(order) else None,
            *self._of_part(mptr),
        )

    def _of_part(self, mptr: Mptr) -> tuple[str | None, str | None, str | None]:
        """Return the LOB whose part an mptr leads to, the part's ORDER, and the child's bare OBJID.

        The child is None for the package itself.
        """
        if not mptr.is_of_part:
            return None, None, None
        # The fptr to the LOB comes before the divs of its parts (METS: a div's fptr, then its divs).
        child = bare(mptr.href or "")
        # A package that was merged from several holds the parts itself.
        is_same_package = child == bare(self._objid)
        return split_lob(mptr) or self._fptr, mptr.order, None if is_same_package else child

    def _file(self, fact: reader.File) -> Iterator[Finding]:
        self._files += 1
        if fact.id is not None and (identifier := fact.id.strip()) != fact.id:
            fact = replace(fact, id=identifier)  # XML Schema, whiteSpace of ID
        if fact.id is not None and fact.element == "file":
            self._pointers.add_files((fact.id,))
        path = None
        pseudo = False
        differs = None
        if fact.href is not None:
            needed = fact.element == "file" and not is_auxiliary(fact.groups, None)
            path, pseudo, refused = self._located(fact.href, fact.line, fact.id or "", needed=needed)
            is_of_mets = fact.element == "file" and is_mets_name(fact.href)
            if refused is not None and refused.code == Code.LEAVES_ROOT.id and is_of_mets:
                # The entry may name a child beside this package, which is searched with the links.
                differs = "outside"
            elif refused is not None:
                yield refused
                self._count_refused(fact.line)
        elif not (fact.embedded or fact.element == "mdRef" or SPLIT_LOBS in fact.groups):
            yield Code.NO_LOCATION.at(self._name, fact.line, fact.id or "", id=fact.id or "")
        if fact.embedded and fact.href is not None:
            yield Code.CONTENT_TWICE.at(self._name, fact.line, fact.id or "", href=fact.href)
        yield from self._further(fact)
        if fact.id is None and fact.element == "file":
            yield Code.NO_FILE_ID.at(self._name, fact.line, href=fact.href or "")
        self._leads |= may_be_children(fact, f"{fact.href}\n{shown(path or b'')}")
        fact = self._technical(fact, path)
        size, size_fault = self._size(fact)
        digest, digest_fault = self._digest(fact)
        yield from (each for each in (size_fault, digest_fault) if each is not None)
        self._put_entry(fact, (path, pseudo), (size, digest), differs)

    def _put_entry(
        self, fact: reader.File, place: Row, statement: tuple[int | None, Digest | None], differs: str | None
    ) -> None:
        (path, pseudo), (size, digest) = place, statement
        key = self._catalogue.reserve("entry", 1), self._mets, fact.element, fact.id, fact.groupid
        stated = size, digest and digest.algorithm, digest and digest.value
        where = self._groups.number(fact.groups), fact.line
        metadata = (fact.mdtype, fact.mimetype) if fact.element == "mdRef" else (None, None)
        further = *self._of_archive(path, fact), *metadata, differs
        self._batch.add(PUT_ENTRY, *key, *where, *stated, fact.href, path, pseudo, fact.seq, *further)

    def _count_refused(self, line: int) -> None:
        """Refuse a METS with too many references that are refused or lead out of the package."""
        self._refused += 1
        if self._refused > (most := self._looking.budgets.findings):
            raise safexml.BudgetError(
                f"more than {most:,} references lead out of the package or are none (--budget findings=N)",
                line=line,
            )

    def _further(self, fact: reader.File) -> Iterator[Finding]:
        """Take the further paths of a file: each must lead to the same bytes."""
        paths = dict.fromkeys(each for each in fact.others if each.strip() != (fact.href or "").strip())
        if paths:
            facts = {"href": fact.href or "", "other": next(iter(paths))}
            yield Code.SEVERAL_PATHS.at(self._name, fact.line, fact.id or "", **facts)
        for href in paths:
            path, pseudo, refused = self._located(href, fact.line, fact.id or "")
            if refused is not None:
                yield refused
                self._count_refused(fact.line)
            further = replace(fact, element="FLocat", id=None, groupid=None, seq=None, href=href)
            self._put_entry(further, (path, pseudo), (self._size(fact)[0], self._digest(fact)[0]), None)

    @staticmethod
    def _of_archive(path: bytes | None, fact: reader.File) -> tuple[bool | None, bool | None]:
        """Return whether an archive has its name and its fileGrp, or None twice for another file.

        A LOB may be a SIARD archive too: only the METS's fileGrp shows the package's archive.
        """
        if path is None or fact.element == "FLocat":
            return None, None
        filed = ARCHIVES in fact.groups
        named = forms.is_named(path, filed=filed)
        is_one = filed or (named and not any(map(SEGMENT_GROUP.fullmatch, fact.groups)))
        return (named, filed) if is_one else (None, None)

    def _located(
        self, href: str, line: int, place: str, *, may_leave: bool = False, needed: bool = False
    ) -> tuple[bytes | None, bool, Finding | None]:
        """Return the path that an href means, whether it was pseudo-absolute, and the finding on it.

        A location out of the package is no fault where it ``may_leave``; ``needed`` is True for files that
        restore has to read.
        """
        try:
            reference = uris.located(href)
            if (path := self._places.here(reference)) is not None:
                self._count_repair(None, line, href)
                self._is_here_needed |= needed
                return path, False, None
            if reference.kind is uris.Kind.ABSOLUTE and Repair.PSEUDO_ABSOLUTE not in reference.repairs:
                return None, False, None if may_leave else self._left(line, place, href)
            path = self._places.resolved(self._path, reference)
        except uris.ReferenceRefused as error:
            if error.rule in {"leaves-root", "drive"}:
                return None, False, None if may_leave else self._left(line, place, href)
            return None, False, Code.REFUSED.at(self._name, line, place, href=href, reason=error.message)
        for repair in reference.repairs:
            # A repaired path exists, or its first name does: in a pack folders may have no entries.
            starts = (path.split(b"/", 1)[0], path)
            if repair is not Repair.PSEUDO_ABSOLUTE or any(map(self._places.is_there, starts)):
                self._count_repair(repair, line, href)
        return path, Repair.PSEUDO_ABSOLUTE in reference.repairs, None

    def _left(self, line: int, place: str, href: str) -> Finding:
        near = self._places.nearest_inside(self._path, href)
        return Code.LEAVES_ROOT.at(self._name, line, place, href=href, nearest=near)

    def _size(self, fact: reader.File) -> tuple[int | None, Finding | None]:
        text = (fact.size or "").strip()
        if _SIZE.fullmatch(text):
            return int(text), None
        if fact.size is not None:
            return None, Code.MALFORMED_SIZE.at(self._name, fact.line, fact.id or "", found=fact.size)
        if fact.href is None:
            return None, None
        return None, Code.NO_SIZE.at(self._name, fact.line, fact.id or "", expected=fact.href)

    def _digest(self, fact: reader.File) -> tuple[Digest | None, Finding | None]:
        where = (self._name, fact.line, fact.id or "")
        if fact.checksum is None:
            listed = fact.href or (fact.id if SPLIT_LOBS in fact.groups else None)
            return None, None if listed is None else Code.NO_DIGEST.at(*where, expected=listed)
        algorithm = digests.algorithm_name(fact.checksum_type or "")
        if algorithm is None:
            found, supported = fact.checksum_type or "", ", ".join(digests.OCTETS)
            reason = f"CHECKSUMTYPE is {found!r}" if found else "CHECKSUM has no CHECKSUMTYPE"
            rule = Code.UNKNOWN_ALGORITHM
            at = rule.error_at if is_of_lob(fact.id, fact.groups) else rule.at
            return None, at(*where, found=found, reason=reason, expected=supported)
        digest = digests.parsed(fact.checksum, algorithm)
        if digest is None:
            return None, Code.MALFORMED_DIGEST.at(
                *where, found=fact.checksum, expected=2 * digests.OCTETS[algorithm], algorithm=algorithm
            )
        return digest, None

    def _count_repair(self, repair: Repair | None, line: int, href: str) -> None:
        """Count a repaired location; the first is the example in the message."""
        count, first, example = self._repairs.get(repair, (0, line, href))
        self._repairs[repair] = (count + 1, first, example)

    def _repaired(self) -> Iterator[Finding]:
        if (here := self._repairs.pop(None, None)) is not None:
            count, line, href = here
            at = Code.ABSOLUTE_HERE.error_at if self._is_here_needed else Code.ABSOLUTE_HERE.at
            yield at(self._name, line, count=count, href=href)
        for repair, (count, line, href) in self._repairs.items():
            if repair is Repair.PSEUDO_ABSOLUTE:
                yield Code.PSEUDO_ABSOLUTE.at(self._name, line, count=count, href=href)
            elif repair is not None:
                yield Code.REPAIRED.at(self._name, line, count=count, reason=repair.value, href=href)
