"""The pattern's rule on shards, read in METS: parts and the parent's map name each other (consistsOf)."""

from __future__ import annotations

from collections.abc import Iterator

from metspack.restoring.held import Disagreement
from metspack.restoring.package import Package

_NOT_HELD = """
SELECT p.lob, p.part, p.child, m.path, p.line, (SELECT coalesce(n.called, n.objid) FROM entry o
    JOIN mets n ON n.id = o.mets WHERE o.xml_id = p.part LIMIT 1)
FROM mapped p JOIN mets m ON m.id = p.mets
WHERE (p.lob = ?1 OR ?1 IS NULL) AND NOT EXISTS (SELECT 1 FROM entry e JOIN mets c ON c.id = e.mets
    WHERE e.xml_id = p.part AND p.child IN (c.called, c.objid)) ORDER BY p.id
"""
_NOT_NAMED = """
SELECT e.lob, e.xml_id, coalesce(c.called, c.objid), c.path, e.line FROM entry e JOIN mets c ON c.id = e.mets
WHERE (e.lob = ?1 OR ?1 IS NULL) AND e.part AND NOT EXISTS (SELECT 1 FROM mapped p
    WHERE p.lob = e.lob AND p.part = e.xml_id AND p.child IN (c.called, c.objid)) ORDER BY e.id
"""


def unrelated(package: Package, lob: str | None = None) -> Iterator[Disagreement]:
    """Yield the parts of split LOBs, or of one of them, that one side alone names.

    Each part in the parent's SPLITLOB structMap is a file of the child it names, and each part that a
    child lists is in a map. Raises ``SourceError`` when the package cannot be read.
    """
    for about, part, child, path, line, other in package.index.rows(_NOT_HELD, lob):
        yield Disagreement(
            lob=about or "",
            part=part or "",
            what=f"{path} line {line} names it as a part",
            expected=f"a file with this ID in {child or 'a child'}",
            found=f"it in {other}" if other else "none",
        )
    for about, part, child, path, line in package.index.rows(_NOT_NAMED, lob):
        yield Disagreement(
            lob=about,
            part=part or "",
            what=f"{path} line {line} lists it as a part",
            expected=f"an mptr to {child} with this CONTENTIDS in the parent's SPLITLOB structMap",
            found="none",
        )
