"""Packages in zip and tar files have the findings of folders; other forms are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.options import FileSample
from tests.packages import csip, forge
from tests.packages.spread import tarred, zipped


def good(root: Path) -> None:
    forge.forge(root)


def damaged(root: Path) -> None:
    forge.forge(root)
    (root / forge.FIRST).write_bytes(b"x" * 403)
    (root / "Northwind_lobseg_1/mets.xml").unlink()
    (root / "note").touch()


def of_csip(root: Path) -> None:
    csip.forge(root)
    (root / "representations/rep1/data/stray.txt").write_text("whose?")


def lost(root: Path) -> None:
    forge.forge(root)
    (root / "mets.xml").unlink()


def exchanged(root: Path) -> None:
    forge.forge(root)
    lobs = sorted(each for each in root.rglob("*.*") if "content" in each.parts)
    first, second = lobs[0].read_bytes(), lobs[-1].read_bytes()
    lobs[0].write_bytes(second)
    lobs[-1].write_bytes(first)


KINDS = (good, damaged, of_csip, lost, exchanged)


def reported(path: Path, level: Level, sample: FileSample | None = None) -> Counter[tuple[str, str, str]]:
    """Return the findings by path in the package, code and message."""
    own = f"{path}/"
    found = check(path, level, sample=sample)
    texts = ((each, each.message.replace(own, "").replace(str(path), "")) for each in found)
    return Counter((each.path, each.code, text) for each, text in texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "level"), [*((make, Level.FULL) for make in KINDS), (damaged, Level.STRUCTURE)]
)
def test_a_package_gives_the_same_findings_in_every_form(
    make: Callable[[Path], None], level: Level, tmp_path: Path
) -> None:
    root = tmp_path / "package"
    make(root)
    expected = reported(root, level)
    if level is not Level.STRUCTURE:  # there the archive in a deflated zip file is not opened
        assert (
            reported(zipped(root, tmp_path / "a/package.zip", inside="package", keep=True), level) == expected
        )
    for name, backwards in (("b/package.tar", False), ("c/package.TAR", True)):
        packed = tarred(root, tmp_path / name, inside="package", keep=True, backwards=backwards)
        assert reported(packed, level) == expected
    if make is not of_csip:  # of which CSIP wants one folder in the file
        assert reported(tarred(root, tmp_path / "d/package.tar", keep=True), level) == expected


@pytest.mark.parametrize("name", ["x.7z", "x.RAR", "x.tar.gz", "x.zst", "x.tar.Z"])
def test_a_form_that_is_not_read_is_named(name: str, tmp_path: Path) -> None:
    forge.forge(tmp_path / "in/a")
    (tmp_path / "in" / name).write_bytes(b"?")
    found = list(check(tmp_path / "in"))
    assert [(each.path, each.code) for each in found] == [(f"{tmp_path}/in/{name}", "M013")]
    assert repr(name[1:].lower()) in found[0].message
