"""``metspack repair``: what it prints, and its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Commands

LOB = "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"


def test_the_command_tells_what_it_did(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    out, one = tmp_path / "out", tmp_path / "one"
    metspack("build", northwind, "-o", out, "--max-files", "4", "--max-bytes", "45000")
    shutil.copytree(out, one)
    assert "Every file is as METS and manifests state it." in metspack.fine("repair", out, "--from", one)
    size = (one / LOB).stat().st_size
    (out / LOB).unlink()
    dry = metspack("repair", out, "--from", one, "--dry-run")
    assert dry.code == 1
    assert f"would be replaced  {LOB} (missing, {size:,} bytes) from {one}" in dry.out
    assert not (out / LOB).exists()
    done = json.loads(metspack.fine("repair", out / "mets.xml", "--from", one, "--json"))
    assert done["ok"] is True
    assert done["repaired"] == [{"path": LOB, "was": "missing", "size": size, "from": str(one)}]
    (out / LOB).unlink()
    (one / LOB).unlink()
    outcome = metspack("repair", out, "--from", one)
    assert outcome.code == 1
    assert f"missing  {LOB}: no copy has it" in outcome.out
    assert metspack("repair", out, "--from", one, "-q").out == ""
    assert metspack("repair", out).code == 2
    assert metspack("repair", out, "--from", tmp_path / "none").code == 3
    assert "metspack repair OUT --from COPY" in metspack.fine("explain", "F001")
