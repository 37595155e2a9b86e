"""Several structMaps that name children: each names the same ones, however it names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.catalogue import Catalogue
from metspack.checking.links import swaps
from tests.checking.links.test_guesses import located
from tests.packages.placed import structmap

BY_LOCATION = '<mets:mptr xlink:href="child_{}/METS.xml" LOCTYPE="URL"/>'
BY_FILE_ID = '<mets:mptr xlink:href="m{}" LOCTYPE="OTHER" OTHERLOCTYPE="file ID"/>'


def disagreements(root: Path, form: str, *maps: Sequence[int]) -> list[str]:
    """Return what is told of a package with structMaps of the labels A, B ... that name these children."""
    path = located(root) / "METS.xml"
    written = [
        structmap(f"child {label}", *map(form.format, children))
        for label, children in zip("ABC", maps, strict=False)
    ]
    path.write_text(path.read_text().replace("</mets:mets>", f"{''.join(written)}</mets:mets>"))
    found = [each for each in check(root, Level.LINKS) if each.code in {"L005", "L026"}]
    return sorted(each.message for each in found)


@pytest.mark.parametrize("form", [BY_LOCATION, BY_FILE_ID])
def test_structmaps_that_name_the_same_children_agree(tmp_path: Path, form: str) -> None:
    assert disagreements(tmp_path / "two", form, range(4), range(4)) == []
    assert disagreements(tmp_path / "turned", form, range(4), [3, 1, 0, 2]) == []
    assert disagreements(tmp_path / "three", form, range(4), range(4), range(4)) == []


@pytest.mark.parametrize(("form", "name"), [(BY_LOCATION, "child_{}/METS.xml"), (BY_FILE_ID, "m{}")])
def test_a_child_that_one_structmap_leaves_out_is_told_once_for_each_that_names_it(
    tmp_path: Path, form: str, name: str
) -> None:
    def leaves_out(one: str, child: int, other: str) -> str:
        there, here = (f"the structMap labelled 'child {each}'" for each in (one, other))
        return f"{there} names the child {name.format(child)!r}, {here} does not"

    assert disagreements(tmp_path / "second", form, range(4), range(3)) == [leaves_out("A", 3, "B")]
    assert disagreements(tmp_path / "first", form, range(1, 4), range(4)) == [leaves_out("B", 0, "A")]
    assert disagreements(tmp_path / "third", form, range(4), range(4), [0, 2, 3]) == [
        leaves_out("A", 1, "C"),
        leaves_out("B", 1, "C"),
    ]


def test_of_more_disagreements_than_are_told_the_last_finding_has_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(swaps, "MOST_PLACES", 1)
    with Catalogue() as catalogue:
        parent = catalogue.new_mets(b"METS.xml", None)
        catalogue.put_many("INSERT INTO structmap (id, name) VALUES (?, ?)", [(1, "x\nA"), (2, "x\nB")])
        for number in range(6):
            child = catalogue.new_mets(b"%d/METS.xml" % number, parent)
            for structmap_id in (1, 2) if number == 3 else (1,):
                put = "INSERT INTO mptr (mets, map, line, childward, up) VALUES (?, ?, ?, 1, 0)"
                mptr = catalogue.put(put, parent, structmap_id, 10 + number)
                put = "INSERT INTO edge (parent, child, mptr, href) VALUES (?, ?, ?, ?)"
                catalogue.put(put, parent, child, mptr, f"c{number}")

        def told(most: int) -> list[tuple[str, int, int]]:
            return [(each.path, each.line, each.count) for each in swaps.styles(catalogue, 1, "M", most)]

        assert told(1) == [("M", 10, 1), ("M", 11, 1), ("M", 12, 3)]
        assert told(3) == [("M", 10, 1), ("M", 11, 1), ("M", 12, 1), ("M", 14, 1), ("M", 15, 1)]
        assert told(4) == told(3)
        assert [each.message for each in swaps.styles(catalogue, 1, "M", 0)] == [
            "the structMap labelled 'A' names the child 'c0', the structMap labelled 'B' does not",
            "the structMap labelled 'A' names the child 'c1', the structMap labelled 'B' does not",
        ]
