"""The options and arguments of each command as data: names, type, default, help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from metspack.cli.app import command

OPTIONS = Path(__file__).parent / "options.jsonl"


def options() -> list[str]:
    """Return what each command takes, an option or argument a line."""
    context = typer.Context(command, info_name="metspack", **command.context_settings)
    return [
        json.dumps({"command": name, **_facts(each)}, ensure_ascii=False)
        for name, below in _commands(context)
        for each in below.params
    ]


def _commands(context: typer.Context) -> Iterator[tuple[str, Any]]:
    yield context.command_path, context.command
    if isinstance(context.command, TyperGroup):
        for name in context.command.list_commands(context):
            found = context.command.get_command(context, name)
            assert found is not None
            yield from _commands(typer.Context(found, parent=context, info_name=name))


def _facts(option: Any) -> dict[str, Any]:
    return {
        "names": [*option.opts, *option.secondary_opts],
        "kind": option.param_type_name,
        "type": _named(option.type_descriptor.annotation),
        "metavar": option.metavar,
        "is_repeatable": option.multiple or option.nargs != 1,
        "is_required": option.required,
        "default": None if option.default is None else str(option.default),
        "help": option.help,
    }


def _named(annotation: Any) -> str:
    # Python 3.13 has paths in a module of their own.
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("._local", "")
