"""What all that is restored has in common: what there must be room for, and what is said of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from metspack import fsio, manifests
from metspack.errors import TargetError
from metspack.model import Budgets
from metspack.placing import Placements, manifest_line

_PER_FILE = 1_000  # bytes that names and a line in each manifest take, generously


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """What is restored: ``only`` the LOBs that it selects, all when empty.

    ``archive`` is the name of that whose LOBs are meant, None when there is one. ``accepted`` is of
    ``copying.ACCEPTABLE``.
    """

    only: tuple[str, ...] = ()
    archive: str | None = None
    accepted: frozenset[str] = frozenset()
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was restored: LOBs and their bytes, and what to know of them.

    ``split`` were joined from parts, ``inside`` lay inside the package's archive. ``size`` and ``sha256``
    are those of the archive that was written, None when only LOBs were.
    """

    target: Path
    lobs: int
    split: int
    inside: int
    bytes: int
    size: int | None = None
    sha256: str | None = None
    warnings: tuple[str, ...] = ()


def check_target(target: Path, package: Path) -> None:
    """Raise ``TargetError`` when something is in a target's way, or it lies inside the package."""
    root = package if package.is_dir() else package.parent
    if target.resolve().is_relative_to(root.resolve()):
        raise TargetError(
            f"the target {target} lies inside the package {root}",
            hint="Choose a target outside it: what is restored is only read.",
        )
    fsio.check_vacant(target)


def check_room(staging: fsio.Staging, files: int, size: int) -> None:
    """Raise ``TargetError`` unless there is room for so many files and bytes."""
    room = staging.free_files()
    if room is not None and room < files:
        raise TargetError(
            f"there is no room for so many files at {staging.target.parent}: needed {files:,}, free {room:,}",
            hint="Choose a target on another disk: this one has too few inodes left.",
        )
    need, have = size + (_PER_FILE + staging.block()) * files, staging.free()
    if have < need:
        raise TargetError(
            f"there is not enough space at {staging.target.parent}: needed {need:,} bytes, free {have:,}",
            hint="Free space or choose a target on another disk.",
        )


def write_manifests(package: Path, placements: Placements) -> None:
    """Write both manifests of what was placed, sorted by path; raises ``TargetError``."""
    with (
        closing(placements.manifest_rows()) as rows,
        fsio.NewFile(package / manifests.NAMES["MD5"]) as md5,
        fsio.NewFile(package / manifests.NAMES["SHA-256"]) as sha256,
    ):
        for path, md5_value, sha256_value in rows:
            md5.write(manifest_line(md5_value, path))
            sha256.write(manifest_line(sha256_value, path))
