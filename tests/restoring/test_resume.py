"""A restore that was stopped goes on with the same command: the bytes are those of one that was not."""

from __future__ import annotations

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
from metspack.errors import Interrupted, TargetExistsError, TargetUnfinishedError
from metspack.files import journal
from metspack.files.journal import StagingTerms
from metspack.model import Limits
from metspack.restoring import files as restoring_files
from metspack.restoring.files import RestoreOptions, restore_files
from tests.conftest import CHECKOUT
from tests.killing import calls_of, events, killed, partial_of, stop_after
from tests.laws import spread
from tests.trees import tree

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=12, bytes=20_000))
SOURCE = CHECKOUT / "samples" / "northwind" / "Northwind-full.siard"
FORMS = {
    "folders": OPTIONS,
    "tar": replace(OPTIONS, dialect="csip", pack="tar"),
    "parts": replace(OPTIONS, limits=Limits(files=100, bytes=3_000)),
}


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring_files, "_FILES_AT_ONCE", 6)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Packages in each of the forms, made once; treat them as read-only."""
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
    """A folder with a restore that was stopped when it had written two slices."""
    stop_after(2, lambda: restore_files(out, tmp_path / "out"))
    return tmp_path


@pytest.mark.parametrize(("form", "jobs"), [("folders", 2), ("tar", 1)])
def test_a_restore_killed_at_any_call_goes_on(
    form: str, jobs: int, made: Callable[[str], Path], tmp_path: Path
) -> None:
    package, gold = made(form), tmp_path / "gold"
    count = calls_of(lambda: restore_files(package, gold, RestoreOptions(jobs=1)))
    expected = tree(gold)
    for at in spread(list(range(1, count)), max(1, count // (3 if jobs > 1 else 5))):
        (folder := tmp_path / str(at)).mkdir()
        target = folder / "out"
        assert killed(partial(restore_files, package, target, RestoreOptions(jobs=1)), at)
        if not target.exists():
            restore_files(package, target, RestoreOptions(jobs=jobs))
        else:
            with pytest.raises(TargetExistsError):
                restore_files(package, target)
        assert tree(target) == expected, at
        assert os.listdir(folder) == ["out"], at
        shutil.rmtree(folder)


def test_nothing_is_written_twice(stopped: Path, out: Path) -> None:
    before = [each for each in events(stopped) if each["event"] == journal.SEGMENT]
    assert [each["number"] for each in before] == [0, 1]
    package = partial_of(stopped) / "package"
    files = {path.relative_to(package): path.stat().st_ino for path in package.rglob("*") if path.is_file()}
    assert len(files) == sum(each["files"] for each in before)
    restored = restore_files(out, stopped / "out")
    assert restored.lobs > len(files)
    assert {path: (stopped / "out" / path).stat().st_ino for path in files} == files


@pytest.mark.parametrize("how", ["gone", "shorter", "without lines"])
def test_a_slice_that_is_not_as_recorded_is_written_again(how: str, stopped: Path, out: Path) -> None:
    restore_files(out, stopped / "gold")
    path = min(each for each in (partial_of(stopped) / "package").rglob("*") if each.is_file())
    if how == "gone":
        path.unlink()
    elif how == "shorter":
        path.write_bytes(path.read_bytes()[1:])
    else:
        (partial_of(stopped) / "work" / "manifest-1.MD5").unlink()
    restore_files(out, stopped / "out")
    assert tree(stopped / "out") == tree(stopped / "gold")


def test_a_file_that_nobody_wrote_is_found(stopped: Path, out: Path) -> None:
    (partial_of(stopped) / "package" / "content" / "schema0" / "mine.bin").write_bytes(b"mine")
    with pytest.raises(TargetUnfinishedError, match=r"content has \d+ files, expected \d+") as caught:
        restore_files(out, stopped / "out")
    assert "--restart" in caught.value.hint
    restore_files(out, stopped / "out", terms=StagingTerms(restart=True))
    assert os.listdir(stopped) == ["out"]


def test_other_options_and_packages_are_refused_with_what_differs(
    stopped: Path, out: Path, made: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(stopped)

    def refused(package: Path, options: RestoreOptions) -> str:
        with pytest.raises(TargetUnfinishedError) as caught:
            restore_files(package, stopped / "out", options)
        assert "--restart" in caught.value.hint
        assert tree(stopped) == before
        return caught.value.message

    assert "only: none then, s0.t2 now" in refused(out, RestoreOptions(only=("s0.t2",)))
    assert "accepted: none then, part-digest now" in refused(
        out, RestoreOptions(accepted=frozenset({"part-digest"}))
    )
    assert "the same: package: " in refused(made("parts"), RestoreOptions())
    with pytest.raises(TargetUnfinishedError, match="form: files then, archive, inside now"):
        metspack.restore_siard(out, stopped / "out")
    assert tree(stopped) == before
    monkeypatch.setattr(journal, "__version__", "99")
    assert "version of metspack" in refused(out, RestoreOptions())
    metspack.restore(out, stopped / "out", RestoreOptions(only=("s0.t2",)), restart=True)
    assert os.listdir(stopped) == ["out"]


def test_an_interruption_says_what_is_kept(out: Path, tmp_path: Path) -> None:
    terms = StagingTerms(command="metspack restore A -o out")

    def interrupt() -> NoReturn:
        raise Interrupted(2)

    caught = stop_after(
        2, lambda: restore_files(out, tmp_path / "out", RestoreOptions(jobs=1), terms=terms), interrupt
    )
    assert isinstance(caught, Interrupted)
    assert "out.partial keeps what is done: 2 of " in caught.kept
    assert caught.kept.endswith(" stretches")
    assert "run the same command again: metspack restore A -o out" in caught.hint
    found = metspack.status(tmp_path / "out.partial")
    assert (found.state, found.command, found.segments_done) == ("stopped", "restore", 2)
    assert "stretches: 2 of " in "\n".join(found.words())


def test_nothing_is_kept_when_nobody_wants_it_or_nothing_is_done(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = StagingTerms(discards=True)
    stop_after(2, lambda: restore_files(out, tmp_path / "out", terms=terms))
    assert os.listdir(tmp_path) == []

    def interrupt(*_: object, **__: object) -> NoReturn:
        raise Interrupted(15)

    monkeypatch.setattr(restoring_files, "_write_lobs", interrupt)
    with pytest.raises(Interrupted):
        restore_files(out, tmp_path / "out")
    assert os.listdir(tmp_path) == []
