from __future__ import annotations

import codecs
import hashlib
import os
import socket
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import digests
from metspack.errors import ConfigError, SourceError
from metspack.locations import Convention
from metspack.locations.errors import LobUnresolved
from metspack.locations.mappingtxt import read_mapping
from metspack.locations.resolver import Resolution, Resolver
from metspack.model import Digest, ExtentColumns, FileExtent, LobCell, LobPlace, ZipExtent
from metspack.siard.metadata import Field, Table
from metspack.sizes import TextLength
from metspack.sources.archive import Archive
from metspack.uris import Repair, shown
from tests import siards
from tests.laws import law
from tests.locations.unresolved import unresolved
from tests.shared_data import shared
from tests.siard.convention_archives import SAMPLES, TABLE, Sample, absolute
from tests.tables import tabled, tables_of
from tests.trees import put

# --- Resolvers over a tree in memory and files on disk --------------------------------------------------


class Entries:
    """An archive's entries, held in memory; counts how often it is asked."""

    def __init__(self, entries: Mapping[str, bytes]) -> None:
        self.entries = entries
        self.lookups = 0

    def columns(self, names: Sequence[str]) -> ExtentColumns | None:  # noqa: ARG002
        """Return None: each goes by itself."""
        return None

    def extent(self, name: str) -> ZipExtent | None:
        self.lookups += 1
        data = self.entries.get(name)
        if data is None:
            return None
        size = len(data)
        return ZipExtent(
            name=name, offset=0, limit=size, compressed=size, size=size, crc=0, method=0, flags=0
        )

    def names(self, prefix: str = "") -> Iterator[str]:
        raise NotImplementedError  # a search for a LOB never lists entries

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        raise NotImplementedError  # a search for a LOB never lists entries

    def contents(self, extent: ZipExtent) -> Iterator[bytes]:
        yield self.entries[extent.name]

    def check_unchanged(self) -> None:
        """It stays."""

    def close(self) -> None:
        """Succeed: a tree in memory stays open."""


def field(
    *fields: Field, lob_folder: str | None = None, folder: str | None = None, kind: str = "BLOB"
) -> Field:
    return Field(
        number=1, name="x", type=kind, lob_folder=lob_folder, folder=folder, mime_type=None, fields=fields
    )


def table(*columns: Field, number: int = 2) -> Table:
    return Table(
        schema=0,
        number=number,
        name="Categories",
        schema_name="dbo",
        folder=f"table{number}",
        schema_folder="schema0",
        rows=None,
        columns=columns,
    )


def md5(data: bytes) -> Digest:
    return Digest(algorithm="MD5", value=hashlib.md5(data, usedforsecurity=False).hexdigest())


def cell(
    file: str, *, length: int | None = None, digest: Digest | None = None, path: str = "c1", row: int = 1
) -> LobCell:
    return LobCell(
        place=LobPlace(schema=0, table=2, cell=path, row=row), file=file, length=length, digest=digest
    )


def data_of(resolver: Resolver, resolution: Resolution, entries: Mapping[str, bytes] | None = None) -> bytes:
    """Return a LOB's bytes without the code under test."""
    pieces = []
    for extent in resolution.extents:
        if isinstance(extent, FileExtent):
            path = resolver.roots[extent.root].joinpath(*extent.path)
            status = path.stat()
            assert (extent.size, extent.modified, extent.inode, extent.device) == (
                status.st_size,
                status.st_mtime_ns,
                status.st_ino,
                status.st_dev,
            )
            pieces.append(path.read_bytes())
        else:
            assert entries is not None
            pieces.append(entries[extent.name])
    data = b"".join(pieces)
    assert resolution.size == len(data)
    return data


def resolve(
    root: Path,
    file: str,
    *,
    database: str | None = None,
    column: str | None = None,
    inside: Mapping[str, bytes] | None = None,
    roots: Sequence[Path] = (),
    drives: Mapping[str, Path] | None = None,
    length: int | None = None,
    digest: Digest | None = None,
    kind: str = "BLOB",
    siard: str = "Northwind.siard",
) -> tuple[Resolution, bytes]:
    resolver = Resolver(
        None if inside is None else Entries(inside),
        [root, *roots],
        siard_name=siard,
        lob_folder=database,
        drives=drives or {},
    )
    found = resolver.resolved(
        table(field(lob_folder=column, kind=kind)), cell(file, length=length, digest=digest)
    )
    return found, data_of(resolver, found, inside)


# --- Every convention, in whole archives ----------------------------------------------------------------


def check_sample(sample: Sample, folder: Path) -> Resolver:
    with Archive(sample.build(folder)) as archive:
        resolver = Resolver(
            archive.tree,
            [folder],
            siard_name=archive.path.name,
            lob_folder=archive.metadata.lob_folder,
        )
        (only,) = archive.metadata.tables
        cells = siards.cells(archive.tree.contents(archive.document(only)), only)
        for row, each in zip(sample.rows, cells, strict=True):
            found = resolver.resolved(only, each)
            data = b"".join(block for extent in found.extents for block in resolver.contents(extent))
            assert data == row.data
            assert found.convention.letter == sample.letter
            assert bool(found.warnings) != found.convention.is_statement
        return resolver


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_each_convention_gives_the_right_bytes_under_its_own_letter(sample: Sample, tmp_path: Path) -> None:
    letter = found_letter(sample.letter)
    expected = {} if letter.is_statement else {(f"{TABLE}/table2.xml", "c1", letter): 2}
    assert check_sample(sample, tmp_path).tally == expected


def found_letter(letter: str) -> Convention:
    return next(each for each in Convention if each.letter == letter)


@pytest.mark.parametrize("name", ["B-cell", "B-column"])
def test_an_absolute_place_in_a_granted_root_is_convention_b(name: str, tmp_path: Path) -> None:
    check_sample(absolute(tmp_path)[name], tmp_path)


@tabled
def test_every_lob_of_real_archives_is_found_with_its_digest(path: str, expected: int) -> None:
    source = shared("data", *path.split("/"))
    seen, wrong = 0, []
    with Archive(source) as archive:
        resolver = Resolver(
            archive.tree,
            [source.parent],
            siard_name=source.name,
            lob_folder=archive.metadata.lob_folder,
        )
        for each in archive.metadata.tables:
            for lob in siards.cells(archive.tree.contents(archive.document(each)), each):
                seen += 1
                found = resolver.resolved(each, lob)
                lengths, hashers = TextLength(), digests.Hashers(["MD5", "SHA-1", "SHA-256"])
                for extent in found.extents:
                    for block in resolver.contents(extent):
                        lengths.update(block)
                        hashers.update(block)
                assert lob.length is None or lengths.unit(lob.length) is not None
                if lob.digest is None or hashers.digest(lob.digest.algorithm) != lob.digest:
                    wrong.append(lob)
    assert (seen, wrong) == (expected, [])
    if source.name == "sql2008.siard":
        assert [letter for *_, letter in resolver.tally] == [Convention.H] * 3


# --- What fits, and what decides among several ------------------------------------------------------------


@tabled
def test_the_file_that_fits_is_located(
    tmp_path: Path, files: dict[str, str], stated: dict[str, Any], expected: list[str], digest_of: str | None
) -> None:
    put(tmp_path, {path: data.encode() for path, data in files.items()})
    inside = {path: data.encode() for path, data in stated.get("inside", {}).items()}
    folders = {name: text for name, text in stated.items() if name != "inside"}
    digest = None if digest_of is None else md5(digest_of.encode())
    found, data = resolve(tmp_path, "r.bin", length=5, digest=digest, inside=inside, **folders)
    assert [found.convention.name, data.decode()] == expected


def test_a_wrong_length_is_forgiven_for_the_right_digest(tmp_path: Path) -> None:
    entries = {"r.bin": b"12345", f"{TABLE}/r.bin": b"1234567"}
    found, data = resolve(tmp_path, "r.bin", inside=entries, length=9, digest=md5(b"1234567"))
    assert data == b"1234567"
    assert any("has 7 bytes though its cell says 9" in each for each in found.warnings)


def test_a_wrong_length_and_a_wrong_digest_are_not_forgiven(tmp_path: Path) -> None:
    with unresolved("missing", match="the file in its place has 5 bytes, expected length 9"):
        resolve(tmp_path, "r.bin", inside={"r.bin": b"12345"}, length=9, digest=md5(b"x"))


def test_two_that_differ_are_an_error_without_a_digest(tmp_path: Path) -> None:
    put(tmp_path, {"X_lobs/c/r.bin": b"12345", "c/r.bin": b"54321"})
    with unresolved("ambiguous", match="they differ and the cell has no digest") as caught:
        resolve(tmp_path, "r.bin", database="../X_lobs/", column="c/", length=5)
    assert caught.value.message.count(": 5 bytes") == 2
    assert caught.value.hint


def test_a_digest_that_none_has_decides_nothing(tmp_path: Path) -> None:
    put(tmp_path, {"X_lobs/c/r.bin": b"12345", "c/r.bin": b"54321"})
    with unresolved("ambiguous", match="none of them has the cell's digest"):
        resolve(tmp_path, "r.bin", database="../X_lobs/", column="c/", length=5, digest=md5(b""))


def test_one_file_found_in_two_ways_is_one(tmp_path: Path) -> None:
    put(tmp_path, {"X_lobs/c/r.bin": b"12345"})
    (tmp_path / "c").mkdir()
    os.link(tmp_path / "X_lobs/c/r.bin", tmp_path / "c/r.bin")
    found, _data = resolve(tmp_path, "r.bin", database="../X_lobs/", column="c/")
    assert found.convention is Convention.A


def test_another_archives_folder_has_no_say_where_ones_own_is_there(tmp_path: Path) -> None:
    put(tmp_path, {"a.siard_lobs/c/r.bin": b"1", "b.siard_lobs/c/r.bin": b"2"})
    resolver = Resolver(None, [tmp_path], siard_name="a.siard", lob_folder="../a.siard_lobs")
    found = resolver.resolved(table(field(lob_folder="c")), cell("r.bin"))
    assert data_of(resolver, found) == b"1"


@pytest.mark.parametrize("name", ["record%200.bin", "a#b.bin", "a%zz.bin"])
def test_siard_1_0_names_an_entry_as_it_is(name: str, tmp_path: Path) -> None:
    path = f"content/schema0/table2/lob1/{name}"
    entries = {path: b"1", "content/schema0/table2/lob1/record 0.bin": b"2"}
    for only, file in ((table(field()), path), (table(field(folder="lob1")), name)):
        resolver = Resolver(Entries(entries), [tmp_path], siard_name="x.siard", version="1.0")
        assert data_of(resolver, resolver.resolved(only, cell(file)), entries) == b"1"


@pytest.mark.parametrize("name", ["content/../header/x#.bin", "../a#b.bin", "content//a#b.bin", "./a#b.bin"])
def test_siard_1_0_names_nothing_with_steps_up(name: str, tmp_path: Path) -> None:
    resolver = Resolver(Entries({name: b"1"}), [tmp_path], siard_name="x.siard", version="1.0")
    with pytest.raises(LobUnresolved):
        resolver.resolved(table(field()), cell(name))


def test_a_name_that_was_not_encoded_is_hinted_at(tmp_path: Path) -> None:
    resolver = Resolver(Entries({"content/record%200.bin": b"1"}), [tmp_path], siard_name="x.siard")
    with unresolved("missing") as caught:
        resolver.resolved(table(field()), cell("content/record%200.bin"))
    assert "content/record%25200.bin" in caught.value.hint


def test_a_column_whose_convention_changes_is_searched_again(tmp_path: Path) -> None:
    put(tmp_path, {"X_lobs/c/r1.bin": b"1", "c/r2.bin": b"2"})
    resolver = Resolver(None, [tmp_path], siard_name="x.siard", lob_folder="../X_lobs/")
    only = table(field(lob_folder="c/"))
    assert resolver.resolved(only, cell("r1.bin")).convention is Convention.A
    assert resolver.resolved(only, cell("r2.bin")).convention is Convention.SIARD_FOLDER
    resolver.resolved(only, cell("r2.bin", path="c1.a7"))
    assert resolver.tally == {
        (only.path, "c1", Convention.A): 1,
        (only.path, "c1", Convention.SIARD_FOLDER): 2,
    }


def test_columns_fields_and_tables_are_distinguished(tmp_path: Path) -> None:
    put(tmp_path, {"a/r.bin": b"a", "b/r.bin": b"b"})
    resolver = Resolver(Entries({"r.bin": b"zip"}), [tmp_path], siard_name="x.siard")
    first, second = table(field(lob_folder="a/"), field(field(lob_folder="b/"))), table(field(), number=3)
    entries = {"r.bin": b"zip"}
    for each, path, data in (
        (first, "c1", b"a"),
        (second, "c1", b"zip"),
        (first, "c2.u1", b"b"),
        (first, "c1", b"a"),
        (first, "c2.a7", b"zip"),
        (first, "c9", b"zip"),
    ):
        assert data_of(resolver, resolver.resolved(each, cell("r.bin", path=path)), entries) == data


def test_a_resolver_needs_a_root() -> None:
    with pytest.raises(ValueError, match="always granted"):
        Resolver(None, [], siard_name="x.siard")


def test_spaces_and_a_missing_slash_in_a_folder_are_tolerated_and_reported(tmp_path: Path) -> None:
    put(tmp_path, {"my lobs/s0/r.bin": b"x"})
    found, _data = resolve(tmp_path, "r.bin", database=" my lobs", column="s0")
    assert found.convention is Convention.C
    assert set(found.repairs) == {Repair.SPACE, Repair.SURROUNDING_SPACE}
    assert not found.warnings


# --- Parts ----------------------------------------------------------------------------------------------

SPLIT: dict[str, tuple[str, list[str]]] = tables_of(__file__)["split"]
PIECES = [b"one-", b"two-", b"three"]


def split_case(name: str, tmp_path: Path, *, inside: bool) -> tuple[Resolver, Table, str, dict[str, bytes]]:
    file, parts = SPLIT[name]
    files = dict(zip(parts, PIECES, strict=False))
    if inside:
        return Resolver(Entries(files), [tmp_path], siard_name="x.siard"), table(field()), file, files
    put(tmp_path, files)
    return (
        Resolver(None, [tmp_path], siard_name="x.siard"),
        table(field(lob_folder="./")),
        file,
        files,
    )


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
@pytest.mark.parametrize("name", SPLIT)
def test_parts_are_read_as_the_whole(name: str, inside: bool, tmp_path: Path) -> None:
    resolver, only, file, files = split_case(name, tmp_path, inside=inside)
    whole = b"".join(files.values())
    found = resolver.resolved(only, cell(file, length=len(whole) if inside else None))
    assert data_of(resolver, found, files) == whole
    assert len(found.extents) == len(files)
    assert found.convention is Convention.C


def changed(name: str, tmp_path: Path, *, take: str = "", more: Mapping[str, bytes] | None = None) -> str:
    file, parts = SPLIT[name]
    files = dict(zip(parts, PIECES, strict=False)) | dict(more or {})
    put(tmp_path, {path: data for path, data in files.items() if path != take})
    return file


@tabled
def test_a_missing_part_is_named(name: str, take: str, says: str, tmp_path: Path) -> None:
    file = changed(name, tmp_path, take=take)
    with unresolved("missing", match=says.replace(".", r"\.")):
        resolve(tmp_path, file, column="./", length=13)


def test_parts_whose_last_is_not_named_z_are_taken_when_all_bytes_are_there(tmp_path: Path) -> None:
    file = changed("lobseg", tmp_path, take="N_lobseg_10/c/r.bin.z")
    assert resolve(tmp_path, file, column="./", length=8)[1] == b"one-two-"


def test_a_whole_beside_its_parts_is_an_error(tmp_path: Path) -> None:
    file = changed("lobseg", tmp_path, more={SPLIT["lobseg"][0]: b"the whole one"})
    with unresolved("ambiguous", match="exists whole, and so does its part"):
        resolve(tmp_path, file, column="./", length=13)
    with unresolved("ambiguous", match="exists whole, and so does its part"):
        resolve(tmp_path, file, column="./", length=13, digest=md5(b"one-two-three"))


def test_a_whole_that_its_digest_proves_may_have_parts_beside_it(tmp_path: Path) -> None:
    file = changed("lobseg", tmp_path, more={SPLIT["lobseg"][0]: b"the whole one"})
    assert resolve(tmp_path, file, column="./", digest=md5(b"the whole one"))[1] == b"the whole one"


# --- What is refused ------------------------------------------------------------------------------------


@tabled
def test_a_cell_that_is_refused_is_named_with_why_and_what_to_do(
    file: str, says: str, tmp_path: Path
) -> None:
    with unresolved("refused") as caught:
        resolve(tmp_path, file, inside={})
    error = caught.value
    assert says in error.message
    assert "table dbo.Categories row 1, cell c1 (s0.t2.c1.r1)" in error.message
    assert error.hint


def test_a_percent_is_decoded_once(tmp_path: Path) -> None:
    put(tmp_path, {"secret.bin": b"secret", "root/%2e%2e": b"named so"})
    assert resolve(tmp_path / "root", "%252e%252e", column="./")[1] == b"named so"
    with unresolved("missing"):
        resolve(tmp_path / "root", "%252e%252e/secret.bin", column="./")


def test_a_step_out_of_the_granted_roots_is_refused_and_says_how_to_grant_it(tmp_path: Path) -> None:
    put(tmp_path, {"lobs/r.bin": b"x"})
    root = tmp_path / "package"
    root.mkdir()
    with pytest.raises(LobUnresolved) as caught:
        resolve(root, "r.bin", column="../../lobs/")
    assert "--lob-root" in caught.value.hint
    assert "is outside every granted folder" in caught.value.message
    found, data = resolve(root, "r.bin", column="../lobs/", roots=[tmp_path / "lobs"])
    assert (found.convention, data) == (Convention.C, b"x")


def test_an_absolute_place_is_read_below_a_granted_root_only(tmp_path: Path) -> None:
    put(tmp_path, {"store/lobs/r.bin": b"x", "store2/r.bin": b"y"})
    root = tmp_path / "package"
    root.mkdir()
    column = f"{tmp_path}/store/lobs/"
    with pytest.raises(LobUnresolved, match="is outside every granted folder"):
        resolve(root, "r.bin", column=column)
    found, data = resolve(root, "r.bin", column=column, roots=[tmp_path / "store"])
    assert (found.convention, data) == (Convention.C, b"x")
    with pytest.raises(LobUnresolved):  # the name of a root is no prefix of text
        resolve(root, "q.bin", column=f"{tmp_path}/store2/", roots=[tmp_path / "store"])
    with pytest.raises(LobUnresolved):  # the root itself is no file in it
        resolve(root, "store", column=f"{tmp_path}/", roots=[tmp_path / "store"])


def test_a_root_may_be_named_through_a_link(tmp_path: Path) -> None:
    put(tmp_path, {"store/r.bin": b"x"})
    (tmp_path / "link").symlink_to("store")
    root = tmp_path / "package"
    root.mkdir()
    for name in ("link", "store"):
        assert resolve(root, "r.bin", column=f"{tmp_path}/{name}/", roots=[tmp_path / "link"])[1] == b"x"


def test_a_drive_stands_for_the_folder_it_is_mapped_to(tmp_path: Path) -> None:
    put(tmp_path, {"drive/Archives/r.bin": b"x"})
    root = tmp_path / "package"
    root.mkdir()
    with pytest.raises(LobUnresolved) as caught:
        resolve(root, "r.bin", column="file:///s:/Archives/")
    assert caught.value.hint == "Name the folder that the drive stands for: --map-drive S:=DIR."
    drives = {"s:": tmp_path / "drive"}
    found, data = resolve(root, "r.bin", column="S:\\Archives\\", drives=drives)
    assert (found.convention, data, found.repairs) == (Convention.C, b"x", (Repair.BACKSLASH,))
    (extent,) = found.extents
    assert isinstance(extent, FileExtent)
    assert (extent.root, extent.path) == (1, ("Archives", "r.bin"))


def test_a_granted_folder_is_searched_last(tmp_path: Path) -> None:
    put(tmp_path, {"store/seg_0/r.bin": b"x"})
    root = tmp_path / "package"
    root.mkdir()
    found, data = resolve(
        root, "seg_0/r.bin", database="D:\\Export\\lobs", column="s0_t2_c1/", roots=[tmp_path / "store"]
    )
    assert (found.convention, data) == (Convention.LOB_ROOT, b"x")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent.parent / "outside.bin")


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            opened.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (fifo, "is a named pipe"),
        (link, "is a symbolic link"),
        (dangling, "is a symbolic link"),
        (Path.mkdir, "is a folder"),
        pytest.param(
            unix_socket,
            "is a socket",
            marks=pytest.mark.skipif(
                not Path("/proc/self/fd").exists(), reason="needs /proc for a short path"
            ),
        ),
    ],
)
def test_what_is_no_file_is_refused_by_name(make: object, says: str, tmp_path: Path) -> None:
    assert callable(make)
    put(tmp_path, {"outside.bin": b"secret"})
    root = tmp_path / "package"
    (root / "lobs").mkdir(parents=True)
    make(root / "lobs" / "r.bin")
    with unresolved("refused", match=says) as caught:
        resolve(root, "r.bin", column="lobs/", length=6)
    assert "regular file" in caught.value.hint


def test_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"outside/r.bin": b"secret"})
    root = tmp_path / "package"
    root.mkdir()
    (root / "lobs").symlink_to("../outside")
    with unresolved("refused", match=r"lies beyond 'lobs', a symbolic link"):
        resolve(root, "r.bin", column="lobs/")


def test_what_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"lobs/r.bin": b"x"})
    real = os.open

    def denied(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "r.bin":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", denied)
    with unresolved("refused", match="cannot be opened: Permission denied"):
        resolve(tmp_path, "r.bin", column="lobs/")


def test_a_link_for_one_convention_does_not_hide_what_another_finds(tmp_path: Path) -> None:
    put(tmp_path, {"r.bin": b"x"})
    (tmp_path / "lobs").mkdir()
    (tmp_path / "lobs" / "r.bin").symlink_to("../r.bin")
    assert resolve(tmp_path, "r.bin", column="lobs/")[0].convention is Convention.SIARD_FOLDER


def test_a_step_above_the_file_systems_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LobUnresolved, match="is outside every granted folder"):
        resolve(tmp_path, "r.bin", column="../" * 40)


def test_a_way_back_into_the_granted_root_is_granted(tmp_path: Path) -> None:
    root = put(tmp_path / "x_lobs", {"r.bin": b"x"})
    found, data = resolve(root, "r.bin", column="../x_lobs/")
    assert (found.convention, data) == (Convention.C, b"x")
    with unresolved("missing"):  # what was renamed would be the root itself
        resolve(root, "q.bin", column="../x_lobs/")


# --- What is not there ----------------------------------------------------------------------------------


def test_a_missing_lob_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with unresolved("missing") as caught:
        resolve(tmp_path, "r.bin", database="./lobs/", column="c/", inside={})
    assert "LOB not found. Tried: C " in caught.value.message
    assert f"C {shown(f'{tmp_path}/lobs/c/r.bin')}: nothing is there; " in caught.value.message
    assert "; H 'r.bin': nothing is there; " in caught.value.message
    assert "more" in caught.value.message
    assert "--lob-root" in caught.value.hint


@tabled
def test_a_name_that_differs_only_in_case_is_hinted_at(there: str, file: str, tmp_path: Path) -> None:
    put(tmp_path, {there: b"x", "other.bin": b"y"})
    with unresolved("missing") as caught:
        resolve(tmp_path, file, column="lobs/")
    assert caught.value.hint.startswith(f"{shown(f'{tmp_path}/{there}')} differs only in letter case")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_entry_that_differs_only_in_unicode_form_is_hinted_at(
    form: Literal["NFC", "NFD"], tmp_path: Path
) -> None:
    there = unicodedata.normalize(form, "lob2/kål é.bin")
    meant = unicodedata.normalize("NFD" if form == "NFC" else "NFC", there)
    with unresolved("missing") as caught:
        resolve(tmp_path, quote(meant), inside={there: b"x"})
    assert caught.value.hint.startswith(f"{shown(there)} differs only in Unicode normalisation")


@pytest.mark.parametrize("there", ["a/RECORD0.BIN", "a/record0.bin"])
def test_an_entry_that_differs_only_in_case_is_hinted_at(there: str, tmp_path: Path) -> None:
    with unresolved("missing") as caught:
        resolve(tmp_path, "A/record0.Bin", inside={there: b"x"})
    assert caught.value.hint.startswith(f"'{there}' differs")


# --- The mapping file -----------------------------------------------------------------------------------


def mapping(folder: Path, text: str) -> Path:
    path = folder / "mapping.txt"
    path.write_bytes(text.encode())
    return path


def test_a_mapping_grants_nothing(tmp_path: Path) -> None:
    put(tmp_path, {"store/r.bin": b"x"})
    root = tmp_path / "package"
    root.mkdir()
    for target in (f"{(tmp_path / 'store').as_uri()}/", "../store/", "S:/"):
        mapped = read_mapping(mapping(root, f"lobs/seg_0/ {target}"))
        resolver = Resolver(None, [root], siard_name="x.siard", mapping=mapped)
        with pytest.raises(LobUnresolved):
            resolver.resolved(table(field(lob_folder="lobs/")), cell("seg_0/r.bin"))


def test_a_mapping_that_climbs_out_of_a_drive_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"r.bin": b"secret", "drive/x": b""})
    target = read_mapping(mapping(tmp_path, "lobs/seg_0/ ../../"))
    climbing = {
        key: type(each)(kind=each.kind.DRIVE, drive="S:", segments=("..",)) for key, each in target.items()
    }
    resolver = Resolver(
        None, [tmp_path / "drive"], siard_name="x", drives={"S:": tmp_path / "drive"}, mapping=climbing
    )
    with pytest.raises(LobUnresolved, match="is outside every granted folder"):
        resolver.resolved(table(field(lob_folder="lobs/")), cell("seg_0/r.bin"))


@tabled
def test_a_mapping_that_cannot_be_read_names_the_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        read_mapping(mapping(tmp_path, text))
    assert caught.value.hint


def test_a_mapping_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mapping.txt"
    path.write_bytes(b"lobs/seg_0/ ./a\n\xff\n")
    with pytest.raises(ConfigError, match="line 2: is not UTF-8"):
        read_mapping(path)
    with pytest.raises(ConfigError, match="cannot be opened: No such file"):
        read_mapping(tmp_path / "none")


# --- Nothing outside the granted roots is opened ----------------------------------------------------------

SECRET = b"outside every granted root"
_watching: list[tuple[object, int]] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _watching is not None:
        path, _mode, flags = arguments
        assert isinstance(flags, int)
        _watching.append((path, flags))


sys.addaudithook(_watch)
codecs.lookup("cp437")  # zipfile takes it when it is needed, and Python opens a module for it then


@contextmanager
def only_opening_below(*roots: Path) -> Iterator[None]:
    """Fail on every opening but the granted roots and, below them, one name at a time."""
    global _watching  # noqa: PLW0603 -- an audit hook has no other way to be switched
    _watching = []
    try:
        yield
    finally:
        seen, _watching = _watching, None
    allowed = {str(root) for root in roots}
    for path, flags in seen:
        if str(path) not in allowed:
            assert "/" not in str(path)
            assert str(path) not in {"", ".", ".."}
            assert flags & os.O_NOFOLLOW
        assert not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)


def hostile_tree(folder: Path) -> Path:
    """Return a package full of links that lead to a secret beside it."""
    root = folder / "package"
    put(
        folder,
        {
            "secret.bin": SECRET,
            "lobs/r.bin": SECRET,
            "x.siard_lobs/r.bin": SECRET,
            "package/lobs/r.bin": b"r",
            "package/lobs/seg_0/r.bin_part001": b"1",
            "package/x.siard_lobs/lobs/r.bin": b"r",
            "package/y_lobseg_1/r.bin.0": b"0",
            "package/y_lobseg_1/r.bin.z": b"z",
            "package/content/r.bin": b"r",
        },
    )
    (root / "out").symlink_to("..")
    (root / "r.bin").symlink_to("../secret.bin")
    (root / "z_lobs").symlink_to("../lobs")
    (root / "lobs" / "q.bin").symlink_to("/etc/passwd")
    os.mkfifo(root / "lobs" / "pipe")
    return root


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_tree(tmp_path_factory.mktemp("hostile"))


PIECE = st.sampled_from(
    [
        *("..", ".", "lobs", "content", "out", "x.siard_lobs", "z_lobs", "y_lobseg_1", "seg_0", "package"),
        *("r.bin", "q.bin", "pipe", "secret.bin", "%2e%2e", "%2F", "a%20b", "etc", "passwd", "", "\0", "é"),
        *("file:", "file://", "C:", "S:", "ROOT", "ABOVE", "\ud800", "a" * 300),
    ]
)
PATH = st.tuples(
    st.sampled_from(["", "/", "file:///", "S:/", "..\\", "ROOT/", "ABOVE/"]), st.lists(PIECE, max_size=4)
)
TEXT = st.one_of(PATH.map(lambda each: each[0] + "/".join(each[1])), st.text(max_size=6))
SETTING = st.one_of(st.none(), TEXT)


@pytest.mark.slow
@given(
    database=SETTING,
    column=SETTING,
    inner=SETTING,
    folder=SETTING,
    file=TEXT,
    length=st.one_of(st.none(), st.integers(0, 3)),
    digest=st.sampled_from([None, md5(b"r"), md5(SECRET)]),
    nested=st.booleans(),
)
@law(150)
def test_no_levels_open_anything_outside_the_roots_nor_raise_anything_but_source_errors(
    hostile: Path,
    *,
    database: str | None,
    column: str | None,
    inner: str | None,
    folder: str | None,
    file: str,
    length: int | None,
    digest: Digest | None,
    nested: bool,
) -> None:
    def real(text: str) -> str:
        return text.replace("ROOT", str(hostile)).replace("ABOVE", str(hostile.parent))

    further = hostile / "content"
    drives = {"S:": hostile / "lobs"}
    entries = {"r.bin": b"r", f"{TABLE}/r.bin": b"r", "content/r.bin": b"rr"}
    resolver = Resolver(
        Entries(entries),
        [hostile, further],
        siard_name="x.siard",
        lob_folder=database and real(database),
        drives=drives,
    )
    only = table(
        field(
            field(lob_folder=inner and real(inner)),
            lob_folder=column and real(column),
            folder=folder and real(folder),
            kind="CLOB",
        )
    )
    lob = cell(real(file), length=length, digest=digest, path="c1.u1" if nested else "c1")
    with only_opening_below(hostile, further, *drives.values()):
        try:
            found = resolver.resolved(only, lob)
        except SourceError:
            return
    assert SECRET not in data_of(resolver, found, entries)
    for extent in found.extents:
        if isinstance(extent, FileExtent):
            assert not set(extent.path) & {"..", "", "."}


def test_the_watch_sees_what_is_opened(hostile: Path) -> None:
    with pytest.raises(AssertionError), only_opening_below(hostile):
        (hostile.parent / "secret.bin").read_bytes()
    with only_opening_below(hostile):
        assert resolve_below(hostile, "lobs/r.bin") == 1


def resolve_below(root: Path, file: str) -> int:
    resolver = Resolver(None, [root], siard_name="x.siard")
    return resolver.resolved(table(field(lob_folder="./")), cell(file)).size
