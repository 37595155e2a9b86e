"""eark-validator reports only its listed mistakes, for each profile, in folders and packed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop import known, tools

OFFLINE = Path(__file__).with_name("offline.py")


def command(packages: list[Path], version: str) -> list[str | Path]:
    return [tools.python("eark_validator"), OFFLINE, "-s", version, *packages]


def reports(packages: list[Path], version: str, folder: Path) -> Iterator[Any]:
    """Yield eark-validator's report of each package."""
    done = tools.run(command(packages, version), folder)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def fired(report: Any) -> list[str]:
    """Return the rules of errors and warnings: of the structure, the schema and the Schematron rules."""
    parts = (
        report["structure"],
        *(report["metadata"][f"{name}_results"] for name in ("schema", "schematron")),
    )
    found = [each for part in parts for each in part["messages"]]
    return sorted({each["rule_id"] for each in found if each["severity"] != "Info"})


@pytest.mark.parametrize("profile", tools.PROFILES)
@pytest.mark.parametrize("links", ["location", "objid"])
@pytest.mark.parametrize("form", [None, "zip", "tar"])
def test_mistakes_are_those_of_the_page(tmp_path: Path, form: str | None, links: str, profile: str) -> None:
    tools.python("eark_validator")
    options = ("--child-links", links, *(("--pack", form) if form else ()))
    package = tools.csip(tmp_path / "out", profile, *options)
    ips = [package / (f"{ip}.{form}" if form else ip) for ip in tools.IPS]
    if form == "tar":
        del ips[0]  # see the next test
    for version in ("V2.0.4", "V2.1.0"):
        found = list(reports(ips, version, tmp_path))
        assert [each["structure"]["status"] for each in found] == ["WellFormed"] * len(ips)
        expected = known.rules(known.EARK_VALIDATOR, version, profile)
        assert [fired(each) for each in found] == [expected] * len(ips)
        tools.observe("eark-validator", version, profile, fired(found[0]))


def test_a_tar_file_that_ends_with_an_archive_is_taken_for_that_archive(tmp_path: Path) -> None:
    """It asks first whether the end of a file is that of a zip, and a .siard is one."""
    tools.python("eark_validator")
    package = tools.csip(tmp_path / "out", "aip", "--pack", "tar")
    done = tools.run(command([package / f"{tools.OBJID}.tar"], "V2.1.0"), tmp_path)
    assert "Unpacking archive yields2 children" in done.stderr


def test_a_fault_is_seen(tmp_path: Path) -> None:
    tools.python("eark_validator")
    package = tools.csip(tmp_path / "out", "aip") / tools.OBJID
    mets = package / "METS.xml"
    mets.write_text(mets.read_text().replace(' csip:OAISPACKAGETYPE="AIP"', ""))
    (report,) = reports([package], "V2.1.0", tmp_path)
    assert set(fired(report)) - set(known.rules(known.EARK_VALIDATOR, "V2.1.0", "aip")) == {"CSIP9"}
