"""Files put into a folder that is there, so that they come to be all of them there or none.

They are made whole under ``<folder>.partial/`` beside the folder. A journal there then names them and
their digests, and only after that are they put, one by one, without replacing anything. Whatever
stops that, what was put can be told from what was there before, and is taken away again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from metspack import fsio, inbetween, reading
from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError
from metspack.files.staging import Partial
from metspack.inbetween import Progressed

_ALGORITHM = "SHA-256"


class Insertion(Partial):
    """``<folder>.partial/``: where files for a folder are made; their paths in ``package`` are those in it.

    ``folder`` is absolute and there. Raises ``TargetError`` when another insertion is at work on it, or
    something else is in the way.
    """

    def __init__(self, folder: Path) -> None:
        _recover(folder)
        super().__init__(folder, inbetween.partial_of(folder))
        self._files: tuple[tuple[str, str], ...] = ()
        try:
            self.journal.record(event=inbetween.BEGUN)
        except BaseException:
            self.discard()
            raise

    def put(self, paths: Sequence[str]) -> None:
        """Put finished files into the folder, in this order, each on disk before the next.

        The folders for them are there. Raises ``TargetError``, also where something has the name; then
        and after any other error ``take_back`` is to be called.
        """
        files = tuple((path, _digest(self.package, path)) for path in paths)
        fsio.sync_tree(self.package)
        self.journal.record(event=inbetween.PUTTING, files=files)
        self._files = files
        for path in paths:
            fsio.put(self.package / path, self.target / path)
        self.journal.record(event=inbetween.ALL_PUT)

    def take_back(self) -> None:
        """Take away what was put, and only that, and forget the rest."""
        _taken_back(self.target, self.root, self._files)
        self.journal.record(event=inbetween.TAKEN_BACK)
        self.discard()

    def keep(self) -> None:
        """Let what was put stay, and forget the rest."""
        self.journal.record(event=inbetween.DONE)
        self.discard()


def _digest(root: Path, path: str) -> str:
    hashers = Hashers((_ALGORITHM,))
    with reading.opening(root, path.split("/")) as descriptor:
        for block in reading.chunks(descriptor):
            hashers.update(block)
    return hashers.digest(_ALGORITHM).value


def _taken_back(folder: Path, partial: Path, files: Sequence[tuple[str, str]]) -> None:
    """Take away the last that was put first, so that no METS is left that names what is gone."""
    for path, digest in reversed(files):
        if _is_ours(folder, partial, path, digest):
            fsio.take_away(folder / path)
            fsio.sync_directory((folder / path).parent)


def _is_ours(folder: Path, partial: Path, path: str, digest: str) -> bool:
    """Return whether the file at a path is the one that was put there."""
    staged = partial / "package" / path
    # Where it still has its first name as well it is the same file; else it was moved here.
    with suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(staged), os.lstat(folder / path))
    try:
        return _digest(folder, path) == digest
    except (OSError, SourceError):
        return False


def _recover(folder: Path) -> None:
    """Take back what an insertion that was stopped without a chance to do so has left."""
    partial = inbetween.partial_of(folder)
    if not os.path.lexists(partial):
        return
    try:
        with reading.opening(inbetween.journal_of(partial)) as descriptor:
            if not fsio.take_lock(descriptor):
                raise TargetError(
                    f"another run is at work on {folder}", hint="Wait until it has ended, then look again."
                )
            found = inbetween.progressed(descriptor)
            if found is None and not is_bare(partial):
                raise in_the_way(partial)
            _forget(folder, partial, found)
    except (OSError, SourceError):
        if not is_bare(partial):
            raise in_the_way(partial) from None
        fsio.remove(partial)


def _forget(folder: Path, partial: Path, found: Progressed | None) -> None:
    if found is not None and found.event != inbetween.DONE:
        _taken_back(folder, partial, found.files)
    fsio.remove(partial)


def is_bare(partial: Path) -> bool:
    """Return whether it is what a run leaves that was stopped before its first word."""
    journal = inbetween.journal_of(partial)
    try:
        return all(
            not any(path.iterdir())
            if path.name in {"package", "work"}
            else path == journal and path.lstat().st_size == 0
            for path in partial.iterdir()
        )
    except OSError:
        return False


def in_the_way(partial: Path) -> TargetError:
    """Return the error for a ``.partial`` folder that another command has left, or nobody knows who."""
    if (command := inbetween.command(partial)) is not None:
        return TargetError(
            f"{partial} exists already: {command} was stopped before its end",
            hint="Leave that folder where it is, and run that command again first.",
        )
    return TargetError(
        f"{partial} exists already, and it is not known what it is",
        hint="When no other build is running, remove it and run the command again.",
    )
