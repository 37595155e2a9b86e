"""Findings on packages of other tools: what the page tells, and damage besides."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack import checking
from metspack.model import Finding
from tests.conftest import CHECKOUT
from tests.interop import known, tools
from tests.packages.cases import HERE as PACKAGES

FORMS = PACKAGES / "forms"
ARCHIVE = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
_DUBLIN_CORE = '<dc xmlns="http://purl.org/dc/elements/1.1/"><title>Northwind</title></dc>\n'
_EATB = (
    "import sys\nfrom eatb.oais_ip import create_sip\n"
    "create_sip(sys.argv[1], 'nw', 'nw', generate_premis=False, generate_package=False)\n"
)


def commons_ip(folder: Path, representations: int = 1, strategy: str = "Folder") -> Path:
    """Return a package that commons-ip writes, of representations that hold the sample archive."""
    (folder / "dc.xml").write_text(_DUBLIN_CORE)
    data = [
        f"--representation-id=rep{n} --representation-data={ARCHIVE}" for n in range(1, representations + 1)
    ]
    done = tools.run(
        [
            *("java", "-jar", tools.commons_ip(), "create", "-s", strategy, "-p", folder),
            *("--sip-id", "nw", "--submitter-name", "NA", "--submitter-id", "na", "-d", folder / "dc.xml"),
            *(f"--metadata-file={folder / 'dc.xml'}", "--metadata-type=DC"),
            *" ".join(data).split(),
        ],
        folder,
    )
    assert done.returncode == 0, done.stderr
    return folder / ("nw" if strategy == "Folder" else "nw.zip")


def eatb(folder: Path) -> Path:
    """Return a package that eatb writes; it is given the folders, and writes the METS documents."""
    interpreter = tools.python("eatb")
    package = folder / "nw"
    for name in ("metadata/descriptive", "documentation", "schemas", "representations/rep1/data"):
        (package / name).mkdir(parents=True)
    (package / "metadata/descriptive/dc.xml").write_text(_DUBLIN_CORE)
    (package / "documentation/readme.txt").write_text("What there is to know.\n")
    shutil.copy(CHECKOUT / "schemas" / "mets.xsd", package / "schemas")
    shutil.copy(ARCHIVE, package / "representations/rep1/data")
    script = folder / "make_sip.py"
    script.write_text(_EATB)
    done = tools.run([interpreter, script, package], package)
    assert done.returncode == 0, done.stderr
    return package


def essarch(folder: Path) -> Path:
    """Return a package in the shape of ESSArch's, written by its profile."""
    return Path(shutil.copytree(FORMS / "essarch", folder / "package"))


MAKERS: tuple[Callable[[Path], Path], ...] = (commons_ip, eatb, essarch)


def rules(found: list[Finding]) -> set[str]:
    """Return the requirements that are not met."""
    return {value for each in found for name, value in each.facts if name == "rule"}


@pytest.mark.parametrize(("written", "maker"), list(zip(known.WRITTEN, MAKERS, strict=True)))
def test_the_page_tells_what_is_found(
    tmp_path: Path, written: known.Written, maker: Callable[[Path], Path]
) -> None:
    found = list(checking.check(maker(tmp_path)))
    assert sorted({each.code for each in found}) == sorted(written.codes)
    assert sorted(rules(found)) == sorted(written.rules)


@pytest.mark.parametrize("maker", [commons_ip, eatb])
def test_damage_is_reported_as_well(tmp_path: Path, maker: Callable[[Path], Path]) -> None:
    package = maker(tmp_path)
    before = {each.code for each in checking.check(package)}
    (archive,) = package.rglob("*.siard")
    archive.write_bytes(archive.read_bytes()[::-1])
    assert "F003" in {each.code for each in checking.check(package)} - before


def test_what_every_representation_lacks_is_one_finding(tmp_path: Path) -> None:
    found = list(checking.check(commons_ip(tmp_path, representations=3)))
    broken = [each for each in found if each.code == "M030"]
    assert sorted(rules(broken)) == ["CSIP10", "CSIP88"]
    assert len(broken) == 2
    for each in broken:
        assert "likewise in 2 more METS of representations" in each.message


def test_a_zip_file_of_commons_ip_says_the_same(tmp_path: Path) -> None:
    """Its writer compresses the .siard once more, which is inflated then."""
    found = {each.code for each in checking.check(commons_ip(tmp_path, strategy="Zip"))}
    assert found == set(known.WRITTEN[0].codes)
