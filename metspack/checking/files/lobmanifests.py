"""The manifest.txt beside an archive, with the digests of the LOBs outside it (SIARD 2.2, S_8.1.3-0).

Its lines go into the catalogue beside those of the package's manifests, and are compared as those are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metspack.checking.archives import forms
from metspack.checking.catalogue import Batch, Catalogue, folder_of, shown
from metspack.checking.codes import Code
from metspack.checking.files.manifests import lines
from metspack.checking.mets.documents import of_opening
from metspack.checking.opening import CheckedTree
from metspack.containers.ipreader import Content
from metspack.digests import OCTETS
from metspack.errors import MetspackError
from metspack.model import Finding

NAME = b"manifest.txt"
_LINE = re.compile(rb"(\\?)([0-9A-Fa-f]+) [ *](?:\./|/)*(.+?)\r?\n?", re.DOTALL)
_ALGORITHMS = {
    2 * octets: name
    for name, octets in OCTETS.items()
    if name in {"MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512"}
}
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_IS_FILE = "SELECT 1 FROM disk WHERE path = ? AND kind = 'f'"
# Without a path: the package's own manifests have to list this file as any other.
_PUT_MANIFEST = "INSERT INTO manifest (name, path, algorithm, read) VALUES (?, NULL, ?, 0)"
_PUT = "INSERT INTO listed VALUES (?, ?, ?, ?)"
_UNLISTED = """
SELECT count(DISTINCT c.path), min(c.path) FROM cell c
WHERE NOT c.inside AND c.archive >= ?1 AND c.archive < ?2
AND NOT instr(substr(c.archive, length(?1) + 1), CAST('/' AS BLOB))
AND NOT EXISTS (SELECT 1 FROM listed l JOIN manifest m ON m.id = l.manifest
    WHERE l.path = c.path AND m.name = ?3 AND m.path IS NULL)
"""
_SHOWN = 80


def _paths(catalogue: Catalogue) -> list[bytes]:
    """Return the paths of the files of this name beside the archives that METS documents list."""
    folders = {folder_of(form.path) for form in forms.listed(catalogue)}
    return [path for folder in sorted(folders) if catalogue.row(_IS_FILE, path := folder + NAME) is not None]


def read(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Put the lines of such files into the catalogue; yield the findings on those that are none."""
    for path in _paths(catalogue):
        try:
            with places.content(path) as content:
                yield from _read(catalogue, path, content)
        except (OSError, MetspackError) as error:
            yield of_opening(path, error)


def _read(catalogue: Catalogue, path: bytes, content: Content) -> Iterator[Finding]:
    numbers: dict[str, int] = {}
    batch = Batch(catalogue)
    strange, first, line_of_first = 0, b"", 0
    for number, line in enumerate(lines(content), start=1):
        found = _LINE.fullmatch(line)
        algorithm = None if found is None else _ALGORITHMS.get(len(found[2]))
        if found is None or algorithm is None:
            if line.strip():
                strange, first, line_of_first = strange + 1, first or line, line_of_first or number
            continue
        if algorithm not in numbers:
            numbers[algorithm] = catalogue.put(_PUT_MANIFEST, shown(path), algorithm)
        file = re.sub(rb"\\[\\nr]", lambda mark: _ESCAPES[mark[0]], found[3]) if found[1] else found[3]
        digest = found[2].decode("ascii").lower()
        batch.add(_PUT, numbers[algorithm], folder_of(path) + file, digest, number)
    batch.flush()
    if strange:
        facts = {"found": shown(first.strip()[:_SHOWN]), "count": f"{strange:,}"}
        yield Code.LOB_MANIFEST_LINE.at(shown(path), line_of_first, **facts)


def incomplete(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield a finding for each such file that lacks LOBs, once the cells are in the catalogue."""
    for path in _paths(catalogue):
        folder = folder_of(path)
        after = folder[:-1] + b"0" if folder else b"\xff"  # what comes behind a slash
        count, first = catalogue.row(_UNLISTED, folder, after, shown(path)) or (0, b"")
        if count:
            yield Code.LOB_MANIFEST_INCOMPLETE.at(
                shown(path), 0, shown(first), found=shown(first), count=f"{count:,}"
            )
