"""Groups of options: a command has their fields for options, and gets them as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from metspack.cli.groups import grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    fore: Annotated[str, typer.Option("--fore")]
    back: Annotated[str | None, typer.Option("--back")] = None


@grouped
def paint(
    what: Annotated[str, typer.Argument()],
    *,
    colours: Colours,
    twice: Annotated[bool, typer.Option("--twice")] = False,
) -> None:
    """Paint something."""
    typer.echo(f"{what} {colours} {twice}")


app = typer.Typer()
app.command("paint")(paint)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["door", "--fore", "red"], "door Colours(fore='red', back=None) False"),
        (["door", "--twice", "--back", "x", "--fore", "y"], "door Colours(fore='y', back='x') True"),
    ],
)
def test_a_group_comes_as_one_value(arguments: list[str], expected: str) -> None:
    assert CliRunner().invoke(app, arguments).stdout == f"{expected}\n"


def test_an_option_of_a_group_without_default_is_required() -> None:
    assert CliRunner().invoke(app, ["door"]).exit_code == 2


def test_help_has_the_docstring_and_all_options_in_their_order() -> None:
    said = CliRunner().invoke(app, ["--help"]).stdout
    assert "Paint something." in said
    assert said.index("--fore") < said.index("--back") < said.index("--twice")
