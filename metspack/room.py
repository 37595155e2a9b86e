"""Whether a package has room where it is to be made, asked before anything is copied."""

from __future__ import annotations

from metspack import fsio
from metspack.coursing import Course
from metspack.errors import TargetError

# What METS and manifests take on disk, generously: bytes per LOB and per segment.
_PER_LOB, _PER_SEGMENT = 1_000, 8_000


def check(staging: fsio.Staging, course: Course, archive: int) -> None:
    """Raise ``TargetError`` unless there is room for a course's LOBs and an archive of so many bytes."""
    files, room = course.files + 4 * len(course.segments), staging.free_files()
    if room is not None and room < files:
        raise TargetError(
            f"there is no room for so many files at {staging.target.parent}: needed {files:,}, free {room:,}",
            hint="Choose a target on another disk: this one has too few inodes left.",
        )
    need = (
        course.bytes
        + max(0, archive - course.compressed)
        + (_PER_LOB + staging.block()) * course.files  # a file takes whole blocks
        + _PER_SEGMENT * (len(course.segments) + 1)
    )
    have = staging.free()
    if have < need:
        raise TargetError(
            f"there is not enough space at {staging.target.parent}: needed {need:,} bytes, free {have:,}",
            hint="Free space or choose a target on another disk.",
        )
