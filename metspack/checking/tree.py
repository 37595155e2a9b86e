"""The file tree of a package under check, with the children and members mounted in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from metspack import uris
from metspack.checking.catalogue import DEEPEST
from metspack.checking.segments import Agreement
from metspack.checking.similarity import RecentEdits
from metspack.containers.ipreader import Content
from metspack.files import reading
from metspack.files.byteranges import FileBelow
from metspack.files.paths import folder_of, path_of, shown
from metspack.mets.links import target
from metspack.packages.files import MountedTree, NoTree, PackageTree
from metspack.system import os

_GUESSES = 50  # locations outside the package that are searched inside it


def _absolute_names(at: bytes, tree: PackageTree) -> list[tuple[bytes, tuple[str, ...]]]:
    """Return a tree's absolute paths, given and real, as drive and names; empty if packed."""
    if tree.is_packed or isinstance(tree, NoTree):
        return []
    forms = dict.fromkeys((os.path.abspath(tree.shown), os.path.realpath(tree.shown)))
    return [(at, (path.drive.upper(), *path.parts[1:])) for path in map(Path, forms)]


class CheckedTree(MountedTree):
    """A package's file tree with mounted children; resolves references to paths in it.

    The files that the ``agreement`` holds are not in the catalogue.
    """

    def __init__(self, base: PackageTree, agreement: Agreement, holes: int) -> None:
        super().__init__(base)
        self.agreement, self.holes = agreement, holes
        self._apart: list[bytes] = []
        self.given: dict[str, str] = {}
        """The paths of children that are packages under check too, with their given paths."""
        self.members: dict[int, list[tuple[bytes, bytes]]] = {}
        """The members of the package by the number of their root: each folder in the root and here."""
        self._outside, self._guesses = RecentEdits(), 0
        self._base_of = lru_cache(1)(self._base)  # a document's references come one after the other
        self._here: list[tuple[bytes, tuple[str, ...]]] = _absolute_names(b"", base)

    def mount(self, at: bytes, tree: PackageTree, *, apart: bool = False) -> None:
        """Mount a tree at a path; ``apart`` if the path is a label outside the package."""
        super().mount(at, tree)
        self._here += _absolute_names(at + b"/", tree)
        if apart:
            self._apart.append(at + b"/")

    def join(self, folder: str, tree: PackageTree, given: str, root: int, within: str) -> None:
        """Mount an IP that is a member of the package, from the folder ``within`` a root."""
        at = os.fsencode(folder)
        self.mount(at, tree)
        self.given[shown(at)] = given
        self.members.setdefault(root, []).append((os.fsencode(within), at))

    def of_member(self, root: int, path: bytes) -> bytes | None:
        """Return the path in the package of a path in a root, or None outside the members."""
        for within, folder in self.members.get(root, ()):
            if not within or path.startswith(within + b"/"):
                return folder + b"/" + (path[len(within) + 1 :] if within else path)
        return None

    def on_disk(self, path: bytes) -> str:
        """Return the path of a file on disk, for messages and for comparison."""
        tree, inner = self.held(path)
        return f"{tree.shown}/{shown(inner)}"

    def as_given(self, path: str) -> tuple[str, str] | None:
        """Return the mounted package that has a path, as it was given, and the path in it, or None."""
        at = path if self.given else ""
        while at:
            if (given := self.given.get(at)) is not None:
                return given, path[len(at) + 1 :]
            at = at.rpartition("/")[0]
        return None

    @contextmanager
    def content(self, path: bytes) -> Iterator[Content]:
        """Open a file; raises ``HolesRefused`` for one on disk with too many bytes of holes."""
        with super().content(path) as content:
            self.check_holes(path, content.size)
            yield content

    def check_holes(self, path: bytes, size: int) -> None:
        """Raise ``HolesRefused`` for a file on disk with too many bytes of holes."""
        if size > self.holes and (place := self.below(path)) is not None:
            reading.check_holes_of(place.root, place.segments, self.holes)

    def below(self, path: bytes) -> FileBelow | None:
        """Return the file on disk at a path, or None for one that is packed."""
        tree, inner = self.held(path)
        found = None if tree.is_packed else tree.location(inner)
        return found if isinstance(found, FileBelow) else None

    def here(self, reference: uris.Reference) -> bytes | None:
        """Return the path in the package of an absolute reference, or None if it leads elsewhere."""
        if reference.kind is uris.Kind.RELATIVE or ".." in reference.segments:
            return None
        stated = (reference.drive or "", *reference.segments)
        for at, names in self._here:
            if stated[: len(names)] == names and len(stated) > len(names):
                return at + path_of(stated[len(names) :])
        return None

    def nearest_inside(self, document: bytes, href: str) -> str:
        """Return the file, at the root or beside the document, whose path ends a location, or ""."""
        for meant in self._outside.meant(href):
            if self.is_there(os.fsencode(meant)):
                return meant
        self._guesses += 1
        if self._guesses > _GUESSES:
            return ""
        try:
            names = [each for each in uris.located(href).segments if each != ".."][-DEEPEST:]
        except uris.ReferenceRefused:
            return ""
        for start in range(len(names)):
            tail = path_of(tuple(names[start:]))
            for folder in dict.fromkeys((b"", folder_of(document))):
                if folder + tail != document and self.is_there(folder + tail):
                    self._outside.learn(href, shown(folder + tail))
                    return shown(folder + tail)
        return ""

    def resolved(self, document: bytes, reference: uris.Reference) -> bytes:
        """Return the path that a reference in a document means.

        A tree mounted apart is a separate package; no reference leads out of it. Raises ``ReferenceRefused``.
        """
        if (path := self.here(reference)) is not None:
            return path
        boundary, base = self._base_of(document)
        return boundary + path_of(target(base, reference))

    def _base(self, document: bytes) -> tuple[bytes, tuple[str, ...]]:
        """Return the tree that holds a document, and the folders in it above the document."""
        boundary = next((each for each in self._apart if document.startswith(each)), b"")
        return boundary, tuple(shown(folder_of(document)[len(boundary) :]).split("/")[:-1])
