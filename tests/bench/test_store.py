from __future__ import annotations

from pathlib import Path

import pytest

from bench.rows import Sample, chosen
from bench.store import Store, against, taken

FEW = Sample(3, 10)


def test_what_a_command_begins_with_is_made_once_and_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    command = store.command("ls {folder} {out}", FEW, 2)
    (made,) = tmp_path.iterdir()
    assert command == ["sh", "-c", f"exec ls {made} {store.out}"]
    before = made.stat().st_mtime_ns
    store.command("ls {folder}", FEW, 2)
    assert made.stat().st_mtime_ns == before
    assert store.inputs() == [made]


def test_a_row_beside_another_checkout_has_its_program(tmp_path: Path) -> None:
    (row,) = chosen("build-folder")
    beside = against(row, tmp_path).reference
    assert (
        beside == f"{tmp_path}/.venv/bin/metspack build -q -j 2 {{folder}} -o {{out}} --max-files {{files}}"
    )


@pytest.mark.slow
def test_what_was_not_used_for_longest_is_removed_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for kind in ("folder", "table", "stored"):
        store.command(f"ls {{{kind}}}", FEW, 2)
    store.command("ls {folder}", FEW, 2)
    store.trim(taken(tmp_path) - 1)
    assert sorted(path.name.split("-")[0] for path in tmp_path.iterdir()) == ["folder", "stored"]
    store.trim(0)
    assert list(tmp_path.iterdir()) == []
    assert store.inputs() == []
