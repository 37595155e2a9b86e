"""A representation is a part of its package: no child, no segment, and called as it likes."""

from __future__ import annotations

from pathlib import Path

from metspack.checking import Level, check
from metspack.checking.links.graph import LinkState
from metspack.reporting import linkgraph
from metspack.reporting.linkmap import link_map
from metspack.reporting.model import ReportFacts, below, parents
from tests.packages import csip
from tests.tables import tabled

_MPTR = 'LOCTYPE="URL" xlink:type="simple" xlink:href="representations/rep1/METS.xml" xlink:title="rep1"'


def edited(root: Path, *changes: tuple[str, str]) -> Path:
    """The small package of E-ARK's, its METS edited before it is sealed."""

    def edit(folder: Path) -> None:
        path = folder / csip.PACKAGE_METS
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    return csip.forge(root, edit)


def linked(root: Path, level: Level = Level.LINKS) -> list[str]:
    return sorted(each.code for each in check(root, level) if each.code[0] in "LP")


@tabled
def test_a_representation_is_no_child_however_it_is_linked(tmp_path: Path, mptr: str) -> None:
    root = edited(tmp_path / "ip", (f"<mptr {_MPTR}/>", mptr))
    assert linked(root) == []
    found = list(check(root))
    assert [each.message for each in found if each.code == "M030"] != []  # its division says too little
    assert {each.code for each in found} <= {"M020", "M024", "M026", "M030", "M031"}


def test_a_missing_representation_is_reported(tmp_path: Path) -> None:
    root = edited(tmp_path / "ip", (f"<mptr {_MPTR}/>", f"<mptr {_MPTR}/>".replace("/rep1/", "/rep2/")))
    assert linked(root) == ["L002"]


def test_objids_of_representations_are_unique_in_their_package(tmp_path: Path) -> None:
    for name in ("one", "two"):
        csip.forge(tmp_path / name)
    found = list(check([tmp_path / "one", tmp_path / "two"], Level.LINKS))
    assert "L023" not in {each.code for each in found}
    found = list(check(tmp_path, Level.LINKS))
    assert "L023" not in {each.code for each in found}


def test_two_representations_of_one_package_have_different_objids(tmp_path: Path) -> None:
    root = tmp_path / "ip"
    division = f'<div ID="div-rep1" LABEL="Representations/rep1">\n<mptr {_MPTR}/>\n</div>\n'
    entry = '<file ID="rep1-mets" '
    csip.forge(root)
    text = (root / csip.PACKAGE_METS).read_text()
    start, end = text.index(entry), text.index("</file>", text.index(entry)) + len("</file>\n")
    text = text[:end] + text[start:end].replace("rep1", "rep2") + text[end:]
    text = text.replace(division, division + division.replace("rep1", "rep2"))
    (root / csip.PACKAGE_METS).write_text(text)
    (root / "representations/rep2").mkdir()
    (root / "representations/rep2/METS.xml").write_text((root / csip.REPRESENTATION_METS).read_text())
    assert linked(root) == ["L023"]


def test_the_graph_has_representations_apart_from_children(tmp_path: Path) -> None:
    run = check(csip.forge(tmp_path / "ip"), Level.LINKS)
    assert list(run) == []
    (graph,) = run.graphs
    (each,) = below(graph)
    assert each.child.is_part
    assert (each.child.path, each.state, each.names_parent) == (
        "representations/rep1/METS.xml",
        LinkState.OK,
        False,
    )
    assert list(linkgraph.tree(graph)) == [
        "ip  METS.xml",
        "└── representation, ok: rep1  representations/rep1/METS.xml",
    ]
    (link,) = linkgraph.LinkReport(graphs=(graph,), errors=0).to_json()["packages"][0]["links"]
    assert (link["kind"], link["state"]) == ("representation", "ok")
    assert graph.top is not None
    facts = ReportFacts(tops=(graph.top,), parents=tuple(parents(graph)), representations=(each,))
    picture = link_map(facts)
    titles = [box.title for box in picture.boxes]
    assert titles == ["METS.xml, 1 representation"]
