"""Segments that agree: looked at in one go, with the findings and figures of each file by itself."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check, segmentreader, segments
from metspack.checking.segments import Agreement, SegmentLook
from metspack.digests import OCTETS
from metspack.files import reading
from metspack.model import Budgets, Severity
from tests.checking.ways import assert_told_alike, file_by_file
from tests.laws import law, spread
from tests.packages import forge
from tests.packages.forge import LOBS, Lob, lobs

pytestmark = pytest.mark.slow

FIRST, SECOND = "Northwind_lobseg_0", "Northwind_lobseg_1"
MANIFESTS = ("manifest-md5.txt", "manifest-sha256.txt")


@pytest.fixture(autouse=True)
def _small_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "FEW", 0)
    monkeypatch.setattr(segmentreader, "LARGE", 0)
    monkeypatch.setattr(segmentreader, "_HELD_AT_ONCE", 1)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


def lob(number: int) -> str:
    return f"Northwind_lobseg_{LOBS[number].segment}/{LOBS[number].path}"


def edit(path: str, old: str, new: str, *, seal: bool = True) -> Callable[[Path], object]:
    def change(package: Path) -> None:
        forge.edit(package / path, old, new)
        if seal:
            forge.seal(package)

    return change


def write(path: str, data: bytes, *, seal: bool = True) -> Callable[[Path], object]:
    def change(package: Path) -> None:
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_bytes(data)
        if seal:
            forge.seal(package)

    return change


def rewrite(manifest: str, change: Callable[[list[str]], Iterable[str]]) -> Callable[[Path], object]:
    def changed(package: Path) -> None:
        path = package / manifest
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))

    return changed


def listed_by_the_parent(package: Path) -> None:
    data = LOBS[0].data
    entry = (
        f'<mets:file ID="again" SIZE="{len(data)}" CHECKSUMTYPE="MD5" CHECKSUM="{forge.md5(data)}">'
        f'<mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{lob(0)}"/></mets:file></mets:fileGrp>'
    )
    path = package / "mets.xml"
    path.write_text(path.read_text().replace("</mets:fileGrp>", entry, 1))
    forge.seal(package)


def named_by_two_cells(package: Path) -> None:
    path = package / "Northwind.siard"
    path.write_bytes(forge.siard(forge.table((*LOBS[:3], LOBS[2]), "Northwind")))
    forge.seal(package)


def _with_entry(package: Path, identifier: str, data: bytes, path: str) -> None:
    """Let the parent list a file."""
    (package / path).parent.mkdir(exist_ok=True)
    (package / path).write_bytes(data)
    mets = package / "mets.xml"
    entry = forge._file(identifier, data, path)
    text = mets.read_text().replace("</mets:fileGrp>", f"{entry}</mets:fileGrp>", 1)
    pointer = '<mets:fptr FILEID="ID_NORTHWIND.SIARD"/>'
    mets.write_text(text.replace(pointer, f'{pointer}<mets:fptr FILEID="{identifier}"/>', 1))


def a_list_beside_the_archive_without_lobs(package: Path) -> None:
    line = f"{forge.md5((package / 'Northwind.siard').read_bytes())}  Northwind.siard\n"
    _with_entry(package, "list", line.encode(), "manifest.txt")
    forge.seal(package)


def a_file_with_the_id_of_no_cell(package: Path) -> None:
    data = b"outside"
    row = (
        f'<row><c1>5</c1><c4 file="extra.bin" length="7" digestType="MD5" digest="{forge.md5(data)}"/></row>'
    )
    table = forge.table(LOBS, "Northwind").decode().replace("</table>", f"{row}\n</table>").encode()
    (package / "Northwind.siard").write_bytes(forge.siard(table, rows=5))
    _with_entry(package, "s9.t9.c9.r9", data, "extra.bin")
    forge.seal(package)


def documentation_with_the_id_of_a_lob(package: Path) -> None:
    """A child that is no segment lists a file under the ID of a LOB in another child."""
    data = b"documentation"
    child = forge.child(0, [Lob(0, 1, data)], "Northwind").decode()
    child = child.replace("ID_Northwind_lobseg_0_mets", "ID_more_mets").replace(LOBS[0].path, "doc.bin")
    child = child.replace('ID="ID_SIARD_FILES"', 'ID="d" USE="Documentation"')
    child = child.replace('ID="seg_0"', 'ID="d2" USE="Documentation"')
    (package / "more").mkdir()
    (package / "more" / "doc.bin").write_bytes(data)
    (package / "more" / "mets.xml").write_text(child)
    mets = package / "mets.xml"
    group, div = '<mets:fileGrp USE="child IP" ID="ID_CHILDREN">', '<mets:div LABEL="child IPs">'
    pointer = '<mets:mptr xlink:href="ID_more_mets" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"/>'
    entry = forge._file("ID_more_mets", child.encode(), "more/mets.xml")
    forge.edit(mets, group, group + entry)
    forge.edit(mets, div, f'{div}<mets:div LABEL="child IP">{pointer}</mets:div>')
    forge.seal(package)


def a_lob_that_is_a_mets(package: Path) -> None:
    """The parent leads to a LOB as to a child."""
    div = '<mets:div LABEL="child IPs">'
    pointer = f'<mets:mptr xlink:href="{lob(0)}" LOCTYPE="URL" xlink:type="simple"/>'
    forge.edit(package / "mets.xml", div, f'{div}<mets:div LABEL="child IP">{pointer}</mets:div>')
    forge.seal(package)


def other_algorithms_in_each_segment(package: Path) -> None:
    """The cells of both segments, in one run, have digests that only one of the METS has; one is wrong."""
    table = forge.table(LOBS, "Northwind").decode()
    for number, kind, name in ((0, "sha1", "SHA-1"), (1, "sha512", "SHA-512")):
        mets = package / f"Northwind_lobseg_{number}" / "mets.xml"
        text = mets.read_text()
        for each in LOBS:
            stated = f'CHECKSUM="{forge.md5(each.data)}" CHECKSUMTYPE="MD5"'
            value = hashlib.new(kind, each.data).hexdigest()
            text = text.replace(stated, f'CHECKSUM="{value}" CHECKSUMTYPE="{name}"')
        mets.write_text(text)
    for each in LOBS:
        value = "0" * 40 if each is LOBS[0] else hashlib.sha1(each.data).hexdigest()  # noqa: S324
        stated = f'digestType="MD5" digest="{forge.md5(each.data)}"'
        table = table.replace(stated, f'digestType="SHA-1" digest="{value}"')
    (package / "Northwind.siard").write_bytes(forge.siard(table.encode()))
    forge.seal(package)


def a_file_twice_in_the_group_of_children(package: Path) -> None:
    group = '<mets:fileGrp USE="child IP" ID="ID_CHILDREN">'
    (package / "more.bin").write_bytes(b"more")
    twice = forge._file("a1", b"more", "more.bin") + forge._file("a2", b"more", "more.bin")
    forge.edit(package / "mets.xml", group, group + twice)
    forge.seal(package)


def segments_in_an_unpacked_archive(package: Path) -> None:
    folder = package / "Northwind.siard"
    folder.unlink()
    folder.mkdir()
    for name in (FIRST, SECOND):
        (package / name).rename(folder / name)
    table = forge.table(LOBS, "Northwind").decode().replace('file="', 'file="Northwind.siard/')
    with zipfile.ZipFile(io.BytesIO(forge.siard(table.encode()))) as archive:
        archive.extractall(folder)
    own = [
        path for path in forge.files(package) if path.startswith("Northwind.siard/") and "lobseg" not in path
    ]
    entries = "".join(forge._file(f"A{n}", (package / path).read_bytes(), path) for n, path in enumerate(own))
    pointers = "".join(f'<mets:fptr FILEID="A{n}"/>' for n in range(len(own)))
    text = (package / "mets.xml").read_text()
    text = re.sub(r'<mets:file ID="ID_NORTHWIND.SIARD".*?</mets:file>', lambda _: entries, text)
    text = text.replace('<mets:fptr FILEID="ID_NORTHWIND.SIARD"/>', pointers)
    text = text.replace('xlink:href="Northwind_lobseg', 'xlink:href="Northwind.siard/Northwind_lobseg')
    (package / "mets.xml").write_text(text)
    forge.seal(package)


CHANGES: dict[str, Callable[[Path], object]] = {
    "segments in an unpacked archive": segments_in_an_unpacked_archive,
    "a list beside the archive without LOBs": a_list_beside_the_archive_without_lobs,
    "a file with the ID of no cell": a_file_with_the_id_of_no_cell,
    "documentation with the ID of a LOB": documentation_with_the_id_of_a_lob,
    "a LOB that is to be a METS": a_lob_that_is_a_mets,
    "other algorithms in each segment": other_algorithms_in_each_segment,
    "a file twice in the group of children": a_file_twice_in_the_group_of_children,
    "nothing": lambda _package: None,
    "a LOB's bytes": write(lob(1), b"another" + LOBS[1].data[7:], seal=False),
    "a LOB's size": write(lob(1), LOBS[1].data + b".", seal=False),
    "a text with as many bytes": write(lob(3), LOBS[3].data.replace("€".encode(), b"eur"), seal=False),
    "a lost LOB": lambda package: (package / lob(2)).unlink(),
    "a lost segment": lambda package: shutil.rmtree(package / SECOND),
    "a lost METS": lambda package: (package / SECOND / "mets.xml").unlink(),
    "an unlisted file": write(f"{FIRST}/content/more.bin", b"more"),
    "a METS in a segment": write(f"{FIRST}/content/mets.xml", b"<mets/>"),
    "a name for few systems": write(f"{FIRST}/aux", b"more"),
    "an empty folder": lambda package: (package / FIRST / "empty").mkdir(),
    "a link": lambda package: (package / FIRST / "link").symlink_to("mets.xml"),
    "a segment that nobody names": lambda package: shutil.copytree(
        package / FIRST, package / "Northwind_lobseg_2"
    ),
    "a size in METS": edit(f"{FIRST}/mets.xml", f'SIZE="{len(LOBS[0].data)}"', 'SIZE="1"'),
    "a digest in METS": edit(f"{FIRST}/mets.xml", forge.md5(LOBS[0].data), "0" * 32),
    "a digest in METS that the manifest has": edit(
        f"{FIRST}/mets.xml", forge.md5(LOBS[0].data), forge.md5(LOBS[1].data), seal=False
    ),
    "an ID in METS": edit(f"{FIRST}/mets.xml", '"s0.t2.c4.r1"', '"s0.t2.c4.r9"'),
    "an ID twice": edit(f"{FIRST}/mets.xml", 'ID="s0.t2.c4.r2"', 'ID="s0.t2.c4.r1"'),
    "no pointer": edit(f"{FIRST}/mets.xml", '<mets:fptr FILEID="s0.t2.c4.r2"/>', ""),
    "a pointer twice": edit(
        f"{FIRST}/mets.xml", '<mets:fptr FILEID="s0.t2.c4.r2"/>', '<mets:fptr FILEID="s0.t2.c4.r2"/>' * 2
    ),
    "a GROUPID": edit(f"{FIRST}/mets.xml", '"s0.t2.c4.r2" ', '"s0.t2.c4.r2" GROUPID="s0.t2.c4.r2" '),
    "an OBJID": edit(f"{FIRST}/mets.xml", 'OBJID="', 'OBJID="other'),
    "what is not valid": edit(f"{FIRST}/mets.xml", "<mets:fileSec>", "<mets:fileSec><any/>"),
    "what is not well-formed": edit(f"{FIRST}/mets.xml", "<mets:fileSec>", "<mets:fileSec><any>"),
    "a file that the parent lists too": listed_by_the_parent,
    "a file that two cells name": named_by_two_cells,
    "lines out of order": rewrite("manifest-md5.txt", reversed),
    "segments out of order": rewrite(
        "manifest-md5.txt", lambda lines: sorted(lines, key=lambda line: (SECOND not in line, line[34:]))
    ),
    "a line twice": rewrite("manifest-md5.txt", lambda lines: (*lines, lines[1])),
    "a lost line": rewrite("manifest-sha256.txt", lambda lines: lines[:2] + lines[3:]),
    "a digest in capital letters": rewrite(
        "manifest-md5.txt", lambda lines: [lines[0], lines[1][:32].upper() + lines[1][32:], *lines[2:]]
    ),
    "a wrong digest in a manifest": rewrite(
        "manifest-sha256.txt", lambda lines: [lines[0], "0" * 64 + lines[1][64:], *lines[2:]]
    ),
    "a wrong digest of a METS": rewrite(
        "manifest-sha256.txt",
        lambda lines: ["0" * 64 + line[64:] if "_0/mets.xml" in line else line for line in lines],
    ),
    "no line feed at the end": rewrite("manifest-md5.txt", lambda lines: "".join(lines).rstrip("\n")),
    "no manifest": lambda package: (package / "manifest-md5.txt").unlink(),
    "no archive": lambda package: (package / "Northwind.siard").unlink(),
    "a damaged archive": lambda package: (package / "Northwind.siard").write_bytes(b"PK"),
    "a file beside the segments": write("more.bin", b"more"),
}


@pytest.mark.parametrize(
    ("name", "level"), spread(product(CHANGES, [Level.FULL, Level.STRUCTURE, Level.FIXITY]), 2)
)
def test_all_is_told_that_is_told_of_each_file_by_itself(
    package: Path, name: str, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES[name](package)
    assert_told_alike(package, level, monkeypatch)


def packed(package: Path, *names: str, method: int = zipfile.ZIP_STORED) -> None:
    """Put segments into zip files, each with its folder, in place of the folders."""
    for name in names:
        with zipfile.ZipFile(package / f"{name}.zip", "w", method) as archive:
            for path in sorted(forge.files(package / name)):
                archive.write(package / name / path, f"{name}/{path}")
        shutil.rmtree(package / name)
    forge.seal(package)


def with_entry(name: str, data: bytes = b"more") -> Callable[[Path], object]:
    def change(package: Path) -> None:
        with zipfile.ZipFile(package / f"{FIRST}.zip", "a") as archive:
            archive.writestr(name, data)
        forge.seal(package)

    return change


def cut_off(package: Path) -> None:
    path = package / f"{FIRST}.zip"
    path.write_bytes(path.read_bytes()[:-30])
    forge.seal(package)


def with_a_folder_beside(package: Path) -> None:
    (package / FIRST).mkdir()
    (package / FIRST / "mets.xml").write_bytes(b"<mets/>")


def of_another_case(package: Path) -> None:
    (package / f"{FIRST}.zip").rename(package / f"{FIRST}.ZIP")
    forge.seal(package)


def damaged_mets(package: Path) -> None:
    path = package / f"{FIRST}.zip"
    path.write_bytes(path.read_bytes().replace(b"<mets:fileSec>", b"<mets:fileSex>", 1))
    forge.seal(package)


CHANGES_OF_PACKS: dict[str, Callable[[Path], object]] = {
    "nothing": CHANGES["nothing"],
    "a file beside the folder": with_entry("more.bin"),
    "an unlisted file": with_entry(f"{FIRST}/content/more.bin"),
    "a folder": with_entry(f"{FIRST}/content/", b""),
    "an empty folder": with_entry(f"{FIRST}/empty/", b""),
    "a second METS": with_entry(f"{FIRST}/content/METS.xml", b"<mets/>"),
    "a name for few systems": with_entry(f"{FIRST}/aux"),
    "a damaged directory": cut_off,
    "a damaged METS": damaged_mets,
    "a folder beside the file": with_a_folder_beside,
    "another letter case": of_another_case,
    "a file that no manifest has": with_entry(f"{FIRST}.zip"),
    "a lost file": lambda package: (package / f"{FIRST}.zip").unlink(),
    "a file that nobody names": lambda package: shutil.copy(
        package / f"{FIRST}.zip", package / "Northwind_lobseg_2.zip"
    ),
}
"""Changes of a package whose segments are packed already."""


@pytest.mark.parametrize(
    ("name", "level"), spread(product(CHANGES_OF_PACKS, [Level.STRUCTURE, Level.FULL]), 3)
)
@pytest.mark.parametrize("names", [(FIRST,), (FIRST, SECOND)])
def test_of_packed_segments_all_is_told_as_well(
    package: Path, names: tuple[str, ...], name: str, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(package, *names)
    CHANGES_OF_PACKS[name](package)
    assert_told_alike(package, level, monkeypatch)


@pytest.mark.parametrize("name", spread(CHANGES, 3))
def test_of_segments_that_were_changed_and_then_packed_all_is_told_as_well(
    package: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES[name](package)
    folders = [each for each in (FIRST, SECOND) if (package / each).is_dir()]
    manifests = [package / each for each in MANIFESTS if (package / each).exists()]
    packed(package, *folders)
    for each in set(MANIFESTS) - {path.name for path in manifests}:
        (package / each).unlink(missing_ok=True)
    assert_told_alike(package, Level.STRUCTURE, monkeypatch)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_packed_segments_agree_where_no_bytes_are_read(
    package: Path, method: int, agreed: list[bool]
) -> None:
    packed(package, FIRST, SECOND, method=method)
    assert {each.severity for each in check(package, Level.STRUCTURE)} <= {Severity.INFO}
    assert agreed == [True]
    list(check(package, Level.FULL))
    assert agreed == [True]


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FIXITY, Level.FULL])
def test_where_all_agrees_that_is_all_there_is_to_a_check(
    package: Path, level: Level, agreed: list[bool]
) -> None:
    assert list(check(package, level)) == []
    assert agreed == [True]


@pytest.mark.parametrize("change", ["a lost LOB", "an ID in METS", "a file that two cells name"])
def test_what_is_odd_is_looked_at_file_by_file(package: Path, change: str, agreed: list[bool]) -> None:
    CHANGES[change](package)
    assert list(check(package))
    assert True not in agreed


# --- a package of one METS ----------------------------------------------------------------------------


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A package of one METS, which has no manifests: a child by itself."""
    forge.forge(tmp_path / "package", lobs(40, 1))
    return tmp_path / "package" / FIRST


def swap(one: str, two: str) -> Callable[[Path], object]:
    """Let two texts of the METS change places."""

    def change(package: Path) -> None:
        text = (package / "mets.xml").read_text()
        assert text.count(one) == text.count(two) == 1
        (package / "mets.xml").write_text(text.replace(one, "\0").replace(two, one).replace("\0", two))

    return change


def in_mets(old: str, new: str) -> Callable[[Path], object]:
    return edit("mets.xml", old, new, seal=False)


def into(path: str, data: bytes = b"more") -> Callable[[Path], object]:
    return write(path, data, seal=False)


LOB_FOLDER = "content/schema0/table2/lob4"
TWO, TEN = (f'<mets:fptr FILEID="s0.t2.c4.r{number}"/>' for number in (2, 10))


def with_file(path: str, **others: str) -> Callable[[Path], object]:
    """Let METS list one more file, which is there."""
    given = {"ID": "more", "SIZE": "4", "CHECKSUMTYPE": "MD5", "CHECKSUM": forge.md5(b"more"), **others}

    def change(package: Path) -> None:
        into(path)(package)
        text = (package / "mets.xml").read_text()
        said = " ".join(f'{name}="{value}"' for name, value in given.items())
        entry = (
            f'<mets:file {said}><mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{path}"/>'
            "</mets:file></mets:fileGrp>"
        )
        text = text.replace("</mets:fileGrp>", entry, 1)
        (package / "mets.xml").write_text(text.replace(TWO, f'{TWO}<mets:fptr FILEID="{given["ID"]}"/>'))

    return change


def a_folder_for_a_file(package: Path) -> None:
    (package / LOB_FOLDER / "record3.bin").unlink()
    (package / LOB_FOLDER / "record3.bin").mkdir()


ALONE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _package: None,
    "one more file": with_file("content/more.bin"),
    "a size": into(f"{LOB_FOLDER}/record3.bin", b"another"),
    "sizes changed places": lambda package: (package / LOB_FOLDER / "record3.bin").write_bytes(b""),
    "two files of one size in METS": swap("record3.bin", "record4.bin"),
    "IDs changed places": swap('<mets:file ID="s0.t2.c4.r3"', '<mets:file ID="s0.t2.c4.r4"'),
    "pointers in another order": swap(TWO, TEN),
    "a lost file": lambda package: (package / LOB_FOLDER / "record3.bin").unlink(),
    "a file that is a folder": a_folder_for_a_file,
    "a lost folder": lambda package: shutil.rmtree(package / "content"),
    "an unlisted file": into("content/more.bin"),
    "an unlisted file beside METS": into("more.bin"),
    "a file twice": in_mets("record3.bin", "record4.bin"),
    "an ID twice": in_mets('ID="s0.t2.c4.r30"', 'ID="s0.t2.c4.r2"'),
    "an ID twice, pointed to": lambda package: (
        in_mets('ID="s0.t2.c4.r30"', 'ID="s0.t2.c4.r2"')(package),
        in_mets('FILEID="s0.t2.c4.r30"', 'FILEID="s0.t2.c4.r2"')(package),
    ),
    "an ID that another element has": in_mets("<mets:fileGrp", '<mets:fileGrp ID="s0.t2.c4.r7"'),
    "an ID of another order": lambda package: (
        in_mets('ID="s0.t2.c4.r3"', 'ID="s0.t2.c4.r999"')(package),
        in_mets('FILEID="s0.t2.c4.r3"', 'FILEID="s0.t2.c4.r999"')(package),
    ),
    "no pointer": in_mets(TWO, ""),
    "a pointer twice": in_mets(TWO, TWO * 2),
    "another pointer twice": in_mets(TWO, TEN),
    "no pointers": lambda package: (package / "mets.xml").write_text(
        re.sub("<mets:fptr [^>]*/>", "", (package / "mets.xml").read_text())
    ),
    "no size": in_mets(f'SIZE="{len(lobs(40, 1)[3].data)}" ', ""),
    "a size that is not one": in_mets(f'SIZE="{len(lobs(40, 1)[3].data)}"', 'SIZE="many"'),
    "a short digest": in_mets(forge.md5(lobs(40, 1)[3].data), "00"),
    "another algorithm": with_file(
        "content/more.bin", CHECKSUMTYPE="SHA-256", CHECKSUM=hashlib.sha256(b"more").hexdigest()
    ),
    "a GROUPID": with_file("content/more.bin", GROUPID="more"),
    "a reference with an escape": in_mets("record3.bin", "record%33.bin"),
    "what leads out": in_mets(f"{LOB_FOLDER}/record3.bin", "../record3.bin"),
    "an archive": with_file("content/more.siard"),
    "an archive that was unpacked": with_file("header/metadata.xml"),
    "a list of LOBs": with_file("manifest.txt"),
    "a METS": with_file("content/mets.xml"),
    "an unlisted METS": into("content/METS.xml", b"<mets/>"),
    "another METS beside": into("METS.xml", b"<mets/>"),
    "a manifest": into("manifest-md5.txt", b""),
    "a name for few systems": with_file("content/aux"),
    "a name in capital letters": with_file("content/More.bin"),
    "names alike": lambda package: (
        with_file("content/more.bin")(package),
        with_file("content/More.bin", ID="More")(package),
    ),
    "a link": lambda package: (package / "content/link").symlink_to("schema0"),
    "an empty folder": lambda package: (package / "content/empty").mkdir(),
    "an OBJID": in_mets('OBJID="', 'OBJID=" '),
    "a profile of a standard": in_mets(
        "<mets:mets ", '<mets:mets PROFILE="https://earkcsip.dilcis.eu/profile/E-ARK-CSIP.xml" '
    ),
    "what is not valid": in_mets("<mets:fileSec>", "<mets:fileSec><any/>"),
    "what is not well-formed": in_mets("<mets:fileSec>", "<mets:fileSec><any>"),
    "another encoding": lambda package: (package / "mets.xml").write_bytes(
        b'<?xml version="1.0" encoding="ISO-8859-1"?>'
        + (package / "mets.xml").read_bytes().partition(b"?>")[2]
    ),
}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ALONE)
def test_of_a_package_of_one_mets_the_same_is_told(
    alone: Path, name: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ALONE[name](alone)
    assert_told_alike(alone, Level.STRUCTURE, monkeypatch, module=segmentreader, name="LARGE", jobs=jobs)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "change", ["nothing", "one more file", "another algorithm", "pointers in another order"]
)
def test_a_package_of_one_mets_is_looked_at_whole(
    alone: Path, jobs: int, change: str, agreed: list[bool]
) -> None:
    ALONE[change](alone)
    assert [each.code for each in check(alone, Level.STRUCTURE, jobs=jobs)] == ["L022"]
    assert agreed == [True]


@pytest.mark.parametrize("change", ["a lost file", "a file twice", "an ID twice, pointed to", "a size"])
def test_one_that_is_odd_is_looked_at_file_by_file(alone: Path, change: str, agreed: list[bool]) -> None:
    ALONE[change](alone)
    assert {each.code for each in check(alone, Level.STRUCTURE)} > {"L022"}
    assert agreed == []


@law(60)
@given(st.integers(0, 1 << 20), st.sampled_from([1, 2, 4, 0x20, 0xFF]), st.booleans())
def test_of_a_damaged_package_of_one_mets_the_same_is_told(
    tmp_path_factory: pytest.TempPathFactory, at: int, mask: int, is_lost: bool
) -> None:
    package = forge.forge(tmp_path_factory.mktemp("damaged") / "package", lobs(12, 1)) / FIRST
    data = bytearray((package / "mets.xml").read_bytes())
    data[at % len(data)] ^= mask
    (package / "mets.xml").write_bytes(data[: at % len(data)] if is_lost else data)
    with pytest.MonkeyPatch.context() as patch:
        assert_told_alike(package, Level.STRUCTURE, patch, module=segmentreader, name="LARGE")


def test_files_that_were_read_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = lobs(60, 3)
    package = forge.forge(tmp_path / "package", many)
    (package / f"Northwind_lobseg_{many[30].segment}" / many[30].path).write_bytes(many[30].data[::-1])
    monkeypatch.setattr(segments, "_FILES_AT_ONCE", 5)
    opened: list[str] = []
    real = reading.small_files

    def watched(
        root: Path, folders: Sequence[str], names: Iterable[str], *given: Any
    ) -> Iterator[memoryview | None]:
        names = list(names)
        opened.extend("/".join((*folders, name)) for name in names)
        return real(root, folders, names, *given)

    monkeypatch.setattr(reading, "small_files", watched)
    checking = check(package)
    assert [each.code for each in checking] == ["F003"]
    read = [path for path in opened if "/lob4/" in path]
    assert set(read) == {f"Northwind_lobseg_{each.segment}/{each.path}" for each in many}
    assert len(read) - len(set(read)) == 5  # those that were read beside the damaged one
    summary = checking.summary
    file_by_file(monkeypatch)
    general = check(package)
    list(general)
    assert general.summary == summary


def test_a_segment_of_too_many_files_is_looked_at_file_by_file(
    package: Path, agreed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segmentreader, "MOST_FILES", 1)
    assert list(check(package)) == []
    assert agreed == []


def test_processes_look_at_segments(package: Path, agreed: list[bool]) -> None:
    assert list(check(package, jobs=2)) == []
    assert agreed == [True]


def test_what_a_segment_says_is_what_its_files_are(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentreader, "_HELD_AT_ONCE", 1000)
    look = SegmentLook(
        root=package,
        mets=f"{FIRST}/mets.xml".encode(),
        data=FIRST.encode(),
        manifests=("MD5", "SHA-256"),
        budgets=Budgets(),
    )
    seen = segmentreader.look_at(look, lambda _: None)
    assert seen is not None
    segment, (columns,) = seen
    assert (segment.files, segment.total) == (2, sum(len(each.data) for each in LOBS[:2]))
    assert columns.ids.split("\n") == ["s0.t2.c4.r1", "s0.t2.c4.r2"]
    assert columns.names.split(b"\0") == [each.path.encode() for each in LOBS[:2]]
    assert columns.digests["MD5"].hex() == "".join(forge.md5(each.data) for each in LOBS[:2])
    assert segment.folders == tuple(
        f"{FIRST}/{each}".encode()
        for each in ("content", "content/schema0", "content/schema0/table2", "content/schema0/table2/lob4")
    )


@law(100)
@given(
    st.lists(st.text("ab/0", min_size=1, max_size=9), min_size=1, unique=True),
    st.text("ab/0", min_size=1, max_size=9),
)
def test_a_line_of_a_manifest_is_found_by_halves(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str], wanted: str
) -> None:
    width = 2 * OCTETS["MD5"]
    lines = [b"0" * width + b"  " + path.encode() + b"\n" for path in sorted(paths)]
    manifest = tmp_path_factory.mktemp("manifest") / "manifest-md5.txt"
    manifest.write_bytes(b"".join(lines))
    before = sum(len(line) for line in lines if line[width + 2 : -1] < wanted.encode())
    with reading.opening(manifest) as descriptor:
        assert segmentreader._line_of(descriptor, wanted.encode(), width) == before


def test_an_archive_that_is_gone_once_lobs_were_read_is_a_finding(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Agreement.are_right

    def losing(agreement: Agreement, progress: Callable[[int], None]) -> bool:
        found = real(agreement, progress)
        (package / "Northwind.siard").unlink()
        return found

    monkeypatch.setattr(Agreement, "are_right", losing)
    assert "Z001" in {each.code for each in check(package)}


# --- What is said of files besides METS and the package's manifests -----------------------------------


def test_what_premis_in_the_mets_of_a_segment_says_otherwise_is_told(package: Path) -> None:
    mets = package / FIRST / "mets.xml"
    text = mets.read_text(encoding="utf-8").replace("<mets:file ", '<mets:file ADMID="tech" ', 1)
    said = (
        '<mets:amdSec ID="amd"><mets:techMD ID="tech"><mets:mdWrap MDTYPE="PREMIS"><mets:xmlData>'
        '<p:object xmlns:p="http://www.loc.gov/premis/v3"><p:messageDigestAlgorithm>md5'
        f"</p:messageDigestAlgorithm><p:messageDigest>{'0' * 32}</p:messageDigest></p:object>"
        "</mets:xmlData></mets:mdWrap></mets:techMD></mets:amdSec><mets:fileSec>"
    )
    mets.write_text(text.replace("<mets:fileSec>", said), encoding="utf-8")
    forge.seal(package)
    assert [(each.code, each.path) for each in check(package)] == [("M042", f"{FIRST}/mets.xml")]


def test_what_a_bag_around_segments_says_otherwise_is_told(package: Path) -> None:
    bag = package.parent / "bag"
    bag.mkdir()
    data = package.rename(bag / "data")
    files = [path for path in data.rglob("*") if path.is_file()]
    lines = [f"{hashlib.md5(each.read_bytes()).hexdigest()}  {each.relative_to(bag)}\n" for each in files]  # noqa: S324
    (bag / "bagit.txt").touch()
    (bag / "manifest-md5.txt").write_text("".join(lines))
    assert [each.code for each in check(data)] == []
    lob = f"data/{FIRST}/{LOBS[0].path}"
    wrong = [f"{'0' * 32}  {lob}\n" if each.endswith(f"  {lob}\n") else each for each in lines]
    (bag / "manifest-md5.txt").write_text("".join(wrong))
    (found,) = check(data)
    assert (found.code, found.path) == ("F026", lob.removeprefix("data/"))
    assert "the bag's manifest-md5.txt" in found.message
