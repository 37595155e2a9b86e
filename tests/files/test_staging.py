"""Commands compute the space that they need before they copy, and it is enough."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from metspack.building import build, convert, inplace
from metspack.errors import Interrupted, TargetError
from metspack.files import writing
from metspack.files.journal import RunFacts, StagingTerms
from metspack.files.staging import Partial, Staging, are_there, stage
from metspack.limits import Limits
from metspack.merging.merge import merge_ips
from metspack.restoring.files import restore_files
from metspack.restoring.siard import Into, restore_archive
from tests import segmented_folders, siards
from tests.trees import names, put_in_the_way

Command = Callable[[], object]
RUN = RunFacts(command="build")


CONTENTS = tuple(bytes([number]) * (number * 40 % 260) for number in range(9))
OPTIONS = build.BuildOptions(created="2024-05-06T07:08:09Z", limits=Limits(files=3, bytes=100))
DIVIDED = {"csip": "SHA-256", "recommendation": "MD5"}


def options(dialect: str, **changes: object) -> build.BuildOptions:
    return replace(OPTIONS, dialect=dialect, checksum=DIVIDED[dialect], **changes)  # type: ignore[arg-type]


def building_one(place: Path, dialect: str, **changes: object) -> Command:
    source = siards.siard(place / "First.siard", *CONTENTS)
    return lambda: build.build(source, place / "out", options(dialect, **changes))


def packaged(place: Path, dialect: str) -> Path:
    building_one(place, dialect)()
    return place / "out"


def converting_one(place: Path) -> Command:
    made = packaged(place, "recommendation")
    return lambda: convert.convert_package(made, place / "other", options("csip"))


def merging_one(place: Path) -> Command:
    made = packaged(place, "csip")
    return lambda: merge_ips([made], place / "whole", options("csip"))


def restoring_one(place: Path, into: Into | None) -> Command:
    made = packaged(place, "recommendation")
    if into is None:
        return lambda: restore_files(made, place / "files")
    return lambda: restore_archive(made, place / "folder", into)


def describing_one(place: Path, pictures: list[bytes]) -> Command:
    (place / "in").mkdir()
    folder = segmented_folders.dbptk_21(place / "in", pictures)
    return lambda: inplace.describe_in_place(folder, options("recommendation"))


@pytest.fixture(
    params=["build csip", "build packed", "convert", "merge", "restore inside", "restore files", "in place"]
)
def command(request: pytest.FixtureRequest, tmp_path: Path, northwind: Path) -> Command:
    """Each command that writes much, on a package of many small LOBs."""
    place = tmp_path / "place"
    place.mkdir()
    made: dict[str, Callable[[], Command]] = {
        "build csip": lambda: building_one(place, "csip"),
        "build packed": lambda: building_one(place, "csip", pack="zip"),
        "convert": lambda: converting_one(place),
        "merge": lambda: merging_one(place),
        "restore files": lambda: restoring_one(place, None),
        "restore inside": lambda: restoring_one(place, Into.INSIDE),
        "in place": lambda: describing_one(place, segmented_folders.pictures(northwind)),
    }
    return made[request.param]()


def without(room: os.statvfs_result, what: int) -> os.statvfs_result:
    """Return the status of a file system where one of the values is 0."""
    return os.statvfs_result((*room[:what], 0, *room[what + 1 :]))


def needed(command: Command, monkeypatch: pytest.MonkeyPatch, what: int, words: str) -> int:
    """Return the space that a command requires on a full disk."""
    with monkeypatch.context() as patched:
        patched.setattr(Partial, "room", lambda staging: without(os.statvfs(staging.root), what))
        with pytest.raises(TargetError, match=words) as caught:
            command()
    assert caught.value.hint
    found = re.search(r"needed ([0-9,]+)( bytes)?, free 0$", caught.value.message)
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.slow
def test_the_room_is_enough(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names(tmp_path / "place")
    files = needed(command, monkeypatch, 7, "^not enough free inodes at ")
    size = needed(command, monkeypatch, 4, "^not enough free space at ")
    assert names(tmp_path / "place") == before
    sync_tree, used = writing.sync_tree, list[tuple[int, int]]()

    def counting(path: Path) -> None:
        root = next(each for each in (path, *path.parents) if each.name.endswith(".partial"))
        found = [root, *root.rglob("*")]
        block = 4096
        used.append((len(found), sum(-(-each.lstat().st_size // block) * block for each in found)))
        sync_tree(path)

    monkeypatch.setattr(writing, "sync_tree", counting)
    command()
    assert used[0][0] <= files
    assert used[0][1] <= size


# --- staging ------------------------------------------------------------------------------------------


def test_a_package_is_published_by_one_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed: list[list[Path]] = []
    rename = os.rename

    def noted(*names: str, **folders: Any) -> None:
        above = (Path(os.readlink(f"/proc/self/fd/{each}")) for each in folders.values())
        renamed.append([place / name for place, name in zip(above, names, strict=True)])
        rename(*names, **folders)

    monkeypatch.setattr(os, "rename", noted)
    staging = Staging(tmp_path / "out", RUN)
    (staging.package / "mets.xml").write_bytes(b"<mets/>")
    (staging.work / "slice").write_bytes(b"")
    staging.journal.record(event="begin")
    assert staging.room().f_bavail > 0
    assert not staging.target.exists()
    inode = staging.package.stat().st_ino
    staging.publish()
    assert renamed == [[staging.package, staging.target]]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").stat().st_ino == inode
    assert (tmp_path / "out" / "mets.xml").read_bytes() == b"<mets/>"


@pytest.mark.parametrize(("terms", "is_file"), [(StagingTerms(), True), (StagingTerms(discards=True), False)])
@pytest.mark.parametrize("at", range(5))
def test_an_interruption_behind_the_rename_leaves_the_target_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terms: StagingTerms, at: int, *, is_file: bool
) -> None:
    calls = iter(range(100))

    def interrupting(function: Callable[..., None]) -> Callable[..., None]:
        def interrupted(*given: Path) -> None:
            function(*given)
            if next(calls) == at:
                raise Interrupted(2)

        return interrupted

    def publish() -> None:
        with stage(tmp_path / "out", RUN, terms) as staging:
            (staging.package / "mets.xml").write_bytes(b"<mets/>")
            staging.journal.record(event="segment")
            for name in ("move", "put", "remove"):
                monkeypatch.setattr(writing, name, interrupting(getattr(writing, name)))
            staging.publish("mets.xml") if is_file else staging.publish()

    with pytest.raises(Interrupted) as caught:
        publish()
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert caught.value.kept == f"{tmp_path / 'out'} is complete"


@pytest.mark.parametrize("error", [TargetError("the disk is full"), Interrupted(2)])
def test_a_folder_removed_meanwhile_is_named(tmp_path: Path, error: TargetError | Interrupted) -> None:
    def run() -> None:
        with stage(tmp_path / "out", RUN) as staging:
            staging.journal.record(event="segment", number=0, bytes=0)
            shutil.rmtree(staging.root)
            raise error

    with pytest.raises(type(error)) as caught:
        run()
    assert caught.value is error
    notice = caught.value.kept if isinstance(caught.value, Interrupted) else caught.value.hint
    assert f"{tmp_path / 'out.partial'} was removed or replaced while this run was at work there" in notice
    assert "To start over, call the same function again." in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ends", ["publish", "discard"])
def test_the_journal_is_removed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """After a power cut each file beside a target has a journal that names its run."""
    staging = Staging(tmp_path / "out", RunFacts(command="build"))
    unlink, sync, steps = os.unlink, writing.sync_directory, list[str]()

    def unlinking(path: str | Path, **rest: int) -> None:
        steps.append(f"unlink {Path(path).name}")
        unlink(path, **rest)

    def syncing(path: Path) -> None:
        steps.append(f"sync {path.name}: {sorted(os.listdir(path))}")
        sync(path)

    monkeypatch.setattr(os, "unlink", unlinking)
    monkeypatch.setattr(writing, "sync_directory", syncing)
    getattr(staging, ends)()
    at = steps.index("unlink journal.jsonl")
    assert steps[at - 1] == "sync out.partial: ['journal.jsonl']"
    assert "out.partial" not in names(tmp_path)


@pytest.mark.parametrize("name", ["out", "out.partial"])
@pytest.mark.parametrize("in_the_way", ["file", "folder", "dangling"])
def test_nothing_may_be_in_the_way(tmp_path: Path, name: str, in_the_way: str) -> None:
    path = tmp_path / name
    put_in_the_way(path, in_the_way)
    if in_the_way == "folder":
        (path / "mine").touch()  # an empty .partial is what a run leaves that is killed at its very end
    with pytest.raises(TargetError, match=f"{path} exists already") as caught:
        Staging(tmp_path / "out", RUN)
    assert caught.value.hint
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert in_the_way != "file" or path.read_bytes() == b"mine"


@pytest.mark.parametrize("target", [".", "..", "folder/..", "folder/"])
def test_an_existing_folder_as_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(TargetError, match="exists already"):
        Staging(Path(target), RUN)


@pytest.mark.parametrize("above", ["none", "file"])
def test_the_folder_for_the_target_must_be_there(tmp_path: Path, above: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        TargetError, match=f"{tmp_path / above} is not a folder, so out cannot be created in it"
    ) as caught:
        Staging(tmp_path / above / "out", RUN)
    assert caught.value.hint == "Create the folder first."


def test_a_target_below_a_link_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    staging = Staging(Path("link/out"), RUN)
    staging.publish()
    assert (tmp_path / "real" / "out").is_dir()
    assert staging.target == tmp_path.resolve() / "real" / "out"


def test_a_target_that_came_to_exist_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "out", RUN)
    (tmp_path / "out").mkdir()
    with pytest.raises(TargetError, match="File exists"):
        staging.publish()
    staging.discard()
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("is_of_another", [False, True])
def test_a_staging_folder_that_fails_early_is_removed_unless_another_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_of_another: bool
) -> None:
    true = os.mkdir

    def mkdir(path: str, mode: int, *, dir_fd: int) -> None:
        true(path, mode, dir_fd=dir_fd)
        if not is_of_another:
            raise KeyboardInterrupt
        true(path, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises((TargetError, KeyboardInterrupt), match="File exists" if is_of_another else "^$"):
        Staging(tmp_path / "out", RUN)
    assert (tmp_path / "out.partial").is_dir() is is_of_another


def test_an_interruption_while_the_journal_is_locked_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "lock", Mock(side_effect=[KeyboardInterrupt, True]))
    with pytest.raises(KeyboardInterrupt):
        Staging(tmp_path / "out", RUN)
    assert not list(tmp_path.iterdir())


def test_files_in_several_folders_are_there_with_their_sizes(tmp_path: Path) -> None:
    for number, path in enumerate(paths := ["a/x", "b/c/x"]):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(bytes(2 * number + 1))
    assert are_there(tmp_path, paths, [1, 3])
    assert not are_there(tmp_path, paths, [1, 1])
    assert not are_there(tmp_path, [*paths, "d/x"], [1, 3, 1])
