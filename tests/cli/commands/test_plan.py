"""``metspack plan``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import HEAD, Commands
from tests.tables import read_table

SMALL = ("--max-files", "4", "--max-bytes", "45000")


@pytest.mark.parametrize(("options", "words"), read_table(__file__, "limits"))
def test_limits_are_exact(metspack: Commands, northwind: Path, options: tuple[str, ...], words: str) -> None:
    assert words in metspack.fine("plan", northwind, *options).splitlines()[0]


def test_json_holds_what_the_table_does(metspack: Commands, northwind: Path) -> None:
    document = json.loads(metspack.fine("plan", northwind, "--json", "--name", "N", *SMALL))
    assert {each["reader"]: each["finds"] for each in document.pop("readers")} == {
        "metspack": True,
        "SIARD Suite": False,
        "DBPTK": False,
    }
    assert document == HEAD | read_table(__file__, "json") | {
        "min_size": None,
        "segments": [
            {
                "name": f"N_lobseg_{n}",
                "objid": f"ID_N_lobseg_{n}_mets",
                "segment": n,
                "first": f"s0.t2.c4.r{first}",
                "last": f"s0.t2.c4.r{last}",
                "files": last - first + 1,
                "bytes": size,
                "closed_by": why,
            }
            for n, first, last, size, why in (
                (0, 1, 4, 44_021, "file limit"),
                (1, 5, 7, 35_749, "byte limit"),
                (2, 8, 8, 12_069, "end"),
            )
        ],
    }


@pytest.mark.parametrize(
    ("style", "pack"), [("aip", ()), ("csip-large", ("--pack", "zip")), ("recommendation", ())]
)
def test_a_plan_tells_the_objids_that_the_build_gives(
    metspack: Commands, northwind: Path, tmp_path: Path, style: str, pack: tuple[str, ...]
) -> None:
    ways = ("--max-files", "4", "--dialect", "csip", "--link-style", style, *pack)
    metspack.fine("build", northwind, *ways, "-o", tmp_path / "out")
    (package,) = json.loads(metspack.fine("links", tmp_path / "out", "--json"))["packages"]
    made = {each["objid"] for each in package["documents"]} - {"rep1"}
    planned = json.loads(metspack.fine("plan", northwind, *ways, "--json"))
    assert {planned["objid"], *(each["objid"] for each in planned["segments"])} == made
    shown = metspack.fine("plan", northwind, *ways)
    assert all(each["objid"] in shown for each in planned["segments"])
    named = json.loads(metspack.fine("plan", northwind, *ways[:4], "--id", "NW", "--json"))
    assert [named["objid"], named["segments"][0]["objid"]] == ["NW", "NW_s0_t2_c4_seg_0"]
