"""Declarations of options: parameters of commands, or fields of groups that commands share."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption
from typer.models import OptionInfo

from metspack.cli import console
from metspack.cli.options.choices import Choice
from metspack.errors import ConfigError
from metspack.stores.urls import is_url
from metspack.system import os

_OPTIONS = "Options"
_SHORTENED, _WHOLE = "metspack.short_help", "metspack.whole_help"
_SWITCH = ""
"""The metavar of options without a value: without it, help shows a type as if they had one."""
_JSON = {"json", "jsonl"}
"""Values of ``--format`` with which the result is JSON."""


class RareHeading(str):
    """A heading in help whose options the short help leaves out."""

    __slots__ = ()


class Option(OptionInfo):
    """An option as ``option`` declares it."""

    choice: Choice | None
    to: str | None
    reader: Callable[[Any], Any] | None
    is_rare: bool | None

    @property
    def name(self) -> str:
        """The long name."""
        return next(each for each in self.param_decls or () if each.startswith("--"))

    @property
    def rare(self) -> bool:
        """True if the short help leaves it out."""
        return isinstance(self.rich_help_panel, RareHeading) if self.is_rare is None else self.is_rare

    def read(self, value: Any) -> Any:
        """Return the converted value of an option; raises ``ConfigError``."""
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
    **others: Any,
) -> Any:
    """Return an option as the default of a command's parameter or of a group's field.

    ``usage`` has its names and, when it takes a value, the metavar: ``-o --output DIR``. ``text`` is its
    help, ``panel`` the heading above it, by default the group's. ``others`` are arguments of Typer, such as
    ``default``: None for a value, False for a switch, and ``...`` for an option that must be given. ``to``
    names the field of the work's options that a group's value is for: "" stands for the option's name, None
    for a value without a field. ``choice`` or ``read`` converts the value. The short help leaves out ``rare``
    options: by default those below a ``RareHeading``.
    """
    words = usage.split()
    names = [each for each in words if each.startswith("-")]
    takes_value = len(words) > len(names)
    made = Option(
        param_decls=names,
        metavar=words[-1] if takes_value else _SWITCH,
        help=text,
        rich_help_panel=panel,
        autocompletion=choice.begun if choice else None,
        **{"default": None if takes_value else False, **others},
    )
    made.choice, made.to, made.reader, made.is_rare = choice, to, read, rare
    return made


def argument(metavar: str, text: str, choice: Choice | None = None, *, default: object = ...) -> Any:
    """Return an argument as a parameter's default; by default it must be given."""
    completion = choice.begun if choice else None
    # An unreadable path is a fault of the source: opening it reports it.
    return typer.Argument(
        default, metavar=metavar, help=text, autocompletion=completion, show_default=False, readable=False
    )


@dataclass(frozen=True, kw_only=True)
class Group:
    """Options that belong together: a command with a parameter of this type gets them as one value."""

    def __init_subclass__(cls, panel: str | None = None) -> None:
        """Make fields of the options, below the heading ``panel`` unless they name another one."""
        for name, each in list(vars(cls).items()):
            if isinstance(each, Option):
                each.rich_help_panel = each.rich_help_panel or panel
                setattr(cls, name, field(default=each.default, metadata={"option": each}))

    def begin(self, given: Mapping[str, object]) -> None:
        """Prepare the run before the command; ``given`` are its other options."""

    def given(self) -> list[str]:
        """Return the names of the options that were given."""
        return [option.name for _, option in self.stated()]

    def values(self) -> dict[str, Any]:
        """Return the given values by field of the work's options; raises ``ConfigError``."""
        return {
            option.to or each.name: option.read(getattr(self, each.name))
            for each, option in self.stated()
            if option.to is not None
        }

    def stated(self) -> Iterator[tuple[Field[Any], Option]]:
        """Yield the fields with a given value, each with its option."""
        for each, option in declared(type(self)):
            if getattr(self, each.name) not in (each.default, None, [], ()):
                yield each, option


def declared(group: type[Group]) -> Iterator[tuple[Field[Any], Option]]:
    """Yield the fields of a group, each with its option."""
    return ((each, each.metadata["option"]) for each in fields(group))


def values(*groups: Group) -> dict[str, Any]:
    """Return the given values of several groups."""
    return {name: value for each in groups for name, value in each.values().items()}


def make_command(function: Callable[..., None], *around: type[Group]) -> Callable[..., None]:
    """Return a command in Typer's form, with the options of groups in place of the groups.

    The function gets each of its groups as one value. The options of the groups ``around`` come last; these
    groups begin before the function runs.
    """
    hints = get_type_hints(function)
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
        grouped = {name: _taken(each, given) for name, each in groups.items()}
        function(**given, **grouped)

    command.__doc__ = function.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    # The signature that Typer reads; functools.wraps would show it the function's instead.
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _taken(group: type[Group], given: dict[str, object]) -> Group:
    return group(**{each.name: given.pop(each.name) for each in fields(group)})


def _parameters(group: type[Group]) -> list[Parameter]:
    hints = get_type_hints(group)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=option, annotation=hints[each.name])
        for each, option in declared(group)
    ]


def refusal(error: typer.TyperException) -> ConfigError:
    """Return Typer's error about a command line as an error of ours."""
    ctx = getattr(error, "ctx", None)
    path = "metspack" if ctx is None else ctx.command_path
    message = error.format_message().rstrip(".")
    details = [] if ctx is None else _set_elsewhere(ctx, message)
    return ConfigError(message, hint=f"{path} --help shows what it takes.", details=details)


def _set_elsewhere(ctx: typer.Context, message: str) -> list[str]:
    """Return a sentence for each option in a message that a variable or file has set."""
    words = set(re.findall(r"--[a-z0-9-]+", message))
    named = [each for each in ctx.command.params if not words.isdisjoint(each.opts)]
    sources = [(each, getattr(ctx.get_parameter_source(each.name), "name", "")) for each in named]
    return [
        f"{option_info(each).name} is set by "
        + (f"[{ctx.info_name}] in {ctx.params['config']}" if source == "DEFAULT_MAP" else str(each.envvar))
        for each, source in sources
        if source in {"ENVIRONMENT", "DEFAULT_MAP"}
    ]


def option_info(option: Any) -> Option:
    """Return an option of a command as ``option`` declared it."""
    info: Option = option.type_descriptor.parameter_info
    return info


def help_switch(shown: TyperOption | None) -> TyperOption | None:
    """Return the option that shows the help, described like other switches."""
    if shown is not None:
        shown.metavar = _SWITCH
        shown.help = "Show this help."
        set_reading(shown)
    return shown


FROM_STORES = {"inspect", "plan", "build", "check", "links", "list", "cat", "restore"}
"""Commands that read stores."""

_READ_FROM_STORES = {"source", "package", "packages", "lob_root", "root", "roots"}


_SWITCHES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""The texts by which a variable sets a switch, in any letter case."""
_EXPECTED = {int: "a whole number", bool: "true or false", Path: "a path that can be read"}


class _Values:
    """The reading of a parameter's values: texts, whole numbers, switches, and paths or URLs.

    It takes the place of Typer's, whose library pydantic takes 12 MB and 0.1 s in each process.
    """

    def __init__(self, parameter: Any, command: str | None) -> None:
        annotation = parameter.type_descriptor.annotation
        self._kind = next(iter(get_args(annotation)), annotation)
        reads = command in FROM_STORES and parameter.name in _READ_FROM_STORES
        self._is_place = reads or (command, parameter.name) == ("build", "output")

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """Return the meaning of a value, or of several; raises ``BadParameter``."""
        are_several = param.multiple or param.nargs == -1
        if value is None:
            return () if are_several else None
        try:
            found = [self._meant(each, param.min) for each in (value if are_several else [value])]
        except (LookupError, ValueError):
            expected = _EXPECTED[self._kind] + (f" from {param.min} on" if param.min else "")
            raise typer.BadParameter(f"{value!r} is not {expected}", ctx=ctx, param=param) from None
        return found if are_several else found[0]

    def _meant(self, value: Any, least: float | None) -> Any:
        if self._kind is Path and is_url(str(value)):
            from metspack.files.reading import as_path, as_place  # noqa: PLC0415 -- only where there is a store

            return (as_place if self._is_place else as_path)(str(value))
        is_read = self._kind is not Path or os.access(value, os.R_OK) or not os.path.exists(value)
        if not is_read or (self._kind is int and int(value) < (least or 0)):
            raise ValueError
        return _SWITCHES[str(value).lower()] if self._kind is bool else self._kind(value)


def set_reading(parameter: Any, command: str | None = None) -> None:
    """Let a parameter of a command read its values as ``_Values``."""
    vars(parameter)["_runtime_param"] = _Values(parameter, command)


def _of_variable(option: TyperOption, ctx: typer.Context) -> str | list[str] | None:
    """Return an option's value from its variable; a repeatable option takes one value a line."""
    text = option.resolve_envvar_value(ctx)
    return [each for each in text.split("\n") if each] if text and option.multiple else text


class Command(TyperCommand):
    """A command whose options variables and files can set, with a short help and a full one."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.settable: dict[str, TyperOption] = {}
        """The options that ``metspack.toml`` can set, by their long names without dashes."""
        for each in self.params:
            set_reading(each, name)
            if isinstance(each, TyperOption) and not each.hidden and each.envvar is None:
                key = option_info(each).name.removeprefix("--")
                self.settable[key] = each
                each.envvar = f"METSPACK_{name}_{key}".upper().replace("-", "_")
                vars(each)["value_from_envvar"] = partial(_of_variable, each)
        self._show_variables(shown=False)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command; an error names the variable or file that set an option in its message."""
        if ctx.params.get("json_output") or ctx.params.get("form") in _JSON:
            console.expect_json()
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            details = (*error.details, *_set_elsewhere(ctx, error.message))
            raise ConfigError(error.message, hint=error.hint, details=details) from None

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return the parameters with the help options; for the short help, without rare ones."""
        found: list[Any] = [*super().get_params(ctx)]
        rare = [each for each in found if getattr(each.type_descriptor.parameter_info, "rare", False)]
        if rare and (plain := self.get_help_option(ctx)) is not None:
            found.append(self._help_all(plain, rare))
        return [each for each in found if each not in rare] if ctx.meta.get(_SHORTENED) else found

    def _help_all(self, plain: TyperOption, rare: list[TyperOption]) -> TyperOption:
        """Return ``--help-all``; always the same object, as Click compares them."""
        if not hasattr(self, "_whole"):
            shown = [each for each in rare if not each.hidden]
            headings = dict.fromkeys((each.rich_help_panel or _OPTIONS).split(" (")[0] for each in shown)
            headings.pop(_OPTIONS, None)
            words = f" ({', '.join(headings)})" if headings else ""
            self._whole = copy.copy(plain)
            self._whole.name, self._whole.opts = "help_all", ["--help-all"]
            self._whole.help = f"Show all options: {len(shown)} more{words}."
            self._whole.callback = _show_whole
        return self._whole

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Print the help: the short one, or after ``--help-all`` the full one."""
        ctx.meta[_SHORTENED] = not ctx.meta.get(_WHOLE)
        self._show_variables(shown=not ctx.meta[_SHORTENED])
        try:
            super().format_help(ctx, formatter)
        finally:
            self._show_variables(shown=False)
            del ctx.meta[_SHORTENED]

    def _show_variables(self, *, shown: bool) -> None:
        for each in self.settable.values():
            each.show_envvar = shown

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return help_switch(super().get_help_option(ctx))


def _show_whole(ctx: Any, _option: object, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help())
        raise typer.Exit
