"""The archive's messageDigest, from the source into the package and all later packages."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from metspack import checking
from metspack.model import Severity
from tests import siards
from tests.cli.conftest import Commands, made_of
from tests.official import mets_faults
from tests.tables import tabled
from tests.trees import tree

pytestmark = pytest.mark.usefixtures("one_clock")

STATED = "0" * 32
METS = "{http://www.loc.gov/METS/}"
P = "{http://www.loc.gov/premis/v3}"
SMALL = ("--max-files", "2")
DIALECTS = ("recommendation", "csip")


def sealed(path: Path, digest: str = STATED, lobs: int = 4) -> Path:
    """Write an archive with an MD5 messageDigest, "right" for the one that it should have."""
    parts = siards.parts(siards.lobs(*(f"content {number}".encode() for number in range(lobs))))
    plain = parts[siards.METADATA]

    def write(value: str) -> bytes:
        seal = f"<messageDigest><digestType>MD5</digestType><digest>{value}</digest></messageDigest>"
        parts[siards.METADATA] = plain.replace(b"<schemas>", f"{seal}<schemas>".encode())
        return siards.packed(path, parts).read_bytes()

    data = write(STATED if digest == "right" else digest)
    if digest == "right":
        write(content_digest(data))
    return path


def content_digest(data: bytes) -> str:
    return siards.md5(data[: data.index(b"header/metadata.xml") - 30])  # a local header has 30 bytes


def written(siard: Path) -> str:
    """Return the messageDigest in an archive, which must be that of its content."""
    with zipfile.ZipFile(siard) as container:
        (found,) = re.findall("<digest>([0-9a-f]{32})</digest>", container.read(siards.METADATA).decode())
    (offset,) = (each.header_offset for each in container.infolist() if each.filename == siards.METADATA)
    assert siards.md5(siard.read_bytes()[:offset]) == found
    return str(found)


def parent(package: Path) -> Path:
    plain = package / "mets.xml"
    return plain if plain.exists() else archive(package).parents[3] / "METS.xml"


def archive(package: Path) -> Path:
    return min(package.rglob("*.siard"))


def notes(mets: Path) -> list[str]:
    agents = ET.parse(mets).iter(f"{METS}agent")  # noqa: S314 -- our own file
    stated = [each for each in agents if each.get("OTHERROLE") == "SOURCE OF THE ARCHIVE"]
    return [note.text or "" for agent in stated for note in agent.iter(f"{METS}note")]


def all_notes_are_typed(mets: Path) -> bool:
    """Return whether every note says its type, which commons-ip's schema of METS demands."""
    every = ET.parse(mets).iter(f"{METS}note")  # noqa: S314 -- our own file
    types = ("SOFTWARE VERSION", "IDENTIFICATIONCODE")
    return all(each.get("{https://DILCIS.eu/XML/METS/CSIPExtensionMETS}NOTETYPE") in types for each in every)


def events(package: Path) -> list[tuple[str, str, str]]:
    """Return type, detail and outcome of the events that name a messageDigest."""
    found = []
    for path in sorted(package.rglob("premis.xml")):
        for each in ET.parse(path).iter(f"{P}event"):  # noqa: S314 -- our own file
            kind, detail, outcome = (
                next(each.iter(f"{P}{name}")).text or ""
                for name in ("eventType", "eventDetail", "eventOutcome")
            )
            if "messageDigest" in detail:
                found.append((kind, detail, outcome))
    return found


def words(source: Path, package: Path) -> str:
    found = content_digest(source.read_bytes())
    now = written(archive(package))
    return (
        f"messageDigest of the source MD5 {STATED}, not that of its content, MD5 {found}; "
        f"in the package MD5 {now}"
    )


def findings(package: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in checking.check(package, checking.Level.FULL):
        if each.severity is not Severity.INFO or each.code == "Z051":
            found.setdefault(each.code, []).append(each.message)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_digest_stands_beside_the_right_one(metspack: Commands, tmp_path: Path, dialect: str) -> None:
    source, out = sealed(tmp_path / "Stale.siard"), tmp_path / "out"
    outcome = metspack("build", source, "-o", out, *SMALL, "--dialect", dialect)
    assert outcome.code == 0
    assert "keep the old one in METS" in outcome.err
    note = words(source, out)
    assert notes(parent(out)) == [f"Stale.siard: {note}"]
    assert [each for each in out.rglob("[mM][eE][tT][sS].xml") if notes(each)] == [parent(out)]
    assert events(out) == ([("fixity check", note, "fail")] if dialect == "csip" else [])
    assert not list(mets_faults(parent(out)))
    assert all_notes_are_typed(parent(out)) == (dialect == "csip")
    assert findings(out) == {"Z051": [f"Stale.siard: {note}"]}
    assert metspack("check", out).code == 0


def test_a_digest_that_is_right_leaves_no_trace(metspack: Commands, tmp_path: Path) -> None:
    out = tmp_path / "out"
    metspack.fine("build", sealed(tmp_path / "Sound.siard", "right"), "-o", out, "--dialect", "csip")
    assert (notes(parent(out)), events(out), findings(out)) == ([], [], {})


@pytest.mark.slow
def test_what_is_made_of_the_package_keeps_the_trace(metspack: Commands, tmp_path: Path) -> None:
    source, out = sealed(tmp_path / "Stale.siard"), tmp_path / "out"
    options = (*SMALL, "--dialect", "csip")
    assert metspack("build", source, "-o", out, *options).code == 0
    same, other = tmp_path / "same", tmp_path / "other"
    assert metspack("convert", out, "-o", same, *options).code == 0
    assert tree(same) == tree(out)
    assert metspack("convert", out, "-o", other, "--layout", "siard22").code == 0
    assert notes(parent(other)) == [f"Stale.siard: {words(source, other)}"]
    assert findings(other).keys() == {"Z051"}
    merged = tmp_path / "merged"
    assert metspack("merge", out, "-o", merged).code == 0
    assert notes(parent(merged)) == notes(parent(out))
    assert events(merged) == events(out)
    assert findings(merged).keys() == {"Z051"}


# --- refused ------------------------------------------------------------------------------------------


@tabled
def test_a_required_digest_is_refused(metspack: Commands, tmp_path: Path, digest: str, what: str) -> None:
    source = sealed(tmp_path / "Stale.siard", digest.format(STATED=STATED))
    before = tree(tmp_path)
    outcome = metspack("build", source, "-o", tmp_path / "out", "--require-message-digest")
    assert outcome.code == 3
    words = f"a messageDigest that is right is required, and {what.format(STATED=STATED)}"
    assert f"error: {source}: {words}" in outcome.err
    assert "leave --require-message-digest out" in outcome.err
    assert tree(tmp_path) == before


# --- inspect, and what is said ------------------------------------------------------------------------


def test_inspect_says_whether_the_digest_holds(metspack: Commands, tmp_path: Path) -> None:
    stale, sound = sealed(tmp_path / "Stale.siard"), sealed(tmp_path / "Sound.siard", "right")
    plain = metspack.fine("inspect", stale)
    assert f"digest    MD5 {STATED}\n" in plain
    outcome = metspack("inspect", stale, "--verify")
    found = content_digest(stale.read_bytes())
    assert outcome.code == 0
    assert outcome.err == (
        f"warning: the archive's MD5 messageDigest is {STATED}, but its content has {found}: the archive was "
        "changed after it was sealed\n"
    )
    whole = hashlib.sha256(stale.read_bytes()).hexdigest()
    assert f"\narchive   messageDigest (MD5) wrong, SHA-256 {whole}\n" in outcome.out
    assert "archive   messageDigest (MD5) right, SHA-256" in metspack.fine("inspect", sound, "--verify")
    stated = json.loads(metspack("inspect", sound, "--verify", "--json").out)
    assert {name: stated["source"][name] for name in ("sha256", "message_digest")} == {
        name: made_of(sound)[name] for name in ("sha256", "message_digest")
    }
    unseen = json.loads(metspack("inspect", sound, "--json").out)["source"]
    assert (unseen["sha256"], unseen["message_digest"]["verdict"]) == (None, "not compared")


def test_inspect_says_what_the_package_notes(metspack: Commands, tmp_path: Path) -> None:
    source, out = sealed(tmp_path / "Stale.siard"), tmp_path / "out"
    assert metspack("build", source, "-o", out, "--dialect", "csip").code == 0
    note = words(source, out)
    outcome = metspack("inspect", archive(out), "--verify")
    assert outcome.err.startswith(f"info: METS notes on the archive: {note}\n")
    assert "messageDigest (MD5) right" in outcome.out
    assert json.loads(metspack("inspect", archive(out), "--json").out)["history"] == [note]
    assert json.loads(metspack("inspect", source, "--json").out)["history"] == []
