"""Packages and archives that ask for much: a million of something, white space without end, nesting.

Each maker writes one into a folder of its own, ``size`` of whatever it has much of, and returns its path.
The same size always gives the same bytes; nothing is held in memory, so that only the reader's counts.
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
_MB = 1_000_000
_TIB = 1 << 40
_GROUP = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """An input, what it has much of, and the commands of metspack that meet it (``{}`` is its path)."""

    name: str
    title: str
    size: int
    make: Callable[[Path, int], Path]
    commands: tuple[str, ...] = ("check {}",)


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


def _file(number: int, *, name: str = "f{}", href: str = "content/record{}.bin") -> str:
    return (
        f'<file ID="{name.format(number)}" SIZE="0" CHECKSUM="{_EMPTY}" CHECKSUMTYPE="MD5">'
        f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href.format(number)}"/></file>\n'
    )


def mptr(folder: Path, size: int) -> Path:
    pointers = (
        f'<div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" xlink:href="ID_x_lobseg_{number}_mets"/></div>\n'
        for number in range(size)
    )
    return _mets(folder, pointers=pointers)


def same_mptr(folder: Path, size: int) -> Path:
    pointer = '<div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" xlink:href="ID_x_lobseg_0_mets"/></div>\n'
    return _mets(folder, pointers=repeat(pointer, size))


def listed_mptr(folder: Path, size: int) -> Path:
    """Write a parent that names one child, which is there, again and again."""
    child = f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="ID_x_lobseg_0_mets"/>'
    _write(folder / "x_lobseg_0" / "mets.xml", (child,))
    listed = _file(0, name="ID_x_lobseg_{}_mets", href="x_lobseg_{}/mets.xml")
    pointer = '<div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" xlink:href="ID_x_lobseg_0_mets"/></div>\n'
    return _mets(folder, files=(listed,), pointers=repeat(pointer, size))


def mapped_mptr(folder: Path, size: int) -> Path:
    """Write a parent that names one child in one structMap after the other."""
    listed_mptr(folder, 1)
    pointers = (
        f'</div></structMap><structMap TYPE="t{number}"><div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" '
        f'xlink:href="ID_x_lobseg_0_mets"/>\n'
        for number in range(size)
    )
    listed = _file(0, name="ID_x_lobseg_{}_mets", href="x_lobseg_{}/mets.xml")
    return _mets(folder, files=(listed,), pointers=pointers)


def located_mptr(folder: Path, size: int) -> Path:
    pointers = (
        f'<div><mptr LOCTYPE="URL" xlink:href="x_lobseg_{number}/mets.xml"/></div>\n'
        for number in range(size)
    )
    return _mets(folder, pointers=pointers)


def fptr(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=repeat('<fptr FILEID="here"/>\n', size))


def dangling(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=(f'<fptr FILEID="n{number}"/>\n' for number in range(size)))


def files(folder: Path, size: int) -> Path:
    return _mets(folder, files=map(_file, range(size)))


def escaping_files(folder: Path, size: int) -> Path:
    return _mets(folder, files=(_file(number, href="../../up{}/x") for number in range(size)))


def same_ids(folder: Path, size: int) -> Path:
    return _mets(folder, files=(_file(number, name="same") for number in range(size)))


def same_file(folder: Path, size: int) -> Path:
    return _mets(folder, files=(_file(number, href="here.bin") for number in range(size)))


def unknown_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, before=(f'<unknown number="{number}"/>\n' for number in range(size)))


def new_names_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, before=(f"<u{number}/>\n" for number in range(size)))


def comments_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, files=repeat("<!-- what is this? -->\n", size))


def instructions_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, files=repeat("<?php exit ?>\n", size))


def odd_attributes_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=(f'<fptr FILEID="here" a{number}="1" b="2"/>\n' for number in range(size)))


def attributes_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, attributes=(f' a{number}="1"' for number in range(size)))


def namespaces_in_mets(folder: Path, size: int) -> Path:
    return _mets(
        folder, before=(f'<n{number % 9}:x xmlns:n{number % 9}="urn:{number}"/>\n' for number in range(size))
    )


def deep_mets(folder: Path, size: int) -> Path:
    return _mets(folder, pointers=chain(repeat("<div>", size), repeat("</div>", size)))


def groups_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, files=(f'<fileGrp ID="g{number}" USE="u{number}"/>\n' for number in range(size)))


def pointed_groups_in_mets(folder: Path, size: int) -> Path:
    """Write groups that fptr point at, and as many files in another."""
    return _mets(
        folder,
        files=chain(
            (f'<fileGrp ID="g{number}"/>\n' for number in range(size // 2)), map(_file, range(size // 2))
        ),
        pointers=(f'<fptr FILEID="g{number}"/>\n' for number in range(size // 2)),
    )


def long_attribute_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, attributes=chain((' LABEL="',), repeat("x" * 1000, size // 1000), ('"',)))


def long_text_in_mets(folder: Path, size: int) -> Path:
    text = repeat("x" * 1000, size // 1000)
    return _mets(
        folder, before=chain(("<metsHdr><agent ROLE='CREATOR'><name>",), text, ("</name></agent></metsHdr>",))
    )


def agents_in_mets(folder: Path, size: int) -> Path:
    agents = (f"<agent ROLE='CREATOR'><name>n{number}</name></agent>\n" for number in range(size))
    return _mets(folder, before=chain(("<metsHdr>",), agents, ("</metsHdr>\n",)))


def sections_in_mets(folder: Path, size: int) -> Path:
    return _mets(folder, before=(f'<amdSec ID="a{number}"/>\n' for number in range(size)))


def white_mets(folder: Path, size: int) -> Path:
    return _mets(folder, before=repeat(_SPACE.decode(), size >> 20))


def packed_white_mets(folder: Path, size: int) -> Path:
    folder.mkdir(parents=True)
    path = folder / "package.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        head = f'<mets xmlns="{METS}" OBJID="hostile">'.encode()
        tail = b'<structMap><div LABEL="x"/></structMap></mets>'
        with packed.open(zipfile.ZipInfo("package/mets.xml", _EARLY), "w", force_zip64=True) as file:
            file.writelines(chain((head,), repeat(_SPACE, size >> 20), (tail,)))
    return path


def manifest_same(folder: Path, size: int) -> Path:
    _mets(folder)
    _write(folder / "manifest-md5.txt", repeat(f"{_EMPTY}  here.bin\n", size))
    return folder


def manifest_missing(folder: Path, size: int) -> Path:
    _mets(folder)
    _write(folder / "manifest-md5.txt", (f"{_EMPTY}  content/{number:09}\n" for number in range(size)))
    return folder


def manifest_reversed(folder: Path, size: int) -> Path:
    _mets(folder, files=map(_file, range(size)))
    lines = (f"{_EMPTY}  content/record{number}.bin\n" for number in reversed(range(size)))
    _write(folder / "manifest-md5.txt", lines)
    return folder


def manifest_line(folder: Path, size: int) -> Path:
    _mets(folder)
    _write(folder / "manifest-md5.txt", repeat("x" * 1000, size // 1000))
    return folder


def parts_in_mets(folder: Path, size: int) -> Path:
    """Write a child METS in which one LOB has a million parts."""
    listed = (
        f'<file ID="s0.t0.c1.r1.p{number}" OWNERID="s0.t0.c1.r1.p{number}" GROUPID="s0.t0.c1.r1" '
        f'SEQ="{number}" SIZE="0" CHECKSUM="{_EMPTY}" CHECKSUMTYPE="MD5"><FLocat LOCTYPE="URL" '
        f'xlink:href="content/schema0/table0/lob1/record0.bin.{number}"/></file>\n'
        for number in range(size)
    )
    return _mets(folder, files=listed)


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


def columns(folder: Path, size: int) -> Path:
    listed = (f"<column><name>c{n}</name><type>INTEGER</type></column>\n" for n in range(size))
    return _archive(folder, _metadata(columns=listed))


def tables(folder: Path, size: int) -> Path:
    listed = (
        f"<table><name>t{n}</name><folder>table{n}</folder><columns><column><name>c</name><type>INTEGER</type>"
        "</column></columns><rows>0</rows></table>\n"
        for n in range(1, size)
    )
    return _archive(folder, _metadata(tables=listed))


def long_description(folder: Path, size: int) -> Path:
    text = repeat("words " * 200 + "\n", size // 1201)
    return _archive(folder, _metadata(before=chain(("<description>",), text, ("</description>",))))


def white_metadata(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(before=repeat(_SPACE.decode(), size >> 20)))


def unknown_in_metadata(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(before=(f"<unknown{n}/>\n" for n in range(size))))


def users(folder: Path, size: int) -> Path:
    listed = (f"<user><name>u{n}</name></user>\n" for n in range(size))
    return _archive(folder, _metadata(before=chain(("<users>",), listed, ("</users>",))))


def one_lob(folder: Path, size: int) -> Path:
    row = f'<row><c1 file="{_TABLE}/lob1/record0.bin" length="3"/></row>\n'
    return _archive(folder, _metadata(rows=size), repeat(row, size))


def lost_lobs(folder: Path, size: int) -> Path:
    rows = (f'<row><c1 file="{_TABLE}/lob1/lost{n}.bin" length="3"/></row>\n' for n in range(size))
    return _archive(folder, _metadata(rows=size), rows)


def unknown_in_table(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), (f'<unknown n="{n}"/>\n' for n in range(size)))


def new_names_in_table(folder: Path, size: int) -> Path:
    return _archive(
        folder, _metadata(rows=1), chain(("<row>",), (f"<u{n}/>\n" for n in range(size)), ("</row>",))
    )


def cells_in_row(folder: Path, size: int) -> Path:
    cells = (f"<c{n}>x</c{n}>\n" for n in range(1, size))
    return _archive(folder, _metadata(rows=1), chain(("<row>",), cells, ("</row>",)))


def comments_in_table(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), repeat("<!-- what is this? -->\n", size))


def instructions_in_table(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), repeat("<?php exit ?>\n", size))


def attributes_in_table(folder: Path, size: int) -> Path:
    attributes = (f' a{n}="1"' for n in range(size))
    return _archive(folder, _metadata(rows=1), chain(("<row><c1",), attributes, ("/></row>",)))


def odd_attributes_in_table(folder: Path, size: int) -> Path:
    rows = (f'<row a{n}="1"><c1 b{n}="2">x</c1></row>\n' for n in range(size))
    return _archive(folder, _metadata(rows=size), rows)


def white_table(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), repeat(_SPACE.decode(), size >> 20))


def white_cell(folder: Path, size: int) -> Path:
    rows = chain(("<row><c1>",), repeat(_SPACE.decode(), size >> 20), ("</c1></row>",))
    return _archive(folder, _metadata(rows=1), rows)


def deep_table(folder: Path, size: int) -> Path:
    return _archive(folder, _metadata(), chain(repeat("<row>", size), repeat("</row>", size)))


def long_attribute_in_table(folder: Path, size: int) -> Path:
    rows = chain(('<row><c1 file="',), repeat("x" * 1000, size // 1000), ('"/></row>',))
    return _archive(folder, _metadata(rows=1), rows)


def entries(folder: Path, size: int) -> Path:
    """Write an archive with entries that no cell names."""
    return _many_entries(folder, (b"content/schema0/table0/lob1/record%d.bin" % n for n in range(size)))


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


def sparse_source(folder: Path, size: int) -> Path:
    _sparse(folder / _TABLE / "lob1" / "record0.bin", b"", size)
    return folder


def sparse_lob(folder: Path, size: int) -> Path:
    """Write a package whose METS says of a file that it has as many bytes as it has."""
    listed = _file(0).replace('SIZE="0"', f'SIZE="{size}"')
    _mets(folder, files=(listed,))
    _sparse(folder / "content" / "record0.bin", b"", size)
    return folder


def sparse_mets(folder: Path, size: int) -> Path:
    _sparse(folder / "mets.xml", f'<mets xmlns="{METS}" OBJID="hostile">'.encode(), size)
    return folder


def sparse_child(folder: Path, size: int) -> Path:
    """Write a parent with a child METS that is as large as its parent says."""
    listed = _file(0, name="ID_x_lobseg_{}_mets", href="x_lobseg_{}/mets.xml").replace(
        'SIZE="0"', f'SIZE="{size}"'
    )
    pointer = '<div><mptr LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" xlink:href="ID_x_lobseg_0_mets"/></div>\n'
    _mets(folder, files=(listed,), pointers=(pointer,))
    _sparse(
        folder / "x_lobseg_0" / "mets.xml", f'<mets xmlns="{METS}" OBJID="ID_x_lobseg_0_mets">'.encode(), size
    )
    return folder


def sparse_manifest(folder: Path, size: int) -> Path:
    _mets(folder)
    _sparse(folder / "manifest-md5.txt", f"{_EMPTY}  here.bin\n".encode(), size)
    return folder


def sparse_archive(folder: Path, size: int) -> Path:
    path = folder / "hostile.siard"
    _sparse(path, b"PK\3\4", size)
    return path


_BUILD = "build {} -o {out}"
_CHECK = "check {}"
_INSPECT = "inspect {}"
_BOTH = (_INSPECT, _BUILD)
_MILLION = 1_000_000
_WHITE = 300 * _MB

INPUTS = (
    Hostile(name="mptr", title="mptr in a METS", size=_MILLION, make=mptr, commands=(_CHECK, "links {}")),
    Hostile(name="same-mptr", title="mptr to one child", size=_MILLION, make=same_mptr),
    Hostile(name="listed-mptr", title="mptr to one child that is there", size=_MILLION, make=listed_mptr),
    Hostile(name="mapped-mptr", title="structMap with an mptr to one child", size=_MILLION, make=mapped_mptr),
    Hostile(name="located-mptr", title="mptr by location", size=_MILLION, make=located_mptr),
    Hostile(name="lost-mptr", title="mptr by location, as many as are read", size=250_000, make=located_mptr),
    Hostile(name="fptr", title="fptr to one file", size=_MILLION, make=fptr),
    Hostile(name="dangling", title="FILEIDs that no file has", size=_MILLION, make=dangling),
    Hostile(
        name="files",
        title="files that are missing",
        size=_MILLION,
        make=files,
        commands=(
            _CHECK,
            "check {} -o {out}.html",
            "check {} -o {out}.json",
            "list {}",
            "shards {}",
        ),
    ),
    Hostile(name="escaping", title="files that lead out", size=_MILLION, make=escaping_files),
    Hostile(name="same-ids", title="files of one ID", size=_MILLION, make=same_ids),
    Hostile(name="same-file", title="file elements of one file", size=_MILLION, make=same_file),
    Hostile(
        name="parts",
        title="parts of one LOB",
        size=_MILLION,
        make=parts_in_mets,
        commands=(_CHECK, "shards {}"),
    ),
    Hostile(name="mets-unknown", title="unknown elements in METS", size=_MILLION, make=unknown_in_mets),
    Hostile(name="mets-names", title="elements of new names in METS", size=_MILLION, make=new_names_in_mets),
    Hostile(name="mets-comments", title="comments in METS", size=_MILLION, make=comments_in_mets),
    Hostile(name="mets-instructions", title="instructions in METS", size=_MILLION, make=instructions_in_mets),
    Hostile(
        name="mets-odd", title="fptr with attributes of new names", size=_MILLION, make=odd_attributes_in_mets
    ),
    Hostile(
        name="mets-attributes", title="attributes of one element", size=_MILLION, make=attributes_in_mets
    ),
    Hostile(name="mets-namespaces", title="namespaces in METS", size=_MILLION, make=namespaces_in_mets),
    Hostile(name="mets-deep", title="nested div", size=_MILLION, make=deep_mets),
    Hostile(name="mets-groups", title="fileGrp", size=_MILLION, make=groups_in_mets),
    Hostile(
        name="pointed-groups",
        title="fileGrp that fptr name, and files in none of them",
        size=_MILLION,
        make=pointed_groups_in_mets,
    ),
    Hostile(name="mets-agents", title="agents", size=_MILLION, make=agents_in_mets),
    Hostile(name="mets-sections", title="amdSec", size=_MILLION, make=sections_in_mets),
    Hostile(name="mets-attribute", title="bytes of an attribute", size=_WHITE, make=long_attribute_in_mets),
    Hostile(name="mets-text", title="bytes of an agent's name", size=_WHITE, make=long_text_in_mets),
    Hostile(name="mets-white", title="bytes of white space in METS", size=_WHITE, make=white_mets),
    Hostile(name="packed-white", title="the same, deflated", size=_WHITE, make=packed_white_mets),
    Hostile(name="manifest-same", title="equal lines of a manifest", size=_MILLION, make=manifest_same),
    Hostile(name="manifest-missing", title="lines of missing files", size=_MILLION, make=manifest_missing),
    Hostile(name="manifest-reversed", title="lines in reverse", size=_MILLION, make=manifest_reversed),
    Hostile(name="manifest-line", title="bytes of a manifest's line", size=_WHITE, make=manifest_line),
    Hostile(name="columns", title="columns", size=_MILLION, make=columns, commands=_BOTH),
    Hostile(name="tables", title="tables", size=_MILLION, make=tables, commands=_BOTH),
    Hostile(
        name="description",
        title="bytes of a description",
        size=200 * _MB,
        make=long_description,
        commands=_BOTH,
    ),
    Hostile(
        name="metadata-white",
        title="white space in metadata.xml",
        size=_WHITE,
        make=white_metadata,
        commands=_BOTH,
    ),
    Hostile(
        name="metadata-unknown",
        title="unknown elements",
        size=_MILLION,
        make=unknown_in_metadata,
        commands=_BOTH,
    ),
    Hostile(name="users", title="users", size=_MILLION, make=users, commands=_BOTH),
    Hostile(name="one-lob", title="cells of one LOB", size=_MILLION, make=one_lob, commands=_BOTH),
    Hostile(
        name="lost-lobs",
        title="cells of LOBs that are missing",
        size=_MILLION,
        make=lost_lobs,
        commands=_BOTH,
    ),
    Hostile(
        name="table-unknown",
        title="unknown elements in a table",
        size=_MILLION,
        make=unknown_in_table,
        commands=_BOTH,
    ),
    Hostile(
        name="table-names",
        title="elements of new names in a row",
        size=_MILLION,
        make=new_names_in_table,
        commands=_BOTH,
    ),
    Hostile(name="table-cells", title="cells of a row", size=_MILLION, make=cells_in_row, commands=_BOTH),
    Hostile(
        name="table-comments",
        title="comments in a table",
        size=_MILLION,
        make=comments_in_table,
        commands=_BOTH,
    ),
    Hostile(
        name="table-instructions",
        title="instructions",
        size=_MILLION,
        make=instructions_in_table,
        commands=_BOTH,
    ),
    Hostile(
        name="table-attributes",
        title="attributes of a cell",
        size=_MILLION,
        make=attributes_in_table,
        commands=_BOTH,
    ),
    Hostile(
        name="table-odd",
        title="rows with new attributes",
        size=_MILLION,
        make=odd_attributes_in_table,
        commands=_BOTH,
    ),
    Hostile(
        name="table-white", title="white space in a table", size=_WHITE, make=white_table, commands=_BOTH
    ),
    Hostile(name="cell-white", title="white space in a cell", size=_WHITE, make=white_cell, commands=_BOTH),
    Hostile(name="table-deep", title="nested rows", size=_MILLION, make=deep_table, commands=_BOTH),
    Hostile(
        name="table-attribute",
        title="bytes of an attribute",
        size=_WHITE,
        make=long_attribute_in_table,
        commands=_BOTH,
    ),
    Hostile(name="entries-70k", title="zip entries", size=70_000, make=entries, commands=_BOTH),
    Hostile(name="entries", title="zip entries", size=_MILLION, make=entries, commands=_BOTH),
    Hostile(
        name="same-entries", title="zip entries of one name", size=_MILLION, make=same_entries, commands=_BOTH
    ),
    Hostile(
        name="sparse-source", title="bytes of a sparse LOB", size=_TIB, make=sparse_source, commands=_BOTH
    ),
    Hostile(name="sparse-lob", title="bytes of a sparse file", size=_TIB, make=sparse_lob),
    Hostile(name="sparse-mets", title="bytes of a sparse METS", size=_TIB, make=sparse_mets),
    Hostile(name="sparse-child", title="bytes of a sparse child METS", size=_TIB, make=sparse_child),
    Hostile(name="sparse-manifest", title="bytes of a sparse manifest", size=_TIB, make=sparse_manifest),
    Hostile(
        name="sparse-archive",
        title="bytes of a sparse archive",
        size=_TIB,
        make=sparse_archive,
        commands=_BOTH,
    ),
)
"""All inputs, in the order in which they are tried and printed."""
