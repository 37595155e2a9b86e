"""The mapping.txt beside a .siard, without an option that names it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metspack.errors import ConfigError
from metspack.locations.errors import LobsUnresolved
from metspack.locations.mappingtxt import mapping_beside, read_mapping
from metspack.sources.archive import Archive, Grants
from tests.planning.lobruns import lobs_of
from tests.siard.forging import Table, column, siard
from tests.tables import tabled

LOB = "content/schema0/table0/lob1/record0.bin"


def inside(folder: Path) -> Path:
    return siard(folder / "s.siard", tables=[Table(rows=(f"<c1 file='{LOB}'/>",))], lobs={LOB: b"x"})


def outside(folder: Path) -> Path:
    table = Table(columns=(column("D", lob_folder="lobs/"),), rows=("<c1 file='seg_0/r.bin'/>",))
    return siard(folder / "s.siard", tables=[table])


@tabled
def test_one_that_is_not_understood_is_in_nobodys_way(tmp_path: Path, data: bytes, line: str) -> None:
    path = inside(tmp_path)
    (tmp_path / "mapping.txt").write_bytes(data)
    words = (
        f"mapping.txt beside the archive was not understood: line {line}; name it with --mapping to insist"
    )
    with Archive(path) as archive:
        assert [each.size for each in lobs_of(archive)] == [1]
        assert list(archive.conventions()) == [words]
    with pytest.raises(ConfigError, match=f"mapping.txt line {line}: "):
        Archive(path, grants=Grants(mapping=tmp_path / "mapping.txt"))


def test_where_lobs_are_missing_it_is_reported_that_it_was_not_understood(tmp_path: Path) -> None:
    path = outside(tmp_path)
    (tmp_path / "mapping.txt").write_bytes(b"secret\n")
    with Archive(path) as archive, pytest.raises(LobsUnresolved) as caught:
        list(lobs_of(archive))
    assert "mapping.txt beside the archive was not understood: line 1;" in caught.value.hint
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


def test_one_that_is_understood_is_followed(tmp_path: Path) -> None:
    path = outside(tmp_path)
    (tmp_path / "mapping.txt").write_bytes(b"lobs/seg_0/ ./moved/\n")
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "r.bin").write_bytes(b"moved")
    with Archive(path) as archive:
        assert [each.size for each in lobs_of(archive)] == [5]
        assert list(archive.conventions()) == []


def test_no_link_is_followed_to_it(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    path = inside(tmp_path / "root")
    secret = tmp_path / "passwd"
    secret.write_bytes(b"root:x:0\n")
    mapping = tmp_path / "root" / "mapping.txt"
    mapping.symlink_to(secret)
    why = "mapping.txt beside the archive was not read: it is a symbolic link"
    assert mapping_beside(tmp_path / "root") == ({}, f"{why}; name it with --mapping to insist")
    with Archive(path) as archive:
        assert len(list(lobs_of(archive))) == 1
        assert len(list(archive.conventions())) == 1
    with pytest.raises(ConfigError, match=r"line 1: 'root:x:0' is one word"):
        read_mapping(mapping)  # a person named it


@pytest.mark.parametrize("kind", ["none", "folder", "pipe"])
def test_what_is_no_file_is_none(tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / "mapping.txt").mkdir()
    elif kind == "pipe":
        os.mkfifo(tmp_path / "mapping.txt")
    words = "mapping.txt beside the archive was not read: it is not a regular file" if kind == "pipe" else ""
    assert mapping_beside(tmp_path) == ({}, words)
