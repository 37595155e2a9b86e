"""Packages and archives that ask for much: a million of something, white space without end, nesting.

Each maker writes one into a folder of its own, ``size`` of whatever it has much of, and returns its path.
The same size always gives the same bytes; all is written at once, so that only the reader's memory counts.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

from metspack.mets.reader import METS, XLINK

_EARLY = (1980, 1, 1, 0, 0, 0)
_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()
_TABLE = "content/schema0/table0"
_SPACE = b" " * (1 << 20)
_MILLION = 1_000_000
_MB = 1_000_000
_WHITE = 300 * _MB
_TIB = 1 << 40
_CHECK = "check {}"
_BOTH = ("inspect {}", "build {} -o {out}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """An input with much of one thing, and the commands that read it (``{}`` is its path)."""

    name: str
    title: str
    size: int
    make: Callable[[Path, int], Path]
    commands: tuple[str, ...] = (_CHECK,)


INPUTS: list[Hostile] = []
"""All inputs, in the order in which they are tried and printed."""
_Maker = Callable[[Path, int], Path]


def _hostile(
    title: str, *, size: int = _MILLION, commands: tuple[str, ...] = (_CHECK,), name: str = ""
) -> Callable[[_Maker], _Maker]:
    """Return the decorator that lists a maker, under its own name unless another is given."""

    def listed(make: _Maker) -> _Maker:
        called = name or make.__name__.replace("_", "-")
        INPUTS.append(Hostile(name=called, title=title, size=size, make=make, commands=commands))
        return make

    return listed


# --- METS ---------------------------------------------------------------------------------------------------


def _write(path: Path, pieces: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
    return path


def _mets(
    folder: Path,
    *,
    files: Iterable[str] = (),
    pointers: Iterable[str] = (),
    before: Iterable[str] = (),
    attributes: Iterable[str] = (),
) -> Path:
    """Write a METS with some of these between what every one has."""
    _write(
        folder / "mets.xml",
        chain(
            (f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="hostile"',),
            attributes,
            (">\n",),
            before,
            ("<fileSec><fileGrp>\n",),
            ('<file ID="here"><FLocat LOCTYPE="URL" xlink:href="here.bin"/></file>\n',),
            files,
            ('</fileGrp></fileSec>\n<structMap><div LABEL="child IPs">\n<fptr FILEID="here"/>\n',),
            pointers,
            ("</div></structMap></mets>\n",),
        ),
    )
    (folder / "here.bin").touch()
    return folder


_NAMED = '<div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" xlink:href="ID_x_lobseg_{0}_mets"/></div>\n'
_LOCATED = '<div><mptr LOCTYPE="URL" xlink:href="x_lobseg_{0}/mets.xml"/></div>\n'


def _file(*, name: str = "f{0}", href: str = "content/record{0}.bin") -> str:
    return (
        f'<file ID="{name}" SIZE="0" CHECKSUM="{_EMPTY}" CHECKSUMTYPE="MD5">'
        f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"/></file>\n'
    )


def _numbered(text: str, size: int) -> Iterator[str]:
    return map(text.format, range(size))


_CHILD = _file(name="ID_x_lobseg_0_mets", href="x_lobseg_0/mets.xml")


@_hostile("mptr in a METS", commands=(_CHECK, "links {}"))
def mptr(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=_numbered(_NAMED, size))


@_hostile("mptr by location")
@_hostile("mptr by location, as many as are read", size=250_000, name="lost-mptr")
def located_mptr(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=_numbered(_LOCATED, size))


@_hostile(
    "files that are missing",
    commands=(_CHECK, "check {} -o {out}.html", "check {} -o {out}.json", "list {}", "shards {}"),
)
def files(folder: Path, size: int) -> Path:
    return _mets(folder, files=_numbered(_file(), size))


def _more_of_mets(name: str, title: str, where: str, text: str) -> None:
    """List an input that repeats a text at a place in a METS, with its number for ``{0}``."""
    _hostile(title, name=name)(lambda folder, size: _mets(folder, **{where: _numbered(text, size)}))


_more_of_mets("same-mptr", "mptr to one child", "pointers", _NAMED.format(0))
_more_of_mets("fptr", "fptr to one file", "pointers", '<fptr FILEID="here"/>\n')
_more_of_mets("dangling", "FILEIDs that no file has", "pointers", '<fptr FILEID="n{0}"/>\n')
_more_of_mets("escaping", "files that lead out", "files", _file(href="../../up{0}/x"))
_more_of_mets("same-ids", "files of one ID", "files", _file(name="same"))
_more_of_mets("same-file", "file elements of one file", "files", _file(href="here.bin"))
_more_of_mets("mets-unknown", "unknown elements in METS", "before", '<unknown number="{0}"/>\n')
_more_of_mets("mets-names", "elements of new names in METS", "before", "<u{0}/>\n")
_more_of_mets("mets-comments", "comments in METS", "files", "<!-- what is this? -->\n")
_more_of_mets("mets-instructions", "instructions in METS", "files", "<?php exit ?>\n")
_more_of_mets(
    "mets-odd", "fptr with attributes of new names", "pointers", '<fptr FILEID="here" a{0}="1" b="2"/>\n'
)
_more_of_mets("mets-attributes", "attributes of one element", "attributes", ' a{0}="1"')
_more_of_mets("mets-groups", "fileGrp", "files", '<fileGrp ID="g{0}" USE="u{0}"/>\n')
_more_of_mets("mets-sections", "amdSec", "before", '<amdSec ID="a{0}"/>\n')


@_hostile("mptr to one child that is there")
def listed_mptr(folder: Path, size: int) -> Path:
    """Write a parent that names one child, which is there, again and again."""
    child = f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="ID_x_lobseg_0_mets"/>'
    _write(folder / "x_lobseg_0" / "mets.xml", (child,))
    return _mets(folder, files=(_CHILD,), pointers=repeat(_NAMED.format(0), size))


@_hostile("structMap with an mptr to one child")
def mapped_mptr(folder: Path, size: int) -> Path:
    """Write a parent that names one child in one structMap after the other."""
    listed_mptr(folder, 1)
    pointer = (
        '</div></structMap><structMap TYPE="t{0}"><div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" '
        'xlink:href="ID_x_lobseg_0_mets"/>\n'
    )
    return _mets(folder, files=(_CHILD,), pointers=_numbered(pointer, size))


@_hostile("namespaces in METS")
def mets_namespaces(folder: Path, size: int) -> Path:
    return _mets(
        folder, before=(f'<n{number % 9}:x xmlns:n{number % 9}="urn:{number}"/>\n' for number in range(size))
    )


@_hostile("nested div")
def mets_deep(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=chain(repeat("<div>", size), repeat("</div>", size)))


@_hostile("fileGrp that fptr name, and files in none of them")
def pointed_groups(folder: Path, size: int) -> Path:
    """Write groups that fptr point at, and as many files in another."""
    return _mets(
        folder,
        files=chain(_numbered('<fileGrp ID="g{0}"/>\n', size // 2), _numbered(_file(), size // 2)),
        pointers=_numbered('<fptr FILEID="g{0}"/>\n', size // 2),
    )


@_hostile("bytes of an attribute", size=_WHITE)
def mets_attribute(folder: Path, size: int) -> Path:
    return _mets(folder, attributes=chain((' LABEL="',), repeat("x" * 1000, size // 1000), ('"',)))


@_hostile("bytes of an agent's name", size=_WHITE)
def mets_text(folder: Path, size: int) -> Path:
    text = repeat("x" * 1000, size // 1000)
    return _mets(
        folder, before=chain(("<metsHdr><agent ROLE='CREATOR'><name>",), text, ("</name></agent></metsHdr>",))
    )


@_hostile("agents")
def mets_agents(folder: Path, size: int) -> Path:
    agents = _numbered("<agent ROLE='CREATOR'><name>n{0}</name></agent>\n", size)
    return _mets(folder, before=chain(("<metsHdr>",), agents, ("</metsHdr>\n",)))


@_hostile("bytes of white space in METS", size=_WHITE)
def mets_white(folder: Path, size: int) -> Path:
    return _mets(folder, before=repeat(_SPACE.decode(), size >> 20))


@_hostile("the same, deflated", size=_WHITE)
def packed_white(folder: Path, size: int) -> Path:
    folder.mkdir(parents=True)
    path = folder / "package.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        head = f'<mets xmlns="{METS}" OBJID="hostile">'.encode()
        tail = b'<structMap><div LABEL="x"/></structMap></mets>'
        with packed.open(zipfile.ZipInfo("package/mets.xml", _EARLY), "w", force_zip64=True) as file:
            file.writelines(chain((head,), repeat(_SPACE, size >> 20), (tail,)))
    return path


@_hostile("equal lines of a manifest")
def manifest_same(folder: Path, size: int) -> Path:
    _mets(folder)
    _write(folder / "manifest-md5.txt", repeat(f"{_EMPTY}  here.bin\n", size))
    return folder


@_hostile("lines of missing files")
def manifest_missing(folder: Path, size: int) -> Path:
    _mets(folder)
    _write(folder / "manifest-md5.txt", _numbered(_EMPTY + "  content/{0:09}\n", size))
    return folder


@_hostile("lines in reverse")
def manifest_reversed(folder: Path, size: int) -> Path:
    _mets(folder, files=_numbered(_file(), size))
    lines = (f"{_EMPTY}  content/record{number}.bin\n" for number in reversed(range(size)))
    _write(folder / "manifest-md5.txt", lines)
    return folder


@_hostile("bytes of a manifest's line", size=_WHITE)
def manifest_line(folder: Path, size: int) -> Path:
    _mets(folder)
    _write(folder / "manifest-md5.txt", repeat("x" * 1000, size // 1000))
    return folder


@_hostile("parts of one LOB", commands=(_CHECK, "shards {}"))
def parts(folder: Path, size: int) -> Path:
    """Write a child METS in which one LOB has a million parts."""
    listed = (
        '<file ID="s0.t0.c1.r1.p{0}" OWNERID="s0.t0.c1.r1.p{0}" GROUPID="s0.t0.c1.r1" SEQ="{0}" SIZE="0" '
        f'CHECKSUM="{_EMPTY}" CHECKSUMTYPE="MD5"><FLocat LOCTYPE="URL" '
        'xlink:href="content/schema0/table0/lob1/record0.bin.{0}"/></file>\n'
    )
    return _mets(folder, files=_numbered(listed, size))


# --- SIARD --------------------------------------------------------------------------------------------------


def _metadata(
    *, columns: Iterable[str] = (), tables: Iterable[str] = (), before: Iterable[str] = (), rows: int = 0
) -> Iterator[str]:
    """Yield a metadata.xml with some of these between what every one has."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<siardArchive xmlns="http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd" version="2.2">\n'
    yield "<dbname>hostile</dbname><dataOwner>nobody</dataOwner><dataOriginTimespan>2016</dataOriginTimespan>"
    yield "<archivalDate>2016-02-23</archivalDate>\n"
    yield from before
    yield "<schemas><schema><name>s</name><folder>schema0</folder><tables>"
    yield "<table><name>t</name><folder>table0</folder><columns>"
    yield "<column><name>lob</name><type>BLOB</type></column>"
    yield from columns
    yield f"</columns><rows>{rows}</rows></table>"
    yield from tables
    yield "</tables></schema></schemas></siardArchive>"


def _rows(rows: Iterable[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd" version="2.2">\n'
    yield from rows
    yield "</table>"


def _archive(folder: Path, metadata: Iterable[str], rows: Iterable[str] = ()) -> Path:
    folder.mkdir(parents=True)
    path = folder / "hostile.siard"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        contents = {f"{_TABLE}/table0.xml": _rows(rows), "header/metadata.xml": metadata}
        for name, pieces in contents.items():
            entry = zipfile.ZipInfo(name, _EARLY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as raw, io.BufferedWriter(raw, 1 << 20) as file:
                file.writelines(each.encode() for each in pieces)
        archive.writestr(zipfile.ZipInfo(f"{_TABLE}/lob1/record0.bin", _EARLY), b"one")
    return path


@_hostile("columns", commands=_BOTH)
def columns(folder: Path, size: int) -> Path:
    listed = (f"<column><name>c{n}</name><type>INTEGER</type></column>\n" for n in range(size))
    return _archive(folder, _metadata(columns=listed))


@_hostile("tables", commands=_BOTH)
def tables(folder: Path, size: int) -> Path:
    listed = (
        f"<table><name>t{n}</name><folder>table{n}</folder><columns><column><name>c</name><type>INTEGER</type>"
        "</column></columns><rows>0</rows></table>\n"
        for n in range(1, size)
    )
    return _archive(folder, _metadata(tables=listed))


@_hostile("bytes of a description", size=200 * _MB, commands=_BOTH)
def description(folder: Path, size: int) -> Path:
    text = repeat("words " * 200 + "\n", size // 1201)
    return _archive(folder, _metadata(before=chain(("<description>",), text, ("</description>",))))


@_hostile("white space in metadata.xml", size=_WHITE, commands=_BOTH)
def metadata_white(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(before=repeat(_SPACE.decode(), size >> 20)))


@_hostile("unknown elements", commands=_BOTH)
def metadata_unknown(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(before=(f"<unknown{n}/>\n" for n in range(size))))


@_hostile("users", commands=_BOTH)
def users(folder: Path, size: int) -> Path:
    listed = (f"<user><name>u{n}</name></user>\n" for n in range(size))
    return _archive(folder, _metadata(before=chain(("<users>",), listed, ("</users>",))))


def _more_of_rows(name: str, title: str, text: str, *, has_rows: bool) -> None:
    """List an input whose table has a text again and again, with its number for ``{0}``."""

    def make(folder: Path, size: int) -> Path:
        return _archive(folder, _metadata(rows=size * has_rows), _numbered(text, size))

    _hostile(title, commands=_BOTH, name=name)(make)


_ONE, _LOST = (
    f'<row><c1 file="{_TABLE}/lob1/{each}.bin" length="3"/></row>\n' for each in ("record0", "lost{0}")
)
_more_of_rows("one-lob", "cells of one LOB", _ONE, has_rows=True)
_more_of_rows("lost-lobs", "cells of LOBs that are missing", _LOST, has_rows=True)
_more_of_rows("table-unknown", "unknown elements in a table", '<unknown n="{0}"/>\n', has_rows=False)
_more_of_rows("table-comments", "comments in a table", "<!-- what is this? -->\n", has_rows=False)
_more_of_rows("table-instructions", "instructions", "<?php exit ?>\n", has_rows=False)
_more_of_rows(
    "table-odd", "rows with new attributes", '<row a{0}="1"><c1 b{0}="2">x</c1></row>\n', has_rows=True
)


@_hostile("elements of new names in a row", commands=_BOTH)
def table_names(folder: Path, size: int) -> Path:
    return _archive(
        folder, _metadata(rows=1), chain(("<row>",), (f"<u{n}/>\n" for n in range(size)), ("</row>",))
    )


@_hostile("cells of a row", commands=_BOTH)
def table_cells(folder: Path, size: int) -> Path:
    cells = (f"<c{n}>x</c{n}>\n" for n in range(1, size))
    return _archive(folder, _metadata(rows=1), chain(("<row>",), cells, ("</row>",)))


@_hostile("attributes of a cell", commands=_BOTH)
def table_attributes(folder: Path, size: int) -> Path:
    attributes = (f' a{n}="1"' for n in range(size))
    return _archive(folder, _metadata(rows=1), chain(("<row><c1",), attributes, ("/></row>",)))


@_hostile("white space in a table", size=_WHITE, commands=_BOTH)
def table_white(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), repeat(_SPACE.decode(), size >> 20))


@_hostile("white space in a cell", size=_WHITE, commands=_BOTH)
def cell_white(folder: Path, size: int) -> Path:
    rows = chain(("<row><c1>",), repeat(_SPACE.decode(), size >> 20), ("</c1></row>",))
    return _archive(folder, _metadata(rows=1), rows)


@_hostile("nested rows", commands=_BOTH)
def table_deep(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), chain(repeat("<row>", size), repeat("</row>", size)))


@_hostile("bytes of an attribute", size=_WHITE, commands=_BOTH)
def table_attribute(folder: Path, size: int) -> Path:
    rows = chain(('<row><c1 file="',), repeat("x" * 1000, size // 1000), ('"/></row>',))
    return _archive(folder, _metadata(rows=1), rows)


@_hostile("zip entries", commands=_BOTH)
@_hostile("zip entries", size=70_000, commands=_BOTH, name="entries-70k")
def entries(folder: Path, size: int) -> Path:
    """Write an archive with entries that no cell names."""
    return _many_entries(folder, (b"content/schema0/table0/lob1/record%d.bin" % n for n in range(size)))


@_hostile("zip entries of one name", commands=_BOTH)
def same_entries(folder: Path, size: int) -> Path:
    """Write an archive with entries that all have one name."""
    return _many_entries(folder, repeat(b"content/schema0/table0/lob1/record0.bin", size))


def _many_entries(folder: Path, names: Iterable[bytes]) -> Path:
    folder.mkdir(parents=True)
    path, directory, offset, count = folder / "hostile.siard", folder / "directory", 0, 0
    first = {
        f"{_TABLE}/table0.xml".encode(): "".join(_rows(())).encode(),
        b"header/metadata.xml": "".join(_metadata()).encode(),
    }
    with path.open("wb") as file, directory.open("w+b") as central:
        for name, data in chain(((name, b"") for name in names), first.items()):
            common = struct.pack(
                "<HHHHHIIIHH", 20, 0x800, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(name), 0
            )
            file.write(b"PK\3\4" + common + name + data)
            central.write(b"PK\1\2\x14\0" + common + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name)
            offset += 30 + len(name) + len(data)
            count += 1
        size = central.tell()
        central.seek(0)
        while block := central.read(1 << 20):
            file.write(block)
        file.write(struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset))
        file.write(struct.pack("<4sIQI", b"PK\6\7", 0, offset + size, 1))
        file.write(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65535, 65535, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    directory.unlink()
    return path


# --- Sizes --------------------------------------------------------------------------------------------------


def _sparse(path: Path, head: bytes, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)


@_hostile("bytes of a sparse LOB", size=_TIB, commands=_BOTH)
def sparse_source(folder: Path, size: int) -> Path:
    _sparse(folder / _TABLE / "lob1" / "record0.bin", b"", size)
    return folder


@_hostile("bytes of a sparse file", size=_TIB)
def sparse_lob(folder: Path, size: int) -> Path:
    """Write a package whose METS says of a file that it has as many bytes as it has."""
    _mets(folder, files=(_file().format(0).replace('SIZE="0"', f'SIZE="{size}"'),))
    _sparse(folder / "content" / "record0.bin", b"", size)
    return folder


@_hostile("bytes of a sparse METS", size=_TIB)
def sparse_mets(folder: Path, size: int) -> Path:
    _sparse(folder / "mets.xml", f'<mets xmlns="{METS}" OBJID="hostile">'.encode(), size)
    return folder


@_hostile("bytes of a sparse child METS", size=_TIB)
def sparse_child(folder: Path, size: int) -> Path:
    """Write a parent with a child METS that is as large as its parent says."""
    _mets(folder, files=(_CHILD.replace('SIZE="0"', f'SIZE="{size}"'),), pointers=(_NAMED.format(0),))
    _sparse(
        folder / "x_lobseg_0" / "mets.xml", f'<mets xmlns="{METS}" OBJID="ID_x_lobseg_0_mets">'.encode(), size
    )
    return folder


@_hostile("bytes of a sparse manifest", size=_TIB)
def sparse_manifest(folder: Path, size: int) -> Path:
    _mets(folder)
    _sparse(folder / "manifest-md5.txt", f"{_EMPTY}  here.bin\n".encode(), size)
    return folder


@_hostile("bytes of a sparse archive", size=_TIB, commands=_BOTH)
def sparse_archive(folder: Path, size: int) -> Path:
    path = folder / "hostile.siard"
    _sparse(path, b"PK\3\4", size)
    return path
