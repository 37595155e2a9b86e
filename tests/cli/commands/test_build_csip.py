"""``metspack build --dialect``: what each option of csip puts into packages, and dialects of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack import checking
from metspack.cli.options import choices
from metspack.mets import dialects
from tests import siards
from tests.cli.conftest import Commands


def test_every_option_of_the_dialect_is_found_in_the_packages(metspack: Commands, tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A.siard", b"one", b"two")
    about, schemas = tmp_path / "about", tmp_path / "own"
    about.mkdir()
    schemas.mkdir()
    (about / "handbook.txt").write_bytes(b"how the database was used")
    (schemas / "own.xsd").write_bytes(b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>')
    described = tmp_path / "finding-aid.xml"
    described.write_bytes(b'<ead xmlns="urn:isbn:1-931666-22-9"><eadheader/></ead>')
    out = tmp_path / "out"
    metspack.fine(
        *("build", source, "-o", out, "--dialect", "csip", "--max-files", "1", "--profile", "sip"),
        *("--submitter", "The Ministry", "--submitter-code", "M-1"),
        *("--archival-creator", "The Office", "--archival-creator-code", "O-2"),
        *("--preservation-agent", "National Archives", "--descriptive", described),
        *("--documentation", about, "--schemas", schemas, "--representation", "original"),
        "--roda-ancestors",
    )
    assert not list(checking.check(out, checking.Level.FULL))
    siard = next(out.rglob("A.siard"))
    parent = siard.parents[3]
    assert siard.relative_to(parent).as_posix() == "representations/original/data/A.siard"
    mets = (parent / "METS.xml").read_text(encoding="utf-8")
    for words in ("The Ministry", "M-1", "The Office", "O-2", "National Archives", "finding-aid.xml"):
        assert words in mets
    assert next(parent.rglob("handbook.txt")).read_bytes() == b"how the database was used"
    assert next(parent.rglob("finding-aid.xml")).read_bytes() == described.read_bytes()
    packages = {each.parent for each in out.glob("*/METS.xml")}
    assert len(packages) == 3
    for package in packages:
        assert [each.name for each in (package / "schemas").iterdir()] == ["own.xsd"]
    children = [(each / "METS.xml").read_text(encoding="utf-8") for each in packages - {parent}]
    assert all("ncestor" in each for each in children)


def test_versions_are_written_and_must_agree_with_the_profile(metspack: Commands, tmp_path: Path) -> None:
    source, out = siards.siard(tmp_path / "A.siard", b"one"), tmp_path / "out"
    given = ("--dialect", "csip", "--profile", "sip", "--submitter", "X", "--sip-version", "2.3.0")
    metspack.fine("build", source, "-o", out, *given, "--csip-version", "2.2.0")
    address = b'PROFILE="https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-3-0.xml"'
    assert all(address in each.read_bytes() for each in out.rglob("METS.xml"))
    other = "https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml"
    refused = metspack("build", source, "-o", tmp_path / "other", *given, "--mets-profile", other)
    assert (refused.code, "is not the address of the version given" in refused.err) == (2, True)
    unlisted = metspack("build", source, "-o", tmp_path / "other", *given[:-1], "9.9.9")
    assert (unlisted.code, "9.9.9" in unlisted.err) == (2, True)
    assert not (tmp_path / "other").exists()


def test_dialects_registered(metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dialects.DIALECTS, "toy", "tests.mets.dialects.toy")
    first = siards.siard(tmp_path / "First.siard", *(b"%d" % each for each in range(5)))
    out = tmp_path / "out"
    assert choices.dialects.begun("t") == ["toy"]
    assert choices.of_dialects("motto").begun("f") == ["fancy"]
    assert metspack("plan", first, "--dialect", "toy").code == 0
    assert metspack("build", first, "-o", out, "--dialect", "toy", "--max-files", "3").code == 0
    assert 'CHECKSUMTYPE="SHA-512"' in (out / "METS.xml").read_text(encoding="utf-8")
    assert metspack("check", out).code == 0
    refused = metspack("build", first, "-o", out, "--dialect", "toy", "--type", "SIP")
    assert refused.err.startswith("error: only the dialect csip has --type\n")
    unknown = metspack("build", first, "-o", out, "--dialect", "toys")
    assert "recommendation, csip, toy" in unknown.err
