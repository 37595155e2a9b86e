"""Descriptive metadata (dmdSec): a given file, or Dublin Core from the archive's metadata.xml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack import safexml
from metspack.errors import ConfigError, SourceError
from metspack.files import reading
from metspack.siard.metadata import Metadata

_BY_NAMESPACE = {
    "urn:isbn:1-931666-22-9": "EAD",
    "http://ead3.archivists.org/schema/": "EAD",
    "http://www.loc.gov/mods/v3": "MODS",
    "http://www.loc.gov/MARC21/slim": "MARC",
    "http://www.openarchives.org/OAI/2.0/oai_dc/": "DC",
    "http://purl.org/dc/elements/1.1/": "DC",
    "http://purl.org/dc/terms/": "DC",
    "urn:isbn:1-931666-33-4": "EAC-CPF",
    "http://www.lido-schema.org": "LIDO",
    "http://www.loc.gov/premis/v3": "PREMIS",
}
_BY_NAME = {"ead": "EAD", "mods": "MODS", "simpledc": "DC", "dc": "DC", "eac-cpf": "EAC-CPF", "lido": "LIDO"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A descriptive file: where it is, METS's word for its kind (MDTYPE), and its own where METS has none."""

    path: Path
    mdtype: str
    othermdtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Description of a database from the metadata of its archive; "" for what is missing there."""

    title: str
    description: str = ""
    owner: str = ""
    timespan: str = ""
    version: str = ""


def read_given(path: Path) -> Given:
    """Return the kind of a given file; raises ``ConfigError`` when it cannot be read or is not XML."""
    name, namespace = "", ""

    def root(tag: str, _attributes: dict[str, str]) -> None:
        nonlocal name, namespace
        if not name:
            namespace, _, name = tag.rpartition(" ")

    parser = safexml.expat_parser(namespaces=True)
    parser.StartElementHandler = root
    try:
        with reading.opening(path) as descriptor:
            safexml.feed(parser, reading.chunks(descriptor))
    except safexml.XmlError as error:
        raise ConfigError(
            f"the descriptive metadata {path} is not XML that can be used: line {error.line}, "
            f"column {error.column}: {error.message}",
            hint=error.hint or "Descriptive metadata is an XML file, such as EAD, MODS or Dublin Core.",
        ) from None
    except (OSError, SourceError) as error:
        why = error.message if isinstance(error, SourceError) else error.strerror
        raise ConfigError(
            f"the descriptive metadata {path} cannot be read: {why}", hint="Check the path of --descriptive."
        ) from None
    mdtype = _BY_NAMESPACE.get(namespace) or _BY_NAME.get(name.casefold(), "OTHER")
    return Given(path=path, mdtype=mdtype, othermdtype=name if mdtype == "OTHER" else "")


def description(name: str, metadata: Metadata | None) -> Description:
    """Return the description of the database of an archive; without one it has only the name."""
    if metadata is None:
        return Description(title=name)
    return Description(
        title=metadata.dbname.strip() or name,
        description=metadata.description.strip(),
        owner=metadata.data_owner.strip(),
        timespan=metadata.origin_timespan.strip(),
        version=metadata.version,
    )


def terms(said: Description, objid: str, *, part: str = "", parent: str = "") -> Iterator[tuple[str, str]]:
    """Yield the Dublin Core elements of the IP ``objid``: name and text, in DCMES's own order.

    ``part`` says which part of the database a child is, ``parent`` is its parent's OBJID; "" for a parent.
    """
    yield "title", f"{said.title}: {part}" if part else said.title
    if said.owner:
        yield "creator", said.owner
    if said.description:
        yield "description", said.description
    yield "type", "Dataset"
    if said.version:
        yield "format", f"SIARD {said.version}"
    yield "identifier", objid
    if parent:
        yield "relation", parent
    if said.timespan:
        yield "coverage", said.timespan
