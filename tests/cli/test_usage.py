"""Calls with wrong words: each is an error of usage before anything is made."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.restoring import splitting
from tests.tables import read_table
from tests.trees import tree

REFUSED = read_table(__file__, "refused")
"""Calls by their words, and what the error says."""


@pytest.mark.parametrize("call", REFUSED)
def test_a_wrong_call_is_refused_before_anything_is_made(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(northwind, "N.siard")
    splitting.forged(tmp_path / "package")
    before = tree(tmp_path)
    outcome = metspack(*shlex.split(call))
    assert outcome.code == 2, outcome
    assert outcome.err.startswith("error: ")
    assert outcome.err.splitlines()[-1].startswith("hint: ")
    first, *rest = REFUSED[call].splitlines()
    assert first in outcome.err.splitlines()[0]
    assert not rest or REFUSED[call] in outcome.err
    assert "--json" not in call or json.loads(outcome.out)["error"]["id"] == "usage"
    assert "--json" in call or not outcome.out
    assert tree(tmp_path) == before
