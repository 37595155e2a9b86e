"""What is found in segments of which each is looked at in one go, however small they are."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Checked, Level, check, looks, segmentreader, segments
from metspack.checking.links import links
from metspack.checking.mets import documents, schema
from metspack.mets import fastreader
from metspack.model import Severity
from metspack.reporting.facts import facts_of
from metspack.reporting.model import ReportFacts
from tests.findings import ordered
from tests.laws import law
from tests.packages import forge
from tests.packages.forge import LOBS, lobs
from tests.watching import suite_watch

FIRST, SECOND = "Northwind_lobseg_0", "Northwind_lobseg_1"
LOB_FOLDER = "content/schema0/table2/lob4"


@pytest.fixture(autouse=True)
def _small_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FEW", 0)
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


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda _package: None, ""),
    "a text with as many bytes": (
        write(lob(3), LOBS[3].data.replace("€".encode(), b"eur"), seal=False),
        "F003 Z016",
    ),
    "a LOB's size": (write(lob(1), LOBS[1].data + b".", seal=False), "F002 F003"),
    "a lost LOB": (lambda package: (package / lob(2)).unlink(), "F001"),
    "an unlisted file": (write(f"{FIRST}/content/more.bin", b"more"), "F010"),
    "a segment that nobody names": (
        lambda package: shutil.copytree(package / FIRST, package / "Northwind_lobseg_2"),
        "F024 L006 L023 Z017",
    ),
    "a digest in METS that the manifest has": (
        edit(f"{FIRST}/mets.xml", forge.md5(LOBS[0].data), forge.md5(LOBS[1].data), seal=False),
        "F003 F011",
    ),
    "an ID twice": (edit(f"{FIRST}/mets.xml", 'ID="s0.t2.c4.r2"', 'ID="s0.t2.c4.r1"'), "M004 M005"),
    "a pointer twice": (
        edit(
            f"{FIRST}/mets.xml", '<mets:fptr FILEID="s0.t2.c4.r2"/>', '<mets:fptr FILEID="s0.t2.c4.r2"/>' * 2
        ),
        "",
    ),
    "a file that the parent lists too": (listed_by_the_parent, "F013 M006"),
    "a file that two cells name": (named_by_two_cells, "Z017 Z018"),
    "segments out of order": (
        rewrite(
            "manifest-md5.txt", lambda lines: sorted(lines, key=lambda line: (SECOND not in line, line[34:]))
        ),
        "F022",
    ),
    "a lost line": (rewrite("manifest-sha256.txt", lambda lines: lines[:2] + lines[3:]), "F024"),
    "a digest in capital letters": (
        rewrite(
            "manifest-md5.txt", lambda lines: [lines[0], lines[1][:32].upper() + lines[1][32:], *lines[2:]]
        ),
        "F022",
    ),
    "a wrong digest of a METS": (
        rewrite(
            "manifest-sha256.txt",
            lambda lines: ["0" * 64 + line[64:] if "_0/mets.xml" in line else line for line in lines],
        ),
        "F026",
    ),
}


def codes(package: Path, level: Level = Level.FULL) -> set[str]:
    return {each.code for each in check(package, level)}


def with_files(*paths: str, seal: bool = True) -> Callable[[Path], object]:
    """Put more files into a package, which no METS lists."""

    def change(package: Path) -> None:
        for path in paths:
            write(path, path.encode(), seal=False)(package)
        if seal:
            forge.seal(package)

    return change


def listed_as(href: str) -> Callable[[Path], object]:
    """Let the parent list a LOB at another location."""

    def change(package: Path) -> None:
        listed_by_the_parent(package)
        forge.edit(package / "mets.xml", f'"{lob(0)}"', f'"{href}"')
        forge.seal(package)

    return change


def with_a_line_in_capitals(lines: list[str]) -> Iterable[str]:
    more = [line.replace("record0", "RECORD0") for line in lines if line.endswith(f"{lob(0)}\n")]
    return sorted((*lines, *more), key=lambda line: line[66:])


def swapped(*lost: str) -> Callable[[Path], object]:
    """Let children change places, before the manifests are written."""

    def change(package: Path) -> None:
        (package / FIRST).rename(package / "other")
        (package / SECOND).rename(package / FIRST)
        (package / "other").rename(package / SECOND)
        for each in lost:
            (package / each).unlink()
        forge.write_manifests(package)

    return change


def with_sha_1(package: Path) -> None:
    """Let cells, of which one is lost, have digests that nothing else has."""
    table = forge.table(LOBS[:3], "Northwind").decode()
    for each in LOBS:
        found = hashlib.sha1(each.data).hexdigest()  # noqa: S324 -- as old archives have it
        table = table.replace(f'"MD5" digest="{forge.md5(each.data)}"', f'"SHA-1" digest="{found}"')
    (package / "Northwind.siard").write_bytes(forge.siard(table.encode(), rows=3))
    forge.seal(package)


def in_both(path: str, change: Callable[[str], str]) -> Callable[[Path], object]:
    def changed(package: Path) -> None:
        (package / path).write_text(change((package / path).read_text()))
        forge.seal(package)

    return changed


def moved(package: Path) -> None:
    (package / lob(0)).rename(package / SECOND / LOB_FOLDER / "record0.bin")
    forge.write_manifests(package)


_LINK_DOWN = (
    '<mets:structMap TYPE="PHYSICAL" LABEL="SIARD structmap"><mets:div LABEL="child IPs"><mets:div '
    'LABEL="child IP"><mets:mptr xlink:href="s0.t2.c4.r22" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"/></mets:div>'
    "</mets:div></mets:structMap></mets:mets>"
)
OTHERS: dict[str, Callable[[Path], object]] = {
    "two unlisted files": with_files(f"{FIRST}/{LOB_FOLDER}/x.bin", f"{FIRST}/{LOB_FOLDER}/y.bin"),
    "a new folder": with_files(f"{FIRST}/content/new/x.bin", f"{FIRST}/content/new/y.bin", seal=False),
    "two lost lines": rewrite("manifest-sha256.txt", lambda lines: [*lines[:1], *lines[3:]]),
    "a mark before a manifest": lambda package: write(
        "manifest-sha256.txt", b"\xef\xbb\xbf" + (package / "manifest-sha256.txt").read_bytes(), seal=False
    )(package),
    "a part beside a whole": with_files(f"{lob(0)}.0"),
    "a list of no LOBs": with_files("manifest.txt"),
    "a line in capitals": rewrite("manifest-sha256.txt", with_a_line_in_capitals),
    "swapped children": swapped(),
    "swapped children and a lost file": swapped(f"{SECOND}/{LOB_FOLDER}/record0.bin"),
    "digests of cells alone": with_sha_1,
    "IDs of another archive": in_both(f"{FIRST}/mets.xml", lambda text: text.replace('ID="s0', 'ID="z.s0')),
    "a link down to nearly a file's ID": in_both(
        f"{FIRST}/mets.xml", lambda text: text.replace("</mets:mets>", _LINK_DOWN)
    ),
    "a location at the system's root": listed_as("file:///record0.bin"),
    "a LOB that moved": moved,
}
"""Changes of which more is to be known than the file that they are about."""


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
@pytest.mark.parametrize("name", OTHERS)
def test_the_same_is_found_whether_files_are_held_or_in_rows(
    package: Path, name: str, level: Level, closely: Callable[[], None]
) -> None:
    OTHERS[name](package)
    seen: list[ReportFacts] = []
    found = [ordered(check(package, level, observer=lambda checked: seen.append(facts_of(checked, level))))]
    assert found[0]
    closely()
    found += [ordered(check(package, level, observer=lambda checked: seen.append(facts_of(checked, level))))]
    assert (found[0], seen[0]) == (found[1], seen[1])


@pytest.mark.parametrize("number", [0, 1, 2, 5, 11])
def test_a_damaged_file_is_found_wherever_it_is_among_those_that_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(segmentreader, "_HELD_AT_ONCE", 1_000)
    monkeypatch.setattr(segments, "_FILES_AT_ONCE", 2)
    package = forge.forge(tmp_path / "package", lobs(24, 2))
    path = sorted((package / FIRST).rglob("*.bin"))[number]
    path.write_bytes(path.read_bytes()[::-1])
    found = list(check(package))
    assert [(each.code, each.path) for each in found] == [("F003", str(path.relative_to(package)))]


def test_a_folder_in_a_root_that_is_called_as_a_held_segment_is_listed(
    package: Path, closely: Callable[[], None]
) -> None:
    root = package.with_name("root")
    root.mkdir()
    (package / SECOND).rename(root / SECOND)
    write(f"{SECOND}/{FIRST}/content/more.bin", b"more", seal=False)(root)
    held = ordered(check(package, roots=[root]))
    assert "F010" in {each.code for each in held}
    closely()
    assert held == ordered(check(package, roots=[root]))


@pytest.fixture
def closely(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A call that lets all files be looked at one by one from then on."""

    def look() -> None:
        monkeypatch.setattr(looks, "FEW", sys.maxsize)

    return look


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_segments_has_its_codes(package: Path, name: str, closely: Callable[[], None]) -> None:
    change, expected = CHANGES[name]
    change(package)
    assert codes(package) == set(expected.split())
    seen: list[ReportFacts] = []
    found = [ordered(check(package, observer=lambda checked: seen.append(facts_of(checked, Level.FULL))))]
    closely()
    found += [ordered(check(package, observer=lambda checked: seen.append(facts_of(checked, Level.FULL))))]
    assert found[0] == found[1]
    assert seen[0] == seen[1]


def rows_of(checked: Checked) -> dict[str, list[tuple[object, ...]]]:
    """Return what the catalogue has of files, once no segment is held any more."""
    checked.places.agreement.put_all_back()
    sql = "SELECT e.*, g.name FROM entry e LEFT JOIN section g ON g.id = e.grp ORDER BY e.id"
    entries = checked.catalogue.all(sql)
    assert [row[1] for row in entries] == sorted(row[1] for row in entries)
    found = {"entry": [(*row[1:5], *row[6:]) for row in entries]}  # groups are numbered as they come
    for table in ("disk", "listed", "cell"):
        found[table] = checked.catalogue.all(f"SELECT * FROM {table}")  # noqa: S608 -- names of tables
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
@pytest.mark.parametrize("name", ["nothing", "a lost LOB", "an unlisted file", "a LOB's size", "a lost line"])
def test_a_segment_that_is_put_back_is_as_if_it_had_never_been_held(
    package: Path, name: str, level: Level, closely: Callable[[], None], agreed: list[bool]
) -> None:
    CHANGES[name][0](package)
    found: list[dict[str, list[tuple[object, ...]]]] = []
    list(check(package, level, observer=lambda checked: found.append(rows_of(checked))))
    assert agreed == [False]
    closely()
    list(check(package, level, observer=lambda checked: found.append(rows_of(checked))))
    assert found[0] == found[1]


def test_a_file_missing_in_a_segment_leaves_its_other_files_and_segments_held(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / lob(2)).unlink()
    held: list[int] = []
    real = segments.Agreement.close

    def close(agreement: segments.Agreement) -> None:
        held.append(agreement.held)
        real(agreement)

    monkeypatch.setattr(segments.Agreement, "close", close)
    list(check(package))
    assert held == [len(LOBS) - 1]


def test_segments_are_held_with_a_report_with_roots_and_in_each_of_several_packages(
    package: Path, agreed: list[bool]
) -> None:
    other = shutil.copytree(package, package.with_name("other"))
    root = package.with_name("root")
    root.mkdir()
    assert list(check(package, observer=lambda _checked: None)) == []
    assert [each.code for each in check(package, roots=[root])] == ["L030"]
    assert {each.code for each in check([package, other])} == {"L041"}
    assert agreed == [True] * 4


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


def damaged_mets(package: Path) -> None:
    path = package / f"{FIRST}.zip"
    path.write_bytes(path.read_bytes().replace(b"<mets:fileSec>", b"<mets:fileSex>", 1))
    forge.seal(package)


CHANGES_OF_PACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file beside the folder": (with_entry("more.bin"), "F010"),
    "an unlisted file": (with_entry(f"{FIRST}/content/more.bin"), "F010"),
    "a damaged directory": (cut_off, "F010 L002 P011"),
    "a damaged METS": (damaged_mets, "P012"),
    "a folder beside the file": (with_a_folder_beside, "F010 F011 F012 F024 M002 Z010"),
    "a file that nobody names": (
        lambda package: shutil.copy(package / f"{FIRST}.zip", package / "Northwind_lobseg_2.zip"),
        "F010 F024 L012",
    ),
}
"""Changes of a package whose segments are packed already."""


@pytest.mark.parametrize("name", CHANGES_OF_PACKS)
def test_a_change_of_packed_segments_has_its_codes(package: Path, name: str) -> None:
    packed(package, FIRST, SECOND)
    change, expected = CHANGES_OF_PACKS[name]
    change(package)
    assert codes(package) == set(expected.split())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_packed_segments_agree_where_no_bytes_are_read(
    package: Path, method: int, agreed: list[bool]
) -> None:
    packed(package, FIRST, SECOND, method=method)
    assert {each.severity for each in check(package, Level.STRUCTURE)} <= {Severity.INFO}
    assert agreed == [True]
    list(check(package, Level.FULL))
    assert agreed == [True]


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
def test_a_package_without_findings_is_looked_at_in_one_go(
    package: Path, level: Level, agreed: list[bool]
) -> None:
    assert list(check(package, level)) == []
    assert agreed == [True]


def lines_run(package: Path) -> set[tuple[str, int]]:
    """Return the lines of the checker that a check runs."""
    run: set[tuple[str, int]] = set()
    folder = str(Path(segments.__file__).parent)

    def trace(frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(folder):
            return None
        if event == "line":
            run.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        list(check(package))
    finally:
        sys.settrace(None)
    return run


@pytest.mark.skipif(sys.gettrace() is not None, reason="another trace is on, as where coverage is measured")
def test_what_runs_for_a_right_package_runs_for_one_with_a_file_missing_in_each_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segmentreader, "_HELD_AT_ONCE", 1_000)
    monkeypatch.setattr(schema, "_TOGETHER", 1)  # parsers are freed after each document, not each 200th
    monkeypatch.setattr(schema, "_SLOW", 60)
    package = forge.forge(tmp_path / "package", lobs(80, 2))
    lines_run(package)  # what runs once for a process
    right = lines_run(package)
    for folder in (FIRST, SECOND):
        min((package / folder).rglob("*.bin")).unlink()
    assert {each.code for each in check(package)} == {"F001"}
    assert right - lines_run(package) == set()


def opened(package: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], int]:
    """Return how often a check opens each file, and how many METS it reads."""
    found: list[tuple[str, str]] = []
    whole: list[None] = []

    def condensed(*arguments: Any, **names: Any) -> Iterator[Any]:
        whole.append(None)
        return fastreader.condensed(*arguments, **names)

    with monkeypatch.context() as patch:
        for module in (documents, links, segmentreader):
            patch.setattr(module, "condensed", condensed)
        patch.setattr(os, "open", suite_watch.noting(found))
        list(check(package))
    files = (Path(path) for path, _ in found)
    return Counter(each.relative_to(package).as_posix() for each in files if each.is_file()), len(whole)


def test_no_file_is_opened_twice_and_no_mets_read_twice_also_with_a_file_missing_in_each_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = forge.forge(tmp_path / "package", lobs(80, 2))
    most = {
        "mets.xml": 4,  # its beginning also for what the package is, and for its standards
        "Northwind.siard": 2,  # as a zip file, and all its bytes
        "manifest-md5.txt": 3,  # a stretch with each segment, and all between
        "manifest-sha256.txt": 3,
    }
    for code in (set[str](), {"F001"}):
        counts, whole = opened(package, monkeypatch)
        assert {path: count for path, count in counts.items() if count > most.get(path, 1)} == {}
        assert counts.keys() == {path.relative_to(package).as_posix() for path in package.rglob("*.*")}
        assert whole == 3
        assert {each.code for each in check(package)} == code
        for folder in (FIRST, SECOND):
            min((package / folder).rglob("*.bin")).unlink()


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


ALONE: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda _package: None, ""),
    "one more file": (with_file("content/more.bin"), ""),
    "pointers in another order": (swap(TWO, TEN), ""),
    "IDs changed places": (swap('<mets:file ID="s0.t2.c4.r3"', '<mets:file ID="s0.t2.c4.r4"'), ""),
    "a size": (into(f"{LOB_FOLDER}/record3.bin", b"another"), "F002"),
    "a lost file": (lambda package: (package / LOB_FOLDER / "record3.bin").unlink(), "F001"),
    "a file twice": (in_mets("record3.bin", "record4.bin"), "F010 F013"),
    "an ID twice, pointed to": (
        lambda package: (
            in_mets('ID="s0.t2.c4.r30"', 'ID="s0.t2.c4.r2"')(package),
            in_mets('FILEID="s0.t2.c4.r30"', 'FILEID="s0.t2.c4.r2"')(package),
        ),
        "M004",
    ),
    "no pointer": (in_mets(TWO, ""), "M006"),
    "another pointer twice": (in_mets(TWO, TEN), "M006"),
    "a reference with an escape": (in_mets("record3.bin", "record%33.bin"), ""),
}


@pytest.mark.parametrize("name", ALONE)
def test_a_change_of_a_package_of_one_mets_has_its_codes(alone: Path, name: str) -> None:
    change, expected = ALONE[name]
    change(alone)
    assert codes(alone, Level.STRUCTURE) == {"L022", *expected.split()}


def test_a_package_of_one_mets_is_looked_at_in_one_go(alone: Path, agreed: list[bool]) -> None:
    assert codes(alone, Level.STRUCTURE) == {"L022"}
    assert agreed == [True]


def test_the_bytes_of_a_large_package_of_one_mets_are_read(alone: Path) -> None:
    into(f"{LOB_FOLDER}/record3.bin", lobs(40, 1)[3].data[::-1])(alone)
    assert "F003" in codes(alone, Level.FIXITY)


@law(8)
@given(st.integers(0, 1 << 20), st.sampled_from([1, 2, 4, 0x20, 0xFF]), st.booleans())
def test_of_a_damaged_package_of_one_mets_the_same_is_found_file_by_file(
    tmp_path_factory: pytest.TempPathFactory, at: int, mask: int, is_lost: bool
) -> None:
    package = forge.forge(tmp_path_factory.mktemp("damaged") / "package", lobs(12, 1)) / FIRST
    data = bytearray((package / "mets.xml").read_bytes())
    data[at % len(data)] ^= mask
    (package / "mets.xml").write_bytes(data[: at % len(data)] if is_lost else data)
    found = list(check(package, Level.STRUCTURE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looks, "FEW", 1 << 60)
        assert found == list(check(package, Level.STRUCTURE))


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
