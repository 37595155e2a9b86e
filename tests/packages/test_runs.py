"""LOBs that are alike are read together, with the same result as one by one."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bench.data import make_stored
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.files import reading
from metspack.limits import Limits
from metspack.locations.resolver import Resolver
from metspack.mets.dialects.interface import Software
from metspack.packages.package import Package
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import RestoreOptions
from tests.packages.forge import md5

SOFTWARE = Software(name="metspack", version="metspack 0")
_CHILD = "loose_lobseg_1/mets.xml"
_TENTH = "s0.t0.c2.r20"


def _exchange(old: str, new: str) -> Callable[[Path], None]:
    def damage(package: Path) -> None:
        mets = package / _CHILD
        text = mets.read_text(encoding="utf-8")
        assert old in text
        mets.write_text(text.replace(old, new, 1), encoding="utf-8")

    return damage


def _of_file(old: str, new: str) -> Callable[[Path], None]:
    """Return a change of the entry of one LOB in the middle of others."""

    def damage(package: Path) -> None:
        mets = package / _CHILD
        before, found, after = mets.read_text(encoding="utf-8").partition(f'ID="{_TENTH}"')
        assert found
        assert old in after
        mets.write_text(before + found + after.replace(old, new, 1), encoding="utf-8")

    return damage


def _path(package: Path) -> Path:
    return package / "loose_lobseg_1/content/schema0/table0/lob2/record19.bin"


def _as_link(package: Path) -> None:
    kept = package / "kept"
    _path(package).rename(kept)
    _path(package).symlink_to(kept)


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    "nothing": lambda _package: None,
    "no id": _exchange(f'ID="{_TENTH}" ', ""),
    "another size": _of_file(' SIZE="6"', ' SIZE="7"'),
    "part without a map": _exchange(f'ID="{_TENTH}"', f'ID="{_TENTH}.p0" GROUPID="{_TENTH}" SEQ="0"'),
    "same file": _of_file("record19.bin", "record18.bin"),
    "file of another segment": _of_file("content/schema0", "../loose_lobseg_0/content/schema0"),
    "link": _as_link,
    "gone": lambda package: _path(package).unlink(),
}


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of an archive with 36 LOBs of six bytes."""
    folder = tmp_path_factory.mktemp("archived")
    make_stored(folder / "loose.siard", 36, 6)
    options = BuildOptions(created="2020-01-01T00:00:00Z", software=SOFTWARE, limits=Limits(files=18))
    build.build(folder / "loose.siard", folder / "package", options)
    return folder / "package"


def _part_beside(package: Path) -> None:
    shutil.copy(_path(package), _path(package).with_name("record19.bin.0"))


def _another_byte(package: Path) -> None:
    _path(package).write_bytes(b"wrong!")


def _two_files(package: Path) -> None:
    """Let a zip file stand beside the segment's folder, as if it were that."""
    with zipfile.ZipFile(package / "loose_lobseg_1.zip", "w") as packed:
        packed.writestr("content/schema0/table0/lob2/record19.bin", b"packed")


def _in_cells(old: str, new: str) -> Callable[[Path], None]:
    """Return a function that changes the table's statements on a LOB."""

    def damage(package: Path) -> None:
        archive = package / "loose.siard"
        with zipfile.ZipFile(archive) as source:
            entries = [(each, source.read(each)) for each in source.infolist()]
        assert any(re.search(old.encode(), data) for _, data in entries)
        with zipfile.ZipFile(archive, "w") as target:
            for each, data in entries:
                target.writestr(each, re.sub(old.encode(), new.encode(), data, count=1))

    return damage


def _unlisted(package: Path) -> None:
    """Let no METS list the LOB, and its cell name the file of the one before it."""
    mets = package / _CHILD
    text, count = re.subn(
        f'<mets:file ID="{_TENTH}".*?</mets:file>', "", mets.read_text("utf-8"), flags=re.DOTALL
    )
    assert count == 1
    mets.write_text(text, encoding="utf-8")
    _in_cells("record19.bin", "record18.bin")(package)


OF_ARCHIVES: Mapping[str, Callable[[Path], None]] = {
    **DAMAGES,
    "part beside": _part_beside,
    "another byte": _another_byte,
    "packed beside": _two_files,
    "another length": _in_cells('(record19.bin" length)="6"', r'\1="9"'),
    "another digest": _in_cells(
        'digest="[0-9A-F]{32}"( digestType="MD5" file="[^"]*record19)', f'digest="{"0" * 32}"\\1'
    ),
    "another LOB": _in_cells("record19.bin", "record20.bin"),
    "two cells": _unlisted,
    "another folder": _in_cells(
        "loose_lobseg_1/(content/schema0/table0/lob2/record19)", r"./loose_lobseg_1/\1"
    ),
}


@pytest.fixture(scope="module")
def two_digests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with other digests in METS than in the cells."""
    folder = tmp_path_factory.mktemp("twice")
    make_stored(folder / "loose.siard", 36, 6)
    options = BuildOptions(
        created="2020-01-01T00:00:00Z", software=SOFTWARE, limits=Limits(files=18), checksum="SHA-256"
    )
    build.build(folder / "loose.siard", folder / "package", options)
    return folder / "package"


@pytest.fixture(params=OF_ARCHIVES)
def damaged_archived(archived: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return _damaged(archived, tmp_path / "package", request.param)


def _damaged(good: Path, package: Path, damage: str) -> Path:
    shutil.copytree(good, package)
    before = (package / _CHILD).read_bytes()
    OF_ARCHIVES[damage](package)
    _describe_anew(package, before)
    return package


def _describe_anew(package: Path, before: bytes) -> None:
    """Let the parent say size and digest of the child's METS as it is now."""
    after = (package / _CHILD).read_bytes()
    parent = package / "mets.xml"
    text = parent.read_text(encoding="utf-8").replace(md5(before), md5(after))
    parent.write_text(text.replace(f'SIZE="{len(before)}"', f'SIZE="{len(after)}"'), encoding="utf-8")


def _proof(path: Path, jobs: int | None = None) -> tuple[list[str], object]:
    run = DryRun(path, RestoreOptions(jobs=jobs))
    return [each.message for each in run], run.restored


@pytest.mark.slow
def test_lobs_are_proven_equally(damaged_archived: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = _proof(damaged_archived)
    monkeypatch.setattr(Resolver, "stated_files", lambda *_: None)
    named_singly = _proof(damaged_archived)
    monkeypatch.setattr(Package, "listed_files", lambda *_: {})
    assert together == named_singly == _proof(damaged_archived)


@pytest.mark.parametrize("damage", ["nothing", "another byte", "another digest", "gone"])
def test_digests_of_two_kinds_are_both_compared(two_digests: Path, tmp_path: Path, damage: str) -> None:
    messages, _ = _proof(_damaged(two_digests, tmp_path / "package", damage))
    assert [_TENTH in each for each in messages] == [True] * (damage != "nothing")


@pytest.mark.slow
def test_what_is_proven_is_the_same_whoever_read_it(
    archived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = _damaged(archived, tmp_path / "package", "another LOB")
    for number, damage in enumerate((b"", b"wrong!", b"longer than it was", None)):
        path = _path(package).with_name(f"record{2 * number + 21}.bin")
        path.unlink() if damage is None else path.write_bytes(damage)
    monkeypatch.setattr("metspack.inspecting.verification._BYTES_AT_ONCE", 20)
    at_once = _proof(package, 1)
    assert len(at_once[0]) == 5
    assert _proof(package, 2) == at_once


def test_what_is_no_regular_file_has_no_status(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    first, *others = reading.statuses(tmp_path, (), ["file", "link", "folder", "nothing"])
    assert first is not None
    assert first[0] == 1
    assert others == [None, None, None]
