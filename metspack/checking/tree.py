"""The paths of a package under check: the trees that they lie in, and what references mean among them.

A child that the parent names but that lies on another disk, or in a zip or tar file, is mounted at its
place: from then on the package is checked as if it were whole.
"""

from __future__ import annotations

import os

from metspack import uris
from metspack.checking.catalogue import folder_of, shown
from metspack.files.byteranges import Below
from metspack.packages.files import MountedTree, PackageTree, path_of


def _lies(at: bytes, tree: PackageTree) -> list[tuple[bytes, tuple[str, ...]]]:
    """Return the names on the way to a folder on disk, as given and without links; none when packed."""
    if tree.is_packed:
        return []
    forms = dict.fromkeys((os.path.abspath(tree.shown), os.path.realpath(tree.shown)))
    return [(at, tuple(name for name in form.split("/") if name)) for form in forms]


class CheckedTree(MountedTree):
    """A package's own tree, those that are mounted in it, and the paths that references mean."""

    def __init__(self, base: PackageTree) -> None:
        super().__init__(base)
        self._apart: list[bytes] = []
        self._last: tuple[bytes, bytes, tuple[str, ...]] = (b"", b"", ())
        self._here: list[tuple[bytes, tuple[str, ...]]] = _lies(b"", base)

    def mount(self, at: bytes, tree: PackageTree, *, apart: bool = False) -> None:
        """Let a tree stand at a path; ``apart`` when that is no path of the package, but a label."""
        super().mount(at, tree)
        self._here += _lies(at + b"/", tree)
        if apart:
            self._apart.append(at + b"/")

    def below(self, path: bytes) -> Below | None:
        """Return the file of its own that a path is, None when it is packed."""
        tree, inner = self.held(path)
        found = None if tree.is_packed else tree.location(inner)
        return found if isinstance(found, Below) else None

    def here(self, reference: uris.Reference) -> bytes | None:
        """Return the path that an absolute reference means when it leads to where the package now lies."""
        if reference.kind is not uris.Kind.ABSOLUTE or ".." in reference.segments:
            return None
        for at, names in self._here:
            if reference.segments[: len(names)] == names and len(reference.segments) > len(names):
                return at + path_of(reference.segments[len(names) :])
        return None

    def resolved(self, document: bytes, reference: uris.Reference) -> bytes:
        """Return the path that a reference in a document means; raises ``ReferenceRefused``.

        What is mounted apart is a package of its own, and no reference leads out of it.
        """
        if self._last[0] != document:  # a document's references come one after the other
            boundary = next((each for each in self._apart if document.startswith(each)), b"")
            inner = folder_of(document)[len(boundary) :]
            self._last = document, boundary, tuple(shown(inner).split("/")[:-1])
        if (path := self.here(reference)) is not None:
            return path
        _, boundary, base = self._last
        return boundary + path_of(uris.joined(base, reference))
