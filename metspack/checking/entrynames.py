"""The names of an archive's entries: where SIARD has them, and each told from the others anywhere."""

from __future__ import annotations

from collections.abc import Iterator

from metspack.checking.archiveforms import Entries
from metspack.checking.catalogue import Batch, Catalogue, folded_name, shown
from metspack.checking.codes import Code
from metspack.model import Finding

_ROOTS = ("content/", "header/")
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
