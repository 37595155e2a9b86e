"""The SIARD archive is bad, or its cells and the files in the segments disagree."""

import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.packages import forge
from tests.packages.bad.recipe import CHILD, FIRST, Bad, bad
from tests.packages.forge import LOBS, cell, md5, table

Damage = Callable[[Path], object]
TABLE = table(LOBS, "Northwind")
NAME = "Northwind.siard"
_PLACE = b"Northwind_lobseg_0/content/schema0/table2/lob4/"


def archive(table_xml: bytes | None = TABLE, **options: object) -> Damage:
    def damage(root: Path) -> None:
        (root / NAME).write_bytes(forge.siard(table_xml, **options))  # type: ignore[arg-type]

    return damage


def cells(*replacements: tuple[bytes, bytes], **options: object) -> Damage:
    changed = TABLE
    for old, new in replacements:
        assert old in changed
        changed = changed.replace(old, new, 1)
    return archive(changed, **options)


def _flipped(name: str) -> Damage:
    def damage(root: Path) -> None:
        data = bytearray((root / NAME).read_bytes())
        with zipfile.ZipFile(root / NAME) as zipped:
            offset = zipped.getinfo(name).header_offset
        data[offset + 30 + len(name) + 5] ^= 0x01
        (root / NAME).write_bytes(data)

    return damage


_DIGEST = md5(LOBS[0].data).encode()
_INSIDE = (b"Northwind_lobseg_0/content", b"content")


def _swapped_cells(root: Path) -> None:
    """Let two cells name each other's LOB; only the METS can tell, for neither has a digest."""
    bare = re.sub(rb' length="[0-9]+" digestType="MD5" digest="[0-9a-f]+"', b"", TABLE)
    one, other = _PLACE + b"record0", _PLACE + b"record1"
    archive(bare.replace(one, b"@").replace(other, one).replace(b"@", other))(root)


def _text_cell(root: Path) -> None:
    """Give a text's cell a length that is neither bytes, nor characters, nor UTF-16 units."""
    length = LOBS[3].length
    cells((f'length="{length}"'.encode(), f'length="{length + 1}"'.encode()))(root)


def _inside(lob: bytes, length: int | None = None, digest: str | None = None) -> Damage:
    """Put the LOBs of a column without a lobFolder into the archive."""
    name = "content/schema0/table2/lob4/record0.bin"
    row = (
        f'<row><c4 file="{name}" length="{len(lob) if length is None else length}" digestType="MD5" '
        f'digest="{md5(lob) if digest is None else digest}"/></row>'
    )
    xml = f'<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd">{row}</table>'.encode()
    return archive(xml, column="", entries=[(name, lob)])


def _outside(column: str, database: str, file: Callable[[str], str]) -> Damage:
    rows = table(LOBS, "Northwind").decode()
    return archive(
        rows.replace('file="Northwind', f'file="{file("Northwind")}').encode(),
        column=column,
        database=database,
    )


def split(sizes: Sequence[int]) -> Damage:
    """Split the first LOB, as a package with parts has it."""

    def damage(root: Path) -> None:
        data, start, entries, pointers = LOBS[0].data, 0, "", ""
        for number, size in enumerate(sizes):
            part = data[start : start + size]
            start += size
            suffix = "z" if number == len(sizes) - 1 else str(number)
            path = (root / FIRST).with_name(f"record0.bin.{suffix}")
            path.write_bytes(part)
            entries += (
                f'<mets:file ID="s0.t2.c4.r1.p{number}" GROUPID="s0.t2.c4.r1" SEQ="{number}" '
                f'SIZE="{len(part)}" '
                f'CHECKSUM="{md5(part)}" CHECKSUMTYPE="MD5"><mets:FLocat LOCTYPE="URL" '
                f'xlink:href="content/schema0/table2/lob4/{path.name}"/></mets:file>\n'
            )
            pointers += f'<mets:fptr FILEID="s0.t2.c4.r1.p{number}"/>'
        (root / FIRST).unlink()
        text = (root / CHILD).read_text()
        begin = text.index('<mets:file ID="s0.t2.c4.r1"')
        end = text.index('<mets:file ID="s0.t2.c4.r2"')
        text = text[:begin] + entries + text[end:]
        (root / CHILD).write_text(text.replace('<mets:fptr FILEID="s0.t2.c4.r1"/>', pointers))

    return damage


def _split_map(part: str) -> Damage:
    """Split the first LOB, and let the parent METS say where its parts are."""

    def damage(root: Path) -> None:
        split([100, 100, len(LOBS[0].data) - 200])(root)
        whole = (
            f'<mets:fileGrp ID="ID_SPLIT_LOBS" USE="split LOB"><mets:file ID="s0.t2.c4.r1" '
            f'SIZE="{LOBS[0].length}" CHECKSUM="{md5(LOBS[0].data)}" CHECKSUMTYPE="MD5"/></mets:fileGrp>'
        )
        forge.edit(
            root / "mets.xml", "</mets:fileGrp></mets:fileSec>", f"{whole}</mets:fileGrp></mets:fileSec>"
        )
        pointers = "".join(
            f'<mets:mptr xlink:href="ID_Northwind_lobseg_0_mets" LOCTYPE="OTHER" CONTENTIDS="{each}"/>'
            for each in ("s0.t2.c4.r1.p0", "s0.t2.c4.r1.p1", part)
        )
        divs = f'<mets:div><mets:fptr FILEID="s0.t2.c4.r1"/><mets:div>{pointers}</mets:div></mets:div>'
        divs = f'<mets:structMap TYPE="SPLITLOB">{divs}</mets:structMap>'
        forge.edit(root / "mets.xml", '<mets:structMap LABEL="SIARD', f'{divs}<mets:structMap LABEL="SIARD')

    return damage


def _gap_of_text(root: Path) -> None:
    """Make the first LOB no text, and its length one that text could have."""
    data = b"\xff" + LOBS[0].data[1:]
    (root / FIRST).write_bytes(data)
    forge.edit(root / CHILD, md5(LOBS[0].data), md5(data))
    length = f'length="{LOBS[0].length}"'.encode()
    cells((_DIGEST, md5(data).encode()), (length, b'length="200"'))(root)


def _lob_changed_with_its_mets(root: Path) -> None:
    data = (root / FIRST).read_bytes()
    changed = data.replace(b"first", b"fIrst", 1)
    (root / FIRST).write_bytes(changed)
    forge.edit(root / CHILD, md5(data), md5(changed))


def _flipped_other(root: Path) -> None:
    name = "content/schema0/table2/table2.xsd"
    archive(entries=[(name, b"<xs:schema/>" * 20)])(root)
    _flipped(name)(root)


def _without_siard(root: Path) -> None:
    (root / NAME).unlink()
    text = (root / "mets.xml").read_text()
    begin, end = text.index('<mets:file ID="ID_NORTHWIND'), text.index("</mets:fileGrp>\n<mets:fileGrp USE")
    text = text[:begin] + text[end:]
    (root / "mets.xml").write_text(text.replace('<mets:fptr FILEID="ID_NORTHWIND.SIARD"/>', ""))


SIARD: tuple[Bad, ...] = (
    bad("Z001_not_a_zip", lambda root: (root / NAME).write_bytes(b"7z\xbc\xaf\x27\x1c" + b"\0" * 64)),
    bad("Z001_cut_off", lambda root: (root / NAME).write_bytes((root / NAME).read_bytes()[:-30])),
    bad("Z002_flipped_metadata", _flipped("header/metadata.xml")),
    bad("Z002_flipped_table", _flipped("content/schema0/table2/table2.xml"), "Z020"),
    bad(
        "Z002_flipped_other",
        _flipped_other,
        "Z020",
    ),
    bad("Z003_no_metadata", archive(with_metadata=False)),
    bad("Z004_not_xml", archive(metadata_xml=b"<siardArchive>")),
    bad("Z004_dtd", archive(metadata_xml=b"<!DOCTYPE a><a/>")),
    bad("Z004_not_siard", archive(metadata_xml=b"<a/>")),
    bad("Z005_no_table", archive(None)),
    bad("Z006_table_not_xml", archive(TABLE[:-10])),
    bad("Z006_table_dtd", archive(b"<!DOCTYPE a>" + b"<table/>")),
    bad("Z007_no_siard", _without_siard),
    bad("Z010_lob_missing", cells((_PLACE + b"record0", _PLACE + b"record9")), "Z017"),
    bad("Z011_entry_missing", cells((_PLACE + b"record0", _PLACE + b"record9"), column=""), "Z017", "P119"),
    bad("Z012_absolute_cell", cells((b'file="Northwind_lobseg_0', b'file="/Northwind_lobseg_9')), "Z017"),
    bad("Z012_query", cells((b"record0.bin", b"record0.bin?x=1")), "Z017"),
    bad("Z013_outside", cells((b'file="Northwind_lobseg_0', b'file="../../Northwind_lobseg_9')), "Z017"),
    bad(
        "Z013_absolute_column",
        cells((_PLACE + b"record0", b"record0"), database="", column="/etc/"),
        "Z017",
        "P119",
    ),
    bad("Z014_against_mets", cells((_DIGEST, b"0" * 32)), level="structure"),
    bad("Z015_against_bytes", cells((_DIGEST, b"0" * 32))),
    bad("Z015_lob_changed_with_its_mets", _lob_changed_with_its_mets),
    bad("Z015_inside", _inside(b"inside", digest="0" * 32), "Z017"),
    bad("Z016_length", cells((f'length="{LOBS[0].length}"'.encode(), b'length="1"')), level="structure"),
    bad("Z016_longer", cells((f'length="{LOBS[0].length}"'.encode(), b'length="99999"'))),
    bad("Z016_text", _text_cell),
    bad("Z016_not_text", cells((f'length="{LOBS[0].length}"'.encode(), b'length="200"'))),
    bad("Z016_neither_text_nor_bytes", _gap_of_text),
    bad("Z016_inside", _inside(b"inside", length=3), "Z017"),
    bad("Z017_lob_in_no_cell", cells((cell(LOBS[3], "Northwind").encode(), b""))),
    bad("Z018_two_cells", cells((_PLACE + b"record1", _PLACE + b"record0")), "Z015", "Z016", "Z017"),
    bad("P101_from_the_zip", _outside("", "", lambda name: f"../{name}")),
    bad("P111_file_uri", _outside("./", "./", lambda name: f"file:///{name}")),
    bad("P108_column_of_the_sfa", _outside("../", "", lambda name: name)),
    bad("Z020_message_digest", archive(digest="0" * 32)),
    bad("Z021_no_digest", cells((b' digestType="MD5" digest="' + _DIGEST + b'"', b""))),
    bad("Z022_cells_swapped", _swapped_cells, "Z021"),
    bad("S012_part_in_no_child", _split_map("s0.t2.c4.r1.p9"), "S010", "M024"),
    bad("S010_split_with_its_map", _split_map("s0.t2.c4.r1.p2"), "M024"),
)
