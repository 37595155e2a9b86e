"""METS documents that are bad: links, the documents' own faults, locations, what they say of files."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.packages.bad.recipe import CHILD, Bad, bad
from tests.packages.forge import LOBS, PARENT_OBJID, edit, md5

Damage = Callable[[Path], object]
_R1 = 'xlink:href="content/schema0/table2/lob4/record0.bin"'
_MPTR_0 = '<mets:mptr xlink:href="ID_Northwind_lobseg_0_mets"'
_MPTR_1 = '<mets:mptr xlink:href="ID_Northwind_lobseg_1_mets"'
_UP = f'<mets:mptr xlink:href="{PARENT_OBJID}"'
_SIZE = f'SIZE="{len(LOBS[0].data)}"'


def parent(old: str, new: str) -> Damage:
    return lambda root: edit(root / "mets.xml", old, new)


def child(old: str, new: str) -> Damage:
    return lambda root: edit(root / CHILD, old, new)


def written(path: str, text: str) -> Damage:
    return lambda root: (root / path).write_text(text)


def _cut(root: Path) -> None:
    data = (root / CHILD).read_bytes()
    (root / CHILD).write_bytes(data[: len(data) * 3 // 4])


def _stray_child(root: Path) -> None:
    shutil.copytree(root / "Northwind_lobseg_1", root / "Northwind_lobseg_2")
    edit(root / "Northwind_lobseg_2/mets.xml", "lobseg_1_mets", "lobseg_2_mets")


def _second_child_same_objid(root: Path) -> None:
    edit(root / "Northwind_lobseg_1/mets.xml", "ID_Northwind_lobseg_1_mets", "ID_Northwind_lobseg_0_mets")


def _without_parent_map(root: Path) -> None:
    text = (root / CHILD).read_text()
    start = text.index('<mets:structMap TYPE="logical"')
    (root / CHILD).write_text(text[:start] + "</mets:mets>\n")


def _without_fptrs(root: Path) -> None:
    lines = (root / CHILD).read_text().splitlines(keepends=True)
    (root / CHILD).write_text("".join(line for line in lines if "<mets:fptr" not in line))


def _pseudo(root: Path) -> None:
    edit(root / CHILD, 'href="content/', 'href="file:///Northwind_lobseg_0/content/', count=len(LOBS))


def _listed_twice(root: Path) -> None:
    text = (root / CHILD).read_text()
    entry = next(line for line in text.splitlines() if 'ID="s0.t2.c4.r1"' in line)
    again = entry.replace("s0.t2.c4.r1", "s0.t2.c4.r9")
    edit(root / CHILD, entry, f"{entry}{again}")
    pointer = '<mets:fptr FILEID="s0.t2.c4.r1"/>'
    edit(root / CHILD, pointer, pointer + pointer.replace("r1", "r9"))


def _alone(root: Path) -> None:
    held = (root / "Northwind_lobseg_0").rename(root.parent / "held")
    shutil.rmtree(root)
    held.rename(root)


_FIRST_FILE = 'ID="s0.t2.c4.r1" OWNERID'
_DEEP = "<mets:div>" * 200 + "</mets:div>" * 200
_NOTHING = (
    '<mets:mets xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    f'OBJID="ID_Northwind_lobseg_2_mets"><mets:structMap LABEL="parent IP"><mets:div>{_UP}/>'
    "</mets:div></mets:structMap></mets:mets>"
)


def _being_put(root: Path) -> None:
    """Leave beside the package what a stopped insertion leaves."""
    partial = root.with_name(f"{root.name}.partial")
    partial.mkdir()
    events = ({"event": "begun in place"}, {"event": "putting", "files": [["mets.xml", "0" * 64]]})
    (partial / "journal.jsonl").write_text(
        "".join(f"{json.dumps(each)}\n" for each in events), encoding="utf-8"
    )


def _empty_child(root: Path) -> None:
    (root / "Northwind_lobseg_2").mkdir()
    (root / "Northwind_lobseg_2/mets.xml").write_text(_NOTHING)
    entry = (
        '<mets:file ID="ID_Northwind_lobseg_2_mets" SIZE="0" CHECKSUM="" CHECKSUMTYPE="MD5"><mets:FLocat '
        'LOCTYPE="URL" xlink:href="Northwind_lobseg_2/mets.xml"/></mets:file>'
    )
    edit(
        root / "mets.xml",
        '<mets:fileGrp USE="child IP" ID="ID_CHILDREN">',
        '<mets:fileGrp USE="child IP">' + entry,
    )
    edit(
        root / "mets.xml",
        '<mets:div LABEL="child IP">',
        f'<mets:div>{_MPTR_0.replace("_0_", "_2_")}/></mets:div><mets:div LABEL="child IP">',
    )


XML: tuple[Bad, ...] = (
    bad("L001_parent_mptr_without_file", parent(_MPTR_0, _MPTR_0.replace("lobseg", "lobsag")), "L005"),
    bad(
        "L001_parent_file_with_another_id",
        parent('ID="ID_Northwind_lobseg_0_mets" S', 'ID="X" S'),
        "L003",
        "L005",
    ),
    bad("L002_child_missing", lambda root: shutil.rmtree(root / "Northwind_lobseg_0"), "Z010"),
    bad("L002_child_missing_links", lambda root: (root / CHILD).unlink(), level="links"),
    bad("L003_child_objid_differs", child('OBJID="ID_N', 'OBJID="ID_M')),
    bad("L004_two_mptr_to_one_child", parent(f"{_MPTR_1}", f"{_MPTR_0}"), "L005"),
    bad(
        "L004_two_files_for_one_child",
        parent("Northwind_lobseg_1/mets.xml", "Northwind_lobseg_0/mets.xml"),
        "L006",
    ),
    bad("L005_child_without_mptr", parent(f"{_MPTR_1} xlink", "<mets:fptr xlink"), "M020"),
    bad("L006_orphan", _stray_child, "Z017"),
    bad("L006_orphan_links", _stray_child, level="links"),
    bad("L007_mptr_without_href", parent(_MPTR_1, "<mets:mptr"), "L005"),
    bad(
        "L008_child_names_parent_as_child",
        child(
            "</mets:structMap>\n<mets:structMap TYPE",
            '</mets:structMap>\n<mets:structMap><mets:div><mets:mptr LOCTYPE="URL" xlink:href="../mets.xml"/>'
            "</mets:div></mets:structMap>\n<mets:structMap TYPE",
        ),
    ),
    bad("L020_child_of_another_parent", child(_UP, _UP.replace("0018", "0019"))),
    bad("L020_parent_with_another_objid", parent(f'OBJID="{PARENT_OBJID}"', 'OBJID="urn:uuid:1"')),
    bad("L021_child_without_parent_mptr", _without_parent_map),
    bad(
        "L022_child_alone",
        _alone,
    ),
    bad("L023_objid_twice", _second_child_same_objid, "L003"),
    bad(
        "F005_no_digest",
        child(f' CHECKSUM="{md5(LOBS[0].data)}" CHECKSUMTYPE="MD5"', ""),
    ),
    bad("F006_no_size", child(_SIZE, "")),
    bad("F007_unknown_algorithm", child('CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="TIGER"')),
    bad("F007_no_algorithm", child('CHECKSUMTYPE="MD5"', "")),
    bad("F008_malformed_digest", child('CHECKSUM="', 'CHECKSUM="z')),
    bad("F009_malformed_size", child(_SIZE, 'SIZE="abc"'), "M020"),
    bad("F009_negative_size", child(_SIZE, 'SIZE="-1"')),
    bad("F013_listed_twice", _listed_twice),
    bad("P001_no_location", child(_R1, ""), "F010"),
    bad("P002_query", child("record0.bin", "record0.bin?x"), "F010"),
    bad("P002_encoded_dots", child("content/schema0", "%2e%2e/schema0"), "F010"),
    bad("P002_http", child("content/schema0", "http://example.org/schema0"), "F010"),
    bad("P003_up_and_out", child("content/schema0", "../../etc"), "F010"),
    bad("P003_absolute", child("content/schema0/table2/lob4/record0.bin", "/etc/passwd"), "F010"),
    bad(
        "P003_file_uri_of_the_system",
        child("content/schema0/table2/lob4/record0.bin", "file:///etc/passwd"),
        "F010",
        "P004",
    ),
    bad("P003_drive", child("content/schema0", "C:/schema0"), "F010"),
    bad(
        "P003_mptr_by_location",
        parent(
            "</mets:div></mets:div></mets:structMap>",
            '<mets:mptr LOCTYPE="URL" xlink:href="../x/METS.xml"/></mets:div></mets:div></mets:structMap>',
        ),
        "M020",
    ),
    bad("P004_pseudo_absolute", _pseudo),
    bad("P005_backslash", child("content/schema0/table2", "content\\schema0\\table2")),
    bad("M002_not_mets", written(CHILD, "<a/>")),
    bad(
        "M002_mets_2",
        lambda root: edit(root / CHILD, "http://www.loc.gov/METS/", "http://www.loc.gov/METS/v2"),
    ),
    bad("M003_no_objid", child('OBJID="ID_Northwind_lobseg_0_mets"', "")),
    bad("M003_no_objid_in_parent", parent(f'OBJID="{PARENT_OBJID}"', 'OBJID=" "')),
    bad("M004_file_id_twice", child('ID="s0.t2.c4.r2" O', 'ID="s0.t2.c4.r1" O'), "M005"),
    bad("M004_id_twice", child('ID="seg_0"', 'ID="ID_SIARD_FILES"')),
    bad("M005_dangling_fptr", child('FILEID="s0.t2.c4.r1"', 'FILEID="s0.t2.c4.r9"'), "M006"),
    bad("M006_file_in_no_fptr", child('<mets:fptr FILEID="s0.t2.c4.r1"/>', "")),
    bad("M007_no_fptr", _without_fptrs),
    bad("M008_no_files", _empty_child, "M020"),
    bad("M010_being_put_in_place", _being_put),
    bad("M009_no_file_id", child(_FIRST_FILE, "OWNERID"), "M005", "M020"),
    bad("X001_cut_off", _cut, level="links"),
    bad("X001_undeclared_prefix", child("<mets:fptr", "<meta:fptr"), level="links"),
    bad("X001_empty", written(CHILD, ""), level="links"),
    bad("X001_encoding", child('encoding="UTF-8"', 'encoding="shift_jis"'), level="links"),
    bad("X002_dtd", child("<mets:mets", '<!DOCTYPE x [<!ENTITY a "b">]>\n<mets:mets'), level="links"),
    bad(
        "X003_deep",
        child('<mets:div LABEL="SIARD LOBs', _DEEP + '<mets:div LABEL="SIARD LOBs'),
        level="links",
    ),
    bad("X003_long_tag", child('LABEL="SIARD LOBs', f'LABEL="{"x" * (3 << 20)}'), level="links"),
)
