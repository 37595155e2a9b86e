"""Commands whose help shows a type for those options alone that take a value."""

from __future__ import annotations

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from metspack.cli import options


def _switch(option: TyperOption | None) -> TyperOption | None:
    if option is not None:
        option.metavar = options.FLAG
    return option


class Command(TyperCommand):
    """A command with such a --help."""

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return _switch(super().get_help_option(ctx))


class Group(TyperGroup):
    """A group of commands with such a --help."""

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return _switch(super().get_help_option(ctx))
