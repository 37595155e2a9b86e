"""Segments that agree: looked at in one go, with the findings and figures of each file by itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check, segments
from metspack.checking.segments import SegmentLook
from metspack.digests import OCTETS
from metspack.files import reading
from metspack.model import Budgets, Finding
from tests.laws import law, spread
from tests.packages import forge
from tests.packages.forge import LOBS, lobs

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


CHANGES: dict[str, Callable[[Path], object]] = {
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
    ("name", "level"), spread(product(CHANGES, [Level.FIXITY, Level.FULL, Level.STRUCTURE]), 2)
)
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
