"""How often it is guessed what a link means: each guess costs time, so only the first findings get one."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links import links
from tests.checking.links.test_roots import aip, mets
from tests.packages.forge import edit, forge, lobs
from tests.packages.placed import structmap


def nearest(root: Path, code: str) -> list[str]:
    found = sorted(check(root, Level.LINKS), key=lambda each: each.line)
    alike = [[dict(each.facts).get("nearest", "")] * each.count for each in found if each.code == code]
    return [name for names in alike for name in names]


@pytest.fixture(autouse=True)
def _few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_NEAREST_FOR", 2)


def test_only_the_first_ids_that_no_entry_has_get_a_guess(tmp_path: Path) -> None:
    root = forge(tmp_path / "ip", lobs(8, 4))
    for number, wrong in enumerate(("ID_Nrthwind", "IDNorthwind", "ID_NorthwinD", "ID.Northwind")):
        old = f'<mets:mptr xlink:href="ID_Northwind_lobseg_{number}_mets"'
        edit(root / "mets.xml", old, old.replace("ID_Northwind", wrong))
    assert [bool(each) for each in nearest(root, "L001")] == [True, True, False, False]


def located(root: Path, *hrefs: str) -> Path:
    """Write a package with four children, all listed, and an mptr to each of some locations."""
    for number in range(4):
        aip(root / f"child_{number}", f"urn:x:{number}")
    files = "".join(
        f'<mets:file ID="m{number}"><mets:FLocat xlink:href="child_{number}/METS.xml" LOCTYPE="URL"/>'
        "</mets:file>"
        for number in range(4)
    )
    pointers = [f'<mets:mptr xlink:href="{href}" LOCTYPE="URL"/>\n' for href in hrefs]
    text = mets("urn:x:top", structmap("children", *pointers))
    (root / "METS.xml").write_text(text.replace("<mets:fileGrp>", f"<mets:fileGrp>{files}", 1))
    return root


def test_links_that_lead_somewhere_use_up_no_guess(tmp_path: Path) -> None:
    root = located(tmp_path / "ip", *(f"child_{n}/METS.xml" for n in range(3)), "Child_3/METS.xml")
    assert nearest(root, "L002") == ["child_3/METS.xml"]


def test_only_the_first_locations_that_lead_nowhere_get_a_guess(tmp_path: Path) -> None:
    root = located(tmp_path / "ip", *(f"Child_{n}/METS.xml" for n in range(4)))
    assert [bool(each) for each in nearest(root, "L002")] == [True, True, False, False]
