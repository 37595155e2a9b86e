"""Upgrade an archive's metadata from SIARD 1.0 to 2.2 by edits, with notes on losses; pure.

Only names, namespaces and the few elements that have another form in 2.2 change. A type or a name that 2.2
lacks is refused; other values without a place there are left out and reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from metspack import digests
from metspack.errors import SourceError
from metspack.siard import metadata, offsets, schemas
from metspack.siard.edits import Edit, MetadataDocument, edited, tag_attributes, tagged
from metspack.siard.metadata import unescaped
from metspack.siard.offsets import Element, Encoding
from metspack.sizes import counted

SOURCE, TARGET = "1.0", "2.2"
"""The versions that an archive is upgraded from and to."""
VERSION_FOLDER = f"header/siardversion/{TARGET}/"
"""The folder by which the version of an archive is recognised (SIARD 2.2 P_4.2-4)."""
VERSION_FOLDERS = "header/siardversion/"
METADATA_SCHEMA = "header/metadata.xsd"
"""The schema that every archive has (SIARD 2.2 P_4.2-5)."""

_FOLDER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9][A-Za-z0-9_]*")
_ENTRY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?")
_HINT = "Leave --siard-version out, or have the archive corrected by those who made it."


Upgrade = Mapping[str, AbstractSet[int]]
"""The numbers of columns whose cells have attributes, by the path of the table's document."""


def refusal(faults: list[str], what: str) -> SourceError:
    """Return the error for faults by which an archive cannot be written as SIARD 2.2."""
    return SourceError(
        f"{what} cannot be written as SIARD {TARGET}: {faults[0]}"
        + (f" ({counted(len(faults), 'fault')} in all)" if len(faults) > 1 else ""),
        hint=_HINT,
        details=faults[1:],
    )


def upgraded_metadata(
    document: bytes, *, depth: int = 100, what: str = "the archive"
) -> tuple[bytes, tuple[str, ...]]:
    """Return a metadata.xml of SIARD 1.0 as one of 2.2, and notes on values left out or made.

    Raises ``SourceError``, naming table and column, for types and names that 2.2 lacks, and for a document
    that would have other elements than 2.2 has.
    """
    root = offsets.document(document, depth=depth, what=metadata.NAME)
    work = _MetadataUpgrade(MetadataDocument(document))
    work.upgrade(root)
    if work.faults:
        raise refusal(work.faults, what)
    made = edited(document, work.edits, work.source.encoding)
    if faults := [f"{metadata.NAME}: {each}" for each in schemas.faults(made)]:
        raise refusal(faults, what)
    return made, tuple(work.notes())


class _MetadataUpgrade:
    """The edits that upgrade one metadata.xml, the faults that prevent it, and notes on losses."""

    def __init__(self, source: MetadataDocument) -> None:
        self.source = source
        self.edits: list[Edit] = []
        self.faults: list[str] = []
        self._left: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def notes(self) -> Iterator[str]:
        """Yield a note for each kind of value that was left out or made."""
        for what, number in self._left.items():
            first = self._first[what]
            yield f"{what}: {first}" if number == 1 else f"{what}: {number:,}, the first {first}"

    def _note(self, what: str, where: str) -> None:
        self._left[what] += 1
        self._first.setdefault(what, where)

    def upgrade(self, root: Element) -> None:
        """Add the edits, faults and notes of the whole document."""
        data, encoding = self.source.data, self.source.encoding
        self.edits += root_edits(data, root.start, encoding, root.prefix, schemas.METADATA_SPACE)
        self._check_namespaces(root, root.prefix, is_root=True)
        for each in root.all("messageDigest"):
            self._digest(each)
        for schema in root.all("schemas", "schema"):
            self._schema(schema)
        if root.child("users") is None and (before := root.child("schemas")) is not None:
            text = f"{self.source.indent(before.start)}{tagged(before, 'users', '')}"
            self.edits.append(Edit(start=before.stop, stop=before.stop, text=text))

    def _check_namespaces(self, element: Element, prefix: str, *, is_root: bool = False) -> None:
        is_declared = not is_root and any(each.startswith("xmlns") for each in element.attributes)
        if is_declared or element.prefix != prefix:
            self.faults.append(f"{metadata.NAME} line {element.line}: <{element.name}> has its own namespace")
        for each in element.children:
            self._check_namespaces(each, prefix)

    def _digest(self, element: Element) -> None:
        if element.children:
            return
        text = element.text.strip()
        if (found := stated_digest(text)) is not None:
            inner = tagged(element, "digestType", found[0]) + tagged(element, "digest", found[1])
            self.edits.append(Edit(start=element.inner, stop=element.inner_stop, text=inner))
            return
        self.edits.append(self.source.removing(element))
        if text:
            self._note("a messageDigest that SIARD 2.2 has no form for is left out", repr(text))

    def _schema(self, schema: Element) -> None:
        name = _name(schema)
        self._folder(schema, f"schema {name}")
        for table in schema.all("tables", "table"):
            label = f"{name}.{_name(table)}"
            self._folder(table, f"table {label}")
            self._columns(table, f"table {label}")
            self._keys(table, label)
        for view in schema.all("views", "view"):
            self._columns(view, f"view {name}.{_name(view)}")
        self._routines(list(schema.all("routines", "routine")), name)

    def _folder(self, element: Element, where: str) -> None:
        folder = element.value("folder") or ""
        if not _FOLDER_NAME.fullmatch(folder):
            self.faults.append(f"{where} has the folder {folder!r}, a name that SIARD 2.2 lacks (P_4.2-6)")

    def _columns(self, table: Element, where: str) -> None:
        for column in table.all("columns", "column"):
            name = _name(column)
            self._type(column, f"{where}, column {name}")
            if (folder := column.child("folder")) is not None:
                self.edits.append(self.source.removing(folder))
                what = "SIARD 2.2 has no folder of a column: left out, for cells name their entries in full"
                self._note(what, f"{folder.text.strip()!r} of {where}, column {name}")
            default, nullable = column.child("defaultValue"), column.child("nullable")
            if default is not None and nullable is not None and default.start < nullable.start:
                self.edits.append(self.source.removing(nullable))
                data = self.source.data[nullable.start : nullable.stop]
                text = self.source.encoding.decoded(data) + self.source.indent(default.start)
                self.edits.append(Edit(start=default.start, stop=default.start, text=text))

    def _type(self, element: Element, where: str) -> None:
        kind = element.child("type")
        if kind is None:
            return  # ``schemas.faults`` reports an absent type
        notation = schemas.notation(kind.text)
        if notation is None:
            self.faults.append(f"{where} has the type {kind.text.strip()!r}, which SIARD 2.2 lacks")
        elif notation != kind.text:
            self.edits.append(self.source.replacing(kind, notation))

    def _keys(self, table: Element, label: str) -> None:
        for key in table.all("primaryKey"):
            if key.child("name") is None and key.children:
                first = key.children[0]
                made = f"PK_{table.value('name')}"
                self._insert_before(first, "name", made)
                self._note("a primary key has a name in SIARD 2.2, so one was made", f"{made} of {label}")
        for key in table.all("foreignKeys", "foreignKey"):
            for action in ("deleteAction", "updateAction"):
                for element in key.all(action):
                    self._action(element, f"foreign key {_name(key)} of {label}")

    def _action(self, element: Element, where: str) -> None:
        values = schemas.ENUMERATIONS[element.name]
        if element.text in values:
            return
        plain = " ".join(element.text.upper().split())
        if plain in values:
            self.edits.append(self.source.replacing(element, plain))
            return
        self.edits.append(self.source.removing(element))
        if plain:
            what = f"the {element.name} of a foreign key that SIARD 2.2 lacks is left out"
            self._note(what, f"{element.text.strip()!r} of {where}")

    def _routines(self, routines: list[Element], schema: str) -> None:
        names = [_name(each) for each in routines]
        taken, numbers = set(names), Counter[str]()
        for routine, name in zip(routines, names, strict=True):
            for parameter in routine.all("parameters", "parameter"):
                self._type(parameter, f"routine {schema}.{name}, parameter {_name(parameter)}")
            first = routine.child("name")
            if first is None or routine.child("specificName") is not None:
                continue
            numbers[name] += 1
            made = first.text
            if numbers[name] > 1:  # overloaded routines differ in the specific name
                number = numbers[name]
                while f"{name}_{number}" in taken:
                    number += 1
                made = f"{first.text}_{number}"
                taken.add(f"{name}_{number}")
                what = "routines of one name have specific names in SIARD 2.2, so some were made"
                self._note(what, f"{name}_{number} of schema {schema}")
            self._insert_before(first, "specificName", made)

    def _insert_before(self, element: Element, name: str, text: str) -> None:
        added = tagged(element, name, text) + self.source.indent(element.start)
        self.edits.append(Edit(start=element.start, stop=element.start, text=added))


def stated_digest(text: str) -> tuple[str, str] | None:
    """Return algorithm and value of a SIARD 1.0 digest, or None for a form that 2.2 lacks.

    The value keeps its letter case.
    """
    digest = digests.parsed(text)
    if digest is None or digest.algorithm not in schemas.ENUMERATIONS["digestType"]:
        return None
    written = text.strip()[-len(digest.value) :]
    return digest.algorithm, written if written.lower() == digest.value else digest.value


def _name(element: Element) -> str:
    return unescaped(element.value("name") or "")


def root_edits(data: bytes, start: int, encoding: Encoding, prefix: str, space: str) -> list[Edit]:
    """Return the edits that give the root, at ``start``, the namespace and version of 2.2."""
    present = tag_attributes(data, start, encoding)
    declared = f"xmlns:{prefix}" if prefix else "xmlns"
    wanted = {declared: space, "version": TARGET}
    if declared in present:
        old = present[declared].text
        wanted |= {
            name: " ".join(space if word == old else word for word in value.text.split())
            for name, value in present.items()
            if name.endswith(":schemaLocation")
        }
    edits = [
        Edit(start=value.start, stop=value.stop, text=wanted[name])
        for name, value in present.items()
        if name in wanted
    ]
    missing = "".join(f' {name}="{text}"' for name, text in wanted.items() if name not in present)
    if missing:
        at = _name_end(data, start, encoding)
        edits.insert(0, Edit(start=at, stop=at, text=missing))
    return edits


def _name_end(data: bytes, start: int, encoding: Encoding) -> int:
    """Return the offset after the name in the tag at ``start``."""
    found = [encoding.found(mark, data, start + encoding.unit) for mark in " \t\r\n/>"]
    return min(each for each in found if each >= 0)


def name_faults(names: Iterable[str]) -> Iterator[str]:
    """Yield the faults of entries' names; folders have ``/`` at the end (SIARD 2.2 P_4.2-6)."""
    for name in names:
        if not all(_ENTRY_NAME.fullmatch(each) for each in name.removesuffix("/").split("/")):
            yield f"the entry {name!r} has a name that SIARD {TARGET} lacks (P_4.2-6)"
