"""The options of dialects: how a package is described, and what E-ARK's specifications want to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import choices, options
from metspack.cli.saying import CSIP, Saying, flag
from metspack.mets import dialects

if TYPE_CHECKING:
    from metspack.mets.dialects.interface import DialectOptions

_DIALECT = "Dialect"


def _choice() -> str:
    """Return the names of the dialects, each with what it is."""
    words = {name: dialects.facts(name).summary for name in dialects.DIALECTS}
    words[dialects.DEFAULT] += "; the default"
    return " or ".join(f"{name} ({summary})" for name, summary in words.items())


def default_checksums() -> str:
    """Return the digests that METS files hold when none is asked for, in words."""
    first = dialects.facts(dialects.DEFAULT).checksum
    others = {name: dialects.facts(name).checksum for name in dialects.DIALECTS}
    return first + "".join(f", in the dialect {name} {own}" for name, own in others.items() if own != first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialects(Saying):
    """The dialect of a package, and all that the CSIP dialect says beside."""

    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            autocompletion=choices.dialects,
            metavar="NAME",
            help=f"How the package is described: {_choice()}.",
            rich_help_panel=_DIALECT,
            show_default=False,
        ),
    ] = None
    link_style: Annotated[
        str | None,
        typer.Option(
            "--link-style",
            autocompletion=choices.of_dialects("link_style"),
            metavar="STYLE",
            help="How parent and children name each other: aip (E-ARK AIP; the default), csip-large (CSIP's "
            "text on large packages) or recommendation.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None
    roda_ancestors: Annotated[
        bool,
        typer.Option(
            "--roda-ancestors",
            metavar=options.FLAG,
            help="Name the parent in the children's structMap that RODA reads as well.",
            rich_help_panel=CSIP,
        ),
    ] = False
    representation: Annotated[
        str | None,
        typer.Option(
            "--representation",
            metavar="NAME",
            help="Name of the representation in every package, rep1 when left out.",
            rich_help_panel=CSIP,
            show_default=False,
        ),
    ] = None

    def name(self) -> str:
        """Return the dialect's name; raises ``ConfigError`` for one there is not."""
        return options.one_of("--dialect", self.dialect or dialects.DEFAULT, dialects.DIALECTS)

    def given(self) -> dict[str, object]:
        """Return the values of options by their flags, those that were given."""
        own = {flag(name): value for name, value in self.values().items()}
        return own if self.dialect is None else {"--dialect": self.dialect, **own}

    def dialect_options(self) -> DialectOptions | None:
        """Return the dialect's own options; raises ``ConfigError`` for those that it does not take."""
        return self.options_of(self.name())
