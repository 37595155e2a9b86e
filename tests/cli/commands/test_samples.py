"""The sample archives: made again they are the same, and what they say about themselves is so."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import xmlschema

from metspack import resources
from metspack.cli.commands.sample import copy_sample
from metspack.errors import ConfigError, TargetError
from metspack.files import reading
from tests.conftest import CHECKOUT
from tests.shared_data import shared

ARCHIVES = ("Northwind.siard", "Northwind-full.siard")


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remade")
    script = CHECKOUT / "samples" / "make_northwind.py"
    # Another hash seed and another time zone, for what must not matter.
    surroundings = {**os.environ, "PYTHONHASHSEED": "77", "TZ": "Pacific/Apia"}
    subprocess.run([sys.executable, str(script), str(folder)], check=True, env=surroundings, cwd=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHIVES)
def test_made_again_the_bytes_are_the_same(remade: Path, name: str) -> None:
    assert (remade / name).read_bytes() == (CHECKOUT / "samples" / "northwind" / name).read_bytes()


@pytest.mark.parametrize("name", ARCHIVES)
def test_metadata_is_valid_against_the_official_grammar(name: str) -> None:
    grammar = xmlschema.XMLSchema10(shared("data", "xsd", "siard-2.2-metadata.xsd"))
    with zipfile.ZipFile(CHECKOUT / "samples" / "northwind" / name) as archive:
        grammar.validate(io.BytesIO(archive.read("header/metadata.xml")))


def test_copying_twice_writes_the_archives_once(tmp_path: Path) -> None:
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
    assert all((resources.root() / each).is_dir() for each in ("templates", "schemas", "samples"))
    package = tmp_path / "metspack"
    (package / "_data").mkdir(parents=True)
    assert resources.root(package) == package / "_data"
    with reading.opening(resources.root() / "samples" / "northwind", ("Northwind.siard",)) as descriptor:
        assert next(reading.chunks(descriptor))[:4] == b"PK\x03\x04"
