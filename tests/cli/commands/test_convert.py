"""``metspack convert`` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.kept import copied

CUT = ("--max-files", "4", "--max-bytes", "9000")


@pytest.fixture(autouse=True)
def _clock(metspack: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    del metspack
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")


SLIP = "8 LOBs in 11 segments, fewer than two in each on average: --max-bytes is 9,000 bytes"


@pytest.fixture
def out(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    """The sample packaged, each of its 8 LOBs in two parts."""

    def build(out: Path) -> None:
        outcome = metspack("build", northwind, "-o", out, *CUT, "-j", "1")
        assert (outcome.code, outcome.err) == (0, f"warning: {SLIP}\n")

    return copied(("converting", CUT), tmp_path / "out", build)


def test_all_that_build_offers_is_offered(metspack: Commands, out: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    document = json.loads(
        metspack.fine(
            *("convert", out, "-o", new, "--name", "Other", "--id", "urn:x:1", "--checksum", "SHA-256"),
            *("--agent", "An archive", "--mets-profile", "https://example.org/p", "--href", "file-uri"),
            *("--preset", "dbptk", "--min-size", "1", "--verify", "--add-digests", "--jobs", "1", "--json"),
            *("--no-message-digest-check", "--accept", "dbptk-part-digest", "--budget", "depth=50"),
        )
    )
    assert (document["name"], document["objid"], document["checked"]) == ("Other", "urn:x:1", "full")
    mets = (new / "mets.xml").read_text(encoding="utf-8")
    for word in ("SHA-256", "An archive", "https://example.org/p", "file:///Other.siard", "2020-09-13"):
        assert word in mets
    with_dbptks_names = ("--external-lobs-per-folder", "4", "--external-lobs-folder-size", "0")
    metspack.fine("convert", out, "-o", tmp_path / "named", *with_dbptks_names, "-j", "1")
    assert sum(path.is_dir() for path in (tmp_path / "named").iterdir()) == 2
