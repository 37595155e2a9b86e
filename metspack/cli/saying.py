"""Options for all that a package of the CSIP dialect says of itself, however it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import choices

if TYPE_CHECKING:
    from metspack.identity import CsipOptions

CSIP = "E-ARK (--dialect csip)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What E-ARK's specifications want to know of a package."""

    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            autocompletion=choices.mets_profiles,
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
            autocompletion=choices.package_types,
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
            autocompletion=choices.content_types,
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

    def of_csip(self) -> dict[str, object]:
        """Return the values of these options by name, None for those not given."""
        return {
            "--profile": self.profile,
            "--type": self.package_type,
            "--content-type": self.content_type,
            "--submitter": self.submitter,
            "--submitter-code": self.submitter_code,
            "--archival-creator": self.archival_creator,
            "--archival-creator-code": self.archival_creator_code,
            "--preservation-agent": self.preservation_agent,
            "--descriptive": self.descriptive,
            "--documentation": self.documentation,
            "--schemas": self.schemas,
        }

    def said(self, *, roda_ancestors: bool = False, **terms: str | None) -> CsipOptions:
        """Return what the CSIP dialect is to say; ``terms`` are further ones, None where it has its own."""
        from metspack.identity import CsipOptions  # noqa: PLC0415 -- commands load what they need
        from metspack.mets.dialects.csip_terms import Agents  # noqa: PLC0415

        terms |= {
            "profile": self.profile,
            "package_type": self.package_type,
            "content_type": self.content_type,
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
            roda_ancestors=roda_ancestors,
        )
