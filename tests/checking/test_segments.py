"""Findings in segments that are read as a whole, however small they are."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Checked, Level, check, looks, reconciliation, segmentreader, segments
from metspack.checking.links import links
from metspack.checking.mets import documents
from metspack.errors import TargetError
from metspack.files import tempdb
from metspack.mets import fastreader, schema
from metspack.model import Severity
from metspack.reporting.facts import facts_of
from metspack.reporting.model import ReportFacts
from tests.conftest import CHECKOUT
from tests.findings import ordered
from tests.laws import law
from tests.packages import forge
from tests.packages.cases import cases
from tests.packages.forge import LOBS, lobs
from tests.tables import tables_of
from tests.watching import suite_watch

FIRST, SECOND = "Northwind_lobseg_0", "Northwind_lobseg_1"
LOB_FOLDER = "content/schema0/table2/lob4"


@pytest.fixture(autouse=True)
def _small_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ("segmentreader._HELD_AT_ONCE", "segments._STRETCHES_KEPT", "archives.packagefiles._KEPT")
    for name, value in (dict.fromkeys(one, 1) | {"looks.FEW": 0}).items():
        monkeypatch.setattr(f"metspack.checking.{name}", value)


def lob(number: int) -> str:
    return f"Northwind_lobseg_{LOBS[number].segment}/{LOBS[number].path}"


CASES = frozenset(tables_of(__file__)["cases"])
"""Packages whose findings need rows of other files than the faulty one."""


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_same_is_found_whether_files_are_held_or_in_rows(
    tmp_path: Path, name: str, level: Level, closely: Callable[[], None]
) -> None:
    (case,) = (each for each in cases() if each.folder.name == name)
    made = case.made(tmp_path)
    seen: list[ReportFacts] = []
    found = [ordered(check(made, level, observer=lambda checked: seen.append(facts_of(checked, level))))]
    closely()
    found += [ordered(check(made, level, observer=lambda checked: seen.append(facts_of(checked, level))))]
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
    (root / SECOND / FIRST / "content").mkdir(parents=True)
    (root / SECOND / FIRST / "content/more.bin").write_bytes(b"more")
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


PUT_BACK = ("F001__file_missing", "F002-F003__size_and_digest", "F010__two_unlisted_in_a_segment")


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
@pytest.mark.parametrize("name", ["pointer_twice", *PUT_BACK, "F024__two_lines_lost"])
def test_a_segment_that_is_put_back_is_as_if_it_had_never_been_held(
    tmp_path: Path, name: str, level: Level, closely: Callable[[], None], agreed: list[bool]
) -> None:
    (case,) = (each for each in cases() if each.folder.name == name)
    made = case.made(tmp_path)
    found: list[dict[str, list[tuple[object, ...]]]] = []
    list(check(made, level, observer=lambda checked: found.append(rows_of(checked))))
    assert agreed == [False]
    closely()
    list(check(made, level, observer=lambda checked: found.append(rows_of(checked))))
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


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_packed_segments_agree_where_no_bytes_are_read(
    package: Path, method: int, agreed: list[bool]
) -> None:
    packed(package, FIRST, SECOND, method=method)
    assert {each.severity for each in check(package, Level.STRUCTURE)} <= {Severity.INFO}
    assert agreed == [True]
    list(check(package, Level.FULL))
    assert agreed == [True]


def test_packed_segments_are_opened_once_where_no_bytes_are_read(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(package, FIRST, SECOND)
    counts, _ = opened(package, monkeypatch, Level.STRUCTURE)
    assert counts[f"{FIRST}.zip"] == counts[f"{SECOND}.zip"] == 1


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
def test_a_package_without_findings_is_looked_at_in_one_go(
    package: Path, level: Level, agreed: list[bool]
) -> None:
    assert [list(check(package, level, jobs=jobs)) for jobs in (1, 2)] == [[], []]
    assert agreed == [True, True]


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


def test_the_statements_of_a_segment_are_dropped_once_it_is_compared(tmp_path: Path) -> None:
    """In a cycle they would stay until garbage is collected, which this process seldom does."""
    package = forge.forge(tmp_path / "package", lobs(80, 2))
    gc.collect()
    gc.disable()
    try:
        assert list(check(package)) == []
        assert not [each for each in gc.get_objects() if isinstance(each, reconciliation.SegmentSources)]
    finally:
        gc.enable()


def opened(
    package: Path, monkeypatch: pytest.MonkeyPatch, level: Level = Level.FULL
) -> tuple[Counter[str], int]:
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
        list(check(package, level))
    files = (Path(path) for path, _ in found)
    inside = (each for each in files if package in each.parents and each.is_file())
    return Counter(each.relative_to(package).as_posix() for each in inside), len(whole)


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


@pytest.mark.parametrize("few", [0, looks.FEW])
def test_each_mets_of_an_e_ark_package_is_read_once_also_with_a_file_missing_in_each_folder(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(
        shutil.copytree(CHECKOUT / "samples/northwind/golden/Northwind-csip", tmp_path / "package")
    )
    monkeypatch.setattr(looks, "FEW", few)
    for _ in range(2):
        counts, whole = opened(package, monkeypatch)
        again = sorted(count for path, count in counts.items() if path.endswith("METS.xml") and count > 1)
        assert again == [2, 4]  # the beginning of the parent's, and of the child whose manifests are asked
        assert whole == len(list(package.rglob("METS.xml")))
        for folder in {each.parent for each in package.rglob("*_r*.*")}:
            min(folder.glob("*_r*.*")).unlink()


def test_a_full_disk_is_an_error_that_says_so(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempdb, "_SETTINGS", ("PRAGMA page_size = 512", "PRAGMA max_page_count = 60"))
    with pytest.raises(TargetError, match="temporary database failed: database or disk is full"):
        list(check(package))


# --- a package of one METS ----------------------------------------------------------------------------


@pytest.fixture
def single(tmp_path: Path) -> Path:
    """A package of one METS, which has no manifests: a child by itself."""
    forge.forge(tmp_path / "package", lobs(40, 1))
    return tmp_path / "package" / FIRST


def test_a_package_of_one_mets_is_looked_at_in_one_go(single: Path, agreed: list[bool]) -> None:
    assert [each.code for each in check(single, Level.STRUCTURE)] == ["L022"]
    assert agreed == [True]


def test_the_bytes_of_a_large_package_of_one_mets_are_read(single: Path) -> None:
    (single / LOB_FOLDER / "record3.bin").write_bytes(lobs(40, 1)[3].data[::-1])
    assert "F003" in {each.code for each in check(single, Level.FIXITY)}


@law(8)
@given(st.integers(0, 1 << 20), st.sampled_from([1, 2, 4, 0x20, 0xFF]), st.booleans(), st.booleans())
def test_of_a_damaged_package_of_one_mets_the_same_is_found_file_by_file(
    tmp_path_factory: pytest.TempPathFactory, at: int, mask: int, is_lost: bool, is_child: bool
) -> None:
    package = forge.forge(tmp_path_factory.mktemp("damaged") / "package", lobs(12, 1))
    data = bytearray((mets := package / FIRST / "mets.xml").read_bytes())
    data[at % len(data)] ^= mask
    mets.write_bytes(data[: at % len(data)] if is_lost else data)
    package = mets.parent if is_child else package
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reconciliation, "FILES_OF_A_PART", 1)
        found = list(check(package, Level.STRUCTURE, jobs=2))
        patch.setattr(looks, "FEW", 1 << 60)
        assert found == list(check(package, Level.STRUCTURE))


# --- What is said of files besides METS and the package's manifests -----------------------------------


def test_what_premis_in_the_mets_of_a_segment_says_otherwise_is_reported(package: Path) -> None:
    mets = package / FIRST / "mets.xml"
    text = mets.read_text(encoding="utf-8").replace("<mets:file ", '<mets:file ADMID="tech" ', 1)
    words = (
        '<mets:amdSec ID="amd"><mets:techMD ID="tech"><mets:mdWrap MDTYPE="PREMIS"><mets:xmlData>'
        '<p:object xmlns:p="http://www.loc.gov/premis/v3"><p:messageDigestAlgorithm>md5'
        f"</p:messageDigestAlgorithm><p:messageDigest>{'0' * 32}</p:messageDigest></p:object>"
        "</mets:xmlData></mets:mdWrap></mets:techMD></mets:amdSec><mets:fileSec>"
    )
    mets.write_text(text.replace("<mets:fileSec>", words), encoding="utf-8")
    forge.seal(package)
    assert [(each.code, each.path) for each in check(package)] == [("M042", f"{FIRST}/mets.xml")]


def test_what_a_bag_around_segments_says_otherwise_is_reported(package: Path) -> None:
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
