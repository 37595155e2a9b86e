"""Options in groups: declared once, as the fields of a dataclass, for every command that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose options are those of ``function``, and those of each group among them.

    A parameter whose type is a dataclass is such a group: in its place stand the dataclass's fields, each
    with its ``Annotated`` type and its default, and the function gets them together as one value.
    """
    groups: dict[str, type[Any]] = {}
    parameters: list[Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            parameters += _options(kind)
        else:
            parameters.append(parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY))

    def command(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        function(**given)

    return _shown(command, function, parameters)


def extended(
    function: Callable[..., None],
    group: type[Any],
    begin: Callable[[Any, Mapping[str, object]], None] | None = None,
) -> Callable[..., None]:
    """Return a command that has the options of one more group, and does not get them.

    ``begin`` gets them, and all others by name, before the command does anything.
    """
    function = grouped(function)
    signature = inspect.signature(function)

    def command(**given: object) -> None:
        value = group(**{each.name: given.pop(each.name) for each in fields(group)})
        if begin is not None:
            begin(value, given)
        function(**given)

    return _shown(command, function, [*signature.parameters.values(), *_options(group)])


def _shown(
    command: Callable[..., None], function: Callable[..., None], parameters: list[Parameter]
) -> Callable[..., None]:
    """Return a command that Typer sees these parameters of, and the function's help."""
    command.__doc__ = function.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    # What Typer looks at; functools.wraps would show it the function instead.
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _options(group: type[Any]) -> list[Parameter]:
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
