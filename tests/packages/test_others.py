"""Packages as other tools write them: what is told of them whole, and of one thing that is wrong in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from metspack.checking import check, told_as
from metspack.packages.listing import LobListing
from metspack.packages.package import Package
from tests.packages.others import OTHERS, Other, archivematica


def reported(path: Path) -> Counter[str]:
    return Counter(told_as(each) for each in check(path))


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.name)
def test_one_fault_is_one_finding_more(tmp_path: Path, other: Other) -> None:
    found = reported(other.made(tmp_path, is_broken=True))
    assert found == Counter(other.whole.split()) + Counter(other.more.split())
    assert len(other.more.split()) == 1


def test_a_transfers_mets_among_the_files_gives_no_lobs(tmp_path: Path) -> None:
    archivematica(tmp_path)
    (mets,) = (tmp_path / "data").glob("METS.*.xml")
    text = mets.read_text()
    file = text.partition("<mets:file ")[2].partition("</mets:file>")[0]
    listed = file.replace("objects/letter.txt", "objects/submissionDocumentation/t/METS.xml")
    ids = listed.replace('ID="', 'ID="t-')
    mets.write_text(text.replace("</mets:fileGrp>", f"<mets:file {ids}</mets:file>\n</mets:fileGrp>"))
    transfer = tmp_path / "data" / "objects" / "submissionDocumentation" / "t" / "METS.xml"
    transfer.parent.mkdir(parents=True)
    transfer.write_text(text.replace("letter.txt", "lost.txt").replace("scan%201.png", "lost.png"))
    with Package(tmp_path / "data") as package:
        assert [each.fault for each in LobListing(package)] == ["", ""]


def test_there_are_twenty_dialects_of_names_of_their_own() -> None:
    assert len({other.name for other in OTHERS}) == len(OTHERS) >= 20


@pytest.mark.slow
def test_all_of_them_are_one_delivery(tmp_path: Path) -> None:
    """Report the same on each package of a delivery, and a note if some share an OBJID."""
    expected = Counter[str]()
    for number, other in enumerate(OTHERS):
        other.made(tmp_path / f"{number:02}")
        expected += Counter(other.whole.split())
    run = check(tmp_path)
    found = Counter(told_as(each) for each in run)
    assert {code: count for code, count in found.items() if code != "L041"} == expected
    assert len(run.summary.results) == len(OTHERS) + 1, "one of them is two packages"
    assert all(each.is_complete and each.kind for each in run.summary.results)
