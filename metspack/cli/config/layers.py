"""Commands whose options can be set in several places, and the order in which these count.

Command line, environment, chosen profile, project's file, user's file, default: the first that says
something counts. Click does the looking up; here it is told where, and what to leave out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperOption

from metspack.cli import console
from metspack.cli.config import files as configuration
from metspack.cli.config.files import ConfigFile, Known, Setting
from metspack.cli.options import groups
from metspack.cli.options.choices import Choice
from metspack.cli.options.groups import Command, Group, refusal
from metspack.errors import ConfigError
from metspack.mets import dialects
from metspack.values import dataclass

_PREFIX = "METSPACK"
_PANEL = groups.Heading("Configuration", rare=True)
_COMMAND_LINE, _ENVIRONMENT, _FILES, _DEFAULT = 0, 1, 2, 1 << 30
_JSON = {"json", "jsonl"}
"""Values of ``--format`` with which the result is JSON."""

_OF_THE_JOB = {
    *(
        "archive",
        "base",
        "in_place",
        "into",
        "keep_segments",
        "lobs",
        "name",
        "objid",
        "only",
        "output",
        "plan",
    ),
    *("ranges", "representation", "root_a", "root_b", "shard", "shard_lob", "siard", "unit"),
}
"""Options that say what is done to what, which is said anew each time."""


def _profiles() -> list[str]:
    """Return the names of profiles, for the shell; none when a file cannot be read."""
    try:
        return sorted({name for each in files(None, dict) for name in each.profile_names()})
    except ConfigError:
        return []


@dataclass(frozen=True, kw_only=True)
class ConfigGroup(Group):
    """Which settings count."""

    config: Annotated[
        Path | None,
        groups.option(
            "--config FILE",
            "Use this configuration file instead of the project's metspack.toml.",
            _PANEL,
            envvar=f"{_PREFIX}_CONFIG",
            show_envvar=False,
        ),
    ] = None
    use: Annotated[
        str | None,
        groups.option(
            "--use NAME",
            "Use the settings of this profile of the configuration ([profile.NAME]).",
            _PANEL,
            choice=Choice(_profiles),
            envvar=f"{_PREFIX}_USE",
            show_envvar=False,
        ),
    ] = None


class Configured(Command):
    """A command whose options are looked for in the environment and in files too."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.settable = dict(self._settable())
        for key, option in self.settable.items():
            word = key.upper().replace("-", "_")
            option.envvar = [f"{_PREFIX}_{(name or '').upper()}_{word}", f"{_PREFIX}_{word}"]
            option.show_envvar = False
            if option.multiple and not configuration.is_path(option):
                # Names of organisations hold spaces, at which Click would cut; paths are cut at os.pathsep.
                vars(option)["split_envvar_value"] = str.splitlines

    def _settable(self) -> Iterable[tuple[str, TyperOption]]:
        common = {each.name for each in fields(ConfigGroup)}
        for option in self.params:
            if isinstance(option, TyperOption) and not option.hidden and option.name not in common:
                of_shards = self.name == "cat" and option.name == "root"
                if option.name not in _OF_THE_JOB and not of_shards:
                    yield key_of(option), option

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse arguments with what other places say for defaults; raises ``ConfigError``."""
        if ctx.resilient_parsing:  # the shell asks what there is, nothing is done
            return super().parse_args(ctx, args)
        origins = Origins(self)
        ctx.obj = origins
        try:
            given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            if not given.get("help") and not given.get("help_all"):
                origins.read(ctx, given)
            rest = super().parse_args(ctx, args)
        except typer.TyperException as error:
            raise refusal(error, origins.named(ctx, error.format_message())) from None
        origins.put_aside(ctx)
        return rest

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command; an error about a setting tells where that was set."""
        if ctx.params.get("json_output") or ctx.params.get("form") in _JSON:
            console.expect_json()
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            details = origins_of(ctx).named(ctx, error.message)
            raise ConfigError(error.message, hint=error.hint, details=(*error.details, *details)) from None


class Origins:
    """Where each option of one call has its value from."""

    def __init__(self, command: Configured) -> None:
        self.command = command
        self.aside: dict[str, str] = {}
        self._set: dict[str, tuple[int, Setting]] = {}

    def read(self, ctx: typer.Context, given: Mapping[str, Any]) -> None:
        """Read the files that count, and make them the context's defaults; raises ``ConfigError``."""
        common = {each.name: each for each in self.command.params if each.name in {"config", "use"}}
        found = {name: option.consume_value(ctx, given)[0] for name, option in common.items()}
        root = ctx.find_root().command
        layers = configuration.layers(
            files(Path(found["config"]) if found["config"] else None, lambda: known(root)), found["use"]
        )
        for key, option in self.command.settable.items():
            for number, layer in enumerate(layers):
                setting = layer.setting(self.command.name or "", key, option)
                if setting is not None:
                    self._set[option.name] = _FILES + number, setting
                    break
        ctx.default_map = {name: setting.value for name, (_, setting) in self._set.items()}

    def put_aside(self, ctx: typer.Context) -> None:
        """Take back settings that do not go with what a higher place says."""
        if not any(_COMMAND_LINE < self._rank(ctx, each) < _DEFAULT for each in ctx.params):
            return
        from metspack.cli.options.package import OF_DIALECTS, PUTS_ASIDE  # noqa: PLC0415 -- needs all options

        for strong, others in PUTS_ASIDE.items():
            if ctx.params.get(strong):
                for each in others & ctx.params.keys():
                    if self._rank(ctx, strong) < self._rank(ctx, each):
                        self._take_back(ctx, each, f"--{key_of_name(self.command, strong)}")
        if "dialect" in ctx.params:
            dialect = self._dialect(ctx)
            taken = dialects.facts(dialect).options.keys() if dialect in dialects.DIALECTS else set()
            for each in OF_DIALECTS - taken:
                self._take_back(ctx, each, f"the dialect {dialect}")
        if "seed" in ctx.params and ctx.params["sample"] is None:
            self._take_back(ctx, "seed", "a check without --sample")

    def _dialect(self, ctx: typer.Context) -> str:
        """Return the dialect of the call; a reader's own takes the place of one that a lower place says."""
        from metspack.layouts import readers  # noqa: PLC0415

        reader = readers.FOR.get(ctx.params.get("reader") or "")
        if reader is None or not reader.dialect:
            return ctx.params["dialect"] or dialects.DEFAULT
        if self._rank(ctx, "reader") < self._rank(ctx, "dialect"):
            self._take_back(ctx, "dialect", "--for")
        return ctx.params["dialect"] or reader.dialect

    def _take_back(self, ctx: typer.Context, name: str, reason: str) -> None:
        if name not in self.aside and _COMMAND_LINE < self._rank(ctx, name) < _DEFAULT:
            option = next(each for each in self.command.params if each.name == name)
            self.aside[name] = reason
            ctx.params[name] = option.process_value(ctx, option.default)

    def _rank(self, ctx: typer.Context, name: str) -> int:
        source = ctx.get_parameter_source(name)
        ranks = {"COMMANDLINE": _COMMAND_LINE, "ENVIRONMENT": _ENVIRONMENT}
        if source is not None and source.name == "DEFAULT_MAP":
            return self._set[name][0]
        return _DEFAULT if source is None else ranks.get(source.name, _DEFAULT)

    def origin(self, ctx: typer.Context, option: TyperOption) -> str:
        """Return where an option's value comes from, in words."""
        rank = self._rank(ctx, option.name)
        if rank == _COMMAND_LINE:
            return "command line"
        if rank == _ENVIRONMENT:
            return variable(option)
        return "default" if rank == _DEFAULT else self._set[option.name][1].origin

    def told(self, ctx: typer.Context, option: TyperOption) -> str:
        """Return the same, with what put the value aside when something did."""
        where = self.origin(ctx, option)
        return f"{where}, put aside by {self.aside[option.name]}" if option.name in self.aside else where

    def named(self, ctx: typer.Context, message: str) -> list[str]:
        """Return, for each option in a message that was not given on the command line, where it was set."""
        words = set(re.findall(r"--[a-z0-9-]+", message))
        return [
            f"{each} is set by {self.origin(ctx, option)}"
            for key, option in self.command.settable.items()
            if (each := f"--{key}") in words and _COMMAND_LINE < self._rank(ctx, option.name) < _DEFAULT
        ]


def origins_of(ctx: typer.Context) -> Origins:
    """Return where the options of a context come from."""
    origins: Origins = ctx.obj
    return origins


def key_of(option: TyperOption) -> str:
    """Return an option's name without dashes, as files have it."""
    return next(each for each in option.opts if each.startswith("--")).removeprefix("--")


def key_of_name(command: Configured, name: str) -> str:
    """Return the same by the name of the parameter."""
    return next(
        key_of(each) for each in command.params if isinstance(each, TyperOption) and each.name == name
    )


def variable(option: TyperOption) -> str:
    """Return the environment variable that sets an option, of those that can the one that does."""
    names = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    return next((each for each in names if os.environ.get(each)), names[-1])


def variables(there: Mapping[str, Configured]) -> set[str]:
    """Return the names of all environment variables that set something."""
    own = {f"{_PREFIX}_CONFIG", f"{_PREFIX}_USE"}
    options = [option for each in there.values() for option in each.settable.values()]
    return own.union(*(option.envvar or () for option in options))


def commands(root: Any) -> dict[str, Configured]:
    """Return the commands below the outermost one that can be configured, by name."""
    return {name: each for name, each in root.commands.items() if isinstance(each, Configured)}


def known(root: Any) -> Known:
    """Return the options that can be set, by command and name."""
    return {name: each.settable for name, each in commands(root).items()}


def files(config: Path | None, options: Callable[[], Known]) -> list[ConfigFile]:
    """Return the files that count, the strongest first; raises ``ConfigError``.

    The options are asked for only when there is a file: to know all of them, all commands are loaded.
    """
    project = configuration.project_file() if config is None else config
    user = configuration.user_file()
    paths = [each for each in (project, user if os.path.lexists(user) else None) if each is not None]
    there = options() if paths else {}
    return [ConfigFile.of(each, there) for each in dict.fromkeys(paths)]
