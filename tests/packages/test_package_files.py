"""The files of a package have the same paths in a folder, a zip and a tar file."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from metspack.containers.ipreader import Compressed, OpenPacks, PackedError
from metspack.errors import SourceError
from metspack.files.byteranges import FileBelow, FileRange
from metspack.files.paths import names_of, path_of
from metspack.limits import Budgets
from metspack.packages.files import FolderTree, MountedTree, PackageFiles, PackageTree, PackedTree, open_file

FILES = {b"mets.xml": b"<mets/>", b"data/one.bin": b"1" * 70_000, b"data/deep/two.bin": b""}
FORMS = ("folder", "zip", "deflated zip", "tar")


@pytest.fixture
def shelf() -> Iterator[OpenPacks]:
    with closing(OpenPacks(Budgets())) as found:
        yield found


def put(folder: Path) -> Path:
    for path, content in FILES.items():
        place = folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def tree(form: str, where: Path, shelf: OpenPacks) -> PackageTree:
    """Return the same files in one of the forms, below a folder ``ip``."""
    folder = put(where / "ip")
    if form == "folder":
        return FolderTree(where, ("ip",))
    if form == "tar":
        with tarfile.open(where / "ip.tar", "w") as pack:
            pack.add(folder, "ip")
        return PackedTree(shelf, FileBelow(root=where, segments=("ip.tar",)), b"ip")
    method = zipfile.ZIP_STORED if form == "zip" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(where / "ip.zip", "w", method) as archive:
        for path, content in FILES.items():
            archive.writestr(f"ip/{os.fsdecode(path)}", content)
    return PackedTree(shelf, FileBelow(root=where, segments=("ip.zip",)), b"ip")


@pytest.mark.parametrize("form", FORMS)
def test_what_is_listed_is_read_and_opened_in_every_form(form: str, tmp_path: Path, shelf: OpenPacks) -> None:
    files = tree(form, tmp_path, shelf)
    items = {each.name: each for each in files.walk()}
    assert {name: each.size for name, each in items.items() if each.kind == "f"} == {
        name: len(content) for name, content in FILES.items()
    }
    assert {name for name, each in items.items() if each.kind == "d"} == {b"data", b"data/deep"}
    assert next(name for name in items if name.startswith(b"data")) == b"data"
    for path, content in FILES.items():
        assert files.is_there(path)
        with files.content(path) as found:
            assert (found.size, b"".join(found.chunks()), b"".join(found.blocks())) == (
                len(content),
                content,
                content,
            )
        place = files.location(path)
        assert place is not None
        with open_file(place) as opened:
            assert (opened.size, b"".join(opened.chunks())) == (len(content), content)
            assert opened.pread(10, 65_530) == content[65_530:65_540]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_there_cannot_be_opened(form: str, tmp_path: Path, shelf: OpenPacks) -> None:
    files = tree(form, tmp_path, shelf)
    assert not files.is_there(b"data/three.bin")
    with pytest.raises(FileNotFoundError), files.content(b"data/three.bin"):
        pass


@pytest.mark.parametrize("target", ["nowhere", "data", "/etc"])
def test_a_link_on_the_way_is_not_looked_behind(target: str, tmp_path: Path) -> None:
    files = FolderTree(put(tmp_path / "ip"))
    (tmp_path / "ip" / "link").symlink_to(target)
    assert files.is_there(b"link")
    assert files.is_there(b"link/no/mets.xml")
    assert not files.is_there(b"data/one.bin/mets.xml")
    assert not files.is_there(b"data/\0/mets.xml")


def test_where_bytes_lie(tmp_path: Path, shelf: OpenPacks) -> None:
    found = [tree(form, tmp_path / form, shelf).location(b"data/one.bin") for form in FORMS]
    assert [type(each) for each in found] == [FileBelow, FileRange, Compressed, FileRange]
    names = ("ip/data/one.bin", "ip.zip", "ip.zip", "ip.tar")
    assert [str(each) for each in found] == [
        str(tmp_path / form / name) for form, name in zip(FORMS, names, strict=True)
    ]


def test_a_link_in_a_folder_is_not_listed(tmp_path: Path) -> None:
    (put(tmp_path / "ip") / "link").symlink_to("/etc/passwd")
    with pytest.raises(SourceError, match="'link' is a symbolic link"):
        list(FolderTree(tmp_path / "ip").walk())


def test_a_mounted_tree_holds_what_is_below_its_path(tmp_path: Path, shelf: OpenPacks) -> None:
    whole = MountedTree(FolderTree(put(tmp_path / "base")))
    packed = tree("zip", tmp_path, shelf)
    before = whole.are_unpacked
    whole.mount(b"data/deep", packed)
    assert (before, whole.are_unpacked) == (True, False)
    assert whole.held(b"data/deep/data/one.bin") == (packed, b"data/one.bin")
    assert whole.held(b"data/deeper") == (whole.base, b"data/deeper")
    assert whole.is_there(b"data/deep")
    assert whole.is_there(b"data/deep/mets.xml")
    assert not whole.is_there(b"data/deep/two.bin")
    assert isinstance(whole.location(b"data/deep/mets.xml"), FileRange)


def test_a_packed_folder_is_mounted_once_its_mets_is_requested(tmp_path: Path, shelf: OpenPacks) -> None:
    tree("zip", tmp_path, shelf)
    for place in sorted((tmp_path / "ip").rglob("*"), reverse=True):
        (place.rmdir if place.is_dir() else place.unlink)()
    (tmp_path / "ip").rmdir()
    with closing(PackageFiles(tmp_path, Budgets())) as files:
        one = FileBelow(root=tmp_path, segments=("ip", "data", "one.bin"))
        assert files.place(one.segments) == one
        with files.document(("ip", "mets.xml")) as content:
            assert b"".join(content.chunks()) == FILES[b"mets.xml"]
        inside = files.place(one.segments)
        assert isinstance(inside, FileRange)
        assert (inside.file.segments, inside.size) == (("ip.zip",), 70_000)
        with pytest.raises(SourceError, match=r"ip\.zip/ip does not contain data/three\.bin"):
            files.place(("ip", "data", "three.bin"))
        with pytest.raises(FileNotFoundError), files.document(("elsewhere", "mets.xml")):
            pass


def test_a_damaged_zip_is_reported_without_its_path(tmp_path: Path, shelf: OpenPacks) -> None:
    files = tree("zip", tmp_path, shelf)
    content = bytearray((tmp_path / "ip.zip").read_bytes())
    content[content.index(b"1" * 9)] = 0
    (tmp_path / "ip.zip").write_bytes(content)
    with (
        pytest.raises(PackedError, match="CRC-32") as caught,
        files.content(b"data/one.bin") as found,
    ):
        list(found.chunks())
    assert str(tmp_path) not in caught.value.message


def test_names_and_paths_are_each_others_reverse() -> None:
    assert names_of(b"") == ()
    for path in (b"a", b"a/b c", b"a/\xff"):
        assert path_of(names_of(path)) == path


@pytest.mark.parametrize("form", FORMS[1:])
def test_a_packed_ip_is_found_also_from_a_path_of_many_names(
    form: str, tmp_path: Path, shelf: OpenPacks
) -> None:
    mounted = tree(form, tmp_path, shelf)
    files = MountedTree(FolderTree(tmp_path))
    files.mount(b"above/ip", mounted)
    many = b"/a" * 100_000
    assert files.held(b"above/ip" + many) == (mounted, many[1:])
    assert files.held(b"above/ip") == (mounted, b"")
    assert files.held(b"above/ip/data") == (mounted, b"data")
    for other in (b"above/ipa" + many, b"above/i" + many, b"above", many[1:]):
        assert files.held(other) == (files.base, other)
