"""An unpacked archive reads as its zip file does; links in the folder are not followed."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.containers.zipreader import ZipContainer
from metspack.errors import SourceError
from metspack.files import walking
from metspack.model import FileExtent, ZipExtent
from metspack.siard.entries import (
    AnyTree,
    ArchiveEntries,
    FolderEntries,
    WrappedTree,
    contents,
    wrapping_root,
)
from metspack.siard.metadata import NAME as METADATA
from tests.laws import law
from tests.tables import tabled
from tests.trees import put

ARCHIVE = {
    METADATA: b"<siardArchive/>",
    "content/schema0/table0/table0.xml": b"<table/>",
    "content/schema0/table0/lob1/record0.bin": b"\0" * 3_000_000,
    "content/schema0/table0/lob1/record1.bin": b"",
}


def zipped(path: Path, root: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(root.rglob("*")):
            archive.write(each, each.relative_to(root))
    return path


def everything(tree: AnyTree) -> dict[str, bytes | None]:
    def data(name: str) -> bytes | None:
        if name.endswith("/"):
            return None
        extent = tree.extent(name)
        assert extent is not None
        return b"".join(tree.contents(extent))

    return {name: data(name) for name in tree.names()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return put(tmp_path / "Unpacked", ARCHIVE)


def refused(root: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        FolderEntries(root)
    assert str(root) in caught.value.message
    assert caught.value.hint
    return caught.value


# A folder as a tree


def test_a_folder_has_the_names_and_bytes_of_its_zip(root: Path, tmp_path: Path) -> None:
    with FolderEntries(root) as tree, ZipContainer.opened(zipped(tmp_path / "a.siard", root)) as container:
        of_zip: ArchiveEntries[ZipExtent] = container
        of_folder: ArchiveEntries[FileExtent] = tree
        assert list(of_folder.names()) == list(of_zip.names())
        assert everything(of_folder) == everything(of_zip)
        assert len(tree) == len(container)
        tree.check_unchanged()


@pytest.mark.parametrize("name", ["", "content/", "content", "/header/metadata.xml", "none", "\ud800"])
def test_what_is_no_file_has_no_extent(root: Path, name: str) -> None:
    with FolderEntries(root) as tree:
        assert tree.extent(name) is None


def test_names_begin_with_the_prefix(root: Path) -> None:
    with FolderEntries(root) as tree:
        assert list(tree.names("header")) == ["header/", METADATA]
        assert not list(tree.names("headers"))
        assert not list(tree.names("zz"))


NAME = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\:"), min_size=1, max_size=20
)


@law(30)
@given(st.sets(NAME.filter(lambda name: name not in {".", ".."} and len(name.encode()) < 200), max_size=20))
def test_names_are_sorted_by_code_points(names: set[str]) -> None:
    with TemporaryDirectory() as folder:
        put(Path(folder), dict.fromkeys(names, b""))
        on_disk = [os.fsdecode(name) for name in os.listdir(os.fsencode(folder))]
        with FolderEntries(Path(folder)) as tree:
            assert list(tree.names()) == sorted(on_disk)


def test_a_link_to_the_root_is_taken_for_it(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    with FolderEntries(tmp_path / "link") as tree:
        assert tree.extent(METADATA) is not None


# What is refused


def test_links_and_pipes_are_refused(root: Path) -> None:
    (root / "content" / "link.bin").symlink_to(root / METADATA)
    assert "'content/link.bin' is a symbolic link" in refused(root).message
    (root / "content" / "link.bin").unlink()
    os.mkfifo(root / "pipe")
    assert "'pipe' is a named pipe" in refused(root).message


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (b"a\\b", "holds a backslash"),
        (b"a\nb", "the control character U+000A"),
        (b"a\x7fb", "the control character U+007F"),
        ("a\x85b".encode(), "the control character U+0085"),
        (b"a\xe4b", "is not UTF-8"),
        (b"C:x", "drive letter"),
    ],
)
def test_a_name_that_no_archive_could_hold_is_refused(root: Path, name: bytes, fault: str) -> None:
    try:
        os.close(os.open(os.fsencode(root) + b"/" + name, os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"the file system takes no such name: {error}")
    message = refused(root).message
    assert fault in message
    assert message.isprintable()


def test_what_is_no_folder_is_refused(root: Path) -> None:
    assert "cannot be read" in refused(root / METADATA).message
    assert "cannot be read" in refused(root / "none").message


def test_folders_within_folders_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "DEEPEST", 3)
    put(tmp_path, {"a/b/c/d.bin": b""})
    with FolderEntries(tmp_path) as tree:
        assert len(tree) == 4
    put(tmp_path, {"a/b/c/d/e.bin": b""})
    (tmp_path / "a/b/c/d.bin").unlink()
    assert "more than 3 deep" in refused(tmp_path).message


# Bytes are those that were found


NAME_OF_LOB = "content/schema0/table0/lob1/record0.bin"


def extent_of(root: Path, name: str) -> FileExtent:
    with FolderEntries(root) as tree:
        extent = tree.extent(name)
    assert extent is not None
    return extent


def read_error(root: Path, extent: FileExtent) -> str:
    with pytest.raises(SourceError) as caught:
        list(contents(root, extent))
    assert caught.value.hint
    return caught.value.message


def test_a_file_changed_since_is_not_read(root: Path) -> None:
    extent = extent_of(root, NAME_OF_LOB)
    (root / NAME_OF_LOB).write_bytes(b"other")
    message = read_error(root, extent)
    assert f"{NAME_OF_LOB!r} was changed since it was found" in message
    assert "it has 5 bytes; expected 3,000,000" in message


def test_another_file_in_its_place_is_not_read(root: Path) -> None:
    extent = extent_of(root, NAME_OF_LOB)
    path = root / NAME_OF_LOB
    other = root / "other"
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(extent.modified, extent.modified))
    other.replace(path)
    assert read_error(root, extent).endswith("was changed since it was found")


def test_a_file_changed_while_it_is_read_is_noticed(root: Path) -> None:
    blocks = contents(root, extent_of(root, NAME_OF_LOB))
    next(blocks)
    os.utime(root / NAME_OF_LOB, ns=(1, 1))
    with pytest.raises(SourceError, match="was changed while it was read"):
        list(blocks)


def test_a_file_cut_while_it_is_read_is_noticed(root: Path) -> None:
    blocks = contents(root, extent_of(root, NAME_OF_LOB))
    next(blocks)
    os.truncate(root / NAME_OF_LOB, 2_000_000)
    with pytest.raises(SourceError, match=r"ends at byte 2,000,000; expected 3,000,000 bytes"):
        list(blocks)


def test_a_file_that_is_gone_or_a_link_now_is_not_read(root: Path) -> None:
    extent = extent_of(root, NAME_OF_LOB)
    (root / NAME_OF_LOB).unlink()
    assert "cannot be read: No such file" in read_error(root, extent)
    (root / NAME_OF_LOB).symlink_to(root / METADATA)
    assert "cannot be read" in read_error(root, extent)


def test_a_folder_that_changed_is_noticed(root: Path) -> None:
    with FolderEntries(root) as tree:
        tree.check_unchanged()
        (root / "new").mkdir()
        with pytest.raises(SourceError, match="'new/' was added"):
            tree.check_unchanged()
        (root / "new").rmdir()
        os.utime(root / METADATA, ns=(1, 1))
        with pytest.raises(SourceError, match=f"'{METADATA}' was changed"):
            tree.check_unchanged()
        (root / METADATA).unlink()
        with pytest.raises(SourceError, match=r"1 of 9 files and folders are gone"):
            tree.check_unchanged()


# One folder further down


def test_a_wrapped_archive_reads_as_if_it_were_not(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outer").mkdir()
    root.rename(tmp_path / "outer" / "my_archive")
    beside = ["my_archivx", "__MACOSX/my_archive/._header", "z_lobs/header"]
    put(tmp_path / "outer", dict.fromkeys(beside, b""))
    with FolderEntries(tmp_path / "outer" / "my_archive") as tree:
        expected = everything(tree)
    outer = FolderEntries(tmp_path / "outer")
    assert wrapping_root(outer) == "my_archive/"
    wrapped = WrappedTree(outer, "my_archive/")
    assert wrapping_root(wrapped) is None
    assert everything(wrapped) == expected
    assert list(wrapped.names("header/")) == ["header/", METADATA]
    assert wrapped.extent("") is None
    wrapped.check_unchanged()
    wrapped.close()


@tabled
def test_no_root_wraps_unless_exactly_one_holds_the_metadata(tmp_path: Path, files: list[str]) -> None:
    with FolderEntries(put(tmp_path, {each.format(METADATA=METADATA): b"" for each in files})) as tree:
        assert wrapping_root(tree) is None
