"""METS documents among the files of a package, of no child and no representation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.mets.reader import METS
from tests.findings import ordered
from tests.laws import by_turns
from tests.packages import csip, forge

BOOK = (
    f'<mets xmlns="{METS}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    '<fileSec><fileGrp><file ID="p1" SIZE="5"><FLocat LOCTYPE="URL" xlink:href="http://books.example/1.tif"/>'
    '</file><file ID="p2"><FLocat LOCTYPE="URL" xlink:href="pages/2.tif"/></file></fileGrp></fileSec>'
    '<structMap><div><fptr FILEID="p1"/><mptr LOCTYPE="URL" xlink:href="volume/METS.xml"/></div></structMap>'
    "</mets>"
)
FILE = (
    '<file ID="{0}" MIMETYPE="application/xml" SIZE="0" CREATED="2026-05-01T12:00:00Z" CHECKSUM="0" '
    'CHECKSUMTYPE="SHA-256">\n<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{1}"/>\n</file>\n'
)
PLACES = {
    "documentation/book/METS.xml": (csip.PACKAGE_METS, '<fileGrp ID="documentation"'),
    "documentation/mets.xml": (csip.PACKAGE_METS, '<fileGrp ID="documentation"'),
    "documentation/sip/representations/rep1/METS.xml": (csip.PACKAGE_METS, '<fileGrp ID="documentation"'),
    "data/book/METS.xml": (csip.REPRESENTATION_METS, '<fileGrp ID="data"'),
    "data/seg_0/METS.xml": (csip.REPRESENTATION_METS, '<fileGrp ID="data"'),
    "data/representations/rep1/METS.xml": (csip.REPRESENTATION_METS, '<fileGrp ID="data"'),
}


def with_document(path: str, text: str = BOOK) -> Callable[[Path], None]:
    """Put a METS among the files; a group of the package's or representation's METS lists it."""
    mets, group = PLACES[path]

    def put(root: Path) -> None:
        document = (root / mets).parent / path
        document.parent.mkdir(parents=True, exist_ok=True)
        document.write_text(text)
        whole = (root / mets).read_text()
        before, mark, rest = whole.partition(group)
        head, end, files = rest.partition(">\n")
        assert mark
        (root / mets).write_text(before + mark + head + end + FILE.format("book", path) + files)

    return put


def reported(root: Path, level: Level = Level.FULL) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in ordered(check(root, level))]


@pytest.mark.parametrize(("path", "level"), by_turns(PLACES, [Level.LINKS, Level.FULL]))
def test_a_document_among_files_is_one_of_them(tmp_path: Path, path: str, level: Level) -> None:
    plain = reported(csip.forge(tmp_path / "plain"), level)
    root = csip.forge(tmp_path / "ip", with_document(path))
    found = reported(root, level)
    assert [each for each in found if each not in plain and each[0] not in {"M006", "M031"}] == []
    document = (root / PLACES[path][0]).parent / path
    document.write_text(BOOK.replace("p2", "p3"))
    if level is Level.FULL:
        where = document.relative_to(root).as_posix()
        assert ("F003", where) in reported(root)


@pytest.mark.parametrize("path", ["documentation/book/METS.xml", "documentation/mets.xml"])
def test_one_that_names_the_package_as_its_parent_is_its_child(tmp_path: Path, path: str) -> None:
    root = csip.forge(tmp_path / "ip")
    objid = (root / csip.PACKAGE_METS).read_text().partition('OBJID="')[2].partition('"')[0]
    child = BOOK.replace('LOCTYPE="URL" xlink:href="volume/METS.xml"', f'LOCTYPE="URN" xlink:href="{objid}"')
    root = csip.forge(
        tmp_path / "again" / "ip", with_document(path, child.replace("<mets ", '<mets OBJID="c" '))
    )
    assert ("L005", "METS.xml") in reported(root, Level.LINKS)


def test_one_in_the_folder_of_a_segment_is_a_child(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    forge.edit(root / "mets.xml", '<mets:mptr xlink:href="ID_Northwind_lobseg_1_mets"', "<mets:fptr")
    forge.edit(root / "Northwind_lobseg_1/mets.xml", forge.PARENT_OBJID, "urn:x:another")
    assert ("L005", "mets.xml") in reported(root, Level.LINKS)
