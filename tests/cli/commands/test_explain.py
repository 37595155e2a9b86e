"""``metspack explain``: what it prints, broken between words where a terminal is narrow."""

import pytest

from metspack.cli import console
from tests.cli.conftest import Commands


@pytest.mark.parametrize(("code", "columns"), [("P108", 30), ("CSIP60", 80), ("readers", 80)])
def test_words_are_kept_whole_at_a_terminal(
    metspack: Commands, monkeypatch: pytest.MonkeyPatch, code: str, columns: int
) -> None:
    plain = metspack.fine("explain", code)
    monkeypatch.setattr(console, "width", lambda: columns)
    said = metspack.fine("explain", code)
    assert said.split() == plain.split()
    assert len(said.splitlines()) > len(plain.splitlines())
    rows = said.splitlines()
    example = plain.splitlines()[-1]  # is to be copied, and stays as it is
    for row in rows:
        assert len(row) <= columns or len(row.split()) == 1 or row.startswith("<") or row in plain, example
    rule = next(number for number, row in enumerate(rows) if row.startswith("Rule:"))
    assert all(row[:7] in {"       ", "To do: "} or not row for row in rows[rule + 1 : rule + 2])
