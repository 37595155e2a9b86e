"""``metspack inspect``."""

from __future__ import annotations

import json
from pathlib import Path

from tests import siards
from tests.cli.conftest import Commands
from tests.shared_data import shared
from tests.trees import tree


def test_an_archive_is_shown_column_by_column(metspack: Commands, northwind_full: Path) -> None:
    lines = metspack.fine("inspect", northwind_full).splitlines()
    size = northwind_full.stat().st_size
    assert lines[:6] == [
        f"Northwind-full.siard: SIARD 2.2, {size:,} bytes ({size / 1000:.1f} kB)",
        "database  Northwind",
        "tables    13 tables with 93 rows",
        "LOBs      46 inside, 0 outside, 23 inline",
        "bytes     222,707 bytes (222.7 kB) in the LOBs inside",
        "largest   s0.t2.c4.r7, 12,338 bytes (12.3 kB)",
    ]
    assert [line.split()[0] for line in lines[8:]] == [
        *("s0.t2.c4", "s0.t4.c15", "s0.t8.c12", "s0.t8.c13.u2", "s0.t8.c13.u3"),
        *("s0.t8.c13.u4.u2", "s0.t8.c14.a1", "s0.t8.c14.a2", "s0.t8.c14.a3"),
    ]


def test_json_holds_the_same(metspack: Commands, northwind: Path) -> None:
    said = json.loads(metspack.fine("inspect", northwind, "--json"))
    assert said["source"] == {"name": "Northwind.siard", "size": northwind.stat().st_size}
    assert (said["siard_version"], said["tables"], said["rows"]) == ("2.2", 13, 93)
    assert (said["lobs"]["inside"], said["lobs"]["bytes"]) == (8, 91_839)
    assert said["largest"] == {"lob": "s0.t2.c4.r7", "bytes": 12_338}
    (column,) = (each for each in said["columns"] if each["inside"])
    assert (column["id"], column["table"], column["name"], column["type"]) == (
        "s0.t2.c4",
        "dbo.Categories",
        "Picture",
        "BLOB",
    )


def test_an_archive_without_lobs_has_no_columns_to_show(metspack: Commands, tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "None.siard")
    said = metspack.fine("inspect", source)
    assert "LOBs      0 inside, 0 outside, 0 inline" in said
    assert "largest" not in said
    assert json.loads(metspack.fine("inspect", source, "--json"))["largest"] is None


def test_a_missing_lob_is_a_warning(metspack: Commands, tmp_path: Path) -> None:
    lobs = [
        siards.Lob(data=b"there"),
        siards.Lob(data=b"gone", entry=None),
        siards.Lob(data=b"too", entry=None),
    ]
    source = siards.packed(tmp_path / "Missing.siard", siards.parts(lobs))
    outcome = metspack("inspect", source)
    assert outcome.code == 0
    assert "LOBs      1 inside, 0 outside, 0 inline, 2 missing" in outcome.out
    assert outcome.err == (
        "warning: S.T.content: the archive has no entry for 2 LOBs, the first is s0.t0.c2.r2\n"
    )


def test_lobs_outside_are_counted(metspack: Commands) -> None:
    said = json.loads(metspack("inspect", shared("data", "siard", "sql2008", "sql2008.siard"), "--json").out)
    assert said["lobs"]["outside"] > 0


def test_names_from_an_archive_cannot_steer_the_terminal(metspack: Commands, tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"x"), dbname="a\u009b31m\u202eb\u00a0c[bold]:bomb:")
    source = siards.packed(tmp_path / "Odd.siard", parts)
    said = metspack.fine("inspect", source)
    assert "database  a\\x9b31m\\u202eb\\xa0c[bold]:bomb:" in said
    document = metspack.fine("inspect", source, "--json")
    assert document.isascii()
    assert json.loads(document)["dbname"] == "a\u009b31m\u202eb\u00a0c[bold]:bomb:"


def test_inspecting_writes_nothing(metspack: Commands, tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one")
    before = tree(tmp_path)
    metspack.fine("inspect", source)
    assert tree(tmp_path) == before


def test_quiet_prints_warnings_alone(metspack: Commands, tmp_path: Path) -> None:
    lobs = [siards.Lob(data=b"there"), siards.Lob(data=b"gone", entry=None)]
    source = siards.packed(tmp_path / "Missing.siard", siards.parts(lobs))
    outcome = metspack("inspect", source, "-q")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("warning: S.T.content: the archive has no entry for 1 LOB")
    assert json.loads(metspack("inspect", source, "-q", "--json").out)["lobs"]["missing"] == 1
