"""Declarations of options: one line each, alone or as fields of groups that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from inspect import Parameter
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import OptionInfo

from metspack.cli.options.choices import Choice

_SWITCH = ""
"""The metavar of options that take no value: without one, help shows a type as if they did."""


class Option(OptionInfo):
    """An option as ``option`` declares it."""

    def __init__(
        self, choice: Choice | None, to: str | None, reader: Callable[[Any], Any] | None, **typers: Any
    ) -> None:
        super().__init__(default=..., autocompletion=choice.begun if choice else None, **typers)
        self.choice = choice
        self.to = to
        self.reader = reader

    @property
    def name(self) -> str:
        """The long name."""
        return next(each for each in self.param_decls or () if each.startswith("--"))

    def read(self, value: Any) -> Any:
        """Return what a value means; raises ``ConfigError``."""
        if self.reader is not None:
            return self.reader(value)
        if self.choice is None:
            return tuple(value) if isinstance(value, list) else value
        if isinstance(value, list | tuple):
            return self.choice.read_all(self.name, value)
        return self.choice.read(self.name, value)


def option(
    usage: str,
    text: str,
    panel: str | None = None,
    *,
    choice: Choice | None = None,
    to: str | None = "",
    read: Callable[[Any], Any] | None = None,
    **others: Any,
) -> Any:
    """Return an option for ``Annotated``.

    ``usage`` are its names and, when it takes a value, a word for that: ``-o --output DIR``. ``text`` is its
    help and ``panel`` the heading that this stands under. In a group, its value goes ``to`` the field of that
    name of the options that a function takes: to the field of its own name when ``to`` is empty, to none when
    it is None. ``choice`` or ``read`` says what the value means.
    """
    words = usage.split()
    names = [each for each in words if each.startswith("-")]
    return Option(
        choice,
        to,
        read,
        param_decls=names,
        metavar=words[-1] if len(words) > len(names) else _SWITCH,
        help=text,
        rich_help_panel=panel,
        **others,
    )


def argument(metavar: str, text: str, choice: Choice | None = None) -> Any:
    """Return an argument for ``Annotated``."""
    completion = choice.begun if choice else None
    return typer.Argument(metavar=metavar, help=text, autocompletion=completion, show_default=False)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Options that belong together: a command with a parameter of this type gets them as one value."""

    def begin(self, given: Mapping[str, object]) -> None:
        """Do what is to be done before the command, whose other options are ``given``."""

    def given(self) -> list[str]:
        """Return the names of the options that were given."""
        return [option.name for _, option in self.stated()]

    def values(self) -> dict[str, Any]:
        """Return what was given, by field of the options of the work; raises ``ConfigError``."""
        return {
            option.to or each.name: option.read(getattr(self, each.name))
            for each, option in self.stated()
            if option.to is not None
        }

    def stated(self) -> Iterator[tuple[Field[Any], Option]]:
        """Yield the fields that were given a value, each with its option."""
        for each, option in declared(type(self)):
            if getattr(self, each.name) not in (each.default, None, [], ()):
                yield each, option


def declared(group: type[Group]) -> Iterator[tuple[Field[Any], Option]]:
    """Yield the fields of a group, each with its option."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        yield each, get_args(hints[each.name])[1]


def values(*groups: Group) -> dict[str, Any]:
    """Return what was given of several groups."""
    return {name: value for each in groups for name, value in each.values().items()}


def expanded(function: Callable[..., None], *around: type[Group]) -> Callable[..., None]:
    """Return a command as Typer wants it, which has the options of groups in the place of these.

    The function gets each of its groups as one value. The options of the groups ``around`` it come last;
    these begin before it does.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Group]] = {}
    parameters: list[Parameter] = []
    for name, each in inspect.signature(function).parameters.items():
        if isinstance(hints[name], type) and issubclass(hints[name], Group):
            groups[name] = hints[name]
            parameters += _parameters(hints[name])
        else:
            parameters.append(each.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
    for group in around:
        parameters += _parameters(group)

    def command(**given: object) -> None:
        for begun in [_taken(each, given) for each in around]:
            begun.begin(given)
        own = {name: _taken(each, given) for name, each in groups.items()}
        function(**given, **own)

    command.__doc__ = function.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    # What Typer looks at; functools.wraps would show it the function instead.
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _taken(group: type[Group], given: dict[str, object]) -> Group:
    return group(**{each.name: given.pop(each.name) for each in fields(group)})


def _parameters(group: type[Group]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


def _switch(shown: TyperOption | None) -> TyperOption | None:
    if shown is not None:
        shown.metavar = _SWITCH
    return shown


class Command(TyperCommand):
    """A command whose --help shows a type for those options alone that take a value."""

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return _switch(super().get_help_option(ctx))


class CommandGroup(TyperGroup):
    """A group of commands with such a --help."""

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return _switch(super().get_help_option(ctx))
