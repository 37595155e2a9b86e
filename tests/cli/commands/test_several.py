"""Commands with packages of several archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.packages.several import FORMS, SECOND, several
from tests.trees import names


@pytest.fixture(params=FORMS)
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return several(tmp_path / "out", request.param)


def test_of_several_archives_one_is_restored(metspack: Commands, out: Path, tmp_path: Path) -> None:
    refused = metspack("restore", out, "-o", tmp_path / "x")
    assert refused.code == 3
    assert "--archive NAME" in refused.err
    metspack.fine("restore", out, "-o", tmp_path / "x", "--archive", "Orders")
    assert [each.read_bytes() for each in sorted((tmp_path / "x").rglob("record*"))] == list(SECOND)
    metspack.fine("restore", out, "-o", tmp_path / "y.siard", "--siard", "--archive", "Orders")
    assert metspack("inspect", tmp_path / "y.siard").code == 0
    assert metspack("cat", out, "s0.t0.c2.r1").code == 3
    assert metspack("convert", out, "-o", tmp_path / "z").code == 3
    assert names(tmp_path) >= {"x", "y.siard"}
    assert not (tmp_path / "z").exists()
