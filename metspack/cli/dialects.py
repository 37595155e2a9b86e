"""The options of dialects: how a package is described, and what E-ARK's specifications want to know."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import choices, options
from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.identity import CsipOptions

_DIALECT = "Dialect"
_CSIP = "E-ARK (--dialect csip)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialects:
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
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            autocompletion=choices.mets_profiles,
            metavar="NAME",
            help="Whose METS profile the packages declare: csip (the default), cits-siard or sip.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    package_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            autocompletion=choices.package_types,
            metavar="TYPE",
            help="OAIS package type: SIP (the default), AIP or DIP.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    content_type: Annotated[
        str | None,
        typer.Option(
            "--content-type",
            autocompletion=choices.content_types,
            metavar="TYPE",
            help="Content information type: citssiard_v1_0 (the default), SIARD1, SIARD2 or SIARDDK.",
            rich_help_panel=_CSIP,
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
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    roda_ancestors: Annotated[
        bool,
        typer.Option(
            "--roda-ancestors",
            metavar=options.FLAG,
            help="Name the parent in the children's structMap that RODA reads as well.",
            rich_help_panel=_CSIP,
        ),
    ] = False
    representation: Annotated[
        str | None,
        typer.Option(
            "--representation",
            metavar="NAME",
            help="Name of the representation in every package, rep1 when left out.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    submitter: Annotated[
        str | None,
        typer.Option(
            "--submitter",
            metavar="NAME",
            help="Organisation that submits the package; --profile sip needs it.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    submitter_code: Annotated[
        str | None,
        typer.Option(
            "--submitter-code",
            metavar="CODE",
            help="The submitter's identification code.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    archival_creator: Annotated[
        str | None,
        typer.Option(
            "--archival-creator",
            metavar="NAME",
            help="Organisation that created the data.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    archival_creator_code: Annotated[
        str | None,
        typer.Option(
            "--archival-creator-code",
            metavar="CODE",
            help="The archival creator's identification code.",
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    preservation_agent: Annotated[
        str | None,
        typer.Option(
            "--preservation-agent",
            metavar="NAME",
            help="Organisation that preserves the package.",
            rich_help_panel=_CSIP,
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
            rich_help_panel=_CSIP,
            show_default=False,
        ),
    ] = None
    documentation: Annotated[
        Path | None,
        typer.Option(
            "--documentation",
            metavar="DIR",
            help="Folder of documentation for the parent.",
            rich_help_panel=_CSIP,
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
            rich_help_panel=_CSIP,
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
            "--profile": self.profile,
            "--type": self.package_type,
            "--content-type": self.content_type,
            "--link-style": self.link_style,
            "--roda-ancestors": self.roda_ancestors or None,
            "--representation": self.representation,
            "--submitter": self.submitter,
            "--submitter-code": self.submitter_code,
            "--archival-creator": self.archival_creator,
            "--archival-creator-code": self.archival_creator_code,
            "--preservation-agent": self.preservation_agent,
            "--descriptive": self.descriptive,
            "--documentation": self.documentation,
            "--schemas": self.schemas,
        }

    def csip_options(self) -> CsipOptions:
        """Return what the CSIP dialect is to say; raises ``ConfigError`` for what no other dialect knows."""
        from metspack.identity import CsipOptions  # noqa: PLC0415 -- commands load what they need
        from metspack.mets.dialects.csip import NAME  # noqa: PLC0415
        from metspack.mets.dialects.csip_terms import Agents  # noqa: PLC0415

        given = [name for name, value in self._of_csip().items() if value is not None]
        if given and self.name() != NAME:
            raise ConfigError(
                f"only the dialect {NAME} has {', '.join(given)}",
                hint=f"Add --dialect {NAME}, or leave {', '.join(given)} out.",
            )
        terms = {
            "profile": self.profile,
            "package_type": self.package_type,
            "content_type": self.content_type,
            "link_style": self.link_style,
            "representation": self.representation,
        }
        return CsipOptions(
            **{name: value for name, value in terms.items() if value is not None},
            agents=Agents(
                submitter=self.submitter or "",
                submitter_code=self.submitter_code or "",
                archival_creator=self.archival_creator or "",
                archival_creator_code=self.archival_creator_code or "",
                preservation=self.preservation_agent or "",
            ),
            descriptive=self.descriptive,
            documentation=self.documentation,
            schemas=self.schemas,
            roda_ancestors=self.roda_ancestors,
        )
