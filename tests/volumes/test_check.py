"""The check of volumes: the verdict on any subset, media that are not right, and what was verified before."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking.run import Checking
from metspack.digests import Seal
from metspack.errors import ConfigError, Interrupted, SourceError, TargetError
from metspack.files.writing import RunJournal
from metspack.model import Finding, Severity
from metspack.volumes.check import VolumesCheck, VolumesSummary
from metspack.volumes.contents import SEALED
from metspack.volumes.ledger import VolumeLedger
from metspack.volumes.volumelist import VolumeList
from metspack.volumes.write import write_volumes
from tests.laws import law
from tests.volumes.conftest import FORMS, Packages, divided

Media = Callable[[str], tuple[VolumeList, Path]]


@pytest.fixture(scope="session")
def media(package: Packages, tmp_path_factory: pytest.TempPathFactory) -> Media:
    """The volumes of packages in each form, each written once; treat them as read-only."""
    place = tmp_path_factory.mktemp("media")

    def made(form: str) -> tuple[VolumeList, Path]:
        folder, out = place / form.replace(" ", "-"), package(form)
        if not folder.exists():
            folder.mkdir()
            write_volumes(out, folder, divided(out).volume_size)
        return divided(out), folder

    return made


@pytest.fixture
def volumes(media: Media, tmp_path: Path) -> tuple[VolumeList, list[Path]]:
    """Volumes of the package in the plain form, to be changed."""
    listed, folder = media("recommendation")
    folder = Path(shutil.copytree(folder, tmp_path / "media"))
    return listed, [folder / listed.folder_name(number) for number in range(1, len(listed.volumes) + 1)]


def checked(
    folders: list[Path], *, seal: Seal | None = None, ledger: Path | None = None
) -> tuple[list[Finding], VolumesSummary]:
    check = VolumesCheck(folders, seal=seal, ledger=ledger)
    found = list(check)
    return found, check.summary


def codes(found: list[Finding]) -> set[str]:
    return {each.code for each in found}


@given(st.sampled_from([*FORMS]), st.data())
@law(25)
def test_the_verdict_on_any_subset(media: Media, form: str, data: st.DataObject) -> None:
    listed, folder = media(form)
    numbers = range(1, len(listed.volumes) + 1)
    rounds = data.draw(
        st.lists(st.lists(st.sampled_from(numbers), min_size=1, unique=True), min_size=1, max_size=3)
    )
    seen = set[int]()
    with TemporaryDirectory() as place:
        for here in rounds:
            found, summary = checked(
                [folder / listed.folder_name(each) for each in here], ledger=Path(place) / "ledger"
            )
            assert found == []
            before = seen - set(here)
            seen |= set(here)
            assert summary.here == tuple(sorted(here))
            assert summary.verified == sum(len(listed.volumes[each - 1]) for each in seen)
            assert summary.before == sum(len(listed.volumes[each - 1]) for each in before)
            assert summary.segments == listed.count
            assert summary.faulty == ()
            absent = {number for number, _ in summary.absent}
            assert absent == {each for each in numbers if each not in seen}
            assert summary.is_complete == (seen == set(numbers))
            *_, said = summary.words()
            assert said.startswith(f"{len(here)} of {len(numbers)} media here: {summary.verified} of ")
            assert said.endswith(", complete" if summary.is_complete else ", the rest not here")


@pytest.mark.parametrize("form", FORMS)
def test_each_lost_segment_and_each_damaged_file_is_found(form: str, media: Media, tmp_path: Path) -> None:
    listed, folder = media(form)
    for number, segments in enumerate(listed.volumes, 1):
        volume = Path(shutil.copytree(folder / listed.folder_name(number), tmp_path / f"v{number}"))
        for held in segments:
            place = volume / listed.name / held.path
            files = [each for each in (place, *place.rglob("*")) if each.is_file()]
            for path in (files[0], files[-1]):
                data = path.read_bytes()
                path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
                found, summary = checked([volume])
                assert summary.errors, path
                assert held.path in summary.faulty, path
                path.write_bytes(data)
            place.rename(tmp_path / "away")
            found, summary = checked([volume])
            assert "L002" in codes(found), held.path
            assert summary.faulty == (held.path,)
            assert not summary.is_complete
            (tmp_path / "away").rename(place)
        assert checked([volume])[0] == []


@pytest.mark.parametrize("form", FORMS)
def test_each_damaged_file_of_the_parent_is_found(form: str, media: Media, tmp_path: Path) -> None:
    listed, folder = media(form)
    for number, segments in enumerate(listed.volumes, 1):
        volume = Path(shutil.copytree(folder / listed.folder_name(number), tmp_path / f"v{number}"))
        root = volume / listed.name
        own = {each.path for each in segments}
        repeated = [each.path for each in listed.everywhere]
        sealed = repeated[:SEALED]
        for path in [each for each in root.rglob("*") if each.is_file()]:
            below = path.relative_to(root).as_posix()
            if any(below == each or below.startswith(f"{each}/") for each in own):
                continue
            data = path.read_bytes()
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            found, summary = checked([volume])
            assert summary.errors, below
            assert not summary.is_parent_verified
            assert set(summary.faulty) == (own if below in repeated else set()), below
            assert ("F046" in codes(found)) == (below in sealed)
            path.write_bytes(data)
        assert checked([volume])[0] == []


def test_media_are_told_apart(
    media: Media, volumes: tuple[VolumeList, list[Path]], package: Packages
) -> None:
    listed, (first, second, *_) = volumes
    other, folder = media("csip")
    found, summary = checked([first, folder / other.folder_name(2), second])
    assert [(each.code, dict(each.facts)["what"]) for each in found] == [("S031", "OBJID")]
    assert summary.here == (1, 2)
    out = package("recommendation")
    (older := first.parent / "older").mkdir()
    write_volumes(out, older, divided(out, 3).volume_size)
    found, summary = checked([first, older / listed.folder_name(2)])
    assert [(each.code, dict(each.facts)["what"]) for each in found] == [("S031", "volume size")]
    assert summary.here == (1,)
    assert found[0].path == str(
        older / listed.folder_name(2) / f"volume_2_of_{len(divided(out, 3).volumes)}.jsonl"
    )
    (first / listed.file_name(1)).rename(first / "volume_9_of_9.jsonl")
    found, summary = checked([second, first])
    assert [(each.code, dict(each.facts)["what"]) for each in found] == [("S031", "name")]


def test_a_package_with_the_same_objid_and_other_bytes_is_another(
    volumes: tuple[VolumeList, list[Path]],
) -> None:
    listed, (first, second, *_) = volumes
    path = second / listed.file_name(2)

    changed = replace(
        listed, everywhere=(replace(listed.everywhere[0], sha256="0" * 64), *listed.everywhere[1:])
    )
    path.write_bytes(changed.document())
    found, _ = checked([first, second])
    assert [(each.code, dict(each.facts)["what"]) for each in found] == [("S031", "seal")]
    found, summary = checked([second])
    assert codes(found) == {"F046"}
    assert summary.verified == 0


@pytest.mark.parametrize("how", ["cut", "flipped", "empty"])
def test_a_damaged_list_makes_nothing_verified(how: str, volumes: tuple[VolumeList, list[Path]]) -> None:
    listed, (first, second, *_) = volumes
    path = second / listed.file_name(2)
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-5], "flipped": data.replace(b"lobseg_2", b"lobseg_7"), "empty": b""}[how])
    found, summary = checked([first, second])
    assert codes(found) == {"S030"}
    assert summary.here == (1,)
    found, summary = checked([second])
    assert codes(found) == {"S030"}
    assert [*summary.words()] == ["no list of volumes can be read: nothing was verified"]
    assert not summary.is_complete
    shutil.copy(first / listed.file_name(1), path)  # as the remedy says
    assert checked([first, second])[0] == []


def test_a_list_that_was_made_shorter_is_found(volumes: tuple[VolumeList, list[Path]]) -> None:
    listed, folders = volumes

    shorter = replace(listed, volumes=(listed.volumes[0],))
    (folders[0] / listed.file_name(1)).unlink()
    (folders[0] / shorter.file_name(1)).write_bytes(shorter.document())
    found, summary = checked(folders[:1])
    assert "S030" in codes(found)
    assert not summary.is_complete
    assert summary.verified == 0


@pytest.mark.parametrize("how", ["lacks one", "has one more", "has another digest"])
def test_a_list_with_other_further_parents_makes_nothing_verified(
    how: str, media: Media, tmp_path: Path
) -> None:
    listed, folder = media("further parents")
    volume = Path(shutil.copytree(folder / listed.folder_name(2), tmp_path / "volume"))
    *others, last = listed.everywhere
    forged = {
        "lacks one": others,
        "has one more": [*others, last, replace(last, path="Small_parent_9/mets.xml")],
        "has another digest": [*others, replace(last, sha256="0" * 64)],
    }[how]
    path = volume / listed.file_name(2)
    path.write_bytes(replace(listed, everywhere=tuple(forged)).document())
    found, summary = checked([volume])
    assert "S030" in codes(found)
    assert summary.verified == 0
    path.write_bytes(listed.document())
    assert checked([volume])[0] == []


def test_a_segment_on_another_volume_is_told_and_verified(volumes: tuple[VolumeList, list[Path]]) -> None:
    listed, (first, second, *_) = volumes
    moved = listed.volumes[1][0].path
    (second / listed.name / moved).rename(first / listed.name / moved)
    found, summary = checked([first])
    assert [(each.code, each.severity) for each in found] == [("S032", Severity.WARNING)]
    assert summary.verified == len(listed.volumes[0]) + 1
    found, summary = checked([first, second])
    assert codes(found) == {"S032", "L002"}


def test_what_is_superfluous_is_told(volumes: tuple[VolumeList, list[Path]]) -> None:
    listed, (first, second, *_) = volumes
    (first / "thumbs.db").write_text("x")
    (first / "lost+found").mkdir()
    (second / listed.name / listed.volumes[1][0].path / "more").write_text("more")
    (second / listed.name / "more").write_text("more")
    found, summary = checked([first, second])
    assert {(each.code, each.path) for each in found if each.code == "F010"} >= {
        ("F010", str(first / "thumbs.db")),
        ("F010", str(first / "lost+found")),
        ("F010", str(second / listed.name / "more")),
    }
    assert listed.volumes[1][0].path in summary.faulty


def test_a_volume_without_its_package(volumes: tuple[VolumeList, list[Path]], package: Packages) -> None:
    listed, (first, *_) = volumes
    shutil.rmtree(first / listed.name)
    for _ in range(2):
        found, summary = checked([first])
        assert codes(found) == {"M001"}
        assert summary.verified == 0
        assert len(summary.faulty) == len(listed.volumes[0])
        # A link to the package of another place proves nothing of this medium.
        (first / listed.name).unlink(missing_ok=True)
        (first / listed.name).symlink_to(package("recommendation"))


def test_folders_that_are_no_volumes(volumes: tuple[VolumeList, list[Path]], tmp_path: Path) -> None:
    listed, (first, second, *_) = volumes
    with pytest.raises(SourceError, match="is not a volume: it has no list"):
        checked([tmp_path])
    with pytest.raises(SourceError, match="cannot be read"):
        checked([tmp_path / "none"])
    with pytest.raises(ConfigError, match="there is no volume to check"):
        checked([])
    shutil.copy(second / listed.file_name(2), first)
    with pytest.raises(SourceError, match="holds several volumes"):
        checked([first])


def test_the_seal_is_that_of_the_package(volumes: tuple[VolumeList, list[Path]]) -> None:
    listed, (first, *_) = volumes
    assert checked([first], seal=Seal(value=listed.seal.value))[0] == []
    wrong = Seal.of([("manifest-md5.txt", "0" * 64)])
    found, summary = checked([first], seal=wrong)
    assert codes(found) == {"F046"}
    assert summary.verified == 0
    assert "manifest-md5.txt is another file" in found[0].message
    found, _ = checked([first], seal=Seal(value=wrong.value))
    assert "the list names this one" in found[0].message


def test_a_copy_of_a_volume_is_checked_too(volumes: tuple[VolumeList, list[Path]], tmp_path: Path) -> None:
    _, (first, *_) = volumes
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    assert checked([first, copy])[0] == []
    path = next(copy.rglob("*.bin"))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    found, summary = checked([copy, first])
    assert {each.path for each in found} == {str(path)}
    assert summary.here == (1,)
    assert not summary.is_complete


# --- The ledger ---


def test_the_ledger_forgets_what_is_found_damaged(
    volumes: tuple[VolumeList, list[Path]], tmp_path: Path
) -> None:
    listed, folders = volumes
    ledger = tmp_path / "ledger"
    for each in folders:
        checked([each], ledger=ledger)
    _, summary = checked([folders[0]], ledger=ledger)
    assert summary.is_complete
    assert summary.oldest
    path = next(folders[1].rglob("*.bin"))
    data = path.read_bytes()
    path.write_bytes(b"x" + data[1:])
    _, summary = checked([folders[1]], ledger=ledger)
    assert len(summary.faulty) == 1
    _, summary = checked([folders[0]], ledger=ledger)
    assert not summary.is_complete
    assert [segments for _, segments in summary.absent] == [
        (path.relative_to(folders[1] / listed.name).parts[0],)
    ]
    path.write_bytes(data)
    _, summary = checked([folders[1]], ledger=ledger)
    assert summary.is_complete


def test_a_check_that_is_stopped_keeps_the_volumes_before(
    volumes: tuple[VolumeList, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, (first, second, *rest) = volumes
    real = Checking.__next__

    def stop(check: Checking) -> Finding:
        if second in check._paths[0].parents:
            raise Interrupted(15)
        return real(check)

    monkeypatch.setattr(Checking, "__next__", stop)
    check = VolumesCheck([first, second], ledger=tmp_path / "ledger")
    with pytest.raises(Interrupted):
        list(check)
    assert check.summary.here == (1,)
    assert check.summary.verified == len(listed.volumes[0])
    monkeypatch.undo()
    _, summary = checked([second, *rest], ledger=tmp_path / "ledger")
    assert summary.is_complete


def test_a_line_that_was_not_written_to_its_end_does_not_count(
    volumes: tuple[VolumeList, list[Path]], tmp_path: Path
) -> None:
    _, (first, second, *_) = volumes
    ledger = tmp_path / "ledger"
    checked([first], ledger=ledger)
    data = ledger.read_bytes()
    whole = data.splitlines(keepends=True)
    ledger.write_bytes(b"".join(whole[:-1]) + whole[-1][:10])
    _, summary = checked([second], ledger=ledger)
    assert summary.before == len(whole) - 1 - 1 - 1  # the head, the parent's files, the last


@pytest.mark.parametrize(("place", "name"), [(VolumeLedger, "_read"), (RunJournal, "is_there")])
def test_a_ledger_that_cannot_be_read_is_named(
    volumes: tuple[VolumeList, list[Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: type,
    name: str,
) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    _, (first, *_) = volumes
    monkeypatch.setattr(place, name, failing)
    with pytest.raises(TargetError, match=r"/ledger: Input/output error") as caught:
        checked([first], ledger=tmp_path / "ledger")
    assert caught.value.hint


def test_ledgers_that_cannot_be_used(
    media: Media, volumes: tuple[VolumeList, list[Path]], package: Packages, tmp_path: Path
) -> None:
    listed, (first, *_) = volumes
    ledger = tmp_path / "ledger"
    checked([first], ledger=ledger)
    other, folder = media("csip")
    before = ledger.read_bytes()
    with pytest.raises(ConfigError, match="is of other volumes: its OBJID"):
        checked([folder / other.folder_name(1)], ledger=ledger)
    (tmp_path / "again").mkdir()
    write_volumes(package("recommendation"), tmp_path / "again", 1 << 40)
    with pytest.raises(ConfigError, match="its division over volumes"):
        checked([tmp_path / "again" / listed.folder_name(1)], ledger=ledger)
    assert ledger.read_bytes() == before
    (tmp_path / "text").write_text("a letter\n" * 9)
    with pytest.raises(ConfigError, match="is not a ledger of volumes, and is left alone"):
        checked([first], ledger=tmp_path / "text")
    assert (tmp_path / "text").read_text() == "a letter\n" * 9
    with pytest.raises(ConfigError, match="would lie on a volume"):
        checked([first], ledger=first / "ledger")
    with pytest.raises(ConfigError, match="is a folder"):
        checked([first], ledger=tmp_path)
    held = RunJournal(ledger)
    with pytest.raises(TargetError, match="is in use"):
        checked([first], ledger=ledger)
    held.close()
    lines = before.splitlines(keepends=True)
    ledger.write_bytes(lines[0] + lines[1].replace(b"verified", b"varified") + b"".join(lines[2:]))
    with pytest.raises(SourceError, match="line 2 is damaged"):
        checked([first], ledger=ledger)


def test_the_summary_is_data(volumes: tuple[VolumeList, list[Path]]) -> None:
    listed, (first, *_) = volumes
    _, summary = checked([first])
    document = json.loads(json.dumps(summary.to_json()))
    absent = [each["segments"] for each in document["not_here"]]
    assert list(chain.from_iterable(absent)) == [
        each.path for each in chain.from_iterable(listed.volumes[1:])
    ]
    assert document["complete"] is False
