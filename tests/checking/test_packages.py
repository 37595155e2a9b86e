"""A METS that lies in a folder of its package, and names what lies beside that folder."""

from __future__ import annotations

import errno
import gzip
import os
import re
import shlex
import tarfile
from pathlib import Path
from typing import Any

import pytest

from metspack.checking import check
from metspack.errors import SourceError
from metspack.model import Severity
from metspack.packages.package import Package
from tests import siards
from tests.packages import csip, forge

CLIMBING = re.compile(r'xlink:href="(Northwind[._][^"]*)"')


def below(root: Path, folder: str, up: str) -> Path:
    """Put a package's METS into a folder of it, and let it lead up; return where it is now."""
    text = CLIMBING.sub(rf'xlink:href="{up}\1"', (root / "mets.xml").read_text())
    (root / "mets.xml").unlink()
    mets = root / folder / "mets.xml"
    mets.parent.mkdir(parents=True)
    mets.write_text(text)
    forge.write_manifests(root)
    return mets


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "disk/package")


def codes(mets: Path, *roots: Path) -> set[str]:
    return {each.code for each in check(mets, roots=roots)}


@pytest.mark.parametrize("folder", ["metadata", "a/b"])
def test_a_mets_may_lie_in_a_folder_of_its_package(package: Path, folder: str) -> None:
    mets = below(package, folder, "../" * len(folder.split("/")))
    assert codes(mets) >= {"P003"}
    for root in (package, package.parent, package / "Northwind_lobseg_0/.."):
        assert codes(mets, root) == set()
        assert codes(mets.parent, root) == set()


def test_files_beside_the_package_are_none_of_its_files(package: Path) -> None:
    mets = below(package, "metadata", "../")
    forge.forge(package.parent / "other")
    assert codes(mets, package.parent) == set()
    (package / "stray.txt").write_text("whose?")
    assert codes(mets, package.parent) == {"F010", "F024"}


def test_no_root_is_left(package: Path) -> None:
    mets = below(package, "metadata", "../")
    mets.write_text(mets.read_text().replace('"../Northwind.siard"', '"../../../Northwind.siard"'))
    assert codes(mets, package) >= {"P003"}
    mets.write_text(mets.read_text().replace('"../../../', f'"{"../" * 60}'))
    assert codes(mets, package) >= {"P003"}
    assert codes(mets, package / "Northwind_lobseg_0") >= {"P003"}


@pytest.mark.parametrize("href", ["../%zz", "file:///../x", "x/../Northwind.siard"])
def test_what_leads_nowhere_up_makes_no_folder_the_packages(package: Path, href: str) -> None:
    mets = package / "mets.xml"
    mets.write_text(mets.read_text().replace('"Northwind.siard"', f'"{href}"'))
    forge.seal(package)
    found = codes(mets, package.parent)
    assert "M001" not in found
    assert found == codes(mets)


def test_a_child_that_links_to_its_parent_stays_itself(package: Path) -> None:
    child = package / forge.CHILD
    link = '<mets:mptr LOCTYPE="URL" xlink:href="../mets.xml"/><mets:mptr xlink:href="urn:uuid'
    forge.edit(child, '<mets:mptr xlink:href="urn:uuid', link)
    forge.seal(package)
    assert codes(child, package) == set()


# --- what is nothing to check --------------------------------------------------------------------------

TAR = b"x".ljust(257, b"\0") + b"ustar".ljust(300, b"\0")


def found(path: Path) -> set[str]:
    return {each.code for each in check(path)}


def test_a_mets_of_any_name_and_one_that_cannot_be_read_are_checked(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    (root / "mets.xml").rename(root / "METS.other.xml")
    assert "M001" not in found(root / "METS.other.xml")
    (root / "cut.xml").write_bytes(b"<mets:mets xmlns:mets='http://www.loc.gov/METS/'><a")
    assert "X001" in found(root / "cut.xml")
    (root / "link.xml").symlink_to("METS.other.xml")
    assert found(root / "link.xml")


def test_an_archive_is_named_for_what_it_is_if_it_is_there(tmp_path: Path) -> None:
    path = siards.siard(tmp_path / "A b.siard", b"one")
    with pytest.raises(SourceError, match="is a SIARD archive") as caught:
        list(check(path))
    assert f"metspack build '{path}' -o OUT" in caught.value.hint
    with pytest.raises(SourceError) as caught:
        list(check(tmp_path / "none.siard"))
    assert caught.value.message == f"{tmp_path / 'none.siard'} does not exist"


def test_a_folder_called_as_an_archive_is_named_for_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "A.siard"
    (folder / "representations").mkdir(parents=True)
    path = siards.siard(folder / "B.siard", b"one")
    found = list(check([forge.forge(tmp_path / "package"), folder]))
    (reported,) = (each for each in found if each.path == str(folder))
    assert "it holds B.siard and no METS" in reported.message
    assert f"metspack build {shlex.quote(str(path))} -o OUT" in reported.message


def test_a_packed_parent_in_a_folder_that_is_no_utf_8_is_checked_with_its_children(tmp_path: Path) -> None:
    package = csip.divide(tmp_path / "csip", by_objid=True)
    with tarfile.open(tmp_path / "p.tar", "w") as file:
        file.add(package / csip.TOP, "p\udce9")
    found = check([tmp_path / "p.tar", *(package / child for child in csip.CHILDREN)])
    assert {each.code for each in found if each.severity is Severity.ERROR} == {"L020"}


@pytest.mark.parametrize("form", ["archive", "archives", "LOBs", "segments", "unpacked"])
def test_what_a_package_can_be_made_of_is_none_and_the_command_is_reported(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "in here"
    folder.mkdir()
    lobs = folder / "content/schema0/table0/lob1"
    command = f"metspack build '{folder}' -o OUT"
    if form in {"archive", "archives", "segments"}:
        path = siards.siard(folder / "A.siard", b"one")
        command = f"metspack build '{path}' -o OUT"
    if form == "archives":
        siards.siard(folder / "B.siard", b"two")
    if form == "segments":
        lobs = folder / "A_lobseg_0" / "content/schema0/table0/lob1"
        command = f"metspack build '{folder}' --keep-segments --in-place"
    if form in {"LOBs", "segments"}:
        lobs.mkdir(parents=True)
        (lobs / "record0.bin").write_bytes(b"x")
    if form == "unpacked":
        (folder / "header").mkdir()
        (folder / "header/metadata.xml").write_bytes(b"<x/>")
    with pytest.raises(SourceError) as caught:
        list(check(folder))
    what = {"LOBs": "LOBs", "unpacked": "an unpacked archive"}.get(form, "A.siard")
    assert caught.value.message == f"{folder} is not a package: it holds {what} and no METS"
    assert caught.value.hint == f"To make one: {command}"
    (folder / "manifest-md5.txt").write_bytes(b"")
    assert "M001" in found(folder)
    (folder / "manifest-md5.txt").unlink()
    (folder / "below/deeper").mkdir(parents=True)
    (folder / "below/deeper/mets.xml").write_bytes(b"")
    assert "X001" in found(folder)  # a package lies below


@pytest.mark.parametrize("call", ["open", "pread"])
def test_a_mets_that_can_be_read_at_the_second_time_is_named_for_what_it_is(
    package: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    whole = check(package)
    assert not list(whole)
    inode, real, left = (package / "mets.xml").stat().st_ino, getattr(os, call), [1]

    def failing(what: Any, *rest: Any, **named: Any) -> Any:
        done = real(what, *rest, **named)
        if left[0] and os.fstat(done if call == "open" else what).st_ino == inode:
            left[0] -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return done

    monkeypatch.setattr(os, call, failing)
    checked = check(package)
    assert not list(checked)
    assert left == [0]
    assert checked.summary.results == whole.summary.results


def test_packages_in_a_folder_that_is_called_like_a_mets_have_their_own_names(tmp_path: Path) -> None:
    root = tmp_path / "mets.xml"
    for name in ("a", "b"):
        (forge.forge(root / name) / "note").touch()
    run = check(root)
    assert {each.path for each in run if each.code == "F010"} == {f"{root}/a/note", f"{root}/b/note"}
    assert [each.path for each in run.summary.results] == [f"{root}/a", f"{root}/b"]


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.pdf", b"%PDF-1.7\n", "is a PDF document, expected a METS file"),
        ("x.bin", gzip.compress(TAR, mtime=0), "is gzip data, expected a METS file"),
        ("x.bin", b"PK\x03\x04".ljust(99), "is a zip file, and its name does not end with .zip"),
        ("x.bag", TAR, "is a tar file, and its name does not end with .tar"),
        ("x.xml", b"", "is an empty file, expected a METS file"),
        ("pyproject.toml", b"[project]\n", "is text, expected a METS file"),
        ("x.html", b"<!DOCTYPE html><html></html>", "is an HTML page, expected a METS file"),
        ("ead.xml", b"<?xml version='1.0'?><ead xmlns='urn:e'/>", "is XML with the root element {urn:e}ead"),
        ("ead.xml", "\ufeff<ead/>".encode("utf-16-le"), "is XML with the root element ead"),
        ("page.html", b"<html><body/></html>", "is an HTML page, expected a METS file"),
    ],
)
def test_a_file_that_is_no_mets_is_named_for_what_it_is_by_check_and_by_restore(
    tmp_path: Path, name: str, data: bytes, what: str
) -> None:
    forge.forge(tmp_path / "neighbour")
    path = tmp_path / name
    path.write_bytes(data)
    for read in (lambda: next(check(path)), lambda: Package(path)):
        with pytest.raises(SourceError) as caught:
            read()
        assert caught.value.message.startswith(f"{path} {what}")
        assert caught.value.hint
