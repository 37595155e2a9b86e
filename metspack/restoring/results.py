"""What all that is restored has in common: what there must be room for, and what is said of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from metspack.building import manifests
from metspack.building.placing import Placements, manifest_line
from metspack.files import writing
from metspack.files.staging import Staging, check_space
from metspack.model import Budgets

_PER_FILE = 1_000  # bytes that names and a line in each manifest take, generously
_PER_COLUMN = 4  # folders of schema, table and column, and the list of what goes there


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


def check_restored_space(staging: Staging, lobs: int, columns: int, size: int) -> None:
    """Raise ``TargetError`` unless there is space for LOBs and what lies beside them, bytes in all."""
    files = lobs + _PER_COLUMN * columns
    check_space(staging, files=files, bytes_=size + _PER_FILE * files)


def write_manifests(package: Path, placements: Placements) -> None:
    """Write both manifests of what was placed, sorted by path; raises ``TargetError``."""
    with (
        closing(placements.manifest_rows()) as rows,
        writing.NewFile(package / manifests.NAMES["MD5"]) as md5,
        writing.NewFile(package / manifests.NAMES["SHA-256"]) as sha256,
    ):
        for path, md5_value, sha256_value in rows:
            md5.write(manifest_line(md5_value, path))
            sha256.write(manifest_line(sha256_value, path))
