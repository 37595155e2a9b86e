"""Forges a small good package of the recommendation's form with the standard library.

It shares no code with metspack on purpose: a reader of the recommendation would write the same by hand.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

CHILD = "Northwind_lobseg_0/mets.xml"
FIRST = "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"
SECOND = "Northwind_lobseg_0/content/schema0/table2/lob4/record1.bin"
PARENT_OBJID = "urn:uuid:00000000-0000-5000-8000-000000000018"
_NAMESPACES = (
    'xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)


@dataclass(frozen=True)
class Lob:
    segment: int
    row: int
    data: bytes
    extension: str = "bin"
    characters: bool = False

    @property
    def path(self) -> str:
        return f"content/schema0/table2/lob4/record{self.row - 1}.{self.extension}"

    @property
    def length(self) -> int:
        return len(self.data.decode()) if self.characters else len(self.data)


LOBS = (
    Lob(0, 1, b"first picture" * 31),
    Lob(0, 2, b"second picture" * 17),
    Lob(1, 3, b"third picture" * 23),
    Lob(1, 4, "vierte, in Zeichen gezählt: äöü €".encode(), "txt", characters=True),
)


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def lobs(count: int, segments: int) -> tuple[Lob, ...]:
    return tuple(Lob(row % segments, row + 1, b"lob %d\n" % row) for row in range(count))


def cell(lob: Lob, name: str) -> str:
    return (
        f'<row><c1>{lob.row}</c1><c4 file="{name}_lobseg_{lob.segment}/{lob.path}" length="{lob.length}" '
        f'digestType="MD5" digest="{md5(lob.data)}"/></row>'
    )


def table(lobs: Sequence[Lob], name: str) -> bytes:
    rows = "\n".join(cell(lob, name) for lob in sorted(lobs, key=lambda each: each.row))
    namespace = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"
    text = f'<table xmlns="{namespace}" version="2.2">\n{rows}\n</table>\n'
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()


def metadata(digest: str, database: str = "./", column: str = "./", rows: int = 4) -> bytes:
    folder = f"<lobFolder>{database}</lobFolder>" if database else ""
    column_folder = f"<lobFolder>{column}</lobFolder>" if column else ""
    message = f"<messageDigest><digestType>MD5</digestType><digest>{digest}</digest></messageDigest>"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<siardArchive xmlns="http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd" version="2.2">
  <dbname>Northwind</dbname>
  <dataOwner>Northwind Traders</dataOwner>
  <dataOriginTimespan>2015</dataOriginTimespan>
  {folder}
  <archivalDate>2015-11-26</archivalDate>
  {message}
  <schemas><schema><name>dbo</name><folder>schema0</folder><tables><table>
    <name>Categories</name><folder>table2</folder>
    <columns>
      <column><name>CategoryID</name><type>INTEGER</type></column>
      <column><name>CategoryName</name><type>VARCHAR(15)</type></column>
      <column><name>Description</name><type>VARCHAR(200)</type></column>
      <column><name>Picture</name>{column_folder}<type>BLOB</type></column>
    </columns>
    <rows>{rows}</rows>
  </table></tables></schema></schemas>
</siardArchive>
""".encode()


def siard(
    table_xml: bytes | None,
    *,
    entries: Sequence[tuple[str, bytes]] = (),
    metadata_xml: bytes | None = None,
    database: str = "./",
    column: str = "./",
    digest: str | None = None,
    with_metadata: bool = True,
    rows: int = 4,
    described: Sequence[Sequence[str]] = (),
) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(name, (2015, 11, 26, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_STORED if name.endswith("/") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        if table_xml is not None:
            put("content/schema0/table2/table2.xml", table_xml)
        for name, data in entries:
            put(name, data)
        content = md5(buffer.getvalue())
        put("header/", b"")
        put("header/siardversion/2.2/", b"")
        if with_metadata:
            stated = content if digest is None else digest
            text = (metadata_xml or metadata(stated, database, column, rows)).decode()
            for old, new in described:
                assert old in text, f"{old!r} is not in metadata.xml"
                text = text.replace(old, new, 1)
            put("header/metadata.xml", text.encode())
    return buffer.getvalue()


def child(segment: int, lobs: Sequence[Lob], name: str, prefix: str = "", objid: str = PARENT_OBJID) -> bytes:
    files = "\n".join(
        f'<mets:file ID="{prefix}s0.t2.c4.r{lob.row}" OWNERID="{prefix}s0.t2.c4.r{lob.row}" '
        'MIMETYPE="application/octet-stream" '
        f'SIZE="{len(lob.data)}" CHECKSUM="{md5(lob.data)}" CHECKSUMTYPE="MD5">'
        f'<mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{quote(lob.path)}"/></mets:file>'
        for lob in lobs
    )
    pointers = "\n".join(f'<mets:fptr FILEID="{prefix}s0.t2.c4.r{lob.row}"/>' for lob in lobs)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mets:mets {_NAMESPACES} OBJID="ID_{name}_lobseg_{segment}_mets" TYPE="SIARD2.2 INDEX" LABEL="child IP">
<mets:fileSec><mets:fileGrp ID="ID_SIARD_FILES"><mets:fileGrp ID="seg_{segment}">
{files}
</mets:fileGrp></mets:fileGrp></mets:fileSec>
<mets:structMap LABEL="SIARD External LOB structmap" TYPE="LOBPOINTER">
<mets:div LABEL="SIARD LOBs as external files">
{pointers}
</mets:div></mets:structMap>
<mets:structMap TYPE="logical" LABEL="parent IP"><mets:div LABEL="IP parent identifier">
<mets:mptr xlink:href="{objid}" LOCTYPE="URN" xlink:title="Referencing the parent IP"/>
</mets:div></mets:structMap>
</mets:mets>
""".encode()


def _file(identifier: str, data: bytes, href: str) -> str:
    return (
        f'<mets:file ID="{identifier}" SIZE="{len(data)}" CHECKSUM="{md5(data)}" CHECKSUMTYPE="MD5">'
        f'<mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"/></mets:file>'
    )


def parent(archive: bytes, children: dict[int, bytes], name: str, objid: str = PARENT_OBJID) -> bytes:
    files = "\n".join(
        _file(f"ID_{name}_lobseg_{number}_mets", data, f"{name}_lobseg_{number}/mets.xml")
        for number, data in children.items()
    )
    pointers = "\n".join(
        f'<mets:div LABEL="child IP">\n<mets:mptr xlink:href="ID_{name}_lobseg_{number}_mets" '
        f'xlink:title="Reference to a child IP" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"/>\n</mets:div>'
        for number in children
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mets:mets {_NAMESPACES} OBJID="{objid}" TYPE="SIARD2.2 INDEX" LABEL="parent IP">
<mets:fileSec><mets:fileGrp ID="ID_SIARD_FILES">
<mets:fileGrp ID="ID_SIARD_DDL">
{_file("ID_NORTHWIND.SIARD", archive, f"{name}.siard")}
</mets:fileGrp>
<mets:fileGrp USE="child IP" ID="ID_CHILDREN">
{files}
</mets:fileGrp>
</mets:fileGrp></mets:fileSec>
<mets:structMap LABEL="SIARD structmap" TYPE="PHYSICAL"><mets:div LABEL="SIARD files">
<mets:div LABEL="SIARD central file"><mets:fptr FILEID="ID_NORTHWIND.SIARD"/></mets:div>
<mets:div LABEL="child IPs">
{pointers}
</mets:div></mets:div></mets:structMap>
</mets:mets>
""".encode()


def forge(
    root: Path,
    lobs: Sequence[Lob] = LOBS,
    name: str = "Northwind",
    objid: str = PARENT_OBJID,
    *,
    with_manifests: bool = True,
) -> Path:
    """Write a good package into a new folder and return it."""
    root.mkdir(parents=True)
    children: dict[int, bytes] = {}
    for segment in sorted({lob.segment for lob in lobs}):
        held = [lob for lob in lobs if lob.segment == segment]
        folder = root / f"{name}_lobseg_{segment}"
        for lob in held:
            path = folder / lob.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(lob.data)
        children[segment] = child(segment, held, name, objid=objid)
        (folder / "mets.xml").write_bytes(children[segment])
    archive = siard(table(lobs, name), rows=len(lobs))
    (root / f"{name}.siard").write_bytes(archive)
    (root / "mets.xml").write_bytes(parent(archive, children, name, objid))
    if with_manifests:
        write_manifests(root)
    return root


FURTHER = (Lob(0, 1, b"first order" * 13), Lob(0, 2, b"second order" * 7))


def further(root: Path, name: str, prefix: str) -> None:
    """Add an archive with one segment to the package; the ids of its LOBs begin with ``prefix``."""
    held = child(0, FURTHER, name, prefix)
    folder = root / f"{name}_lobseg_0"
    for lob in FURTHER:
        path = folder / lob.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lob.data)
    (folder / "mets.xml").write_bytes(held)
    archive = siard(table(FURTHER, name), rows=len(FURTHER))
    (root / f"{name}.siard").write_bytes(archive)
    own = parent(archive, {0: held}, name).decode().replace("NORTHWIND", name.upper())
    mets = root / "mets.xml"
    for start, stop in (
        ('<mets:fileGrp ID="ID_SIARD_DDL">\n', "\n</mets:fileGrp>"),
        ('<mets:fileGrp USE="child IP" ID="ID_CHILDREN">\n', "\n</mets:fileGrp>"),
        ('<mets:div LABEL="child IPs">\n', "\n</mets:div></mets:div>"),
    ):
        edit(mets, start, start + own.partition(start)[2].partition(stop)[0] + "\n")
    (central,) = re.findall(r'<mets:div LABEL="SIARD central file">.*</mets:div>', own)
    edit(mets, '<mets:div LABEL="child IPs">', f'{central}\n<mets:div LABEL="child IPs">')
    write_manifests(root)


def files(root: Path) -> list[str]:
    found = [
        os.path.join(folder, name)[len(f"{root}/") :]
        for folder, _, names in os.walk(root)
        for name in names
        if os.path.isfile(os.path.join(folder, name))
    ]
    return sorted((each for each in found if not each.startswith("manifest-")), key=str.encode)


def write_manifests(root: Path) -> None:
    contents = [(path, (root / path).read_bytes()) for path in files(root)]
    for algorithm in ("md5", "sha256"):
        lines = (
            f"{hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()}  {path}\n"
            for path, data in contents
        )
        (root / f"manifest-{algorithm}.txt").write_bytes("".join(lines).encode())


_ENTRY = re.compile(r'SIZE="[0-9]*" CHECKSUM="[0-9a-f]*"([^>]*>\s*<mets:FLocat [^>]*xlink:href="([^"]*)")')


def seal(root: Path) -> None:
    """Write the parent's digests and sizes, then the manifests, from the files on disk."""
    seal_parent(root)
    write_manifests(root)


def seal_parent(root: Path) -> None:
    """Write the parent's digests and sizes from the files on disk."""
    mets = root / "mets.xml"

    def entry(found: re.Match[str]) -> str:
        path = root / found[2].removeprefix("file:///")
        if not path.is_file():
            return found[0]
        data = path.read_bytes()
        return f'SIZE="{len(data)}" CHECKSUM="{md5(data)}"{found[1]}'

    if mets.is_file():
        mets.write_text(_ENTRY.sub(entry, mets.read_text()))


def edit(path: Path, old: str, new: str, *, count: int = 1) -> None:
    """Replace text in a file; it must be there."""
    text = path.read_bytes()
    assert old.encode() in text, f"{old!r} is not in {path}"
    path.write_bytes(text.replace(old.encode(), new.encode(), count))


def split(root: Path, row: int, sizes: Sequence[int]) -> None:
    """Split a row's LOB into parts of these sizes, and describe them in the child METS."""
    lob = LOBS[row - 1]
    path = root / f"Northwind_lobseg_{lob.segment}" / lob.path
    start, entries, pointers = 0, "", ""
    for number, size in enumerate(sizes):
        data = lob.data[start : start + size]
        start += size
        suffix = "z" if number == len(sizes) - 1 else str(number)
        path.with_name(f"{path.name}.{suffix}").write_bytes(data)
        entries += (
            f'<mets:file ID="s0.t2.c4.r{row}.p{number}" GROUPID="s0.t2.c4.r{row}" SEQ="{number}" '
            f'SIZE="{len(data)}" CHECKSUM="{md5(data)}" CHECKSUMTYPE="MD5">'
            f'<mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{lob.path}.{suffix}"/></mets:file>\n'
        )
        pointers += f'<mets:fptr FILEID="s0.t2.c4.r{row}.p{number}"/>\n'
    path.unlink()
    mets = root / f"Northwind_lobseg_{lob.segment}/mets.xml"
    text = mets.read_text()
    text = re.sub(
        rf'<mets:file ID="s0.t2.c4.r{row}".*?</mets:file>\n', lambda _: entries, text, flags=re.DOTALL
    )
    mets.write_text(text.replace(f'<mets:fptr FILEID="s0.t2.c4.r{row}"/>\n', pointers))
