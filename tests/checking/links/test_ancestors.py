"""Ancestors lead one way by design (RODA): only the child names its parent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links.graph import LinkState
from metspack.model import Finding
from metspack.reporting import linkgraph
from tests.packages import csip

_ANCESTORS = """<structMap LABEL="RODA structural map">
<div LABEL="RODA">
<div LABEL="Ancestors"><mptr xlink:type="simple" xlink:href="{}" LOCTYPE="HANDLE"/></div></div>
</structMap>
</mets>"""


def with_ancestor(root: Path, objid: str) -> Path:
    def name_it(folder: Path) -> None:
        path = folder / csip.PACKAGE_METS
        path.write_text(path.read_text().replace("</mets>", _ANCESTORS.format(objid)))

    return csip.forge(root, name_it)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    csip.forge(tmp_path / "both/plain")
    with_ancestor(tmp_path / "both/kid", "plain")
    return tmp_path / "both"


def links(found: Sequence[Finding]) -> list[Finding]:
    return [each for each in found if each.code[0] == "L"]


@pytest.mark.parametrize("how", ["arguments", "other order", "root", "folder"])
def test_one_verdict_however_the_two_are_given(both: Path, how: str) -> None:
    paths, roots = {
        "arguments": ([both / "kid", both / "plain"], []),
        "other order": ([both / "plain", both / "kid"], []),
        "root": ([both / "kid"], [both / "plain"]),
        "folder": ([both], []),
    }[how]
    run = check(paths, Level.LINKS, roots=roots)
    (found,) = links(list(run))
    assert (found.code, found.severity.value) == ("L040", "info")
    assert found.path.endswith("METS.xml")
    assert "'plain'" in found.message
    assert not any(graph.is_broken for graph in run.graphs)
    edges = [(each.state, each.is_fault) for graph in run.graphs for each in graph.edges]
    assert (LinkState.ONE_WAY_UP, False) in edges


def test_the_place_of_a_parent_beside_is_reported(both: Path) -> None:
    run = check([both / "kid", both / "plain"], Level.LINKS)
    list(run)
    drawn = "\n".join(line for graph in run.graphs for line in linkgraph.tree(graph))
    assert "not looked at" not in drawn
    assert f"plain  {both}/plain/METS.xml" in drawn


def test_an_ancestor_that_is_not_there_is_as_any_parent(both: Path) -> None:
    assert [each.code for each in links(list(check(both / "kid", Level.LINKS)))] == ["L022"]
    others = csip.forge(both.parent / "other")
    found = links(list(check([both / "kid", others], Level.LINKS)))
    assert [each.code for each in found] == ["L022"]
    found = links(list(check(both / "kid", Level.LINKS, roots=[others])))
    assert [each.code for each in found] == ["L025"]


def test_a_parent_that_is_no_ancestor_has_to_name_its_child(both: Path) -> None:
    path = both / "kid/METS.xml"
    path.write_text(path.read_text().replace("RODA structural map", "parent").replace("Ancestors", "parent"))
    for paths in ([both / "kid", both / "plain"], [both / "plain", both / "kid"], [both]):
        assert [each.code for each in links(list(check(paths, Level.LINKS)))] == ["L024"]


def test_what_no_mets_names_may_name_an_ancestor_that_is_there(tmp_path: Path) -> None:
    package = csip.forge(tmp_path / "plain")
    with_ancestor(package / "kid", "plain")
    (found,) = links(list(check(package, Level.LINKS)))
    assert (found.code, found.path) == ("L040", "kid/METS.xml")
    assert dict(found.facts) == {"expected": "plain", "found": "METS.xml"}
    with_ancestor(package / "other", "nobody")
    assert [(each.code, each.path) for each in links(list(check(package, Level.LINKS)))] == [
        ("L040", "kid/METS.xml"),
        ("L006", "other/METS.xml"),
    ]
