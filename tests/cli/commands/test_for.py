"""Packages for one reader: what --for chooses, leaves to others and refuses; and readers of SIARD 1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests import siards
from tests.cli.conftest import Commands
from tests.siard.old_archives import entries
from tests.tables import tabled

SUBMITTER = ("--submitter", "A")


def made(metspack: Commands, source: Path, out: Path, *words: str) -> dict[str, Any]:
    given_back = metspack("build", source, "-o", out, "--json", *words)
    assert given_back.code == 0, given_back.err
    document: dict[str, Any] = json.loads(given_back.out)
    return document


@tabled
def test_plan_build_convert_and_check_say_the_same(
    reader: tuple[str, str, str], metspack: Commands, northwind: Path, tmp_path: Path
) -> None:
    key, layout, name = reader
    plan = json.loads(metspack("plan", northwind, "--for", key, "--json").out)
    one = made(metspack, northwind, tmp_path / "one", "--for", key)
    assert (plan["readers"], plan["layout"]) == (one["readers"], one["layout"])
    assert one["layout"] == layout
    assert {each["reader"]: each["finds"] for each in one["readers"]}[name]
    metspack("build", northwind, "-o", tmp_path / "two", "-q")
    two = json.loads(
        metspack("convert", tmp_path / "two", "-o", tmp_path / "new", "--for", key, "--json").out
    )
    assert two["readers"] == one["readers"]
    (given_back,) = json.loads(metspack("check", tmp_path / "new", "--json").out)["readers"]
    assert [each["finds"] for each in given_back["readers"]] == [each["finds"] for each in one["readers"]]
    assert (given_back["archive"], given_back["is_merged"]) == ("Northwind.siard", False)


def test_reports_name_the_readers(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    made(metspack, northwind, tmp_path / "out", "--for", "statement")
    for name in ("r.txt", "r.html", "r.json"):
        metspack("check", tmp_path / "out", "-q", "--report", tmp_path / name)
    text = (tmp_path / "r.txt").read_text().splitlines()
    assert text[2].startswith(
        "LOBs of Northwind.siard found by metspack. "
        "SIARD Suite and DBPTK 4.5 will show these 8 LOBs as empty. "
        "To let both find them: metspack convert --for dbptk"
    )
    assert text[2] in (tmp_path / "r.html").read_text()
    assert json.loads((tmp_path / "r.json").read_text())["findings"] == []


def test_roda_names_children_by_objid(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    made(metspack, northwind, tmp_path / "out", "--for", "roda", "--pack", "zip", *SUBMITTER)
    words = ("--dialect", "csip", "--profile", "sip", "--roda-ancestors", "--child-links", "objid")
    style = ("--lob-folder-style", "dbptk")
    made(metspack, northwind, tmp_path / "same", "--pack", "zip", *SUBMITTER, *words, *style)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "same").iterdir())
    (given_back,) = json.loads(metspack("check", tmp_path / "out", "--json").out)["readers"]
    assert given_back["is_merged"]
    assert metspack("plan", northwind, "--for", "roda", "--pack", "zip").code == 0


def test_folders_for_roda_are_named_by_objid(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    made(metspack, northwind, tmp_path / "out", "--for", "roda", *SUBMITTER)
    folders = sorted(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert len(folders) > 1
    for folder in folders:
        assert f'OBJID="{folder.name}"' in (folder / "METS.xml").read_text()


def test_siard_1_0_is_refused_unless_it_is_written_as_2_2(metspack: Commands, tmp_path: Path) -> None:
    key = "siard-suite"
    given = siards.packed(tmp_path / "old.siard", entries())
    for command in (("plan", given), ("build", given, "-o", tmp_path / "no")):
        given_back = metspack(*command, "--for", key)
        assert given_back.code == 2
        assert f"finds no LOBs outside an archive of SIARD 1.0 (--for {key})" in given_back.err
        assert "Add --siard-version 2.2" in given_back.err
    upgraded = made(metspack, given, tmp_path / "out", "--for", key, "--siard-version", "2.2")
    assert all(each["finds"] for each in upgraded["readers"])


CALLED = "no reader of SIARD 1.0 will open old.siard, whose LOBs are outside"


def old(path: Path) -> Path:
    return siards.packed(path, entries())


def test_the_first_line_says_that_readers_of_1_0_will_not_open_it(tmp_path: Path, metspack: Commands) -> None:
    given = old(tmp_path / "old.siard")
    first = metspack("build", given, "-o", tmp_path / "out").out.splitlines()[0]
    assert first.endswith(f"; {CALLED} (build and convert take --siard-version 2.2)")
    given_back = metspack("check", tmp_path / "out")
    assert given_back.code == 0
    assert given_back.out.splitlines()[0] == f"N{CALLED[1:]} (build and convert take --siard-version 2.2)."
    report = json.loads(metspack("check", tmp_path / "out", "--json").out)
    assert report["unopened_archives"] == ["old.siard"]
    assert {each["code"] for each in report["findings"]} == {"Z021", "Z051"}  # no digests, or another
    for name in ("report.txt", "report.html"):
        assert metspack("check", tmp_path / "out", "-q", "--report", tmp_path / name).code == 0
        assert CALLED in (tmp_path / name).read_text()
    assert CALLED in (tmp_path / "report.txt").read_text().splitlines()[0]
