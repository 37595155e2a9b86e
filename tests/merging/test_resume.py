"""A merge that was stopped goes on with the same command: the bytes are those of one that was not."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

import metspack
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.building.options import PackageOptions
from metspack.errors import Interrupted, TargetError, TargetExistsError, TargetUnfinishedError
from metspack.files import journal, writing
from metspack.files.journal import StagingTerms
from metspack.merging import merge
from metspack.merging.datafiles import DataTables, DoubtfulError
from metspack.merging.merge import Merged, merge_ips
from metspack.model import Limits
from tests.conftest import CHECKOUT
from tests.killing import calls_of, events, killed, partial_of, stop_after
from tests.laws import spread
from tests.trees import tree

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=12, bytes=20_000), dialect="csip")
SOURCE = CHECKOUT / "samples" / "northwind" / "Northwind-full.siard"
FORMS = {
    "folders": OPTIONS,
    "zip": replace(OPTIONS, pack="zip"),
    "parts": replace(OPTIONS, limits=Limits(files=100, bytes=6_000)),
}
WHOLE = PackageOptions(created="2027-01-01T00:00:00Z", checksum="SHA-256", dialect="csip")


@pytest.fixture(autouse=True)
def _short_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "LONGEST", 6)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Parents with their children in each of the forms, made once; treat them as read-only."""
    place = tmp_path_factory.mktemp("made")

    def package(form: str) -> Path:
        if not (place / form).exists():
            build.build(SOURCE, place / form, FORMS[form])
        return place / form

    return package


@pytest.fixture
def out(made: Callable[[str], Path]) -> Path:
    return made("folders")


@pytest.fixture
def stopped(out: Path, tmp_path: Path) -> Path:
    """A folder with a merge that was stopped when it had copied two bundles."""
    stop_after(2, lambda: put_together(out, tmp_path / "out"))
    return tmp_path


def put_together(
    path: Path, target: Path, options: PackageOptions = WHOLE, *, jobs: int = 1, restart: bool = False
) -> Merged:
    return merge_ips([path], target, options, jobs=jobs, terms=StagingTerms(restart=restart))


@pytest.mark.parametrize(("form", "jobs"), [("folders", 2), ("zip", 1)])
def test_a_merge_killed_at_any_call_goes_on(
    form: str, jobs: int, made: Callable[[str], Path], tmp_path: Path
) -> None:
    package, gold = made(form), tmp_path / "gold"
    count = calls_of(lambda: put_together(package, gold))
    expected = tree(gold)
    for at in spread(list(range(1, count)), max(1, count // 2)):
        (folder := tmp_path / str(at)).mkdir()
        target = folder / "out"
        assert killed(partial(put_together, package, target), at)
        if not target.exists():
            put_together(package, target, jobs=jobs)
        else:
            with pytest.raises(TargetExistsError):
                put_together(package, target)
        assert tree(target) == expected, at
        assert os.listdir(folder) == ["out"], at
        shutil.rmtree(folder)


def test_nothing_is_copied_twice(stopped: Path, out: Path) -> None:
    before = [each for each in events(stopped) if each["event"] == journal.SEGMENT]
    assert [each["number"] for each in before] == [0, 1]
    data = partial_of(stopped) / "work" / "data"
    files = {path.relative_to(data): path.stat().st_ino for path in data.rglob("*") if path.is_file()}
    assert len(files) == sum(each["files"] for each in before)
    put_together(out, stopped / "out")
    (ip,) = (each for each in (stopped / "out").iterdir() if each.is_dir())
    place = ip / "representations" / "rep1" / "data"
    assert {path: (place / path).stat().st_ino for path in files} == files


@pytest.mark.parametrize("how", ["gone", "shorter", "without a list"])
def test_a_bundle_that_is_not_as_recorded_is_copied_again(how: str, stopped: Path, out: Path) -> None:
    put_together(out, stopped / "gold")
    work = partial_of(stopped) / "work"
    path = min(each for each in (work / "data").rglob("*") if each.is_file())
    if how == "gone":
        path.unlink()
    elif how == "shorter":
        path.write_bytes(path.read_bytes()[1:])
    else:
        (work / "placed-1.jsonl").unlink()
    put_together(out, stopped / "out")
    assert tree(stopped / "out") == tree(stopped / "gold")


def test_a_file_that_nobody_copied_is_found(stopped: Path, out: Path) -> None:
    (partial_of(stopped) / "work" / "data" / "mine.bin").write_bytes(b"mine")
    with pytest.raises(TargetUnfinishedError, match=r"data has \d+ files, expected \d+"):
        put_together(out, stopped / "out")
    put_together(out, stopped / "out", restart=True)
    assert os.listdir(stopped) == ["out"]


def test_files_that_are_looked_at_one_by_one_are_not_copied_again(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_together(out, tmp_path / "gold")

    def doubting(tables: DataTables) -> None:
        if tables.are_together:
            raise DoubtfulError

    monkeypatch.setattr(DataTables, "check_once", doubting)
    target = tmp_path / "out"
    stop_after(2, lambda: put_together(out, target))
    assert len([each for each in events(tmp_path) if each["event"] == "one by one"]) == 1
    monkeypatch.setattr(DataTables, "check_once", lambda _: pytest.fail("looked at together again"))
    put_together(out, target)
    assert tree(target) == tree(tmp_path / "gold")


def test_other_options_and_packages_are_refused_with_what_differs(
    stopped: Path, out: Path, made: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(stopped)

    def refused(package: Path, options: PackageOptions) -> str:
        with pytest.raises(TargetUnfinishedError) as caught:
            put_together(package, stopped / "out", options)
        assert "--restart" in caught.value.hint
        assert tree(stopped) == before
        return caught.value.message

    assert "objid: none then, other now" in refused(out, replace(WHOLE, objid="other"))
    assert "the same: source: " in refused(made("parts"), WHOLE)
    monkeypatch.setattr(journal, "__version__", "99")
    assert "version of metspack" in refused(out, WHOLE)


def test_an_interruption_and_a_full_disk_keep_what_is_done(out: Path, tmp_path: Path) -> None:
    def interrupt() -> NoReturn:
        raise Interrupted(2)

    def full() -> NoReturn:
        with writing.explained(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "No space left on device")
        raise AssertionError

    caught = stop_after(2, lambda: put_together(out, tmp_path / "out"), interrupt)
    assert isinstance(caught, Interrupted)
    assert caught.kept.endswith("out.partial keeps what is done: 2 stretches")
    again = stop_after(1, lambda: put_together(out, tmp_path / "out"), full)
    assert isinstance(again, TargetError)
    assert "keeps what is done: 3 stretches" in again.hint
    found = metspack.status(tmp_path / "out.partial")
    assert (found.state, found.command, found.segments_done) == ("stopped", "merge", 3)
    assert found.bytes is not None
    assert 0 < found.bytes_done < found.bytes
    put_together(out, tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]
