"""What shards rely on: parts and the parent's map name each other (consistsOf), and their files are there."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from metspack.errors import MetspackError, SourceError
from metspack.model import Budgets
from metspack.packages.cells import cells, meant, opened_archive
from metspack.packages.files import open_part
from metspack.packages.lobs import Disagreement, HeldLob
from metspack.packages.package import Package
from metspack.sizes import counted

_NOT_HELD = """
SELECT p.lob, p.part, p.child, m.path, p.line, (SELECT coalesce(n.called, n.objid) FROM entry o
    JOIN mets n ON n.id = o.mets WHERE o.xml_id = p.part LIMIT 1)
FROM mapped p JOIN mets m ON m.id = p.mets
WHERE (p.lob = ?1 OR ?1 IS NULL) AND NOT EXISTS (SELECT 1 FROM entry e JOIN mets c ON c.id = e.mets
    WHERE e.xml_id = p.part AND bare(p.child) IN (bare(c.called), bare(c.objid))) ORDER BY p.id
"""
_NOT_NAMED = """
SELECT e.lob, e.xml_id, coalesce(c.called, c.objid), c.path, e.line FROM entry e JOIN mets c ON c.id = e.mets
WHERE (e.lob = ?1 OR ?1 IS NULL) AND e.part AND NOT EXISTS (SELECT 1 FROM mapped p
    WHERE p.lob = e.lob AND p.part = e.xml_id
    AND bare(p.child) IN (bare(c.called), bare(c.objid))) ORDER BY e.id
"""


def unrelated(package: Package, lob: str | None = None) -> Generator[Disagreement, None, None]:
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


def misplaced(root: Path, lob: HeldLob) -> Generator[Disagreement, None, None]:
    """Yield the files of a LOB that are not there, or have another size than METS says; none is read."""
    for part in lob.parts:
        expected = f"a file of {counted(part.size, 'byte')}"
        try:
            with open_part(root, part) as medium:
                size = medium.size
        except OSError as error:
            found = error.strerror or str(error)
        except SourceError as error:
            found = error.message
        else:
            if part.inside is not None and part.inside.entry is not None:
                found = f"it compressed in {'/'.join(part.inside.file)}, so it is no stretch of a file"
            elif size == part.size:
                continue
            else:
                found = counted(size, "byte")
        yield Disagreement(
            lob=lob.id,
            part=part.id if lob.is_split else "",
            what=f"{part.name}, which {part.source} lists",
            expected=expected,
            found=found,
        )


def unlisted(package: Package, budgets: Budgets | None = None) -> Iterator[Disagreement]:
    """Yield the LOBs that a cell of the package's archives names and no METS lists, and that are not inside.

    An archive that cannot be read is one disagreement of its own.
    """
    for path in package.archives:
        name = "/".join(path)
        try:
            with opened_archive(package, path, budgets) as archive:
                for table in archive.metadata.tables:
                    for cell in cells(archive, table):
                        lob = package.index.prefix(path) + cell.place.id
                        if package.index.holds(lob):
                            continue
                        try:
                            meant(package, path, archive, table, cell)
                        except MetspackError as error:
                            yield Disagreement(
                                lob=lob,
                                part="",
                                what=f"{name} has a cell of it",
                                expected="a file that METS lists, or an entry",
                                found=error.message,
                            )
        except SourceError as error:
            yield Disagreement(
                lob="",
                part="",
                what=f"the cells of {name} cannot be compared with METS",
                expected="an archive that can be read",
                found=error.message,
            )
