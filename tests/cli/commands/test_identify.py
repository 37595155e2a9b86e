"""``--identify`` of build and convert."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Commands

KEY = b'sip:FORMATREGISTRY="PRONOM" sip:FORMATREGISTRYKEY="fmt/11"'


def test_build_and_convert_tell_formats(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    pytest.importorskip("pygfried", reason="pygfried is not installed: pip install 'metspack[identify]'")
    metspack.fine("build", northwind, "-o", tmp_path / "plain")
    metspack.fine("convert", tmp_path / "plain", "-o", tmp_path / "new", "--identify", "--max-files", "8")
    for name, count in (("plain", 0), ("new", 8)):
        mets = (tmp_path / name / "Northwind_lobseg_0/mets.xml").read_bytes()
        assert mets.count(KEY) == count


def test_without_the_library_it_is_refused(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygfried", None)
    outcome = metspack("build", northwind, "-o", tmp_path / "out", "--identify")
    assert outcome.code == 2
    assert "pygfried, which identifies formats, is not installed" in outcome.err
    assert "pip install 'metspack[identify]'" in outcome.err
    assert list(tmp_path.iterdir()) == []
