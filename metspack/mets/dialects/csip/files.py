"""Write the files of one IP, and their entries in METS."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metspack import resources, uris
from metspack.digests import Hashers
from metspack.errors import ConfigError, SourceError
from metspack.files import reading, walking, writing
from metspack.mets import filetable, ids, is_mets_name, writer
from metspack.mets.dialects.csip import terms
from metspack.mets.filetable import PlacedRun, Placements
from metspack.mets.writer import RowFormat
from metspack.sources import mediatypes

TEMPLATES = resources.root() / "templates" / "csip"

ABOUT = "about-this-package.txt"
"""The file in every package's documentation that describes the package for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """A fileGrp, and its div in the CSIP structMap, or ""; its paths are below ``folder``.

    ``archive`` is the ID of the SIARD archive among its files; ``mets`` is the METS that a representation's
    div points to. Every call of ``files`` begins again. ``written`` has the rows of the files, if they are
    written already.
    """

    id: str
    use: str
    div: str
    files: Callable[[], Iterable[PlacedRun]]
    folder: str = ""
    content_type: str = ""
    other_type: str = ""
    archive: str = ""
    mets: PlacedRun | None = None
    written: writing.NewFile | None = None

    def href(self, path: str) -> str:
        """Return the METS's reference to one of its files."""
        return terms.href((self.folder + path).split("/"))

    def rows(self, stated: Mapping[str, Any], other_type: str) -> Iterator[str]:
        """Yield the rows of its files for METS, many at a time; ``stated`` are shared facts."""
        if self.written is not None:
            blocks = self.written.read_back(0, self.written.size)
            yield from map(Markup, codecs.iterdecode(blocks, "utf-8"))
            return
        text = self._make_text(stated, other_type)
        for each in self.files():
            yield text(each)

    def write_through(
        self, files: Iterable[PlacedRun], rows: writing.NewFile, stated: Mapping[str, Any], other_type: str
    ) -> Iterator[PlacedRun]:
        """Yield files, and write the rows of each, as of the method ``rows``, to the file ``rows``."""
        text = self._make_text(stated, other_type)
        for each in files:
            rows.write(text(each).encode())
            yield each

    def _make_text(self, stated: Mapping[str, Any], other_type: str) -> Callable[[PlacedRun], str]:
        row, archive = (
            RowFormat(partial(_row, stated=stated, other_type=each), self.href) for each in ("", other_type)
        )

        def text(run: PlacedRun) -> str:
            at = run.id.index(self.archive) if self.archive in run.id else len(run)
            return row.text(run[:at]) + archive.text(run[at : at + 1]) + row.text(run[at + 1 :])

        return text


_HEAD = 1 << 10  # bytes from which a format is identified


def _row(file: Mapping[str, Any], **facts: object) -> str:
    return writer.fragment(TEMPLATES, "_file.xml.j2", "file", file, **facts)


class IpFolder:
    """The folder of one IP that is written; ``files`` are the digests of its files by path."""

    def __init__(self, package: Path, folder: str, objid: str, checksum: str) -> None:
        self.objid = objid
        self.files: dict[str, Hashers] = {}
        self._package = package
        self._folder = folder
        self._checksum = checksum

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms by which every file is hashed."""
        return filetable.algorithms(self._checksum)

    def prepare(self, path: str) -> Path:
        """Make the folder for a file of the IP; return the file's path."""
        target = self._package / self._folder / path
        writing.make_directories(target.parent)
        return target

    def register(self, path: str, hashers: Hashers, head: bytes = b"") -> PlacedRun:
        """Add a written file to ``files``; return it as METS lists it.

        Its media type is that of its extension, unless its first bytes (``head``) contradict.
        """
        self.files[f"{self._folder}/{path}"] = hashers
        kind = mediatypes.media_type(None, path.rpartition(".")[2])
        kind = mediatypes.another_type(kind, head) or kind
        return filetable.placed_file(self.id(path), path, kind, hashers, self._checksum)

    def id(self, path: str) -> str:
        """Return the xml:id of a file of the IP."""
        return ids.element_id(self.objid, path)

    def render(
        self, path: str, template: str, facts: Mapping[str, Any], folder: Path = TEMPLATES
    ) -> PlacedRun:
        """Write a document with a template from a folder, by default the dialect's."""
        return self.register(
            path, writer.write_document(self.prepare(path), folder, template, facts, self.algorithms)
        )

    def write(self, path: str, blocks: Iterable[bytes]) -> PlacedRun:
        """Write a file of these bytes."""
        hashers, head = Hashers(self.algorithms), b""
        with writing.NewFile(self.prepare(path)) as file:
            for block in blocks:
                head = head or block[:_HEAD]
                hashers.update(block)
                file.write(block)
        return self.register(path, hashers, head)

    def copy(self, path: str, root: Path, names: tuple[str, ...] = ()) -> PlacedRun:
        """Copy a file; raises ``SourceError`` when it cannot be read."""
        try:
            with reading.opening(root, names) as descriptor:
                return self.write(path, reading.chunks(descriptor))
        except OSError as error:
            raise SourceError(
                f"{root.joinpath(*names)} cannot be read: {error.strerror}",
                hint="It was to go into the package; see that it is there and that you may read it.",
            ) from None

    def copy_documentation(self, root: Path, into: Placements) -> None:
        """Copy all files below ``root`` by path to the folder documentation; add them to ``into``."""
        for names in below(root):
            into.add(self.copy("/".join(("documentation", *names)), root, names))

    def reference(
        self, file: PlacedRun, mdtype: str, othermdtype: str = "", *, below: str = ""
    ) -> dict[str, object]:
        """Return the values of an mdRef to a written file, in a METS in the folder ``below``."""
        return {
            "id": file.id[0],
            "href": terms.href(file.path[0].removeprefix(below).split("/")),
            "mdtype": mdtype,
            "othermdtype": othermdtype,
            "media_type": file.media_type[0],
            "size": file.size[0],
            "checksum": file.checksum[0],
        }


def below(root: Path) -> Iterator[tuple[str, ...]]:
    """Yield all files below a folder, as names, sorted by path; raises as ``walking`` does."""
    with closing(walking.entries(root)) as found:
        files = [path for path, stamp in found if stamp is not None]
    yield from sorted(files, key=lambda path: "/".join(path).encode("utf-8", "surrogateescape"))


def check_documentation(root: Path) -> None:
    """Raise ``ConfigError`` unless a folder can be a package's documentation."""
    if not root.is_dir():
        raise ConfigError(
            f"the documentation {root} is not a folder",
            hint="Name the folder that holds it: --documentation DIR.",
        )
    for names in below(root):
        path = "/".join(names)
        if is_mets_name(names[-1]):
            raise ConfigError(
                f"the documentation holds {path}, which every reader would take for the METS of a package",
                hint="Rename it, or pack it: validators and metspack find packages by that name.",
            )
        if path.casefold() == ABOUT:
            raise ConfigError(
                f"the documentation holds {path}, the name of a file that every package gets",
                hint="Rename it.",
            )
        _check_name(root, path)


def _check_name(root: Path, path: str) -> None:
    try:
        uris.quoted(path.split("/"))
    except (uris.ReferenceRefused, UnicodeEncodeError):
        raise ConfigError(
            f"{root} holds a file whose name cannot stand in a METS: {uris.shown(path)}", hint="Rename it."
        ) from None


def schema_files(root: Path) -> tuple[str, ...]:
    """Return the names of the XML schemas in a folder; raises ``ConfigError`` without any."""
    names = sorted(each.name for each in root.glob("*.xsd")) if root.is_dir() else []
    if not names:
        raise ConfigError(
            f"{root} holds no XML schema (*.xsd)",
            hint="Name the folder that holds them with --schemas, or leave it out: metspack has its own.",
        )
    for name in names:
        _check_name(root, name)
    return tuple(names)
