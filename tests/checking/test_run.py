"""A check as a whole: levels, what it counts, packages by others, and that it never raises."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import ALL_CODES, CheckSummary, Code, Level, check, explained, inventory
from metspack.errors import ConfigError, TargetError
from metspack.files import reading
from metspack.limits import Budgets
from metspack.packages.files import weight
from tests.findings import codes, ordered
from tests.laws import THOROUGH, law
from tests.packages import forge
from tests.packages.forge import CHILD, FIRST
from tests.shared_data import shared


def test_a_good_package_has_no_findings(package: Path) -> None:
    progress: list[int] = []
    checking = check(package, progress=progress.append)
    assert list(checking) == []
    summary = checking.summary
    assert (summary.packages, summary.files, summary.links, summary.findings) == (3, 7, 4, 0)
    assert summary.bytes == sum(progress)


def test_full_reads_every_file_once(package: Path) -> None:
    checking = check(package)
    list(checking)
    on_disk = sum((package / path).stat().st_size for path in forge.files(package))
    # The archive's entries are inflated as well; no file is read twice.
    assert on_disk < checking.summary.bytes < on_disk + (package / "Northwind.siard").stat().st_size * 3


def test_levels_are_ordered() -> None:
    assert Level.LINKS < Level.STRUCTURE < Level.FIXITY < Level.FULL
    assert Level.FULL > Level.LINKS
    assert [level.value for level in Level] == ["links", "structure", "fixity", "full"]
    with pytest.raises(TypeError):
        assert Level.LINKS < 3


@pytest.mark.parametrize("level", Level)
def test_lobs_are_read_at_the_levels_that_hash(
    package: Path, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    original = reading._opened

    def watched(root: Path, segments: Iterable[str] = ()) -> int:
        opened.append("/".join(segments))
        return original(root, tuple(segments))

    small_files = reading.small_files

    def watched_small(
        root: Path, folders: Sequence[str], names: Iterable[str], *given: Any
    ) -> Iterator[memoryview | None]:
        for name, data in zip(names, small_files(root, folders, names, *given), strict=True):
            if data is not None:
                opened.append("/".join((*folders, name)))
            yield data

    monkeypatch.setattr(reading, "_opened", watched)
    monkeypatch.setattr(reading, "small_files", watched_small)
    list(check(package, level))
    lobs = [path for path in opened if "/lob4/" in path]
    assert bool(lobs) is level.hashes
    assert len(lobs) == len(set(lobs))


def test_a_full_temporary_directory_is_an_error(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(inventory, "findings", full)
    with pytest.raises(TargetError, match="disk is full") as caught:
        next(check(package))
    assert "SQLITE_TMPDIR" in caught.value.hint


@pytest.mark.parametrize("path", [FIRST, "mets.xml"])
def test_a_file_that_may_not_be_read_is_one_finding(
    package: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = reading._opened

    def refused(root: Path, segments: Iterable[str] = ()) -> int:
        if "/".join(segments) == path:
            raise PermissionError(13, "Permission denied", path)
        return original(root, tuple(segments))

    monkeypatch.setattr(reading, "_opened", refused)
    monkeypatch.setattr(reading, "small_files", lambda *_: repeat(None))  # each is opened by itself
    found = [each for each in check(package) if each.code == Code.UNREADABLE.id]
    assert {each.path for each in found} == {path}
    assert "Permission denied" in found[0].message


def test_a_folder_that_may_not_be_listed_is_a_finding(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = reading.opened_folder

    def refused(root: Path, segments: Iterable[str] = ()) -> int:
        if tuple(segments)[-1:] == ("lob4",):
            raise PermissionError(13, "Permission denied", "lob4")
        return original(root, tuple(segments))

    monkeypatch.setattr(reading, "opened_folder", refused)
    assert Code.UNREADABLE.id in codes(check(package))


def test_links_are_kept_unless_nobody_wants_them(package: Path) -> None:
    for keeps_links in (True, False):
        run = check(package, Level.LINKS, keeps_links=keeps_links)
        assert list(run) == []
        assert [len(graph.edges) for graph in run.graphs] == ([2] if keeps_links else [])


def test_children_that_are_rotated_are_one_finding(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package", forge.lobs(6, 3))
    children = sorted(root.glob("*_lobseg_*"))
    for each in children:
        each.rename(each.with_name(f"{each.name}.held"))
    for each, place in zip(children, (*children[1:], children[0]), strict=True):
        each.with_name(f"{each.name}.held").rename(place)
    for level in (Level.STRUCTURE, Level.FULL):
        (found,) = check(root, level)
        assert found.code == "L032"
        assert dict(found.facts)["count"] == "3"


def test_of_three_files_only_two_can_be_swapped(package: Path) -> None:
    other = (package / FIRST).with_name("record1.bin")
    first, second = (package / FIRST).read_bytes(), other.read_bytes()
    (package / FIRST).write_bytes(second)
    other.write_bytes(first)
    third = package / "Northwind_lobseg_1/content/schema0/table2/lob4/record2.bin"
    child = package / "Northwind_lobseg_1/mets.xml"
    forge.edit(child, forge.md5(third.read_bytes()), forge.md5(second))
    forge.edit(child, f'SIZE="{third.stat().st_size}"', f'SIZE="{len(first)}"')
    third.write_bytes(first)
    forge.seal(package)
    found = [each for each in check(package) if each.code in {"F003", "F004"}]
    assert sorted(each.code for each in found) == ["F003", "F004"]


def test_an_embedded_file_needs_no_location(package: Path) -> None:
    embedded = (
        '<mets:file ID="e"><mets:FContent><mets:binData>aGk=</mets:binData></mets:FContent></mets:file>'
    )
    forge.edit(package / CHILD, '<mets:fileGrp ID="seg_0">', f'<mets:fileGrp ID="seg_0">{embedded}')
    forge.edit(package / CHILD, "<mets:fptr", '<mets:fptr FILEID="e"/><mets:fptr')
    forge.seal(package)
    assert codes(check(package)) == []


def test_budgets_are_kept(package: Path) -> None:
    found = codes(check(package, budgets=Budgets(metadata=100)))
    assert "Z004" in found
    assert codes(check(package, Level.LINKS, budgets=Budgets(depth=3))) == ["X003"] * 3


# --- laws -----------------------------------------------------------------------------------------------

_GOOD: dict[str, Path] = {}


def _good() -> Path:
    """Return one good package for all examples of a law."""
    if "package" not in _GOOD:
        _GOOD["package"] = forge.forge(Path(tempfile.mkdtemp()) / "package")
    return _GOOD["package"]


@law(15)
@given(
    path=st.sampled_from(["mets.xml", CHILD, "manifest-md5.txt", "Northwind.siard"]),
    cut=st.floats(0, 1),
    junk=st.binary(max_size=40),
    rest=st.booleans(),
)
def test_no_damage_makes_a_check_raise(path: str, cut: float, junk: bytes, rest: bool) -> None:
    package = _good()
    data = (package / path).read_bytes()
    at = int(cut * len(data))
    try:
        (package / path).write_bytes(data[:at] + junk + (data[at + 3 :] if rest else b""))
        list(check(package))
    finally:
        (package / path).write_bytes(data)


# --- what is said of codes ------------------------------------------------------------------------------


def test_every_code_is_explained() -> None:
    for code in ALL_CODES:
        reported = explained(code.id.lower())
        assert reported.code == code.id
        assert reported.severity is code.severity
        assert all((reported.title, reported.meaning, reported.clause, reported.remedy))
        assert code.id[0] in "LFSPMZNX"
        assert len(code.id) == 4
    with pytest.raises(ConfigError, match="no code 'L999'") as caught:
        explained("L999")
    assert caught.value.hint.startswith("Codes with this letter are L001, L002")
    for word in ("?", "AIP9", "links", "Q001", ""):
        with pytest.raises(ConfigError) as caught:
            explained(word)
        assert "such as L001 (docs/findings.md" in caught.value.hint
        assert "CSIP66" in caught.value.hint


def test_a_summary_counts() -> None:
    assert CheckSummary(packages=1, files=2, links=3, bytes=4, errors=5, warnings=6, infos=7).findings == 18


# --- memory ---------------------------------------------------------------------------------------------

_MEASURE = """
import resource, sys
from pathlib import Path
from metspack.checking import Level, check
count = sum(1 for _ in check(Path(sys.argv[1]), Level.STRUCTURE))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _large(root: Path, count: int) -> Path:
    """Forge a child package of many files; they are links to one file, to be quick."""
    folder = root / "content"
    folder.mkdir(parents=True)
    digest = forge.md5(b"x")
    with (root / "mets.xml").open("w") as mets:
        mets.write(
            '<mets xmlns="http://www.loc.gov/METS/" xmlns:x="http://www.w3.org/1999/xlink" OBJID="c">'
            '<fileSec><fileGrp ID="seg_0">\n'
        )
        for number in range(count):
            first = number - number % 50_000  # file systems allow some 65,000 links to a file
            if number == first:
                (root / f"content/{number}").write_bytes(b"x")
            else:
                os.link(root / f"content/{first}", root / f"content/{number}")
            mets.write(
                f'<file ID="f{number}" SIZE="1" CHECKSUM="{digest}" CHECKSUMTYPE="MD5">'
                f'<FLocat LOCTYPE="URL" x:href="content/{number}"/></file>\n'
            )
        mets.write("</fileGrp></fileSec><structMap><div>\n")
        for number in range(count):
            mets.write(f'<fptr FILEID="f{number}"/>\n')
        mets.write("</div></structMap></mets>\n")
    return root


def _peak(root: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(root)], check=True, capture_output=True, text=True
    )
    count, peak = done.stdout.split()
    assert int(count) == 2  # no manifests
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.slow
def test_memory_does_not_grow_with_files(tmp_path: Path) -> None:
    small = _peak(_large(tmp_path / "small", 2_000))
    more = 100_000 if THOROUGH else 40_000
    large = _peak(_large(tmp_path / "large", more))
    assert large - small < 150 * more


# --- a real archive with LOBs outside ---------------------------------------------------------------------


def test_a_real_archive_whose_lobs_lie_outside(tmp_path: Path) -> None:
    """Its cells are found by the folder around the zip, nested fields by their lobFolder."""
    root = tmp_path / "package"
    shutil.copytree(shared("data", "siard", "sql2008"), root)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    listed = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file()]
    entries = "".join(
        f'<file ID="f{number}" SIZE="{(root / path).stat().st_size}" '
        f'CHECKSUM="{forge.md5((root / path).read_bytes())}" CHECKSUMTYPE="MD5">'
        f'<FLocat LOCTYPE="URL" x:href="{path}"/></file>'
        for number, path in enumerate(listed)
    )
    pointers = "".join(f'<fptr FILEID="f{number}"/>' for number in range(len(listed)))
    (root / "mets.xml").write_text(
        '<mets xmlns="http://www.loc.gov/METS/" xmlns:x="http://www.w3.org/1999/xlink" OBJID="s"><fileSec>'
        f"<fileGrp>{entries}</fileGrp></fileSec><structMap><div>{pointers}</div></structMap></mets>"
    )
    forge.write_manifests(root)
    found = ordered(check(root))
    assert {each.code for each in found} <= {"P108", "Z020", "Z021"}, found
    assert [each.place.rpartition(" ")[2] for each in found if each.code == "P108"] == [
        "c3",
        "c3.u3",
        "c5.u2.u2",
    ]


def test_the_weight_of_a_package_is_about_what_a_full_check_reads(package: Path) -> None:
    run = check(package, Level.FULL)
    list(run)
    assert 0.5 * weight(package) < run.summary.bytes < 2 * weight(package)
    assert weight(package / "mets.xml") == weight(package)


def test_the_weight_of_a_check_of_the_structure_is_that_of_its_mets(package: Path, tmp_path: Path) -> None:
    sizes = sum(each.stat().st_size for each in package.rglob("mets.xml"))
    assert weight(package, whole=False) == sizes > 0
    shutil.copytree(package, tmp_path / "outside")
    (package / "link").symlink_to(tmp_path / "outside")
    assert weight(package, whole=False) == sizes, "no link is followed"
