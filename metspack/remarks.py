"""What is to be known of the LOBs of a source that was packaged: sentences for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from metspack.coursing import Course
from metspack.segments import TaskPlaced
from metspack.sharing import Sharing
from metspack.siard.archive import Archive
from metspack.sizes import counted
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
        yield "there is no SIARD archive: nothing says how many LOBs there should be"
        return
    yield from archive.conventions()
    if archive.metadata.version == "1.0" and course.files:
        yield (
            "SIARD 1.0 knows no lobFolder; it was added to metadata.xml so that readers of later "
            "versions find the LOBs"
        )
    for value in archive.metadata.unread_digests:
        yield f"the archive's messageDigest {value!r} could not be understood and was left as it is"
