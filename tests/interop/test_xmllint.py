"""xmllint validates all METS and PREMIS by the official schemas, without a network."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests import official
from tests.interop import tools
from tests.shared_data import shared

pytestmark = pytest.mark.skipif(
    shutil.which("xmllint") is None, reason="xmllint is not installed (libxml2-utils)"
)


def validated(folder: Path, schema: Path, documents: list[Path]) -> list[str]:
    """Return what xmllint says of the documents, but for the import that it passes over."""
    done = tools.run(["xmllint", "--nonet", "--noout", "--schema", schema, *documents], folder)
    return sorted(line for line in done.stderr.splitlines() if "Schemas parser warning" not in line)


def mets_schema(folder: Path) -> Path:
    schema = folder / "bundle.xsd"
    schema.write_text(official.bundle())
    return schema


def documents(folder: Path, name: str) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.name.casefold() == name)


@pytest.mark.parametrize("profile", ["cits-siard", "recommendation"])
def test_every_document_validates(tmp_path: Path, profile: str) -> None:
    premis = shared("data", "xsd", "premis-3.0.xsd")
    is_csip = profile in tools.PROFILES
    package = tools.csip(tmp_path / "out", profile) if is_csip else tools.built(tmp_path / "out")
    mets = documents(package, "mets.xml")
    assert len(mets) == (8 if is_csip else 4)
    kept = documents(package, "premis.xml")
    assert len(kept) == (8 if is_csip else 0)
    for schema, found in ((mets_schema(tmp_path), mets), (premis, kept)):
        if found:
            assert validated(tmp_path, schema, found) == sorted(f"{each} validates" for each in found)


def test_a_fault_is_seen(tmp_path: Path) -> None:
    mets = tools.csip(tmp_path / "out", "sip") / tools.OBJID / "METS.xml"
    mets.write_text(mets.read_text().replace("citssiard_v1_0", "CITS_SIARD", 1))
    verdict, words = validated(tmp_path, mets_schema(tmp_path), [mets])
    assert re.search(r"CONTENTINFORMATIONTYPE.*'CITS_SIARD' is not an element of the set", words)
    assert verdict == f"{mets} fails to validate"
