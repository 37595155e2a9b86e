"""Options are declared in one line, in groups: a command has their fields for options, and gets one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from metspack.cli.options import choices
from metspack.cli.options.groups import Group, argument, declared, expanded, option, values
from metspack.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Colours(Group):
    fore: Annotated[str, option("--fore COLOUR", "Of the front.", choice=choices.of("red", "blue"))]
    back: Annotated[str | None, option("-b --back COLOUR", "Of the back.", to="behind")] = None
    thin: Annotated[bool, option("--thin", "One coat.", to="coats", read=lambda given: 1 if given else 2)] = (
        False
    )
    rags: Annotated[list[str] | None, option("--rag WHAT", "To wipe with.")] = None
    note: Annotated[str | None, option("--note TEXT", "For nobody.", to=None)] = None


@dataclass(frozen=True, kw_only=True)
class Radio(Group):
    station: Annotated[str | None, option("--station NAME", "To hear.", "Company")] = None

    def begin(self, given: Mapping[str, object]) -> None:
        typer.echo(f"{self.station} for {given['what']}")


def paint(
    what: Annotated[str, argument("WHAT", "To be painted.")],
    *,
    colours: Colours,
    twice: Annotated[bool, option("--twice", "Do it again.")] = False,
) -> None:
    """Paint something."""
    typer.echo(f"{what} {colours.fore} {colours.back} {twice}")


app = typer.Typer()
app.command("paint")(expanded(paint, Radio))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["door", "--fore", "red"], "None for door\ndoor red None False"),
        (["door", "--twice", "-b", "x", "--fore", "y", "--station", "K"], "K for door\ndoor y x True"),
    ],
)
def test_a_group_comes_as_one_value_after_those_around_it(arguments: list[str], expected: str) -> None:
    assert CliRunner().invoke(app, arguments).stdout == f"{expected}\n"


def test_an_option_of_a_group_without_default_is_required() -> None:
    assert CliRunner().invoke(app, ["door"]).exit_code == 2


def test_help_has_the_docstring_and_all_options_in_their_order() -> None:
    said = CliRunner().invoke(app, ["--help"]).stdout
    assert "Paint something." in said
    order = ("--fore", "--back", "--thin", "--rag", "--note", "--twice", "Company", "--station")
    places = [said.index(each) for each in order]
    assert places == sorted(places)
    assert "<bool>" not in "".join(line for line in said.splitlines() if "--thin" in line)


def test_what_was_given_is_read_and_goes_where_it_belongs() -> None:
    given = Colours(fore="red", back="blue", thin=True, rags=["a", "b"], note="x")
    assert given.given() == ["--fore", "--back", "--thin", "--rag", "--note"]
    assert given.values() == {"fore": "red", "behind": "blue", "coats": 1, "rags": ("a", "b")}
    assert values(Colours(fore="red"), Colours(fore="blue", back="x")) == {"fore": "blue", "behind": "x"}


def test_a_value_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="--fore 'green' is not known") as refused:
        Colours(fore="green").values()
    assert refused.value.hint == "Choose one of red, blue."


def test_annotations_are_read_once_for_all_commands_of_a_process() -> None:
    assert declared(Colours) is declared(Colours)
    assert [field.name for field, _ in declared(Colours)] == ["fore", "back", "thin", "rags", "note"]
