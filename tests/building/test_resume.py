"""A build that was stopped goes on with the same command: the bytes are those of one that was not."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

import metspack
from metspack import BuildOptions, Limits, processes
from metspack.building import build
from metspack.building.convert import convert_package
from metspack.errors import Interrupted, TargetError, TargetExistsError, TargetUnfinishedError
from metspack.files import journal, writing
from metspack.files.journal import StagingTerms
from tests import siards
from tests.killing import calls_of, events, killed, partial_of, stop_after
from tests.laws import spread
from tests.siards import Lob
from tests.trees import put, tree

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=12, bytes=20_000))
FORMS = {
    "recommendation": OPTIONS,
    "csip tar": replace(OPTIONS, dialect="csip", pack="tar"),
    "siard22": replace(OPTIONS, layout="siard22", add_digests=True),
    "two processes": replace(OPTIONS, jobs=2),
}


@pytest.fixture
def stopped(northwind_full: Path, tmp_path: Path) -> Path:
    """A folder with a build that was stopped when it had placed two segments."""
    stop_after(2, lambda: build.build(northwind_full, tmp_path / "out", OPTIONS))
    return tmp_path


@pytest.mark.parametrize("form", FORMS)
def test_a_build_killed_at_any_call_resumes(form: str, northwind_full: Path, tmp_path: Path) -> None:
    # Four segments: more of them have more calls, but no other ones.
    several = replace(FORMS[form], limits=Limits(files=20, bytes=80_000))
    options = replace(several, jobs=1)
    gold = tmp_path / "gold"
    build.build(northwind_full, gold, options)
    count = calls_of(lambda: build.build(northwind_full, tmp_path / "counted", options))  # none only once
    expected = tree(gold)
    points = spread(list(range(1, count)), max(1, count // 6))
    for at in points:
        (folder := tmp_path / str(at)).mkdir()
        target = folder / "out"
        assert killed(partial(build.build, northwind_full, target, options), at)
        if not target.exists():
            build.build(northwind_full, target, several)
        else:
            with pytest.raises(TargetExistsError):
                build.build(northwind_full, target, options)
        assert tree(target) == expected, at
        assert os.listdir(folder) == ["out"], at
        shutil.rmtree(folder)


def test_a_build_stopped_repeatedly_resumes(northwind_full: Path, tmp_path: Path) -> None:
    build.build(northwind_full, tmp_path / "gold", OPTIONS)
    made = tmp_path / "out"
    while not made.exists():
        stop_after(1, lambda: build.build(northwind_full, made, OPTIONS))
    assert tree(made) == tree(tmp_path / "gold")


class _Eager(processes.Underway[Any, Any]):
    """Work of several processes that is done in this one, as soon as there are tasks."""

    def submit_more(self) -> None:
        self._done = [*getattr(self, "_done", ()), *(self._work(task, self._moved) for task in self._tasks)]

    def results(self) -> Generator[Any, None, None]:
        yield from self._done
        yield from super().results()


def test_a_changed_folder_is_placed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier run was stopped while it planned; since then files changed and were removed."""
    folder = tmp_path / "A" / "content" / "schema0" / "table0" / "lob2"
    put(folder, {f"record{number}.bin": b"%d" % number for number in range(24)})
    options = replace(OPTIONS, limits=Limits(files=3), jobs=2)
    monkeypatch.setattr(processes, "are_many", bool)
    monkeypatch.setattr(
        processes.Executor,
        "begin",
        lambda _self, work, tasks, _jobs, moved, **_: _Eager(work, iter(tasks), moved),
    )
    stop_after(6, lambda: build.build(tmp_path / "A", tmp_path / "out", options))
    assert [each["event"] for each in events(tmp_path)].count(journal.STRETCH) == 6
    (folder / "record0.bin").write_bytes(b"changed")
    (folder / "record4.bin").unlink()
    for number in range(9, 24):
        (folder / f"record{number}.bin").unlink()
    build.build(tmp_path / "A", tmp_path / "gold", options)
    build.build(tmp_path / "A", tmp_path / "out", options)
    assert tree(tmp_path / "out") == tree(tmp_path / "gold")


def test_nothing_is_placed_twice(stopped: Path, northwind_full: Path) -> None:
    before = {each["number"] for each in events(stopped) if each["event"] == journal.SEGMENT}
    assert len(before) == 2
    package = partial_of(stopped) / "package"
    files = {path: path.stat().st_ino for path in package.rglob("*") if path.is_file()}
    built = metspack.build(northwind_full, stopped / "out", OPTIONS)
    assert built.segments > 2
    moved = {stopped / "out" / path.relative_to(package): files[path] for path in files}
    assert {path: path.stat().st_ino for path in moved} == moved


def test_the_parts_of_a_large_lob_are_kept(northwind_full: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, limits=Limits(files=100, bytes=5_000))
    build.build(northwind_full, tmp_path / "gold", options)
    for segments in (1, 6):
        target = tmp_path / str(segments) / "out"
        target.parent.mkdir()
        stop_after(segments, partial(build.build, northwind_full, target, options))
        kept = {each["number"] for each in events(target.parent) if each["event"] == journal.SEGMENT}
        assert len(kept) == segments
        build.build(northwind_full, target, options)
        assert tree(target) == tree(tmp_path / "gold")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            replace(OPTIONS, limits=Limits(files=5, bytes=20_000)),
            "limits: bytes=20000, files=12 then, bytes=20000, files=5 now",
        ),
        (replace(OPTIONS, dialect="csip"), "dialect: recommendation then, csip now"),
    ],
)
def test_other_options(stopped: Path, northwind_full: Path, options: BuildOptions, words: str) -> None:
    before = tree(stopped)
    with pytest.raises(TargetUnfinishedError) as caught:
        metspack.build(northwind_full, stopped / "out", options)
    assert words in caught.value.message
    assert "--restart" in caught.value.hint
    assert tree(stopped) == before
    metspack.build(northwind_full, stopped / "out", options, restart=True)
    assert os.listdir(stopped) == ["out"]


def test_another_source_and_version_are_refused(
    stopped: Path, northwind: Path, northwind_full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TargetUnfinishedError, match=r"not the same: source: "):
        metspack.build(northwind, stopped / "out", OPTIONS)
    monkeypatch.setattr(journal, "__version__", "99")
    with pytest.raises(TargetUnfinishedError, match=r"version of metspack: .* then, 99 now"):
        metspack.build(northwind_full, stopped / "out", OPTIONS)


def test_the_clock_of_the_first_run_is_kept(northwind_full: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, created="")
    first, later = (replace(options, created=f"2026-05-0{day}T12:00:00Z") for day in (1, 2))
    build.build(northwind_full, tmp_path / "gold", first)
    stop_after(1, lambda: build.build(northwind_full, tmp_path / "out", first))
    build.build(northwind_full, tmp_path / "out", later)
    assert tree(tmp_path / "out") == tree(tmp_path / "gold")


@pytest.mark.parametrize("how", ["torn", "cut", "forged", "damaged"])
def test_a_torn_line_and_a_damaged_one_resumed(stopped: Path, northwind_full: Path, how: str) -> None:
    path = journal.journal_of(partial_of(stopped))
    lines = path.read_bytes().splitlines(keepends=True)
    if how == "torn":
        path.write_bytes(b"".join(lines) + lines[-1][:20])
    elif how == "cut":
        path.write_bytes(b"".join(lines)[:-5])
    else:
        at = next(number for number, each in enumerate(lines) if b'"segment"' in each)
        event = json.loads(lines[at])
        event["bytes"] += 1
        forged = (json.dumps(event, sort_keys=True) + "\n").encode()
        lines[at] = forged if how == "forged" else b"\0" * 9 + b"\n"
        path.write_bytes(b"".join(lines))
        with pytest.raises(TargetUnfinishedError, match=rf"line {at + 1} is damaged") as caught:
            metspack.build(northwind_full, stopped / "out", OPTIONS)
        assert "--restart" in caught.value.hint
        metspack.build(northwind_full, stopped / "out", OPTIONS, restart=True)
    if how in {"torn", "cut"}:
        metspack.build(northwind_full, stopped / "out", OPTIONS)
    build.build(northwind_full, stopped / "gold", OPTIONS)
    assert tree(stopped / "out") == tree(stopped / "gold")


def test_the_plan_is_made_again_whatever_is_left_of_it(stopped: Path, northwind_full: Path) -> None:
    with open(partial_of(stopped) / "work" / "slice-3.jsonl", "ab") as file:
        file.write(b"\n")
    metspack.build(northwind_full, stopped / "out", OPTIONS)
    build.build(northwind_full, stopped / "gold", OPTIONS)
    assert tree(stopped / "out") == tree(stopped / "gold")


@pytest.mark.parametrize("changes", [False, True])
def test_other_lobs_another_archive(changes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that get digests have those of the files that lie there when the run goes on."""
    lobs = []
    for number in range(9):
        (tmp_path / f"lob{number}.bin").write_bytes(b"%d" % number)
        lobs.append(Lob(data=b"", file=f"../lob{number}.bin", entry=None, attributes=""))
    source = siards.packed(tmp_path / "a.siard", siards.parts(lobs))
    options = replace(OPTIONS, limits=Limits(files=3), add_digests=True, checksum="SHA-512")

    def stop(*_: object) -> NoReturn:
        raise Interrupted(15)

    (target := tmp_path / "made").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(build.BuildWork, "_describe", stop)
        with pytest.raises(Interrupted):
            build.build(source, target / "out", options)
    before = (partial_of(target) / "package" / "a.siard").stat().st_ino
    if changes:
        (tmp_path / "lob4.bin").write_bytes(b"x")
    build.build(source, target / "out", options)
    build.build(source, tmp_path / "gold", options)
    assert tree(target / "out") == tree(tmp_path / "gold")
    assert ((target / "out" / "a.siard").stat().st_ino == before) is not changes


def test_a_segment_whose_mets_is_gone_is_placed_again(stopped: Path, northwind_full: Path) -> None:
    build.build(northwind_full, stopped / "gold", OPTIONS)
    mets = min((partial_of(stopped) / "package").glob("*/mets.xml"))
    mets.unlink()
    metspack.build(northwind_full, stopped / "out", OPTIONS)
    assert tree(stopped / "out") == tree(stopped / "gold")


def test_two_runs_at_once_do_not_meet(stopped: Path, northwind_full: Path) -> None:
    held = writing.RunJournal(journal.journal_of(partial_of(stopped)))
    for restart in (False, True):
        with pytest.raises(TargetError, match=rf"another run .*process {os.getpid()}") as caught:
            metspack.build(northwind_full, stopped / "out", OPTIONS, restart=restart)
        assert not isinstance(caught.value, TargetExistsError)
    found = metspack.status(stopped / "out")
    assert (found.state, found.pid) == ("running", os.getpid())
    held.close()
    assert metspack.status(stopped / "out").state == "stopped"


def test_a_foreign_partial_folder_is_left(northwind: Path, tmp_path: Path) -> None:
    partial_of(tmp_path).mkdir()
    (partial_of(tmp_path) / "mine").write_bytes(b"mine")
    for restart in (False, True):
        with pytest.raises(TargetExistsError, match="its origin is unknown"):
            metspack.build(northwind, tmp_path / "out", OPTIONS, restart=restart)
    assert tree(partial_of(tmp_path)) == {"mine": b"mine"}


def test_an_interruption_says_what_is_kept(northwind_full: Path, tmp_path: Path) -> None:
    terms = StagingTerms(command="metspack build A -o out")
    real = writing.record_event

    def recording(path: Path, event: Any) -> None:
        real(path, event)
        raise Interrupted(15)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(writing, "record_event", recording)
        with pytest.raises(Interrupted) as caught:
            build.build(northwind_full, tmp_path / "out", replace(OPTIONS, terms=terms))
    assert "out.partial keeps what is done: the plan, and 1 of " in caught.value.kept
    assert "run the same command again: metspack build A -o out" in caught.value.hint
    found = metspack.status(tmp_path / "out.partial")
    assert (found.state, found.command, found.segments_done) == ("stopped", "build", 1)
    assert found.resume == "metspack build A -o out"
    assert found.bytes is not None
    assert 0 < found.bytes_done < found.bytes


def test_a_full_disk_keeps_what_is_done(northwind_full: Path, tmp_path: Path) -> None:
    def full() -> NoReturn:
        with writing.explained(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "No space left on device")
        raise AssertionError

    stop_after(2, lambda: build.build(northwind_full, tmp_path / "out", OPTIONS), full)
    assert metspack.status(tmp_path / "out").segments_done == 2
    build.build(northwind_full, tmp_path / "out", OPTIONS)
    assert os.listdir(tmp_path) == ["out"]


def test_a_conversion_resumes(northwind_full: Path, tmp_path: Path) -> None:
    build.build(northwind_full, tmp_path / "made", OPTIONS)
    other = replace(OPTIONS, limits=Limits(files=7, bytes=9_000), dialect="csip")
    convert_package(tmp_path / "made", tmp_path / "gold", other)
    stop_after(2, lambda: convert_package(tmp_path / "made", tmp_path / "out", other))
    with pytest.raises(TargetUnfinishedError, match="command: metspack convert then, metspack build now"):
        build.build(northwind_full, tmp_path / "out", other)
    convert_package(tmp_path / "made", tmp_path / "out", other)
    assert tree(tmp_path / "out") == tree(tmp_path / "gold")
