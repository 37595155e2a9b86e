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

from metspack.checking import Level, check, segments
from metspack.checking.segments import Agreement, SegmentLook
from metspack.digests import OCTETS
from metspack.files import reading
from metspack.model import Budgets, Finding
from tests.laws import law, spread
from tests.packages import forge
from tests.packages.forge import LOBS, Lob, lobs

FIRST, SECOND = "Northwind_lobseg_0", "Northwind_lobseg_1"
NEVER = 1 << 60


@pytest.fixture(autouse=True)
def _small_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "FEW", 0)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


@pytest.fixture
def agreed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each look at segments in one go was all there was to a check."""
    found: list[bool] = []
    real = segments.told_all_the_same

    def told(findings: Iterator[Finding]) -> list[Finding] | None:
        result = real(findings)
        found.append(result is not None)
        return result

    monkeypatch.setattr(segments, "told_all_the_same", told)
    return found


def found(package: Path, level: Level) -> tuple[object, ...]:
    """Return all that a check tells."""
    checking = check(package, level)
    return list(checking), checking.summary, checking.graphs


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


@pytest.mark.parametrize(("name", "level"), spread(product(CHANGES, [Level.FULL, Level.STRUCTURE]), 3))
def test_all_is_told_that_is_told_of_each_file_by_itself(
    package: Path, name: str, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES[name](package)
    together = found(package, level)
    monkeypatch.setattr(segments, "FEW", NEVER)
    assert together == found(package, level)


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
    monkeypatch.setattr(segments, "FEW", NEVER)
    general = check(package)
    list(general)
    assert general.summary == summary


def test_a_segment_of_too_many_files_is_looked_at_file_by_file(
    package: Path, agreed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MOST_FILES", 1)
    assert list(check(package)) == []
    assert agreed == []


def test_processes_look_at_segments(package: Path, agreed: list[bool]) -> None:
    assert list(check(package, jobs=2)) == []
    assert agreed == [True]


def test_what_a_segment_says_is_what_its_files_are(package: Path) -> None:
    look = SegmentLook(root=package, folder=FIRST.encode(), manifests=("MD5", "SHA-256"), budgets=Budgets())
    seen = segments.look_at(look, lambda _: None)
    assert seen is not None
    segment, columns = seen
    assert (segment.files, segment.total) == (2, sum(len(each.data) for each in LOBS[:2]))
    assert columns.ids.split("\n") == ["s0.t2.c4.r1", "s0.t2.c4.r2"]
    assert columns.names.split(b"\0") == [each.path.encode() for each in LOBS[:2]]
    assert columns.digests["MD5"] == "".join(forge.md5(each.data) for each in LOBS[:2])
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
        assert segments._line_of(descriptor, wanted.encode(), width) == before


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
