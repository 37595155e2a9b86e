"""Advice of the resolver on LOBs that are named on a drive or by an absolute path."""

from __future__ import annotations

import shlex
from pathlib import Path

from metspack.locations.resolver import Resolver
from tests.locations.test_resolver import cell, field, table
from tests.trees import put

ADVICE = "The LOB lies in a granted folder, elsewhere than the archive says: add {}."


def advice(root: Path, *files: str, length: int | None = None) -> list[str]:
    """Return the advice for cells with these files, one after the other."""
    with Resolver(None, [root], siard_name="x.siard") as resolver:
        return [resolver.advice(table(field()), cell(file, length=length)) for file in files]


def of_drive(letter: str, folder: Path) -> str:
    return ADVICE.format(f"--map-drive {shlex.quote(f'{letter}:={folder}')}")


def test_what_is_advised_for_a_drive_is_stated_for_each_of_its_lobs(tmp_path: Path) -> None:
    put(tmp_path, {"a/r.bin": b"r"})
    message = of_drive("S", tmp_path)
    assert advice(tmp_path, "S:/a/r.bin", "S:/a/s.bin", "S:/a/r.bin") == [message] * 3


def test_there_is_no_advice_for_what_is_nowhere(tmp_path: Path) -> None:
    assert advice(tmp_path, "S:/a/r.bin", "S:/a/s.bin", "S:/a/t.bin", "r.bin") == [""] * 4


def test_a_second_lob_of_a_drive_is_looked_for_and_no_third(tmp_path: Path) -> None:
    put(tmp_path, {"a/r.bin": b"r"})
    assert [bool(each) for each in advice(tmp_path, "S:/a/x.bin", "S:/a/r.bin")] == [False, True]
    assert advice(tmp_path, "S:/a/x.bin", "S:/a/y.bin", "S:/a/r.bin") == [""] * 3


def test_four_drives_are_looked_for_and_no_fifth(tmp_path: Path) -> None:
    put(tmp_path, {"a/r.bin": b"r"})
    message = advice(tmp_path, *(f"{drive}:/a/r.bin" for drive in "DEFGH"), "D:/a/r.bin")
    assert message[:4] == [
        ADVICE.format(f"--map-drive {shlex.quote(f'{drive}:={tmp_path}')}") for drive in "DEFG"
    ]
    assert message[4:] == ["", message[0]]


def test_where_granting_does_not_help_nothing_is_advised(tmp_path: Path) -> None:
    """Here because a part is missing."""
    put(tmp_path, {"x/r.bin.0": b"r"})
    assert advice(tmp_path, "file:///metspack-gone/x/r.bin", length=5) == [""]


def test_a_folder_that_is_there_without_the_lob_is_none_that_has_it(tmp_path: Path) -> None:
    put(tmp_path, {"a/other.bin": b"o"})
    assert advice(tmp_path, "S:/a/r.bin", "file:///a/r.bin") == ["", ""]


def test_parts_that_lie_in_the_granted_folder_itself_are_found(tmp_path: Path) -> None:
    root = put(tmp_path / "a", {"r.bin.0": b"r", "r.bin.z": b"s"})
    assert advice(root, "S:/a/r.bin", length=2) == [of_drive("S", tmp_path)]


def test_a_drive_may_be_the_root_of_all(tmp_path: Path) -> None:
    put(tmp_path, {"r.bin": b"r"})
    assert advice(tmp_path, f"S:{tmp_path}/r.bin") == [ADVICE.format("--map-drive S:=/")]
