"""Endless names are read without recursion, and searched at few levels."""

from __future__ import annotations

from pathlib import Path

from metspack import checking
from metspack.checking.catalogue import Catalogue
from metspack.checking.mets.entries import FileGroups
from metspack.mets.reader import METS, XLINK

_METS = f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="x">{{}}<structMap><div/></structMap></mets>'
_FILE = '<fileSec><fileGrp><file ID="f"><FLocat LOCTYPE="URL" xlink:href="{}"/></file></fileGrp></fileSec>'


def test_a_line_of_a_bag_that_is_nested_without_end_is_reported_as_any_other(tmp_path: Path) -> None:
    deep = f"data/{'a/' * 5_000}f"
    (tmp_path / "data/x").mkdir(parents=True)
    (tmp_path / "data/x/mets.xml").write_text(_METS.format(""))
    (tmp_path / "bagit.txt").write_text("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")
    (tmp_path / "manifest-md5.txt").write_text(f"{'0' * 32}  {deep}\n")
    found = [each for each in checking.check(tmp_path / "data/x", jobs=1) if deep in each.path]
    assert len(found) == 1
    assert found[0].severity.value == "error"


def test_a_location_that_leads_out_without_end_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mets.xml").write_text(_METS.format(_FILE.format("../../" + "a/" * 50_000 + "f")))
    assert "P003" in {each.code for each in checking.check(tmp_path, jobs=1)}


def test_what_groups_are_called_is_kept_once() -> None:
    name = "u" * 10_000
    with Catalogue() as catalogue:
        groups = FileGroups(catalogue, 1)
        numbers = [groups.number((name, f"g{number}")) for number in (1, 2, 1, 3)]
        assert len(set(numbers)) == 3
        assert numbers[0] == numbers[2]
        assert groups.number(()) == 0
        assert catalogue.number("SELECT sum(length(name)) FROM section") == len(name) + 6
        child = groups.number((name, "Child IPs", "x"))
        assert catalogue.row("SELECT is_child, is_whole, is_other FROM section WHERE id = ?", child) == (
            1,
            0,
            0,
        )
