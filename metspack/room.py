"""Whether a package has room where it is to be made, asked before anything is copied."""

from __future__ import annotations

from metspack import fsio
from metspack.coursing import Course
from metspack.errors import TargetError
from metspack.mets.dialects.interface import Footprint


def check(
    staging: fsio.Partial, course: Course, archive: int, footprint: Footprint, *, copies: int = 1
) -> None:
    """Raise ``TargetError`` unless there is room for a course's LOBs and an archive of so many bytes.

    ``copies`` of the archive are there at once: two where the parent is packed from a folder.
    """
    files, room = course.files + footprint.files_per_ip * len(course.segments), staging.free_files()
    if room is not None and room < files:
        raise TargetError(
            f"there is no room for so many files at {staging.target.parent}: needed {files:,}, free {room:,}",
            hint="Choose a target on another disk: this one has too few inodes left.",
        )
    need = (
        course.bytes
        + copies * max(0, archive - course.compressed)
        + (footprint.per_lob + staging.block()) * course.files  # a file takes whole blocks
        + footprint.per_ip * (len(course.segments) + 1)
    )
    have = staging.free()
    if have < need:
        raise TargetError(
            f"there is not enough space at {staging.target.parent}: needed {need:,} bytes, free {have:,}",
            hint="Free space or choose a target on another disk.",
        )
