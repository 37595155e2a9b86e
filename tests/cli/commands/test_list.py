"""``metspack list``: the LOBs of a package as CSV and as JSON lines."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import metspack as api
from metspack import BuildOptions, Limits
from tests import siards
from tests.cli.conftest import Commands
from tests.packages import forge
from tests.restoring.splitting import LOBS, SPLIT


def test_csv_is_read_back_by_others(metspack: Commands, root: Path) -> None:
    printed = metspack.fine("list", root)
    assert printed == metspack.fine("list", root, "--format", "csv")
    rows = list(csv.DictReader(printed.splitlines()))
    assert [row["id"] for row in rows] == [lob.id for lob in LOBS]
    (split,) = (row for row in rows if row["id"] == SPLIT)
    assert split["path"].split("|") == [f"Northwind_lobseg_{n}/{LOBS[1].path(n)}" for n in range(3)]
    assert split["segment"].split("|") == [f"ID_Northwind_lobseg_{n}_mets" for n in range(3)]
    assert (split["parts"], split["size"], split["md5"]) == (
        "3",
        str(len(LOBS[1].data)),
        forge.md5(LOBS[1].data),
    )


def test_keys_that_csv_has_to_quote(metspack: Commands, tmp_path: Path) -> None:
    given = siards.parts(siards.lobs(b"one", b"two"))
    key = b"</columns><primaryKey><name>PK</name><column>id</column></primaryKey>"
    given[siards.METADATA] = given[siards.METADATA].replace(b"</columns>", key)
    given[siards.TABLE] = given[siards.TABLE].replace(b"<c1>2</c1>", '<c1>a, "b"\n=é;|</c1>'.encode())
    source = siards.packed(tmp_path / "Small.siard", given)
    api.build(source, tmp_path / "out", BuildOptions(limits=Limits(files=10, bytes=1000)))
    printed = metspack.fine("list", tmp_path / "out", "--format", "csv")
    rows = list(csv.DictReader(printed.splitlines(keepends=True)))
    assert [row["primary_key"] for row in rows] == ["1", 'a, "b"\n=é;|']


def test_faults_are_listed_and_end_with_1(metspack: Commands, root: Path) -> None:
    shutil.rmtree(root / "Northwind_lobseg_2")
    outcome = metspack("list", root, "--json")
    assert outcome.code == 1
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert [each["id"] for each in found] == [lob.id for lob in LOBS]
    assert [bool(each["fault"]) for each in found] == [False, True, True]
    assert "Northwind_lobseg_2/mets.xml" in outcome.err


def test_an_archive_that_cannot_be_read_ends_with_3(metspack: Commands, root: Path) -> None:
    (root / "Northwind.siard").write_bytes(b"no archive")
    outcome = metspack("list", root, "--format", "csv")
    assert outcome.code == 3
    assert [row["id"] for row in csv.DictReader(outcome.out.splitlines())] == [lob.id for lob in LOBS]
    assert "Northwind.siard" in outcome.err
