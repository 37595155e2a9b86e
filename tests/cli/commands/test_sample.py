"""``metspack sample``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Commands
from tests.trees import names


def test_the_samples_are_written_where_asked(
    metspack: Commands, northwind: Path, northwind_full: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    assert metspack.fine("sample", "northwind", folder).splitlines() == [
        str(folder / "Northwind.siard"),
        str(folder / "Northwind-full.siard"),
        f"Try: metspack plan {folder / 'Northwind.siard'} --max-files 4 --max-bytes 45000",
    ]
    for source in (northwind, northwind_full):
        assert (folder / source.name).read_bytes() == source.read_bytes()


def test_another_file_of_that_name_is_kept(metspack: Commands, tmp_path: Path) -> None:
    (tmp_path / "Northwind-full.siard").write_bytes(b"mine")
    outcome = metspack("sample", "northwind", tmp_path)
    assert (outcome.code, outcome.out) == (4, "")
    assert f"error: {tmp_path / 'Northwind-full.siard'} already exists" in outcome.err
    assert names(tmp_path) == {"Northwind-full.siard"}
