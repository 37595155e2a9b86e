"""Edit metadata.xml and tables: single values change, every other byte stays; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

from markupsafe import escape

from metspack import digests
from metspack.digests import Hashers
from metspack.limits import Budgets
from metspack.model import CellRun, Digest
from metspack.siard import metadata, offsets
from metspack.siard.metadata import Table
from metspack.siard.offsets import Element, Encoding, detected, tag_end
from metspack.siard.tables import CellReader, Tally, pieces

# ASCII only: in Latin-1, a byte of a longer character may look like a no-break space.
_ATTRIBUTE = re.compile(r"""\s([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.ASCII)
# The form of nearly all tags; in 8-bit pages that extend ASCII its bytes are whole characters.
_USUAL = re.compile(rb"""<[A-Za-z0-9_:.-]+(?: [A-Za-z]+="[^"]*")*? file="([^"]*)\"""")
_HEAD = 1024  # bytes that contain the XML declaration
# Edits of columns need only name and lobFolder: the rest of very many columns would fill the memory.
_UNEDITED = metadata.NOT_NEEDED | {
    *("type", "typeOriginal", "typeSchema", "typeName", "mimeType", "nullable", "defaultValue"),
    *("cardinality", "description", "primaryKey", "rows"),
}
_PREFIXES = {"MD5": "MD5", "SHA-1": "SHA-1", "SHA-256": "SHA-256:"}  # SIARD 2.0 D.1, messageDigestType


NewCells = tuple[Sequence[str], Sequence[Digest | None]]
"""The new ``file`` of each cell of a run, unescaped, and the new digests, if there are any."""

CellValues = Callable[[CellRun], NewCells | None]
"""Returns the new values of cells, or None for cells that stay as they are."""


class Edit(NamedTuple):
    """A replacement of bytes ``start`` to ``stop`` by ``text``; an insertion has both equal."""

    start: int
    stop: int
    text: str


def edited(data: bytes, edits: Iterable[Edit], encoding: Encoding) -> bytes:
    """Return a document with non-overlapping edits applied, in the encoding of the document."""
    pieces: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.start, each.stop)):
        pieces += (data[at : edit.start], encoding.encoded(edit.text))
        at = edit.stop
    return b"".join((*pieces, data[at:]))


def spliced_table(
    blocks: Iterable[bytes],
    table: Table,
    budgets: Budgets,
    value: CellValues,
    *,
    version: str,
) -> Iterator[bytes]:
    """Yield a table's document with the new values of its LOB cells.

    ``value`` is called with the cells in document order. Existing attributes get new values in their form; an
    absent digest is added after ``file`` in the form of the archive's ``version``:
    ``messageDigest="MD5<hex>"`` in 2.0, ``digestType`` and ``digest`` from 2.1 on (6.2). All other bytes
    stay. Raises ``SourceError`` as ``cell_runs`` does, and ValueError for a digest that the version cannot
    express: an added one in 1.0, and one that is neither MD5, SHA-1 nor SHA-256.
    """
    reader = CellReader(table, budgets, Tally())
    splicer = Splicer(table.path)
    for block, final in pieces(blocks):
        splicer.take(block)
        edits = [
            edit
            for run in reader.feed(block, final=final)
            for edit in _run_edits(run, value, splicer, version=version)
        ]
        yield splicer.edited(edits, None if final else reader.position)


class Splicer:
    """A document that is read and edited block by block.

    ``data`` are the bytes that were taken and not yet returned; they begin at the offset ``base``.
    """

    def __init__(self, what: str) -> None:
        self.data = b""
        self.base = 0
        self._head = b""
        self._what = what

    @cached_property
    def encoding(self) -> Encoding:
        """The document's encoding, for use once its declaration was taken."""
        return detected(self._head, self._what)

    def take(self, block: bytes) -> None:
        """Add the next bytes."""
        self.data += block
        self._head += block[: _HEAD - len(self._head)]

    def edited(self, edits: Iterable[Edit], position: int | None) -> bytes:
        """Return the edited bytes of ``data`` up to an offset of the document, or all of them."""
        given: list[bytes] = []
        at = 0
        for start, stop, text in edits:
            given += self.data[at:start], self.encoding.encoded(text)
            at = stop
        done = len(self.data) if position is None else max(at, position - self.base)
        given.append(self.data[at:done])
        self.data = self.data[done:]
        self.base += done
        return b"".join(given)


def _run_edits(run: CellRun, value: CellValues, splicer: Splicer, *, version: str) -> Iterator[Edit]:
    """Yield the edits that give cells their new values."""
    if (new := value(run)) is None:
        return
    data, base, encoding = splicer.data, splicer.base, splicer.encoding
    # Escaped together, as one by one takes twice as long; no text of XML has a NUL.
    texts = str(escape("\0".join(new[0]))).split("\0")
    stated = new[1] or repeat(None, len(texts))
    for number, (text, digest, start) in enumerate(zip(texts, stated, run.starts, strict=True)):
        is_moved = new[0][number] != run.files[number]
        if digest is not None and digest != run.at(number).digest:
            values = {"file": text} if is_moved else {}
            yield from _cell_edits(data, start - base, encoding, values, digest, version=version)
        elif is_moved:
            yield Edit(*_file_span(data, start - base, encoding), text)


def _file_span(data: bytes, start: int, encoding: Encoding) -> tuple[int, int]:
    """Return the offsets of the value of ``file`` in the start tag at ``start``."""
    if encoding.unit == 1 and (found := _USUAL.match(data, start)) is not None:
        return found.span(1)
    value = tag_attributes(data, start, encoding, _FILE)["file"]
    return value.start, value.stop


class AttributeValue(NamedTuple):
    """An attribute's value as written, and its offsets in the document, without the quotes.

    ``named`` is the offset of the attribute's name.
    """

    text: str
    start: int
    stop: int
    named: int


_FILE = frozenset({"file"})
_ALL = frozenset({"file", "length", "digestType", "digest", "messageDigest"})


def _cell_edits(
    data: bytes, start: int, encoding: Encoding, values: dict[str, str], digest: Digest, *, version: str
) -> list[Edit]:
    """Return the edits that give the start tag at ``start`` escaped values and a digest."""
    present = tag_attributes(data, start, encoding, _ALL)
    stated = _digest_values({name: each.text for name, each in present.items()}, digest, version)
    values = values | {name: str(escape(value)) for name, value in stated.items()}
    behind = max(present[name].stop for name in ("file", "length") if name in present) + encoding.unit
    edits = [
        Edit(start=present[name].start, stop=present[name].stop, text=value)
        for name, value in values.items()
        if name in present
    ]
    added = "".join(f' {name}="{value}"' for name, value in values.items() if name not in present)
    if added:
        edits.append(Edit(start=behind, stop=behind, text=added))
    return sorted(edits, key=lambda each: each.start)


def _digest_values(present: Mapping[str, str], digest: Digest, version: str) -> dict[str, str]:
    """Return the attributes that state a ``digest``, in the form of those ``present``."""
    declared = present.get("digestType", "").strip()
    held = [name for name in ("digest", "messageDigest") if present.get(name, "").strip()]
    if not held:
        if version == "1.0":
            raise ValueError("a SIARD 1.0 cell has no place for a digest")
        held = ["messageDigest" if version == "2.0" else "digest"]
    values: dict[str, str] = {}
    for name in held:
        text = present.get(name, "")
        old = digests.parsed(text, declared)
        if old is not None and old.algorithm == digest.algorithm:
            values[name] = digests.in_form_of(text, declared, digest)
        elif digest.algorithm not in _PREFIXES:
            raise ValueError(f"a SIARD cell has no place for a digest by {digest.algorithm}")
        elif declared or name == "digest":
            values = {"digestType": digest.algorithm, **values, name: digest.value}
        else:
            values[name] = f"{_PREFIXES[digest.algorithm]}{digest.value}"
    if digests.algorithm_name(declared) == digest.algorithm:
        values.pop("digestType", None)  # it keeps its spelling
    return values


def tag_attributes(
    data: bytes, start: int, encoding: Encoding, wanted: frozenset[str] | None = None
) -> dict[str, AttributeValue]:
    """Return the attributes of the start tag at ``start``, all or only the ``wanted`` ones."""
    raw = data[start : tag_end(data, start, encoding)]
    # In these encodings no byte of a longer character is ASCII: Latin-1 shows each quote at its byte.
    tag = raw.decode("latin-1" if encoding.unit == 1 else encoding.codec)
    found: dict[str, AttributeValue] = {}
    for each in _ATTRIBUTE.finditer(tag):
        if wanted is None or each[1] in wanted:
            named, (first, last) = each.start(1), each.span(2 if each[2] is not None else 3)
            text, before, width = tag[first:last], first, last - first
            if encoding.unit > 1:
                named, before = (len(tag[:at].encode(encoding.codec)) for at in (named, first))
                width = len(text.encode(encoding.codec))
            found[each[1]] = AttributeValue(
                text=text, start=start + before, stop=start + before + width, named=start + named
            )
            if wanted is not None and len(found) == len(wanted):
                break
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LobFolders:
    """The new lobFolder elements of an archive's metadata.xml.

    ``database`` is the database's lobFolder, or None without one. ``columns`` are those of columns, by the
    path of the table's document and the column's number from 1. ``fields`` are the fields that get their
    column's lobFolder in its place, by their numbers from the column inwards. All other columns and fields
    lose theirs. The ``folder`` (SIARD 1.0 and 2.0) of those columns, and of the ``renamed`` ones, whose cells
    now name their entries in full, is removed.
    """

    database: str | None = None
    columns: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    fields: Mapping[str, Mapping[int, AbstractSet[tuple[int, ...]]]] = field(default_factory=dict)
    renamed: Mapping[str, AbstractSet[int]] = field(default_factory=dict)


def edited_metadata(
    document: bytes, seals: Hashers, folders: LobFolders | None, *, depth: int = 100
) -> bytes:
    """Return a metadata.xml with new LOB folders and a new messageDigest.

    ``folders`` None keeps the LOB folders. ``seals`` has the digests of the new content by all algorithms in
    the document; each keeps its form (M_5.1). A new lobFolder follows dataOriginTimespan, or the column's
    name, as in the versions from 2.0 on.
    """
    root = offsets.document(document, skipped=_UNEDITED, depth=depth, what=metadata.NAME)
    source = MetadataDocument(document)
    edits = list(_digest_edits(root, seals))
    if folders is not None:
        edits += _database_edits(root, folders.database, source)
        edits += _column_edits(root, folders, source)
    return edited(document, edits, source.encoding)


class MetadataDocument:
    """The bytes of a metadata.xml; makes edits of it that keep its layout."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.encoding = detected(data[:_HEAD], metadata.NAME)
        self._blanks = {self.encoding.encoded(each) for each in " \t\r\n"}

    def replacing(self, element: Element, text: str) -> Edit:
        """Return the edit that gives an element another text."""
        if element.inner == element.stop:  # an empty-element tag has no content to be replaced
            return Edit(start=element.start, stop=element.stop, text=tagged(element, element.name, text))
        return Edit(start=element.inner, stop=element.inner_stop, text=str(escape(text)))

    def with_folder(self, element: Element, folder: str) -> Edit:
        """Return the edit that gives a column or field a lobFolder."""
        present = element.child("lobFolder")
        if present is not None:
            return self.replacing(present, folder)
        return self.inserting(element, ("name",), folder)

    def inserting(self, above: Element, before: Iterable[str], text: str) -> Edit:
        """Return the edit that inserts a lobFolder after a child, with the child's indentation.

        The child is the first that exists of those named in ``before``; without any, the lobFolder becomes
        the first child.
        """
        child = next((found for name in before if (found := above.child(name)) is not None), None)
        if child is not None:
            text = f"{self.indent(child.start)}{tagged(child, 'lobFolder', text)}"
            return Edit(start=child.stop, stop=child.stop, text=text)
        added = tagged(above, "lobFolder", text)
        if above.inner == above.stop:
            opened = above.stop - 2 * self.encoding.unit  # where "/>" begins
            return Edit(start=opened, stop=above.stop, text=f">{added}</{tag_name(above, above.name)}>")
        return Edit(start=above.inner, stop=above.inner, text=added)

    def removing(self, element: Element) -> Edit:
        """Return the edit that removes an element, and the white space before it."""
        return Edit(start=self._gap(element.start), stop=element.stop, text="")

    def indent(self, start: int) -> str:
        """Return the white space before an offset."""
        return self.encoding.decoded(self.data[self._gap(start) : start])

    def _gap(self, start: int) -> int:
        """Return the offset at which the white space before an offset begins."""
        unit = self.encoding.unit
        while start >= unit and self.data[start - unit : start] in self._blanks:
            start -= unit
        return start


def tagged(like: Element, name: str, text: str) -> str:
    """Return an element with a text, in the namespace of another element."""
    tag = tag_name(like, name)
    return f"<{tag}>{escape(text)}</{tag}>"


def tag_name(like: Element, name: str) -> str:
    """Return the name of a tag in the namespace of another element."""
    return f"{like.prefix}:{name}" if like.prefix else name


def _database_edits(root: Element, folder: str | None, source: MetadataDocument) -> Iterator[Edit]:
    present = root.child("lobFolder")
    if folder is None:
        if present is not None:
            yield source.removing(present)
    elif present is not None:
        yield source.replacing(present, folder)
    else:
        yield source.inserting(root, ("dataOriginTimespan", "dataOwner", "dbname"), folder)


def _column_edits(root: Element, folders: LobFolders, source: MetadataDocument) -> Iterator[Edit]:
    elements = (table for schema in root.all("schemas", "schema") for table in schema.all("tables", "table"))
    for table, element in zip(metadata.tables_of(root), elements, strict=True):
        given = folders.columns.get(table.path, {})
        unfiled = given.keys() | folders.renamed.get(table.path, set())
        inner = folders.fields.get(table.path, {})
        for number, column in enumerate(element.all("columns", "column"), start=1):
            having = (inner.get(number) or {()}) if number in given else set()
            for numbers, each in _with_fields(column, ()):
                if numbers in having:
                    yield source.with_folder(each, given[number])
                elif (present := each.child("lobFolder")) is not None:
                    yield source.removing(present)
                if number in unfiled and (folder := each.child("folder")) is not None:
                    yield source.removing(folder)


def _with_fields(element: Element, above: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Element]]:
    """Yield a column or field and all fields below it, each with its numbers from the column on."""
    yield above, element
    for number, each in enumerate(element.all("fields", "field"), start=1):
        yield from _with_fields(each, (*above, number))


def _digest_edits(root: Element, seals: Hashers) -> Iterator[Edit]:
    for element in root.all("messageDigest"):
        value = element.child("digest") if element.children else element
        algorithm = element.value("digestType")
        if value is None or (old := digests.parsed(value.text, algorithm)) is None:
            continue
        text = digests.in_form_of(value.text, algorithm, seals.digest(old.algorithm))
        yield Edit(start=value.inner, stop=value.inner_stop, text=text)
