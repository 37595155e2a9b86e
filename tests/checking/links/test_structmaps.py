"""Several structMaps that name children: each names the same ones, however it names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
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
