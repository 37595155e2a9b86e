"""Packages in tar files that gzip has compressed: read as a stream, with the findings of their folders."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.options import FileSample
from metspack.errors import SourceError
from metspack.files import byteranges
from metspack.files.byteranges import GzipMedium
from tests.findings import ordered
from tests.packages import csip, forge
from tests.packages.spread import moved, tarred, zipped


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


def told(path: Path, level: Level, sample: FileSample | None = None) -> Counter[tuple[str, str, str]]:
    """Return the findings by path in the package, code and message."""
    own = f"{path}/"
    found = check(path, level, sample=sample)
    texts = ((each, each.message.replace(own, "").replace(str(path), "")) for each in found)
    return Counter((each.path, each.code, text) for each, text in texts)


@pytest.mark.slow
@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("make", KINDS)
def test_a_package_gives_the_same_findings_in_every_form(
    make: Callable[[Path], None], level: Level, tmp_path: Path
) -> None:
    root = tmp_path / "package"
    make(root)
    expected = told(root, level)
    if level is not Level.STRUCTURE:  # there the archive in a deflated zip file is not opened
        assert told(zipped(root, tmp_path / "a/package.zip", inside="package", keep=True), level) == expected
    for name in ("b/package.tar", "b/package.tar.gz", "b/package.tgz"):
        assert told(tarred(root, tmp_path / name, inside="package", keep=True), level) == expected
    turned = tarred(root, tmp_path / "c/package.TAR.GZ", inside="package", keep=True, backwards=True)
    assert told(turned, level) == expected
    shutil.copyfile(tmp_path / "b/package.tgz", tmp_path / "c/package.tar")
    shutil.copyfile(tmp_path / "b/package.tar", tmp_path / "c/package.tgz")
    assert told(tmp_path / "c/package.tar", level) == expected
    assert told(tmp_path / "c/package.tgz", level) == expected
    if make is not of_csip:  # of which CSIP wants one folder in the file
        assert told(tarred(root, tmp_path / "d/package.tgz", keep=True), level) == expected


def test_a_sample_is_of_the_same_files(tmp_path: Path) -> None:
    root = tmp_path / "package"
    damaged(root)
    for count in (1, 3, 5):
        expected = told(root, Level.FULL, FileSample(text=str(count), share=None, files=count))
        packed = tarred(root, tmp_path / f"{count}/package.tgz", inside="package", keep=True)
        assert told(packed, Level.FULL, FileSample(text=str(count), share=None, files=count)) == expected


# --- how often it is read ---------------------------------------------------------------------------------


@pytest.fixture
def inflated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes inflated each time, with blocks and spaces so small as a package is in a test."""
    counts: list[int] = []
    inflate = GzipMedium._inflate_given

    def counted(self: GzipMedium, state: byteranges._Inflating) -> None:
        before = state.at
        inflate(self, state)
        counts.append(state.at - before)

    monkeypatch.setattr(GzipMedium, "_inflate_given", counted)
    for name, value in {"_READ": 512, "_INFLATED": 2048, "_SPACING": 4096, "_COPIES": 8}.items():
        monkeypatch.setattr(byteranges, name, value)
    return counts


def size(path: Path) -> int:
    return len(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_compressed_package_is_inflated_about_twice(
    inflated: list[int], tmp_path: Path, *, backwards: bool
) -> None:
    forge.forge(tmp_path / "package")
    packed = tarred(tmp_path / "package", tmp_path / "package.tgz", inside="package", backwards=backwards)
    assert list(check(packed)) == []
    assert sum(inflated) < 2.5 * size(packed)


def test_a_delivery_of_more_packages_than_stay_open_is_inflated_no_oftener(
    inflated: list[int], tmp_path: Path
) -> None:
    forge.forge(tmp_path / "package")
    first = tarred(tmp_path / "package", tmp_path / "in/0.tgz", inside="package")
    for number in range(1, 40):
        shutil.copyfile(first, tmp_path / f"in/{number}.tgz")
    assert {each.code for each in check(tmp_path / "in", Level.FIXITY)} == {"L041"}
    assert sum(inflated) < 40 * 2.5 * size(first)


# --- what cannot be read ----------------------------------------------------------------------------------


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-900])


def _changed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _of_text(path: Path) -> None:
    path.write_bytes(gzip.compress(b"no tar file" * 99))


def _renamed(path: Path) -> None:
    path.rename(path.with_suffix(".gz"))


@pytest.mark.parametrize(
    ("damage", "name", "said"),
    [
        (_cut, "b.tgz", "is cut off: the gzip stream has no end, near byte"),
        (_changed, "b.tgz", "is damaged: "),
        (_of_text, "b.tgz", "is gzip-compressed, and no tar file"),
        (_renamed, "b.gz", "its name has to end with .tar.gz or .tgz, as it is a tar file"),
    ],
)
def test_what_is_damaged_is_told_of_the_one_and_the_rest_goes_on(
    damage: Callable[[Path], None], name: str, said: str, tmp_path: Path
) -> None:
    damaged(tmp_path / "in/a")
    expected = Counter((f"{tmp_path}/in/a/{each.path}", each.code) for each in check(tmp_path / "in/a"))
    forge.forge(tmp_path / "b")
    damage(tarred(tmp_path / "b", tmp_path / "in/b.tgz", inside="b"))
    found = list(check(tmp_path / "in"))
    assert Counter((each.path, each.code) for each in found) == expected + Counter(
        [(str(tmp_path / "in" / name), "M012")]
    )
    assert said in next(each.message for each in found if each.code == "M012")
    with pytest.raises(SourceError) as caught:
        list(check(tmp_path / "in" / name))
    assert caught.value.hint


@pytest.mark.parametrize(
    "name", ["x.7z", "x.RAR", "x.tar.xz", "x.txz", "x.tar.bz2", "x.tbz2", "x.tar.zst", "x.zst", "x.tar.Z"]
)
def test_a_form_that_is_not_read_is_named(name: str, tmp_path: Path) -> None:
    forge.forge(tmp_path / "in/a")
    (tmp_path / "in" / name).write_bytes(b"?")
    found = list(check(tmp_path / "in"))
    assert [(each.path, each.code) for each in found] == [(f"{tmp_path}/in/{name}", "M013")]
    assert repr(name[1:].lower()) in found[0].message


def test_other_files_that_are_compressed_are_none_of_a_delivery(tmp_path: Path) -> None:
    forge.forge(tmp_path / "in/a")
    (tmp_path / "in/notes.txt.gz").write_bytes(gzip.compress(b"notes"))
    assert list(check(tmp_path / "in")) == []


# --- links ------------------------------------------------------------------------------------------------


def codes(paths: Sequence[Path], *roots: Path) -> list[str]:
    return [each.code for each in ordered(check(paths, roots=roots))]


def test_a_child_in_a_compressed_tar_file_is_found(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    child = moved(root, 1, "disk")
    packed = tarred(child, tmp_path / "disk/any.tar.gz", inside=child.name)
    assert codes([root], tmp_path / "disk") == ["L011"]
    assert codes([root], packed) == ["L011"]
    assert "L010" not in codes([root, packed])


def test_a_child_compressed_where_it_lies_is_found_and_its_damage_told(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    child = root / "Northwind_lobseg_1"
    expected = codes([zipped_copy(root, tmp_path / "other", child.name)])
    packed = tarred(child, root / f"{child.name}.tar.gz", inside=child.name)
    assert codes([root]) == expected
    _cut(packed)
    assert "P011" in codes([root])


def zipped_copy(root: Path, other: Path, name: str) -> Path:
    shutil.copytree(root, other / root.name)
    zipped(other / root.name / name, other / root.name / f"{name}.zip", inside=name)
    return other / root.name


def test_siblings_in_compressed_tar_files_are_one_package(tmp_path: Path) -> None:
    root = csip.divide(tmp_path / "set")
    for each in sorted(root.iterdir()):
        if each.is_dir():
            tarred(each, root / f"{each.name}.tar.gz", inside=each.name)
    run = check(root)
    assert list(run) == []
    assert [graph.path for graph in run.graphs] == [str(root)]


def test_the_kind_names_the_form(tmp_path: Path) -> None:
    forge.forge(tmp_path / "package")
    run = check(tarred(tmp_path / "package", tmp_path / "x.tar.gz", inside="package"))
    list(run)
    (result,) = run.summary.results
    assert result.kind.endswith(", in a tar.gz file")
