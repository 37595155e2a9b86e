"""``metspack shards``: what each LOB consists of, in three forms, and parts that are not related."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from lxml import etree

from tests import siards
from tests.cli.conftest import Commands
from tests.restoring import splitting
from tests.restoring.damages import unlisted, without_map
from tests.restoring.splitting import LOBS, SPLIT, mets


def test_a_table_shows_every_file_with_offset_and_length(metspack: Commands, root: Path) -> None:
    lines = metspack.fine("shards", root).splitlines()
    assert [line.split() for line in lines] == [
        ["LOB", "offset", "length", "media", "type", "file"],
        *(
            [lob.id, "0", str(len(piece)), "image/png", f"Northwind_lobseg_{lob.segment + n}/{lob.path(n)}"]
            for lob in LOBS
            for n, piece in enumerate(lob.pieces)
        ),
        ["3", "LOBs", "in", "5", "files,", f"{sum(len(lob.data) for lob in LOBS)}", "bytes"],
    ]
    assert metspack.fine("shards", root, SPLIT).splitlines() == [
        lines[0],
        *lines[2:5],
        "1 LOB in 3 files, 46 bytes",
    ]
    assert metspack.fine("shards", root, "-q") == ""


def test_json_is_a_line_for_each_lob(metspack: Commands, root: Path) -> None:
    printed = metspack.fine("shards", root, "--json", "--base", "https://archive.example/a/")
    assert printed == metspack.fine(
        "shards", root, "--format", "json", "--base", "https://archive.example/a/"
    )
    found = [json.loads(line) for line in printed.splitlines()]
    assert [each["lob"] for each in found] == [lob.id for lob in LOBS]
    assert {each["unit"] for each in found} == {"bytes"}
    assert found[1]["files"][2] == {
        "id": f"{SPLIT}.p2",
        "url": f"https://archive.example/a/Northwind_lobseg_2/{LOBS[1].path(2)}",
        "name": "record1.bin.z",
        "offset": 0,
        "length": 9,
        "media_type": "image/png",
        "format_uri": None,
    }


def test_names_that_could_steer_a_terminal_are_escaped_in_every_form(metspack: Commands, root: Path) -> None:
    name = "\u202egnp.\u00e4\u200b"
    old = root / "Northwind_lobseg_0" / LOBS[0].path(0)
    old.rename(old.with_name(name))
    splitting.edit(root / mets(0), "record0.bin", name)
    for options in ((), ("--json",), ("--format", "doms")):
        printed = metspack.fine("shards", root, LOBS[0].id, *options)
        assert "\u202e" not in printed
        assert "\u200b" not in printed
        if options == ("--json",):
            assert json.loads(printed)["files"][0]["name"] == name
        if "doms" in options:
            assert etree.fromstring(printed.encode()).findtext(".//file_name") == name


@pytest.mark.parametrize("form", ["json", "doms"])
def test_a_part_that_only_one_side_names_is_a_finding(metspack: Commands, root: Path, form: str) -> None:
    unlisted(1)(root)
    outcome = metspack("shards", root, "--format", form)
    assert outcome.code == 1
    (printed,) = outcome.err.splitlines()
    assert re.fullmatch(
        rf"error: LOB {SPLIT}, {SPLIT}\.p1: mets\.xml line \d+ names it as a part: expected a file with this "
        r"ID in ID_Northwind_lobseg_1_mets; found none",
        printed,
    )
    found = re.findall(r'lob"?[:=] ?"(.*?)"', outcome.out)
    assert found == [LOBS[0].id, LOBS[2].id]
    outcome = metspack("shards", root, SPLIT, "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "names it as a part" in outcome.err
    assert metspack.fine("shards", root, LOBS[0].id)


def test_a_part_without_a_map_is_a_finding_and_listed(metspack: Commands, root: Path) -> None:
    without_map(root)
    outcome = metspack("shards", root)
    assert outcome.code == 1
    assert outcome.err.count("lists it as a part: expected an mptr to ID_Northwind_lobseg_") == 3
    assert len(outcome.out.splitlines()) == 7


def test_missing_files_and_other_sizes_are_reported(metspack: Commands, root: Path) -> None:
    form = ("--json",)
    (root / "Northwind_lobseg_0" / LOBS[0].path(0)).unlink()
    cut = root / "Northwind_lobseg_1" / LOBS[1].path(1)
    cut.write_bytes(cut.read_bytes()[:-1])
    outcome = metspack("shards", root, *form)
    assert outcome.code == 1
    first, second = outcome.err.splitlines()
    assert re.fullmatch(
        rf"error: LOB {LOBS[0].id}: Northwind_lobseg_0/.*record0\.bin, which Northwind_lobseg_0/mets\.xml "
        r"line \d+ lists: expected a file of 35 bytes; found No such file or directory",
        first,
    )
    assert f"LOB {SPLIT}, {SPLIT}.p1: " in second
    assert second.endswith("expected a file of 21 bytes; found 20 bytes")
    assert LOBS[2].id in outcome.out
    assert SPLIT not in outcome.out
    assert metspack("shards", root, SPLIT, *form).code == 1
    cut.unlink()
    cut.symlink_to(root / "mets.xml")
    assert "found Too many levels of symbolic links" in metspack("shards", root, SPLIT, *form).err
    cut.unlink()
    os.mkfifo(cut)
    assert "is not a regular file" in metspack("shards", root, SPLIT, *form).err


@pytest.mark.parametrize(("most", "shown"), [(0, 0), (2, 2)])
def test_errors_beyond_their_budget_are_counted(
    metspack: Commands, root: Path, most: int, shown: int
) -> None:
    (root / "Northwind_lobseg_0" / LOBS[0].path(0)).unlink()
    (root / "Northwind_lobseg_1" / LOBS[1].path(1)).unlink()
    outcome = metspack("shards", root, "--json", "--budget", f"findings={most}")
    assert outcome.code == 1
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: LOB")]
    assert len(errors) == shown
    counted = (
        f"error: and {2 - shown} more error{'s' if shown == 0 else ''}, counted and not reported one by one"
    )
    assert (counted in outcome.err) is (shown < 2)
    assert [json.loads(line)["lob"] for line in outcome.out.splitlines()] == [LOBS[2].id]


def test_a_lob_that_a_cell_names_and_no_mets_lists_is_reported(metspack: Commands, root: Path) -> None:
    child = root / mets(0)
    child.write_text(re.sub(rf'<mets:file ID="{LOBS[0].id}".*?</mets:file>', "", child.read_text()))
    splitting.agreed(root)
    outcome = metspack("shards", root, "--json")
    assert outcome.code == 1
    (printed,) = outcome.err.splitlines()
    assert printed.startswith(
        f"error: LOB {LOBS[0].id}: the archive Northwind has a cell of it: expected a file that"
    )
    assert "which no METS lists" in printed
    assert [json.loads(line)["lob"] for line in outcome.out.splitlines()] == [LOBS[1].id, LOBS[2].id]
    assert metspack("shards", root, LOBS[1].id).code == 0
    (root / "Northwind.siard").write_bytes(b"no archive")
    outcome = metspack("shards", root)
    assert (outcome.code, len(outcome.err.splitlines())) == (1, 1)
    assert "the cells of an archive cannot be compared with METS" in outcome.err


def test_an_unreadable_child_and_the_others(metspack: Commands, root: Path) -> None:
    (root / mets(2)).unlink()
    outcome = metspack("shards", root, "--json")
    assert outcome.code == 1
    assert "error: Northwind_lobseg_2/mets.xml cannot be read" in outcome.err
    assert [json.loads(line)["lob"] for line in outcome.out.splitlines()] == [LOBS[0].id]
    outcome = metspack("shards", root, "s0.t2.c4.r7")
    assert (outcome.code, outcome.out) == (3, "")
    assert "the package has no LOB 's0.t2.c4.r7'" in outcome.err


def test_a_lob_under_another_id_and_one_in_the_archive(metspack: Commands, tmp_path: Path) -> None:
    file = "content/schema0/table0/lob2/record0.bin"
    lobs = [siards.Lob(data=b"one"), siards.Lob(data=b"one", file=file)]
    source = siards.packed(tmp_path / "Small.siard", siards.parts(lobs))
    metspack("build", source, "-o", tmp_path / "out", "-q")
    (printed,) = metspack.fine("shards", tmp_path / "out", "s0.t0.c2.r2", "--json").splitlines()
    assert json.loads(printed)["lob"] == "s0.t0.c2.r1"
    metspack("build", source, "-o", tmp_path / "in", "-q", "--min-size", "1MB")
    outcome = metspack("shards", tmp_path / "in", "s0.t0.c2.r2")
    assert (outcome.code, outcome.out) == (3, "")
    assert "LOB s0.t0.c2.r2 stayed in the archive; a shard is made of files" in outcome.err
    assert f"metspack cat {tmp_path / 'in'} s0.t0.c2.r2 gives it" in outcome.err
    assert metspack.fine("shards", tmp_path / "in") == "0 LOBs in 0 files, 0 bytes\n"


def test_a_lob_with_wrong_parts_and_the_others(metspack: Commands, root: Path) -> None:
    splitting.edit(root / mets(1), 'SEQ="1"', 'SEQ="one"')
    outcome = metspack("shards", root, "--json")
    assert outcome.code == 1
    assert "has the SEQ 'one'; expected a whole number" in outcome.err
    assert [json.loads(line)["lob"] for line in outcome.out.splitlines()] == [LOBS[0].id, LOBS[2].id]
