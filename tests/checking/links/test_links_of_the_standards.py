"""The standards' own examples of parent and child: read as they are, their links and faults told."""

import re
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links.graph import LinkState
from tests.findings import ordered
from tests.shared_data import shared

_OPEN = '<mets xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" OBJID="{}">'


def codes(path: Path, *roots: Path, level: Level = Level.LINKS) -> list[str]:
    return [each.code for each in ordered(check(path, level, roots=roots))]


def states(path: Path, *roots: Path) -> list[LinkState]:
    run = check(path, Level.LINKS, roots=roots)
    list(run)
    return [edge.state for edge in run.graphs[0].edges]


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# --- the recommendation, 0.16 -----------------------------------------------------------------------------


@pytest.fixture
def recommended(tmp_path: Path) -> Path:
    """The example's parent and the one child that is printed; page breaks taken out."""
    text = shared("spec", "external-lobs-recommendation-0.16.txt").read_text()
    _, _, text = text.partition("### Parent IP mets file")
    parent, _, child = text.partition("## Child IP mets file")
    root = tmp_path / "package"
    put(root / "mets.xml", _without_pages(parent))
    put(root / "Northwind_lobseg_0/mets.xml", _without_pages(child))
    return root


def _without_pages(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith(("```", "## Project"))]
    text = "\n".join(lines)
    return text[text.index("<?xml") : text.index("</mets:mets>")] + "</mets:mets>\n"


def test_the_recommendations_parent_and_child(recommended: Path) -> None:
    found = ordered(check(recommended, Level.LINKS))
    reported = [(each.code, each.path, each.facts) for each in found if each.code[0] == "L"]
    assert [(code, path) for code, path, _ in reported] == [("L002", "mets.xml")] * 2
    assert [dict(facts)["expected"] for *_, facts in reported] == [
        "Northwind_lobseg_1/mets.xml",
        "Northwind_lobseg_2/mets.xml",
    ]
    assert {each.code for each in found} == {"L002", "P004", "F006", "F011"}
    # The MD5 printed in the parent is not that of the child as it is printed.
    assert states(recommended) == [LinkState.BROKEN, LinkState.MISSING, LinkState.MISSING]


# --- CSIP's text on large packages ------------------------------------------------------------------------


def fenced(name: str) -> list[str]:
    """The XML listings of a Markdown text."""
    return re.findall(r"```xml\n(.*?)```", shared("spec", name).read_text(), re.DOTALL)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    parent, child = fenced("csip-large-packages.md")
    objid = re.search(r"urn:sa\.dk:(\S+godfather)", child)
    assert objid is not None
    opened = _OPEN.format(objid[1])
    put(tmp_path / "godfather/METS.xml", f"{opened}<structMap><div>{parent}</div></structMap></mets>")
    head, div = child[: child.index(">") + 1], child[child.index("<div") :]
    put(tmp_path / "rep0/METS.xml", f"{head}<structMap>{div}</structMap></mets>")
    return tmp_path


def test_large_packages_name_each_other_by_urn(large: Path) -> None:
    found = ordered(check(large / "godfather", Level.LINKS, roots=[large]))
    assert sorted(each.code for each in found) == ["L010", "L011", "M008", "M008", "M026", "M026", "M026"]
    (lost,) = (each for each in found if each.code == "L010")
    assert "urn:sa.dk:ID.AVID.RA.18005.rep1.seg0" in lost.message
    assert "ID.AVID.RA.18005.rep0.seg0' (differs by 1 character)" in lost.message
    assert states(large / "godfather", large) == [LinkState.ELSEWHERE, LinkState.MISSING]


# --- E-ARK AIP, listings 1 to 3 ---------------------------------------------------------------------------


@pytest.fixture
def listings() -> list[str]:
    found = [each for each in fenced("eark-aip-2.2.md") if "<mptr" in each]
    assert len(found) == 3
    return found


_PARENT = "urn:uuid:3a487ce5-63cf-4000-9522-7288e208e2bc"
_CHILDREN = ("urn:uuid:cea73348-741d-4594-ab8f-0b9e652c1099", "urn:uuid:3218729b-c93c-4daa-ad3c-acb92ab59cee")


def test_an_aip_parent_names_one_child_three_times(tmp_path: Path, listings: list[str]) -> None:
    """Listing 3 has the same UUID three times."""
    _, up, down = listings
    put(tmp_path / "p/METS.xml", f"{_OPEN.format(_PARENT)}{down}</mets>")
    for number, objid in enumerate(_CHILDREN):
        put(tmp_path / f"{number}/METS.xml", f"{_OPEN.format(objid)}{up}</mets>")
    found = codes(tmp_path / "p", tmp_path)
    assert sorted(found) == ["L004", "L004", "L011", "L011", "M008", "M008", "M008"]
    assert states(tmp_path / "p", tmp_path) == [LinkState.ELSEWHERE, LinkState.ELSEWHERE]
    assert sorted(codes(tmp_path / "p")) == ["L010"] * 4 + ["M008"]


def test_an_aip_without_its_representations(tmp_path: Path, listings: list[str]) -> None:
    text = listings[0]
    start, end = text.index("<structMap"), text.rindex("</structMap>") + len("</structMap>")
    put(tmp_path / "a/METS.xml", f"{_OPEN.format(_PARENT)}{text[start:end]}</mets>")
    assert sorted(codes(tmp_path / "a")) == ["L002", "L002", "M008"]
    for name in ("images_mig-1", "docs_mig-1"):
        put(tmp_path / f"a/representations/{name}/METS.xml", f"{_OPEN.format(name)}</mets>")
    # A representation is part of its package: that it names no parent is no fault. These have no structMap.
    assert sorted(codes(tmp_path / "a")) == ["M008"] * 3 + ["M020"] * 2
    assert states(tmp_path / "a") == [LinkState.OK, LinkState.OK]
