"""The lines that findings point at: as parsers count them, shortened, and only from within the package."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Code
from metspack.reporting.store import LONGEST, Excerpts


def lines(root: Path | None, *wanted: tuple[str, int]) -> list[str | None]:
    findings = [Code.NO_OBJID.at(path, line) for path, line in wanted]
    with Excerpts({} if root is None else {"": root}) as found:
        found.want(findings)
        found.read()
        return [found.of(each) for each in findings]


def test_lines_of_several_files_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mets.xml").write_bytes(b"one\ntwo\nthree")
    (tmp_path / "mets.xml").write_bytes(b"eins\nzwei\n\n")
    wanted = [("mets.xml", 2), ("a/mets.xml", 3), ("a/mets.xml", 1), ("mets.xml", 2), ("mets.xml", 3)]
    assert lines(tmp_path, *wanted) == ["zwei", "three", "one", "zwei", ""]
    assert lines(tmp_path, ("mets.xml", 0), ("mets.xml", 9), ("a/mets.xml", 4)) == [None] * 3


@given(st.text(alphabet="ab\r\nä", max_size=40), st.integers(1, 5))
def test_lines_end_where_parsers_have_them_end(text: str, block: int) -> None:
    ends = re.split("\r\n|\r|\n", text)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("metspack.files.reading.BLOCK", block)
        (Path(folder) / "x").write_bytes(text.encode())
        wanted = [("x", number) for number in range(1, len(ends) + 1)]
        # What is empty after the last line end is no line.
        assert lines(Path(folder), *wanted) == [*ends[:-1], ends[-1] or None]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    (tmp_path / "x").write_bytes(mark + "ä\nö€\n".encode(encoding))
    assert lines(tmp_path, ("x", 1), ("x", 2)) == ["ä", "ö€"]


def test_long_lines_and_wrong_bytes_are_taken_as_far_as_they_go(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\n" + b"y" * 3_000_000 + b"\nz" + b"w" * (LONGEST - 1))
    first, second, third = lines(tmp_path, ("x", 1), ("x", 2), ("x", 3))
    assert first == "�"
    assert second == "y" * LONGEST + "…"
    assert third == "z" + "w" * (LONGEST - 1)


def test_nothing_is_read_that_is_no_file_below_the_root(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (tmp_path / "secret").write_bytes(b"secret\n")
    os.symlink(tmp_path / "secret", package / "link")
    os.mkfifo(package / "pipe")
    wanted = [("../secret", 1), ("link", 1), ("pipe", 1), ("", 1), (".", 1), (str(tmp_path / "secret"), 1)]
    assert lines(package, *wanted) == [None] * len(wanted)
    assert lines(None, ("x", 1)) == [None]
