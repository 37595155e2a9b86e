"""``metspack check`` with a level, a sample and schemas of one's own: what is read, said and refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lxml import etree

from tests.cli.conftest import Commands
from tests.conftest import CHECKOUT
from tests.packages import forge


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """The project's own schemas in a folder, under other names."""
    folder = tmp_path / "schemas"
    folder.mkdir()
    for path in (CHECKOUT / "schemas").glob("*.xsd"):
        shutil.copyfile(path, folder / f"our-{path.name}")
    return folder


def test_every_form_of_report_states_the_sample(metspack: Commands, package: Path, tmp_path: Path) -> None:
    said = "2 of 5 files hashed (sample of 30%, seed 4)"
    reports = [tmp_path / f"report{suffix}" for suffix in (".json", ".jsonl", ".txt", ".xml")]
    options = [each for path in reports for each in ("--report", path)]
    out = metspack.fine("check", package, "--sample", "30%", "--seed", "4", *options)
    assert f"; {said}; level full: 0 errors" in out
    whole, lines, text, junit = (path.read_text(encoding="utf-8") for path in reports)
    sample = {"asked": "30%", "seed": 4, "files": 5, "hashed": 2}
    assert json.loads(whole)["sample"] == sample
    assert json.loads(lines.splitlines()[-1])["sample"] == sample
    assert said in text
    assert said in str(etree.fromstring(junit.encode()).get("name"))


def test_schemas_of_ones_own_are_found_by_namespace(metspack: Commands, package: Path, schemas: Path) -> None:
    metspack.fine("check", package, "--schema-dir", schemas)
    path = schemas / "our-mets.xsd"
    text = path.read_text(encoding="utf-8").replace('<xs:element name="fptr"', '<xs:element name="pointer"')
    path.write_text(text, encoding="utf-8")
    outcome = metspack("check", package, "--schema-dir", schemas, "--level", "links")
    assert outcome.code == 1
    assert "error M020 Not valid METS" in outcome.out
    assert "fptr" in outcome.out
