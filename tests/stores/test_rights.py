"""Stores as a person without root's rights uses them: the modes of files and folders count."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import metspack
from metspack.building.options import BuildOptions
from metspack.errors import TargetError
from metspack.files import mirrors
from metspack.limits import Limits
from tests.stores.conftest import S3
from tests.stores.test_faults import fresh_environment
from tests.trees import tree

_DROPPED, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2  # PR_CAPBSET_DROP, and what passes over modes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() == 0 and sys.platform != "linux", reason="only Linux lets root give up single rights"
    ),
]


def _give_up_rights() -> None:
    """Let the program that is about to begin pass over no modes, even as root."""
    if os.geteuid() == 0:
        for each in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(_DROPPED, each, 0, 0, 0)


def _run(s3: S3, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "metspack", *arguments],
        env={**fresh_environment(s3), **environment},
        preexec_fn=_give_up_rights,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_ordinary_user(s3: S3, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    target, restored = f"{s3.url}/package", tmp_path / "restored"
    s3.put("Northwind.siard", northwind.read_bytes())
    for arguments in (
        ("build", f"{s3.url}/Northwind.siard", "-o", target, "--max-files", "2", "--max-bytes", "1MB"),
        ("check", target),
        ("list", target),
        ("restore", target, "--dry-run"),
        ("restore", target, "-o", str(restored)),
    ):
        done = _run(s3, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    options = BuildOptions(limits=Limits(files=2, bytes=1_000_000))
    metspack.build(northwind, tmp_path / "package", options)
    files = {path: data for path, data in tree(tmp_path / "package").items() if not path.endswith("/")}
    assert s3.objects("package") == files
    assert sum(each.is_file() for each in restored.rglob("*")) >= 8


def test_a_temporary_folder_that_cannot_be_written_is_named(s3: S3, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(0o500)
    done = _run(s3, "check", f"{s3.url}/package", TMPDIR=str(closed))
    assert done.returncode == 4
    assert f"cannot write {closed}/metspack-stores-" in done.stderr
    assert "Permission denied" in done.stderr
    assert "TMPDIR=DIR" in done.stderr


@pytest.mark.parametrize("name", ["mkdir", "pwrite"])
def test_a_mirror_that_cannot_be_written_is_named_by_its_place_on_disk(
    s3: S3, northwind: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    s3.put("Northwind.siard", northwind.read_bytes())

    def refuse(given: str | int, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", given if isinstance(given, str) else None)

    mirrors.path_of(s3.url)
    base = os.environ["METSPACK_MIRROR"]
    monkeypatch.setattr(os, name, refuse)
    with pytest.raises(TargetError, match="Permission denied") as refused:
        metspack.inspect(f"{s3.url}/Northwind.siard")
    monkeypatch.undo()
    assert f"cannot write {base}" in refused.value.message
    assert "TMPDIR=DIR" in refused.value.hint
