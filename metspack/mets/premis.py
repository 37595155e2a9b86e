"""Write PREMIS 3 as a stream: an IP's objects with digests, size and format; events; the agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metspack import resources
from metspack.mets import writer
from metspack.mets.filetable import PlacedRun
from metspack.model import Digest

TEMPLATES = resources.root() / "templates" / "premis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A structural relationship, such as ``is part of``, to objects by their identifiers.

    ``objects`` can be iterated once.
    """

    kind: str
    objects: Iterable[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PremisWhole:
    """The object that a document is about: an ``intellectualEntity`` (IP) or a ``representation``."""

    category: str
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
    """An action on a package or a representation.

    ``type`` is a term of the Library of Congress; ``key`` distinguishes events of one type.
    """

    type: str
    detail: str
    outcome: str = "success"
    key: str = ""


def rows(files: Iterable[PlacedRun], checksum_type: str, folder: str) -> Iterator[str]:
    """Yield placed files as text of PREMIS, many at a time.

    ``folder``, "" or with a slash, precedes their paths.
    """

    def row(file: Mapping[str, Any]) -> str:
        digests = {"MD5": file["md5"], "SHA-256": file["sha256"], checksum_type: file["checksum"]}
        part_of = Relationship(kind="is part of", objects=(file["part_of"],))
        placed = FileObject(
            id=file["id"],
            path=folder + file["path"],
            size=file["size"],
            media_type=file["media_type"],
            digests=tuple(Digest(algorithm=name, value=value) for name, value in digests.items()),
            relationships=(part_of,) if file["part_of"] else (),
        )
        return text_of(placed)

    return map(writer.RowFormat(row).text, files)


def text_of(file: FileObject) -> str:
    """Return an object as text of PREMIS."""
    return writer.fragment(TEMPLATES, "_file.xml.j2", "file", file)
