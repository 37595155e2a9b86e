"""Every command line that the pages and the README name exists: its command, and each of its options."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from typer.core import TyperOption

from metspack.cli.app import MetspackGroup
from metspack.cli.app import command as app
from tests.conftest import CHECKOUT
from tests.laws import of_each
from tests.tables import tabled

PAGES = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md")))
_LINE = re.compile(r"(?:^|[`(/]|\$ |&& |: )metspack((?: +[^`|;&\n]+)?)", re.MULTILINE)
_OPTION = re.compile(r"(?:^| )(--?[A-Za-z][\w-]*)")


def options(words: list[str]) -> tuple[str, set[str]]:
    """Return the command that words begin with, as it is called, and its options."""
    context = typer.Context(app, info_name="metspack", help_option_names=["-h", "--help"])
    for word in words:
        found = (
            context.command.get_command(context, word) if isinstance(context.command, MetspackGroup) else None
        )
        if found is None:
            break
        context = typer.Context(found, parent=context, info_name=word)
    params = context.command.get_params(context)
    there = {name for each in params if isinstance(each, TyperOption) for name in each.opts}
    return context.command_path, there


def unknown(text: str) -> list[str]:
    """Return what a text names that does not exist, as sentences."""
    wrong = []
    for line in _LINE.findall(text.replace("\\\n", " ")):
        words = line.split("#")[0].split(" -- ")[0].split()
        if not words or not re.fullmatch(r"[a-z]+|-.*", words[0]):
            continue
        called, there = options(words)
        if called == "metspack" and not words[0].startswith("-"):
            wrong.append(f"there is no command {words[0]!r}: metspack{line}")
        wrong += [
            f"{called} has no {each}" for each in _OPTION.findall(line.split(" -- ")[0]) if each not in there
        ]
    return wrong


@of_each(PAGES)
def test_commands_and_options_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"`[^`\n]+`|^ *```.*?^ *```", text, re.MULTILINE | re.DOTALL))
    assert unknown(code) == []


@tabled
def test_what_does_not_exist_is_found(text: str, expected: list[str]) -> None:
    assert unknown(text) == expected
