"""A restore or merge that was stopped goes on with the same command, to the same bytes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

import metspack
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.building.options import PackageOptions
from metspack.errors import Interrupted, TargetExistsError, TargetUnfinishedError
from metspack.files import journal
from metspack.files.journal import StagingTerms
from metspack.limits import Limits
from metspack.merging import merge
from metspack.merging.merge import Merged, merge_ips
from metspack.restoring import files as restoring_files
from metspack.restoring.files import Restored, RestoreOptions, restore_files
from tests.conftest import CHECKOUT
from tests.killing import calls_of, events, killed, partial_of, stop_after
from tests.laws import spread
from tests.trees import tree

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=12, bytes=20_000))
SOURCE = CHECKOUT / "samples" / "northwind" / "Northwind-full.siard"
WHOLE = PackageOptions(created="2027-01-01T00:00:00Z", checksum="SHA-256", dialect="csip")
NOW = StagingTerms()


def restored(
    package: Path, target: Path, *, jobs: int = 1, terms: StagingTerms = NOW, **changed: Any
) -> Restored:
    return restore_files(package, target, RestoreOptions(jobs=jobs, **changed), terms=terms)


def merged(
    package: Path, target: Path, *, jobs: int = 1, terms: StagingTerms = NOW, **changed: Any
) -> Merged:
    return merge_ips([package], target, replace(WHOLE, **changed), jobs=jobs, terms=terms)


@dataclass(frozen=True, kw_only=True)
class Work:
    """A command: from what, where its files lie until its end, and which file lists those of a stretch."""

    name: str
    run: Callable[..., Restored | Merged]
    forms: Mapping[str, BuildOptions]
    files: str
    listed: str
    other: Mapping[str, object]
    differing: tuple[str, str]


CSIP = replace(OPTIONS, dialect="csip")
RESTORE = Work(
    name="restore",
    run=restored,
    forms={"folders": OPTIONS, "packed": replace(CSIP, pack="tar")},
    files="package",
    listed="manifest-1.MD5",
    other={"only": ("s0.t2",)},
    differing=("only: none then, s0.t2 now", "package"),
)
MERGE = Work(
    name="merge",
    run=merged,
    forms={"folders": CSIP, "packed": replace(CSIP, pack="zip")},
    files="work/data",
    listed="placed-1.jsonl",
    other={"objid": "other"},
    differing=("objid: none then, other now", "source"),
)


@pytest.fixture(autouse=True)
def _short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring_files, "_FILES_AT_ONCE", 6)
    monkeypatch.setattr(merge, "LONGEST", 6)


@pytest.fixture(scope="module", params=[RESTORE, MERGE], ids=lambda each: each.name)
def work(request: pytest.FixtureRequest) -> Work:
    found: Work = request.param
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, work: Work) -> Callable[[str], Path]:
    """Packages in each of the forms, made once; treat them as read-only."""
    place = tmp_path_factory.mktemp("made")

    def package(form: str) -> Path:
        if not (place / form).exists():
            build.build(SOURCE, place / form, work.forms[form])
        return place / form

    return package


@pytest.fixture
def out(made: Callable[[str], Path]) -> Path:
    return made("folders")


@pytest.fixture
def stopped(out: Path, work: Work, tmp_path: Path) -> Path:
    """A folder with a command that was stopped when two stretches were recorded."""
    stop_after(2, lambda: work.run(out, tmp_path / "out"))
    return tmp_path


@pytest.mark.parametrize(("form", "jobs"), [("folders", 2), ("packed", 1)])
def test_any_kill(form: str, jobs: int, work: Work, made: Callable[[str], Path], tmp_path: Path) -> None:
    package, gold = made(form), tmp_path / "gold"
    count = calls_of(lambda: work.run(package, gold))
    expected = tree(gold)
    for at in spread(list(range(1, count)), max(1, count // 3)):
        (folder := tmp_path / str(at)).mkdir()
        target = folder / "out"
        assert killed(partial(work.run, package, target), at)
        if not target.exists():
            work.run(package, target, jobs=jobs)
        else:
            with pytest.raises(TargetExistsError):
                work.run(package, target)
        assert tree(target) == expected, at
        assert os.listdir(folder) == ["out"], at
        shutil.rmtree(folder)


def test_nothing_is_written_twice(work: Work, stopped: Path, out: Path) -> None:
    before = [each for each in events(stopped) if each["event"] == journal.SEGMENT]
    assert [each["number"] for each in before] == [0, 1]
    data = partial_of(stopped) / work.files
    files = {path.relative_to(data): path.stat().st_ino for path in data.rglob("*") if path.is_file()}
    assert len(files) == sum(each["files"] for each in before)
    work.run(out, stopped / "out")
    place = stopped / "out"
    if work is MERGE:
        (ip,) = (each for each in place.iterdir() if each.is_dir())
        place = ip / "representations" / "rep1" / "data"
    assert {path: (place / path).stat().st_ino for path in files} == files


@pytest.mark.parametrize("how", ["gone", "shorter", "without a list"])
def test_a_changed_stretch_is_written_again(how: str, work: Work, stopped: Path, out: Path) -> None:
    work.run(out, stopped / "gold")
    path = min(each for each in (partial_of(stopped) / work.files).rglob("*") if each.is_file())
    if how == "gone":
        path.unlink()
    elif how == "shorter":
        path.write_bytes(path.read_bytes()[1:])
    else:
        (partial_of(stopped) / "work" / work.listed).unlink()
    work.run(out, stopped / "out")
    assert tree(stopped / "out") == tree(stopped / "gold")


def test_a_file_that_nobody_wrote_is_found(work: Work, stopped: Path, out: Path) -> None:
    folder = min(each for each in (partial_of(stopped) / work.files).rglob("*") if each.is_file()).parent
    (folder / "mine.bin").write_bytes(b"mine")
    with pytest.raises(TargetUnfinishedError, match=r"has \d+ files, expected \d+") as caught:
        work.run(out, stopped / "out")
    assert "--restart" in caught.value.hint
    work.run(out, stopped / "out", terms=StagingTerms(restart=True))
    assert os.listdir(stopped) == ["out"]


def test_other_options_and_packages_are_refused_with_what_differs(
    work: Work, stopped: Path, out: Path, made: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(stopped)

    def refused(package: Path, **changed: object) -> str:
        with pytest.raises(TargetUnfinishedError) as caught:
            work.run(package, stopped / "out", **changed)
        assert "--restart" in caught.value.hint
        assert tree(stopped) == before
        return caught.value.message

    option, source = work.differing
    assert option in refused(out, **work.other)
    assert f"the same: {source}: " in refused(made("packed"))
    if work is RESTORE:
        with pytest.raises(TargetUnfinishedError, match="form: files then, archive, inside now"):
            metspack.restore_siard(out, stopped / "out")
    monkeypatch.setattr(journal, "__version__", "99")
    assert "version of metspack" in refused(out)


def test_an_interruption_says_what_is_kept(work: Work, out: Path, tmp_path: Path) -> None:
    terms = StagingTerms(command="metspack again")

    def interrupt() -> NoReturn:
        raise Interrupted(2)

    caught = stop_after(2, lambda: work.run(out, tmp_path / "out", terms=terms), interrupt)
    assert isinstance(caught, Interrupted)
    assert "out.partial keeps what is done: 2 " in caught.kept
    assert caught.kept.endswith(" stretches")
    assert "run the same command again: metspack again" in caught.hint
    found = metspack.status(tmp_path / "out.partial")
    assert (found.state, found.command, found.segments_done) == ("stopped", work.name, 2)
    assert "stretches: 2" in "\n".join(found.words())


def test_an_interrupted_run_is_discarded(work: Work, out: Path, tmp_path: Path) -> None:
    stop_after(2, lambda: work.run(out, tmp_path / "out", terms=StagingTerms(discards=True)))
    assert os.listdir(tmp_path) == []
