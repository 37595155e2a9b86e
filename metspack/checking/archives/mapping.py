"""Read the mapping.txt beside an archive: where the folders of its segments are (SIARD 2.2, S_8.1.2-0)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metspack import uris
from metspack.checking.archives.packagefiles import Files
from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.checking.mets.documents import of_opening
from metspack.checking.tree import CheckedTree
from metspack.errors import MetspackError
from metspack.files.paths import Names, folder_of, path_of, shown
from metspack.locations.mappingtxt import NAME, LineRefused, parsed_line
from metspack.locations.statement import Place
from metspack.model import Finding

_SHOWN = 80


class Mapping:
    """The mapping.txt beside an archive: by the path of a segment's folder, where it may be stored."""

    def __init__(self, catalogue: Catalogue, files: Files, siard: bytes) -> None:
        self._catalogue = catalogue
        self._files = files
        self._path = folder_of(siard) + NAME.encode()
        self._base = tuple(shown(self._path).split("/")[:-1])
        self._targets: dict[Names, tuple[str, tuple[Names, ...]]] = {}

    def of(self, names: Names) -> Iterator[Names]:
        """Yield the other places in the package of a file that should be at these names."""
        for length in range(len(names) - 1, 0, -1) if self._targets else ():
            if (found := self._targets.get(names[:length])) is not None:
                yield from ((*target, *names[length:]) for target in found[1])
                return

    def read(self, places: CheckedTree) -> Iterator[Finding]:
        """Read the file; yield the findings on it.

        Targets outside the package are never opened. A missing mapping.txt has no finding; the inventory
        reports a link in its place.
        """
        if not self._catalogue.is_file(self._path):
            return
        is_used = False
        try:
            with places.content(self._path) as content:
                for number, line in enumerate(content.lines(), start=1):
                    is_used = is_used or bool(line.strip())
                    yield from self._take(number, line)
        except (OSError, MetspackError) as error:
            yield of_opening(self._path, error)
            return
        if not is_used:
            yield Code.MAPPING_EMPTY.at(self._path)

    def _take(self, number: int, line: bytes) -> Iterator[Finding]:
        where, reason = (shown(self._path), number), ""
        try:
            stated = parsed_line(line)
        except LineRefused as refused:
            stated, reason = None, refused.message
        if stated is not None:
            folder, target = (*self._base, *stated[0]), stated[1]
            found = self._found(folder, target)
            if self._targets.setdefault(folder, (target, found))[0] != target:
                reason = "another line maps the folder elsewhere"
            elif not self._is_folder(folder):
                facts = {"expected": "/".join(folder), "href": target}
                if found:
                    yield Code.SEGMENT_MAPPED.at(*where, **facts, found="/".join(found[0]))
                else:
                    yield Code.SEGMENT_AWAY.at(*where, **facts)
        if reason:
            text = line.decode("utf-8-sig", "surrogateescape").strip()
            yield Code.MAPPING_LINE.at(*where, found=text[:_SHOWN], reason=reason)

    def _found(self, folder: Names, target: str) -> tuple[Names, ...]:
        """Return the folders in the package that a URI means.

        The standard's example repeats the segment's folder below the URI; its text does not.
        """
        try:
            reference = uris.parsed(target)
        except uris.ReferenceRefused:
            return ()  # it names a host, or no file
        absolute = reference.kind is not uris.Kind.RELATIVE
        place = Place(
            inside=False, absolute=absolute, drive=reference.drive, segments=tuple(reference.segments)
        )
        within = self._files.names(self._base, place)
        if within is None:
            return ()
        return tuple(each for each in ((*within, *folder), within) if self._is_folder(each))

    def _is_folder(self, names: Sequence[str]) -> bool:
        return bool(names) and self._catalogue.is_folder(path_of(tuple(names)))
