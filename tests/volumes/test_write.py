"""Writing of volumes: together they are the package; each is complete or absent, whatever ends the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from metspack.errors import (
    ConfigError,
    SourceError,
    TargetError,
    TargetExistsError,
    TargetUnfinishedError,
)
from metspack.files import journal, reading, staging
from metspack.files.journal import StagingTerms
from metspack.volumes import write
from metspack.volumes.volumelist import find_list, read_list
from metspack.volumes.write import WrittenVolumes, write_volumes
from tests.killing import calls_of, killed, stop_after
from tests.laws import spread
from tests.trees import tree
from tests.volumes.conftest import FORMS, Packages, divided


def written(package: Path, out: Path, *, segments: int = 2, volume: int | None = None) -> WrittenVolumes:
    out.mkdir(exist_ok=True)
    return write_volumes(package, out, divided(package, segments).volume_size, volume=volume)


@pytest.mark.parametrize("form", FORMS)
def test_volumes_put_together_are_the_package(form: str, package: Packages, tmp_path: Path) -> None:
    out = package(form)
    made = written(out, tmp_path / "media", segments=1 + len(form) % 3)
    assert len(made.volumes) > 1
    together = tmp_path / "together"
    together.mkdir()
    for each in made.volumes:
        files = [path for path in each.path.rglob("*") if path.is_file()]
        sizes = [path.stat().st_size for path in files]
        assert (each.files, each.bytes) == (len(files), sum(sizes))
        assert each.bytes <= made.listed.volume_size
        assert find_list(each.path) == (each.number, each.path / made.listed.file_name(each.number))
        assert read_list(each.path / made.listed.file_name(each.number)) == made.listed
        subprocess.run(["cp", "-r", f"{each.path}/.", together], check=True)
    subprocess.run(["diff", "-r", out, together / out.name], check=True)
    assert len(os.listdir(together)) == 1 + len(made.volumes)


def test_further_parents_lie_on_every_volume_and_their_children_follow(
    package: Packages, tmp_path: Path
) -> None:
    made = written(package("further parents"), tmp_path / "media")
    paths = ["manifest-md5.txt", "manifest-sha256.txt", "mets.xml"]
    paths += ["Small_parent_1/mets.xml", "Small_parent_2/mets.xml"]
    assert [each.path for each in made.listed.everywhere] == paths
    segments = [each.path for held in made.listed.volumes for each in held]
    assert segments == [f"Small_lobseg_{number}" for number in range(5)]
    for each in made.volumes:
        assert all((each.path / "further-parents" / path).is_file() for path in paths)


@pytest.mark.parametrize(
    ("form", "paths"),
    [
        ("further parents in csip", ["NW/METS.xml", "NW_segments_1/METS.xml", "NW_segments_2/METS.xml"]),
        ("further parents in tar", ["NW.tar", "NW_segments_1.tar", "NW_segments_2.tar"]),
    ],
)
def test_further_parents_that_are_ips_lie_on_every_volume(
    package: Packages, tmp_path: Path, form: str, paths: list[str]
) -> None:
    made = written(package(form), tmp_path / "media")
    assert [each.path for each in made.listed.everywhere][2:] == paths
    segments = [each.path for held in made.listed.volumes for each in held if each.path]
    end = ".tar" if "tar" in form else ""
    assert segments == [f"NW_s0_t0_c2_seg_{number}{end}" for number in range(5)]
    for each in made.volumes:
        assert all((each.path / form.replace(" ", "-") / path).is_file() for path in paths)


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("further parents", "Small_parent_1/mets.xml"),
        ("further parents in csip", "NW_segments_1/METS.xml"),
        ("further parents in tar", "NW_segments_1.tar"),
    ],
)
def test_a_further_parent_that_is_lost_is_told(
    package: Packages, tmp_path: Path, form: str, path: str
) -> None:
    out = Path(shutil.copytree(package(form), tmp_path / "out"))
    (out / path).unlink()
    if "/" in path:
        shutil.rmtree((out / path).parent)
    with pytest.raises(SourceError, match=rf"{path} cannot be read: .*No such file"):
        written(out, tmp_path / "media", segments=1)


def test_the_same_package_gives_the_same_volumes_one_by_one(package: Packages, tmp_path: Path) -> None:
    out = package("csip")
    made = written(out, tmp_path / "all")
    for each in reversed(made.volumes):
        (single,) = written(out, tmp_path / "single", volume=each.number).volumes
        assert (single.number, single.existed) == (each.number, False)
    assert tree(tmp_path / "single") == tree(tmp_path / "all")


def test_each_byte_is_read_once(package: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = package("recommendation")
    count = Counter[str]()
    real = os.open

    def opened(path: str, flags: int, *given: Any, **named: Any) -> int:
        if str(path).endswith(".bin") and not flags & os.O_CREAT:
            count[os.path.basename(path)] += 1
        return real(path, flags, *given, **named)

    monkeypatch.setattr(os, "open", opened)
    written(out, tmp_path / "media")
    assert count == Counter({f"record{number}.bin": 1 for number in range(9)})


def test_large_files_are_written_too(
    package: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(package("recommendation"), tmp_path / "small")
    monkeypatch.setattr(write, "SMALL", 20)
    written(package("recommendation"), tmp_path / "large")
    assert tree(tmp_path / "large") == tree(tmp_path / "small")


def test_hard_links_are_read_and_compared(package: Packages, tmp_path: Path) -> None:
    out = Path(shutil.copytree(package("recommendation"), tmp_path / "out"))
    (tmp_path / "media").mkdir()
    size = divided(out).volume_size
    made = write_volumes(out, tmp_path / "media", size, hard_links=True)
    for path in made.volumes[0].path.joinpath("out").rglob("*"):
        if path.is_file():
            assert path.samefile(out / path.relative_to(made.volumes[0].path / "out"))
    shutil.rmtree(tmp_path / "media")
    (tmp_path / "media").mkdir()
    lob = next(out.rglob("record5.bin"))
    lob.write_bytes(lob.read_bytes()[::-1])
    with pytest.raises(SourceError, match=r"the MD5 of .*record5.bin is .*, expected"):
        write_volumes(out, tmp_path / "media", size, hard_links=True)


@pytest.mark.parametrize("how", ["changed", "longer", "gone", "a link"])
def test_a_file_that_is_not_as_the_manifests_say_ends_the_writing(
    how: str, package: Packages, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(package("recommendation"), tmp_path / "out"))
    lob, data = next(out.rglob("record8.bin")), next(out.rglob("record8.bin")).read_bytes()

    def damage() -> None:
        lob.rename(tmp_path / "elsewhere")
        if how in {"changed", "longer"}:
            lob.write_bytes(data[::-1] if how == "changed" else data + b"x")
        elif how == "a link":
            lob.symlink_to(tmp_path / "elsewhere")

    with pytest.MonkeyPatch.context() as patch:  # once everything was looked at
        patch.setattr(
            staging, "check_space", lambda *_, **__: None if (tmp_path / "elsewhere").exists() else damage()
        )
        with pytest.raises(SourceError, match=r"record8\.bin"):
            written(out, tmp_path / "media")
    *before, last = (
        f"out_volume_{each}" for each in range(1, len(divided(package("recommendation")).volumes) + 1)
    )
    # What cannot be read may be read another time; other bytes will not do.
    kept = [f"{last}.partial"] if how in {"gone", "a link"} else []
    assert sorted(os.listdir(tmp_path / "media")) == [*before, *kept]
    (tmp_path / "elsewhere").replace(lob)
    written(out, tmp_path / "media")
    assert sorted(os.listdir(tmp_path / "media")) == [*before, last]


def test_a_volume_of_hard_links_starts_over(package: Packages, tmp_path: Path) -> None:
    out, media = package("siard22"), tmp_path / "media"
    media.mkdir()
    stop_after(2, lambda: write_volumes(out, media, 1 << 40, hard_links=True))
    assert os.listdir(media) == []
    write_volumes(out, media, 1 << 40, hard_links=True)
    assert len(os.listdir(media)) == 1


def test_the_package_is_only_read(package: Packages, tmp_path: Path) -> None:
    out = package("siard22")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    expected = tree(out)
    written(out, tmp_path / "media")
    assert tree(out) == expected
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


@pytest.mark.parametrize("form", ["recommendation", "other files"])
def test_a_writing_killed_at_any_call_goes_on(form: str, package: Packages, tmp_path: Path) -> None:
    out, gold = package(form), tmp_path / "gold"
    count = calls_of(lambda: written(out, gold, segments=3))
    expected = tree(gold)
    for at in spread(range(1, count), max(1, count // 12)):
        media = tmp_path / str(at)
        media.mkdir()
        assert killed(partial(written, out, media, segments=3), at)
        for name in os.listdir(media):  # what is there under a volume's name is complete
            if not name.endswith(".partial"):
                assert tree(media / name) == tree(gold / name), at
        made = written(out, media, segments=3)
        assert len(made.volumes) == len(list(gold.iterdir()))
        assert tree(media) == expected, at


def test_what_was_finished_is_not_copied_again(package: Packages, tmp_path: Path) -> None:
    out, media = package("recommendation"), tmp_path / "media"
    stop_after(2, lambda: written(out, media, segments=9))
    (partial_folder,) = media.iterdir()
    assert partial_folder.name.endswith(".partial")
    done = [each["number"] for each in journal_events(partial_folder) if each["event"] == journal.SEGMENT]
    assert done == [1, 2]
    files = {path.name: path.stat().st_ino for path in partial_folder.rglob("*.bin")}
    (partial_folder / "package" / out.name / "Small_lobseg_2").mkdir()  # begun when it was stopped
    (partial_folder / "package" / out.name / "Small_lobseg_2" / "mets.xml").write_text("half")
    assert journal.status(media / f"{out.name}_volume_1").command == "volumes write"
    assert "write_volumes again" in journal.status(media / f"{out.name}_volume_1").resume
    written(out, media, segments=9)
    assert files.items() <= {path.name: path.stat().st_ino for path in media.rglob("*.bin")}.items()
    written(out, tmp_path / "gold", segments=9)
    assert tree(media) == tree(tmp_path / "gold")


def journal_events(partial_folder: Path) -> list[dict[str, object]]:
    with reading.opening(journal.journal_of(partial_folder)) as descriptor:
        return list(journal.run_events(descriptor).events)


def test_what_a_kill_left_beside_a_volume_goes(package: Packages, tmp_path: Path) -> None:
    out, media = package("recommendation"), tmp_path / "media"

    def end(*_: object) -> None:
        os._exit(9)

    child = os.fork()
    if not child:
        staging.Staging._end = end  # type: ignore[method-assign, assignment]
        written(out, media, volume=1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert sorted(os.listdir(media)) == [f"{out.name}_volume_1", f"{out.name}_volume_1.partial"]
    written(out, media, volume=1)
    assert os.listdir(media) == [f"{out.name}_volume_1"]


def test_another_command_does_not_go_on(package: Packages, tmp_path: Path) -> None:
    out, media = package("recommendation"), tmp_path / "media"
    stop_after(2, lambda: written(out, media, segments=9))
    with pytest.raises(TargetUnfinishedError, match="division"):
        written(out, media, segments=3)
    size = divided(out, 3).volume_size
    write_volumes(out, media, size, terms=StagingTerms(restart=True))
    assert not list(media.glob("*.partial"))


def test_volumes_that_are_there_stay(package: Packages, tmp_path: Path) -> None:
    out, media = package("recommendation"), tmp_path / "media"
    first = written(out, media)
    (media / f"{out.name}_volume_2").rename(tmp_path / "away")
    second = written(out, media)
    assert [each.existed for each in first.volumes] == [False] * len(first.volumes)
    assert [each.number for each in second.volumes if not each.existed] == [2]
    assert tree(media / f"{out.name}_volume_2") == tree(tmp_path / "away")
    assert second.to_json()["written"][0]["existed"] is True
    with pytest.raises(TargetExistsError, match="volume_1 exists already, and is not volume 1 of this"):
        written(out, media, segments=4)
    shutil.rmtree(media / f"{out.name}_volume_2")
    (media / f"{out.name}_volume_2").write_text("mine")
    with pytest.raises(TargetExistsError, match="volume_2 exists already"):
        written(out, media)
    assert (media / f"{out.name}_volume_2").read_text() == "mine"


def test_what_cannot_be_written_is_said(
    package: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Path(shutil.copytree(package("recommendation"), tmp_path / "out"))
    with pytest.raises(TargetError, match="is not a folder"):
        write_volumes(out, tmp_path / "none", 1 << 40)
    with pytest.raises(TargetError, match="lies inside the package"):
        write_volumes(out, out / "Small_lobseg_0", 1 << 40)
    with pytest.raises(ConfigError, match="there is no volume 2: the package takes 1"):
        write_volumes(out, tmp_path, 1 << 40, volume=2)
    monkeypatch.setattr(staging.Partial, "free", lambda _: 10)
    with pytest.raises(TargetError, match="not enough free space"):
        write_volumes(out, tmp_path, 1 << 40)
    assert os.listdir(tmp_path) == ["out"]


def test_the_result_is_data(package: Packages, tmp_path: Path) -> None:
    made = written(package("recommendation"), tmp_path / "media")
    document = json.loads(json.dumps(made.to_json()))
    assert document["volumes"] == len(document["written"]) == len(made.listed.volumes)
    assert document["seal"].startswith("sha256:")
