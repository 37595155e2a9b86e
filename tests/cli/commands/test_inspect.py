"""``metspack inspect``."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import termios
import zipfile
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from tests import siards
from tests.cli.conftest import HEAD, Commands, Program, made_of
from tests.siard.convention_archives import SAMPLES
from tests.tables import read_table
from tests.trees import put

LOBS = [
    siards.Lob(data=b"there"),
    siards.Lob(data=b"gone", entry=None),
    siards.Lob(data=b"too", entry=None),
    siards.Lob(data=b"no", file="http://localhost/x", entry=None),
]


def missing(folder: Path) -> Path:
    return siards.packed(folder / "Missing.siard", siards.parts(LOBS))


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_holds_the_same(metspack: Commands, northwind: Path) -> None:
    printed = json.loads(metspack.fine("inspect", northwind, "--json"))
    source = made_of(northwind)
    source["message_digest"] |= {"verdict": "not compared"}
    source["message_digest"]["digests"][0]["found"] = None
    assert printed["source"] == source | {"form": "file", "sha256": None}
    assert printed["history"] == []
    assert (printed["siard_version"], printed["tables"], printed["rows"]) == ("2.2", 13, 93)
    assert printed["lob_folder"] == {"level": "nil", "text": ""}
    assert printed["lobs"] == read_table(__file__, "counts")
    assert printed["largest"] == {"lob": "s0.t2.c4.r7", "bytes": 12_338}
    assert printed["sizes"] == [
        {"from": 1_000, "below": 10_000, "lobs": 1, "bytes": 9_756},
        {"from": 10_000, "below": 100_000, "lobs": 7, "bytes": 82_083},
    ]
    (only,) = printed["columns"]
    assert (only["id"], only["table"], only["name"]) == ("s0.t2.c4", "dbo.Categories", "Picture")
    assert (only["type"], only["lobs"], only["digests"], only["without_digest"]) == ("BLOB", 8, 8, 0)
    assert only["levels"] == {
        "column": [{"level": "nil", "text": ""}],
        "folder": None,
        "cells": {"relative": 8},
    }
    assert only["conventions"] == [{"letter": "C", "title": "DILCIS statement", "code": None, "lobs": 8}]
    nothing = {"files": 0, "bytes": 0, "names": []}
    assert printed["unreferenced"] == {"inside": nothing, "outside": nothing}
    assert (printed["warnings"], printed["errors"], printed["verification"]) == ([], [], None)


def test_lobs_that_cannot_be_had_are_errors(metspack: Commands, tmp_path: Path) -> None:
    outcome = metspack("inspect", missing(tmp_path))
    assert outcome.code == 1
    assert "LOBs      1 inside, 0 outside, 0 inline, 2 missing, 1 refused" in outcome.out
    first, *lines, _hint = outcome.err.splitlines()
    assert first == "error: column S.T.content (s0.t0.c2): 3 LOBs not found (2 missing, 1 refused)"
    assert [line.split(",")[0] for line in lines] == [
        "  missing: table S.T row 2",
        "  missing: table S.T row 3",
        "  refused: table S.T row 4",
    ]


def test_what_differs_in_letter_case_is_hinted_at_where_it_is(metspack: Commands, tmp_path: Path) -> None:
    lobs = [siards.Lob(data=b"%d" % n, entry=None) for n in range(3)]
    entries = siards.parts(lobs) | {"content/schema0/table0/lob2/record1.BIN": b"1"}
    outcome = metspack("inspect", siards.packed(tmp_path / "M.siard", entries))
    lines = outcome.err.splitlines()
    assert lines[2].endswith("differs only in letter case: rename it as the cell names it.")
    assert lines[-1].startswith("hint: The LOBs are incomplete")
    assert "  content/schema0/table0/lob2/record1.BIN" in outcome.out


def test_no_more_than_twenty_are_named_of_a_column(metspack: Commands, tmp_path: Path) -> None:
    lobs = [siards.Lob(data=b"x", entry=None)] * 25
    source = siards.packed(tmp_path / "M.siard", siards.parts(lobs))
    lines = metspack("inspect", source).err.splitlines()
    assert lines[0].endswith("25 LOBs not found (25 missing)")
    assert lines[21] == "  and 5 more (--lobs lists all)"
    assert [each["where"] for each in records(metspack("inspect", source, "--lobs").out)] == ["error"] * 25


def test_conventions_are_warnings_and_found_by(metspack: Commands, tmp_path: Path) -> None:
    outcome = metspack("inspect", SAMPLES["A-outside"].build(tmp_path))
    assert outcome.code == 0
    assert "lobFolder relative ../Northwind_lobs/" in outcome.out
    assert "  relative s0_t2_c1/  " in outcome.out
    assert "located by  A  zip root and .. (metspack explain P101)" in outcome.out
    assert outcome.err.startswith("warning: column dbo.Categories.Picture (s0.t2.c1): 2 LOBs located by")


# --- Sources ----------------------------------------------------------------------------------------------


def test_a_folder_of_lobs_is_shown(metspack: Commands, tmp_path: Path) -> None:
    file = tmp_path / "lobs" / "content" / "schema0" / "table2" / "lob4" / "record0.bin"
    put(tmp_path / "lobs", {"content/schema0/table2/lob4/record0.bin": b"one"})
    printed = metspack.fine("inspect", tmp_path / "lobs").splitlines()
    assert printed[:3] == [
        "lobs: a folder of LOBs, without an archive",
        "tables    1 table with LOBs",
        "LOBs      0 inside, 1 outside",
    ]
    assert re.split("  +", printed[7])[:5] == ["s0.t2.c4", "schema0.table2.c4", "-", "-", "-"]
    assert printed[-1] == "no unreferenced files in the LOB folders outside"
    (record,) = records(metspack.fine("inspect", tmp_path / "lobs", "--lobs"))
    assert (record["where"], record["convention"], record["paths"]) == ("outside", None, [str(file)])
    document = json.loads(metspack.fine("inspect", tmp_path / "lobs", "--json"))
    assert (document["siard_version"], document["lob_folder"], document["rows"]) == (None, None, None)
    assert document["source"] == {
        "name": "lobs",
        "size": 0,
        "form": "LOB folder",
        "sha256": None,
        "message_digest": None,
    }


# --- --lobs -----------------------------------------------------------------------------------------------


def test_every_lob_is_a_line(metspack: Commands, northwind_full: Path) -> None:
    found = records(metspack.fine("inspect", northwind_full, "--lobs"))
    assert len(found) == 46
    assert found[0] | {"digest": None} == HEAD | read_table(__file__, "lob") | {"digest": None, "error": None}
    assert found[0]["digest"]["algorithm"] == "MD5"
    assert found[-1]["id"].startswith("s0.t8.c14.a")


def test_a_line_says_where_and_why_not(metspack: Commands, tmp_path: Path) -> None:
    outcome = metspack("inspect", missing(tmp_path), "--lobs")
    assert (outcome.code, outcome.err) == (1, "")
    inside, gone, _too, refused = records(outcome.out)
    assert (inside["where"], inside["error"]) == ("inside", None)
    assert (gone["where"], gone["error"]["kind"], gone["size"], gone["extents"]) == (
        "error",
        "missing",
        None,
        0,
    )
    assert (refused["file"], refused["error"]["kind"]) == ("http://localhost/x", "refused")


# --- --verify ---------------------------------------------------------------------------------------------


def test_every_lob_is_read_and_counted(metspack: Commands, northwind_full: Path) -> None:
    assert metspack.fine("inspect", northwind_full, "--verify").splitlines()[-6:] == [
        "",
        f"archive   messageDigest (MD5) right, SHA-256 {made_of(northwind_full)['sha256']}",
        "verified  46 LOBs, 222,707 bytes read",
        "digests   46 by MD5, 0 without",
        "lengths   23 in bytes, 23 in characters, 0 without",
        "failed    0 LOBs",
    ]


def test_lobs_with_a_fault_are_reported_and_counted(metspack: Commands, tmp_path: Path) -> None:
    wrong = f'length="4" digestType="MD5" digest="{"0" * 32}"'
    lobs = [siards.Lob(data=b"fine"), siards.Lob(data=b"ABCD", attributes=wrong), siards.Lob(data=b"ok")]
    source = siards.packed(tmp_path / "Bad.siard", siards.parts(lobs))
    outcome = metspack("inspect", source, "--verify")
    assert outcome.code == 1
    assert outcome.err.startswith(
        "error: LOB s0.t0.c2.r2 (content/schema0/table0/lob2/record1.bin) has the MD5"
    )
    assert outcome.out.splitlines()[-1] == "failed    1 LOB (1 digest)"
    quiet = metspack("inspect", source, "--verify", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (1, "", outcome.err)
    printed = metspack("inspect", source, "--verify", "--json")
    assert (printed.code, printed.err) == (1, "")
    verification = json.loads(printed.out)["verification"]
    (fault,) = verification.pop("faults")
    assert (fault["lob"], fault["fault"]) == ("s0.t0.c2.r2", "digest")
    assert verification == read_table(__file__, "verification")
    listed = metspack("inspect", source, "--verify", "--lobs")
    assert listed.code == 1
    verified = [each["verified"] for each in records(listed.out)]
    assert [each["fault"] for each in verified] == [None, "digest", None]
    assert (verified[0]["digest"], verified[0]["length_unit"]) == ("MD5", "bytes")


# --- What a person sees -----------------------------------------------------------------------------------


def on_a_terminal(command: list[str], columns: int, environment: dict[str, str]) -> str:
    """Run a program on a terminal of so many columns; return its output."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as running:
        os.close(theirs)
        printed = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:
                break
            if not block:
                break
            printed += block
        running.wait(60)
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_a_narrow_terminal_gets_lines_that_fit(program: Program, northwind_full: Path) -> None:
    command = [*program.command, "inspect", str(northwind_full)]
    narrow = on_a_terminal(command, 80, program.environment)
    assert max(map(len, narrow.splitlines())) <= 80
    assert (
        "s0.t2.c4  dbo.Categories.Picture  BLOB\n"
        "  lobFolder: none; paths in cells: relative\n"
        "  8 inside, 0 outside, 0 errors; located by: C\n"
        "  91,839 bytes, largest 12,338; digests: MD5\n"
        "\n"
        "s0.t4.c15" in narrow
    )
    wide = on_a_terminal(command, 200, program.environment)
    assert re.search("^column +name +type", wide, re.MULTILINE)


def test_names_from_an_archive_cannot_steer_the_terminal(metspack: Commands, tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"x"), dbname="a\u009b31m\u202eb\u00a0c[bold]:bomb:")
    source = siards.packed(tmp_path / "Odd.siard", parts)
    printed = metspack.fine("inspect", source)
    assert "database  a\\x9b31m\\u202eb\\xa0c[bold]:bomb:" in printed
    document = metspack.fine("inspect", source, "--json")
    assert document.isascii()
    assert json.loads(document)["dbname"] == "a\u009b31m\u202eb\u00a0c[bold]:bomb:"


def test_every_form_of_a_source_is_shown(metspack: Commands, tmp_path: Path, northwind: Path) -> None:
    data, small = northwind.read_bytes(), siards.parts(siards.lobs(b"x"))
    (tmp_path / "N.siard_part001").write_bytes(data[:70_000])
    (tmp_path / "N.siard_part002").write_bytes(data[70_000:])
    siards.packed(tmp_path / "w.siard", {f"top/{name}": content for name, content in small.items()})
    with zipfile.ZipFile(siards.packed(tmp_path / "small.siard", small)) as archive:
        archive.extractall(tmp_path / "unpacked")
    for name, words, form in (
        ("N.siard", "in 2 parts", "parts"),
        ("w.siard", "below top/", "file"),
        ("unpacked", "unpacked", "folder"),
    ):
        assert metspack.fine("inspect", tmp_path / name).startswith(f"{name}: SIARD 2.2, {words}, ")
        document = json.loads(metspack.fine("inspect", tmp_path / name, "--json"))
        assert document["source"]["form"] == form


def test_the_unit_of_the_lengths_of_texts_is_shown(metspack: Commands, tmp_path: Path) -> None:
    given = [siards.Lob(data="é".encode(), attributes=f'length="{length}"') for length in (1, 2)]
    source = siards.packed(tmp_path / "N.siard", siards.parts(given, kind="CLOB"))
    line = "lengths   of texts: 1 in bytes, 1 in characters (or texts in ASCII; SiardApi reads lengths as "
    assert f"\n{line}characters)\n" in metspack.fine("inspect", source)
    (column,) = json.loads(metspack.fine("inspect", source, "--json"))["columns"]
    assert column["text_lengths"] == {"bytes": 1, "characters": 1}
