"""``metspack merge`` and ``convert`` as a person runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.kept import copied
from tests.tables import tabled


@pytest.fixture
def out(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    """The sample in a parent and three children."""
    cut = ("--dialect", "csip", "--max-files", "4", "--max-bytes", "45000", "--id", "NW", "-j", "1")
    return copied(cut, tmp_path / "out", lambda out: metspack.fine("build", northwind, "-o", out, *cut))


def test_a_sip_of_packages_given_one_by_one(metspack: Commands, out: Path, tmp_path: Path) -> None:
    (out / "NW/metadata/other").mkdir()
    (out / "NW/metadata/other/x.txt").write_text("x")
    ips = [each for each in sorted(out.iterdir(), reverse=True) if each.is_dir()]
    saying = ("--profile", "sip", "--submitter", "National Archives")
    outcome = metspack(
        "merge",
        *ips,
        "-o",
        tmp_path / "whole",
        *saying,
        *("--id", "NW-2", "--checksum", "SHA-512", "--agent", "An archive", "--verify", "--json"),
    )
    assert outcome.code == 0, outcome
    assert "1 file of the containers left out" in outcome.err
    document = json.loads(outcome.out)
    assert (document["objid"], document["containers"], document["checked"]) == ("NW-2", 4, "full")
    assert len(document["warnings"]) == 1
    mets = (tmp_path / "whole/NW-2/METS.xml").read_text()
    for words in ("National Archives", "An archive", "E-ARK-SIP-v2-2-0.xml", "SHA-512"):
        assert words in mets


def test_unmergeable_containers_are_reported(metspack: Commands, out: Path, tmp_path: Path) -> None:
    outcome = metspack("merge", out / "NW", "-o", tmp_path / "whole")
    assert outcome.code == 3
    assert "names the child NW_s0_t2_c4_seg_0, which is not among the containers" in outcome.err
    assert metspack("merge", out, "-o", tmp_path / "whole", "--profile", "sip").code == 2
    assert metspack("merge", out, "-o", out).code == 5
    assert metspack("merge", out, "-o", tmp_path / "whole", "--checksum", "SHA3").code == 2


@tabled
def test_terms_and_agents_are_those_of_the_parent_unless_others_are_given(
    words: tuple[str, ...],
    expected: tuple[str, ...],
    metspack: Commands,
    northwind: Path,
    tmp_path: Path,
) -> None:
    terms = ("--dialect", "csip", "--type", "AIP", "--content-type", "SIARD2", "--max-files", "4")
    agents = ("--submitter", "Sub", "--submitter-code", "1")
    metspack.fine("build", northwind, "-o", tmp_path / "out", "-q", *terms, *agents)
    (parent,) = (
        each for each in (tmp_path / "out").glob("*/METS.xml") if "the SIARD archive" in each.read_text()
    )
    person = (
        '<mets:agent ROLE="CREATOR" TYPE="INDIVIDUAL"><mets:name>Sven</mets:name>'
        "<mets:note>Phone: 08-123456</mets:note></mets:agent></mets:metsHdr>"
    )
    parent.write_text(parent.read_text().replace("</mets:metsHdr>", person))
    metspack.fine("merge", tmp_path / "out", "-o", tmp_path / "whole", "-q", *words)
    (mets,) = (each.read_text() for each in (tmp_path / "whole").glob("*/METS.xml"))
    submitter = re.search(
        r'ROLE="CREATOR" TYPE="ORGANIZATION">\s*<mets:name>([^<]+)(.*?)</mets:agent>', mets, re.DOTALL
    )
    assert submitter is not None
    code = re.search(r'IDENTIFICATIONCODE">([^<]+)', submitter[2])
    found = (
        re.findall(r'PROFILE="[^"]*/([^"/]+)"', mets)[0],
        re.findall(r'OAISPACKAGETYPE="(\w+)"', mets)[0],
        re.findall(r'CONTENTINFORMATIONTYPE="(\w+)"', mets)[0],
        submitter[1],
        code[1] if code else "",
    )
    assert found == expected
    assert "Sven" not in mets


CUT = ("--max-files", "4", "--max-bytes", "9000")


SLIP = "8 LOBs in 11 segments, fewer than two in each on average: --max-bytes is 9,000 bytes"


@pytest.fixture
def parts(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    """The sample packaged, each of its 8 LOBs in two parts."""

    def build(parts: Path) -> None:
        outcome = metspack("build", northwind, "-o", parts, *CUT, "-j", "1")
        assert (outcome.code, outcome.err) == (0, f"warning: {SLIP}\n")

    return copied(("converting", CUT), tmp_path / "parts", build)


@pytest.mark.usefixtures("one_clock")
def test_all_that_build_offers_is_offered(metspack: Commands, parts: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    document = json.loads(
        metspack.fine(
            *("convert", parts, "-o", new, "--name", "Other", "--id", "urn:x:1", "--checksum", "SHA-256"),
            *("--agent", "An archive", "--mets-profile", "https://example.org/p", "--href", "file-uri"),
            *("--preset", "dbptk", "--min-size", "1", "--verify", "--add-digests", "--jobs", "1", "--json"),
            *("--no-message-digest-check", "--accept", "dbptk-part-digest", "--budget", "depth=50"),
        )
    )
    assert (document["name"], document["objid"], document["checked"]) == ("Other", "urn:x:1", "full")
    mets = (new / "mets.xml").read_text(encoding="utf-8")
    for word in ("SHA-256", "An archive", "https://example.org/p", "file:///Other.siard", "2016-02-23"):
        assert word in mets
    with_dbptks_names = ("--external-lobs-per-folder", "4", "--external-lobs-folder-size", "0")
    metspack.fine("convert", parts, "-o", tmp_path / "named", *with_dbptks_names, "-j", "1")
    assert sum(path.is_dir() for path in (tmp_path / "named").iterdir()) == 2
