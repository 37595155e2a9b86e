"""The division of packages over volumes: laws of it, and of the list that says what lies where."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import ConfigError, PlanError, SourceError
from metspack.files import journal
from metspack.volumes import volumelist
from metspack.volumes.contents import MANIFEST_NAMES, HeldFiles, PackageContents, RepeatedFile, SegmentPlaces
from metspack.volumes.volumelist import ListDamaged, VolumeList, divide, read_list
from metspack.volumes.write import plan_volumes
from tests.trees import tree
from tests.volumes.conftest import FORMS, Packages, divided, least

NUMBERS = st.integers(min_value=0, max_value=5_000)


@st.composite
def contents(draw: st.DrawFn) -> PackageContents:
    names = ("manifest-md5.txt", "manifest-sha256.txt", "mets.xml")
    sizes = draw(st.lists(NUMBERS, max_size=25))
    return PackageContents(
        root=Path("/package"),
        name="package",
        objid=draw(st.text(max_size=5)),
        everywhere=tuple(
            RepeatedFile(path=each, bytes=draw(NUMBERS), sha256=f"{number:064x}")
            for number, each in enumerate(names)
        ),
        parent=HeldFiles(path="", files=1, bytes=draw(NUMBERS)),
        segments=tuple(
            HeldFiles(path=f"seg_{number}", files=1 + number % 3, bytes=each)
            for number, each in enumerate(sizes)
        ),
    )


@given(contents(), st.integers(min_value=2_000, max_value=60_000))
def test_segments_stay_whole_and_in_order_and_no_volume_is_too_full(
    package: PackageContents, size: int
) -> None:
    with suppress(PlanError):
        check_division(package, divide(package, size), size)


def check_division(package: PackageContents, listed: VolumeList, size: int) -> None:
    assert tuple(chain.from_iterable(listed.volumes)) == package.segments
    assert all(octets <= size for _, octets in listed.amounts())
    # No volume closes while the next segment would fit, but for the digits of numbers in the list.
    slack = 4 * (len(package.segments) + 1) + 19
    amounts = listed.amounts()
    for number, (_, octets) in enumerate(amounts[:-1]):
        assert octets + listed.volumes[number + 1][0].bytes + slack > size
    assert sum(files for files, _ in amounts) == 1 + 4 * len(amounts) + sum(
        each.files for each in package.segments
    )


@given(contents(), st.integers(min_value=1, max_value=60_000))
def test_what_an_error_says_to_do_is_enough(package: PackageContents, size: int) -> None:
    try:
        divide(package, size)
    except PlanError as error:
        divide(package, int(error.hint.partition("--volume-size ")[2].split()[0]))


@given(contents())
def test_a_list_is_read_as_it_was_written(package: PackageContents) -> None:
    listed = divide(package, 1 << 40)
    rows = [json.loads(line) for line in listed.document().splitlines()]
    assert [row["path"] for row in rows if row["type"] == "segment"] == [
        each.path for each in package.segments
    ]
    events = [journal.unsealed(line) for line in listed.document().splitlines(keepends=True)]
    assert volumelist._list_of([each for each in events if each]) == listed


@pytest.mark.parametrize("form", FORMS)
def test_all_of_a_package_is_on_the_volumes(form: str, package: Packages) -> None:
    out = package(form)
    listed = divided(out)
    assert listed == divided(out)
    assert len(listed.volumes) > 1
    files = tree(out)
    places = SegmentPlaces(each.path for held in listed.volumes for each in held)
    for held in chain.from_iterable(listed.volumes):
        own = [path for path in files if places.find(path) == held.path and (out / path).is_file()]
        assert (held.files, held.bytes) == (len(own), sum((out / each).stat().st_size for each in own))
    counted = (
        listed.parent.files
        + len(listed.everywhere)
        + sum(each.files for each in chain.from_iterable(listed.volumes))
    )
    assert counted == sum((out / path).is_file() for path in files)
    with pytest.raises(PlanError, match=r"a volume has|no volume of"):
        plan_volumes(out, least(out) // 2)


def test_segments_are_in_the_order_of_mets(package: Packages) -> None:
    listed = plan_volumes(package("parts"), 1 << 40)
    numbers = [int(each.path.rpartition("_")[2]) for each in listed.volumes[0]]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 10  # where names alone would give another order


def test_several_segments_that_fit_nowhere_are_counted(package: Packages) -> None:
    found = divided(package("recommendation"))
    contents = PackageContents(
        root=Path("/x"),
        name="x",
        objid="x",
        everywhere=found.everywhere,
        parent=found.parent,
        segments=tuple(HeldFiles(path=f"s{each}", files=1, bytes=10**6) for each in range(5)),
    )
    with pytest.raises(PlanError, match=r"5 segments fit on no volume of 100,000 bytes: 's0' .*, 's2'"):
        divide(contents, 100_000)


@pytest.mark.parametrize(
    ("path", "segment"),
    [
        ("seg_1", "seg_1"),
        ("seg_1/mets.xml", "seg_1"),
        ("seg_10/mets.xml", None),
        ("lobs/c4/seg_0/x", "lobs/c4/seg_0"),
        ("lobs/c4", None),
        ("packed.zip", "packed.zip"),
        ("packed/x", "packed.zip"),
        ("packed", "packed.zip"),
        ("seg_1.zip", "seg_1"),
        ("mets.xml", None),
    ],
)
def test_the_segment_of_a_path(path: str, segment: str | None) -> None:
    places = SegmentPlaces(["seg_1", "lobs/c4/seg_0", "packed.zip"])
    assert places.find(path) == segment
    assert places.below("lobs") == ["lobs/c4/seg_0"]


def changed(listed: VolumeList, tmp_path: Path, old: str, new: str) -> Path:
    path = tmp_path / "volume_1_of_2.jsonl"
    path.write_text(listed.document().decode().replace(old, new, 1))
    return path


def resealed(listed: VolumeList, tmp_path: Path, line: int, **facts: object) -> Path:
    """Return a list with other facts in a line, whose checksum is right."""
    lines = listed.document().decode().splitlines()
    event = json.loads(lines[line])
    del event["sum"]
    lines[line] = journal.sealed({**event, **facts})
    path = tmp_path / "volume_1_of_2.jsonl"
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def test_a_list_that_was_changed_is_damaged(package: Packages, tmp_path: Path) -> None:
    listed = divided(package("recommendation"))
    assert read_list(changed(listed, tmp_path, "", "")) == listed
    with pytest.raises(ListDamaged, match="has line 6 without its checksum"):
        read_list(changed(listed, tmp_path, "lobseg_0", "lobseg_9"))
    last = listed.document().decode().splitlines(keepends=True)[-1]
    for new in ("", last[:20], last + last, last.strip()):
        with pytest.raises(ListDamaged, match=r"lines|checksum"):
            read_list(changed(listed, tmp_path, last, new))
    (tmp_path / "volume_1_of_2.jsonl").write_text("")
    with pytest.raises(ListDamaged, match="lines that no list"):
        read_list(tmp_path / "volume_1_of_2.jsonl")
    with pytest.raises(ListDamaged, match="cannot be read"):
        read_list(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (0, {"name": "../x"}),
        (0, {"name": ".."}),
        (0, {"seal": "sha256:00"}),
        (0, {"segments": 1}),
        (0, {"volumes": 1}),
        (0, {"volumes": 1 << 60}),
        (0, {"volume_size": "x"}),
        (1, {"path": "/etc/passwd"}),
        (4, {"type": "parents"}),
        (5, {"path": "a/../../b"}),
        (5, {"volume": 0}),
        (5, {"volume": "1"}),
        (5, {"bytes": None}),
    ],
)
def test_a_list_that_leads_elsewhere_is_damaged(
    line: int, facts: dict[str, object], package: Packages, tmp_path: Path
) -> None:
    with pytest.raises(ListDamaged):
        read_list(resealed(divided(package("recommendation")), tmp_path, line, **facts))


def test_a_list_of_another_form_or_beyond_measure_is_refused(
    package: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = divided(package("recommendation"))
    with pytest.raises(SourceError, match="is of form 2, expected 1"):
        read_list(resealed(listed, tmp_path, 0, form=2))
    monkeypatch.setattr(volumelist, "_MOST_BYTES", 100)
    with pytest.raises(ListDamaged, match="expected at most 100"):
        read_list(changed(listed, tmp_path, "", ""))


Damage = Callable[[Path], object]


def on_manifests(*changes: Callable[[list[str]], list[str]]) -> Damage:
    """Return a change of the lines of both manifests."""

    def damage(out: Path) -> None:
        for name, change in zip(MANIFEST_NAMES, changes, strict=False):
            lines = (out / name).read_text().splitlines(keepends=True)
            (out / name).write_text("".join(change(lines)))

    return damage


def without_a_segment(out: Path) -> None:
    on_manifests(*2 * [lambda lines: [each for each in lines if "lobseg_0" not in each]])(out)
    shutil.rmtree(out / "Small_lobseg_0")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda out: (out / "manifest-md5.txt").unlink(), "has no manifest-md5.txt"),
        (on_manifests(lambda lines: ["x", *lines]), "manifest-md5.txt line 1 is not one that both have"),
        (on_manifests(list, lambda lines: lines[:-1]), "is not one that both"),
        (on_manifests(*2 * [lambda lines: lines[::-1]]), "line 2 is not one that both"),
        (
            on_manifests(*2 * [lambda lines: [*lines, f"{lines[0].split()[0]}  ../x\n"]]),
            "is not one that both",
        ),
        (lambda out: (out / "more").write_text("more"), "the manifests do not name all of them"),
        (lambda out: next(out.rglob("record0.bin")).unlink(), "which the manifests name, is not there"),
        (lambda out: shutil.rmtree(out / "Small_lobseg_1"), "which the manifests name, is not there"),
        (without_a_segment, "have no file of the segment 'Small_lobseg_0'"),
        (lambda out: (out / "mets.xml").unlink(), "is not a package that can be divided"),
    ],
)
def test_a_package_that_is_not_whole_is_not_divided(
    damage: Damage, words: str, package: Packages, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(package("recommendation"), tmp_path / "out"))
    damage(out)
    with pytest.raises(SourceError) as caught:
        plan_volumes(out, 1 << 40)
    assert words.replace("both have", "both manifests have") in caught.value.message


def test_only_folders_are_divided(package: Packages, tmp_path: Path) -> None:
    out = package("recommendation")
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", out.parent, out.name)
    with pytest.raises(ConfigError, match="only folders go onto volumes"):
        plan_volumes(Path(packed), 1 << 40)
    assert plan_volumes(out / "mets.xml", 1 << 40) == plan_volumes(out, 1 << 40)
