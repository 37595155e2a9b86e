"""``metspack roundtrip``: the proof that every LOB can be given back, and what it says when not."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

import metspack as api
from tests import siards
from tests.cli.conftest import HEAD, Commands
from tests.conftest import CHECKOUT
from tests.laws import THOROUGH
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.damages import DAMAGES, Damage, part
from tests.restoring.splitting import LOBS, SPLIT, Lob
from tests.shared_data import shared


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return splitting.forged(tmp_path / "package")


def test_what_was_proven_by_what_is_said(metspack: Commands, root: Path) -> None:
    size = sum(len(lob.data) for lob in LOBS)
    assert metspack.fine("roundtrip", root).splitlines() == [
        f"{root}: 3 LOBs in segments (1 split), 0 in the archive, {size} bytes joined",
        "verified by  LOBs",
        "METS digest     3",
        "cell digest     3",
        "cell length     3",
        "Every LOB can be restored as it was.",
    ]
    assert metspack.fine("roundtrip", root, "-q") == ""
    assert json.loads(metspack.fine("roundtrip", root / "mets.xml", "--json")) == HEAD | {
        "package": str(root / "mets.xml"),
        "disagreements": [],
        "proven": {"mets_digest": 3, "cell_digest": 3, "cell_length": 3, "crc": 0, "nothing": 0},
        "lobs": 3,
        "split": 1,
        "inside": 0,
        "bytes": size,
    }


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.name)
def test_every_damage_is_found(metspack: Commands, root: Path, damage: Damage) -> None:
    damage.change(root)
    outcome = metspack("roundtrip", root)
    assert (outcome.code, outcome.err) == (1, "")
    assert re.search(damage.said, outcome.out), outcome.out
    assert re.search(r"\n[0-9]+ disagreements?: not every LOB can be restored as it was\.$", outcome.out)
    told = metspack("roundtrip", root, "--json")
    assert told.code == 1
    found = json.loads(told.out)["disagreements"]
    assert SPLIT in {each["lob"] for each in found}
    assert all(each.keys() == {"lob", "part", "what", "expected", "found"} for each in found)
    quiet = metspack("roundtrip", root, "-q")
    assert (quiet.code, quiet.err) == (1, "")
    assert quiet.out, "disagreements are errors, and printed in any case"
    assert outcome.out.startswith(quiet.out)
    assert [each.lob for each in api.roundtrip(root)] == [each["lob"] for each in found]


def test_at_most_20_disagreements_are_listed_and_all_in_json(metspack: Commands, tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "many", [Lob(row, (b"%d" % row,)) for row in range(1, 24)])
    for path in root.glob("*/content/*/*/*/*"):
        path.write_bytes(path.read_bytes()[::-1] + b"?")
    outcome = metspack("roundtrip", root)
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert sum(line.startswith("LOB s0.t2.c4.r") for line in lines) == 20
    assert lines[20] == "... and 3 more disagreements (--json has all)"
    assert lines[-1] == "23 disagreements: not every LOB can be restored as it was."
    assert len(json.loads(metspack("roundtrip", root, "--json").out)["disagreements"]) == 23


def test_lobs_in_the_archive_are_proven_by_its_crc_too(metspack: Commands, tmp_path: Path) -> None:
    lobs = [siards.Lob(data=b"one"), siards.Lob(data=b"two", attributes="")]
    source = siards.packed(tmp_path / "Small.siard", siards.parts(lobs))
    metspack("build", source, "-o", tmp_path / "out", "-q", "--min-size", "1MB")
    said = metspack.fine("roundtrip", tmp_path / "out").splitlines()
    assert said[0].endswith(": 0 LOBs in segments, 2 in the archive, 6 bytes joined")
    assert [line.split() for line in said[1:5]] == [
        ["verified", "by", "LOBs"],
        ["cell", "digest", "1"],
        ["cell", "length", "1"],
        ["CRC-32", "in", "the", "archive", "2"],
    ]


def test_a_lob_that_nothing_proves_is_counted(metspack: Commands, root: Path) -> None:
    child = root / splitting.mets(0)
    child.write_text(re.sub(' CHECKSUM="[0-9a-f]*" CHECKSUMTYPE="MD5"', "", child.read_text(), count=1))
    splitting.agreed(root)
    with zipfile.ZipFile(root / "Northwind.siard") as container:
        table = container.read("content/schema0/table2/table2.xml").decode()
    bare = re.sub(r'(record0\.bin") length=".*?"/>', r"\1/>", table)
    assert bare != table
    (root / "Northwind.siard").write_bytes(forge.siard(bare.encode()))
    splitting.agreed(root)
    said = metspack.fine("roundtrip", root)
    assert re.search(r"^METS digest +2$", said, re.MULTILINE)
    assert re.search(r"^nothing +1$", said, re.MULTILINE)


def test_a_package_without_lobs_is_proven(metspack: Commands, tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "None.siard")
    metspack("build", source, "-o", tmp_path / "out", "-q")
    assert metspack.fine("roundtrip", tmp_path / "out").splitlines() == [
        f"{tmp_path / 'out'}: 0 LOBs in segments, 0 in the archive, 0 bytes joined",
        "Every LOB can be restored as it was.",
    ]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_is_no_package_is_refused(metspack: Commands, root: Path, options: tuple[str, ...]) -> None:
    (root / "mets.xml").write_text("no METS")
    outcome = metspack("roundtrip", root, *options)
    assert outcome.code == 3
    assert '"disagreements"' not in outcome.out, "no half a document"
    assert "error: " in outcome.err


@pytest.mark.parametrize("name", ["Northwind", "Northwind-full"])
def test_the_golden_packages_can_be_given_back(metspack: Commands, name: str) -> None:
    said = metspack.fine("roundtrip", CHECKOUT / "samples" / "northwind" / "golden" / name)
    assert said.endswith("Every LOB can be restored as it was.\n")


def test_a_lob_is_a_file_in_python(root: Path) -> None:
    with api.open_lob(root, SPLIT) as file:
        assert file.seek(-9, 2) == 37
        assert file.read() == LOBS[1].pieces[2]
        file.seek(10)
        assert file.read(10) == LOBS[1].data[10:20]
        assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
    part(root, 1).write_bytes(b"#" * 21)
    with api.open_lob(root, SPLIT) as file, pytest.raises(api.SourceError, match=r"part .*\.p1"):
        file.read()
    with api.open_lob(root, SPLIT, verify=False) as file:
        file.seek(20)
        assert file.read(2) == b"##"
    with pytest.raises(api.SourceError, match="has no LOB"):
        api.open_lob(root, "none")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sample-datalink-2.2", ("--max-bytes", "900kB", "--layout", "siard22")),
        ("sample-datalink-2.2", ("--min-size", "1GB")),
        *([("sfdbsakila-2.2", ("--max-bytes", "36kB", "--layout", "siard22"))] if THOROUGH else ()),
    ],
)
def test_real_archives_can_be_given_back(
    metspack: Commands, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    assert metspack("build", shared("data", "siard", f"{name}.siard"), "-o", out, "-q", *options).code == 0
    said = json.loads(metspack.fine("roundtrip", out, "--json"))
    count = said["lobs"] + said["inside"]
    assert count in {25, 2604}
    assert bool(said["inside"]) == ("--min-size" in options)
    assert said["proven"]["cell_digest"] == said["proven"]["cell_length"] == count
