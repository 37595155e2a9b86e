"""Options for the dialect of a package, and for the metadata of the dialect csip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metspack.cli.options import choices
from metspack.cli.options.common import PACKAGE
from metspack.cli.options.groups import Group, RareHeading, option
from metspack.errors import ConfigError
from metspack.layouts import readers
from metspack.mets import dialects

if TYPE_CHECKING:
    from metspack.mets.dialects.interface import DialectOptions

CSIP = RareHeading("E-ARK (--dialect csip)")


def _choice() -> str:
    """Return the names of the dialects, each with its summary."""
    words = {name: dialects.facts(name).summary for name in dialects.DIALECTS}
    words[dialects.DEFAULT] += "; the default"
    return " or ".join(f"{name} ({summary})" for name, summary in words.items())


def default_checksums() -> str:
    """Return in words the default algorithms of the checksums in METS files."""
    first = dialects.facts(dialects.DEFAULT).checksum
    found = {name: dialects.facts(name).checksum for name in dialects.DIALECTS}
    return first + "".join(f", in the dialect {name} {each}" for name, each in found.items() if each != first)


@dataclass(frozen=True, kw_only=True)
class TermGroup(Group, panel=CSIP):
    """Metadata that E-ARK's specifications require or recommend for a package."""

    profile: str | None = option(
        "--profile NAME",
        "METS profile that the packages declare: csip (the default), cits-siard or sip.",
        choice=choices.of_dialects("profile"),
    )
    csip_version: str | None = option(
        "--csip-version VERSION",
        "Version of CSIP to write: 2.0.4, 2.1.0 or 2.2.0 (the default); PROFILE then names it.",
        choice=choices.of_dialects("csip_version"),
    )
    sip_version: str | None = option(
        "--sip-version VERSION",
        "With --profile sip, version of E-ARK SIP to write: 2.0.4, 2.1.0, 2.2.0 (the default) or 2.3.0.",
        choice=choices.of_dialects("sip_version"),
    )
    package_type: str | None = option(
        "--type TYPE",
        "OAIS package type: SIP (the default), AIP or DIP.",
        choice=choices.of_dialects("package_type"),
    )
    content_type: str | None = option(
        "--content-type TYPE",
        "Content information type: citssiard_v1_0 (the default), SIARD1, SIARD2 or SIARDDK.",
        choice=choices.of_dialects("content_type"),
    )
    submitter: str | None = option(
        "--submitter NAME",
        "Organisation that submits the package; required for --profile sip.",
    )
    submitter_code: str | None = option(
        "--submitter-code CODE",
        "The submitter's identification code.",
    )
    archival_creator: str | None = option(
        "--archival-creator NAME",
        "Organisation that created the data.",
    )
    archival_creator_code: str | None = option(
        "--archival-creator-code CODE",
        "The archival creator's identification code.",
    )
    preservation_agent: str | None = option(
        "--preservation-agent NAME",
        "Organisation that preserves the package.",
    )
    descriptive: Path | None = option(
        "--descriptive FILE",
        "Descriptive metadata (EAD, MODS, Dublin Core ...) for the parent; default: Dublin Core "
        "made from the archive's metadata.",
    )
    documentation: Path | None = option(
        "--documentation DIR",
        "Folder of documentation for the parent.",
    )
    schemas: Path | None = option(
        "--schemas DIR",
        "Folder of XML schemas (*.xsd) for every package, such as the official ones; default: "
        "metspack's own.",
    )

    def of(self, dialect: str) -> DialectOptions | None:
        """Return the dialect's own options; raises ``ConfigError`` for those of other dialects."""
        given = {each.name: (option, getattr(self, each.name)) for each, option in self.stated()}
        given.pop("dialect", None)
        if strange := [name for name in given if name not in dialects.facts(dialect).options]:
            flags = ", ".join(given[name][0].name for name in strange)
            others = " or ".join(dialects.that_take(*strange))
            raise ConfigError(
                f"only the dialect {others} has {flags}",
                hint=f"Add --dialect {others}, or leave {flags} out.",
            )
        values = {name: option.read(value) for name, (option, value) in given.items()}
        return dialects.named(dialect).options(values)


@dataclass(frozen=True, kw_only=True)
class DialectGroup(TermGroup, panel=CSIP):
    """The dialect of a package, and the options of the dialect csip."""

    dialect: str | None = option(
        "--dialect NAME",
        f"Specification that the METS files follow: {_choice()}.",
        PACKAGE,
        to=None,
        choice=choices.dialects,
    )
    link_style: str | None = option(
        "--link-style STYLE",
        "Form of the links between parent and children: aip (E-ARK AIP; the default), csip-large "
        "(CSIP's page on large packages) or recommendation.",
        choice=choices.of_dialects("link_style"),
    )
    child_links: str | None = option(
        "--child-links FORM",
        "What the parent records of its children: location (OBJID, and location, size and digest of the "
        "METS; the default) or objid (OBJID only: no reference leads out of the package).",
        choice=choices.of_dialects("child_links"),
    )
    roda_ancestors: bool = option(
        "--roda-ancestors",
        "Also name the parent in the structMap of the children that RODA reads.",
    )
    representation: str | None = option(
        "--representation NAME",
        "Name of the representation in every package; default: rep1.",
    )

    def read_by(self, key: str | None, form: str | None) -> DialectGroup:
        """Return the options with those that a reader requires of packages.

        ``form`` is that in which IPs are packed. Raises ``ConfigError`` for options or a form that the reader
        does not support.
        """
        if key is None:
            return self
        reader: readers.SiardReader = readers.FOR[choices.siard_readers.read("--for", key)]
        reader.check({each.name: getattr(self, each.name) for each, _ in self.stated()}, form)
        terms: dict[str, Any] = reader.required(is_packed=form is not None)
        return replace(self, **terms)

    def values(self) -> dict[str, Any]:
        """Return the dialect and its own options; raises ``ConfigError`` for those of other ones."""
        name = choices.dialects.read("--dialect", self.dialect or dialects.DEFAULT)
        return {"dialect": name, "dialect_options": self.of(name)}
