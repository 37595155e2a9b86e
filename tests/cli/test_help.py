"""Help in two lengths: what most people need, and with --help-all everything; and explanations of codes."""

from __future__ import annotations

import re

import pytest
from typer.core import TyperOption

from metspack.cli import console
from metspack.cli.app import Commands as All
from tests.cli.conftest import Commands

LINES = 60
"""Lines of help at 100 columns that a person still reads."""
NAMES = tuple(All())


def shown(help_text: str) -> set[str]:
    """Return the options that have rows of their own."""
    return set(re.findall(r"^│ (?:[* ]  )?(--[a-z-]+)", help_text, re.MULTILINE))


def of(name: str) -> dict[str, TyperOption]:
    """Return the options of a command that help may show, by long name."""
    params = [each for each in All()[name].params if isinstance(each, TyperOption) and not each.hidden]
    return {each.opts[0] if each.opts[0][:2] == "--" else each.opts[-1]: each for each in params}


@pytest.mark.parametrize("name", NAMES)
def test_help_is_short_and_all_of_it_is_complete(metspack: Commands, name: str) -> None:
    brief = metspack.fine(name, "--help")
    assert len(brief.splitlines()) <= LINES
    if "--help-all" not in shown(brief):
        assert shown(brief) >= of(name).keys()
        return
    whole = metspack.fine(name, "--help-all")
    assert shown(whole) == {*of(name), "--help", "--help-all"}
    left_out = shown(whole) - shown(brief)
    (help_text,) = re.findall(r"--help-all +Show all options: ([0-9]+) more", brief)
    assert len(left_out) == int(help_text) > 0
    for text in (brief, whole):
        assert len(re.findall(r"--help +-h", text)) == 1


def test_help_all_names_what_it_has_more_by_heading(metspack: Commands) -> None:
    help_text = " ".join(metspack.fine("build", "--help").replace("│", " ").split())
    assert re.search(r"--help-all Show all options: \d+ more \([^)]*METS, E-ARK[^)]*\)", help_text)


@pytest.mark.parametrize("words", [(), ("build",), ("help",)])
def test_help_is_a_command_too(metspack: Commands, words: tuple[str, ...]) -> None:
    assert metspack.fine("help", *words) == metspack.fine(*words, "-h")


@pytest.mark.parametrize(("code", "columns"), [("P108", 30), ("CSIP60", 80), ("readers", 80)])
def test_whole_words(metspack: Commands, monkeypatch: pytest.MonkeyPatch, code: str, columns: int) -> None:
    plain = metspack.fine("explain", code)
    monkeypatch.setattr(console, "width", lambda: columns)
    help_text = metspack.fine("explain", code)
    assert help_text.split() == plain.split()
    assert len(help_text.splitlines()) > len(plain.splitlines())
    rows = help_text.splitlines()
    example = plain.splitlines()[-1]  # is to be copied, and stays as it is
    for row in rows:
        assert len(row) <= columns or len(row.split()) == 1 or row.startswith("<") or row in plain, example
    rule = next(number for number, row in enumerate(rows) if row.startswith("Rule:"))
    assert all(row[:7] in {"       ", "To do: "} or not row for row in rows[rule + 1 : rule + 2])
