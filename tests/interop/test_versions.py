"""commons-ip and eark-validator judge SIPs of each version by each version."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.mets.dialects.csip.terms import CSIP_VERSIONS, SIP_VERSIONS
from tests.interop import known, tools
from tests.interop.test_commons_ip import verdicts
from tests.interop.test_eark_validator import fired, reports

WITHOUT = "https://earksip.dilcis.eu/profile/E-ARK-SIP.xml"
COMMONS_IP: dict[str, dict[str, str]] = {
    # written by: {judged by: the rules that fail}
    "2.0.4": {"2.0.4": "CSIP101 SIP2", "2.1.0": "CSIP101 SIP2", "2.2.0": "CSIP101 SIP2"},
    "2.1.0": {"2.0.4": "SIP2", "2.1.0": "", "2.2.0": "SIP2"},
    "2.2.0": {"2.0.4": "SIP2", "2.1.0": "SIP2", "2.2.0": ""},
    "2.3.0": {"2.0.4": "SIP15 SIP2", "2.1.0": "SIP15 SIP2", "2.2.0": "SIP15 SIP2"},
    WITHOUT: {"2.0.4": "", "2.1.0": "SIP2", "2.2.0": "SIP2"},
}
"""By 2.0.4, SIP2 requires the address without a version.

CSIP101, a SHOULD, demands a div that is called as the group of 2.0.4, also beside representations.
"""
EARK_VALIDATOR: dict[str, dict[str, str]] = {
    # written by: {judged by: more and fewer rules than for 2.2.0, which the table of known mistakes has}
    "2.0.4": {"V2.0.4": "CSIP114", "V2.1.0": ""},
    "2.1.0": {"V2.0.4": "", "V2.1.0": ""},
    "2.2.0": {"V2.0.4": "", "V2.1.0": ""},
    "2.3.0": {"V2.0.4": "CSIP12 CSIP13 CSIP15 CSIP16", "V2.1.0": "CSIP12 CSIP13 CSIP15 CSIP16"},
}
"""Rules CSIP12 to CSIP16 concern all agents with ROLE CREATOR, and 2.3.0 lacks one."""


def sip(folder: Path, version: str) -> list[Path]:
    """Return the IPs of the sample as a SIP of a version, or with an address."""
    given = ("--mets-profile" if version == WITHOUT else "--sip-version", version)
    package = tools.csip(folder / "out", "sip", "--content-type", "SIARD2", *given)
    return [package / ip for ip in tools.IPS]


@pytest.mark.parametrize("version", [*SIP_VERSIONS, WITHOUT])
def test_commons_ip(tmp_path: Path, version: str) -> None:
    tools.commons_ip()
    ips = sip(tmp_path, version)
    for judged_by in CSIP_VERSIONS:
        failed = COMMONS_IP[version][judged_by].split()
        expected = ("INVALID" if failed else "VALID", failed)
        found = list(verdicts(ips, tmp_path, judged_by))
        assert found == [expected] * len(ips), (version, judged_by)


@pytest.mark.parametrize("version", SIP_VERSIONS)
def test_eark_validator(tmp_path: Path, version: str) -> None:
    tools.python("eark_validator")
    ips = sip(tmp_path, version)
    for judged_by, others in EARK_VALIDATOR[version].items():
        usual = set(known.rules(known.EARK_VALIDATOR, judged_by, "sip"))
        for report in reports(ips, judged_by, tmp_path):
            assert report["structure"]["status"] == "WellFormed"
            assert usual ^ set(fired(report)) == set(others.split()), (version, judged_by)
