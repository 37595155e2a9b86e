"""Faults of many links with one cause are one finding with all its places."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.checking import Level, check, grouping
from metspack.checking.codes import Code
from metspack.checking.grouping import CommonCauses, cause
from metspack.model import MOST_PLACES, Finding, Severity
from tests.checking.links.test_deliveries import numbered
from tests.checking.links.test_roots import aip
from tests.findings import ordered
from tests.packages import csip, forge

COUNT = 8
NAME = "Northwind_lobseg"


def exchanged(path: Path, pattern: str, new: str) -> None:
    text, count = re.subn(pattern, new, path.read_text(encoding="utf-8"))
    assert count, pattern
    path.write_text(text, encoding="utf-8")


def children(root: Path) -> list[Path]:
    return sorted(root.glob("*/mets.xml"))


def of_mptr(root: Path) -> None:
    exchanged(root / "mets.xml", '(mptr xlink:href=")ID_', r"\1IP_")


def of_file_ids(root: Path) -> None:
    exchanged(root / "mets.xml", f'(file ID=")ID_{NAME}', rf"\1IP_{NAME}")


def of_names(root: Path) -> None:
    exchanged(root / "mets.xml", f'"ID_{NAME}', f'"AVID_{NAME}')


def of_parent(root: Path) -> None:
    exchanged(root / "mets.xml", 'OBJID="', 'OBJID="urn:')


def of_locations(root: Path) -> None:
    exchanged(root / "mets.xml", f'href="{NAME}', 'href="Old_lobseg')


def of_letter_case(root: Path) -> None:
    exchanged(root / "mets.xml", '/mets.xml"', '/METS.xml"')


def of_folders(root: Path) -> None:
    for each in children(root):
        each.parent.rename(root / each.parent.name.replace("Northwind", "North"))


def of_one_folder(root: Path) -> None:
    (root / "held").mkdir()
    for each in children(root):
        each.parent.rename(root / "held" / each.parent.name)


DAMAGES: dict[Callable[[Path], None], str] = {
    of_mptr: "L001",
    of_file_ids: "L001",
    of_names: "L003",
    of_parent: "L020",
    of_locations: "L002",
    of_letter_case: "L002",
    of_folders: "L002",
    of_one_folder: "L002",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_one_change_does_to_all_links_is_one_finding(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    root = forge.forge(tmp_path / "ip", forge.lobs(COUNT, COUNT))
    damage(root)
    if damage not in {of_folders, of_one_folder}:
        forge.seal(root)
    run = check(root)
    (found,), others = partitioned(each for each in run if each.severity is Severity.ERROR)
    # LOBs that lie elsewhere are in no cell, which is an error of its own.
    assert [each.code for each in others] == (["Z017"] if damage is of_one_folder else [])
    assert found.code == DAMAGES[damage]
    assert found.count == COUNT
    assert dict(found.facts)["places"] == str(COUNT)
    assert found.message.endswith(f"; the same difference in {COUNT - 1} more places")
    places = [(found.path, found.line), *((each.path, each.line) for each in found.others)]
    assert len(set(places)) == COUNT
    assert run.summary.errors == 1 + len(others)
    assert sum(graph.is_broken for graph in run.graphs) == 1


def partitioned(found: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of links, and all others."""
    every = list(found)
    return [each for each in every if each.code[0] == "L"], [each for each in every if each.code[0] != "L"]


def test_links_changed_in_other_ways_are_reported_apart(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip", forge.lobs(6, 6))
    for number, name in enumerate(("IP_", "IP_", "id_", "id_", "ID_x")):
        forge.edit(
            root / "mets.xml",
            f'mptr xlink:href="ID_{NAME}_{number}',
            f'mptr xlink:href="{name}{NAME}_{number}',
        )
    found = [each.count for each in check(root, Level.LINKS) if each.code == "L001"]
    assert sorted(found) == [1, 2, 2]


def test_far_more_than_are_guessed_at_have_one_cause(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip", forge.lobs(60, 60))
    of_mptr(root)
    (found,) = check(root, Level.LINKS)
    assert found.count == 60


def test_a_prefix_before_locations_outside_is_one_cause(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip", forge.lobs(130, 1))
    exchanged(
        root / NAME.join(("", "_0/mets.xml")), 'href="content/', f'href="file:///data/old/{NAME}_0/content/'
    )
    forge.seal(root)
    found = [each for each in check(root, Level.STRUCTURE) if each.code == "P003"]
    assert [each.count for each in found] == [130]


def test_a_changed_beginning_in_packages_of_the_standards_is_one_finding(tmp_path: Path) -> None:
    root = csip.divide(tmp_path / "set", by_objid=True)
    exchanged(root / "top/METS.xml", '(mptr[^>]*href="[^"]*)child_', r"\1children_")
    found = [each for each in check(root, Level.LINKS) if each.code[0] in "LP"]
    assert [(each.code, each.count) for each in found] == [("L010", 2)]


# --- over packages ----------------------------------------------------------------------------------------


def apart(root: Path) -> list[Path]:
    """Write a parent under another name than its children have for it, and a package of others."""
    kids = [f"x:kid{number}" for number in range(COUNT)]
    aip(root / "top", "IP.AVID.18005", children=[])
    for number, kid in enumerate(kids):
        aip(root / f"disk{number % 3}/kid{number}", kid, parent="ID.AVID.18005")
    numbered(root / "other", 20)
    return sorted(root.iterdir())


def summed(found: Sequence[Finding]) -> list[tuple[str, str, int]]:
    return [(each.code, Path(each.path).parent.name, each.count) for each in ordered(found)]


def test_a_parent_that_was_renamed_is_one_finding_for_all_its_children(tmp_path: Path) -> None:
    paths = apart(tmp_path)
    run = check(paths, Level.LINKS)
    found = list(run)
    assert summed(found) == [("L022", "kid0", COUNT)]
    facts = dict(found[0].facts)
    assert facts["nearest"] == "IP.AVID.18005"
    assert facts["likeness"] == f"differs by 1 character; it lies at {tmp_path}/top/METS.xml"
    assert run.summary.infos == 1
    assert sum(each.infos for each in run.summary.results) == COUNT
    assert summed(list(check(tmp_path, Level.LINKS))) == summed(found)
    assert summed(list(check(paths[::-1], Level.LINKS))) == summed(found)
    roots = [tmp_path / "top"]
    found = list(check([each for each in paths if each.name != "top"], Level.LINKS, roots=roots))
    assert summed(found) == [("L025", "kid0", COUNT)]


def test_neither_the_child_itself_nor_its_siblings_are_the_nearest_parent(tmp_path: Path) -> None:
    for number in range(3):
        aip(tmp_path / f"{number}", f"AVID.RA.18005.{number}", parent="AVID.RA.18005")
    aip(tmp_path / "top", "AVID.SA.18005", children=[])
    (found,) = check(tmp_path, Level.LINKS)
    assert (found.code, found.count) == ("L022", 3)
    assert dict(found.facts)["nearest"] == "AVID.SA.18005"
    shutil.rmtree(tmp_path / "top")
    single = list(check(tmp_path, Level.LINKS))
    assert [(each.code, "nearest" in dict(each.facts)) for each in single] == [("L022", False)] * 3


def test_children_that_the_parent_calls_otherwise_are_reported_where_it_does(tmp_path: Path) -> None:
    kids = [f"ID.kid.{number}" for number in range(COUNT)]
    aip(tmp_path / "top", "top", children=[each.replace("ID", "IP") for each in kids])
    for each in kids:
        aip(tmp_path / each, each, parent="top")
    numbered(tmp_path / "other", 20)
    run = check(tmp_path, Level.LINKS)
    assert summed(list(run)) == [("L010", "top", COUNT)]
    assert all(graph.is_broken for graph in run.graphs if "other" not in graph.path)


# --- the causes themselves --------------------------------------------------------------------------------


def many(count: int) -> list[Finding]:
    rule = Code.MPTR_WITHOUT_FILE
    names = (f"lobseg_{number}" for number in range(count))
    return [
        rule.at("mets.xml", line, href=f"IP_{name}", nearest=f"ID_{name}")
        for line, name in enumerate(names, 1)
    ]


@pytest.mark.slow
def test_of_more_places_than_are_kept_the_first_are_and_the_number_is_right() -> None:
    found = many(2 * MOST_PLACES + 7)
    random.Random(1).shuffle(found)  # noqa: S311 -- any order
    causes = CommonCauses(9)
    for each in found:
        causes.take(cause(each, ""), each, owner="", rank=(each.path,))
    ((reported, owners),) = causes.release()
    assert owners == ("",)
    assert (reported.line, reported.count) == (1, len(found))
    assert [each.line for each in reported.others] == list(range(2, MOST_PLACES + 1))


def test_what_is_reported_does_not_depend_on_the_order() -> None:
    found = [replace(each, path=f"{each.line % 3}/mets.xml") for each in many(40)]
    reported = []
    for seed in range(3):
        random.Random(seed).shuffle(found)  # noqa: S311 -- any order
        causes = CommonCauses(9)
        for each in found:
            causes.take(cause(each, ""), each, owner=each.path[:1], rank=("mets.xml", each.path))
        reported.append(list(causes.release()))
    assert reported[0] == reported[1] == reported[2]
    assert reported[0][0][1] == ("0", "1", "2")


def test_without_anything_near_there_is_no_cause_to_share() -> None:
    assert not cause(Code.MPTR_WITHOUT_FILE.at("mets.xml", 1, href="a", nearest=""), "")
    assert not cause(Code.FILE_MISSING.at("a", expected="a", source="b", nearest="c"), "")


def test_more_causes_than_are_held_are_each_reported_at_once() -> None:
    found = [
        replace(each, facts=(("href", f"{each.line}x"), ("nearest", f"y{each.line}"))) for each in many(5)
    ]
    causes = CommonCauses(3)
    taken = [causes.take(cause(each, ""), each, owner="", rank=(each.path,)) for each in (*found, found[0])]
    assert taken == [True, True, True, False, False, True]
    assert [reported.count for reported, _ in causes.release()] == [2, 1, 1]


def test_of_very_many_places_each_cause_keeps_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_PLACES_KEPT", 3)
    found = many(9)
    other = [replace(each, facts=(("href", "9x"), ("nearest", "y9"))) for each in found]
    causes = CommonCauses(9)
    for each in (*found[2:], *other, *found[:2]):
        assert causes.take(cause(each, ""), each, owner="", rank=(each.path,))
    reported = sorted(
        (each.line, each.count, [place.line for place in each.others]) for each, _ in causes.release()
    )
    assert reported == [(1, 9, []), (1, 9, [2, 3])]
