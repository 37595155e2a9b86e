"""Files of others that tests need: listed once, skipped with a reason, never taken for another file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests import shared_data
from tests.shared_data import FOLDER, OutsideFile, shared
from tests.trees import put

CONTENTS = {"data/a.siard": b"archive", "data/lobs/x/1.bin": b"one", "data/b.siard": b"other"}
NEEDS = {"data/a.siard": "data/lobs"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files of a list of three."""
    put(tmp_path, CONTENTS)
    files = tuple(
        OutsideFile(
            path=name,
            publisher="somebody",
            version="1",
            published="somewhere",
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            needs=NEEDS.get(name),
        )
        for name, content in CONTENTS.items()
    )
    monkeypatch.setattr(shared_data, "FILES", files)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


def skipped(*parts: str) -> str:
    with pytest.raises(pytest.skip.Exception) as refused:
        shared(*parts)
    return str(refused.value)


def test_files_and_folders_of_the_list_are_given(folder: Path) -> None:
    assert shared("data", "b.siard").read_bytes() == b"other"
    assert shared("data", "a.siard") == folder / "data" / "a.siard"
    assert shared("data", "lobs") == folder / "data" / "lobs"


def test_what_is_not_there_is_named(folder: Path) -> None:
    (folder / "data/b.siard").unlink()
    reason = skipped("data", "b.siard")
    assert reason.startswith(f"needs data/b.siard, which is not in {folder} ")
    assert "CONTRIBUTING.md" in reason
    assert FOLDER in reason
    assert skipped("data").startswith("needs data/b.siard")


def test_another_file_of_the_name_is_not_taken_for_it(folder: Path) -> None:
    (folder / "data/b.siard").write_bytes(b"otter")
    reason = skipped("data", "b.siard")
    assert f"but {folder / 'data/b.siard'} is another file: 5 bytes, SHA-256 " in reason
    assert hashlib.sha256(b"otter").hexdigest() in reason


def test_the_list_is_one_of_different_files_that_say_all() -> None:
    assert len({each.path for each in shared_data.FILES}) == len(shared_data.FILES)
    for each in shared_data.FILES:
        assert each.publisher
        assert each.version
        assert each.published
        assert each.bytes > 0
        assert len(bytes.fromhex(each.sha256)) == hashlib.sha256().digest_size
        assert each.needs is None or any(one.path.startswith(f"{each.needs}/") for one in shared_data.FILES)
        assert "|" not in f"{each.path}{each.publisher}{each.version}{each.published}"


def test_contributing_has_the_table_of_the_list() -> None:
    text = shared_data.PAGE.read_text(encoding="utf-8")
    assert shared_data.page(text) == text, "just outside-files"
    assert FOLDER in text
