"""Packages of the CSIP dialect: what lies on disk, what METS and PREMIS say, and official schemas to it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from metspack import api, building, checking
from metspack.building import BuildOptions
from metspack.errors import ConfigError
from metspack.identity import CsipOptions
from metspack.mets.dialects.csip_terms import Agents
from metspack.mets.dialects.interface import Software
from metspack.model import Limits
from tests import siards
from tests.official import mets_faults, premis_faults
from tests.trees import names, tree

CREATED = "2020-01-01T00:00:00Z"
OPTIONS = BuildOptions(
    created=CREATED,
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=3, bytes=100),
    checksum="SHA-256",
    dialect="csip",
    layout="lobseg",
    objid="N",
)
CONTENTS = (b"a" * 40, b"b" * 30, b"c" * 250, b"d", b"")
M = "{http://www.loc.gov/METS/}"
X = "{http://www.w3.org/1999/xlink}"
C = "{https://DILCIS.eu/XML/METS/CSIPExtensionMETS}"
P = "{http://www.loc.gov/premis/v3}"


def built(folder: Path, options: BuildOptions = OPTIONS, target: str = "out", version: str = "2.1") -> Path:
    source = folder / "N.siard"
    if not source.exists():
        siards.packed(source, siards.parts(siards.lobs(*CONTENTS), version=version))
    building.build(source, folder / target, options)
    return folder / target


def csip(**options: Any) -> BuildOptions:
    return replace(OPTIONS, csip=CsipOptions(**options))


def documents(package: Path, name: str) -> list[Path]:
    return sorted(package.rglob(name))


def root(path: Path) -> Any:
    return etree.parse(path).getroot()


def findings(package: Path) -> list[str]:
    """Return what is wrong with a package; that a LOB lies in parts is not."""
    found = checking.check(package)
    return [f"{each.path}: {each.code} {each.message}" for each in found if each.code != "S010"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parent with four children, with a LOB that is in three of them."""
    return built(tmp_path_factory.mktemp("csip"))


def test_every_ip_has_its_folder_and_the_manifests_lie_beside_them(package: Path) -> None:
    ips = {"N", "N_lobseg_0", "N_lobseg_1", "N_lobseg_2", "N_lobseg_3"}
    assert names(package) == {*ips, "manifest-md5.txt", "manifest-sha256.txt"}
    common = {
        "METS.xml",
        "documentation/about-this-package.txt",
        "metadata/descriptive/dublin-core.xml",
        "metadata/preservation/premis.xml",
        "representations/rep1/METS.xml",
        "representations/rep1/metadata/preservation/premis.xml",
        *(f"schemas/{name}.xsd" for name in ("csip", "mets", "sip", "xlink")),
    }
    data = {
        ip: {name for name in tree(package / ip) if not name.endswith("/") and name not in common}
        for ip in ips
    }
    for ip in ips:
        assert common <= tree(package / ip).keys()
    lobs = "representations/rep1/data/N_lobseg_{0}/content/schema0/table0/lob2/record"
    assert data == {
        "N": {"representations/rep1/data/N.siard"},
        "N_lobseg_0": {lobs.format(0) + name for name in ("0.bin", "1.bin", "2.bin.0")},
        "N_lobseg_1": {f"{lobs.format(1)}2.bin.1"},
        "N_lobseg_2": {f"{lobs.format(2)}2.bin.2"},
        "N_lobseg_3": {lobs.format(3) + name for name in ("2.bin.z", "3.bin", "4.bin")},
    }


def test_the_package_checks_without_a_finding(package: Path) -> None:
    assert findings(package) == []


@pytest.mark.parametrize("style", ["aip", "csip-large", "recommendation"])
@pytest.mark.parametrize("objid", [None, "urn:example:N"])
def test_every_link_style_checks_without_a_finding_and_is_valid(
    tmp_path: Path, style: str, objid: str | None
) -> None:
    options = replace(csip(link_style=style, roda_ancestors=True), objid=objid)
    package = built(tmp_path, options)
    assert findings(package) == []
    assert list(faults(package)) == []


@pytest.mark.parametrize("profile", ["csip", "cits-siard", "sip"])
@pytest.mark.parametrize("layout", ["lobseg", "siard22"])
def test_every_profile_and_layout_checks_without_a_finding_and_is_valid(
    tmp_path: Path, profile: str, layout: str
) -> None:
    options = replace(csip(profile=profile, agents=Agents(submitter="National Archives")), layout=layout)
    package = built(tmp_path, options)
    assert findings(package) == []
    assert list(faults(package)) == []


@pytest.mark.parametrize("profile", ["cits-siard", "sip"])
def test_a_sip_of_a_profile_that_asks_for_it_is_submitted_by_somebody(tmp_path: Path, profile: str) -> None:
    with pytest.raises(ConfigError, match=f"the profile {profile} wants a submitting agent in a SIP"):
        built(tmp_path, csip(profile=profile))


def test_a_package_of_cits_siard_that_is_no_sip_is_submitted_by_nobody(tmp_path: Path) -> None:
    assert findings(built(tmp_path, csip(profile="cits-siard", package_type="AIP"))) == []


def faults(package: Path) -> Iterator[str]:
    for each in documents(package, "METS.xml"):
        yield from mets_faults(each)
    for each in documents(package, "premis.xml"):
        yield from premis_faults(each)


def test_the_same_input_gives_the_same_bytes_whoever_does_the_work(package: Path, tmp_path: Path) -> None:
    again = built(tmp_path, replace(OPTIONS, jobs=2))
    assert tree(again) == tree(package)


@pytest.mark.parametrize("layout", ["lobseg", "siard22"])
@pytest.mark.parametrize("style", ["aip", "csip-large", "recommendation"])
def test_every_lob_is_given_back(tmp_path: Path, style: str, layout: str) -> None:
    package = built(tmp_path, replace(csip(link_style=style), objid="urn:example:N", layout=layout))
    api.restore(package, tmp_path / "tree")
    lobs = {
        name.rpartition("/")[2]: data for name, data in tree(tmp_path / "tree").items() if "record" in name
    }
    assert lobs == {f"record{number}.bin": data for number, data in enumerate(CONTENTS)}
    api.restore_siard(package, tmp_path / "again.siard")
    with zipfile.ZipFile(tmp_path / "again.siard") as archive:
        found = [archive.read(name) for name in archive.namelist() if "record" in name]
    assert sorted(found) == sorted(CONTENTS)
    with api.open_lob(package, "s0.t0.c2.r3") as lob:
        assert lob.read() == CONTENTS[2]
    assert list(api.roundtrip(package)) == []
