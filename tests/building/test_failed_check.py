"""Packages that fail their own check: what was done is kept, and what has faults is made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import metspack
from metspack import BuildOptions, Limits, PackageOptions
from metspack.building import manifests
from metspack.errors import TargetError
from tests.trees import tree

pytestmark = pytest.mark.usefixtures("one_clock")

Damage = Callable[[Path], None]


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _flipping(pattern: str) -> Damage:
    """Return a function that damages the last file of a package that fits a pattern."""
    return lambda package: _flip(max(package.glob(pattern)))


def _flip_in_two_segments(package: Path) -> None:
    for number in (0, 1):
        _flip(min(package.glob(f"*_lobseg_{number}/**/record*.*")))


def _remove(package: Path) -> None:
    min(package.rglob("record*.*")).unlink()


_DAMAGES: Mapping[str, tuple[Damage, int]] = {
    "a LOB": (_flipping("*_lobseg_1/**/record*.*"), 1),
    "a LOB, gone": (_remove, 1),
    "a child's METS": (_flipping("*_lobseg_*/mets.xml"), 1),
    "the archive": (_flipping("**/*.siard"), 0),
    "the parent's METS": (_flipping("mets.xml"), 0),
    "LOBs of two segments": (_flip_in_two_segments, 2),
}
"""Damages by name, each with the number of segments concerned."""


@pytest.fixture
def damaging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Damage], None]]:
    """A function by which the next package is damaged once it is made, before its check."""
    waiting: list[Damage] = []
    real = manifests.write

    def write(package: Path, *given: Any) -> Any:
        sealed = real(package, *given)
        while waiting:
            waiting.pop()(package)
        return sealed

    monkeypatch.setattr(manifests, "write", write)
    yield waiting.append
    assert not waiting


def _options(**others: object) -> BuildOptions:
    return BuildOptions(limits=Limits(files=2, bytes=1_000_000), verify=True, **others)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "jobs"), [(damage, 1 + damage.startswith("LOBs")) for damage in _DAMAGES])
def test_a_build_whose_check_fails_is_mended_by_the_same_command(
    northwind: Path, tmp_path: Path, damaging: Any, damage: str, jobs: int
) -> None:
    options, target = _options(jobs=jobs), tmp_path / "package"
    metspack.build(northwind, tmp_path / "expected", options)
    done, concerned = _DAMAGES[damage]
    damaging(done)
    with pytest.raises(TargetError, match=r"failed its own check|cannot read back") as caught:
        metspack.build(northwind, target, options)
    partial = tmp_path / "package.partial"
    assert f"{partial} keeps what is done: the plan, and {4 - concerned} of 4 segments" in caught.value.hint
    assert "--restart starts over" in caught.value.hint
    assert metspack.status(partial).segments_done == 4 - concerned
    lobs = (each.relative_to(partial / "package") for each in partial.rglob("record*.*"))
    before = {each: (partial / "package" / each).stat().st_mtime_ns for each in lobs}
    metspack.build(northwind, target, options)
    assert tree(target) == tree(tmp_path / "expected")
    assert not partial.exists()
    assert sum((target / each).stat().st_mtime_ns == at for each, at in before.items()) >= 4


def test_the_disk_is_suspected_where_bytes_differ(northwind: Path, tmp_path: Path, damaging: Any) -> None:
    for damage, is_disk in (("a LOB", True), ("a LOB, gone", False)):
        damaging(_DAMAGES[damage][0])
        with pytest.raises(TargetError) as caught:
            metspack.build(northwind, tmp_path / "package", _options())
        assert ("the disk may be failing" in caught.value.hint) == is_disk, damage
        assert "report it as a fault of metspack" in caught.value.hint


@pytest.mark.slow
def test_a_merge_that_fails_its_check_copies_anew(northwind: Path, tmp_path: Path, damaging: Any) -> None:
    metspack.build(northwind, tmp_path / "divided", _options(dialect="csip"))
    given, options = [tmp_path / "divided"], PackageOptions(verify=True)
    metspack.merge(given, tmp_path / "expected", options)
    damaging(_flipping("**/data/*_lobs/**/*.*"))
    with pytest.raises(TargetError) as caught:
        metspack.merge(given, tmp_path / "merged", options)
    assert "merged.partial keeps what is done" in caught.value.hint
    metspack.merge(given, tmp_path / "merged", options)
    assert tree(tmp_path / "merged") == tree(tmp_path / "expected")
