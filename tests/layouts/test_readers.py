"""Which programs find the LOBs of a package is told from what is known of them."""

from __future__ import annotations

import pytest

from metspack.layouts import LAYOUTS
from metspack.layouts.folders import FolderStyle
from metspack.layouts.readers import READERS, LobTraits, Writing, readership, unopened
from tests.conftest import CHECKOUT

SUITE, TOOLKIT = "SIARD Suite (--lob-folder-style sfa)", "DBPTK 4.5 (--lob-folder-style dbptk)"
UPGRADED = f"{SUITE}, {TOOLKIT}".replace("(", "(--siard-version 2.2 ")
DILCIS, SFA, DBPTK = FolderStyle.DILCIS, FolderStyle.SFA, FolderStyle.DBPTK


@pytest.mark.parametrize(
    ("version", "style", "expected"),
    [
        ("2.1", DILCIS, f"LOBs found by metspack; not by {SUITE}, {TOOLKIT}"),
        ("2.1", SFA, "LOBs found by metspack, SIARD Suite; not by DBPTK 4.5 (--lob-folder-style dbptk)"),
        ("2.1", DBPTK, "LOBs found by metspack, DBPTK 4.5; not by SIARD Suite (--lob-folder-style sfa)"),
        ("2.2", SFA, "LOBs found by metspack, SIARD Suite, DBPTK 4.5"),
        ("2.2", DBPTK, "LOBs found by metspack, SIARD Suite, DBPTK 4.5"),
        ("1.0", SFA, f"LOBs found by metspack; not by {UPGRADED}"),
    ],
)
def test_the_line_names_who_finds_them_and_what_would_help_others(
    version: str, style: FolderStyle, expected: str
) -> None:
    for layout in LAYOUTS:
        writing = Writing(version=version, layout=layout, style=style)
        assert readership(writing, LobTraits(lobs=1)).sentence() == expected


def test_lobs_that_a_reader_misses_are_counted() -> None:
    traits = LobTraits(lobs=9, nested=2, split=1, odd=3)
    said = readership(Writing(version="2.2", layout="lobseg", style=SFA), traits, is_merged=True)
    assert said.sentence() == (
        "After metspack merge, LOBs found by metspack, SIARD Suite (but for 1 LOB in parts), "
        "DBPTK 4.5 (but for 2 LOBs in fields and 3 LOBs not named .bin or .txt and 1 LOB in parts)"
    )
    assert said.document()[1] == {
        "reader": "SIARD Suite",
        "version": None,
        "finds": True,
        "misses": ["1 LOB in parts"],
        "remedy": None,
    }
    (_, suite, dbptk) = readership(Writing(version="2.2", layout="siard22", style=DBPTK), traits).verdicts
    assert suite.misses == ("2 LOBs in fields", "1 LOB in parts")
    assert dbptk.misses == ("2 LOBs in fields", "3 LOBs not named .bin or .txt")


def test_the_page_names_every_reader_as_the_table_does() -> None:
    page = (CHECKOUT / "docs" / "readers.md").read_text(encoding="utf-8")
    for each in READERS:
        assert f"| {each.label} | {each.reads} | {each.source} |" in page


@pytest.mark.parametrize(
    ("archives", "expected"),
    [
        ((), ""),
        (("N.siard",), "no reader of SIARD 1.0 will open N.siard, whose LOBs are outside"),
        (
            ("a/N.siard", "b/O.siard"),
            "no reader of SIARD 1.0 will open 2 archives whose LOBs are outside, the first a/N.siard",
        ),
    ],
)
def test_archives_that_readers_of_their_version_do_not_open_are_named(
    archives: tuple[str, ...], expected: str
) -> None:
    said = unopened(archives)
    assert said == (expected and f"{expected} (build and convert take --siard-version 2.2)")
