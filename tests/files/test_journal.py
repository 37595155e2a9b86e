"""What the journal beside a folder says of a run that puts files into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metspack.errors import TargetError
from metspack.files import journal

BEGUN = {
    "event": journal.BEGIN,
    "command": journal.IN_PLACE,
    "version": "0",
    "facts": {},
    "created": "",
    "pid": 1,
    "words": "",
    "started": "2026-05-01T12:00:00+00:00",
}
PUTTING = {"event": journal.PUTTING, "puts": [["third/mets.xml", "0" * 64], ["mets.xml", "0" * 64]]}


def written(folder: Path, *events: object) -> Path:
    """Leave a journal beside a new folder, and return that."""
    folder.mkdir()
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir()
    lines = [journal.sealed(each) if isinstance(each, dict) else json.dumps(each) for each in events]
    (partial / "journal.jsonl").write_text("".join(f"{each}\n" for each in lines))
    return folder


@pytest.mark.parametrize(
    ("put", "expected"),
    [((), True), (("third",), True), (("mets.xml",), True), (("third", "mets.xml"), False)],
)
def test_a_folder_is_interrupted_until_all_files_are_put(
    tmp_path: Path, put: tuple[str, ...], *, expected: bool
) -> None:
    folder = written(tmp_path / "out", BEGUN, PUTTING, {"event": "a word of another day"})
    if "third" in put:
        (folder / "third").mkdir()
        (folder / "third" / "mets.xml").touch()
    if "mets.xml" in put:
        (folder / "mets.xml").touch()
    assert journal.interrupted(folder) == ("out.partial" if expected else None)


@pytest.mark.parametrize(
    "events",
    [
        (BEGUN,),
        (PUTTING,),
        (PUTTING, BEGUN),
        ({"event": journal.BEGIN}, PUTTING),
        ({**BEGUN, "command": "build"}, PUTTING),
        ({**BEGUN, "started": "at noon"}, PUTTING),
        (BEGUN, {**PUTTING, "puts": 1}),
        (BEGUN, {**PUTTING, "puts": [["mets.xml"]]}),
        ([], "x", 1),
    ],
)
def test_what_is_no_journal_of_a_transaction_or_of_none_begun_says_nothing(
    tmp_path: Path, events: tuple[Any, ...]
) -> None:
    assert journal.interrupted(written(tmp_path / "out", *events)) is None


def test_what_is_no_journal_at_all_says_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "out")
    (tmp_path / "out.partial" / "journal.jsonl").unlink()
    assert journal.interrupted(folder) is None
    (tmp_path / "out.partial" / "journal.jsonl").mkdir()
    assert journal.interrupted(folder) is None


@pytest.mark.parametrize("folder", ["/", "/package"])
def test_a_package_at_the_root_of_the_file_system(folder: str) -> None:
    assert journal.interrupted(Path(folder)) is None


def test_a_line_that_would_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    putting = {**PUTTING, "puts": [["m" * 100, "0"]] * 9}
    folder = written(tmp_path / "out", BEGUN, putting)
    monkeypatch.setattr(journal, "_LINE", 1_000)
    with pytest.raises(TargetError, match=r"the journal would have a line of 1,\d\d\d bytes"):
        journal.sealed(putting)
    assert journal.interrupted(folder) is None
    assert journal.interrupted(written(tmp_path / "other", BEGUN, PUTTING)) is not None


@pytest.mark.parametrize("damage", [b"", b"0", b"[]"])
def test_what_follows_a_damaged_line_does_not_count(tmp_path: Path, damage: bytes) -> None:
    folder = written(tmp_path / "out", BEGUN, PUTTING)
    path = tmp_path / "out.partial" / "journal.jsonl"
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((first, last, damage + b"\n", last)))
    assert journal.interrupted(folder) is not None
    path.write_bytes(b"".join((first, damage + b"\n", last)))
    assert journal.interrupted(folder) is None
