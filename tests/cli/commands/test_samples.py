"""The sample archives: made again they are the same, and what they say about themselves is so."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from metspack import resources
from metspack.cli.commands.sample import copy_sample
from metspack.errors import ConfigError, TargetError
from metspack.files import reading
from tests.conftest import CHECKOUT
from tests.shared_data import shared

ARCHIVES = ("Northwind.siard", "Northwind-full.siard")
PICTURE_SIZES = [10_151, 12_107, 12_007, 9_756, 12_131, 11_280, 12_338, 12_069]
TABLES = [
    "Orders",
    "Products",
    "Categories",
    "Shippers",
    "Employees",
    "Territories",
    "CustomerDemographics",
    "CustomerCostumerDemo",
    "Suppliers",
    "EmployeeTerritories",
    "Customers",
    "Sysdiagrams",
    "Region",
]
METADATA = "{http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LobCell:
    """A cell with a ``file`` attribute, found without metspack."""

    table: int
    path: str
    record: int
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An archive opened without metspack."""

    data: bytes
    container: zipfile.ZipFile

    def metadata(self) -> ET.Element:
        return ET.fromstring(self.container.read("header/metadata.xml"))  # noqa: S314 -- our own file

    def rows(self, table: int) -> ET.Element:
        name = f"content/schema0/table{table}/table{table}.xml"
        return ET.fromstring(self.container.read(name))  # noqa: S314 -- our own file

    def cells(self) -> Iterator[LobCell]:
        for table in range(len(TABLES)):
            for record, row in enumerate(self.rows(table)):
                yield from _below(table, record, row, "")


def _below(table: int, record: int, element: ET.Element, path: str) -> Iterator[LobCell]:
    for child in element:
        tag = child.tag.rpartition("}")[2]
        here = f"{path}/{tag}" if path else f"lob{tag[1:]}"
        if "file" in child.attrib:
            yield LobCell(table=table, path=here, record=record, attributes=child.attrib)
        yield from _below(table, record, child, here)


@pytest.fixture(params=ARCHIVES)
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    with _opened(request.param) as container:
        yield container


class _opened:  # noqa: N801 -- a context manager
    def __init__(self, name: str) -> None:
        data = (CHECKOUT / "samples" / "northwind" / name).read_bytes()
        self._opened = Opened(data=data, container=zipfile.ZipFile(io.BytesIO(data)))

    def __enter__(self) -> Opened:
        return self._opened

    def __exit__(self, *_: object) -> None:
        self._opened.container.close()


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remade")
    script = CHECKOUT / "samples" / "make_northwind.py"
    # Another hash seed and another time zone, for what must not matter.
    surroundings = {
        **os.environ,
        "PYTHONHASHSEED": "77",
        "TZ": "Pacific/Apia",
    }
    subprocess.run([sys.executable, str(script), str(folder)], check=True, env=surroundings, cwd=folder)
    return folder


@pytest.mark.parametrize("name", ARCHIVES)
def test_made_again_the_bytes_are_the_same(remade: Path, name: str) -> None:
    assert (remade / name).read_bytes() == (CHECKOUT / "samples" / "northwind" / name).read_bytes()


def test_pictures_have_the_sizes_of_the_recommendation(opened: Opened) -> None:
    sizes = [
        opened.container.getinfo(f"content/schema0/table2/lob4/record{record}.bin").file_size
        for record in range(8)
    ]
    assert sizes == PICTURE_SIZES


def test_first_archive_has_no_other_lob_files() -> None:
    with _opened("Northwind.siard") as opened:
        assert [cell.path for cell in opened.cells()] == ["lob4"] * 8


def test_categories_are_those_of_the_recommendation(opened: Opened) -> None:
    rows = [[cell.text for cell in row][:3] for row in opened.rows(2)]
    assert rows[0] == ["1", "Beverages", "Soft drinks, coffees, teas, beers, and ales"]
    assert rows[7] == ["8", "Seafood", "Seaweed and fish"]


def test_entries_are_stored_with_fixed_times_content_before_header(opened: Opened) -> None:
    entries = opened.container.infolist()
    names = [entry.filename for entry in entries]
    assert len(set(names)) == len(names)
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    assert {entry.date_time for entry in entries} == {(2025, 6, 1, 12, 0, 0)}
    header = names.index("header/")
    assert names[0] == "content/"
    assert all(name.startswith("content/") for name in names[:header])
    assert names[header:] == [
        "header/",
        "header/siardversion/2.2/",
        "header/metadata.xsd",
        "header/metadata.xml",
    ]
    assert opened.container.testzip() is None


def test_archive_digest_covers_what_is_before_header(opened: Opened) -> None:
    offset = opened.container.getinfo("header/").header_offset
    digest = opened.metadata().findtext(f"{METADATA}messageDigest/{METADATA}digest")
    assert digest == hashlib.md5(opened.data[:offset], usedforsecurity=False).hexdigest()


def test_every_lob_cell_says_where_how_long_and_which_bytes(opened: Opened) -> None:
    cells = list(opened.cells())
    for cell in cells:
        name = cell.attributes["file"]
        stem, _, extension = name.rpartition(".")
        assert stem == f"content/schema0/table{cell.table}/{cell.path}/record{cell.record}"
        data = opened.container.read(name)
        length = len(data.decode()) if extension == "txt" else len(data)
        assert cell.attributes["length"] == str(length)
        assert cell.attributes["digestType"] == "MD5"
        assert cell.attributes["digest"] == hashlib.md5(data, usedforsecurity=False).hexdigest()
    lobs = {name for name in opened.container.namelist() if "/record" in name}
    assert lobs == {cell.attributes["file"] for cell in cells}
    assert len(lobs) == len(cells)


def test_full_archive_has_photos_texts_and_nested_lobs() -> None:
    with _opened("Northwind-full.siard") as opened:
        cells = list(opened.cells())
        photos = [cell for cell in cells if (cell.table, cell.path) == (4, "lob15")]
        assert [cell.record for cell in photos] == list(range(9))
        assert all(11_000 <= int(cell.attributes["length"]) <= 12_500 for cell in photos)
        suppliers = {cell.path for cell in cells if cell.table == 8}
        arrays = {"lob14/a1", "lob14/a2", "lob14/a3"}
        assert suppliers == {"lob12", "lob13/u2", "lob13/u3", "lob13/u4/u2"} | arrays
        assert sum(cell.attributes["length"] == "0" for cell in cells) == 1
        extensions = {cell.attributes["file"].rpartition(".")[2] for cell in cells}
        assert extensions == {"bin", "png", "txt"}


def test_texts_reach_beyond_ascii_and_the_basic_plane() -> None:
    with _opened("Northwind-full.siard") as opened:
        names = [
            cell.attributes["file"] for cell in opened.cells() if cell.attributes["file"].endswith("txt")
        ]
        texts = [opened.container.read(name).decode() for name in names]
        # Bytes, characters and UTF-16 units all differ, so that a length says which was counted.
        assert any(len(text.encode()) != len(text) != len(text.encode("utf-16-le")) // 2 for text in texts)


def test_pictures_are_well_formed_png(opened: Opened) -> None:
    for cell in opened.cells():
        data = opened.container.read(cell.attributes["file"])
        if cell.attributes["file"].endswith("txt"):
            continue
        chunks = list(_png_chunks(data))
        kinds = [kind for kind, _ in chunks]
        assert kinds[0] == b"IHDR"
        assert kinds[-1] == b"IEND"
        assert kinds.index(b"PLTE") < kinds.index(b"IDAT")
        header, palette = chunks[0][1], dict(chunks)[b"PLTE"]
        width, height = (int.from_bytes(header[at : at + 4]) for at in (0, 4))
        # 8 bits a pixel, palette, deflate, no interlace (PNG §11.2.1).
        assert header[8:] == bytes([8, 3, 0, 0, 0])
        pixels = zlib.decompress(dict(chunks)[b"IDAT"])
        lines = [pixels[at : at + width + 1] for at in range(0, len(pixels), width + 1)]
        assert len(lines) == height
        assert all(len(line) == width + 1 and line[0] == 0 for line in lines)
        assert max(max(line) for line in lines) < len(palette) // 3


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert int.from_bytes(data[at + 8 + length : at + 12 + length]) == zlib.crc32(kind + content)
        yield kind, content
        at += 12 + length
    assert at == len(data)


def test_metadata_names_the_tables_and_counts_their_rows(opened: Opened) -> None:
    tables = list(opened.metadata().iter(f"{METADATA}table"))
    assert [table.findtext(f"{METADATA}name") for table in tables] == TABLES
    for number, table in enumerate(tables):
        assert table.findtext(f"{METADATA}folder") == f"table{number}"
        assert table.findtext(f"{METADATA}rows") == str(len(opened.rows(number)))
    assert opened.metadata().find(f".//{METADATA}lobFolder") is None


def _values(opened: Opened, table: ET.Element, names: list[str]) -> list[tuple[str | None, ...]]:
    columns = [column.findtext(f"{METADATA}name") for column in table.iterfind(f"{METADATA}columns/*")]
    tags = [f"{{*}}c{columns.index(name) + 1}" for name in names]
    number = int(table.findtext(f"{METADATA}folder", "")[len("table") :])
    return [tuple(row.findtext(tag) for tag in tags) for row in opened.rows(number)]


def test_keys_hold(opened: Opened) -> None:
    tables = {
        table.findtext(f"{METADATA}name"): table for table in opened.metadata().iter(f"{METADATA}table")
    }
    checked = 0
    for table in tables.values():
        key = [column.text or "" for column in table.iterfind(f"{METADATA}primaryKey/{METADATA}column")]
        values = _values(opened, table, key)
        assert len(set(values)) == len(values)
        assert all(None not in value for value in values)
        for foreign in table.iterfind(f".//{METADATA}foreignKey"):
            column = foreign.findtext(f".//{METADATA}column", "")
            referenced = foreign.findtext(f".//{METADATA}referenced", "")
            other = tables[foreign.findtext(f"{METADATA}referencedTable")]
            known = {*_values(opened, other, [referenced]), (None,)}
            assert set(_values(opened, table, [column])) <= known
            checked += 1
    assert checked == 11


def test_varchar_values_fit_their_columns(opened: Opened) -> None:
    for number, table in enumerate(opened.metadata().iter(f"{METADATA}table")):
        for position, kind in enumerate(
            table.iterfind(f"{METADATA}columns/{METADATA}column/{METADATA}type"), 1
        ):
            name, _, length = (kind.text or "").rstrip(")").partition("(")
            if name in {"VARCHAR", "CHARACTER"}:
                for row in opened.rows(number):
                    assert len(row.findtext(f"{{*}}c{position}") or "") <= int(length)


def _schema(data: bytes | Path) -> Any:
    source = str(data) if isinstance(data, Path) else io.BytesIO(data)
    return xmlschema.XMLSchema10(source, allow="none" if isinstance(data, bytes) else "all")


def test_tables_are_valid_against_their_own_grammars(opened: Opened) -> None:
    for number in range(len(TABLES)):
        stem = f"content/schema0/table{number}/table{number}"
        grammar = _schema(opened.container.read(f"{stem}.xsd"))
        rows = opened.container.read(f"{stem}.xml")
        grammar.validate(io.BytesIO(rows))
        assert not grammar.is_valid(io.BytesIO(rows.replace(b"<c1>", b"<c0>").replace(b"</c1>", b"</c0>")))


def test_metadata_is_valid_against_its_own_grammar(opened: Opened) -> None:
    grammar = _schema(opened.container.read("header/metadata.xsd"))
    metadata = opened.container.read("header/metadata.xml")
    grammar.validate(io.BytesIO(metadata))
    assert not grammar.is_valid(io.BytesIO(metadata.replace(b"archivalDate>", b"archivedDate>")))


def test_own_grammar_takes_the_lob_folders_that_a_package_adds(opened: Opened) -> None:
    grammar = _schema(opened.container.read("header/metadata.xsd"))
    folder = b"<lobFolder>./</lobFolder>"
    metadata = opened.container.read("header/metadata.xml")
    for before in (b"</dataOriginTimespan>", b"<name>Picture</name>", b"<name>Seal</name>"):
        first, *rest = metadata.rsplit(before, 1)
        metadata = (before + folder).join([first, *rest])
    assert metadata.count(folder) == 2 + (b"<fields>" in metadata)
    grammar.validate(io.BytesIO(metadata))


def test_metadata_is_valid_against_the_official_grammar(opened: Opened) -> None:
    grammar = _schema(shared("data", "xsd", "siard-2.2-metadata.xsd"))
    grammar.validate(io.BytesIO(opened.container.read("header/metadata.xml")))


def test_columns_of_metadata_and_grammar_agree(opened: Opened) -> None:
    xs = "{http://www.w3.org/2001/XMLSchema}"
    for number, table in enumerate(opened.metadata().iter(f"{METADATA}table")):
        grammar = ET.fromstring(  # noqa: S314 -- our own file
            opened.container.read(f"content/schema0/table{number}/table{number}.xsd")
        )
        row = grammar.find(f"{xs}complexType[@name='rowType']/{xs}sequence")
        assert row is not None
        nullable = [
            column.findtext(f"{METADATA}nullable") for column in table.iterfind(f"{METADATA}columns/*")
        ]
        assert [cell.get("minOccurs") == "0" for cell in row] == [each == "true" for each in nullable]


def test_copying_writes_the_archives_and_leaves_them_alone_the_second_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "deeper"
    paths = copy_sample("northwind", folder)
    assert paths == [folder / name for name in ARCHIVES]
    for path in paths:
        assert path.read_bytes() == (CHECKOUT / "samples" / "northwind" / path.name).read_bytes()
    before = [path.stat().st_mtime_ns for path in paths]
    assert copy_sample("northwind", folder) == paths
    assert [path.stat().st_mtime_ns for path in paths] == before


def test_copying_adds_only_what_is_missing(tmp_path: Path) -> None:
    first, second = copy_sample("northwind", tmp_path)
    first.unlink()
    assert copy_sample("northwind", tmp_path) == [first, second]
    assert first.stat().st_size == (CHECKOUT / "samples" / "northwind" / first.name).stat().st_size


@pytest.mark.parametrize("kind", ["longer", "same size", "folder", "dangling link"])
def test_copying_refuses_to_replace_what_is_there_and_writes_nothing(tmp_path: Path, kind: str) -> None:
    occupied = tmp_path / "Northwind-full.siard"
    size = (CHECKOUT / "samples" / "northwind" / occupied.name).stat().st_size
    if kind == "folder":
        occupied.mkdir()
    elif kind == "dangling link":
        occupied.symlink_to("nowhere")
    else:
        occupied.write_bytes(bytes(size + (kind == "longer")))
    with pytest.raises(TargetError, match=r"Northwind-full\.siard already exists") as refused:
        copy_sample("northwind", tmp_path)
    assert "another folder" in refused.value.hint
    assert list(tmp_path.iterdir()) == [occupied]


def test_copying_says_when_the_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TargetError, match="cannot write"):
        copy_sample("northwind", tmp_path / "file")


def test_a_sample_that_does_not_exist_is_an_error_that_names_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'southwind'") as refused:
        copy_sample("southwind", tmp_path)
    assert "northwind" in refused.value.hint


def test_resources_come_from_the_checkout_or_else_from_the_package(tmp_path: Path) -> None:
    assert resources.root() == CHECKOUT
    assert resources.template_folder() == CHECKOUT / "templates"
    assert resources.schema_folder() == CHECKOUT / "schemas"
    package = tmp_path / "metspack"
    (package / "_data").mkdir(parents=True)
    assert resources.root(package) == package / "_data"
    with reading.opening(resources.sample_folder("northwind"), ("Northwind.siard",)) as descriptor:
        assert next(reading.chunks(descriptor))[:4] == b"PK\x03\x04"
