"""Options on the dialect of a package, and on all that a package of the dialect csip says of itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from metspack.cli.options import choices
from metspack.cli.options.groups import Group, option
from metspack.errors import ConfigError

CSIP = "E-ARK (--dialect csip)"
_DIALECT = "Dialect"


@dataclass(frozen=True, kw_only=True)
class TermGroup(Group):
    """What E-ARK's specifications want to know of a package."""

    profile: Annotated[
        str | None,
        option(
            "--profile NAME",
            "Whose METS profile the packages declare: csip (the default), cits-siard or sip.",
            CSIP,
            choice=choices.mets_profiles,
        ),
    ] = None
    package_type: Annotated[
        str | None,
        option(
            "--type TYPE",
            "OAIS package type: SIP (the default), AIP or DIP.",
            CSIP,
            choice=choices.package_types,
        ),
    ] = None
    content_type: Annotated[
        str | None,
        option(
            "--content-type TYPE",
            "Content information type: citssiard_v1_0 (the default), SIARD1, SIARD2 or SIARDDK.",
            CSIP,
            choice=choices.content_types,
        ),
    ] = None
    submitter: Annotated[
        str | None,
        option(
            "--submitter NAME",
            "Organisation that submits the package; --profile sip needs it.",
            CSIP,
        ),
    ] = None
    submitter_code: Annotated[
        str | None,
        option(
            "--submitter-code CODE",
            "The submitter's identification code.",
            CSIP,
        ),
    ] = None
    archival_creator: Annotated[
        str | None,
        option(
            "--archival-creator NAME",
            "Organisation that created the data.",
            CSIP,
        ),
    ] = None
    archival_creator_code: Annotated[
        str | None,
        option(
            "--archival-creator-code CODE",
            "The archival creator's identification code.",
            CSIP,
        ),
    ] = None
    preservation_agent: Annotated[
        str | None,
        option(
            "--preservation-agent NAME",
            "Organisation that preserves the package.",
            CSIP,
            to="preservation",
        ),
    ] = None
    descriptive: Annotated[
        Path | None,
        option(
            "--descriptive FILE",
            "Descriptive metadata (EAD, MODS, Dublin Core ...) for the parent; when left out, Dublin "
            "Core made of what the archive says of itself.",
            CSIP,
        ),
    ] = None
    documentation: Annotated[
        Path | None,
        option(
            "--documentation DIR",
            "Folder of documentation for the parent.",
            CSIP,
        ),
    ] = None
    schemas: Annotated[
        Path | None,
        option(
            "--schemas DIR",
            "Folder of XML schemas (*.xsd) for every package, such as the official ones; metspack's own "
            "when left out.",
            CSIP,
        ),
    ] = None

    def values(self) -> dict[str, Any]:
        """Return what the CSIP dialect is to say."""
        from metspack.identity import CsipOptions  # noqa: PLC0415 -- commands load what they need
        from metspack.mets.dialects.csip_terms import Agents  # noqa: PLC0415

        given = super().values()
        agents = {each.name: given.pop(each.name) for each in fields(Agents) if each.name in given}
        return {"csip": CsipOptions(**given, agents=Agents(**agents))}


@dataclass(frozen=True, kw_only=True)
class DialectGroup(TermGroup):
    """The dialect of a package, and all that the CSIP dialect says beside."""

    dialect: Annotated[
        str | None,
        option(
            "--dialect NAME",
            "How the package is described: recommendation (E-ARK's for LOBs outside the SIARD file; the "
            "default) or csip (every IP a package of its own after E-ARK CSIP 2.2.0).",
            _DIALECT,
            to=None,
            choice=choices.dialects,
        ),
    ] = None
    link_style: Annotated[
        str | None,
        option(
            "--link-style STYLE",
            "How parent and children name each other: aip (E-ARK AIP; the default), csip-large (CSIP's "
            "text on large packages) or recommendation.",
            CSIP,
            choice=choices.link_styles,
        ),
    ] = None
    roda_ancestors: Annotated[
        bool,
        option(
            "--roda-ancestors",
            "Name the parent in the children's structMap that RODA reads as well.",
            CSIP,
        ),
    ] = False
    representation: Annotated[
        str | None,
        option(
            "--representation NAME",
            "Name of the representation in every package, rep1 when left out.",
            CSIP,
        ),
    ] = None

    def values(self) -> dict[str, Any]:
        """Return the dialect and its terms; raises ``ConfigError`` for those that only another has."""
        from metspack.identity import DIALECTS  # noqa: PLC0415 -- commands load what they need
        from metspack.mets.dialects.csip import NAME  # noqa: PLC0415

        dialect = choices.dialects.read("--dialect", self.dialect or DIALECTS[0])
        given = [each for each in self.given() if each != "--dialect"]
        if dialect != NAME and given:
            raise ConfigError(
                f"only the dialect {NAME} has {', '.join(given)}",
                hint=f"Add --dialect {NAME}, or leave {', '.join(given)} out.",
            )
        return {"dialect": dialect, **super().values()}
