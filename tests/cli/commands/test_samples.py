"""The sample archives: made again they are the same, and what they say about themselves is so."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHIVES)
def test_made_again_the_bytes_are_the_same(remade: Path, name: str) -> None:
    assert (remade / name).read_bytes() == (CHECKOUT / "samples" / "northwind" / name).read_bytes()


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


def test_metadata_is_valid_against_the_official_grammar(opened: Opened) -> None:
    grammar = _schema(shared("data", "xsd", "siard-2.2-metadata.xsd"))
    grammar.validate(io.BytesIO(opened.container.read("header/metadata.xml")))


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


@pytest.mark.parametrize("kind", ["longer", "same size", "dangling link"])
def test_copying_refuses_to_replace_what_is_there_and_writes_nothing(tmp_path: Path, kind: str) -> None:
    occupied = tmp_path / "Northwind-full.siard"
    size = (CHECKOUT / "samples" / "northwind" / occupied.name).stat().st_size
    if kind == "dangling link":
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
