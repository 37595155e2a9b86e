"""metadata.xml of an archive whose LOBs have other places: spliced, never re-serialised; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from markupsafe import escape

from metspack import digests
from metspack.digests import Hashers
from metspack.siard import markup, metadata
from metspack.siard.encoding import Encoding, detected
from metspack.siard.markup import Element
from metspack.siard.metadata import Metadata
from metspack.siard.splicing import Edit, edited


@dataclass(frozen=True, slots=True, kw_only=True)
class LobFolders:
    """Where an archive's LOBs shall lie, as metadata.xml says it.

    ``database`` is the database's lobFolder, None for none; ``columns`` gives each column that has one
    its lobFolder: by table document, then by number from 1; all other columns and all fields lose theirs.
    A ``folder`` (SIARD 1.0 and 2.0) goes from those columns and from ``renamed`` ones, whose cells now
    name their entries in full.
    """

    database: str | None = None
    columns: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    renamed: Mapping[str, AbstractSet[int]] = field(default_factory=dict)


def described(document: bytes, seals: Hashers, folders: LobFolders | None, *, depth: int = 100) -> bytes:
    """Return a metadata.xml with other LOB folders, None to leave them, and with messageDigest made anew.

    ``seals`` holds the digests of the new content, at least those that the document has, each of which
    keeps its form (M_5.1). A lobFolder that was not there comes behind dataOriginTimespan, or behind the
    column's name, where the versions from 2.0 on have it.
    """
    root = markup.document(document, skipped=metadata.NOT_NEEDED, depth=depth, what=metadata.NAME)
    source = _Source(document, detected(document[:1024], metadata.NAME))
    edits = list(_digest_edits(root, seals))
    if folders is not None:
        edits += _database_edits(root, folders.database, source)
        edits += _column_edits(root, metadata.of(root), folders, source)
    return edited(document, edits, source.encoding)


class _Source:
    """The document's bytes, and the edits that look right among them."""

    def __init__(self, data: bytes, encoding: Encoding) -> None:
        self.data = data
        self.encoding = encoding
        self._blanks = {encoding.encoded(each) for each in " \t\r\n"}

    def replacing(self, element: Element, text: str) -> Edit:
        """Return the edit that gives an element another text."""
        if element.inner == element.stop:  # an empty-element tag: there is nothing between tags to replace
            return Edit(start=element.start, stop=element.stop, text=_tagged(element, element.name, text))
        return Edit(start=element.inner, stop=element.inner_stop, text=str(escape(text)))

    def inserting(self, above: Element, before: Iterable[str], text: str) -> Edit:
        """Return the edit that puts a lobFolder behind the first child there is, indented as that is.

        ``before`` are the names of such children; without any it becomes the first child.
        """
        child = next((found for name in before if (found := above.child(name)) is not None), None)
        if child is not None:
            indent = self.encoding.decoded(self.data[self._gap(child.start) : child.start])
            text = f"{indent}{_tagged(child, 'lobFolder', text)}"
            return Edit(start=child.stop, stop=child.stop, text=text)
        tagged = _tagged(above, "lobFolder", text)
        if above.inner == above.stop:
            opened = above.stop - 2 * self.encoding.unit  # where "/>" begins
            return Edit(start=opened, stop=above.stop, text=f">{tagged}</{_tag(above, above.name)}>")
        return Edit(start=above.inner, stop=above.inner, text=tagged)

    def removing(self, element: Element) -> Edit:
        """Return the edit that takes an element out, with the white space before it."""
        return Edit(start=self._gap(element.start), stop=element.stop, text="")

    def _gap(self, start: int) -> int:
        """Return where the white space before an offset begins."""
        unit = self.encoding.unit
        while start >= unit and self.data[start - unit : start] in self._blanks:
            start -= unit
        return start


def _tagged(like: Element, name: str, text: str) -> str:
    """Return an element in the namespace of another."""
    tag = _tag(like, name)
    return f"<{tag}>{escape(text)}</{tag}>"


def _tag(like: Element, name: str) -> str:
    return f"{like.prefix}:{name}" if like.prefix else name


def _database_edits(root: Element, folder: str | None, source: _Source) -> Iterator[Edit]:
    present = root.child("lobFolder")
    if folder is None:
        if present is not None:
            yield source.removing(present)
    elif present is not None:
        yield source.replacing(present, folder)
    else:
        yield source.inserting(root, ("dataOriginTimespan", "dataOwner", "dbname"), folder)


def _column_edits(root: Element, facts: Metadata, folders: LobFolders, source: _Source) -> Iterator[Edit]:
    elements = (table for schema in root.all("schemas", "schema") for table in schema.all("tables", "table"))
    for table, element in zip(facts.tables, elements, strict=True):
        given = folders.columns.get(table.path, {})
        unfiled = given.keys() | folders.renamed.get(table.path, set())
        for number, column in enumerate(element.all("columns", "column"), start=1):
            present = column.child("lobFolder")
            gone = [column.child("folder") if number in unfiled else None]
            if number not in given:
                gone.append(present)
            elif present is not None:
                yield source.replacing(present, given[number])
            else:
                yield source.inserting(column, ("name",), given[number])
            for each in _fields(column):
                gone += (each.child("lobFolder"), each.child("folder") if number in unfiled else None)
            yield from (source.removing(found) for found in gone if found is not None)


def _fields(element: Element) -> Iterator[Element]:
    for each in element.all("fields", "field"):
        yield each
        yield from _fields(each)


def _digest_edits(root: Element, seals: Hashers) -> Iterator[Edit]:
    for element in root.all("messageDigest"):
        value = element.child("digest") if element.children else element
        algorithm = element.value("digestType")
        if value is None or (old := digests.parsed(value.text, algorithm)) is None:
            continue
        text = digests.in_form_of(value.text, algorithm, seals.digest(old.algorithm))
        yield Edit(start=value.inner, stop=value.inner_stop, text=text)
