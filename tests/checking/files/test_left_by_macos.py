"""Files that macOS leaves in folders, zip and tar files give one note on each package."""

from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.model import Severity
from tests.checking.files.test_lists import one
from tests.laws import by_turns
from tests.packages import forge
from tests.packages.bags import put_in_a_bag
from tests.packages.spread import tarred, zipped

DOUBLE = b"\0\5\x16\7\0\2\0\0Mac OS X        " + bytes(20)
"""The beginning of an AppleDouble file."""
OF_MACOS = {"F010", "F024", "F041", "M012", "M016", "M045"}


def reported(root: Path, level: Level = Level.FULL) -> list[tuple[str, str]]:
    """Return code and severity of the findings on stray files."""
    return sorted((each.code, each.severity.value) for each in check(root, level) if each.code in OF_MACOS)


def doubled(folder: Path, into: Path) -> None:
    """Put an AppleDouble file for each file and folder below a folder into another."""
    for path in sorted(folder.rglob("*")):
        double = into / path.relative_to(folder).with_name(f"._{path.name}")
        double.parent.mkdir(parents=True, exist_ok=True)
        double.write_bytes(DOUBLE)


def own(folder: Path) -> Path:
    one(folder, "S1")
    (folder / "S1/representations/rep1/data/x.siard").write_bytes(b"not listed")
    doubled(folder / "S1", folder / "S1")
    (folder / "S1/representations/rep1/data/x.siard").unlink()
    (folder / "S1/.DS_Store").write_bytes(b"\0\1Bud1")
    return folder / "S1"


def beside(folder: Path) -> Path:
    one(folder, "S1")
    doubled(folder, folder / "__MACOSX")
    (folder / "__MACOSX/S1/._x.siard").write_bytes(DOUBLE)
    return folder / "S1"


FORMS: dict[str, Callable[[Path], Path]] = {
    "in a folder": own,
    "in a zip file": lambda path: zipped(own(path / "d").parent, path / "S1.zip"),
    "in a tar file": lambda path: tarred(own(path / "d").parent, path / "S1.tar"),
    "beside it in a zip file": lambda path: zipped(beside(path / "d").parent, path / "S1.zip"),
    "in it and beside it": lambda path: zipped(own(beside(path / "d").parent).parent, path / "S1.zip"),
}


@pytest.mark.parametrize(("form", "level"), by_turns(FORMS, Level))
def test_it_is_one_note_on_the_package(tmp_path: Path, form: str, level: Level) -> None:
    (tmp_path / "d").mkdir()
    root = FORMS[form](tmp_path)
    assert reported(root, level) == [("F010", "info")] * (level is not Level.LINKS)  # which looks at no file
    assert not any(each.severity is Severity.ERROR for each in check(root, level))


def test_a_manifest_of_the_package_need_not_list_it(tmp_path: Path) -> None:
    forge.forge(tmp_path / "x")
    doubled(tmp_path / "x", tmp_path / "x")
    assert reported(tmp_path / "x") == [("F010", "info")]


def test_what_mets_lists_is_a_file_as_any_other(tmp_path: Path) -> None:
    forge.forge(tmp_path / "x")
    lob = min((tmp_path / "x").rglob("record*.bin"))
    mets = tmp_path / "x" / lob.relative_to(tmp_path / "x").parts[0] / "mets.xml"
    forge.edit(mets, lob.name, f"._{lob.name}")
    for manifest in (tmp_path / "x").glob("manifest-*.txt"):
        lines = manifest.read_text().splitlines(keepends=True)
        manifest.write_text("".join(line for line in lines if not line.endswith(f"/{lob.name}\n")))
    lob.rename(lob.with_name(f"._{lob.name}"))
    assert reported(tmp_path / "x") == [("F024", "error")] * 2


def test_in_a_bag_its_manifest_decides(tmp_path: Path) -> None:
    own(tmp_path / "bag/data")
    put_in_a_bag(tmp_path / "bag")
    assert reported(tmp_path / "bag") == [("F010", "info")]
    (tmp_path / "bag/data/S1/representations/.DS_Store").write_bytes(b"\0\1Bud1")
    found = reported(tmp_path / "bag")
    assert {each for each in found if each[0] != "F010"} == {("F041", "error")}
    assert ("F010", "info") in found


def test_in_a_delivery_it_is_no_package_and_no_archive(tmp_path: Path) -> None:
    for name in ("S1", "S2"):
        zipped(one(tmp_path / "work", name), tmp_path / f"all/{name}.zip", inside=name)
    doubled(tmp_path / "all", tmp_path / "all")
    (tmp_path / "all/._x.siard").write_bytes(DOUBLE)
    (tmp_path / "all/.DS_Store").write_bytes(b"\0\1Bud1")
    assert reported(tmp_path / "all") == [("M045", "info")] * 4


def test_it_is_one_note_for_a_package_of_several_packed_files(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "S1", forge.lobs(4, 2))
    for child in sorted(package.glob("*_lobseg_*")):
        (around := tmp_path / child.name).mkdir()
        child.rename(around / child.name)
        doubled(around, around / "__MACOSX")
        zipped(around, package / f"{child.name}.zip")
    (package / ".DS_Store").write_bytes(b"\0\1Bud1")
    found = [each for each in check(package) if each.code == "F010"]
    assert [each.severity for each in found] == [Severity.INFO], found
