"""Entry names of a SIARD archive: those outside of the SIARD layout, and those that clash on some systems."""

from __future__ import annotations

from collections.abc import Iterator

from metspack.checking.archiveforms import ArchiveForm, Entries
from metspack.checking.catalogue import Batch, Catalogue, folded_name, shown
from metspack.checking.codes import Code
from metspack.model import Finding
from metspack.siard.metadata import Metadata

_ROOTS = ("content/", "header/")
_CONTENT = "content/"
_OF_A_CELL = "SELECT 1 FROM cell WHERE path = ? AND archive = ?"
_PUT = "INSERT INTO folded_entry VALUES (?, ?)"
_ALIKE = """
SELECT f.name, (SELECT min(o.name) FROM folded_entry o WHERE o.folded = f.folded AND o.name < f.name) AS other
FROM folded_entry f WHERE other IS NOT NULL ORDER BY f.name
"""
_FOLDED = "SELECT folded, name FROM folded_entry ORDER BY name"


def findings(catalogue: Catalogue, container: Entries, archive: str) -> Iterator[Finding]:
    """Yield entries at the root that SIARD does not know, and names that are alike; ``archive`` is its path.

    Memory is flat: only names that are not their own folded form are kept, on disk.
    """
    catalogue.put("DELETE FROM folded_entry")
    batch = Batch(catalogue)
    strange, first = 0, ""
    for name in container.names():
        if not name.startswith(_ROOTS):
            strange, first = strange + 1, first or name
        raw = name.encode("utf-8", "surrogateescape")
        folded = folded_name(raw)
        if folded != raw:
            batch.add(_PUT, folded, raw)
    batch.flush()
    if strange:
        yield Code.ENTRY_OUT_OF_PLACE.at(archive, 0, first, found=first, count=f"{strange:,}")
    for folded, raw in catalogue.rows(_FOLDED):
        if container.extent(folded.decode("utf-8", "surrogateescape")) is not None:
            yield Code.ALIKE.at(archive, 0, shown(raw), other=shown(folded))
    for raw, other in catalogue.rows(_ALIKE):
        yield Code.ALIKE.at(archive, 0, shown(raw), other=shown(other))


def unnamed(
    catalogue: Catalogue, container: Entries, form: ArchiveForm, metadata: Metadata
) -> Iterator[Finding]:
    """Yield that content/ has entries of no table and no cell, when all cells are in the catalogue."""
    tables = {
        f"{table.path.removesuffix('.xml')}{end}" for table in metadata.tables for end in (".xml", ".xsd")
    }
    # What is inside an unpacked archive is a file of the package.
    folder = form.path + b"/" if form.is_unpacked else b""
    count, first = 0, ""
    for name in container.names(_CONTENT):
        if name.endswith("/") or name in tables:
            continue
        path = folder + name.encode("utf-8", "surrogateescape")
        if catalogue.row(_OF_A_CELL, path, form.path) is None:
            count, first = count + 1, first or name
    if count:
        yield Code.ENTRY_OF_NOTHING.at(shown(form.path), 0, first, found=first, count=f"{count:,}")
