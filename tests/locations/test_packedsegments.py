"""LOBs in segments packed as zip files are located at their folders and read in place."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.containers import ipreader
from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.locations import grantedroots
from metspack.locations.resolver import Resolution, Resolver
from metspack.model import FileExtent, ZipExtent
from metspack.sources.archive import Archive
from tests import siards
from tests.laws import law
from tests.locations.test_resolver import cell, field, md5, only_opening_below, table
from tests.locations.unresolved import unresolved
from tests.siard.convention_archives import PACKED, Sample, zipped
from tests.tables import tabled, tables_of
from tests.trees import put


def resolver(root: Path, *further: Path, **given: object) -> Resolver:
    return Resolver(None, [root, *further], siard_name="Northwind.siard", **given)  # type: ignore[arg-type]


def data_of(opened: Resolver, found: Resolution) -> bytes:
    """Return a LOB's bytes, those of packed segments read with the standard library."""
    pieces = []
    for extent in found.extents:
        if isinstance(extent, ZipExtent):
            assert extent.archive >= 1
            (path,) = opened.packed[extent.archive - 1].paths
            with zipfile.ZipFile(str(path)) as archive:
                pieces.append(archive.read(extent.name))
        else:
            pieces.append(opened.roots[extent.root].joinpath(*extent.path).read_bytes())
        assert b"".join(opened.contents(extent)) == pieces[-1]
    assert found.size == sum(map(len, pieces))
    return b"".join(pieces)


def resolve(root: Path, file: str, *, column: str = "./", **given: object) -> bytes:
    with resolver(root) as opened:
        found = opened.resolved(table(field(lob_folder=column)), cell(file, **given))  # type: ignore[arg-type]
        return data_of(opened, found)


def paths(opened: Resolver) -> list[str]:
    return [str(path) for each in opened.packed for path in each.paths]


# --- Where they are -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", PACKED.values(), ids=PACKED.keys())
def test_packed_segments_are_found_as_their_folders_would_be(sample: Sample, tmp_path: Path) -> None:
    with Archive(sample.build(tmp_path)) as archive:
        (only,) = archive.metadata.tables
        cells = siards.cells(archive.tree.contents(archive.document(only)), only)
        with Resolver(
            archive.tree,
            [tmp_path],
            siard_name=archive.path.name,
            lob_folder=archive.metadata.lob_folder,
        ) as opened:
            for row, each in zip(sample.rows, cells, strict=True):
                found = opened.resolved(only, each)
                assert data_of(opened, found) == row.data
                assert found.convention.letter == sample.letter
            assert paths(opened) == [str(tmp_path / each) for each in sample.packed]


@pytest.mark.parametrize("database", ["file:///d:/sips/sip1234.zip/", "D:\\sips\\sip1234.zip"])
def test_a_uri_may_lead_into_a_zip_file(database: str, tmp_path: Path) -> None:
    zipped(tmp_path / "drive/sips/sip1234.zip", {"lobs/r.bin": b"one", "sip1234/lobs/q.bin": b"two"})
    root = tmp_path / "package"
    root.mkdir()
    with resolver(root, lob_folder=database, drives={"D:": tmp_path / "drive"}) as opened:
        only = table(field(lob_folder="lobs/"))
        assert data_of(opened, opened.resolved(only, cell("r.bin", length=3))) == b"one"
        assert data_of(opened, opened.resolved(only, cell("q.bin", length=3))) == b"two"


def test_a_zip_file_of_a_granted_root_is_read_and_no_other(tmp_path: Path) -> None:
    zipped(tmp_path / "store/seg_0.zip", {"r.bin": b"x"})
    root = tmp_path / "package"
    root.mkdir()
    only, lob = table(field(lob_folder=f"{tmp_path}/store/")), cell("seg_0/r.bin")
    with resolver(root) as opened, pytest.raises(SourceError, match="outside every granted folder"):
        opened.resolved(only, lob)
    with resolver(root, tmp_path / "store") as opened:
        assert data_of(opened, opened.resolved(only, lob)) == b"x"


def test_a_folder_named_like_a_zip_file_is_a_folder(tmp_path: Path) -> None:
    put(tmp_path, {"sip.zip/r.bin": b"file", "seg_0.zip/other": b""})
    assert resolve(tmp_path, "sip.zip/r.bin") == b"file"
    with unresolved("missing"):
        resolve(tmp_path, "seg_0/r.bin")


def test_the_file_at_the_end_of_a_path_is_the_lob_and_not_looked_into(tmp_path: Path) -> None:
    data = zipped(tmp_path / "lobs/r.zip", {"r.bin": b"x"}).read_bytes()
    assert resolve(tmp_path, "lobs/r.zip", length=len(data)) == data
    with unresolved("missing"):
        resolve(tmp_path, "lobs/r")


# --- Numbers --------------------------------------------------------------------------------------------


def test_entries_of_different_zip_files_are_different_things(tmp_path: Path) -> None:
    zipped(tmp_path / "X_lobs/c.zip", {"r.bin": b"12345"})
    zipped(tmp_path / "c.zip", {"r.bin": b"54321"})
    only = table(field(lob_folder="c/"))
    with resolver(tmp_path, lob_folder="../X_lobs/") as opened:
        with unresolved("ambiguous") as caught:
            opened.resolved(only, cell("r.bin", length=5))
        for each in ("X_lobs/c.zip", "c.zip"):
            assert f" 'in {tmp_path}/{each}: r.bin': 5 bytes" in caught.value.message
        found = opened.resolved(only, cell("r.bin", digest=md5(b"54321")))
        assert data_of(opened, found) == b"54321"


# --- More than one thing in one place -------------------------------------------------------------------


def twice(root: Path, first: bytes, second: bytes, *, where: str) -> Path:
    """Put a LOB in one place two times: packed twice in a zip file, in two, or packed and unpacked."""
    if where == "one zip":
        zipped(root / "lobs/seg_0.zip", {"r.bin": first, "seg_0/r.bin": second})
    elif where == "two zips":
        zipped(root / "lobs/seg_0.zip", {"r.bin": first})
        zipped(root / "lobs.zip", {"lobs/seg_0/r.bin": second})
    else:
        put(root, {"lobs/seg_0/r.bin": first})
        zipped(root / "lobs/seg_0.zip", {"r.bin": second})
    return root


WHERE = ["one zip", "two zips", "folder and zip"]


@pytest.mark.parametrize(
    ("where", "column"), list(zip(WHERE, ("./lobs/", "../lobs/", "./lobs/"), strict=True))
)
def test_a_lob_that_is_there_twice_is_an_error_when_it_differs(
    where: str, column: str, tmp_path: Path
) -> None:
    root = twice(tmp_path, b"12345", b"54321", where=where)
    with unresolved("ambiguous", match="2 files or entries can be its LOB, and they differ") as caught:
        resolve(root, "seg_0/r.bin", column=column, length=5)
    assert ".zip: " in caught.value.message
    with unresolved("ambiguous", match="none of them has the cell's digest"):
        resolve(root, "seg_0/r.bin", column=column, digest=md5(b""))
    for data in (b"12345", b"54321"):
        assert resolve(root, "seg_0/r.bin", column=column, digest=md5(data)) == data


@pytest.mark.parametrize("where", WHERE)
def test_a_lob_that_is_there_twice_and_equal_is_no_error(where: str, tmp_path: Path) -> None:
    root = twice(tmp_path, b"12345", b"12345", where=where)
    assert resolve(root, "seg_0/r.bin", column="./lobs/") == b"12345"


# --- Parts ----------------------------------------------------------------------------------------------

SPLIT = tables_of(__file__)["split"]
WHOLE = b"one-two-three"


def split(name: str, root: Path, *, take: str = "") -> tuple[str, str]:
    for path, entries in SPLIT[name]["archives"].items():
        if path != take:
            zipped(root / path, {entry: text.encode() for entry, text in entries.items()})
    return SPLIT[name]["column"], SPLIT[name]["file"]


@pytest.mark.parametrize("name", SPLIT)
def test_parts_in_packed_segments_are_read_as_the_whole(name: str, tmp_path: Path) -> None:
    column, file = split(name, tmp_path)
    assert resolve(tmp_path, file, column=column, length=len(WHOLE), digest=md5(WHOLE)) == WHOLE


def test_parts_may_be_packed_and_unpacked(tmp_path: Path) -> None:
    column, file = split("2.2", tmp_path, take="lobs/seg_1.zip")
    put(tmp_path, {"lobs/seg_1/r.bin_part002": b"two-"})
    with resolver(tmp_path) as opened:
        found = opened.resolved(table(field(lob_folder=column)), cell(file))
        assert [type(each) for each in found.extents] == [ZipExtent, FileExtent, ZipExtent]
        assert data_of(opened, found) == WHOLE


@tabled
def test_a_part_in_a_missing_zip_file_is_named(name: str, take: str, says: str, tmp_path: Path) -> None:
    column, file = split(name, tmp_path, take=take)
    with unresolved("missing", match=says.replace(".", r"\.")):
        resolve(tmp_path, file, column=column, length=len(WHOLE))


def test_a_part_that_is_there_packed_and_unpacked_is_an_error_when_it_differs(tmp_path: Path) -> None:
    column, file = split("2.2", tmp_path)
    put(tmp_path, {"lobs/seg_1/r.bin_part002": b"TWO-"})
    with unresolved("ambiguous", match="one part of a LOB exists 2 times: ") as caught:
        resolve(tmp_path, file, column=column)
    assert f"'in {tmp_path}/lobs/seg_1.zip: seg_1/r.bin_part002'" in caught.value.message
    put(tmp_path, {"lobs/seg_1/r.bin_part002": b"two-"})
    assert resolve(tmp_path, file, column=column) == WHOLE


# --- What is refused ------------------------------------------------------------------------------------


@tabled
def test_a_zip_file_behind_a_link_is_refused(link: str, file: str, says: str, tmp_path: Path) -> None:
    there = zipped(tmp_path / "there/seg_0.zip", {"r.bin": b"secret"})
    root = tmp_path / "package"
    root.mkdir()
    (root / link).symlink_to(there.parent if link == "lobs" else there)
    with unresolved("refused") as caught:
        resolve(root, file)
    assert says.format(root=root) in caught.value.message
    assert "symbolic link" in caught.value.hint


def test_a_link_put_in_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = zipped(tmp_path / "there.zip", {"r.bin": b"secret"})
    root = tmp_path / "package"
    path = zipped(root / "seg_0.zip", {"r.bin": b"x"})
    real = grantedroots.mode_of

    def swapped(name: str, folder: int) -> int | None:
        mode = real(name, folder)
        if name == "seg_0.zip":
            path.unlink()
            path.symlink_to(there)
        return mode

    monkeypatch.setattr("metspack.locations.packedsegments.mode_of", swapped)
    with unresolved("refused", match=r"seg_0\.zip: cannot be opened: ") as caught:
        resolve(root, "seg_0/r.bin")
    assert "symbolic link" in caught.value.hint


def damaged(path: Path) -> None:
    path.write_bytes(zipped(path, {"r.bin": b"x" * 100}).read_bytes()[:-10])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def unfit(path: Path) -> None:
    zipped(path, {"../r.bin": b"x"})


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("put", "says"),
    [
        (damaged, r"seg_0\.zip: "),
        (empty, r"seg_0\.zip: is empty; expected a zip file"),
        (unfit, r"'\.\./r\.bin'.* segment"),
        (pipe, r"seg_0\.zip' is a named pipe"),
    ],
    ids=["damaged", "empty", "unfit", "pipe"],
)
def test_a_zip_file_that_cannot_be_read_is_named_with_the_reason(
    put: object, says: str, tmp_path: Path
) -> None:
    assert callable(put)
    put(tmp_path / "seg_0.zip")
    with resolver(tmp_path) as opened:
        for _again in range(2):
            with unresolved("refused", match=says) as caught:
                opened.resolved(table(field(lob_folder="./")), cell("seg_0/r.bin"))
            assert "the packed segment " in caught.value.message
            assert f"{tmp_path}/seg_0.zip" in caught.value.message
            assert caught.value.hint
        assert opened.packed == ()


def test_a_damaged_zip_file_does_not_hide_what_is_elsewhere(tmp_path: Path) -> None:
    empty(tmp_path / "lobs.zip")
    zipped(tmp_path / "lobs/seg_0.zip", {"r.bin": b"packed"})
    put(tmp_path, {"lobs/seg_1/r.bin": b"unpacked"})
    assert resolve(tmp_path, "seg_0/r.bin", column="lobs/") == b"packed"
    assert resolve(tmp_path, "seg_1/r.bin", column="lobs/") == b"unpacked"


def test_the_budgets_are_those_that_are_given(tmp_path: Path) -> None:
    zipped(tmp_path / "seg_0.zip", {"q.bin": b"x", "r.bin": b"x"})
    with (
        resolver(tmp_path, budgets=Budgets(entries=1)) as opened,
        unresolved("refused", match=r"seg_0\.zip: has 2 entries; expected at most 1"),
    ):
        opened.resolved(table(field(lob_folder="./")), cell("seg_0/r.bin"))


def test_a_zip_file_that_changes_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ipreader, "_OPEN", 1)
    path = zipped(tmp_path / "seg_0.zip", {"r.bin": b"x"})
    zipped(tmp_path / "seg_1.zip", {"r.bin": b"y"})
    only = table(field(lob_folder="./"))
    with resolver(tmp_path) as opened:
        (extent,) = opened.resolved(only, cell("seg_0/r.bin")).extents
        opened.resolved(only, cell("seg_1/r.bin"))
        os.utime(path, ns=(1, 1))
        with pytest.raises(SourceError, match=r"seg_0\.zip was changed since it was found"):
            list(opened.contents(extent))
        with unresolved("refused", match=r"seg_0\.zip was changed since it was found"):
            opened.resolved(only, cell("seg_0/r.bin"))
        path.unlink()
        with pytest.raises(SourceError, match=r"seg_0\.zip: cannot be opened: No such file") as caught:
            list(opened.contents(extent))
        assert caught.value.hint


def test_an_entry_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "seg_0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("r.bin", b"the bytes")
    path.write_bytes(path.read_bytes().replace(b"the bytes", b"The bytes"))
    with resolver(tmp_path) as opened:
        (extent,) = opened.resolved(table(field(lob_folder="./")), cell("seg_0/r.bin")).extents
        with pytest.raises(SourceError, match=r"seg_0\.zip.*'r\.bin'.*CRC-32"):
            list(opened.contents(extent))


# --- What is not there ----------------------------------------------------------------------------------


# --- Nothing outside the roots is opened ------------------------------------------------------------------

PIECE = st.sampled_from(["..", "seg_0", "seg_0.zip", "lobs", "lobs.zip", "out", "out.zip", "r.bin", "q.zip"])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a package full of zip files, and of links that lead to zip files beside it."""
    folder = tmp_path_factory.mktemp("packed")
    secret = zipped(folder / "secret.zip", {"r.bin": b"secret", "lobs/r.bin": b"secret"})
    zipped(folder / "lobs.zip", {"r.bin": b"secret"})
    root = folder / "package"
    zipped(root / "seg_0.zip", {"r.bin": b"fine", "seg_0/r.bin": b"fine", "lobs/seg_0/r.bin": b"fine"})
    zipped(root / "lobs/seg_0.zip", {"r.bin": b"fine"})
    empty(root / "q.zip")
    (root / "out").symlink_to("..")
    (root / "out.zip").symlink_to(secret)
    (root / "lobs/lobs.zip").symlink_to("../../lobs.zip")
    return root


@given(st.lists(PIECE, min_size=1, max_size=5), st.sampled_from(["./", "../", "lobs/", "./out/"]))
@law(60)
def test_no_path_opens_a_zip_file_outside_the_roots(hostile: Path, pieces: list[str], column: str) -> None:
    with only_opening_below(hostile), resolver(hostile) as opened:
        try:
            found = opened.resolved(table(field(lob_folder=column)), cell("/".join(pieces), length=4))
        except SourceError:
            return
        data = b"".join(block for each in found.extents for block in opened.contents(each))
    assert data == b"fine"


# --- Below a root, a medium follows no link ---------------------------------------------------------------
