"""Staging of new packages: made in ``<target>.partial/``, published by one rename or not at all.

``package/`` becomes the target by one rename, ``journal.jsonl`` and ``work/`` say how far it came. What is
visible under the target's own name is complete or absent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from metspack.errors import SourceNotFoundError, TargetError, TargetExistsError, TargetUnfinishedError
from metspack.files import tempdb, writing

NOT_FOUND = "Name a package's folder, or the METS file of its parent IP."
"""What to do where there is no package at a path."""

_AROUND = 16  # journal, manifests, the archive's directory: what there is once, however large the package


def check_vacant(target: Path) -> tuple[Path, Path]:
    """Return the absolute paths of a target and of its ``.partial``, neither of which exists.

    Raises ``TargetError`` when either exists already or the folder for them does not.
    """
    # The last component is not resolved: a link of that name is in the way like anything else.
    absolute = target.parent.resolve() / target.name if target.name else target.resolve()
    if os.path.lexists(absolute):
        raise TargetExistsError(
            f"{target} exists already",
            hint="Choose another target, or move that one away: nothing is overwritten.",
        )
    partial = absolute.with_name(f"{absolute.name}.partial")
    if os.path.lexists(partial):
        raise TargetUnfinishedError(
            f"{partial} exists already: an earlier build was stopped, or another is running",
            hint="When no other build is running, remove that folder and run the command again.",
        )
    writing.check_folder(absolute)
    return absolute, partial


class Partial:
    """``<target>.partial/``: where a package, or files for one, are made before they are visible.

    ``root`` must not exist. Raises ``TargetError``.
    """

    def __init__(self, target: Path, root: Path) -> None:
        self.target = target
        self.root = root
        self.package = self.root / "package"
        self.work = self.root / "work"
        self._room: tuple[int, int | None] | None = None
        try:
            writing.make_directory(self.root)
            writing.make_directory(self.package)
            writing.make_directory(self.work)
            self.journal = writing.Journal(self.root / "journal.jsonl")
        except BaseException as error:  # also an interruption at the moment in which the folder was made
            if not isinstance(error.__cause__, FileExistsError):
                with suppress(TargetError):  # the error is the one to tell
                    self.discard()
            raise

    def keep_room(self) -> None:
        """Remember what is free: ``free`` and ``free_files`` leave out what is written from now on."""
        self._room = self.free(), self.free_files()

    def device(self) -> int:
        """Return the device of its file system, as ``FileExtent.device``."""
        with writing.explained(self.root):
            return os.stat(self.root).st_dev

    def free(self) -> int:
        """Return the free bytes of its file system."""
        if self._room is not None:
            return self._room[0]
        with writing.explained(self.root):
            status = os.statvfs(self.root)
        return status.f_bavail * status.f_frsize

    def block(self) -> int:
        """Return the block size of its file system: a file takes whole blocks."""
        with writing.explained(self.root):
            return os.statvfs(self.root).f_frsize

    def free_files(self) -> int | None:
        """Return the free inodes of its file system, None when their number is not limited."""
        if self._room is not None:
            return self._room[1]
        with writing.explained(self.root):
            status = os.statvfs(self.root)
        return status.f_favail if status.f_files else None

    def discard(self) -> None:
        """Remove everything under ``<target>.partial/``, which this run made."""
        journal = getattr(self, "journal", None)
        if journal is not None:
            journal.close()
            del self.journal
        writing.remove(self.root)


class Staging(Partial):
    """``<target>.partial/``: where a package is made before it becomes ``<target>`` by one rename.

    Raises ``TargetError`` when either exists already or the folder for it does not.
    """

    def __init__(self, target: Path) -> None:
        super().__init__(*check_vacant(target))

    def publish(self) -> None:
        """Make the package visible under the target's name, complete and on disk; remove the rest."""
        writing.sync_tree(self.package)
        writing.move(self.package, self.target)
        self.discard()

    def publish_file(self, name: str) -> None:
        """Make one finished file of the package visible under the target's name; remove the rest."""
        writing.sync_tree(self.package)
        writing.put(self.package / name, self.target)
        self.discard()


@contextmanager
def stage(target: Path) -> Iterator[Staging]:
    """Provide a staging folder for the length of a block, which publishes it itself.

    After an error or an interruption nothing is left. Raises ``TargetError``.
    """
    staging = Staging(target)
    try:
        with tempdb.unexplained(target):
            yield staging
    except BaseException:
        with suppress(TargetError):  # the error is the one to tell
            staging.discard()
        raise


def check_target(target: Path, package: Path) -> None:
    """Raise ``TargetError`` when a target exists already, or lies inside the package.

    Raises ``SourceNotFoundError`` where there is no package.
    """
    if not package.exists():
        raise SourceNotFoundError(f"{package} was not found", hint=NOT_FOUND)
    root = package if package.is_dir() else package.parent
    if target.resolve().is_relative_to(root.resolve()):
        raise TargetError(
            f"the target {target} lies inside the package {root}",
            hint="Choose a target outside the package.",
        )
    check_vacant(target)


def check_space(staging: Partial, *, files: int, bytes_: int) -> None:
    """Raise ``TargetError`` unless so many files and folders, and bytes in them, can be written there.

    Counted as well: what every target needs once, and that each file takes whole blocks.
    """
    where, files = staging.target.parent, files + _AROUND
    free = staging.free_files()
    if free is not None and free < files:
        raise TargetError(
            f"not enough free inodes at {where}: needed {files:,}, free {free:,}",
            hint="Every file and folder takes one: remove some there, or work on another file system.",
        )
    need, have = bytes_ + staging.block() * files, staging.free()
    if have < need:
        raise TargetError(
            f"not enough free space at {where}: needed {need:,} bytes, free {have:,}",
            hint="Free space there, or work on another disk.",
        )
