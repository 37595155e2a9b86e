"""Packages announced by a list, a table or a parent's METS are compared with those present."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.checking import Checking, Level
from metspack.checking.options import CheckOptions
from metspack.errors import ConfigError
from tests.checking.links.test_roots import aip
from tests.findings import ordered
from tests.packages import csip, forge
from tests.packages.spread import tarred, zipped
from tests.tables import tabled


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """A delivery of five packages in all forms, and one that cannot be read."""
    root = tmp_path / "inbox"
    for name in ("one", "two", "three", "four"):
        aip(root / name, f"urn:x:{name}")
    zipped(root / "two", root / "two.zip", inside="two")
    tarred(root / "three", root / "deep/three.tar", inside="three")
    (root / "broken.zip").write_bytes(b"PK")
    return root


def reported(paths: Path | Sequence[Path], text: str | bytes, name: str = "list.txt") -> list[str]:
    """Return the findings on expected packages: code, line and subject."""
    first = paths if isinstance(paths, Path) else paths[0]
    file = first.parent / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    looking = CheckOptions(level=Level.LINKS, expect=file).looking()
    found = [each for each in ordered(Checking(paths, looking)) if each.code in {"M014", "M015", "M017"}]
    assert all(each.path == str(file) for each in found if each.code != "M015")
    return [f"{each.code} {each.line} {dict(each.facts).get('expected', each.path)}" for each in found]


ALL = "urn:x:one\ntwo\nthree.tar\n\n# those that came late\nbatch/four/\nbroken\n"


def test_all_that_is_announced_came(inbox: Path) -> None:
    assert reported(inbox, ALL) == []
    assert reported(inbox, "\ufeff" + ALL.replace("\n", "\r\n")) == []
    assert reported(inbox, ALL.encode("utf-16")) == []
    assert reported(inbox, ALL.replace("\n", "\r")) == []
    assert reported(inbox, "; as agreed\n" + ALL) == []


def test_what_did_not_come_and_what_nobody_announced_is_named(inbox: Path) -> None:
    missing = ALL.replace("urn:x:one", "urn:x:onne") + "nine\n"
    assert reported(inbox, missing) == [
        f"M015 0 {inbox}/one/METS.xml",
        "M014 1 urn:x:onne",
        "M014 8 nine",
    ]
    looking = CheckOptions(level=Level.LINKS, expect=inbox.parent / "list.txt").looking()
    run = Checking(inbox, looking)
    found = {each.code: each for each in run if each.line != 8}
    assert "nearest is 'urn:x:one' (differs by 1 character)" in found["M014"].message
    assert "'urn:x:one' and 'one'; nearest is 'urn:x:onne'" in found["M015"].message
    assert (run.summary.errors, run.summary.warnings) == (3, 1)
    results = {each.path: each for each in run.summary.results}
    assert results[f"{inbox}/one"].warnings == 1


def test_an_objid_is_compared_exactly(inbox: Path) -> None:
    found = reported(inbox, ALL.replace("urn:x:one", "URN:X:ONE"))
    assert found == [f"M015 0 {inbox}/one/METS.xml", "M014 1 URN:X:ONE"]


def test_what_is_announced_twice_is_reported(inbox: Path) -> None:
    assert reported(inbox, ALL + "two\n") == ["M017 8 two"]


@tabled
def test_a_table_has_its_packages_in_the_column_that_is_called_so(inbox: Path, table: str) -> None:
    assert reported(inbox, table) == []
    assert reported(inbox, table.replace("two", "ten"))[1:] == ["M014 3 ten"]


def test_the_mets_of_a_parent_announces_its_children(tmp_path: Path) -> None:
    parent = aip(tmp_path / "in/over", "urn:x:over", children=["urn:x:under", "urn:x:gone"])
    aip(tmp_path / "in/under", "urn:x:under", parent="urn:x:over")
    aip(tmp_path / "in/stranger", "urn:x:stranger")
    text = (parent if parent.is_file() else tmp_path / "in/over/METS.xml").read_text()
    found = reported(tmp_path / "in", text)
    assert [each.partition(" ")[0] for each in found] == ["M015", "M014"]
    assert found[0].endswith("/in/stranger/METS.xml")
    assert found[1].endswith(" urn:x:gone")


def test_a_package_has_the_children_that_lie_in_it(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    assert reported(root, (root / "mets.xml").read_text()) == []
    assert reported(root, "package\nNorthwind_lobseg_0\nID_Northwind_lobseg_1_mets\n") == []
    assert reported(root, "other\n") == ["M014 1 other", "M015 0 mets.xml"]
    sip = csip.forge(tmp_path / "sip")
    assert reported(sip, "sip\n") == []
    children = csip.divide(tmp_path / "set")
    assert reported(children, (children / "top/METS.xml").read_text()) == []


@tabled
def test_a_file_that_announces_nothing_is_refused(tmp_path: Path, data: str, words: str) -> None:
    file = tmp_path / "list"
    file.write_bytes(data.encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        CheckOptions(expect=file).looking()
    assert words in caught.value.message
    assert caught.value.message.startswith(f"--expect {file}")
    assert caught.value.hint


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            CheckOptions(expect=path).looking()
