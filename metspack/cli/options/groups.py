"""Declarations of options: one line each, alone or as fields of groups that several commands share."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from inspect import Parameter
from pathlib import Path
from typing import Any, Self, TypeAlias, get_args, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.models import OptionInfo

from metspack.cli.options.choices import Choice
from metspack.errors import ConfigError
from metspack.stores.urls import is_url
from metspack.values import dataclass, regex

_NUMBER = regex("[0-9]{1,18}")
_OPTIONS = "Options"
_SHORTENED, _WHOLE = "metspack.short_help", "metspack.whole_help"
_SWITCH = ""
"""The metavar of options that take no value: without one, help shows a type as if they did."""


Unset: TypeAlias = "str | Callable[[Mapping[str, Any]], str]"


class Heading(str):
    """The heading of an option in help, and what else help and ``config show`` want to know of it.

    It is the one attribute of ours that Typer hands on untouched. Options that are ``rare`` are left out of
    the short help; ``unset`` says what holds where an option was not given, or computes it from the others.
    """

    __slots__ = ("rare", "unset")

    def __new__(cls, text: str, *, rare: bool = False, unset: Unset = "") -> Self:
        """Return a heading."""
        heading = super().__new__(cls, text)
        heading.rare, heading.unset = rare, unset
        return heading

    rare: bool
    unset: Unset


def unset(option: TyperOption, given: Mapping[str, Any]) -> str:
    """Return in words what holds where an option has no value, the others being those ``given``."""
    said = heading(option).unset
    return (said(given) if callable(said) else said) or "none"


def heading(option: TyperOption) -> Heading:
    """Return the heading of an option."""
    found = option.rich_help_panel
    return found if isinstance(found, Heading) else Heading(found or _OPTIONS)


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
    rare: bool | None = None,
    unset: Unset = "",
    **others: Any,
) -> Any:
    """Return an option for ``Annotated``.

    ``usage`` are its names and, when it takes a value, a word for that: ``-o --output DIR``. ``text`` is its
    help and ``panel`` the heading that this stands under. In a group, its value goes ``to`` the field of that
    name of the options that a function takes: to the field of its own name when ``to`` is empty, to none when
    it is None. ``choice`` or ``read`` says what the value means. ``rare`` and ``unset`` are those of
    ``Heading``; an option is as rare as its heading when nothing else is said.
    """
    if rare is None:
        rare = isinstance(panel, Heading) and panel.rare
    words = usage.split()
    names = [each for each in words if each.startswith("-")]
    return Option(
        choice,
        to,
        read,
        param_decls=names,
        metavar=words[-1] if len(words) > len(names) else _SWITCH,
        help=text,
        rich_help_panel=Heading(panel or _OPTIONS, rare=rare, unset=unset),
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


_Declared: TypeAlias = "tuple[tuple[Field[Any], Option], ...]"

_DECLARED: dict[type[Group], _Declared] = {}
_HINTS: dict[type[Group], dict[str, Any]] = {}


def declared(group: type[Group]) -> _Declared:
    """Return the fields of a group, each with its option."""
    if group not in _DECLARED:
        hints = _hints(group)
        _DECLARED[group] = tuple((each, get_args(hints[each.name])[1]) for each in fields(group))
    return _DECLARED[group]


def _hints(group: type[Group]) -> dict[str, Any]:
    if group not in _HINTS:  # else the annotations of a group would be compiled again for each command
        _HINTS[group] = get_type_hints(group, include_extras=True)
    return _HINTS[group]


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
    hints = _hints(group)
    return [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


def refusal(error: typer.TyperException, details: Iterable[str] = ()) -> ConfigError:
    """Return what Typer finds wrong with a command line as an error of ours."""
    ctx = getattr(error, "ctx", None)
    path = "metspack" if ctx is None else ctx.command_path
    message = error.format_message().rstrip(".")
    return ConfigError(message, hint=f"{path} --help shows what it takes.", details=tuple(details))


def _switch(shown: TyperOption | None) -> TyperOption | None:
    if shown is not None:
        shown.metavar = _SWITCH
        shown.help = "Show this help."
    return shown


def _check_nul(param: TyperOption | TyperArgument, held: Any) -> None:
    """Raise ``ConfigError`` for a NUL, which no path and no name can hold; a configuration file can."""
    for each in held if isinstance(held, list | tuple) else ():
        if isinstance(each, str) and "\0" in each:
            raise ConfigError(
                f"{param.opts[-1] if isinstance(param, TyperOption) else param.metavar} has a NUL "
                f"character: {each!r}",
                hint="Leave the character out: no path and no name can hold it.",
            )


FROM_STORES = {"inspect", "plan", "build", "check", "links", "list", "cat", "restore", "roundtrip"}
"""Commands that read stores."""

_READ_FROM_STORES = {"source", "package", "packages", "lob_root", "root", "roots"}


def _place(value: Any, param: TyperOption | TyperArgument, ctx: typer.Context) -> Any:
    """Return the path in a store for a URL, where the command takes one; any other value as it is.

    Raises ``ConfigError``.
    """
    if not isinstance(value, str) or not is_url(value):
        return value
    from metspack.files.reading import as_path, as_place  # noqa: PLC0415 -- only where there is a store

    reads = ctx.info_name in FROM_STORES and param.name in _READ_FROM_STORES
    writes = (ctx.info_name, param.name) == ("build", "output")
    return as_place(value) if reads or writes else as_path(value)


class _PlainValue:
    """The reading of a parameter's value: here where that is plain, by Typer where it is not.

    Typer reads every value with pydantic, which takes longer to load than all that it reads here.
    """

    def __init__(self, parameter: TyperOption | TyperArgument) -> None:
        annotation = parameter.type_descriptor.annotation
        self._kind = next(iter(get_args(annotation)), annotation)
        self._by_typer = parameter.get_runtime_param

    def coerce(self, value: Any, param: TyperOption | TyperArgument, ctx: typer.Context) -> Any:
        """Return what a value means, of all that were given where there can be several."""
        is_several = param.multiple or param.nargs == -1
        if value is None:
            return () if is_several else None
        held = value if is_several else [value]
        _check_nul(param, held)
        if self._kind is Path and isinstance(held, list | tuple):
            held = [_place(each, param, ctx) for each in held]
            value = held if is_several else held[0]
        if not isinstance(held, list | tuple) or not all(self._is_plain(each, param) for each in held):
            return self._by_typer().coerce(value, param=param, ctx=ctx)
        meant = [each if isinstance(each, Path) else self._kind(each) for each in held]
        return meant if is_several else meant[0]

    def _is_plain(self, value: Any, param: TyperOption | TyperArgument) -> bool:
        if self._kind is bool:
            return isinstance(value, bool)
        if self._kind is int and isinstance(value, str):
            value = int(value) if _NUMBER.fullmatch(value) else None
        if self._kind is int:
            return isinstance(value, int) and value >= (param.min or 0) and param.max is None
        if isinstance(value, Path) and is_url(str(value)):
            return True
        if self._kind is Path:  # Typer refuses what is there and cannot be read
            return isinstance(value, str | Path) and (os.access(value, os.R_OK) or not os.path.exists(value))
        return self._kind is str and isinstance(value, str)


def _read_plainly(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        # Typer's own place for this, though it does not promise it: without it all is read its way.
        if hasattr(each, "get_runtime_param") and "get_runtime_param" not in vars(each):
            plain = _PlainValue(each)
            vars(each)["get_runtime_param"] = lambda plain=plain: plain
    return parameters


class Command(TyperCommand):
    """A command that starts fast, with a short help, and one of all options where some are rare."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return the parameters, with the help; those alone that the short help shows while it is made."""
        found = _read_plainly(super().get_params(ctx))
        rare = [each for each in found if isinstance(each, TyperOption) and heading(each).rare]
        if rare and (plain := self.get_help_option(ctx)) is not None:
            found.append(self._help_all(plain, rare))
        return [each for each in found if each not in rare] if ctx.meta.get(_SHORTENED) else found

    def _help_all(self, plain: TyperOption, rare: list[TyperOption]) -> TyperOption:
        """Return the option that shows all others; always the same one, as Click compares them."""
        if not hasattr(self, "_whole"):
            shown = [each for each in rare if not each.hidden]
            headings = dict.fromkeys(heading(each).split(" (")[0] for each in shown)
            headings.pop(_OPTIONS, None)
            words = f" ({', '.join(headings)})" if headings else ""
            self._whole = copy.copy(plain)
            self._whole.name, self._whole.opts = "help_all", ["--help-all"]
            self._whole.help = f"Show all options: {len(shown)} more{words}."
            self._whole.callback = _show_whole
        return self._whole

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Print the help; the short one unless all options are asked for."""
        ctx.meta[_SHORTENED] = not ctx.meta.get(_WHOLE)
        try:
            super().format_help(ctx, formatter)
        finally:
            del ctx.meta[_SHORTENED]

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return _switch(super().get_help_option(ctx))


def _show_whole(ctx: Any, _option: object, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


class CommandGroup(TyperGroup):
    """A group of such commands."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return the parameters, with the help."""
        return _read_plainly(super().get_params(ctx))

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return _switch(super().get_help_option(ctx))
