"""metsrw reads the files of our METS once they are in a structMap of the kind that it knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.interop import tools

READER = Path(__file__).with_name("read_metsrw.py")
M = "{http://www.loc.gov/METS/}"
HREF = "{http://www.w3.org/1999/xlink}href"


def read(folder: Path, documents: list[Path]) -> Any:
    """Return what metsrw says of each document."""
    done = tools.run([tools.python("metsrw"), READER, *documents], folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def mapped(document: Path, folder: Path) -> tuple[Path, Any]:
    """Return a copy of a METS with metsrw's structMap, and the facts to read from it."""
    tree = etree.parse(document)
    root: Any = tree.getroot()
    own = etree.SubElement(root, f"{M}structMap", TYPE="physical")
    top = etree.SubElement(own, f"{M}div", TYPE="Directory", LABEL="all")
    files = []
    for file in root.iterfind(f".//{M}file"):
        path = file.find(f"{M}FLocat").get(HREF)
        item = etree.SubElement(top, f"{M}div", TYPE="Item", LABEL=path.rpartition("/")[2])
        etree.SubElement(item, f"{M}fptr", FILEID=file.get("ID"))
        use = file.getparent().get("USE")
        files.append([path, file.get("CHECKSUM"), file.get("CHECKSUMTYPE"), use])
    agents = [each.text for each in root.iterfind(f"{M}metsHdr/{M}agent/{M}name")]
    copy = folder / f"{len(list(folder.iterdir()))}.xml"
    tree.write(copy)
    return copy, {"objid": root.get("OBJID"), "agents": agents, "files": sorted(files)}


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    """All METS documents of the sample, in both dialects."""
    tools.python("metsrw")
    packages = (tools.built(tmp_path / "recommendation"), tools.csip(tmp_path / "csip", "sip"))
    found = [each for package in packages for each in package.rglob("*") if each.name.lower() == "mets.xml"]
    return sorted(found)


def test_it_knows_no_structmap_but_that_of_archivematica(tmp_path: Path, documents: list[Path]) -> None:
    """CSIP81 has PHYSICAL, as the recommendation does; METS leaves the word open."""
    refused = {"refused": "No physical structMap found."}
    assert read(tmp_path, documents) == [refused] * (4 + 8)


def test_it_reads_header_and_files(tmp_path: Path, documents: list[Path]) -> None:
    folder = tmp_path / "mapped"
    folder.mkdir()
    copies, expected = zip(*(mapped(each, folder) for each in documents), strict=True)
    assert read(tmp_path, list(copies)) == list(expected)
