"""Report files: the name chooses the form; each is complete or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metspack.errors import ConfigError, TargetError
from metspack.reporting.formats import SUFFIXES, open_reports
from tests.reporting.reports import holding


def write(*paths: Path, roots: tuple[Path, ...] = ()) -> None:
    with holding() as (frame, kept), open_reports(paths, roots) as write_all:
        write_all(frame, kept)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".HTML"])
def test_every_form_is_written_and_replaced_by_its_like(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report{suffix}"
    write(path)
    first = path.read_bytes()
    assert first
    path.write_bytes(first + b"\n")
    write(path)
    assert path.read_bytes() == first
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    os.umask(umask := os.umask(0))
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_report_of_that_form_stays(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    for other in (b"<?xml version='1.0'?><mets>metspack 0.1.0</mets>", b'{"name": "metspack"}', b"text"):
        path.write_bytes(other)
        with pytest.raises(TargetError, match="is not a report of this form"):
            write(path)
        assert path.read_bytes() == other
    path.write_bytes(b"")
    write(path)
    assert path.read_bytes()


def test_nothing_appears_when_the_block_fails(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept.txt", tmp_path / "new.json"
    write(kept)
    before = kept.read_bytes()
    beside: list[Path] = []

    def interrupted() -> None:
        with open_reports([kept, new]):
            beside.extend(tmp_path.iterdir())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(beside) == 3
    assert [each.name for each in tmp_path.iterdir()] == ["kept.txt"]
    assert kept.read_bytes() == before


def test_a_link_is_followed_to_the_report_it_names(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    os.symlink(tmp_path / "there" / "report.txt", tmp_path / "report.txt")
    write(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").is_symlink()
    assert (tmp_path / "there" / "report.txt").read_bytes()


@pytest.mark.parametrize("name", ["report", "report.pdf", ".html.bak", "mets.xml.gz"])
def test_a_name_that_says_no_form_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="does not say which form of report") as raised:
        write(tmp_path / name)
    assert all(suffix in raised.value.hint for suffix in SUFFIXES)


def test_one_file_is_not_written_twice(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="named twice"):
        write(tmp_path / "a.txt", tmp_path / "x" / ".." / "a.txt")


def test_no_report_is_put_into_the_package(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "below").mkdir(parents=True)
    os.symlink(package, tmp_path / "link")
    for path in (package / "r.html", package / "below" / "r.html", tmp_path / "link" / "r.html"):
        with pytest.raises(ConfigError, match="would lie in the package"):
            write(path, roots=(package,))
    write(tmp_path / "package.html", roots=(package,))


def test_what_cannot_be_written_is_reported_before_the_check(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    for path, message in (
        (tmp_path / "nowhere" / "r.txt", "No such file or directory"),
        (tmp_path / "folder.txt", "Is a directory"),
        (tmp_path / "pipe.txt", "is not a regular file but a named pipe"),
    ):
        with pytest.raises(TargetError, match=message):
            open_reports([path]).__enter__()
    assert len(list(tmp_path.iterdir())) == 2
