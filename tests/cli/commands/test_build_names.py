"""Names of packages: made from the source's, told where they differ, and kept in METS."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.commands.test_build_seals import notes, parent
from tests.cli.conftest import Commands
from tests.trees import tree

SMALL = ("--max-files", "4", "--max-bytes", "45000")
TOLD = "names have only ASCII letters, digits, _ and -, and 'Kørekort ß' has others"
CALLED = "the package is called Koerekort_ss; --name gives it another, such as --name Northwind"


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")


@pytest.mark.slow
def test_latin_letters_are_transliterated_and_the_name_is_kept(
    metspack: Commands, northwind: Path, tmp_path: Path
) -> None:
    source = Path(shutil.copy(northwind, tmp_path / "Kørekort ß.siard"))
    out, same, merged = tmp_path / "out", tmp_path / "same", tmp_path / "merged"
    options = (*SMALL, "--dialect", "csip")
    outcome = metspack("build", source, "-o", out, *options)
    assert (outcome.code, outcome.err) == (0, f"warning: {TOLD}: {CALLED}\n")
    assert metspack("plan", source, *SMALL).err == outcome.err
    (siard,) = out.rglob("*.siard")
    assert siard.name == "Koerekort_ss.siard"
    kept = ["Koerekort_ss.siard: name of the source 'Kørekort ß'"]
    assert notes(parent(out)) == kept
    assert "0 errors, 0 warnings\n" in metspack("check", out).out
    metspack.fine("convert", out, "-o", same, *options, "-q")
    assert tree(same) == tree(out)
    metspack.fine("merge", out, "-o", merged, "-q")
    assert notes(parent(merged)) == kept
