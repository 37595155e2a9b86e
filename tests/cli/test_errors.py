"""Errors as programs see them: an id, an exit code, and a line of JSON where JSON was asked for."""

from __future__ import annotations

import ast
import copy
import json
import re
from pathlib import Path

import pytest

from metspack import cli, errors
from metspack.files.journal import sealed
from metspack.model import Notice, noticed
from tests.cli.conftest import Commands
from tests.conftest import CHECKOUT
from tests.tables import read_table

_ROW = re.compile(r"\| `([a-z-]+)` \| ([0-9]+) \|")
_PAGE = CHECKOUT / "docs" / "ingest.md"


def _kinds(kind: type[errors.MetspackError]) -> list[type[errors.MetspackError]]:
    own = [each for each in kind.__subclasses__() if each.__module__ == "metspack.errors"]
    return [each for below in own for each in (below, *_kinds(below))]


def test_every_kind_of_error_is_on_the_page_with_its_exit_code() -> None:
    codes = {
        each.id: next(cli._CODES[kind.__name__] for kind in each.__mro__ if kind.__name__ in cli._CODES)
        for each in _kinds(errors.MetspackError)
    }
    expected = codes | {"fault": cli.EXIT_FAULT, "interrupted": cli.EXIT_INTERRUPTED}
    assert {name: int(code) for name, code in _ROW.findall(_PAGE.read_text(encoding="utf-8"))} == expected


def test_every_kind_of_warning_is_on_the_page() -> None:
    made = {
        each.args[0].value
        for path in (CHECKOUT / "metspack").rglob("*.py")
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "Notice"
        if isinstance(each.args[0], ast.Constant)
    }
    page = _PAGE.read_text(encoding="utf-8").partition("## Warnings")[2]
    assert re.findall(r"(?m)^\| `([a-z-]+)` \|", page) == sorted(map(str, made))


def test_a_warning_is_a_text_with_an_id_that_a_copy_keeps() -> None:
    warning = Notice("lob-shared", "two cells")
    assert warning == "two cells"
    assert noticed([warning]) == {"warnings": ["two cells"], "warning_ids": ["lob-shared"]}
    copied = copy.deepcopy([warning])  # as pickle does it
    assert copied == [warning]
    assert copied[0].id == "lob-shared"


@pytest.mark.parametrize(("arguments", "code", "name"), read_table(__file__, "errors"))
def test_an_error_is_a_line_of_json(  # noqa: PLR0917 -- fixtures and a case
    metspack: Commands, northwind: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, name: str
) -> None:
    places = {"source": northwind, "folder": tmp_path, "made": tmp_path / "made", "begun": tmp_path / "begun"}
    places["stopped"] = tmp_path / "stopped"
    places["text"] = tmp_path / "text.siard"
    places["made"].mkdir()
    places["text"].write_text("text")
    (tmp_path / "begun.partial" / "mine").mkdir(parents=True)
    (tmp_path / "stopped.partial").mkdir()
    began = "2026-05-01T12:00:00Z"
    words = {"command": "build", "version": "0", "facts": {}, "created": began, "words": "metspack build"}
    run = sealed({"event": "begin", "pid": 1, "started": began, **words})
    (tmp_path / "stopped.partial" / "journal.jsonl").write_text(f"{run}\n")
    outcome = metspack(*(each.format(**places) for each in arguments))
    found = json.loads(outcome.out)["error"]
    assert (outcome.code, found["id"]) == (code, name)
    assert f"error: {found['message']}\n" in outcome.err
    assert f"hint: {found['hint']}\n" in outcome.err


def test_without_json_stdout_stays_empty(metspack: Commands, tmp_path: Path) -> None:
    outcome = metspack("check", tmp_path / "no")
    assert (outcome.code, outcome.out) == (3, "")
    assert metspack("check", tmp_path / "no", "--json").out
    assert not metspack("check", tmp_path / "no").out, "what one run asked for is not for the next"


def test_a_setting_of_json(metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METSPACK_LIST_FORMAT", "jsonl")
    found = json.loads(metspack("list", tmp_path / "no").out)
    assert found["error"]["id"] == "source-not-found"
