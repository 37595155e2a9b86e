"""Messages that once named the wrong cause, each with the right one."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.packages import forge
from tests.packages.cases import HERE
from tests.trees import names


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that all paths are relative to."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", ["convert", "restore", "merge"])
def test_a_missing_package_is_reported_first(metspack: Commands, place: Path, command: str) -> None:
    outcome = metspack(command, "nosuch", "-o", "new")
    assert (outcome.code, outcome.out, names(place)) == (3, "", set())
    assert outcome.err.startswith("error: nosuch ")
    assert "lies inside" not in outcome.err


def test_a_hint_about_an_archive_can_be_copied(metspack: Commands, place: Path, northwind: Path) -> None:
    (place / "x.siard").write_bytes(northwind.read_bytes())
    outcome = metspack("check", "x.siard")
    assert outcome.code == 3
    assert "metspack build x.siard -o OUT" in outcome.err
    assert "metspack check ." not in outcome.err


def test_commands_for_packages_in_hints(metspack: Commands, place: Path, northwind: Path) -> None:
    metspack.fine("build", northwind, "-o", "out", "-q")
    metspack.fine("build", northwind, "-o", "csip", "--dialect", "csip", "-q")
    for package in ("out", "csip"):
        outcome = metspack("plan", package)
        assert outcome.code == 3
        assert "It is a package, which has METS: metspack convert" in outcome.err
        assert "--keep-segments" not in outcome.err
    for mets in (place / "out").rglob("mets.xml"):
        mets.unlink()
    assert "--keep-segments --in-place" in metspack("inspect", "out").err


def test_a_report_that_cannot_be_written_is_named_as_it_was_given(metspack: Commands, place: Path) -> None:
    suffix = "html"
    forge.forge(place / "out")
    outcome = metspack("check", "out", "--report", f"nowhere/x.{suffix}")
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err == (
        f"error: cannot write {place / 'nowhere' / 'x'}.{suffix}: No such file or directory\n"
        "hint: Create the folder first.\n"
    )


def with_a_letter(folder: Path, archive: bytes) -> Path:
    """Write a package in the form of commons-ip, of an archive and a letter beside its LOBs."""
    shutil.copytree(HERE / "forms" / "commons_ip", folder)
    below = folder / "representations" / "rep1"
    old = (below / "data" / "scan+1.png").read_bytes()
    (below / "data" / "scan+1.png").unlink()
    (below / "data" / "Northwind.siard").write_bytes(archive)
    document = below / "METS.xml"
    before = document.read_bytes()
    text = before.decode().replace("data/scan%2B1.png", "data/Northwind.siard")
    document.write_text(restated(text, old, archive), encoding="utf-8")
    top = folder / "METS.xml"
    text = restated(top.read_text(encoding="utf-8"), before, document.read_bytes())
    top.write_text(text, encoding="utf-8")
    return folder


def restated(mets: str, old: bytes, new: bytes) -> str:
    """Return a METS with size and digest of new bytes in place of the old."""
    stated, now = (hashlib.sha256(each).hexdigest() for each in (old, new))
    assert stated in mets
    return re.sub(rf'SIZE="{len(old)}"([^>]*{stated})', rf'SIZE="{len(new)}"\1', mets).replace(stated, now)


def test_a_file_beside_the_archive_is_no_lob(metspack: Commands, place: Path, northwind_full: Path) -> None:
    package = with_a_letter(place / "package", northwind_full.read_bytes())
    assert metspack("check", package).code == 0
    outcome = metspack("restore", package, "--dry-run")
    assert outcome.code == 0
    assert "1 file listed in METS, named by no cell and without a LOB's ID" in outcome.err
    assert "46 LOBs from inside the archive" in outcome.out
    assert outcome.out.endswith("Every LOB can be restored as it was.\n")
    listed = metspack("list", package, "--format", "csv")
    assert (listed.code, "letter" in listed.out) == (0, False)
    assert listed.err.startswith("warning: 1 file listed in METS, named by no cell and without a LOB's ID")
    outcome = metspack("restore", package, "-o", "restore", "-q")
    assert (outcome.code, outcome.err) == (
        0,
        "warning: 1 file listed in METS, named by no cell and without a LOB's ID: left out\n",
    )
    assert len(list((place / "restore").rglob("record*"))) == 46


def test_a_package_without_an_archive_is_not_merged_and_is_the_cause(metspack: Commands, place: Path) -> None:
    shutil.copytree(HERE / "forms" / "commons_ip", place / "plain")
    outcome = metspack("merge", "plain", "-o", "new")
    assert (outcome.code, names(place) & {"new"}) == (3, set())
    assert "hold no SIARD archive, expected one archive" in outcome.err
    assert "report it" not in outcome.err
