"""Figures from a check's catalogue: children and their states, split LOBs, what digests were worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.checking import Checked, Level, check
from metspack.checking.links.graph import LinkState
from metspack.reporting.facts import facts_of
from metspack.reporting.model import ReportFacts
from tests.packages import forge
from tests.reporting.reports import checked

PARENT, CHILD = "mets.xml", "Northwind_lobseg_1/mets.xml"


def gathered(package: Path, level: Level = Level.FULL, roots: Sequence[Path] = ()) -> ReportFacts:
    with checked(package, level, roots) as (frame, _):
        return frame.facts


def states(facts: ReportFacts) -> dict[str, tuple[LinkState, bool, bool]]:
    return {
        each.child.path or each.child.objid: (each.state, each.names_child, each.names_parent)
        for each in facts.children
    }


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


def test_a_child_nobody_names(package: Path) -> None:
    other = package / "Northwind_lobseg_10"
    other.mkdir()
    (other / "mets.xml").write_bytes((package / CHILD).read_bytes())
    facts = gathered(package)
    assert [each.name for each in facts.children] == [
        "Northwind_lobseg_0",
        "Northwind_lobseg_1",
        "Northwind_lobseg_10",
    ]
    assert states(facts)["Northwind_lobseg_10/mets.xml"] == (LinkState.EXTRA, False, True)
    forge.edit(other / "mets.xml", forge.PARENT_OBJID, "urn:uuid:another")
    assert states(gathered(package))["Northwind_lobseg_10/mets.xml"] == (LinkState.EXTRA, False, False)
    assert facts.children[-1].parent.path == PARENT


def test_parents_that_are_no_part_of_the_package(package: Path) -> None:
    facts = gathered(package / "Northwind_lobseg_1")
    assert [(each.parent.objid, each.child.path, each.state) for each in facts.parents] == [
        (forge.PARENT_OBJID, PARENT, LinkState.UNKNOWN)
    ]
    assert not facts.children
    facts = gathered(package / "Northwind_lobseg_1", roots=[package])
    assert [each.state for each in facts.parents] == [LinkState.ELSEWHERE]
    forge.edit(package / PARENT, '="ID_Northwind_lobseg_1_mets" xlink', '="ID_other" xlink')
    facts = gathered(package / "Northwind_lobseg_1", roots=[package])
    assert [each.state for each in facts.parents] == [LinkState.ONE_WAY_UP]


def test_split_lobs(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    part = '<mets:mptr xlink:href="ID_Northwind_lobseg_{}_mets" CONTENTIDS="{}" LOCTYPE="OTHER"/>'
    parts = "".join(
        part.format(number, name)
        for number, name in enumerate(("s0.t2.c4.r1", "s0.t2.c4.r3", "s0.t2.c4.r9.p2"))
    )
    forge.edit(
        package / PARENT,
        "</mets:mets>",
        f'<mets:structMap TYPE="SPLITLOB"><mets:div>{parts}</mets:div></mets:structMap></mets:mets>',
    )
    splits = gathered(package).splits
    (package / "Northwind_lobseg_1" / forge.LOBS[2].path).unlink()
    lost = [[is_lost for *_, is_lost in held] for *_, held in gathered(package).splits]
    assert lost == [[False], [True], [False]]
    assert not any(part[-1] for *_, held in gathered(package, Level.LINKS).splits for part in held)
    assert not any(part[-1] for *_, held in splits for part in held)
    assert [(lob, whole, [(part, size) for part, _, size, _ in held]) for lob, whole, held in splits] == [
        ("s0.t2.c4.r1", None, [("s0.t2.c4.r1", 403)]),
        ("s0.t2.c4.r3", None, [("s0.t2.c4.r3", 299)]),
        ("s0.t2.c4.r9", None, [("s0.t2.c4.r9.p2", None)]),
    ]


def test_an_interrupted_check_shows_what_there_is_until_then_and_once(package: Path) -> None:
    shown: list[tuple[bool, ReportFacts]] = []

    def gather(seen: Checked) -> None:
        shown.append((seen.is_complete, facts_of(seen, Level.FULL)))

    (package / "unlisted").write_bytes(b"")
    run = check(package, observer=gather)
    run.stop()
    assert not shown, "nothing was begun"
    next(run)
    run.stop()
    run.stop()
    assert run.summary.packages == 3
    list(run)
    ((is_complete, facts),) = shown
    assert not is_complete
    assert len(facts.children) == 2
    assert {(each["read"], each["failed"]) for each in facts.fixity} == {(None, None)}
