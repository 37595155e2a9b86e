"""Changes of the archive, after which its messageDigest is right again."""

from __future__ import annotations

import copy
import zipfile
from collections.abc import Callable
from random import Random

from lxml import etree

from tests.mutants.archives import METADATA, Archive, Entry
from tests.mutants.documents import Document, exchange, local, remove
from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.kinds.mets import other
from tests.mutants.package import Package

_CELL = ("file", "length", "digest", "digestType")
_ROWS_EXCHANGED = "rows exchanged"
Changing = Callable[[Archive, Random], tuple[str, str] | None]


def _of_archive(change: Changing, *, seals: bool = True) -> Callable[[Package, Random], Change | None]:
    """Change an archive; ``seals`` says that its messageDigest is put right."""

    def apply(package: Package, chance: Random) -> Change | None:
        path = chance.choice(package.archives)
        archive = Archive.read(package.files[path])
        change_made = change(archive, chance)
        if change_made is None:
            return None
        if not seals:
            archive.digest = ""
        package.files[path] = archive.written()
        # Nothing but the row tells whose a LOB in the archive is.
        moves = change_made[0] == _ROWS_EXCHANGED and archive.holds_lobs
        return Change(change_made[0], f"{path}: {change_made[1]}", is_of_other_lobs=moves)

    return apply


def _tabled(change: Callable[[Document, Random], tuple[str, str] | None]) -> Changing:
    def apply(archive: Archive, chance: Random) -> tuple[str, str] | None:
        table = chance.choice(archive.tables)
        document = Document.parsed(table.data)
        change_made = change(document, chance)
        table.data = document.written()
        return change_made and (change_made[0], f"{table.name} {change_made[1]}")

    return apply


def _with_metadata(change: Callable[[Document, Random], tuple[str, str] | None]) -> Changing:
    def apply(archive: Archive, chance: Random) -> tuple[str, str] | None:
        entry = archive[METADATA]
        document = Document.parsed(entry.data)
        change_made = change(document, chance)
        entry.data = document.written()
        return change_made and (change_made[0], f"{METADATA} {change_made[1]}")

    return apply


def _cells(document: Document) -> list[etree._Element]:
    return [each for each in document.elements() if each.get("file")]


def _taken(cell: etree._Element, name: str) -> str | None:
    value = cell.get(name)
    if value is not None:
        del cell.attrib[name]
    return value


def _row_of(cell: etree._Element) -> str:
    row = next(each for each in cell.iterancestors() if local(each) == "row")
    parent = row.getparent()
    assert parent is not None
    return f"row {parent.index(row) + 1} {local(cell)}"


# --- cells ----------------------------------------------------------------------------------------------


def _cell_changed(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (cells := _cells(document)):
        return None
    cell, name = chance.choice(cells), chance.choice(_CELL)
    was = cell.get(name, "")
    if not was:
        return None
    now = (
        chance.choice(("SHA-1", "SHA-256", "md5", "TIGER"))
        if name == "digestType"
        else other(was, "", chance)
    )
    cell.set(name, now)
    return f"cell's {name} changed", f"{_row_of(cell)}: {was!r} is now {now!r}"


def _cell_without(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (cells := _cells(document)):
        return None
    cell, name = chance.choice(cells), chance.choice(_CELL)
    was = _taken(cell, name)
    return f"cell's {name} deleted", f"{_row_of(cell)}: {was!r}"


def _cell_emptied(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (cells := _cells(document)):
        return None
    cell, name = chance.choice(cells), chance.choice(_CELL)
    cell.set(name, chance.choice(("", " ", f" {cell.get(name)}", f"{cell.get(name)} ")))
    return f"cell's {name} emptied or with white space", f"{_row_of(cell)}: {cell.get(name)!r}"


def _two_cells(document: Document, chance: Random) -> list[etree._Element]:
    cells = _cells(document)
    return chance.sample(cells, 2) if len(cells) > 1 else []


def _cell_exchanged(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (two := _two_cells(document, chance)):
        return None
    name = chance.choice((*_CELL, "all"))
    one, other_one = two
    if all(one.get(key) == other_one.get(key) for key in (_CELL if name == "all" else (name,))):
        return None
    for key in _CELL if name == "all" else (name,):
        first, second = one.get(key), other_one.get(key)
        for cell, value in ((one, second), (other_one, first)):
            _taken(cell, key)
            if value is not None:
                cell.set(key, value)
    what = "cells exchanged" if name == "all" else f"cells' {name} exchanged"
    return what, f"{_row_of(one)}, {_row_of(other_one)}"


def _cell_copied(document: Document, chance: Random) -> tuple[str, str] | None:
    """Let a cell say what another one says: both name one LOB, and the other LOB loses its cell."""
    if not (two := _two_cells(document, chance)):
        return None
    for key in _CELL:
        if (value := two[1].get(key)) is not None:
            two[0].set(key, value)
    return "cell as another one", f"{_row_of(two[0])} as {_row_of(two[1])}"


def _message_digest(document: Document, chance: Random) -> tuple[str, str] | None:
    """Write digest and digestType as one messageDigest, which is of another LOB."""
    if not (two := _two_cells(document, chance)):
        return None
    kind, value = _taken(two[0], "digestType") or "", two[1].get("digest", "")
    _taken(two[0], "digest")
    two[0].set("messageDigest", f"{kind}{value}")
    return "cell's messageDigest of another", f"{_row_of(two[0])} as {_row_of(two[1])}"


def _cell_gone(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (cells := _cells(document)):
        return None
    cell = chance.choice(cells)
    place = _row_of(cell)
    remove(cell)
    return "cell deleted", place


def _cell_twice(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (cells := _cells(document)):
        return None
    cell = chance.choice(cells)
    cell.addnext(copy.deepcopy(cell))
    return "cell twice", _row_of(cell)


def _cell_renamed(document: Document, chance: Random) -> tuple[str, str] | None:
    if not (cells := _cells(document)):
        return None
    cell = chance.choice(cells)
    name = chance.choice(("c1", "c9", "d2", "c02", "u2"))
    place = f"{_row_of(cell)} is {name}"
    cell.tag = f"{{{etree.QName(cell).namespace}}}{name}"
    return "cell of another column", place


# --- rows and tables ------------------------------------------------------------------------------------


def _row_gone(document: Document, chance: Random) -> tuple[str, str] | None:
    rows = document.elements("row")
    row = chance.choice(rows)
    place = f"row {rows.index(row) + 1}"
    remove(row)
    return "row deleted", place


def _row_twice(document: Document, chance: Random) -> tuple[str, str] | None:
    rows = document.elements("row")
    row = chance.choice(rows)
    row.addnext(copy.deepcopy(row))
    return "row twice", f"row {rows.index(row) + 1}"


def _rows_exchanged(document: Document, chance: Random) -> tuple[str, str] | None:
    rows = document.elements("row")
    if len(rows) < 2:
        return None
    one, two = chance.sample(rows, 2)
    exchange(one, two)
    return _ROWS_EXCHANGED, f"rows {rows.index(one) + 1} and {rows.index(two) + 1}"


def _row_added(document: Document, _chance: Random) -> tuple[str, str] | None:
    row = etree.SubElement(document.root, f"{{{etree.QName(document.root).namespace}}}row")
    etree.SubElement(row, f"{{{etree.QName(document.root).namespace}}}c1").text = "99"
    return "row added", ""


# --- metadata -------------------------------------------------------------------------------------------


def _text_of(*names: str) -> Callable[[Document, Random], tuple[str, str] | None]:
    def apply(document: Document, chance: Random) -> tuple[str, str] | None:
        found = [each for name in names for each in document.elements(name) if each.text]
        if not found:
            return None
        element = chance.choice(found)
        was = element.text or ""
        element.text = chance.choice((other(was, "", chance), "", f" {was}", f"{was}\n"))
        return f"{local(element)} changed", f"line {element.sourceline}: {was!r} is now {element.text!r}"

    return apply


def _lob_folder(document: Document, chance: Random) -> tuple[str, str] | None:
    found = document.elements("lobFolder")
    if not found:
        return None
    element = chance.choice(found)
    was = element.text or ""
    choices = (
        "",
        ".",
        "..",
        "../",
        "/",
        "other/",
        "./other",
        "file:///x/",
        f"{was}/",
        f"./{was}",
        was.rstrip("/"),
    )
    element.text = chance.choice([each for each in choices if each != was])
    return "lobFolder changed", f"line {element.sourceline}: {was!r} is now {element.text!r}"


def _lob_folder_gone(document: Document, chance: Random) -> tuple[str, str] | None:
    found = document.elements("lobFolder")
    if not found:
        return None
    element = chance.choice(found)
    parent = element.getparent()
    place = f"line {element.sourceline} of {'' if parent is None else local(parent)}: {element.text!r}"
    remove(element)
    return "lobFolder deleted", place


def _count(document: Document, chance: Random) -> tuple[str, str] | None:
    element = chance.choice(document.elements("rows"))
    was = element.text or ""
    element.text = chance.choice((str(int(was) + 1), str(int(was) - 1), "0", "-1", "many", ""))
    return "number of rows changed", f"line {element.sourceline}: {was!r} is now {element.text!r}"


def _part_gone(document: Document, chance: Random) -> tuple[str, str] | None:
    names = sorted({local(each) for each in document.elements() if each is not document.root})
    element = chance.choice(document.elements(chance.choice(names)))
    what = f"{local(element)} of metadata.xml deleted"
    line = element.sourceline
    remove(element)
    return what, f"line {line}"


def _part_twice(document: Document, chance: Random) -> tuple[str, str] | None:
    names = sorted({local(each) for each in document.elements() if each is not document.root})
    element = chance.choice(document.elements(chance.choice(names)))
    element.addnext(copy.deepcopy(element))
    return f"{local(element)} of metadata.xml twice", f"line {element.sourceline}"


def _version(document: Document, chance: Random) -> tuple[str, str] | None:
    choices = ("1.0", "2.0", "2.1", "3.0", "")
    document.root.set("version", chance.choice(choices))
    return "version of metadata.xml changed", document.root.get("version", "")


# --- entries --------------------------------------------------------------------------------------------


def _entry_gone(archive: Archive, chance: Random) -> tuple[str, str] | None:
    entry = chance.choice(archive.entries)
    archive.entries.remove(entry)
    return f"entry {_class_of(entry.name)} deleted", entry.name


def _entry_twice(archive: Archive, chance: Random) -> tuple[str, str] | None:
    entry = chance.choice(archive.entries)
    archive.entries.insert(archive.entries.index(entry), entry)
    return f"entry {_class_of(entry.name)} twice", entry.name


def _entry_added(archive: Archive, chance: Random) -> tuple[str, str] | None:
    name = chance.choice(
        (
            *("content/schema0/table0/lob2/record77.bin", "content/schema9/table9/table9.xml", "notes.txt"),
            *("content/schema0/table0/table0.xml.bak", "header/notes.txt", "content/schema0/table0/lob2/"),
        )
    )
    archive.entries.insert(0, Entry(name, b"" if name.endswith("/") else b"more"))
    return f"entry {_class_of(name)} added", name


def _entry_renamed(archive: Archive, chance: Random) -> tuple[str, str] | None:
    entry = chance.choice(archive.entries)
    was = entry.name
    others = (f"x{was}", was.upper(), was.replace("table", "tabel"), f"./{was}", was.replace("/", "\\"))
    entry.name = chance.choice([each for each in others if each != was])
    return f"entry {_class_of(was)} renamed", f"{was} is {entry.name}"


def _class_of(name: str) -> str:
    if "/lob" in name:
        return "of a LOB"
    return (
        name.rpartition("/")[2]
        if name.startswith("header/") or name.endswith((".xml", ".xsd"))
        else "besides"
    )


def _compressed(archive: Archive, chance: Random) -> tuple[str, str] | None:
    entry = chance.choice([each for each in archive.entries if not each.name.endswith("/")])
    entry.method = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    method = {zipfile.ZIP_DEFLATED: "deflate", zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA"}[
        entry.method
    ]
    return f"entry by {method}", entry.name


def _inside_changed(archive: Archive, chance: Random) -> tuple[str, str] | None:
    lobs = [each for each in archive.entries if "/lob" in each.name and each.data]
    if not lobs:
        return None
    entry = chance.choice(lobs)
    entry.data = bytes([entry.data[0] ^ 1]) + entry.data[1:]
    return "LOB in the archive changed", entry.name


def _table_cut(archive: Archive, chance: Random) -> tuple[str, str] | None:
    table = chance.choice(archive.tables)
    table.data = table.data[: chance.randrange(len(table.data) - 10)]
    return "table cut", table.name


def _tables_exchanged(archive: Archive, chance: Random) -> tuple[str, str] | None:
    if len(archive.tables) < 2:
        return None
    one, two = chance.sample(archive.tables, 2)
    one.data, two.data = two.data, one.data
    return "tables exchanged", f"{one.name}, {two.name}"


_IN_TABLES = (
    ("cell changed", _cell_changed, 3),
    ("cell without an attribute", _cell_without, 2),
    ("cell emptied", _cell_emptied, 2),
    ("cells exchanged", _cell_exchanged, 3),
    ("cell as another", _cell_copied, 2),
    ("cell's messageDigest of another", _message_digest, 1),
    ("cell deleted", _cell_gone, 2),
    ("cell twice", _cell_twice, 1),
    ("cell of another column", _cell_renamed, 1),
    ("row deleted", _row_gone, 1),
    ("row twice", _row_twice, 1),
    ("rows exchanged", _rows_exchanged, 1),
    ("row added", _row_added, 1),
)
_IN_METADATA = (
    ("lobFolder changed", _lob_folder, 3),
    ("lobFolder deleted", _lob_folder_gone, 1),
    ("number of rows", _count, 2),
    ("folder in metadata.xml", _text_of("folder"), 1),
    ("element of metadata.xml deleted", _part_gone, 2),
    ("element of metadata.xml twice", _part_twice, 2),
    ("version of metadata.xml", _version, 1),
)
_OF_ENTRIES = (
    ("entry deleted", _entry_gone, 2),
    ("entry twice", _entry_twice, 1),
    ("entry added", _entry_added, 1),
    ("entry renamed", _entry_renamed, 1),
    ("entry compressed otherwise", _compressed, 1),
    ("LOB in the archive changed", _inside_changed, 1),
    ("table cut", _table_cut, 1),
    ("tables exchanged", _tables_exchanged, 1),
)

ARCHIVE_KINDS = (
    *(Kind(name, _of_archive(_tabled(change)), weight=weight) for name, change, weight in _IN_TABLES),
    *(
        Kind(name, _of_archive(_with_metadata(change)), weight=weight)
        for name, change, weight in _IN_METADATA
    ),
    *(Kind(name, _of_archive(change), weight=weight) for name, change, weight in _OF_ENTRIES),
    Kind("messageDigest changed", _of_archive(_with_metadata(_text_of("digest", "digestType")), seals=False)),
)
