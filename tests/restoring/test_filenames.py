"""Names of restored files by table, key and column: readable, unique, and fit for any file system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError, SourceError
from metspack.limits import Budgets, Limits
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import RestoreOptions, restore_files
from tests import siards
from tests.restoring.test_files import manifest_holds
from tests.tables import read_table, tabled
from tests.test_optionfields import untyped
from tests.trees import tree

BY_KEY = RestoreOptions(names="key")
OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=3))
LONG = "Übermäßig-" * 30

KEYS: Mapping[str, str | None] = read_table(__file__, "keys") | {LONG: None, LONG + "2": None}
"""Keys in consecutive rows, each with the name of its file, or None for a long one."""

_KEY = b"</columns><primaryKey><name>PK</name>%s</primaryKey>"
_ID = b"<column>id</column>"


def restored(at: Path, parts: Mapping[str, bytes], options: RestoreOptions = BY_KEY) -> dict[str, bytes]:
    """Return the files that are restored of an archive, by their paths below content/."""
    build.build(siards.packed(at / "Small.siard", parts), at / "out", OPTIONS)
    restore_files(at / "out", at / "files", options)
    assert manifest_holds(at / "files")
    found = {path: data for path, data in tree(at / "files" / "content").items() if not path.endswith("/")}
    assert len({unicodedata.normalize("NFC", path).casefold() for path in found}) == len(found)
    for path in found:
        for name in path.split("/"):
            assert len(name.encode()) <= 255
            plain = "".join("w" if unicodedata.category(each)[0] == "M" else each for each in name)
            assert re.fullmatch(r"[\w][\w.~-]*\w", plain)
            assert not re.fullmatch(r"(?i:con|prn|aux|nul|com\d|lpt\d)(\..*)?", name)
    return found


def with_keys(
    keys: Sequence[str | None], columns: bytes = _ID, names: Mapping[str, str] = MappingProxyType({})
) -> dict[str, bytes]:
    """Return an archive with a key, or None, in each row, and a LOB with the row's number."""
    given = siards.parts(siards.lobs(*(b"%d" % row for row in range(1, len(keys) + 1))))
    given[siards.METADATA] = given[siards.METADATA].replace(b"</columns>", _KEY % columns)
    for old, new in names.items():
        given[siards.METADATA] = given[siards.METADATA].replace(
            f"<name>{old}</name>".encode(), f"<name>{escape(new)}</name>".encode()
        )
    for row, key in enumerate(keys, 1):
        text = "".join(f"\\u{ord(each):04x}" if each < " " or each == "\\" else each for each in key or "")
        cell = "" if key is None else f"<c1>{escape(text)}</c1>"
        given[siards.TABLE] = given[siards.TABLE].replace(f"<c1>{row}</c1>".encode(), cell.encode())
    return given


def test_names_of_keys(tmp_path: Path) -> None:
    found = restored(tmp_path, with_keys(list(KEYS)))
    rows = {int(data): path for path, data in found.items()}
    expected = {row: name and f"S.T/{name}" for row, name in enumerate(KEYS.values(), 1)}
    assert {row: path for row, path in rows.items() if expected[row]} == {
        row: name for row, name in expected.items() if name
    }
    first, second = (rows[row] for row, name in expected.items() if name is None)
    assert second == first.replace("_content", "_content~s0.t0.c2.r27")
    assert first.startswith("S.T/Übermäßig-Übermäßig-")


def test_a_selected_lob_has_the_name_of_its_key(tmp_path: Path) -> None:
    found = restored(tmp_path, with_keys(["7", "8"]), RestoreOptions(names="key", only=("s0.t0.c2.r2",)))
    assert found == {"S.T/8_content.bin": b"2"}


def test_a_dry_run_finds_a_key_that_is_too_long(tmp_path: Path) -> None:
    build.build(siards.packed(tmp_path / "Small.siard", with_keys(["x" * 5_000])), tmp_path / "out", OPTIONS)
    options = replace(BY_KEY, budgets=Budgets(attribute=1_000))
    with pytest.raises(SourceError) as refused:
        restore_files(tmp_path / "out", tmp_path / "files", options)
    assert [each.message for each in DryRun(tmp_path / "out", options)] == [refused.value.message]
    assert list(DryRun(tmp_path / "out", replace(options, names="archive"))) == []
    assert list(DryRun(tmp_path / "out", BY_KEY)) == []


@given(st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=40)), max_size=6))
def test_any_keys_give_names_that_any_file_system_holds(keys: list[str | None]) -> None:
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    wanted = [None if key is None else "".join(c for c in key if c == "\t" or c >= " ") for key in keys]
    with TemporaryDirectory() as folder:
        found = restored(Path(folder), with_keys(["1", *wanted]))
    assert sorted(map(int, found.values())) == list(range(1, len(keys) + 2))


@pytest.mark.parametrize(
    ("columns", "keys", "names"),
    [
        (b"", ["1", "2"], ["r1_content.bin", "r2_content.bin"]),
        (_ID + b"<column>id</column>", ["1", "2"], ["1_content.bin", "2_content.bin"]),
        (b"<column>content</column>" + _ID, ["1", "x"], ["_1_content.bin", "_x_content.bin"]),
        (b"<column>gone</column>", ["1", "2"], ["r1_content.bin", "r2_content.bin"]),
        (_ID, [None, "2"], ["r1_content.bin", "2_content.bin"]),
    ],
    ids=["none", "one twice", "two with one empty", "of no column", "NULL"],
)
def test_keys_of_columns(columns: bytes, keys: list[str | None], names: list[str], tmp_path: Path) -> None:
    assert [*restored(tmp_path, with_keys(keys, columns))] == sorted(f"S.T/{name}" for name in names)


@tabled
def test_names_of_tables_and_columns(names: dict[str, str], path: str, tmp_path: Path) -> None:
    assert [*restored(tmp_path, with_keys(["1"], names=names))] == [path]


@tabled
def test_the_extension_fits_the_bytes(data: bytes, kind: str, extension: str, tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(data))
    stated = f"<type>BLOB</type><mimeType>{kind}</mimeType>" if kind else "<type>BLOB</type>"
    parts[siards.METADATA] = parts[siards.METADATA].replace(b"<type>BLOB</type>", stated.encode())
    assert [*restored(tmp_path, parts)] == [f"S.T/r1_content.{extension}"]


def test_a_package_without_an_archive_has_numbers_for_names(tmp_path: Path) -> None:
    folder = tmp_path / "Loose" / "content" / "schema0" / "table2" / "lob4"
    folder.mkdir(parents=True)
    (folder / "record0.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "record4.bin").write_bytes(b"other")
    build.build(tmp_path / "Loose", tmp_path / "out", OPTIONS)
    restore_files(tmp_path / "out", tmp_path / "files", BY_KEY)
    found = {path for path in tree(tmp_path / "files" / "content") if not path.endswith("/")}
    assert found == {"schema0.table2/r1_c4.png", "schema0.table2/r5_c4.bin"}


def test_the_extension_of_a_split_lob_is_that_of_its_first_parts(tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"\x89PNG\r\n\x1a\n" + bytes(8)))
    options = replace(OPTIONS, limits=Limits(bytes=3))
    build.build(siards.packed(tmp_path / "Small.siard", parts), tmp_path / "out", options)
    restore_files(tmp_path / "out", tmp_path / "files", BY_KEY)
    assert (tmp_path / "files" / "content" / "S.T" / "r1_content.png").is_file()


def test_other_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="names"):
        RestoreOptions(names=untyped("title"))
