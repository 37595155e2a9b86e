"""Options for all that a package of the CSIP dialect says of itself, however it came to be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import choices
from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.mets.dialects.interface import DialectOptions

CSIP = "E-ARK (--dialect csip)"
_FLAGS = {"package_type": "--type"}  # those that are not called like the value that they give


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What E-ARK's specifications want to know of a package."""

    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            autocompletion=choices.of_dialects("profile"),
            metavar="NAME",
            help="Whose METS profile the packages declare: csip (the default), cits-siard or sip.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    package_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            autocompletion=choices.of_dialects("package_type"),
            metavar="TYPE",
            help="OAIS package type: SIP (the default), AIP or DIP.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    content_type: Annotated[
        str | None,
        typer.Option(
            "--content-type",
            autocompletion=choices.of_dialects("content_type"),
            metavar="TYPE",
            help="Content information type: citssiard_v1_0 (the default), SIARD1, SIARD2 or SIARDDK.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    submitter: Annotated[
        str | None,
        typer.Option(
            "--submitter",
            metavar="NAME",
            help="Organisation that submits the package; --profile sip needs it.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    submitter_code: Annotated[
        str | None,
        typer.Option(
            "--submitter-code",
            metavar="CODE",
            help="The submitter's identification code.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    archival_creator: Annotated[
        str | None,
        typer.Option(
            "--archival-creator",
            metavar="NAME",
            help="Organisation that created the data.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    archival_creator_code: Annotated[
        str | None,
        typer.Option(
            "--archival-creator-code",
            metavar="CODE",
            help="The archival creator's identification code.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    preservation_agent: Annotated[
        str | None,
        typer.Option(
            "--preservation-agent",
            metavar="NAME",
            help="Organisation that preserves the package.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    descriptive: Annotated[
        Path | None,
        typer.Option(
            "--descriptive",
            metavar="FILE",
            help="Descriptive metadata (EAD, MODS, Dublin Core ...) for the parent; when left out, Dublin "
            "Core made of what the archive says of itself.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    documentation: Annotated[
        Path | None,
        typer.Option(
            "--documentation",
            metavar="DIR",
            help="Folder of documentation for the parent.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    schemas: Annotated[
        Path | None,
        typer.Option(
            "--schemas",
            metavar="DIR",
            help="Folder of XML schemas (*.xsd) for every package, such as the official ones; metspack's own "
            "when left out.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None

    def values(self) -> dict[str, object]:
        """Return the values of options that some dialects alone take, by name; those that were given."""
        named = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "dialect"}
        return {name: value for name, value in named.items() if value not in (None, False)}

    def options_of(self, dialect: str) -> DialectOptions | None:
        """Return the dialect's own options; raises ``ConfigError`` for those that it does not take."""
        from metspack.mets import dialects  # noqa: PLC0415 -- commands load what they need

        values = self.values()
        if strange := [name for name in values if name not in dialects.facts(dialect).options]:
            flags = ", ".join(map(flag, strange))
            others = dialects.that_take(*strange)
            raise ConfigError(
                f"only the dialect {' or '.join(others)} has {flags}",
                hint=f"Add --dialect {' or '.join(others)}, or leave {flags} out.",
            )
        return dialects.named(dialect).options(values)


def flag(name: str) -> str:
    """Return how a dialect's option is written on the command line."""
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")
