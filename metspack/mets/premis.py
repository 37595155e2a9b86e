"""Stream PREMIS 3 documents: an IP's objects with digests, size and format; events; the agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metspack import resources
from metspack.digests import Hashers
from metspack.mets import writer
from metspack.mets.dialects.interface import Software
from metspack.mets.filetable import Placed, PlacedFile
from metspack.model import Digest

TEMPLATES = resources.template_folder() / "premis"

LOCAL = "local"
"""The type of identifiers that are unique within one package."""


SUCCESS = "success"
"""The outcome of a successful event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """An identifier of an object: its value and its type."""

    value: str
    type: str = LOCAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A structural relationship to other objects, such as ``is part of``; those are read once."""

    kind: str
    objects: Iterable[Identifier]


@dataclass(frozen=True, slots=True, kw_only=True)
class PremisWhole:
    """The object that a document is about: an ``intellectualEntity`` (IP) or a ``representation``."""

    category: str
    type: str
    value: str
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileObject:
    """A file; ``path`` is relative to the IP or representation, "" for a file in parts."""

    id: str
    path: str
    size: int
    media_type: str
    digests: tuple[Digest, ...]
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An action of ``agent`` on an object; ``type`` is of the Library of Congress's event types."""

    id: str
    type: str
    detail: str
    object: Identifier
    agent: str
    outcome: str = SUCCESS


def of_placed(file: PlacedFile, checksum_type: str, folder: str) -> FileObject:
    """Return the object of a placed file; ``folder`` ("" or with a final slash) precedes its path."""
    known = {"MD5": file.md5, "SHA-256": file.sha256, checksum_type: file.checksum}
    part_of = Relationship(kind="is part of", objects=(Identifier(value=file.part_of),))
    return FileObject(
        id=file.id,
        path=folder + file.path,
        size=file.size,
        media_type=file.media_type,
        digests=tuple(Digest(algorithm=name, value=value) for name, value in known.items()),
        relationships=(part_of,) if file.part_of else (),
    )


def write(
    target: Path,
    *,
    top: PremisWhole,
    files: Iterable[FileObject | str],
    events: Iterable[Event],
    created: str,
    agent: Software,
    algorithms: Iterable[str],
) -> Hashers:
    """Write a PREMIS document; return its digests and size.

    ``files`` are streamed, some as rows by ``rows``. ``created`` is the time of the events, as xs:dateTime.
    Raises ``TargetError`` and ``ConfigError``.
    """
    facts = {
        "top": top,
        "files": (each if isinstance(each, str) else _file(each) for each in files),
        "events": events,
        "created": created,
        "agent": agent,
    }
    return writer.write_document(target, TEMPLATES, "premis.xml.j2", facts, algorithms)


def rows(files: Iterable[Placed], checksum_type: str, folder: str) -> Iterator[str]:
    """Yield placed files as text of PREMIS, many at a time; ``folder`` is as in ``of_placed``."""

    def row(file: Mapping[str, Any]) -> str:
        own = {name: value for name, value in file.items() if name != "href"}
        return _file(of_placed(PlacedFile(**own), checksum_type, folder))

    return map(writer.RowFormat(row).text, files)


def _file(file: FileObject) -> str:
    return writer.fragment(TEMPLATES, "_file.xml.j2", "file", file)
