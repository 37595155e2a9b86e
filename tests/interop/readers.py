"""The rules by which DBPTK and SIARD Suite find LOBs, from their code, without metspack.

``dbptk`` is DBPTK Developer 4.5.0 (SIARD20ContentImportStrategy, SIARD22ContentImportStrategy), ``siard_api``
is SiardApi of the SIARD Suite (MetaColumnImpl, MetaFieldImpl). Both are simulations of where these tools look
and of what they then hand on, not of anything else that they do.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

_CELL = re.compile(r"[cua][0-9]+")


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _children(element: ET.Element | None, *path: str) -> list[ET.Element]:
    found = [] if element is None else [element]
    for name in path:
        found = [each for above in found for each in above if _name(each) == name]
    return found


def _text(element: ET.Element, name: str) -> str | None:
    return next((each.text for each in _children(element, name) if each.text), None)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with a ``file``: table, row and path as one word, and its column and fields in metadata.xml."""

    id: str
    file: str
    levels: tuple[ET.Element, ...]


def cells(archive: zipfile.ZipFile, root: ET.Element) -> Iterator[Cell]:
    """Yield the cells of all tables that have a file."""
    for schema in _children(root, "schemas", "schema"):
        for table in _children(schema, "tables", "table"):
            folder = f"content/{_text(schema, 'folder')}/{_text(table, 'folder')}"
            columns = _children(table, "columns", "column")
            with archive.open(f"{folder}/{_text(table, 'folder')}.xml") as document:
                number = 0
                for _event, row in ET.iterparse(document):  # noqa: S314 -- a test's own archive
                    if _name(row) == "row":
                        number += 1
                        for cell, path in _with_file(row, ()):
                            yield Cell(
                                f"{folder}.r{number}.{'.'.join(path)}",
                                cell.attrib["file"],
                                tuple(_levels(columns, path)),
                            )
                        row.clear()


def _with_file(element: ET.Element, path: tuple[str, ...]) -> Iterator[tuple[ET.Element, tuple[str, ...]]]:
    for each in element:
        if _CELL.fullmatch(_name(each)):
            below = (*path, _name(each))
            if "file" in each.attrib:
                yield each, below
            yield from _with_file(each, below)


def _levels(columns: list[ET.Element], path: tuple[str, ...]) -> Iterator[ET.Element]:
    below = columns
    for name in path:
        number = int(name[1:])
        if number > len(below):
            return
        yield below[number - 1]
        below = _children(below[number - 1], "fields", "field")


Look = Callable[[zipfile.ZipFile, Path, ET.Element, Cell], bytes | None]


def _beside(siard: Path, path: str) -> bytes | None:
    found = Path(posixpath.normpath(posixpath.join(siard.parent, unquote(path))))
    return found.read_bytes() if found.is_file() else None


def _inside(archive: zipfile.ZipFile, path: str) -> bytes | None:
    try:
        return archive.read(posixpath.normpath(unquote(path)))
    except KeyError:
        return None


def _in_parts(look: Callable[[str], bytes | None], path: str) -> bytes | None:
    """Return a LOB, or its parts joined: the next one is in the same segment or in the one behind it."""
    found, number = look(path), 1
    if found is not None:
        return found
    parts: list[bytes] = []
    while True:
        part = look(f"{path}_part{number:03d}")
        if part is None:
            path = re.sub(r"(?<=/seg_)[0-9]+", lambda segment: str(int(segment[0]) + 1), path)
            part = look(f"{path}_part{number:03d}") if number > 1 else None
        if part is None:
            return b"".join(parts) if parts else None
        parts.append(part)
        number += 1


def dbptk(archive: zipfile.ZipFile, siard: Path, root: ET.Element, cell: Cell) -> bytes | None:
    """Return what DBPTK 4.5 takes for a LOB, None where it takes an empty value instead."""
    if not cell.file.endswith((".bin", ".txt")) or len(cell.levels) > 1:
        return None
    column = _text(cell.levels[0], "lobFolder")
    joins = root.attrib["version"] == "2.2"  # its reader of SIARD 2.0 and 2.1 knows no parts
    if joins:
        path = posixpath.join(_text(root, "lobFolder") or "", column or "", cell.file)
    elif column is None:
        path = cell.file
    else:
        return None
    if path.startswith("../"):
        path = path.removeprefix("../")
        return _in_parts(lambda each: _beside(siard, each), path) if joins else _beside(siard, path)
    return None if path.startswith("./") else _in_parts(lambda each: _inside(archive, each), path)


def siard_api(archive: zipfile.ZipFile, siard: Path, _root: ET.Element, cell: Cell) -> bytes | None:
    """Return what SiardApi takes for a LOB, None where it raises an error."""
    folder = _text(cell.levels[-1], "lobFolder")  # of the field that has the LOB, or of the column: no other
    if folder is None:
        return _inside(archive, cell.file)
    if not folder.startswith("../"):
        return None
    return _beside(siard, posixpath.join(folder, cell.file).removeprefix("../"))


def digests(siard: Path, look: Look) -> dict[str, str | None]:
    """Return the SHA-256 of each LOB as a reader finds it, or None.

    Neither reader opens an archive of SIARD 1.0 that has LOBs outside.
    """
    with zipfile.ZipFile(siard) as archive:
        root = ET.fromstring(archive.read("header/metadata.xml"))  # noqa: S314 -- a test's own archive
        found: dict[str, str | None] = {}
        for cell in cells(archive, root):
            data = look(archive, siard, root, cell)
            found[cell.id] = None if data is None else hashlib.sha256(data).hexdigest()
    return found
