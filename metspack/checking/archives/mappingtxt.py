"""The mapping.txt beside an archive, which gives its segment folders' storage (SIARD 2.2, S_8.1.2-0)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from metspack import uris
from metspack.checking.archives.packagefiles import Files
from metspack.checking.catalogue import Catalogue, folder_of, shown
from metspack.checking.codes import Code
from metspack.checking.files.manifests import lines
from metspack.checking.mets.documents import of_opening
from metspack.checking.opening import CheckedTree
from metspack.errors import MetspackError
from metspack.locations.mappingtxt import NAME, LineRefused, parsed_line
from metspack.locations.splitparts import Names
from metspack.locations.statement import Place
from metspack.model import Finding
from metspack.packages.files import path_of

_SHOWN = 80


@dataclass(slots=True)
class Mapping:
    """The segment folders of a mapping.txt, by path: the folders each may be stored in, and its URI."""

    targets: dict[Names, tuple[Names, ...]] = field(default_factory=dict)
    uris: dict[Names, str] = field(default_factory=dict)

    def of(self, names: Names) -> Iterator[Names]:
        """Yield where else in the package a file may be that should be at these names."""
        for length in range(len(names) - 1, 0, -1) if self.targets else ():
            if (found := self.targets.get(names[:length])) is not None:
                yield from ((*target, *names[length:]) for target in found)
                return


def read(
    catalogue: Catalogue, places: CheckedTree, files: Files, siard: bytes, mapping: Mapping
) -> Iterator[Finding]:
    """Read the mapping.txt beside an archive into ``mapping``; yield the findings on it.

    Targets outside the package are never looked at. One that is not there is fine.
    """
    base = folder_of(siard)
    path = base + NAME.encode()
    if catalogue.row("SELECT 1 FROM disk WHERE path = ? AND kind = 'f'", path) is None:
        return  # a link in its place was reported where the walk came by
    is_used = False
    try:
        with places.content(path) as content:
            for number, line in enumerate(lines(content), start=1):
                is_used = is_used or bool(line.strip())
                yield from _Line(catalogue, files, base, number).take(line, mapping)
    except (OSError, MetspackError) as error:
        yield of_opening(path, error)
        return
    if not is_used:
        yield Code.MAPPING_EMPTY.at(shown(path))


class _Line:
    """One line of a mapping; used once."""

    def __init__(self, catalogue: Catalogue, files: Files, base: bytes, number: int) -> None:
        self._catalogue = catalogue
        self._files = files
        self._base = tuple(shown(base).split("/")[:-1])
        self._where = (shown(base) + NAME, number)

    def take(self, line: bytes, mapping: Mapping) -> Iterator[Finding]:
        try:
            said = parsed_line(line)
        except LineRefused as refused:
            yield self._refused(line, refused.message)
            return
        if said is None:
            return
        below, target = said
        folder = (*self._base, *below)
        found = self._found(folder, target)
        mapping.targets.setdefault(folder, found)
        if mapping.uris.setdefault(folder, target) != target:
            yield self._refused(line, "another line maps the folder elsewhere")
        elif not self._is_folder(folder):
            facts = {"expected": "/".join(folder), "href": target}
            if found:
                yield Code.SEGMENT_MAPPED.at(*self._where, **facts, found="/".join(found[0]))
            else:
                yield Code.SEGMENT_AWAY.at(*self._where, **facts)

    def _refused(self, line: bytes, reason: str) -> Finding:
        text = line.decode("utf-8-sig", "surrogateescape").strip()
        return Code.MAPPING_LINE.at(*self._where, found=text[:_SHOWN], reason=reason)

    def _found(self, folder: Names, target: str) -> tuple[Names, ...]:
        """Return the folders that a URI means, of those that the package has.

        The standard's example repeats the segment's folder below the URI; its text does not.
        """
        try:
            reference = uris.parsed(target)
        except uris.ReferenceRefused:
            return ()  # of a host, or no file: nothing here
        absolute = reference.kind is not uris.Kind.RELATIVE
        place = Place(
            inside=False, absolute=absolute, drive=reference.drive, segments=tuple(reference.segments)
        )
        within = self._files.names(self._base, place)
        if within is None:
            return ()
        return tuple(each for each in ((*within, *folder), within) if self._is_folder(each))

    def _is_folder(self, names: Sequence[str]) -> bool:
        sql = "SELECT 1 FROM disk WHERE path = ? AND kind = 'd'"
        return bool(names) and self._catalogue.row(sql, path_of(tuple(names))) is not None
