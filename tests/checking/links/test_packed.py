"""Children packed in zip and tar files: they are found, read and compared as those in folders are."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
from tests.checking.links.test_roots import aip
from tests.findings import ordered
from tests.packages import forge
from tests.packages.spread import tarred, zipped


def reported(paths: Path | Sequence[Path], roots: Sequence[Path] = ()) -> list[tuple[str, dict[str, str]]]:
    return [(each.code, dict(each.facts)) for each in ordered(check(paths, Level.LINKS, roots=roots))]


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_the_entry_of_a_segment_may_be_of_the_file_in_which_it_is_packed(tmp_path: Path, form: str) -> None:
    root = forge.forge(tmp_path / "ip")
    name = f"Northwind_lobseg_1.{form}"
    pack = zipped if form == "zip" else tarred
    pack(root / "Northwind_lobseg_1", root / name, inside="Northwind_lobseg_1")
    forge.edit(root / "mets.xml", "lobseg_1/mets.xml", name.partition("Northwind_")[2])
    run = check(root, Level.LINKS)
    assert list(run) == []
    (graph,) = run.graphs
    assert [each.path for each in graph.nodes[2:]] == ["Northwind_lobseg_1/mets.xml"]
    (root / name).unlink()
    ((code, facts),) = reported(root)
    assert (code, facts["expected"]) == ("L002", name)


def test_of_packed_children_the_one_that_names_the_parent_is_taken(tmp_path: Path) -> None:
    root = aip(tmp_path / "top", "urn:x:top", children=["urn:x:one"])
    for name, parent in (("a", "other"), ("b", "urn:x:top")):
        folder = aip(tmp_path / name, "urn:x:one", parent=parent)
        zipped(folder, tmp_path / f"disk/{name}.zip", inside="one")
    mine = tmp_path / "disk/b.zip/one/METS.xml"
    assert reported(root, [tmp_path / "disk"]) == [("L011", {"found": str(mine), "href": "urn:x:one"})]


def test_a_folder_without_its_mets_is_no_place_for_what_is_packed_elsewhere(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    shutil.copytree(root / "Northwind_lobseg_0", tmp_path / "copy")
    packed = zipped(tmp_path / "copy", tmp_path / "disk/0.zip")
    (root / "Northwind_lobseg_0/mets.xml").unlink()
    ((code, facts),) = reported(root, [packed])
    assert code == "L002"
    assert facts["nearest"] == f"{packed}/mets.xml"
    assert facts["likeness"] == "the same package under another name"
