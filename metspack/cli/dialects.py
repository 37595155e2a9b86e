"""The options of dialects: how a package is described, and what E-ARK's specifications want to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import choices, options
from metspack.cli.saying import CSIP, Saying
from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.identity import CsipOptions

_DIALECT = "Dialect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialects(Saying):
    """The dialect of a package, and all that the CSIP dialect says beside."""

    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            autocompletion=choices.dialects,
            metavar="NAME",
            help="How the package is described: recommendation (E-ARK's for LOBs outside the SIARD file; the "
            "default) or csip (every IP a package of its own after E-ARK CSIP 2.2.0).",
            rich_help_panel=_DIALECT,
            show_default=False,
        ),
    ] = None
    link_style: Annotated[
        str | None,
        typer.Option(
            "--link-style",
            autocompletion=choices.link_styles,
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
        from metspack.identity import DIALECTS  # noqa: PLC0415 -- commands load what they need

        return options.one_of("--dialect", self.dialect or DIALECTS[0], DIALECTS)

    def given(self) -> dict[str, object]:
        """Return the values of options by name, None for those not given."""
        return {"--dialect": self.dialect, **self._of_csip()}

    def _of_csip(self) -> dict[str, object]:
        return {
            **self.of_csip(),
            "--link-style": self.link_style,
            "--roda-ancestors": self.roda_ancestors or None,
            "--representation": self.representation,
        }

    def csip_options(self) -> CsipOptions:
        """Return what the CSIP dialect is to say; raises ``ConfigError`` for what no other dialect knows."""
        from metspack.mets.dialects.csip import NAME  # noqa: PLC0415 -- commands load what they need

        given = [name for name, value in self._of_csip().items() if value is not None]
        if given and self.name() != NAME:
            raise ConfigError(
                f"only the dialect {NAME} has {', '.join(given)}",
                hint=f"Add --dialect {NAME}, or leave {', '.join(given)} out.",
            )
        return self.said(
            link_style=self.link_style,
            representation=self.representation,
            roda_ancestors=self.roda_ancestors,
        )
