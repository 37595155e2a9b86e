"""Warnings after a build: missing digests, conventions, shared LOBs, a wrong messageDigest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from metspack.building.segments import TaskPlaced
from metspack.planning.assignment import Course
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress
from metspack.sizes import counted
from metspack.sources import rewriting
from metspack.sources.archive import Archive
from metspack.sources.opening import Source


def remarks(
    source: Source, course: Course, placed: Sequence[TaskPlaced], sharing: Sharing, *, added: bool
) -> Iterator[str]:
    """Yield warnings about the LOBs; ``added`` is whether cells without a digest got one."""
    archive = source if isinstance(source, Archive) else None
    if course.undigested and archive is not None and not added:
        yield (
            f"{counted(course.undigested, 'LOB')} without a digest in the cell: proven by the CRC-32 of "
            "the zip entry where there is one and, where the cell has one, the length"
        )
    notes: Counter[str] = Counter()
    for task in placed:
        notes.update(task.notes)
    for what, number in sorted(notes.items()):
        yield f"{what}: {number:,}"
    yield from sharing.words()
    if archive is None:
        yield "there is no SIARD archive, so nothing tells how many LOBs there should be"
        return
    number, first = (0, "") if archive.container is None else archive.container.hollow()
    if number:
        yield (
            f"{counted(number, 'entry', 'entries')} of the archive marked as deflated without a deflate "
            f"stream, the first {first}: taken as empty, as size and CRC-32 say"
        )
    yield from archive.conventions()
    if archive.metadata.version == "1.0" and course.files:
        yield (
            "SIARD 1.0 has no lobFolder; it was added to metadata.xml so that readers of later "
            "versions find the LOBs"
        )
    for value in archive.metadata.unread_digests:
        yield f"the archive's messageDigest {value!r} could not be understood and was left as it is"


def words(archive: Archive, progress: Progress, *, rewritten: bool) -> Iterator[str]:
    """Yield warnings about messageDigests of an archive that differ from its content.

    ``rewritten``: the package gets an archive with new digests; else the archive is left as it is.
    """
    if not archive.metadata.digests:
        return
    if not rewriting.comparable(archive):
        yield (
            "the archive's messageDigest could not be compared with its content: it is of the zip file "
            f"that the archive was before it was unpacked or wrapped{_NEW if rewritten else ''}"
        )
        return
    progress.stage("Comparing the archive's messageDigest", rewriting.sealed_size(archive))
    for said, found in rewriting.stale_digests(archive, progress.advance):
        yield (
            f"the archive's {said.algorithm} messageDigest is {said.value}, but its content has "
            f"{found.value}; it was changed after it was sealed{_RIGHT if rewritten else _LEFT}"
        )


_NEW = " (the package gets a new one)"
_RIGHT = " (the package gets the right one)"
_LEFT = ", and is left as it is (a full check says so)"
