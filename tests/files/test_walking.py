"""Entries of folders in lots: each once, with the system's errors for those that cannot be read."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metspack.files import reading, walking


def seen(root: Path, folder: bytes = b"", *, sizes: bool = True) -> list[tuple[bytes, str, int | None]]:
    """Return path, kind and size of all that lots hold."""
    rows: list[tuple[bytes, str, int | None]] = []
    for lot in walking.all_lots(root, folder, sizes=sizes):
        assert lot.fault is None
        rows += ((lot.prefix + name, "f", size) for name, size in zip(lot.names, lot.sizes, strict=sizes))
        rows += ((lot.prefix + name, kind, None) for name, kind in lot.others)
    return rows


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    for number in range(7):
        (tmp_path / "a" / "b" / f"{number}.bin").write_bytes(b"x" * number)
    (tmp_path / "a" / "link").symlink_to("b")
    os.mkfifo(tmp_path / "a" / "pipe")
    return tmp_path


@pytest.mark.parametrize("most", [1, 3, 7, 20_000])
def test_each_entry_is_yielded_once(tree: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_MOST", most)
    rows = seen(tree)
    assert sorted(rows, key=lambda row: row[0]) == [
        (b"a", "d", None),
        (b"a/b", "d", None),
        *((b"a/b/%d.bin" % number, "f", number) for number in range(7)),
        (b"a/link", "l", None),
        (b"a/pipe", "s", None),
        (b"c", "d", None),
    ]
    empty = [lot.folder for lot in walking.all_lots(tree, sizes=False) if not (lot.files or lot.others)]
    assert empty == [b"c"]


def test_files_are_sorted_and_sized_only_on_request(tree: Path) -> None:
    (lot,) = walking.lots(tree, ("a",), b"b", sizes=False)
    assert lot.files == b"/".join(b"%d.bin" % number for number in range(7))
    assert list(lot.sizes) == []


def test_a_folder_that_cannot_be_opened_is_a_fault(tree: Path) -> None:
    (lot,) = walking.lots(tree, (), b"a/link", sizes=True)
    assert isinstance(lot.fault, OSError)


@pytest.mark.parametrize("most", [1, 20_000])
def test_entries_before_a_fault_are_yielded(tree: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        """The entries that ``os.scandir`` gives of a folder before a disk error."""

        def __init__(self, descriptor: int) -> None:
            self._left = iter(list(scandir(descriptor))[:2])

        def __enter__(self) -> Iterator[Any]:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def __iter__(self) -> Iterator[Any]:
            return self

        def __next__(self) -> Any:
            for entry in self._left:
                return entry
            raise OSError(5, "Input/output error")

    scandir = os.scandir
    monkeypatch.setattr(walking, "_MOST", most)
    monkeypatch.setattr(os, "scandir", Failing)
    lots = list(walking.lots(tree, (), b"a/b", sizes=True))
    assert sum(len(lot.names) for lot in lots) == 2
    assert [str(lot.fault) for lot in lots if lot.fault] == ["[Errno 5] Input/output error"]


def test_no_link_is_followed_on_the_way(tree: Path) -> None:
    (lot,) = walking.lots(tree, ("a", "link"), b"", sizes=True)
    assert lot.fault is not None
    with pytest.raises(OSError, match="link"):
        reading.opened_folder(tree, ("a", "link"))
