"""What a Python program calls: the commands as functions, without anything that prints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from metspack import building, checking, clock
from metspack.building import Built
from metspack.checking import Checking, Level
from metspack.mets.dialects.recommendation import Software
from metspack.model import Limits, Segment
from metspack.planning import DEFAULT_PRESET, PRESETS, planned
from metspack.progress import Progress
from metspack.siard.archive import Archive
from metspack.version import __version__


def plan(source: Path, limits: Limits | None = None) -> Iterator[Segment]:
    """Yield the segments that an archive's LOBs divide into; the recommendation's limits when none are given.

    Raises ``SourceError`` and ``PlanError``.
    """
    with Archive(source) as archive:
        for each in planned(archive.lobs(), limits or PRESETS[DEFAULT_PRESET]):
            if isinstance(each, Segment):
                yield each


def build(
    source: Path,
    target: Path,
    *,
    limits: Limits | None = None,
    name: str | None = None,
    objid: str | None = None,
    checksum: str = "MD5",
    agents: Sequence[str] = (),
    created: datetime | None = None,
    jobs: int = 1,
    verify: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Build the package of an archive at ``target``, which must not exist; see ``metspack build --help``.

    ``created`` (with a time zone) is the only time written; SOURCE_DATE_EPOCH or the clock when None.
    With more than one of ``jobs`` the calling module must be importable (``if __name__ == "__main__"``).
    Raises ``SourceError``, ``PlanError``, ``TargetError`` and ``ConfigError``.
    """
    options = building.BuildOptions(
        created=clock.now(os.environ) if created is None else clock.written(created),
        software=Software(name="metspack", version=f"metspack {__version__}"),
        limits=limits or PRESETS[DEFAULT_PRESET],
        name=name,
        objid=objid,
        checksum=checksum,
        agents=tuple(agents),
        jobs=jobs,
        verify=verify,
    )
    return building.build(source, target, options, progress)


def check(path: Path, level: Level = Level.FULL) -> Checking:
    """Return an iterator of what is wrong with the package at ``path``: its folder or METS file."""
    return checking.check(path, level)
