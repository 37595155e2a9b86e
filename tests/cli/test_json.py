"""``--json``, ``-o``, ``-q`` and ``-V``: the same everywhere, for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from metspack.cli.app import command as app
from metspack.resources import __version__
from tests.cli.conftest import HEAD, Commands
from tests.packages import forge
from tests.packages.forge import CHILD

_WITHOUT = {"cat", "help"}
"""Commands whose result is bytes, or a text to be read or kept as it is."""


def commands(group: Any, before: str = "") -> dict[str, Any]:
    """Return all commands by their full names."""
    found: dict[str, Any] = {}
    for name in group.list_commands(typer.Context(group)):
        each = group.commands[name]
        full = f"{before}{name}"
        found |= commands(each, f"{full} ") if hasattr(each, "commands") else {full: each}
    return found


def options(command: Any) -> dict[str, list[str]]:
    return {each.name: list(each.opts) for each in command.params if hasattr(each, "multiple")}


def test_every_command_with_a_result_has_json() -> None:
    all_of_them = commands(app)
    with_json = {
        name for name, each in all_of_them.items() if "--json" in options(each).get("json_output", [])
    }
    assert with_json == set(all_of_them) - _WITHOUT


def test_names_are_the_same_everywhere() -> None:
    for name, each in commands(app).items():
        opts = [opt for those in options(each).values() for opt in those]
        assert ("-o" in opts) == ("--output" in opts), name
        assert ("-q" in opts) == ("--quiet" in opts), name
        assert len(opts) == len(set(opts)), name


@pytest.mark.parametrize("name", ["-V", "--version"])
def test_the_version(metspack: Commands, name: str) -> None:
    assert metspack.fine(name) == f"metspack {__version__}\n"
    assert json.loads(metspack.fine(name, "--json")) == HEAD


def test_json_stands_after_the_command(metspack: Commands) -> None:
    outcome = metspack("--json", "check")
    assert outcome.code == 2
    assert json.loads(outcome.out)["error"]["id"] == "usage"


def test_quiet_links_print_what_is_wrong(metspack: Commands, tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    assert metspack.fine("links", package, "-q") == ""
    (package / CHILD).unlink()
    outcome = metspack("links", package, "-q")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [metspack("links", package).out.splitlines()[-1]]


def test_a_report_has_a_short_name(metspack: Commands, tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    metspack.fine("check", package, "-o", tmp_path / "a.json", "--report", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
