"""A call of the system may read or write less than it was asked for: no result depends on how much."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import metspack
from metspack import BuildOptions, Limits
from tests import siards
from tests.trees import tree

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_clock")]

_FORMS: Mapping[str, Mapping[str, Any]] = {
    "folder": {},
    "csip": {"dialect": "csip"},
    "zip": {"dialect": "csip", "pack": "zip"},
    "tar": {"dialect": "csip", "pack": "tar"},
}
_LOBS = (b"a" * 40, b"c" * 130, bytes(range(256)) * 40, b"")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    return siards.packed(folder / "First.siard", siards.parts(siards.lobs(*_LOBS)))


@pytest.fixture(scope="module", params=_FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _made(archive: Path, folder: Path, form: str) -> dict[str, bytes]:
    """Build, check and restore in a folder; return all that is there then."""
    package = folder / "package"
    options = BuildOptions(limits=Limits(files=3, bytes=5_000), verify=True, **_FORMS[form])
    metspack.build(archive, package, options)
    assert metspack.check(package).ok
    assert metspack.restore_dry_run(package).ok
    metspack.restore(package, folder / "restored")
    metspack.restore_siard(package, folder / "restored.siard")
    return tree(folder)


@pytest.fixture(scope="module")
def expected(form: str, archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1456185600")  # that of one_clock
        return _made(archive, tmp_path_factory.mktemp("expected"), form)


@pytest.fixture(params=[1, 7, 4095])
def _short(request: pytest.FixtureRequest, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most: int = request.param
    if most == 1 and form != "folder":
        most = 61  # a package of csip has half a megabyte of schemas
    read, readv, write, pwrite = os.pread, os.readv, os.write, os.pwrite
    monkeypatch.setattr(os, "pread", lambda file, size, at: read(file, min(size, most), at))
    monkeypatch.setattr(os, "readv", lambda file, given: readv(file, [given[0][:most]]))
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:most]))
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, data[:most], at))


@pytest.mark.usefixtures("_short")
def test_short_calls(archive: Path, tmp_path: Path, form: str, expected: dict[str, bytes]) -> None:
    assert _made(archive, tmp_path, form) == expected
