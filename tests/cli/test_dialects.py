"""Dialects on the command line: those of the registry, whichever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.cli.options import choices
from metspack.mets import dialects
from tests import siards
from tests.cli.conftest import Commands


def test_the_command_line_knows_what_the_registry_has(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
